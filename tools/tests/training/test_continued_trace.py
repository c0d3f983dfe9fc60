"""A continued training, event by event: what it does from its checkpoint on is what it would do."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import pytest
import torch

from rlregress import frameworks
from rlregress.inside import pickled
from rlregress.inside.events import Places
from rlregress.inside.recorded_environments import _SEEDED
from rlregress.inside.recorder import Recorder
from rlregress.probing.interface import TrainingRequest
from rlregress.probing.isolation import isolated

from .test_checkpoints import job_of


def bare(model: Any) -> Any:
    """The environment of a training."""
    return model.env.envs[0].unwrapped


def recording() -> Recorder:
    """A recorder that leaves the global generators as they are."""
    roots = frameworks.get("sb3").code.folders()
    state = pickled.random_state()
    recorder = Recorder(Places(list(roots))).__enter__()
    pickled.set_random_state(state)
    return recorder


@dataclass(frozen=True)
class Begun:
    """A training that was kept after 150 steps, and its events from then on.

    Attributes:
        request: what was trained; the rest can be trained again with what was kept.
        kept: its state, pickled.
        events: what followed.
    """

    request: TrainingRequest
    kept: bytes
    events: list[dict[str, Any]]

    def continued(self, forget: Callable[[Any], None] = lambda model: None) -> list[dict[str, Any]]:
        """The events of what was kept, trained to its end."""
        kept = pickled.load(io.BytesIO(self.kept))
        forget(kept["training"][0])
        pickled.set_random_state(kept["random"])
        recorder = recording()
        continued_request = replace(self.request, keep=lambda *_: None, kept=kept["training"])
        frameworks.get("sb3").train.train(continued_request)
        recorder.__exit__()
        return recorder.events


@functools.cache
def start_training(algorithm: str) -> Begun:
    """A training of 260 steps."""
    job = job_of("sb3", algorithm, "Pendulum-v1")
    written = io.BytesIO()
    recorders: list[Recorder] = []

    def keep(steps: int, training: Any) -> None:
        if steps >= 150 and not recorders:
            # seeded: the recorder is to leave its resets as they are
            vars(bare(training[0]))[_SEEDED] = True
            pickled.dump({"training": training, "random": pickled.random_state()}, written)
            recorders.append(recording())

    request = TrainingRequest(
        algorithm,
        lambda: gymnasium.make("Pendulum-v1"),
        job["hyperparameters"],
        total_steps=260,
        seed=7,
        keep=keep,
    )
    frameworks.get("sb3").train.train(request)
    recorders[0].__exit__()
    return Begun(request, written.getvalue(), recorders[0].events)


def what(events: list[dict[str, Any]]) -> list[Any]:
    """Kind, name and content of events, and where in the framework's code each of them was."""
    return [(e["kind"], e["name"], e["at"] and e["at"][:3], str(e["parts"])) for e in events]


@pytest.fixture(autouse=True)
def one_thread():
    """As in a worker; and the generators are left as they were."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with isolated():
        yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    "algorithm",
    ["sac", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("ppo", "td3"))],
)
def test_the_trace_of_a_continued_training_is_that_of_one_that_went_on(algorithm):
    """Every step, draw, minibatch, loss, gradient and update, in order, to the last bit."""
    never = start_training(algorithm)
    assert {event["kind"] for event in never.events} >= {
        "step",
        "reset",
        "backward",
        "optimizer",
        "draw",
    }
    assert what(never.continued()) == what(never.events)


def test_a_trace_shows_what_was_forgotten():
    """Control: without the moments of one optimiser the first update differs."""
    never = start_training("sac")
    continued = never.continued(lambda model: model.critic.optimizer.state.clear())
    assert what(continued) != what(never.events)
