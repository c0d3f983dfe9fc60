"""Trainings of DQN and DDPG in which every source of chance has a seed of its own.

Frameworks take one seed for all. Here the numbers of one source are drawn from a stream that no
other source draws from, so that one can be varied while the others are held: the framework's own
loop runs, and what it draws while it makes its networks, or samples a minibatch, comes from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import torch

from rlregress.probing.interface import PendingCheckpoints, Trained
from rlregress.probing.random_generators import (
    read_generator_states,
    restore_generator_states,
    restore_generator_states_after,
    seed_generators,
)

#: Called with (environment steps done, the agent at that moment).
OnAgent = Callable[[int, Trained], None]


@dataclass(frozen=True)
class Seeds:
    """One seed for each source of chance.

    Attributes:
        environment: of resets, and of everything that an environment draws afterwards.
        exploration: of whether an action is random, and of which one; before learning starts too.
        initialisation: of the networks' parameters.
        sampling: of the minibatches.
    """

    environment: int = 0
    exploration: int = 0
    initialisation: int = 0
    sampling: int = 0

    @classmethod
    def use_one_seed(cls, seed: int) -> Seeds:
        """Return seeds that are the same for every source of chance."""
        return cls(**{spec.name: seed for spec in fields(cls)})


@dataclass(frozen=True)
class SeededTraining:
    """The request of a training of DQN or DDPG with a seed for each source of chance.

    Attributes:
        algorithm: "dqn" or "ddpg".
        make_env: (bare) -> an environment; with bare True what a framework whose script
            preprocesses games by itself is to start from, else what a network is to see.
        hyperparameters: in the names of ``baselines/hyperparameters``; of DQN also
            ``exploration_final``, the last epsilon, ``exploration_steps``, in which it falls from 1
            to that, and ``target_update_interval``, both in environment steps. ``hidden_sizes`` is
            of no effect where a script has its own, nor where observations are images.
        total_steps: environment steps.
        checkpoints: ascending environment steps at which ``on_agent`` is called, at the first
            point at or after each of them where the framework's loop can be observed.
        prepare: called with the ``rlregress.probing.heads.Heads`` of the agent, before its first
            step; ``location`` of DQN outputs the action values.
    """

    algorithm: str
    make_env: Callable[[bool], Any]
    hyperparameters: Mapping[str, Any]
    total_steps: int
    seeds: Seeds
    checkpoints: Sequence[int] = ()
    on_agent: OnAgent = field(default=lambda steps, agent: None)
    prepare: Callable[[Any], None] | None = None

    def make_checkpoint_caller(self) -> Callable[[int, Callable[[], Trained]], None]:
        """Return a function that calls ``on_agent`` when a checkpoint is reached.

        Its arguments are the steps done, and a function that returns the agent.
        """
        passing = PendingCheckpoints(self.checkpoints)

        def call_on_agent_at_checkpoint(steps: int, agent: Callable[[], Trained]) -> None:
            if passing.drop_passed(steps):
                # looking draws nothing that the training would miss
                with Stream(0).draw_from_stream():
                    self.on_agent(steps, agent())

        return call_on_agent_at_checkpoint


class Stream:
    """A separate stream of random numbers, drawn from the global generators within its block."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._state: Any = None

    @contextmanager
    def draw_from_stream(self) -> Iterator[None]:
        """Continue this stream of random numbers in the block; restore the generators after it.

        Generators that belong to an object are left alone.
        """
        with restore_generator_states_after():
            if self._state is None:
                seed_generators(self._seed)
            else:
                restore_generator_states(self._state)
            try:
                yield
            finally:
                self._state = read_generator_states()


def make_buffer_drawing_from(kind: Any, stream: Stream) -> Any:
    """Return a subclass of a replay buffer that draws its samples from a stream."""

    class StreamBuffer(kind):
        """The same buffer, whose samples are drawn from the stream."""

        def sample(self, *arguments: Any, **options: Any) -> Any:
            with stream.draw_from_stream():
                return super().sample(*arguments, **options)

    return StreamBuffer


def copy_tensors_to_arrays(state: Mapping[str, Any]) -> Mapping[str, np.ndarray]:
    """Return copies of the tensors of a state dictionary as arrays."""
    return {
        name: tensor.detach().cpu().numpy().copy()
        for name, tensor in state.items()
        if isinstance(tensor, torch.Tensor)
    }
