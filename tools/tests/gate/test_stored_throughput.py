"""Stored throughput: what a file holds, when it is added to, and what it is compared with."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from rlregress import evidence, frameworks
from rlregress.cli import baseline, check
from rlregress.details import requested_names
from rlregress.errors import UserError
from rlregress.gate import gate_run, outcome, stored_throughput
from rlregress.gate.stored_throughput import Measured
from rlregress.gate_options import GateOptions
from rlregress.model.gate_result import GateResult
from rlregress.reporting import summary, throughput_text
from rlregress.studies import throughput_recording
from rlregress.training import throughput_measurement
from rlregress.training.throughput_measurement import Measurement

from .test_outcome import cell, entry

OFF_POLICY = Measurement(0.5, 40.0, 40.0, 300.0, 400.0, 0.25, 2000.0)
BATCHES = Measurement(0.2, 200.0, 30.0, 300.0, 400.0)


@pytest.fixture
def name() -> str:
    """The name of some framework that is installed and that trains what is recorded here."""
    installed = frameworks.installed()
    return next(found for found in installed if {"ppo", "sac"} <= {*found.algorithms}).name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of stored throughput."""
    monkeypatch.setattr(stored_throughput, "folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def measured(monkeypatch):
    """Take down what would be measured; every process measures the next ratio."""
    seeds: list[tuple[str, str, int]] = []

    def measure(framework, algorithm, seed, environment=None):
        seeds.append((framework, algorithm, seed))
        return replace(OFF_POLICY, ratio=0.5 + len(seeds) / 1000)

    monkeypatch.setattr(stored_throughput.throughput_measurement, "measure", measure)
    return seeds


def record(name: str, processes: int, replace_stored: bool = False) -> list[str]:
    """Record two algorithms of a framework."""
    pairs = [(name, "ppo"), (name, "sac")]
    return list(throughput_recording.record(pairs, processes, replace_stored))


@pytest.mark.parametrize("of", frameworks.names())
def test_whatever_is_trained_can_be_measured(of):
    """It has a protocol whose numbers fit each other, installed or not."""
    for algorithm in frameworks.get(of).algorithms:
        assert throughput_measurement.protocol(of, algorithm).total_steps() > 0


def test_what_is_recorded_is_read_again(name, folder, measured):
    """Every process in its order, in turns over the algorithms, with versions and processor."""
    assert len(record(name, 2)) == 4
    assert [of for _, of, _ in measured] == ["ppo", "sac", "ppo", "sac"]
    assert [seed for *_, seed in measured] == [0, 0, 1, 1]
    found = stored_throughput.load(name)
    assert [process.ratio for process in found["sac"].process] == [0.502, 0.504]
    assert found["ppo"].cpu
    assert "torch" in found["ppo"].versions
    assert found["ppo"].protocol["plan"]["blocks"] > 0


def test_a_recording_goes_on_where_it_was_ended(name, folder, measured):
    """What is stored is kept, and only what is missing is measured."""
    record(name, 2)
    measured.clear()
    record(name, 3)
    assert [seed for *_, seed in measured] == [2, 2]
    assert len(stored_throughput.load(name)["ppo"].process) == 3


def test_stored_processes_of_other_versions_are_not_mixed_with(name, folder, measured):
    """They are refused, or replaced if that is meant."""
    record(name, 2)
    path = stored_throughput.path_of(name)
    path.write_text(path.read_text().replace('torch = "', 'torch = "1.'))
    with pytest.raises(UserError, match="give --replace if that is meant"):
        record(name, 2)
    record(name, 2, replace_stored=True)
    assert [seed for *_, seed in measured] == [0, 0, 1, 1] * 2


def test_stored_processes_are_there_until_all_that_replace_them_are(name, folder, measured):
    """A recording that was interrupted loses none of them."""
    record(name, 2)
    before = stored_throughput.load(name)
    lines = throughput_recording.record([(name, "ppo"), (name, "sac")], 3, replace_stored=True)
    for _ in range(4):
        next(lines)
    assert stored_throughput.load(name) == before
    list(lines)
    ratios = [process.ratio for process in stored_throughput.load(name)["ppo"].process]
    assert ratios == [0.505, 0.507, 0.509]


@pytest.mark.parametrize(
    ("found", "written", "message"),
    [
        ('python = "', 'python = "1.', r": python was 1\.\S+ and is \S+ here; give --replace"),
        ("blocks = ", "blocks = 1", r": protocol.plan.blocks was 14 and is 4 here; give"),
    ],
)
def test_what_stored_processes_differ_in_is_named(name, folder, measured, found, written, message):
    """That alone, and not what they have in common with new ones."""
    record(name, 2)
    path = stored_throughput.path_of(name)
    path.write_text(path.read_text().replace(found, written))
    with pytest.raises(UserError, match=message):
        record(name, 2)


def test_a_stored_process_with_one_of_two_that_belong_together_is_named(name, folder, measured):
    """A ratio of collecting without its speed was not measured."""
    record(name, 2)
    path = stored_throughput.path_of(name)
    path.write_text(re.sub("^collecting_ratio = .*$", "", path.read_text(), flags=re.MULTILINE))
    with pytest.raises(UserError, match="one of collecting_ratio and .*; expected both, or neit"):
        stored_throughput.load(name)


@pytest.mark.parametrize(
    ("found", "written", "named"),
    [('cpu = "', 'cpu = "Another ', "cpu"), ("blocks = ", "blocks = 1", "protocol")],
)
def test_what_was_recorded_otherwise_is_not_compared_with(
    name, folder, measured, found, written, named
):
    """Another processor or protocol is named, with the command that records it again."""
    record(name, 2)
    path = stored_throughput.path_of(name)
    path.write_text(path.read_text().replace(found, written))
    with pytest.raises(UserError, match=f"with another {named}: .*--record 10 --replace"):
        stored_throughput.stored(name, "ppo")


def test_a_slower_session_regressed(name, folder, measured, monkeypatch):
    """Of new processes at four fifths of the speed the training regressed, and nothing else."""
    record(name, 10)

    def slower(framework, algorithm, seed, environment=None):
        return replace(OFF_POLICY, ratio=0.4 + seed % 1000 / 1000)

    monkeypatch.setattr(stored_throughput.throughput_measurement, "measure", slower)
    session = Measured([(name, "ppo"), (name, "td3")], 0.05)
    verdicts = session.verdicts(name, "ppo")
    assert {quantity: found.verdict for quantity, found in verdicts.items()} == {
        "training": "regressed",
        "collecting": "holds",
        "peak memory": "holds",
    }
    assert session.verdicts(name, "td3") == {}


def test_one_training_that_cannot_be_compared_leaves_the_others_judged(name, folder, measured):
    """It alone is the sentence; what was measured of the others counts."""
    record(name, 2)
    path = stored_throughput.path_of(name)
    before, sac, after = path.read_text().partition("[sac]")
    path.write_text(before + sac + after.replace('cpu = "', 'cpu = "Another '))
    session = Measured([(name, "ppo"), (name, "sac")], 0.05)
    assert "training" in session.verdicts(name, "ppo")
    with pytest.raises(UserError, match="throughput of sac with another cpu"):
        session.verdicts(name, "sac")


@pytest.mark.parametrize("content", ["", "[ppo]\npython = 3\n"])
def test_a_gate_says_a_damaged_file_before_it_trains(name, folder, tmp_path, monkeypatch, content):
    """An emptied one, too: in one sentence with what to do, and nothing is run."""
    monkeypatch.setattr(gate_run, "run", lambda options: pytest.fail("it ran"))
    stored_throughput.path_of(name).write_text(content)
    options = GateOptions(report=tmp_path, store=str(tmp_path / "runs"), throughput=True)
    with pytest.raises(UserError, match=f"{name}.toml.* expected .*; restore the file, or delete"):
        check.judge(options)


def test_new_processes_have_seeds_of_their_own(name, folder, measured):
    """As many as the protocol says, none with a seed that stored ones can have."""
    Measured([(name, "ppo")], 0.05).processes(name, "ppo")
    assert [seed for *_, seed in measured] == list(range(1000, 1005))


def test_a_row_tells_what_a_gradient_step_costs():
    """40 steps a second with updates, 2000 without: 25 - 0.5 ms; the floor's 12.5 - 0.125 ms."""
    header, _, row = throughput_text.table(
        {("some", "sac"): {"processes": [OFF_POLICY.__dict__] * 2}}
    )
    cells = dict(zip(header.split("|")[1:-1], row.split("|")[1:-1], strict=True))
    assert cells[" training "] == " some sac "
    assert cells[" ratio to the floor "] == " 0.500 ± 0.000 "
    rows = ["40 (80)", "40 (80)", "2000 (8000)", "24.5 (12.4)", "400 (300)"]
    assert [cell.strip() for cell in row.split("|")[4:-1]] == rows


def test_what_cannot_be_told_apart_is_a_dash():
    """A framework that is observed between rollouts only has no numbers without updates."""
    *_, row = throughput_text.table({("some", "ppo"): {"processes": [BATCHES.__dict__]}})
    assert [cell.strip() for cell in row.split("|")[6:8]] == ["-", "-"]


def throughput_entries(verdict: str, result: str = "passed") -> list[dict]:
    """The entries of what was measured and of what was judged of it."""
    found = {
        "verdict": verdict,
        "reason": "because.",
        "stored_processes": 10,
        "new_processes": 5,
        "stored_mean": 0.5,
        "new_mean": 0.4,
        "change": -0.2,
        "interval": [-0.25, -0.15],
        "adjusted_worse": 0.01,
        "alpha": 0.05,
        "visible": 0.12,
    }
    values = ({"processes": [OFF_POLICY.__dict__]}, {"verdicts": {"training": found}})
    return [
        entry(f"t::{n}", result=result, tier="performance", throughput={"algorithm": "sac", **of})
        for n, of in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("verdict", "trained", "message"),
    [
        ("holds", None, "holds"),
        ("improved", None, "improved"),
        ("inconclusive", None, "inconclusive"),
        ("holds", (), "formulas hold"),
        ("inconclusive", (), "inconclusive"),
    ],
)
def test_throughput_counts_in_the_verdict_of_a_framework(verdict, trained, message):
    """The worst of returns and throughput is the verdict; without returns formulas alone hold."""
    entries = [*throughput_entries(verdict), *([cell("x", "holds")] if trained is None else [])]
    assert outcome.outcomes(entries, trained)[0].verdict == message


def test_a_slow_framework_regressed():
    """The failed test of its throughput is enough."""
    found = outcome.outcomes([*throughput_entries("regressed", "failed"), cell("x", "holds")])
    assert found[0].verdict == "regressed"


def test_the_report_shows_what_was_measured_and_judged():
    """The table and the line of the verdict stand below the framework."""
    found = outcome.outcomes([*throughput_entries("holds"), cell("x", "holds")])
    result = GateResult(
        outcomes=found,
        broken=(),
        unjudged=(),
        versions={"some": {}},
        sources={"some": {}},
        copies={"some": {}},
        alpha=0.05,
        budget="short",
        seconds=1.0,
        exit_code=0,
    )
    text = summary.markdown(result)
    assert "| some sac | 1 | 0.500 |" in text
    assert "some sac, ratio to the floor while it learns: 0.5 -> 0.4 (-20%, 95 %" in text
    assert "would detect a change of 12% with 80 % power" in text


def test_a_gate_measures_throughput_only_if_asked(tmp_path):
    """Its session leaves the file out, and a second one, without other processes, runs it."""
    options = GateOptions(report=tmp_path, frameworks="some", throughput=True)
    first, second = gate_run.pytest_command(options), gate_run.throughput_command(options)
    assert first[first.index("--ignore") + 1] == gate_run.THROUGHPUT == second[3]
    assert "-n" not in second
    assert second[second.index("--framework") + 1] == "some"


def test_evidence_of_throughput_is_read_from_its_own_session(tmp_path, monkeypatch):
    """A gate that was asked joins both, and ends with what the second one found."""

    def sessions(options):
        names = [adapter.full_name for adapter in frameworks.installed()]
        first = [
            {**entry(f"{tier}::t[{name}]", name), "tier": tier}
            for name in names
            for tier in ("unit", "behavior", "performance")
        ]
        first += [
            {**entry("tests_unit/test_details.py::t", adapter.full_name), "tier": "unit"}
            | {"detail": id, "scope": scope, "found": "as documented"}
            for adapter in frameworks.installed()
            for id, scope in requested_names.to_probe(adapter)
        ]
        second = [{**of, "framework": names[0]} for of in throughput_entries("inconclusive")]
        options.evidence.write_text(json.dumps({"schema": 1, "tests": first}))
        options.throughput_evidence.write_text(json.dumps({"schema": 1, "tests": second}))

    monkeypatch.setattr(gate_run, "run", sessions)
    options = GateOptions(report=tmp_path, store=str(tmp_path / "runs"), throughput=True)
    check.judge(options)
    found = json.loads((tmp_path / "verdict.json").read_text())["frameworks"]
    name = frameworks.installed()[0].full_name
    assert "training" in found[name]["throughput"]["sac"]["verdicts"]
    assert found[name]["verdict"] == "inconclusive"
    assert evidence.read(options.throughput_evidence)


def test_nothing_stored_is_told_with_the_command_that_stores(name, folder):
    """The sentence names the framework and what to run."""
    with pytest.raises(UserError, match=f"stored of {name}; .*rlregress baseline throughput"):
        baseline.show_throughput([name], [], 0, False)


def test_an_unknown_algorithm_is_named_before_anything_is_measured(name, folder, measured):
    """Though another one that was asked for is known; with the nearest known name."""
    with pytest.raises(UserError, match="unknown algorithm 'ppx' .*did you mean 'ppo'"):
        baseline.show_throughput([name], ["ppo", "ppx"], 2, False)
    assert not measured


def test_a_copy_that_is_not_here_is_named():
    """What is stored of its framework is not printed as if it were that copy's."""
    with pytest.raises(UserError, match="sb3@9"):
        baseline.show_throughput(["sb3@9"], [], 0, False)


def test_the_stored_files_can_be_read():
    """They hold known frameworks, every algorithm, and ratios below the floor."""
    found = stored_throughput.every()
    assert {framework for framework, _ in found} <= set(frameworks.names())
    assert {algorithm for _, algorithm in found} == {"ppo", "sac", "td3"}
    assert all(0 < process.ratio < 1 for stored in found.values() for process in stored.process)
