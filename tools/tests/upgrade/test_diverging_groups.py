"""One training stands for those that diverge likewise, and for no others."""

from __future__ import annotations

from dataclasses import replace

from rlregress.model import differences as model
from rlregress.model.recorded_traces import Comparison
from rlregress.upgrade.culprits import diverging_groups
from rlregress.upgrade.evidence import compared_trainings
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.verdict import entries
from tools.tests.upgrade import small_traces
from tools.tests.upgrade.small_traces import divergence, loss

TRAIN, SAMPLE = ("sb3/ppo.py", "PPO.train"), ("sb3/buffers.py", "sample")


def trace(events, *functions):
    """A trace of so many events that has executed functions."""
    by_file = {}
    for file, name in functions:
        by_file.setdefault(file, []).append(name)
    losses = [loss(7, value=n, file="sb3/ppo.py", function="train") for n in range(events)]
    return small_traces.trace(*losses, functions=by_file)


def diverging(trace, function="train"):
    """A comparison whose first difference is in a function."""
    event = replace(trace.events[0], function=function)
    return Comparison(verdict="diverged", compared=1, first=divergence(event, event))


def test_the_shortest_of_those_that_diverge_likewise_stands_for_them():
    """Only changed functions that they execute tell them apart."""
    unchanged = ("sb3/utils.py", "polyak_update")
    traces = {
        "long": trace(9, TRAIN, unchanged), "short": trace(3, TRAIN),
        "more": trace(2, TRAIN, SAMPLE), "elsewhere": trace(5, TRAIN),
    }  # fmt: skip
    comparisons = {
        name: diverging(traces[name], "act" if name == "elsewhere" else "train") for name in traces
    }
    representatives = diverging_groups.choose_representatives(
        comparisons, (traces, traces), {TRAIN, SAMPLE}
    )
    expected = {name: name for name in ("short", "more", "elsewhere")}
    assert representatives == {"long": "short", **expected}


def test_minutes_go_to_plain_trainings_and_to_each_changed_function_first():
    """A training that executes the same function comes in a later turn."""
    names = ["ppo", "ppo gsde", "sac", "sac wide", "td3 wide"]
    met = dict(zip(names, [TRAIN, TRAIN, SAMPLE, SAMPLE, ("x", "y")], strict=True))
    ordered = ["ppo", "sac", "td3 wide", "ppo gsde", "sac wide"]
    assert diverging_groups.spread_trainings_over_functions(met) == ordered


def test_what_was_not_recorded_in_time_was_never_executed():
    """It is listed with the reason."""
    not_traced = compared_trainings.report_training_not_in_time(
        Training("stable-baselines3", "ppo", {}), 5.0
    )
    entry = entries.make_uncompared_training_entry(not_traced, "stable-baselines3")
    assert (entry.state, "--minutes 5 were over" in entry.reason) == (model.NEVER, True)


def test_a_note_names_the_training_that_was_searched():
    """In place of one that was not recorded again."""
    short = trace(3, TRAIN)
    training = small_traces.traced("long", short, short, first=diverging(short).first)
    (noted,) = diverging_groups.note_searched_representatives([training], {"long": "short"})
    assert "as short" in noted.notes[0]
    assert diverging_groups.note_searched_representatives([training], {"long": "long"}) == [
        training
    ]
