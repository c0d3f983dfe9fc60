"""Environments, normalisers and loss modules are recorded, and are as without a recorder."""

from __future__ import annotations

import copy
import functools
import importlib
import pickle
import sys
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers import TimeLimit, TransformReward

from rlregress.inside.events import Places
from rlregress.inside.recorder import Recorder
from rlregress.inside.seeds import SEED
from rlregress.model import explain
from rlregress.model.recorded_traces import Trace
from rlregress.probing.toys import MixedEndsEnv
from rlregress.trace.trace_comparison import compare_traces

from ..upgrade.small_traces import part
from .scripts import told
from .test_trace_comparison import build_trace, rename_events


def make():
    """One of many environments."""
    return gymnasium.make("CartPole-v1")


ZEROS = np.zeros(2, dtype=np.int64)


# -- environments made by their constructors -----------------------------------------------------


def test_an_environment_made_by_its_constructor_is_recorded_once_in_its_wrappers(recorder):
    """The outermost call is the event, whichever wrapper it is of; the seed is the inner one's."""
    inner = MixedEndsEnv()
    environment = TransformReward(TimeLimit(inner, 3), lambda reward: reward + 100.0)
    environment.reset()
    environment.step([0.0, 0.0])
    inner.step([0.0, 0.0])
    assert told(recorder, "reset", "step") == [
        ("reset", "environment 0"),
        ("step", "environment 0"),
        ("step", "environment 0"),
    ]
    first, second = (e["parts"]["reward"][2][0] for e in recorder.events if e["kind"] == "step")
    assert first > 90.0 > second
    assert inner.np_random_seed == SEED
    assert recorder.seeded == ["resets of environments"]


def test_a_class_that_is_defined_later_is_recorded(recorder):
    """A class of the script is met when it is defined."""

    class Own(MixedEndsEnv):
        def step(self, action):
            """Step."""
            return self._state, 0.0, False, False, {}

    environment = Own()
    environment.reset(seed=1)
    environment.step([0.0, 0.0])
    assert [kind for kind, _ in told(recorder, "reset", "step")] == ["reset", "step"]


# -- vector environments -------------------------------------------------------------------------


def test_what_a_vector_environment_hands_out_is_an_event(recorder):
    """Beside the steps of its environments, once for all wrappers, with its types and shapes."""
    from gymnasium.wrappers.vector import RecordEpisodeStatistics

    vector_environment = RecordEpisodeStatistics(gymnasium.vector.SyncVectorEnv([make, make]))
    vector_environment.reset(seed=1)
    vector_environment.step(ZEROS)
    assert told(recorder, "reset", "step", "output") == [
        ("reset", "environment 0"),
        ("reset", "environment 1"),
        ("output", "VectorEnv.reset"),
        ("step", "environment 0"),
        ("step", "environment 1"),
        ("output", "VectorEnv.step"),
    ]
    types = {name: part[5] for name, part in recorder.events[-1]["parts"].items()}
    assert types == {
        "observation": "float32 array 2x4",
        "reward": "float64 array 2",
        "flags": "list of 2 bool array 2",
    }


@pytest.mark.nightly
def test_environments_of_other_processes_are_stepped_as_one(recorder):
    """Their common output is a step, and the report tells how to record them apart."""
    apart = gymnasium.vector.AsyncVectorEnv([make, make])
    apart.reset()
    apart.step(ZEROS)
    apart.close()
    assert told(recorder, "reset", "step", "output") == [
        ("reset", "environment 0"),
        ("step", "environment 0"),
    ]
    assert set(recorder.events[-1]["parts"]) == {"action", "observation", "reward", "flags"}
    assert "resets of environments" in recorder.seeded
    (row,) = recorder.other_activity
    assert (row["what"], row["class"]) == ("process", "AsyncVectorEnv")
    (line,) = explain.describe_other_activity(Trace(header={"elsewhere": [row]}, events=()))
    assert "started by AsyncVectorEnv, async_vector_env.py:" in line
    assert line.endswith("to run it in one process: gymnasium.vector.SyncVectorEnv")


def test_a_vector_environment_that_has_nothing_to_unwrap(recorder):
    """A library's own kind of vector environment, of no class of gymnasium's, is stepped, too."""

    class Vectors:
        def step(self, action):
            return np.zeros((2, 4)), np.zeros(2), np.zeros(2, bool), np.zeros(2, bool), {}

    recorder.recorded_call("Vectors.step", Vectors.step, Vectors(), ZEROS)
    assert told(recorder, "reset", "step", "output") == [("step", "environment 0")]


def test_what_a_framework_normalises_is_an_event(recorder):
    """The outermost of a framework's vector environments, and its normaliser when it is asked."""
    vectors = pytest.importorskip("stable_baselines3.common.vec_env")
    normalised = vectors.VecFrameStack(vectors.VecNormalize(vectors.DummyVecEnv([make] * 2)), 2)
    normalised.reset()
    normalised.step(ZEROS)
    normalised.venv.normalize_obs(np.ones((1, 4), dtype=np.float32))
    assert [name for _, name in told(recorder, "output")] == [
        "VecEnv.reset",
        "VecEnv.step_wait",
        "VecNormalize.normalize_obs",
    ]
    assert recorder.events[-2]["parts"]["observation"][5] == "float32 array 2x8"


def test_what_torchrl_collects_is_an_event(recorder):
    """The steps of its environments, and every batch of a collector."""
    torchrl = pytest.importorskip("torchrl.envs")
    collectors = pytest.importorskip("torchrl.collectors")
    kind = getattr(collectors, "Collector", None) or collectors.SyncDataCollector
    batches = list(kind(torchrl.GymEnv("CartPole-v1"), frames_per_batch=4, total_frames=8))
    names = [name for _, name in told(recorder, "output")]
    assert len(batches) == 2
    assert sum(name.endswith(".iterator") for name in names) == 2
    assert sum("EnvBase.step" in name for name in names) == 8
    assert "observation: float32 tensor 4x4" in recorder.events[-1]["parts"]["value"][5]


def test_a_class_is_watched_when_its_module_is_imported(tmp_path, monkeypatch):
    """A module is not imported for it; when it has been, its classes and later ones are watched."""
    (tmp_path / "late_vectors.py").write_text(
        "class Vectors:\n    def wait(self):\n        return 1.0\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with Recorder(Places([__file__])) as recorder:
        from rlregress.inside import recorded_methods

        (finder,) = (x for x in sys.meta_path if isinstance(x, recorded_methods.ImportListener))
        recorder._recorded_methods.install(
            finder, ["late_vectors:Vectors.wait", "no_such:Thing.wait"]
        )
        assert "late_vectors" not in sys.modules
        late = importlib.import_module("late_vectors")

        class Wrapped(late.Vectors):
            def wait(self):
                """Wait for the inner one."""
                return 2.0 * super().wait()

        original = Wrapped().wait()
    assert original == 2.0
    assert [e["parts"]["value"][2] for e in recorder.events] == [[2.0]]
    assert "__init_subclass__" not in vars(late.Vectors)
    assert not any(isinstance(x, recorded_methods.ImportListener) for x in sys.meta_path)
    del sys.modules["late_vectors"]


# -- losses --------------------------------------------------------------------------------------


class Loss(torch.nn.Module):
    """A loss module."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, inputs):
        """The losses."""
        value = self.layer(inputs).mean()
        return {"loss_value": value, "entropy": value.detach().double()}


class OuterLoss(Loss):
    """Calls another loss module."""

    def __init__(self):
        super().__init__()
        self.inner = Loss()

    def forward(self, inputs):
        """The losses of the other one."""
        return self.inner(inputs)


class Policy(Loss):
    """Returns a mapping without a scalar that trains anything."""

    def forward(self, inputs):
        """An action."""
        return {"action": self.layer(inputs)}


def test_what_a_loss_module_returns_is_an_event(recorder):
    """Once for the outermost, where it is defined, with keys, types and shapes; of losses only."""
    OuterLoss()(torch.ones(3, 2))
    Policy()(torch.ones(3, 2))
    assert told(recorder, "loss") == [("loss", "OuterLoss 0")]
    (event,) = [e for e in recorder.events if e["kind"] == "loss"]
    types = "entropy: float64 tensor scalar; loss_value: float32 tensor scalar"
    assert event["parts"]["values"][5] == types
    assert event["at"][2] == "forward"
    assert event["at"][1] == OuterLoss.forward.__code__.co_firstlineno
    assert event["at"][3][0][2] == "test_what_a_loss_module_returns_is_an_event"


def replace_by_loss(trace, text, number):
    """Return the trace with the result of a loss module as its second event."""
    parts = {"values": replace(part(number), digest=f"{text} {number!r}", types=text)}
    rows = list(trace.events)
    rows[1] = replace(rows[1], kind="loss", name="L 0", parts=parts)
    return replace(trace, events=tuple(rows))


def test_other_keys_hide_no_other_numbers():
    """Numbers that diverge later are the first difference, with the keys beside it."""
    old = replace_by_loss(build_trace("bbobo", [1, 1, 1, 1, 1]), "loss: float32 tensor scalar", 1.0)
    new = replace_by_loss(
        build_trace("bbobo", [1, 1, 1, 2, 1]), "entropy: float32 tensor scalar", 3.0
    )
    comparison = compare_traces(old, new)
    assert (comparison.first.kind, comparison.equal) == ("loss", 1)
    assert comparison.interface is not None
    assert "also (interface)" in "\n".join(explain.describe_trace_comparison(comparison, old, new))


# -- threads -------------------------------------------------------------------------------------


def test_an_event_of_another_thread_names_who_started_it(recorder):
    """A thread that draws is named with the place that started it; one that does not is not."""
    import threading

    for work in (functools.partial(len, ()), draw):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert told(recorder, "draw") == [("draw", "torch.rand")]
    (row,) = recorder.other_activity
    assert (row["what"], row["file"]) == ("thread", "test_recorded_methods.py")
    text = explain.name_uncontrolled_randomness(
        compare_traces(build_trace("b", [1]), build_trace("b", [2])), recorder.other_activity
    )
    assert text == "the order of what runs in other threads or processes"


def draw():
    """Draw."""
    torch.rand(2)


# -- losses side by side, and counts ---------------------------------------------------------------


def test_losses_of_different_networks_are_told_apart():
    """The differences of each loss are followed by the optimiser that steps after it."""

    def trace(gap):
        plain = build_trace("bo" * 4, [1, 1, 5, 5, 1 + gap, 1, 5, 5])
        names = [name for n in range(4) for name in ("loss", f"Adam {n % 2}")]
        return rename_events(plain, *names)

    old, new = trace(0.0), trace(1.0)
    comparison = compare_traces(old, new)
    assert [(g.optimizer, g.gaps) for g in comparison.growth] == [("0", (0.5,)), ("1", (0.0,))]
    lines = explain.describe_trace_comparison(comparison, old, new)
    assert "  f.py:4 in train, before optimiser 0 steps: 0.5 first (1 losses)" in lines


def test_copies_made_before_the_first_reset_are_seeded_each(recorder):
    """Copies of an unused environment have different seeds of the tracer's."""
    template = gymnasium.make("CartPole-v1")
    copies = [copy.deepcopy(template) for _ in range(2)]
    for environment in copies:
        environment.reset()
    seeds = [environment.unwrapped.np_random_seed for environment in copies]
    assert seeds == [SEED, SEED + 1] != [0, 1]


def test_a_class_of_the_script_is_pickled_with_its_methods(recorder):
    """Methods of a recorded class take no recorder along when the class itself is pickled."""
    cloudpickle = pytest.importorskip("cloudpickle")
    step = lambda s, a: MixedEndsEnv.step(s, a)  # noqa: E731
    kind = type("Own", (MixedEndsEnv,), {"__module__": "__main__", "step": step})
    environment = recorder.wrap_environment(kind())
    environment.reset(seed=1)
    copied = pickle.loads(cloudpickle.dumps(environment))
    copied.step([0.0, 0.0])
    environment.step([0.0, 0.0])
    assert [name for _, name in told(recorder)] == [f"environment {n}" for n in (0, 1, 0)]


def test_environments_are_numbered_as_they_are_first_used(recorder):
    """One that was made before and is never used shifts neither numbers nor seeds."""
    gymnasium.make("CartPole-v1")
    late, first = gymnasium.make("CartPole-v1"), gymnasium.make("CartPole-v1")
    first.reset()
    late.reset()
    late.step(0)
    rows = [("reset", "environment 0"), ("reset", "environment 1"), ("step", "environment 1")]
    assert told(recorder) == rows
    assert [e.unwrapped.np_random_seed for e in (first, late)] == [SEED, SEED + 1]
    assert recorder.seeded == ["resets of environments"]


class Unseeded(MixedEndsEnv):
    """Was written before resets had seeds."""

    def reset(self):
        """Reset."""
        return super().reset(seed=3)


def test_a_reset_that_takes_no_seed_gets_none(recorder):
    """The tracer gives a seed only where there is room for one."""
    environment = recorder.wrap_environment(Unseeded())
    environment.reset()
    assert told(recorder) == [("reset", "environment 0")]
    assert recorder.seeded == []
