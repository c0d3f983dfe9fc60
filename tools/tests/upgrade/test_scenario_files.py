"""Scenarios: files that are read, files that are refused, and what they enter."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from operator import itemgetter
from pathlib import Path

import pytest

from rlregress import datafiles, frameworks
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.model.recorded_traces import Trace
from rlregress.tracing import recording_processes, trace_reader
from rlregress.tracing.trace_comparison import compare
from rlregress.upgrade import scenario_files

SB3 = frameworks.get("sb3")
GOOD = """
[[scenario]]
name = "fast"
algorithms = ["ppo", "a2c"]
why = "a rate that is too high"
[scenario.environment]
copies = 2
[scenario.settings]
learning_rate = 1
[scenario.features]
evaluate = ["callback"]
"""


class Plain(Adapter):
    """An adapter that traces no scenarios."""

    name = "third"

    def trace_trainings(self):
        """One plain training."""
        return {"ppo": lambda make_env, seed: None}


class Third(Plain):
    """An adapter that brings scenarios along."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def scenarios(self) -> Path | None:
        """Where they are."""
        return self._path

    def trace_scenario(self, scenario, make_env, seed):
        """Nothing of it."""


def written(folder: Path, text: str, name: str = "own.toml") -> Path:
    """A file with a text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_read_into_scenarios(tmp_path):
    """Each entry keeps its place, and each of its algorithms is one training with a title."""
    (found,) = scenario_files.load(written(tmp_path, GOOD))
    assert found.where.endswith("own.toml, [[scenario]] at line 2")
    assert found.algorithms == ("ppo", "a2c")
    assert found.title("a2c") == "a2c fast"
    assert found.job("ppo") == {
        "algorithm": "ppo",
        "scenario": {
            "algorithm": "ppo",
            "environment": {"copies": 2},
            "settings": {"learning_rate": 1},
            "features": {"evaluate": ["callback"]},
        },
    }


def test_two_of_one_name_are_refused(tmp_path):
    """Titles tell trainings apart; another algorithm may have a scenario of the same name."""
    path = written(tmp_path, GOOD + GOOD.replace('"ppo", "a2c"', '"sac", "a2c"'))
    with pytest.raises(UserError, match="'a2c fast' is there already: .* at line 2"):
        scenario_files.load(path)
    other = written(tmp_path, GOOD + GOOD.replace('"ppo", "a2c"', '"sac"'), "other.toml")
    assert len(scenario_files.load(other)) == 2


def test_an_adapter_that_traces_no_scenarios_is_given_none():
    """Its plain trainings are all that there are."""
    assert set(scenario_files.jobs(Plain())) == {"ppo"}
    assert len(scenario_files.jobs(Third(None))) > 1


def test_a_third_party_brings_its_own(tmp_path):
    """Beside the suite's, with names of its own where it explains them."""
    written(tmp_path, GOOD.replace("evaluate", "spectral_norm").replace('["callback"]', "true"))
    adapter = Third(tmp_path)
    with pytest.raises(UserError, match="table 'features': unknown key 'spectral_norm'"):
        scenario_files.jobs(adapter)
    written(
        tmp_path,
        '[features]\nspectral_norm = { kind = "switch", means = "of all layers" }\n',
        "names.toml",
    )
    builtin, found = scenario_files.jobs(Third(None)), scenario_files.jobs(adapter)
    assert set(found) - set(builtin) == {"ppo fast", "a2c fast"}
    assert set(builtin) - set(scenario_files.jobs(Third(None))) == set()
    assert found["ppo"] == {"algorithm": "ppo"}


def test_a_choice_without_words_is_named(tmp_path):
    """A table of names that cannot be used is refused before any scenario is."""
    written(tmp_path, '[features]\nx = { kind = "word", means = "m" }', "names.toml")
    with pytest.raises(UserError, match="key 'features.x': it has no words"):
        scenario_files.load(written(tmp_path, GOOD))


def test_an_empty_folder_is_refused(tmp_path):
    """A folder without scenarios is a mistake of the adapter that names it."""
    with pytest.raises(UserError, match="holds no scenarios"):
        scenario_files.load(tmp_path)


def recorded(framework: str, folder: Path, *titles: str) -> dict[str, Trace]:
    """Traces of trainings by title, recorded in forks of one process."""
    script = Path(__file__).with_name("traced_scenarios.py")
    subprocess.run(
        [sys.executable, "-W", "ignore", str(script), framework, str(folder), *titles],
        env=recording_processes.current("A").environment(),
        check=True,
    )
    return {path.name: trace_reader.load(path) for path in folder.iterdir()}


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """Every training of Stable-Baselines3, traced once."""
    return recorded("sb3", tmp_path_factory.mktemp("sb3"))


@pytest.mark.nightly
def test_each_is_traced_or_not_offered(traced):
    """No training fails in any other way than that the framework lacks what it asks for."""
    assert [found.failure for found in traced.values() if found.failure] == []
    supported = [title for title, found in traced.items() if not found.header["not_offered"]]
    assert len(supported) > 50
    trained = [title for title in supported if not title.partition(" ")[2].startswith("calls-")]
    assert all(traced[title].count("optimizer") for title in trained)


#: what shows that scenarios are there for something: lines that they reach, faults that they see
SEEN = tomllib.loads(Path(__file__).with_name("scenarios_seen.toml").read_text(encoding="utf-8"))


@pytest.mark.nightly
@pytest.mark.parametrize("line", SEEN["line"], ids=itemgetter("scenario"))
def test_it_enters_what_it_is_for(traced, line):
    """The line that only this option runs is reached, and by no plain training."""
    file = f"stable_baselines3/{line['file']}"
    numbered = SB3.locate(file).read_text(encoding="utf-8").splitlines()
    lines = {n for n, text in enumerate(numbered, start=1) if line["fragment"] in text}
    assert lines, "the fragment is not in this version"

    def executed(one: str) -> bool:
        # the line of a definition is none of its own: what follows it is
        near = lines | {n + 1 for n in lines}
        found = traced[one].header["lines"].get(file, ([],))
        return bool(near & set(found[0]))

    assert executed(line["scenario"])
    plain = [each for each in traced if " " not in each]
    assert not any(executed(each) for each in plain)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "fault", SEEN["fault"], ids=lambda fault: f"{fault['scenario']}: {fault['old']}"
)
def test_a_fault_of_the_option_is_seen(traced, tmp_path, fault):
    """A fault in code that only an option runs makes the trace of its scenario diverge."""
    title, file = fault["scenario"], f"stable_baselines3/{fault['file']}"
    folder = tmp_path / "changed"
    variables = SB3.copy_to_change(file, folder)
    text = SB3.locate(file).read_text(encoding="utf-8")
    assert fault["old"] in text
    (folder / file).unlink()
    (folder / file).write_text(text.replace(fault["old"], fault["new"]), encoding="utf-8")
    job = {**scenario_files.jobs(SB3)[title], "framework": "sb3", "seed": 0}
    found = recording_processes.record(
        job, tmp_path / "trace", recording_processes.Side("B", paths=[variables["PYTHONPATH"]])
    )
    if found.failure:
        # what the fault makes of the framework's own code ends the training
        assert str(folder) in found.failure
    else:
        assert compare(traced[title], found).verdict != "equal"


@pytest.mark.nightly
def test_traces_of_scenarios_repeat_themselves(traced, tmp_path):
    """To the bit: saved and loaded, with hindsight, and with noise that has a state."""
    titles = ("ppo normalised", "sac goals-of-episodes", "sac vectorised-noise", "dqn images")
    titles += ("ppo calls-distributions", "ppo calls-wrappers", "sac calls-agents")
    again = recorded("sb3", tmp_path, *titles)
    verdicts = {title: compare(traced[title], again[title]).verdict for title in titles}
    assert verdicts == dict.fromkeys(titles, "equal")


def test_every_feature_is_used():
    """A feature of the table that no scenario switches on promises what is not there."""
    path = Path(__file__).resolve().parents[3] / "baselines" / "scenarios" / "names.toml"
    used = {name for each in scenario_files.load() for name in each.features}
    assert set(datafiles.read(path, scenario_files._Names).features) == used


def test_every_helper_is_asked():
    """What users call by themselves is asked by a scenario, and every word has its code."""
    requested = {
        word for each in scenario_files.load() for word in each.features.get("helpers", ())
    }
    known = importlib.import_module("rlregress.frameworks.sb3.utility_calls").USED
    assert requested == set(known)
