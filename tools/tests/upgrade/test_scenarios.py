"""Scenarios: which there are, that each is traced, and what they enter."""

from __future__ import annotations

import re
import tomllib
from operator import itemgetter
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.probing.capabilities import raise_if_argument_unknown
from rlregress.probing.option_trainings import OptionTrainings
from rlregress.probing.trace_trainings import (
    GeneratedCalls,
    is_title_of_generated_calls,
    resolve_lazy_arguments,
)
from rlregress.trace import recording_processes
from rlregress.trace.trace_comparison import compare_traces
from rlregress.upgrade import cascade
from rlregress.upgrade.evidence import compared_trainings, runtimes
from rlregress.upgrade.upgrade_options import Options
from tools.tests.small_files import edit_copy

SB3 = frameworks.get_adapter("sb3")
TITLE = re.compile(r"[a-z0-9]+( [a-z0-9]+(-[a-z0-9]+)*)?")


@pytest.mark.parametrize("name", ["sb3", "torchrl", "cleanrl"])
def test_titles_name_an_algorithm_and_a_scenario(name):
    """A title is what ``--algorithm`` and ``--scenario`` select, and says whether calls follow."""
    trainings = frameworks.get_adapter(name).list_trace_trainings()
    assert [title for title in trainings if not TITLE.fullmatch(title)] == []
    kinds = (GeneratedCalls, OptionTrainings)
    generated = {title for title, training in trainings.items() if isinstance(training, kinds)}
    assert generated == set(filter(is_title_of_generated_calls, trainings))


def test_arguments_and_scenarios_are_known():
    """No argument is misspelt, a training leaves others' alone; unknown scenarios are refused."""
    for title, training in SB3.list_trace_trainings().items():
        if " " in title and not is_title_of_generated_calls(title):
            raise_if_argument_unknown(
                training.algorithm(), resolve_lazy_arguments(training.arguments), title
            )
    shared = {"features_extractor_kwargs": {"cnn_output_dim": 8}}
    resolve_lazy_arguments(shared)["features_extractor_kwargs"]["normalized_image"] = True
    assert shared == {"features_extractor_kwargs": {"cnn_output_dim": 8}}
    adapters = [SB3, frameworks.get_adapter("torchrl")]
    cascade._require_known_algorithms_and_scenarios(
        adapters, Options(scenarios=["gsde", "v-trace"])
    )
    with pytest.raises(UserError, match="unknown scenario 'gsdf'"):
        cascade._require_known_algorithms_and_scenarios(adapters, Options(scenarios=["gsdf"]))


def recorded(folder, titles):
    """Traces of trainings of Stable-Baselines3 by title, recorded in forks of one process."""
    trainings = [compared_trainings.make_built_in_training(SB3, title) for title in titles]
    current = recording_processes.make_current_runtime("old")
    return runtimes.load_or_record_traces(trainings, current, folder, lines=True)


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """Every training of Stable-Baselines3, traced once."""
    return recorded(tmp_path_factory.mktemp("sb3"), SB3.list_trace_trainings())


#: what depends on the machine (no CUDA, OpenCV is installed), or is gone from the newest version.
UNSUPPORTED = {"ppo missing-device", "sac missing-device", "ppo gsde-apart", "sac gsde-apart"} | {
    f"{name} {scenario}" for name in ("ppo", "dqn") for scenario in ("atari", "atari-bare")
}


@pytest.mark.nightly
def test_each_is_traced_or_not_offered(traced):
    """No training fails in any other way than that the framework lacks what it asks for."""
    assert [trace.failure for trace in traced.values() if trace.failure] == []
    supported = [title for title, trace in traced.items() if not trace.header["not_offered"]]
    assert set(traced) - set(supported) <= UNSUPPORTED
    assert all(
        traced[title].count_events_of_kind("optimizer")
        for title in supported
        if not is_title_of_generated_calls(title)
    )


#: what shows that scenarios are there for something: lines that they reach, faults that they see
SEEN = tomllib.loads(Path(__file__).with_name("scenarios_seen.toml").read_text(encoding="utf-8"))


@pytest.mark.nightly
@pytest.mark.parametrize("line", SEEN["line"], ids=itemgetter("scenario"))
def test_it_enters_what_it_is_for(traced, line):
    """The line that only this option runs is reached, and by no plain training."""
    file = f"stable_baselines3/{line['file']}"
    numbered = SB3.code.find_installed_path(file).read_text(encoding="utf-8").splitlines()
    lines = {n for n, text in enumerate(numbered, start=1) if line["fragment"] in text}
    assert lines, "the fragment is not in this version"

    def executed(title):
        # the line of a definition is none of its own: what follows it is
        near = lines | {n + 1 for n in lines}
        lines_of_file = traced[title].header["lines"].get(file, ([],))
        return bool(near & set(lines_of_file[0]))

    assert executed(line["scenario"])
    plain = [title for title in traced if " " not in title]
    assert not any(executed(title) for title in plain)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "fault", SEEN["fault"], ids=lambda fault: f"{fault['scenario']}: {fault['old']}"
)
def test_a_fault_of_the_option_is_seen(traced, tmp_path, fault):
    """A fault in code that only an option runs makes the trace of its scenario diverge."""
    title, file = fault["scenario"], f"stable_baselines3/{fault['file']}"
    folder = edit_copy(
        SB3, file, tmp_path / "changed", (fault["old"], fault["new"]), everywhere=True
    )
    job = compared_trainings.make_built_in_training(SB3, title).job
    runtime = recording_processes.Runtime("new", paths=[folder])
    trace = recording_processes.record_trace(job, tmp_path / "trace", runtime)
    if trace.failure:
        # what the fault makes of the framework's own code ends the training
        assert folder in trace.failure
    else:
        assert compare_traces(traced[title], trace).verdict != "equal"


@pytest.mark.nightly
def test_traces_of_scenarios_repeat_themselves(traced, tmp_path):
    """To the bit: saved and loaded, with hindsight, and with noise that has a state."""
    titles = ["ppo normalised", "sac goals-of-episodes", "sac vectorised-noise", "dqn images",
              "ppo calls-distributions", "ppo calls-options", "sac calls-options"]  # fmt: skip
    repeated = recorded(tmp_path, titles)
    verdicts = {title: compare_traces(traced[title], repeated[title]).verdict for title in titles}
    assert verdicts == dict.fromkeys(titles, "equal")
