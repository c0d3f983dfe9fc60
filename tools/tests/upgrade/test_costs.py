"""Time and memory of trainings on both versions: in turns, with an interval, as a hint."""

from __future__ import annotations

import time
from contextlib import closing
from types import SimpleNamespace

import pytest

from rlregress.inside import events, trace_worker
from rlregress.model.recorded_traces import Trace, UncomparedTraining
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.evidence import costs
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.runtimes import Workers
from tools.tests.upgrade import small_traces


def timed(folder, pairs, memory=(30.0, 30.0), failure=""):
    """Return the cost of a training whose turns took so many seconds on both versions."""
    for turn, pair in enumerate([pairs[0], *pairs]):
        for position in (0, 1):
            header = {"failure": failure, "seeded": [], "lines": {}, "cpu_seconds": pair[position],
                      "grown_mib": memory[position]}  # fmt: skip
            events.write_trace(str(folder / f"{turn}-0-{position}"), header, [])
    return costs._measure_cost("sac", folder, 0)


@pytest.mark.parametrize(
    ("pairs", "more", "words"),
    [
        ([(1.0, 1.5), (2.0, 3.01), (1.0, 1.51)], {}, "x1.50 (1.49 to 1.52), slower"),
        ([(1.0, 1.0), (1.0, 1.01), (1.0, 0.99)], {}, "x1.00 (0.98 to 1.03)"),
        ([(1.0, 1.0), (1.0, 1.01), (1.0, 0.99)], {"memory": (30.0, 42.0)},
         "x1.00 (0.98 to 1.03), larger"),
        ([(1.0, 1.0), (1.0, 1.3), (1.0, 0.9)], {}, "not measured, the interval of the ratio"),
        ([(1.0, 1.0), (1.0, 1.0)], {}, "not measured, too few repetitions"),
        # its time would be that up to the error
        ([(1.0, 1.0)] * 3, {"failure": "KeyError"}, "not measured, it fails without a recorder"),
    ],
)  # fmt: skip
def test_a_cost_is_told_with_its_interval(tmp_path, pairs, more, words):
    """Slower, the same, larger; too wide an interval or too few turns are not measured."""
    cost = timed(tmp_path, pairs, **more)
    assert (cost.time_ratio_in_words + ", larger" * cost.is_larger).startswith(words)


def traced(name, events_, cpu, verdict="equal"):
    """A training of so many events and CPU seconds on both versions."""
    trace = Trace(header={"cpu_seconds": cpu}, events=tuple([None] * events_))
    return small_traces.traced(name, trace, trace, verdict)


def test_the_shortest_training_of_each_algorithm_is_timed_within_a_tenth_of_the_time(monkeypatch):
    """Plain before scenarios; none that differs, that runs no changed code or takes too long."""
    asked = []
    monkeypatch.setattr(costs, "_measure_costs_in_turns", lambda *words: asked.append(words) or [])
    runtimes = SimpleNamespace(versions=(), processes=None)
    compared = [
        traced("sac", 9, 2.0), traced("sac n_step", 5, 2.0), traced("td3 n_step", 9, 1.0),
        traced("ppo", 9, 1.0, "diverged"), traced("a2c", 9, 1.0), traced("dqn", 20, 90.0),
    ]  # fmt: skip
    trainings = [Training("sb3", training.name, {}) for training in compared]
    not_traced = [UncomparedTraining(name=name, reasons=dict.fromkeys(labels, "x"), supported={})
                  for name, labels in (("ddpg", ["old"]), ("trpo", ["old", "new"]))]  # fmt: skip
    executing = {training.name for training in compared} - {"a2c"}
    arguments = runtimes, trainings, compared, not_traced, executing
    measured = costs.measure_costs_of_shortest_trainings(*arguments, 300.0)
    ((_, timed_trainings, seconds, _),) = asked
    assert [training.name for training in timed_trainings] == ["sac", "td3 n_step"]
    assert seconds == 30.0
    assert {cost.name: cost.why for cost in measured} == {
        "dqn": "it would take more than a tenth of the time of the upgrade",
        "ddpg": "recorded on one version only",
    }


def test_one_version_waits_until_the_other_has_had_its_turn(tmp_path):
    """And no longer than there is time for."""
    job = {"timed": {"after": str(tmp_path / "x"), "until": time.time() + 0.2, "large": False}}
    with pytest.raises(TimeoutError):
        trace_worker._wait_for_turn(job)
    (tmp_path / "x").touch()
    trace_worker._wait_for_turn({"timed": {**job["timed"], "until": 0.0}})


@pytest.mark.nightly
def test_a_version_that_takes_twice_as_long_is_slower(tmp_path):
    """The two versions of a script are timed in turns, each in a process of its version."""
    script = tmp_path / "train.py"
    script.write_text(
        "import os, time\nend = time.process_time() + float(os.environ['BUSY'])\n"
        "while time.process_time() < end:\n    pass\n"
    )
    old, new = Runtime("old", variables={"BUSY": "0.2"}), Runtime("new", variables={"BUSY": "0.4"})
    training = Training("script", "train.py", {"script": str(script)})
    with closing(Workers(2)) as processes:
        (cost,) = costs._measure_costs_in_turns((old, new), [training], 60.0, processes)
    assert cost.turns >= 3
    assert cost.is_slower or "too wide" in cost.why
