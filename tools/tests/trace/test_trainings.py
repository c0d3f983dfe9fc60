"""The built-in trainings execute rare code: an all-clear is worth as much as its traces cover."""

from __future__ import annotations

from collections import Counter

import pytest

from rlregress import frameworks
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.evidence import compared_trainings, runtimes

pytestmark = pytest.mark.usefixtures("warm_python")

SB3 = frameworks.get_adapter("sb3")
TRAINED = [
    adapter for adapter in frameworks.list_installed_adapters() if adapter.list_trace_trainings()
]
ON_POLICY = ("ppo", "a2c")
#: algorithms that move a copy of their networks.
WITH_TARGETS = ("sac", "td3", "ddpg", "dqn", "qrdqn", "tqc")
#: where a buffer begins to overwrite what it holds.
FULL = (f"{SB3.framework.modules[0]}/common/buffers.py", "ReplayBuffer.add", "self.full = True")


def events(trace, kind):
    """The events of a kind."""
    return [event for event in trace.events if event.kind == kind]


@pytest.mark.nightly
@pytest.mark.parametrize("adapter", TRAINED, ids=[candidate.full_name for candidate in TRAINED])
def test_a_training_reaches_what_happens_rarely(tmp_path, adapter):
    """Every kind of end, several environments, delayed targets and policies; rare lines.

    No training fails, those with options included: one that only fails compares nothing.
    """
    # test_scenarios records all trainings of Stable-Baselines3
    titles = [
        name for name in adapter.list_trace_trainings() if adapter is not SB3 or " " not in name
    ]
    trainings = [compared_trainings.make_built_in_training(adapter, name) for name in titles]
    recorded = runtimes.load_or_record_traces(
        trainings, Runtime("old"), tmp_path, lines=[list(FULL[:2])]
    )
    assert len(recorded) == len(trainings) >= 3
    assert {name: trace.failure for name, trace in recorded.items() if trace.failure} == {}
    for algorithm in (name for name in titles if " " not in name):
        trace = recorded[algorithm]
        steps, updates = events(trace, "step"), events(trace, "optimizer")
        ends = {event.parts["flags"].values for event in steps}
        assert ends == {(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)}, algorithm
        assert len({event.name for event in steps}) > 1, algorithm
        if not updates:
            # a search: it moves parameters without a gradient
            assert len(events(trace, "parameters")) > 1, algorithm
            continue
        first = updates[0].index
        if algorithm.partition("_")[0] in WITH_TARGETS:
            assert any(event.index > first for event in events(trace, "write")), algorithm
        if algorithm == "td3":
            counts = Counter(event.name for event in updates)
            critic, actor = (counts[name] for name in list(counts)[:2])
            assert actor == critic // 2
        if adapter is SB3:
            _rare_lines(trace, algorithm)


def _rare_lines(trace, algorithm):
    """Schedules come near their end, buffers overwrite, minibatches are left over, and it plays."""
    updates = events(trace, "optimizer")
    rates = [event.parts["learning_rate"].values[0] for event in updates]
    assert min(rates) <= 0.25 * rates[0]
    played = [event for event in events(trace, "step") if event.index > updates[-1].index]
    assert any(event.parts["flags"].values != (0.0, 0.0) for event in played)
    if algorithm == "ppo":
        # two rollouts of 64 steps, three epochs each, two minibatches of 48 and 16
        assert len(updates) == 2 * 3 * 2
    if algorithm not in ON_POLICY:
        file, _, text = FULL
        numbered = enumerate(
            SB3.code.find_installed_path(file).read_text(encoding="utf-8").splitlines(), start=1
        )
        lines = {number for number, line in numbered if text in line}
        assert lines & set(trace.header["lines"][file][0]), algorithm
