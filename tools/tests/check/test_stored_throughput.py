"""Stored throughput is recorded, read, and compared under the same conditions only."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rlregress import evidence, frameworks
from rlregress.check import check_run, outcome, stored_throughput
from rlregress.check_options import CheckOptions
from rlregress.cli import baseline, check
from rlregress.errors import UserError
from rlregress.training import throughput_measurement
from rlregress.training.throughput_measurement import Measurement

from ..report import simulated
from .test_outcome import cell, entry

SOUND = Measurement(0.5, 40.0, 40.0, 300.0, 400.0)


@pytest.fixture
def name() -> str:
    """Return the name of an installed framework that trains PPO and SAC."""
    trained = {"ppo", "sac"}
    return next(
        a.name for a in frameworks.list_installed_adapters() if trained <= {*a.framework.algorithms}
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder of stored throughput."""
    monkeypatch.setattr(stored_throughput, "locate_throughput_folder", lambda: tmp_path)
    return tmp_path


def write_file(name: str, processes: int = 10) -> Path:
    """Write the file of a framework with two algorithms, as pytest-benchmark does; its path."""
    measured = [vars(replace(SOUND, ratio=0.5 + n / 1000)) for n in range(processes)]
    conditions = [
        stored_throughput.collect_current_conditions(name, kind) for kind in ("ppo", "sac")
    ]
    benchmarks = [{"extra_info": {**condition, "process": measured}} for condition in conditions]
    path = stored_throughput.locate_stored_throughput(name)
    path.write_text(json.dumps({"version": "5", "benchmarks": benchmarks}))
    return path


def slow_down(factor: float = 0.8) -> list[Measurement]:
    """Return five new processes."""
    return [replace(SOUND, ratio=factor * (0.5 + n / 1000)) for n in range(5)]


def test_every_trained_algorithm_has_a_throughput_protocol():
    """It has a protocol whose numbers fit each other, installed or not."""
    for name in frameworks.list_framework_names():
        for algorithm in frameworks.get_adapter(name).framework.algorithms:
            assert (
                throughput_measurement.load_throughput_protocol(name, algorithm).count_total_steps()
                > 0
            )


@pytest.fixture
def session(tmp_path, monkeypatch, warm_python):
    """Let a recording run a test in place of the session that trains; writes it."""

    def write(text: str) -> None:
        options = '("--framework", "--first-seed")'
        (tmp_path / "conftest.py").write_text(
            f"def pytest_addoption(parser):\n    [parser.addoption(name) for name in {options}]\n"
        )
        path = tmp_path / "test_short.py"
        path.write_text(text)
        monkeypatch.setattr(stored_throughput, "TESTS", str(path))

    return write


SHORT = """
costs = [4.0, 5.0]
spent = [0.0]

def test_floor(benchmark, pytestconfig):
    assert pytestconfig.getoption("--first-seed") == "0"
    benchmark._timer = lambda: spent[-1]
    benchmark.pedantic(
        lambda: spent.append(spent[-1] + costs[len(spent) - 1]),
        rounds=pytestconfig.getoption("benchmark_min_rounds"),
    )
    process = {"steps_per_second": 1.0, "updates_per_second": 1.0, "idle_mib": 1.0, "peak_mib": 2.0}
    benchmark.extra_info |= {
        "algorithm": "short", "protocol": {}, "versions": {"torch": "2"}, "python": "3", "cpu": "x",
        "process": [{"ratio": 1 / cost, **process} for cost in costs],
    }
"""


def test_a_file_of_pytest_benchmark_is_read_again(name, folder, session):
    """The time is the cost in floors; a recording that fails keeps the stored file."""
    session(SHORT)
    stored_throughput.record_throughput(name, 2)
    measurements = stored_throughput.load_stored_throughput(name)["short"]
    assert [process.ratio for process in measurements.process] == [0.25, 0.2]
    assert measurements.versions == {"torch": "2"}
    (measured,) = json.loads(stored_throughput.locate_stored_throughput(name).read_text())[
        "benchmarks"
    ]
    assert measured["stats"]["data"] == [4.0, 5.0]
    assert not [*folder.glob(".new-*")]
    before = write_file(name).read_text()
    session(SHORT.replace('"0"', '"1"'))
    with pytest.raises(UserError, match=f"throughput of {name} could not be measured; see above"):
        stored_throughput.record_throughput(name, 2)
    assert stored_throughput.locate_stored_throughput(name).read_text() == before


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("cpu", "Another", "cpu was Another and is .* here"),
        ("blocks", 14, "blocks was 14 and is 4 here"),
        ("discount", 0.5, "discount was 0.5 and is 0.99 here"),
    ],
)
def test_throughput_under_other_conditions_is_not_compared(name, folder, key, value, message):
    """Another processor, protocol or hyperparameter alone is named, and how to record it again."""
    path = write_file(name)
    content = json.loads(path.read_text())
    info = content["benchmarks"][0]["extra_info"]
    tables = (info, info["protocol"], info["protocol"]["hyperparameters"])
    next(table for table in tables if key in table)[key] = value
    path.write_text(json.dumps(content))
    text = f"under other conditions: {message}; record .*--throughput 10"
    with pytest.raises(UserError, match=text):
        stored_throughput.find_comparable_throughput(name, "ppo")
    assert stored_throughput.find_comparable_throughput(name, "sac")
    measured = {(name, "ppo"): slow_down(), (name, "sac"): slow_down()}
    assert [*stored_throughput.judge_measured_throughput(measured, 0.05)] == [(name, "sac")]


def test_a_slower_session_regressed(name, folder):
    """New processes at four fifths of the speed regress the training, and nothing else."""
    write_file(name)
    measured = {
        (name, "ppo"): slow_down(),
        (name, "sac"): slow_down(1.0),
        (name, "td3"): slow_down(),
    }
    judged = stored_throughput.judge_measured_throughput(measured, 0.05)
    verdicts = {
        (algorithm, quantity): verdict.verdict
        for (_, algorithm), verdicts in judged.items() for quantity, verdict in verdicts.items()
    }  # fmt: skip
    assert verdicts.pop(("ppo", "training")) == "regressed"
    assert verdicts == dict.fromkeys(
        [("ppo", "peak memory"), ("sac", "training"), ("sac", "peak memory")], "holds"
    )
    assert all(v.hypotheses == 4 for by in judged.values() for v in by.values())


def test_new_processes_have_seeds_of_their_own(name, monkeypatch):
    """New processes have seeds that stored ones cannot have."""
    seeds = []

    def measure(framework, algorithm, seed, environment):
        seeds.append(seed)
        return SOUND

    monkeypatch.setattr(stored_throughput.throughput_measurement, "measure_throughput", measure)
    stored_throughput.measure_throughput_in_new_processes(name, "ppo", {})
    assert seeds == list(range(1000, 1005))


@pytest.mark.parametrize("content", ["", "{}", '{"benchmarks": [{"extra_info": {"cpu": 3}}]}'])
def test_a_check_names_a_damaged_file_before_it_trains(
    name, folder, tmp_path, monkeypatch, content
):
    """A damaged or empty file is one sentence with the next step, before anything runs."""
    monkeypatch.setattr(
        check_run, "run_session_and_throughput", lambda options: pytest.fail("it ran")
    )
    stored_throughput.locate_stored_throughput(name).write_text(content)
    options = CheckOptions(report=tmp_path, store=str(tmp_path / "runs"), throughput=True)
    with pytest.raises(UserError, match=f"{name}.json.*; restore the file, or record it again"):
        check.judge_and_report_check(options)


def throughput_entries(verdict: str, result: str = "passed") -> list[dict]:
    """Return the entries of a measurement and of its verdict."""
    verdicts = {
        "verdict": verdict, "reason": "because.", "stored_processes": 10, "new_processes": 5,
        "stored_mean": 0.5, "new_mean": 0.4, "change": -0.2, "interval": [-0.25, -0.15],
        "adjusted_worse": 0.01, "alpha": 0.05, "visible": 0.12,
    }  # fmt: skip
    return [
        entry(f"t::{n}", result=result, tier="performance", throughput={"algorithm": "sac", **part})
        for n, part in enumerate(
            ({"processes": [vars(SOUND)]}, {"verdicts": {"training": verdicts}}))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "trained", "message"),
    [*((verdict, None, verdict) for verdict in ("holds", "improved", "inconclusive", "regressed")),
     ("holds", (), "formulas hold"), ("inconclusive", (), "inconclusive")],
)  # fmt: skip
def test_throughput_counts_in_the_verdict_of_a_framework(verdict, trained, message):
    """The worst of returns and throughput is the verdict; without returns formulas alone hold."""
    result = "failed" if verdict == "regressed" else "passed"
    entries = throughput_entries(verdict, result) + [cell("x", "holds")] * (trained is None)
    assert outcome.build_framework_outcomes(entries, trained)[0].verdict == message


def test_a_check_measures_throughput_only_on_request(tmp_path):
    """Its session leaves the file out, and a second one, without other processes, runs it."""
    options = CheckOptions(report=tmp_path, frameworks="some", throughput=True)
    first = check_run.build_pytest_command(options)
    second = check_run.build_throughput_command(options)
    assert first[first.index("--ignore") + 1] == check_run.THROUGHPUT == second[3]
    assert "-n" not in second
    assert second[second.index("--framework") + 1] == "some"


def test_evidence_of_throughput_is_read_from_its_own_session(tmp_path, monkeypatch):
    """A gate that was asked joins both, and ends with what the second one found."""

    def sessions(options):
        names = [adapter.full_name for adapter in frameworks.list_installed_adapters()]
        first = simulated.detail_entries("no detail", None)
        first += [entry("t", name, tier="performance") for name in names]
        second = [{**item, "framework": names[0]} for item in throughput_entries("inconclusive")]
        options.evidence.write_text(json.dumps({"schema": 1, "tests": first}))
        options.throughput_evidence.write_text(json.dumps({"schema": 1, "tests": second}))

    monkeypatch.setattr(check_run, "run_session_and_throughput", sessions)
    options = CheckOptions(report=tmp_path, store=str(tmp_path / "runs"), throughput=True)
    check.judge_and_report_check(options)
    report = json.loads((tmp_path / "verdict.json").read_text())["frameworks"]
    name = frameworks.list_installed_adapters()[0].full_name
    assert "training" in report[name]["throughput"]["sac"]["verdicts"]
    assert report[name]["verdict"] == "inconclusive"
    assert evidence.read_evidence_file(options.throughput_evidence)


def test_impossible_requests_are_errors(name, folder):
    """One process has no deviation; missing throughput names its command; a copy has none."""
    with pytest.raises(UserError, match="--throughput is 1, expected 2 or more processes"):
        stored_throughput.record_throughput(name, 1)
    with pytest.raises(UserError, match=f"of '{name}' is stored; .*rlregress baseline record"):
        baseline._print_stored_throughput((name,), 0)
    with pytest.raises(UserError, match="sb3@9"):
        baseline._print_stored_throughput(("sb3@9",), 0)
