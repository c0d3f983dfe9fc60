"""Driver of the losses of SAC, TD3 and DDPG by themselves, and of the modules that act."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    DDPGLoss,
    ExplorationType,
    NormalParamExtractor,
    SoftUpdate,
    TanhNormal,
    TensorDict,
    TensorDictModule,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.compat import (
    add_gaussian_noise,
    estimate_next_values,
    find_action_spec,
    find_deterministic_exploration,
    get_loss_output,
    make_sac_loss,
    make_td3_loss,
)
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    FixedLocScale,
    PinnedQNetwork,
    fill_stacked_parameters,
    make_action_box,
    make_equal_transitions,
    make_q_network,
    make_reporting_policy,
    make_stochastic_policy,
    make_tanh_policy,
)
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.measurements.twin_agents import Settings
from rlregress.probing.heads import fix_draws_of_normal_distributions
from rlregress.probing.isolation import shift_seed
from rlregress.probing.journal import StepJournal
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import Scripted
from rlregress.probing.watched_updates import run_and_find_target

_OF_FAMILY: dict[str, dict[str, str]] = {
    "sac": {"temperature": "alpha_init", "target_entropy": "target_entropy"},
    "td3": {"smoothing": "policy_noise", "smoothing_bound": "noise_clip"},
    "ddpg": {},
}


class NamedDDPGLoss(DDPGLoss):
    """The loss of DDPG, whose parameters have the names of those of SAC and TD3, too."""

    qvalue_network_params = property(lambda self: self.value_network_params)
    target_qvalue_network_params = property(lambda self: self.target_value_network_params)


class Driver:
    """A driver of the loss alone, of constant networks (see ``twin_agents.TwinDriver``).

    Args:
        family: "sac", "td3" or "ddpg".
    """

    def __init__(self, family: str, settings: Settings) -> None:
        self._family, self._settings = family, settings

    def _make_loss_with_outputs(
        self,
        values: Sequence[float],
        network: Callable[[float], Any] = PinnedQNetwork,
        action: Sequence[float] = (0.0,),
    ) -> Any:
        """Return the loss; Q network k outputs ``values[k]`` where it has to be evaluated."""
        s = self._settings
        options = s.map_to_framework_names(**_OF_FAMILY[self._family])
        if s.squared:
            options["loss_function"] = "l2"
        critics = [make_q_network(network(value)) for value in values]
        actor = TensorDictModule(Constant(*action), in_keys=["observation"], out_keys=["action"])
        if self._family == "ddpg":
            loss = NamedDDPGLoss(actor, critics[0], **options)
        elif self._family == "td3":
            spec = make_action_box(s.low, s.high)
            options["num_qvalue_nets"] = len(critics)
            loss = make_td3_loss(actor, critics, action_spec=spec, **options)
        else:
            options["num_qvalue_nets"] = len(critics)
            loss = make_sac_loss(make_reporting_policy(s.log_prob or 0.0), critics, **options)
        if s.discount is not None:
            loss.make_value_estimator(gamma=s.discount)
        return loss

    def _make_batch(self, dimensions: int = 1) -> Any:
        s = self._settings
        flags = bool(s.terminated), bool(s.truncated)
        return make_equal_transitions(s.batch_size, s.reward, *flags, [0.5] * dimensions)

    def compute_critic_loss(self, q_values: Sequence[float]) -> float:
        name = "loss_value" if self._family == "ddpg" else "loss_qvalue"
        return float(self._make_loss_with_outputs(q_values)(self._make_batch())[name].detach())

    def compute_actor_loss(self, q_values: Sequence[float], target_q: float = 0.0) -> float:
        loss = self._make_loss_with_outputs(q_values, partial(PinnedQNetwork, of_policy=True))
        # in this order: without targets of their own the networks stand in for them
        fill_stacked_parameters(loss.target_qvalue_network_params, [target_q] * len(q_values))
        fill_stacked_parameters(loss.qvalue_network_params, q_values)
        return float(loss(self._make_batch())["loss_actor"].detach())

    def compute_target(self, q_values: Sequence[float]) -> float:
        return self.find_target_of_batch(self._make_batch(), q_values)

    def find_target_of_batch(
        self, batch: Any, values: Sequence[float], network: Any = PinnedQNetwork
    ) -> float:
        """Return the critics' target of equal transitions."""
        loss = self._make_loss_with_outputs([0.0] * len(values), network)
        fill_stacked_parameters(loss.target_qvalue_network_params, values)
        return run_and_find_target(lambda: loss(batch))

    def update_and_read_targets(
        self, source: Sequence[float], target: Sequence[float]
    ) -> np.ndarray:
        s, loss = self._settings, self._make_loss_with_outputs([0.0, 0.0])
        updater = SoftUpdate(loss, tau=s.tau if s.coefficient is None else s.coefficient)
        return read_targets_after_update(loss, updater.step, source, target)

    def count_q_networks_and_targets(self) -> tuple[int, int]:
        """Count the network that the loss of DDPG takes, and its target."""
        return 1, int(_has_targets(self._make_loss_with_outputs([0.0]), "qvalue"))

    def compute_temperature_loss_and_gradient(self) -> tuple[float, float]:
        loss = self._make_loss_with_outputs([0.0, 0.0])
        value = loss(self._make_batch())["loss_alpha"]
        value.backward()
        return float(value.detach()), float(loss.log_alpha.grad)

    def read_temperature(self) -> float:
        return float(self._make_loss_with_outputs([0.0, 0.0]).log_alpha.detach().exp())

    def _make_loss_of_standard_gaussian(self, dimensions: int, **bounds: Any) -> Any:
        """Return the loss of a standard Gaussian that is squashed."""
        s = self._settings
        numbers = FixedLocScale([0.0] * dimensions, [1.0] * dimensions)
        actor = make_stochastic_policy(
            numbers, make_action_box(s.low, s.high), TanhNormal, **bounds
        )
        return make_sac_loss(actor, [make_q_network(Constant(0.0)) for _ in range(2)])

    def read_target_entropy(self) -> float:
        return float(
            self._make_loss_of_standard_gaussian(np.size(self._settings.low)).target_entropy
        )

    def compute_log_deviation(self, outputs: Sequence[float]) -> np.ndarray:
        layer = nn.Linear(1, 2, dtype=torch.float64)
        nn.init.zeros_(layer.weight)
        actor = make_stochastic_policy(
            nn.Sequential(layer, NormalParamExtractor()), make_action_box(-1.0, 1.0), TanhNormal
        )
        deviations = []
        for output in outputs:
            layer.bias.data = torch.tensor([0.0, output], dtype=torch.float64)
            deviations.append(float(actor.get_dist(self._make_batch()).scale.detach()[0].log()))
        return np.array(deviations)

    def compute_log_prob(self, draw: Sequence[float]) -> float:
        """Return the log-probability that the loss uses."""
        s = self._settings
        low, high = (np.atleast_1d(bound) for bound in (s.low, s.high))
        bounds = {"low": torch.as_tensor(low), "high": torch.as_tensor(high)}
        loss = self._make_loss_of_standard_gaussian(len(draw), **bounds)
        with fix_draws_of_normal_distributions(np.asarray(draw)):
            return -float(loss(self._make_batch(len(draw)))["entropy"])

    def compute_smoothed_actions(
        self, squashed: float, samples: int, draw_per_sample: bool
    ) -> np.ndarray:
        """Return the actions that the target critics receive; every sample has its own draw."""
        s = self._settings
        low, high = (np.atleast_1d(bound) for bound in (s.low, s.high))
        action = (low + high) / 2 + (high - low) / 2 * squashed
        actions = []
        for dimension in range(len(low)):
            network = partial(_ActionDimensionAsValue, dimension, len(low))
            loss = self._make_loss_with_outputs([0.0, 0.0], network, action)
            torch.manual_seed(shift_seed(s.seed))
            batch = make_equal_transitions(samples, 0.0, action=[0.5] * len(low))
            if self._family == "ddpg":
                online = [math.tanh(s.pre_tanh or 0.0)]
                fill_stacked_parameters(loss.actor_network_params, online)
                # with a discount of 1, and without rewards
                values = get_loss_output(loss(batch), "target_value").detach()
            else:
                values = estimate_next_values(loss, batch)
            actions.append(values.numpy())
        return np.stack(actions, axis=1)

    def run_loop(self) -> StepJournal:
        """Act in an environment; nothing learns."""
        s = self._settings
        environment = Scripted(s.low, s.high)
        spec = find_action_spec(wrap_environment(environment))
        layer = nn.utils.skip_init(nn.Linear, 1, 1)
        make_output_constant(layer, s.pre_tanh)
        actor = make_tanh_policy(layer, spec=spec)
        exploring, noise = add_gaussian_noise(actor, spec)
        fix_exploration_noise(noise, s.noise)
        return act_and_record(environment, actor, exploring, s)


def fix_exploration_noise(noise: Any, number: float | None) -> None:
    """Fix the exploration noise to ``number``; None leaves it random."""
    if number is not None:
        # not in place: where the mean is given as an integer, the buffer is one
        noise.mean, noise.std = torch.tensor(float(number)), torch.tensor(0.0)


def act_and_record(
    environment: Scripted, actor: Any, exploring: Any, settings: Settings
) -> StepJournal:
    """Record the actions of a policy, deterministic ones if the noise is set to 0.

    Default noise is drawn for all steps at once.
    """
    journal, steps = StepJournal(), settings.steps
    without = settings.noise == 0.0
    exploration = find_deterministic_exploration() if without else ExplorationType.RANDOM
    with set_exploration_type(exploration), torch.no_grad():
        if settings.noise is None:
            observations = TensorDict({"observation": torch.zeros(steps, 1)}, [steps])
            journal.actions.append(list(exploring(observations)["action"].numpy()))
        else:
            wrap_environment(environment).rollout(steps, actor if without else exploring)
            journal.actions.append(environment.received[-steps:])
    return journal


def read_targets_after_update(
    loss: Any, update: Callable[[], Any], source: Sequence[float], target: Sequence[float]
) -> np.ndarray:
    """Return a parameter of each target network after ``update()``: see ``TwinDriver``."""
    for before, numbers in (("", source), ("target_", target)):
        fill_stacked_parameters(getattr(loss, f"{before}qvalue_network_params"), numbers[:2])
        if len(numbers) > 2:
            fill_stacked_parameters(getattr(loss, f"{before}actor_network_params"), numbers[2:])
    update()
    critics = next(iter(loss.target_qvalue_network_params.values(True, True)))
    values = critics.reshape(len(critics), -1)[:, 0].tolist()
    if len(source) > 2:
        followed = next(iter(loss.target_actor_network_params.values(True, True)))
        values.append(float(followed.reshape(-1)[0]) if _has_targets(loss, "actor") else -1.0)
    return np.array(values)


def _has_targets(loss: Any, name: str) -> bool:
    """Return whether the networks "qvalue" or "actor" of a loss have targets of their own."""
    first, followed = (
        next(iter(getattr(loss, f"{before}{name}_network_params").values(True, True)))
        for before in ("", "target_")
    )
    return followed.data_ptr() != first.data_ptr()


class _ActionDimensionAsValue(nn.Module):
    """A Q network whose value is one dimension of the action that it receives."""

    def __init__(self, dimension: int, dimensions: int, _: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(dimensions, dtype=torch.float64)[dimension])

    def forward(self, observation: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        return (action * self.weight).sum(-1, keepdim=True)
