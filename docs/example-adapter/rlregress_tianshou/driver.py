"""DQN, driven: Tianshou's own ``update``, ``collect``, ``compute_action`` and ``run``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import TorchOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.highlevel.algorithm import DQNAlgorithmFactory
from tianshou.highlevel.config import OffPolicyTrainingConfig
from tianshou.highlevel.env import DiscreteEnvironments
from tianshou.highlevel.module.core import ModuleFactory
from tianshou.highlevel.params.algorithm_params import DQNParams
from tianshou.highlevel.params.optim import OptimizerFactoryFactoryTorch
from tianshou.highlevel.persistence import PolicyPersistence
from tianshou.highlevel.trainer import EpochTrainCallbackDQNEpsLinearDecay, TrainerCallbacks
from tianshou.highlevel.world import World
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils import LazyLogger
from tianshou.utils.net.common import Net
from tianshou.utils.torch_utils import policy_within_training_step

from rlregress.measurements.driven_agents import Look, Settings, do_nothing
from rlregress.measurements.loop_journal import Journal
from rlregress.probing.driven import NetworkPair, ScriptedEnvs
from rlregress.probing.journal import record_differentiated_losses
from rlregress.probing.scripted import Scripted

#: an interval that the documentation of DQN calls typical; 0, its default, is no target network
_TYPICAL_INTERVAL = 1000
_BUFFER = 256


class LibraryDriver(NetworkPair):
    """``DQN`` with a target network, ``Collector`` and ``OffPolicyTrainer``.

    See ``driven_agents.DiscreteAgent``.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._envs = ScriptedEnvs(settings, discrete=settings.actions)
        self._venv = DummyVectorEnv([self._envs.make_environment] * settings.environments)
        self._filled = False
        self._make()

    def _make(self) -> None:
        settings = self._settings
        policy = DiscreteQLearningPolicy(
            model=_network(settings.actions),
            action_space=self._envs.environments[0].action_space,
            # past the schedule: the class has none
            eps_training=settings.epsilon[1],
            eps_inference=settings.epsilon[1],
        )
        self._algorithm = DQN(
            policy=policy,
            optim=TorchOptimizerFactory(torch.optim.SGD, lr=0.0),
            gamma=settings.discount,
            target_update_freq=settings.target_every or _TYPICAL_INTERVAL,
        )
        self._collector = Collector(
            self._algorithm,
            self._venv,
            VectorReplayBuffer(_BUFFER, settings.environments),
            exploration_noise=True,
        )
        self._collector.reset()

    def list_networks(self) -> Sequence[Any]:
        """The Q network and, if there is one, the target network."""
        target = self._algorithm.model_old
        online = self._algorithm.policy.model
        return (online,) if target is None else (online, target)

    def compute_loss(self, online: Sequence[float], target: Sequence[float]) -> float:
        """What ``update`` differentiates, of transitions that ``Collector`` has collected."""
        size = self._settings.batch_size
        if not self._filled:
            first = [1.0] + [0.0] * (self._settings.actions - 1)
            self.set_values(first, first)
            self._collector.collect(n_step=size)
            self._filled = True
        self.set_values(online, target)
        within_step = policy_within_training_step(self._algorithm.policy)
        with within_step, record_differentiated_losses() as losses:
            self._algorithm.update(buffer=self._collector.buffer, sample_size=size)
        (loss,) = losses
        return loss

    def choose_action(self, q_values: Sequence[float], deterministic: bool) -> int | None:
        """``compute_action``, or what ``Collector`` does in a step of a training."""
        self.set_values(q_values, q_values)
        with _draws(self._settings.draw):
            return self._without_chance() if deterministic else self.explore()[0]

    def _without_chance(self) -> int:
        return int(self._algorithm.policy.compute_action(np.zeros(1, dtype=np.float32), info={}))

    def explore(self) -> Sequence[int]:
        """One step of the training, in every environment: the actions."""
        with policy_within_training_step(self._algorithm.policy):
            self._collector.collect(n_step=self._settings.environments)
        return [int(environment.received[-1]) for environment in self._envs.environments]

    def run_loop(self, on_start: Look = do_nothing, on_step: Look = do_nothing) -> Journal:
        """``run`` of ``OffPolicyTrainer``."""
        with _draws(self._settings.draw):
            return self._envs.record_training(self._train, on_start, on_step)

    def _train(self) -> None:
        settings = self._settings
        self._algorithm.run_training(
            OffPolicyTrainerParams(
                training_collector=self._collector,
                max_epochs=1,
                epoch_num_steps=settings.steps,
                collection_step_num_env_steps=settings.every,
                update_step_num_gradient_steps_per_sample=1.0 / settings.every,
                batch_size=settings.batch_size,
                show_progress=False,
            )
        )


class TrainerDriver(LibraryDriver):
    """What ``DQNAlgorithmFactory`` makes of parameters that are not set.

    ``Experiment`` would make the same, but it needs the packages of Tianshou's extra ``eval``.
    """

    def _make(self) -> None:
        settings = self._settings
        first, last, falls = settings.epsilon
        interval = settings.target_every
        self._tested = Scripted(discrete=settings.actions, terminated=1.0)
        envs = DiscreteEnvironments(
            Scripted(discrete=settings.actions),
            self._venv,
            DummyVectorEnv([lambda: self._tested]),
        )
        self._config = OffPolicyTrainingConfig(
            max_epochs=1,
            epoch_num_steps=settings.steps,
            num_training_envs=settings.environments,
            buffer_size=_BUFFER,
            batch_size=settings.batch_size,
            collection_step_num_env_steps=settings.every,
            update_step_num_gradient_steps_per_sample=1.0 / settings.every,
            start_timesteps=settings.starts,
        )
        factory = DQNAlgorithmFactory(
            DQNParams(
                gamma=settings.discount,
                lr=0.0,
                eps_training=first,
                eps_inference=last,
                **({} if interval is None else {"target_update_freq": interval}),
            ),
            self._config,
            _NetworkFactory(),
            OptimizerFactoryFactoryTorch(torch.optim.SGD),
        )
        factory.set_trainer_callbacks(
            TrainerCallbacks(EpochTrainCallbackDQNEpsLinearDecay(first, last, falls))
        )
        self._algorithm = factory.create_algorithm(envs, "cpu")
        self._collector, self._test_collector = factory.create_train_test_collectors(
            self._algorithm, envs
        )
        world = World(
            envs=envs,
            algorithm=self._algorithm,
            training_collector=self._collector,
            test_collector=self._test_collector,
            logger=LazyLogger(),
            persist_directory="",
            restore_directory=None,
        )
        self._trainer = factory.create_trainer(world, PolicyPersistence(enabled=False))
        self._trainer.params.show_progress = False

    def _train(self) -> None:
        # as Experiment.run does
        config = self._config
        if config.start_timesteps:
            self._collector.collect(
                n_step=config.start_timesteps, random=config.start_timesteps_random
            )
            # the run has its number of steps in all
            self._trainer.params.epoch_num_steps -= config.start_timesteps
        self._trainer.run()

    def choose_action(self, q_values: Sequence[float], deterministic: bool) -> int | None:
        """An action after a training: of the training, or of the test that follows it."""
        self.set_values(q_values, q_values)
        self.run_loop()
        return super().choose_action(q_values, deterministic)

    def _without_chance(self) -> int:
        self._test_collector.reset()
        self._test_collector.collect(n_episode=1)
        return int(self._tested.received[-1])


class _NetworkFactory(ModuleFactory):
    """Makes the network of the other scope."""

    def create_module(self, envs: Any, device: Any) -> Net:
        return _network(int(envs.get_action_space().n))


def _network(actions: int) -> Net:
    return Net(state_shape=1, action_shape=actions, hidden_sizes=[4])


@contextmanager
def _draws(draw: float | None) -> Iterator[None]:
    """Every coin of ``add_exploration_noise`` is a number; random actions are drawn as ever."""
    rand = np.random.rand

    def fixed(*shape: int) -> Any:
        return rand(*shape) if draw is None or len(shape) > 1 else np.full(shape, draw)

    with mock.patch.object(np.random, "rand", fixed):
        yield
