"""A whole small training by RSL-RL's own runner, watched from outside."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import Vectorised
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.probing.layers import list_linear_layers
from rlregress.probing.recorded_update import record_losses_and_steps

#: learning rate of updates that must move nothing
FROZEN = 0.0
#: a bound on the norm of the gradient that none of them reaches
NO_CLIP = 1e9
#: small networks, where their size does not matter
SMALL = Networks(hidden=[16])
#: networks that are linear: see ``make_network_linear``
LINEAR = Networks(hidden=[2], activation="relu")


@dataclass
class AgentTraining(RecordedTraining):
    """The record of a training.

    Attributes:
        runner: after the training.
        gradient_norms: of all gradients at each step of the optimiser.
        policy_inputs: of its first layer at each step of the rollouts, [environments].
        critic_inputs: of the value network's first layer at each of these steps.
        entropies: mean entropy of the policy at each step of the optimiser.
        reported: losses that each update returns.
    """

    runner: Any = None
    gradient_norms: list[float] = field(default_factory=list)
    policy_inputs: list[np.ndarray] = field(default_factory=list)
    critic_inputs: list[np.ndarray] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    reported: list[np.ndarray] = field(default_factory=list)

    @property
    def algorithm(self) -> Any:
        return self.runner.alg


def make_runner(environment: Any, steps: int, networks: Networks = SMALL, **algorithm: Any) -> Any:
    """Return a runner of PPO with its defaults and rollouts of ``steps``; it writes nothing."""
    vectorised = environment if isinstance(environment, Vectorised) else Vectorised(environment)
    options = {"class_name": "PPO", **algorithm}
    compat.raise_if_configuration_unsupported(options, networks)
    configuration = compat.make_configuration_of_runner(steps, options, networks)
    if "critic" in vectorised.further:
        configuration["obs_groups"]["critic"] = ["critic"]
    return compat.make_silent_runner(vectorised, configuration)


def make_network_linear(network: torch.nn.Module, bias: float = 0.0) -> None:
    """Make a network of two ReLU units output its input plus ``bias``."""
    first, last = list_linear_layers(network)
    with torch.no_grad():
        for layer, sign in ((first, torch.tensor([1.0, -1.0])), (last, torch.tensor([1.0, -1.0]))):
            layer.weight.zero_()
            layer.bias.zero_()
            layer.weight.copy_(sign.reshape(layer.weight.shape))
        last.bias.fill_(bias)


def magnify_last_layers(agent: Any) -> None:
    """Multiply the weights of last layers, so that outputs clearly depend on inputs and memory."""
    with torch.no_grad():
        for name in ("actor", "critic"):
            list_linear_layers(compat.find_layers_of_network(agent, name))[-1].weight.mul_(100.0)


def fill_storage(storage: Any, **numbers: Any) -> None:
    """Set ``advantages``, ``returns`` or other fields of a storage to a number or [steps]."""
    steps, environments = storage.rewards.shape[:2]
    for name, own in numbers.items():
        column = torch.as_tensor(np.asarray(own, dtype=np.float32)).reshape(-1, 1, 1)
        setattr(storage, name, column.expand(steps, environments, 1).clone())


def fill_storage_without_effect(storage: Any) -> None:
    """Fill a storage so that updates move nothing: advantages of 0, and values as returns."""
    fill_storage(storage, advantages=0.0, returns=storage.values.numpy())


def set_ratios_of_storage(storage: Any, ratios: Any) -> None:
    """Shift stored log-probabilities so that the ratios are these, one number or [steps]."""
    logs = torch.as_tensor(np.log(np.asarray(ratios, dtype=np.float64))).float().reshape(-1, 1, 1)
    storage.actions_log_prob = storage.actions_log_prob - logs


@contextlib.contextmanager
def _record_training(
    training: AgentTraining, change: Callable[[Any], None] | None
) -> Iterator[None]:
    algorithm = training.algorithm
    storage, update = algorithm.storage, algorithm.update
    policy, name = compat.find_acting_module(algorithm), compat.name_log_prob_method(algorithm)
    score = getattr(policy, name)
    generators = [way for way in dir(storage) if way.endswith("mini_batch_generator")]
    originals = {way: getattr(storage, way) for way in generators}
    minibatch: list[Any] = []

    def record_and_update() -> Any:
        training.stored.append(
            compat.select_policy_observations(storage.observations).numpy()[..., 0].copy().ravel()
        )
        if change is not None:
            change(storage)
        try:
            result = update()
        finally:
            minibatch.clear()
        training.reported.append(compat.list_reported_losses(result))
        return result

    def make_recording_generator(generate: Callable[..., Any]) -> Callable[..., Any]:
        def record_and_generate(*arguments: Any, **keywords: Any) -> Any:
            for handed in generate(*arguments, **keywords):
                minibatch[:] = [compat.read_minibatch(handed)]
                yield handed

        return record_and_generate

    def record_and_score(actions: torch.Tensor) -> torch.Tensor:
        log_probs = score(actions)
        if minibatch:
            own = minibatch[0]
            training.evaluated.append(own.observations.numpy()[..., 0].copy())
            training.advantages.append(own.advantages.numpy().flatten())
            scored = log_probs.detach().flatten()
            old = own.log_probs.flatten()
            training.log_ratios.append((scored[: len(old)] - old).numpy())
        return log_probs

    def make_input_collector(collected: list[np.ndarray]) -> Callable[..., None]:
        def note_inputs(_: Any, inputs: Any) -> None:
            if not minibatch:
                collected.append(inputs[0].detach().numpy()[:, 0].copy())

        return note_inputs

    def record_values(_: Any, __: Any, outputs: torch.Tensor) -> None:
        if minibatch:
            old = minibatch[0].values.flatten()
            values = outputs.detach().flatten()[: len(old)]
            training.value_changes.append((values - old).numpy().copy())

    def note_optimizer_step(*_: Any) -> None:
        training.entropies.append(compat.read_entropy(algorithm).mean().item())
        training.rates.append(float(algorithm.optimizer.param_groups[0]["lr"]))
        trained, logarithm = compat.find_trained_deviation(algorithm)
        slope = torch.ones_like(trained) if logarithm else trained.detach()
        if trained.grad is not None:
            training.log_std_gradients.append((trained.grad * slope).sum().item())

    algorithm.update = record_and_update
    setattr(policy, name, record_and_score)
    for way, generate in originals.items():
        setattr(storage, way, make_recording_generator(generate))
    critic = compat.find_layers_of_network(algorithm, "critic")
    first = [
        list_linear_layers(network)[0]
        for network in (compat.find_layers_of_network(algorithm, "actor"), critic)
    ]
    handles = [
        first[0].register_forward_pre_hook(make_input_collector(training.policy_inputs)),
        first[1].register_forward_pre_hook(make_input_collector(training.critic_inputs)),
        critic.register_forward_hook(record_values),
        algorithm.optimizer.register_step_pre_hook(note_optimizer_step),
    ]
    try:
        yield
    finally:
        algorithm.update = update
        setattr(policy, name, score)
        for way, generate in originals.items():
            setattr(storage, way, generate)
        for handle in handles:
            handle.remove()


def train_and_record(
    environment: Any,
    rollouts: int,
    *,
    steps: int,
    networks: Networks = SMALL,
    change: Callable[[Any], None] | None = None,
    prepare: Callable[[Any], None] | None = None,
    **algorithm: Any,
) -> AgentTraining:
    """Train for ``rollouts``, by default with one epoch of one minibatch; return the record.

    Args:
        steps: of a rollout, in each environment.
        change: called with each full storage before it is used.
        prepare: called with the algorithm before the training.
        algorithm: what the algorithm is configured with.
    """
    plain = {"num_learning_epochs": 1, "num_mini_batches": 1, "schedule": "fixed"}
    training = AgentTraining()
    training.runner = make_runner(environment, steps, networks, **{**plain, **algorithm})
    if prepare is not None:
        prepare(training.algorithm)
    optimizers = {"policy": training.algorithm.optimizer}
    with (
        _record_training(training, change),
        record_losses_and_steps(optimizers) as recorded,
        compat.silence_runner_output(),
    ):
        # of the deviation of one advantage, where a rollout has one step
        warnings.filterwarnings("ignore", "std\\(\\): degrees of freedom", UserWarning)
        compat.train_without_saving(training.runner, rollouts)
    training.losses = recorded.losses["policy"]
    training.gradient_norms = recorded.gradient_norms["policy"]
    return training


def get_gradient_of_trained_bias(network: torch.nn.Module) -> float:
    """Return the derivative of the last loss by the bias of a network's only output."""
    gradient = list_linear_layers(network)[-1].bias.grad
    if gradient is None:
        raise RuntimeError("the network has no gradient: no loss depended on it")
    return gradient.item()
