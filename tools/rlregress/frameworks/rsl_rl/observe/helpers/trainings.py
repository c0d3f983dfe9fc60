"""A whole small training by RSL-RL's own runner, watched from outside."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import SMALL, Vectorised, make_runner
from rlregress.frameworks.rsl_rl.train.collection import UpdateRecorder
from rlregress.frameworks.rsl_rl.train.training import ARGUMENTS
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.measurements.ppo_trainings import Settings
from rlregress.probing.driven import fill_parameters
from rlregress.probing.journal import run_and_record_steps
from rlregress.probing.scripted import Scripted

#: learning rate of updates that must move nothing
FROZEN = 0.0
#: a bound on the norm of the gradient that none of them reaches
NO_CLIP = 1e9
#: networks that are linear: see ``make_network_linear``
LINEAR = Networks(hidden=[2], activation="relu")
#: name -> field of a storage, which a training may replace
_STORED = {
    "advantages": "advantages",
    "returns": "returns",
    "values": "values",
    "log_probs": "actions_log_prob",
}
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
        predictor_norms: as ``gradient_norms``, of the predictor of random network distillation.
        inputs: by "actor" or "critic", of its first layer at each step of the rollouts and, from
            then on, wherever the agent is asked, [environments].
    """

    runner: Any = None
    predictor_norms: Sequence[float] = ()
    inputs: Mapping[str, list[np.ndarray]] = field(default_factory=dict)

    def get_gradient_of_last_bias(self, network: str) -> float:
        """Return the derivative of the last loss by the bias of a network's only output."""
        gradient = compat.list_layers(self.runner.alg, network)[-1].bias.grad
        if gradient is None:
            raise RuntimeError("the network has no gradient: no loss depended on it")
        return gradient.item()


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
        training.value_gradients.append(training.get_gradient_of_last_bias("critic"))

    optimizers = {"policy": agent.optimizer}
    if getattr(agent, "rnd", None):
        optimizers["predictor"] = compat.find_curiosity_optimizer(agent)
    journal = run_and_record_steps(
        lambda: compat.train_without_saving(runner, rollouts), optimizers, note_policy_step
    )
    training.losses = journal.losses["policy"]
    training.gradient_norms = journal.gradient_norms["policy"]
    training.predictor_norms = journal.gradient_norms["predictor"]
    training.reported = list(map(compat.list_reported_losses, recorder.results))
    training.stored = [rollout.observations[..., 0].ravel() for rollout in recorder.rollouts]
    minibatches: list[Any] = recorder.minibatches
    for own, values in zip(minibatches, recorder.values, strict=False):
        observations = own.observations[..., 0]
        rows = slice(len(own.log_probs))
        recorded_rows = {
            "evaluated": observations.ravel(),
            "advantages": own.advantages,
            "log_ratios": own.policy_log_probs[rows] - own.log_probs,
            "value_changes": values[rows] - own.values,
        }
        for name, numbers in recorded_rows.items():
            # where there is memory they are [steps, sequences]
            getattr(training, name).append(numbers.reshape(observations.shape).T.ravel())
    return training


def train(
    settings: Settings,
    networks: Networks = SMALL,
    prepare: Callable[[Any], Any] = lambda agent: None,
    **algorithm: Any,
) -> AgentTraining:
    """Train with the settings of a measurement; return the record.

    Args:
        prepare: called with the algorithm before its outputs are fixed.
        algorithm: what the algorithm is configured with beside them.
    """
    options = _map_settings_to_keywords(settings)
    if settings.value_is_observation:
        # advantages are normalised when an update uses them
        networks, options = LINEAR, {**options, **compat.RAW_ADVANTAGES}
    agents, rollouts = list[Any](), itertools.count(1)

    def prepare_agent(agent: Any) -> None:
        agents.append(agent)
        prepare(agent)
        _fix_outputs(agent, settings)

    def change_storage(storage: Any) -> None:
        number = next(rollouts)
        arrays = {name: getattr(storage, own)[..., 0].numpy() for name, own in _STORED.items()}
        for name, new in settings.replace_stored(number - 1, arrays).items():
            setattr(storage, _STORED[name], torch.as_tensor(new)[..., None])
        if number == settings.forgets:
            _let_policy_forget(agents[0])

    environments = [Scripted(**script) for script in settings.scripts]
    training = train_and_record(
        Vectorised(*environments),
        settings.rollouts,
        steps=settings.steps,
        networks=networks,
        change=change_storage,
        prepare=prepare_agent,
        **{**options, **algorithm},
    )
    training.environments = environments
    if settings.value_is_observation and not compat.RAW_ADVANTAGES:
        for rollout in training.rollouts:
            rollout.advantages = rollout.returns - rollout.values
    return training


def _map_settings_to_keywords(settings: Settings) -> dict[str, Any]:
    """Return the settings that are not default, by the keywords of PPO."""
    names = {name: own for name, own in ARGUMENTS.items() if hasattr(settings, name)}
    options = settings.map_to_framework_names(**names, minibatches="num_mini_batches")
    if not settings.normalize_advantage:
        # those of rollouts are, before they are stored
        options.pop(ARGUMENTS["normalize_advantage"], None)
    if settings.value_clip is not None:
        options["use_clipped_value_loss"] = settings.value_clip > 0.0
    if not settings.gradients_clipped:
        options["max_grad_norm"] = NO_CLIP
    return options


def _fix_outputs(agent: Any, settings: Settings) -> None:
    """Make the networks of an agent output what the settings say."""
    if settings.value_is_observation:
        make_network_linear(agent, "critic")
    fixed = {"critic": settings.value, "actor": settings.mean}
    outputs = {name: number for name, number in fixed.items() if number is not None}
    compat.fix_outputs(agent, settings.log_deviation, **outputs)
    if settings.forgets == 0:
        _let_policy_forget(agent)
    if settings.estimated_value is not None:

        def change_values_and_estimate(estimate: Any, *arguments: Any) -> None:
            compat.fix_outputs(agent, critic=settings.estimated_value)
            estimate(*arguments)

        compat.wrap_method(agent, "compute_returns", change_values_and_estimate)


def _let_policy_forget(agent: Any) -> None:
    """Make the recurrent layers of the policy output zeros."""
    layers = compat.find_acting_module(agent).modules()
    # that of the critic follows, where both are in one module
    memory = next(layer for layer in layers if isinstance(layer, torch.nn.RNNBase))
    fill_parameters(memory.parameters(), 0.0)
