"""The time that an upgrade or a search is expected to take, against what it took."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from rlregress import progress
from rlregress.progress import CommandStage, Estimate
from rlregress.upgrade import expected_stages

#: command -> its events on an idle machine with two cores: second, what happened, and with what.
TIMELINES = json.loads((Path(__file__).parent / "timelines.json").read_text(encoding="utf-8"))
OPTIONS = SimpleNamespace(processes_at_once=2, trace_all=False, algorithms=())


def list_stages(event, details):
    """The stages that a command expects from an event on, as it does itself."""
    if event == "details":
        count, is_script = details
        last_stage = CommandStage(expected_stages.UNKNOWN, parts=not is_script)
        return [*expected_stages.list_stages_of_probing([[None] * count[0]], OPTIONS), last_stage]
    if event == "script":
        return expected_stages.list_stages_of_script(*details, OPTIONS)
    frameworks, algorithms = details
    families = [SimpleNamespace(algorithms=range(n), behavior_only=()) for n in algorithms]
    adapters = [SimpleNamespace(framework=family) for family in families]
    files = expected_stages.list_stages_of_old_files(adapters, OPTIONS)
    return [*expected_stages.list_stages_of_trainings(frameworks, OPTIONS), *files]


@pytest.fixture
def estimates(request, monkeypatch):
    """Pairs of seconds that were left and seconds that were expected, one a second."""
    events = list(TIMELINES[request.param])
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "estimate_slowdown", lambda: 1.0)
    estimate, pairs = Estimate(), []
    calls = {
        "begin": estimate.begin_stage,
        "done": estimate.count_done_parts,
        "change": estimate.change_next_stage,
    }
    end = events[-1][0]
    for second in range(int(end)):
        while events[0][0] <= second:
            now[0], event, *details = events.pop(0)
            if event in calls:
                calls[event](*details)
            elif event == "explaining":
                estimate.expect_stages([CommandStage("explaining the step", starts=0)])
            else:
                estimate.expect_stages(list_stages(event, details))
        now[0] = float(second)
        expected = estimate.estimate_seconds_left()
        if expected is not None:
            pairs.append((end - second, expected))
    return pairs


@pytest.mark.parametrize("estimates", TIMELINES, indirect=True)
def test_the_first_estimate_is_right_within_half_and_none_is_far_below(estimates):
    """Estimates begin once a part of the command was measured, with most of the time still left.

    In the last ten seconds, or fiftieth, an error of five seconds is as much.
    """
    seconds_left, expected = estimates[0]
    assert seconds_left / 1.5 <= expected <= 1.5 * seconds_left
    assert seconds_left > 15
    end = max(10.0, seconds_left / 50)
    assert min(expected / left for left, expected in estimates if left > end) >= 0.5
