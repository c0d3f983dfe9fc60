"""Trainings by TorchRL's trainers: whole, in two halves, or with each source of chance seeded."""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import (
    ReplayBufferTrainer,
    TensorDict,
    TensorDictReplayBuffer,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.compat import find_deterministic_exploration
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.frameworks.torchrl.train.trainers import (
    check_and_select_hyperparameters,
    make_parts_of_algorithm,
    make_trainer_and_loss,
    make_trainer_of_parts,
    use_single_precision,
)
from rlregress.probing.heads import fix_draws_of_normal_distributions
from rlregress.probing.interface import (
    PendingCheckpoints,
    Policy,
    Trained,
    TrainingRequest,
    Unsupported,
)
from rlregress.probing.isolation import isolate_random_generators
from rlregress.probing.random_generators import seed_generators
from rlregress.probing.seeded_training import (
    SeededTraining,
    Stream,
    copy_tensors_to_arrays,
    make_buffer_drawing_from,
)


def _make_batch(observations: np.ndarray) -> Any:
    tensor = torch.as_tensor(np.asarray(observations))
    # pictures are made numbers by the network
    tensor = tensor if tensor.dtype is torch.uint8 else tensor.float()
    return TensorDict({"observation": tensor}, len(tensor))


def _call_network(loss: Any, name: str, batch: Any) -> Any:
    """Return a batch with the outputs of a network of a loss."""
    network = getattr(loss, f"{name}_network")
    with getattr(loss, f"{name}_network_params").to_module(network):
        return network(batch)


def _add_policy_actions(loss: Any, batch: Any) -> Any:
    """Return a batch with the actions of the policy of a loss."""
    return _call_network(loss, "actor" if hasattr(loss, "actor_network") else "value", batch)


def make_policy_function(loss: Any) -> Policy:
    """Return the greedy or deterministic policy of a loss."""

    def choose_actions(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad(), set_exploration_type(find_deterministic_exploration()):
            actions = _add_policy_actions(loss, _make_batch(observations))["action"]
        # one of several is a one in its place
        one_of_several = not hasattr(loss, "actor_network")
        return actions.to(torch.int64).argmax(-1).numpy() if one_of_several else actions.numpy()

    return choose_actions


def _make_drawing_function(loss):
    def draw_actions(observations: np.ndarray, numbers: np.ndarray) -> Any:
        batch = _make_batch(observations)
        with (
            loss.actor_network_params.to_module(loss.actor_network),
            fix_draws_of_normal_distributions(numbers),
        ):
            if not hasattr(loss.actor_network, "get_dist"):
                return loss.actor_network(batch)["action"], None
            law = loss.actor_network.get_dist(batch)
            # PPO is handed the actions of a rollout
            of_rollout = hasattr(loss, "critic_network_params")
            actions = law.rsample().detach() if of_rollout else law.rsample()
            return actions, law.log_prob(actions)

    return draw_actions


def make_value_function(loss: Any) -> Any:
    """Return a function of observations: the value of the policy's actions there."""

    def estimate_values(observations: np.ndarray) -> np.ndarray:
        batch = _make_batch(observations)
        with torch.no_grad(), set_exploration_type(find_deterministic_exploration()):
            if hasattr(loss, "critic_network_params"):
                values = _call_network(loss, "critic", batch)["state_value"]
            elif not hasattr(loss, "actor_network"):
                values = _add_policy_actions(loss, batch)["chosen_action_value"]
            elif not hasattr(loss, "qvalue_network_params"):
                batch = _add_policy_actions(loss, batch)
                values = _call_network(loss, "value", batch)["state_action_value"]
            else:
                batch, each = _add_policy_actions(loss, batch), []
                for parameters in loss.qvalue_network_params.unbind(0):
                    with parameters.to_module(loss.qvalue_network):
                        each.append(loss.qvalue_network(batch)["state_action_value"])
                values = torch.stack(each).amin(0)
        return values.numpy().reshape(-1)

    return estimate_values


def make_trained_agent(loss: Any, steps: int, *further: Any) -> Trained:
    """Return the agent of a loss after these environment steps, with further fields of it."""
    parameters = copy_tensors_to_arrays(loss.state_dict())
    return Trained(
        make_policy_function(loss), make_value_function(loss), parameters, steps, *further
    )


#: diagnostic -> the entry of what a loss returns
_RETURNED = {"entropy": "entropy", "kl": "kl_approx", "temperature": "alpha"}


class _AfterBatch:
    """A hook that calls ``on_checkpoint`` and ``keep`` of a request after each batch's updates.

    Attributes:
        diagnostics: those of ``Trained``, noted as the trainer calls the loss.
    """

    def __init__(self, trainer, loss) -> None:
        self.trainer, self.loss = trainer, loss
        self.diagnostics: dict[str, list[float]] = {}
        self._request: Any = None
        self._passing = PendingCheckpoints(())
        trainer.register_op("post_steps", self)
        loss.register_forward_hook(self.note_diagnostics)

    def __getstate__(self) -> dict[str, Any]:
        # the request is of one process
        return {"trainer": self.trainer, "loss": self.loss, "diagnostics": self.diagnostics}

    def set_checkpoint_request(self, request: TrainingRequest) -> None:
        """Set the request whose checkpoints are served from the training's current step on."""
        self._request = request
        self._passing = PendingCheckpoints(request.checkpoints, self.trainer.collected_frames)

    def note_diagnostics(self, loss, arguments, returned) -> None:
        """Note what the loss returns for an update."""
        for name, key in _RETURNED.items():
            value = returned.get(key, None)
            if value is not None:
                self.diagnostics.setdefault(name, []).append(float(value.detach().mean()))

    def train(self) -> Trained:
        """Train to the end, and return the agent."""
        self.trainer.train()
        loss, steps = self.loss, self.trainer.collected_frames
        return make_trained_agent(loss, steps, self.diagnostics, _make_drawing_function(loss))

    def __call__(self) -> None:
        done = self.trainer.collected_frames
        if self._passing.drop_passed(done):
            self._request.on_checkpoint(done, make_policy_function(self.loss))
        # the collector has handed out its batch, and its loop goes on where its frames are
        self._request.keep(done, self)


def _fill_state_of_sampler(sampling, state: Mapping[str, Any]) -> None:
    sampling.__dict__.update(state)
    if sampling.iterate:
        sampling.replay_buffer_iter = iter(sampling.replay_buffer)


def _reduce_sampler_without_iterator(sampling: Any) -> tuple[Any, ...]:
    # a generator cannot be written; a new one goes on alike: which rows were handed out, and
    # whether these were the last, the sampler knows
    state = {name: item for name, item in vars(sampling).items() if name != "replay_buffer_iter"}
    new = copyreg.__newobj__  # type: ignore[attr-defined]
    return new, (type(sampling),), state, None, None, _fill_state_of_sampler


def make_trainer_with_hook(request: TrainingRequest) -> _AfterBatch:
    """Return the checkpoint hook that holds a new trainer and its loss."""
    settings = check_and_select_hyperparameters(request.algorithm, request.hyperparameters)
    return _AfterBatch(*make_trainer_and_loss(request, settings))


def train(request: TrainingRequest) -> Trained:
    """Train with the framework's trainer of the algorithm.

    Raises:
        Unsupported: the installed version has no such trainer, or not all that it is to be set to.
    """
    copyreg.pickle(ReplayBufferTrainer, _reduce_sampler_without_iterator)
    after_batch = make_trainer_with_hook(request) if request.kept is None else request.kept
    after_batch.set_checkpoint_request(request)
    return after_batch.train()


def train_and_resume(request: TrainingRequest, restored: bool) -> Trained:
    """Stop a trainer after half of the steps, and load its state into another one.

    Raises:
        Unsupported: ``train`` shuts the collector down at its end, so it cannot be called again.
    """
    if not restored:
        raise Unsupported("the train method of a trainer shuts its collector down, and ends there")
    first = make_trainer_with_hook(request)
    state = {}

    def stop_at_half() -> None:
        if first.trainer.collected_frames >= request.total_steps // 2:
            state.update(copy.deepcopy(first.trainer.state_dict()))
            first.trainer.request_stop()

    first.trainer.register_op("post_steps", stop_at_half)
    first.set_checkpoint_request(request)
    first.trainer.train()
    with isolate_random_generators():
        second = make_trainer_with_hook(request)
        second.trainer.load_state_dict(state)
    second.set_checkpoint_request(request)
    return second.train()


def train_seeded(request: SeededTraining) -> Trained:
    """Train with ``DQNTrainer`` or ``DDPGTrainer``, each source of chance seeded separately.

    Raises:
        Unsupported: the installed version has no such trainer.
    """
    settings, seeds = request.hyperparameters, request.seeds
    environment = use_single_precision(wrap_environment(request.make_env(False)))
    call_at_checkpoint = request.make_checkpoint_caller()
    with isolate_random_generators():
        with Stream(seeds.initialisation).draw_from_stream():
            parts = make_parts_of_algorithm(request, environment, settings)
        seed_generators(seeds.exploration)
        environment.set_seed(seeds.environment)
        buffer = make_buffer_drawing_from(TensorDictReplayBuffer, Stream(seeds.sampling))
        steps = request.total_steps
        trainer = make_trainer_of_parts(parts, environment, settings, steps, buffer)

        def call_after_batch() -> None:
            done = trainer.collected_frames
            call_at_checkpoint(done, lambda: make_trained_agent(parts.loss, done))

        trainer.register_op("post_steps", call_after_batch)
        trainer.train()
    return make_trained_agent(parts.loss, trainer.collected_frames)


def describe_sources_of_chance() -> dict[str, str]:
    """Return how each source of chance is drawn, and how it can be seeded by itself."""
    return {
        "environment": "the environment's own generator, seeded by EnvBase.set_seed",
        "exploration": (
            "torch's global generator (EGreedyModule, and the collector's first random actions)"
        ),
        "initialisation": "torch's global generator, when the networks are made",
        "sampling": (
            "torch's global generator too (RandomSampler): one seed sets both, and what one draws "
            "moves the other; apart here by a subclass of the replay buffer"
        ),
    }
