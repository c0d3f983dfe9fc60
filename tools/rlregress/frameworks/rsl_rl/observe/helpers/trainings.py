"""A whole small training by RSL-RL's own runner, watched from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import SMALL, make_runner
from rlregress.frameworks.rsl_rl.train.collection import UpdateRecorder
from rlregress.frameworks.rsl_rl.train.training import ARGUMENTS
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.probing.journal import run_and_record_steps

#: learning rate of updates that must move nothing
FROZEN = 0.0
#: a bound on the norm of the gradient that none of them reaches
NO_CLIP = 1e9
#: networks that are linear: see ``make_network_linear``
LINEAR = Networks(hidden=[2], activation="relu")
#: what a training has unless it is configured otherwise
_PLAIN: Mapping[str, Any] = {
    "num_learning_epochs": 1,
    "num_mini_batches": 1,
    "schedule": "fixed",
    "learning_rate": FROZEN,
}


@dataclass
class AgentTraining(RecordedTraining):
    """The record of a training.

    Attributes:
        runner: after the training.
        rollouts: as they were stored.
        gradient_norms: by "policy" or "predictor", of all gradients at each step of the optimiser.
        inputs: by "actor" or "critic", of its first layer at each step of the rollouts and, from
            then on, wherever the agent is asked, [environments].
        entropies: mean entropy of the policy at each step of the optimiser.
        reported: losses that each update returns.
    """

    runner: Any = None
    rollouts: Sequence[Any] = ()
    gradient_norms: Mapping[str, list[float]] = field(default_factory=dict)
    inputs: Mapping[str, list[np.ndarray]] = field(default_factory=dict)
    entropies: list[float] = field(default_factory=list)
    reported: Sequence[np.ndarray] = ()

    def get_gradient_of_last_bias(self, network: str) -> float:
        """Return the derivative of the last loss by the bias of a network's only output."""
        gradient = compat.list_layers(self.runner.alg, network)[-1].bias.grad
        if gradient is None:
            raise RuntimeError("the network has no gradient: no loss depended on it")
        return gradient.item()


def map_settings(settings: Any) -> dict[str, Any]:
    """Return the settings of a measurement that are not default, by the keywords of PPO."""
    names = {name: own for name, own in ARGUMENTS.items() if hasattr(settings, name)}
    return settings.map_to_framework_names(**names)


def make_network_linear(agent: Any, name: str, bias: float = 0.0) -> None:
    """Make a network of two ReLU units output its input plus ``bias``."""
    first, last = compat.list_layers(agent, name)
    with torch.no_grad():
        for layer in (first, last):
            layer.bias.zero_()
            layer.weight.copy_(torch.tensor([1.0, -1.0]).reshape(layer.weight.shape))
        last.bias.fill_(bias)


def make_column(own: Any) -> torch.Tensor:
    """Return a number, or [steps], as a field of a storage, [1 or steps, 1, 1]."""
    return torch.as_tensor(np.asarray(own, dtype=np.float32)).reshape(-1, 1, 1)


def fill_storage(storage: Any, ratios: Any = 1.0, **numbers: Any) -> None:
    """Set ``advantages``, ``returns`` or other fields of a storage to a number or [steps].

    Args:
        ratios: of new to old probability, to which stored log-probabilities are shifted, one number
            or [steps].
    """
    for name, own in numbers.items():
        setattr(storage, name, make_column(own).expand(storage.rewards.shape).clone())
    storage.actions_log_prob = storage.actions_log_prob - make_column(np.log(ratios))


def fill_storage_without_effect(storage: Any, ratios: Any = 1.0) -> None:
    """Fill a storage so that updates move nothing: advantages of 0, and values as returns."""
    fill_storage(storage, ratios, advantages=0.0, returns=storage.values.numpy())


def collect_inputs(
    agent: Any, name: str, is_ignored: Callable[[], bool] = lambda: False
) -> list[np.ndarray]:
    """Return a list that gets the inputs of a network's first layer, [environments] each."""
    collected: list[np.ndarray] = []

    def note_inputs(_: Any, inputs: Any) -> None:
        if not is_ignored():
            collected.append(inputs[0].detach().numpy()[:, 0].copy())

    compat.list_layers(agent, name)[0].register_forward_pre_hook(note_inputs)
    return collected


def train_and_record(
    environment: Any,
    rollouts: int = 1,
    *,
    steps: int,
    networks: Networks = SMALL,
    change: Callable[[Any], Any] = lambda storage: None,
    prepare: Callable[[Any], Any] = lambda agent: None,
    **algorithm: Any,
) -> AgentTraining:
    """Train, by default with one epoch of one minibatch that moves nothing; return the record.

    Args:
        steps: of a rollout, in each environment.
        change: called with each full storage before it is used.
        prepare: called with the algorithm before the training.
        algorithm: what the algorithm is configured with.
    """
    runner = make_runner(environment, steps, networks, **{**_PLAIN, **algorithm})
    agent = runner.alg
    prepare(agent)
    recorder = UpdateRecorder(agent, change)
    inputs = {
        name: collect_inputs(agent, name, lambda: recorder.is_updating)
        for name in ("actor", "critic")
    }
    training = AgentTraining(runner=runner, rollouts=recorder.rollouts, inputs=inputs)

    def note_policy_step(part: str) -> None:
        if part != "policy":
            return
        training.entropies.append(compat.read_entropy(agent).mean().item())
        training.rates.append(float(agent.optimizer.param_groups[0]["lr"]))
        trained, logarithm = compat.find_trained_deviation(agent)
        slope = torch.ones_like(trained) if logarithm else trained.detach()
        if trained.grad is not None:
            training.log_std_gradients.append((trained.grad * slope).sum().item())

    optimizers = {"policy": agent.optimizer}
    if getattr(agent, "rnd", None):
        optimizers["predictor"] = compat.find_curiosity_optimizer(agent)
    journal = run_and_record_steps(
        lambda: compat.train_without_saving(runner, rollouts), optimizers, note_policy_step
    )
    training.losses, training.gradient_norms = journal.losses["policy"], journal.gradient_norms
    training.reported = list(map(compat.list_reported_losses, recorder.results))
    training.stored = [rollout.observations[..., 0].ravel() for rollout in recorder.rollouts]
    minibatches: list[Any] = recorder.minibatches
    training.evaluated = [own.observations[..., 0] for own in minibatches]
    training.advantages = [own.advantages for own in minibatches]
    for own, values in zip(minibatches, recorder.values, strict=False):
        rows = slice(len(own.log_probs))
        training.log_ratios.append(own.policy_log_probs[rows] - own.log_probs)
        training.value_changes.append(values[rows] - own.values)
    return training
