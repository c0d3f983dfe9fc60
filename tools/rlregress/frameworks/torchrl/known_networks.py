"""Actors and critics put together from TorchRL's modules, and networks with known outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl import compat
from rlregress.frameworks.torchrl.api import (
    Bounded,
    NormalParamExtractor,
    ProbabilisticActor,
    QValueActor,
    TanhModule,
    TensorDict,
    TensorDictModule,
    TensorDictSequential,
    ValueOperator,
)


class Constant(nn.Module):
    """A network whose output is its trained numbers, for every input; works under ``vmap``."""

    def __init__(self, *numbers: float, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()
        self.numbers = nn.Parameter(torch.tensor(numbers, dtype=dtype))

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        # of the shape of a batch, and not cut off from the gradient of what comes in
        return self.numbers + 0 * inputs[-1].sum(-1, keepdim=True)


class PinnedQNetwork(Constant):
    """A Q network that outputs ``number`` for the inputs at which a loss has to evaluate it.

    It outputs other numbers for other inputs. The right input is the observation 0 with the action
    0.5, as ``make_equal_transitions`` has them, and the next observation 1 with the action 0.

    Args:
        of_policy: the right input is the observation 0 with the action 0 instead.
    """

    def __init__(self, number: float, of_policy: bool = False) -> None:
        super().__init__(number)
        self._of_policy = of_policy

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Return the action value of an observation and an action."""
        observation, action = inputs
        pinned_action = -observation if self._of_policy else 0.5 * (1.0 - observation)
        return self.numbers + action - pinned_action


class FixedLocScale(nn.Module):
    """A network with constant location and scale as outputs, [..., n] each."""

    def __init__(
        self, loc: Sequence[float], scale: Sequence[float], dtype: torch.dtype = torch.float64
    ) -> None:
        super().__init__()
        self.loc = nn.Parameter(torch.tensor(list(loc), dtype=dtype))
        self.scale = nn.Parameter(torch.tensor(list(scale), dtype=dtype))

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        shape = observation.shape[:-1]
        # copies: a collector would keep views of the parameters themselves
        return self.loc.expand(*shape, -1).clone(), self.scale.expand(*shape, -1).clone()


class FixedLogProbDistribution(torch.distributions.Distribution):
    """A distribution whose samples are the action 0, with log-probability ``reported`` [..., 1]."""

    arg_constraints: dict = {}
    has_rsample = True

    def __init__(self, reported: torch.Tensor) -> None:
        self._reported = reported
        super().__init__(reported.shape[:-1], reported.shape[-1:], validate_args=False)

    def rsample(self, sample_shape=torch.Size()) -> torch.Tensor:  # noqa: B008
        return torch.zeros(self._extended_shape(sample_shape), dtype=self._reported.dtype)

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        return self._reported.squeeze(-1).expand(value.shape[:-1])


def make_action_box(low: Any, high: Any, dtype: torch.dtype = torch.float64) -> Bounded:
    """Return an action space of one dimension per number of ``low``."""
    low, high = (torch.as_tensor(x, dtype=dtype).reshape(-1) for x in (low, high))
    return Bounded(low, high, low.shape, dtype=dtype)


def make_actor(
    network: nn.Module,
    parameters: Sequence[Any],
    distribution: Any,
    observed: Sequence[str] = ("observation",),
    reports_log_prob: bool = True,
    **options: Any,
) -> ProbabilisticActor:
    """Return an actor whose network outputs these parameters of a distribution of actions.

    Args:
        observed: what the network takes.
        reports_log_prob: of its actions; False leaves this to the default, so that generated calls
            vary it.
        options: of ``ProbabilisticActor``.
    """
    if reports_log_prob:
        options["return_log_prob"] = True
    return ProbabilisticActor(
        TensorDictModule(network, in_keys=list(observed), out_keys=list(parameters)),
        distribution_class=distribution,
        **{"in_keys": list(parameters), **options},
    )


def make_reporting_policy(log_prob: float) -> ProbabilisticActor:
    """Return a policy of one action dimension that reports ``log_prob`` for each of its samples."""
    spec = make_action_box(-1.0, 1.0)
    return make_actor(Constant(log_prob), ["reported"], FixedLogProbDistribution, spec=spec)


def make_stochastic_policy(
    network: nn.Module, spec: Any, distribution: Any, **options: Any
) -> ProbabilisticActor:
    """Return an actor of a network that outputs location and scale of this distribution."""
    renamed = compat.rename_options_for_version(distribution, **options)
    return make_actor(
        network, ["loc", "scale"], distribution, spec=spec, distribution_kwargs=renamed
    )


def make_tanh_policy(network: nn.Module, **options: Any) -> TensorDictSequential:
    """Return a policy without chance; options go to the tanh that brings actions into bounds."""
    return TensorDictSequential(
        TensorDictModule(network, in_keys=["observation"], out_keys=["param"]),
        TanhModule(in_keys=["param"], out_keys=["action"], **options),
    )


def make_q_network(network: nn.Module) -> ValueOperator:
    """Return an action-value network."""
    return ValueOperator(network, in_keys=["observation", "action"])


def make_v_network(network: nn.Module) -> ValueOperator:
    """Return a state-value network."""
    return ValueOperator(network, in_keys=["observation"])


def make_number_layer(
    slope: float = 1.0, constant: float = 0.0, dtype: torch.dtype = torch.float64
) -> nn.Linear:
    """Return a layer that outputs slope x + constant for the number x that it receives."""
    layer = nn.Linear(1, 1, dtype=dtype)
    nn.init.constant_(layer.weight, slope)
    nn.init.constant_(layer.bias, constant)
    return layer


def fill_stacked_parameters(parameters: Any, numbers: Sequence[float]) -> None:
    """Set the parameters of networks stacked along the first axis, one number per network.

    One network of one output gets the first number.
    """
    for parameter in parameters.values(True, True):
        shape = (-1,) + (1,) * (parameter.dim() - 1)
        own = list(numbers)[: len(parameter)]
        values = torch.tensor(own, dtype=parameter.dtype).reshape(shape)
        parameter.data.copy_(values.expand_as(parameter))


def make_equal_transitions(
    count: int,
    reward: float,
    terminated: bool = False,
    truncated: bool = False,
    action: Any = 0.5,
    observations: tuple[float, float] = (0.0, 1.0),
    dtype: torch.dtype = torch.float64,
) -> TensorDict:
    """Return equal transitions as a replay buffer returns them, [count].

    Args:
        action: a number, or numbers or choices that a row has.
        observations: of a transition, and the next one.
    """

    def fill_column(value: Any) -> torch.Tensor:
        numbers = torch.as_tensor(np.asarray(value)).reshape(1, -1)
        own = dtype if numbers.is_floating_point() else numbers.dtype
        return numbers.to(own).repeat(count, 1)

    columns = (*observations, float(reward), bool(terminated), bool(truncated))
    return _make_steps([count], *map(fill_column, columns), action=fill_column(action))


def make_segment_observing_values(
    values: Any, next_values: Any, rewards: Any, terminated: Any = False, truncated: Any = False
) -> TensorDict:
    """Return steps whose observations are the values that a critic is to output, [1, T]."""

    def make_column(numbers: Any, dtype: Any = np.float64) -> torch.Tensor:
        array = np.broadcast_to(np.asarray(numbers, dtype=dtype), np.shape(np.atleast_1d(rewards)))
        return torch.as_tensor(array.copy()).reshape(1, -1, 1)

    columns = map(make_column, (values, next_values, rewards))
    flags = (make_column(flag, bool) for flag in (terminated, truncated))
    return _make_steps([1, np.size(rewards)], *columns, *flags)


def _make_steps(
    shape: Sequence[int],
    observations: torch.Tensor,
    next_observations: torch.Tensor,
    rewards: torch.Tensor,
    terminated: torch.Tensor,
    truncated: torch.Tensor,
    **further: torch.Tensor,
) -> TensorDict:
    following = {
        "observation": next_observations, "reward": rewards, "terminated": terminated,
        "truncated": truncated, "done": terminated | truncated,
    }  # fmt: skip
    return TensorDict({"observation": observations, **further, "next": following}, shape)


# -- small networks of plain layers, the same on every version -------------------------------------

OBSERVATIONS, ACTIONS = 3, 2
#: actions of an environment with choices.
CHOICES = 4


class ConcatSequential(nn.Sequential):
    """Layers whose input is the concatenation of several tensors."""

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Concatenate the inputs and pass them through the layers."""
        return super().forward(torch.cat(inputs, -1))


def make_value_network(*further_layers: nn.Module) -> ValueOperator:
    """Return a state-value network: one linear layer, and further layers."""
    return make_v_network(nn.Sequential(nn.Linear(OBSERVATIONS, 1), *further_layers))


def make_action_value_network(*layers: nn.Module) -> ValueOperator:
    """Return an action-value network of continuous actions."""
    return make_q_network(ConcatSequential(nn.Linear(OBSERVATIONS + ACTIONS, 1), *layers))


def make_q_value_actor(*layers: nn.Module, **options: Any) -> Any:
    """Return an actor that takes the discrete action with the largest value."""
    network = nn.Sequential(nn.Linear(OBSERVATIONS, CHOICES), *layers)
    arguments = {"action_space": "one_hot", **options}
    return QValueActor(network, in_keys=["observation"], **arguments)


def make_discrete_action_value_network() -> Any:
    """Return a network of the values of all discrete actions."""
    return TensorDictModule(nn.Linear(OBSERVATIONS, CHOICES), ["observation"], ["action_value"])


def make_stochastic_actor(distribution: Any, gain: float = 1.0) -> Any:
    """Return an actor with a location and a scale per action; a large gain drives it to bounds."""
    layer = nn.Linear(OBSERVATIONS, 2 * ACTIONS)
    with torch.no_grad():
        layer.weight.mul_(gain)
    return make_actor(nn.Sequential(layer, NormalParamExtractor()), ["loc", "scale"], distribution)


def make_choosing_actor(distribution: Any, masked: bool = False) -> Any:
    """Return an actor with discrete actions, drawn by logits and, if masked, an action mask."""
    in_keys = ["logits", "mask"] if masked else ["logits"]
    layer = nn.Linear(OBSERVATIONS, CHOICES)
    return make_actor(layer, ["logits"], distribution, in_keys=in_keys)


def make_deterministic_actor() -> Any:
    """Return a deterministic actor, squashed by tanh."""
    network = nn.Sequential(nn.Linear(OBSERVATIONS, ACTIONS), nn.Tanh())
    return TensorDictModule(network, ["observation"], ["action"])


def bounds(low: float = -1.0, high: float = 1.0) -> Any:
    """Return the bounded specification of the actions; titles of traces hold its name."""
    return Bounded(low, high, shape=(ACTIONS,))


class _TwoHeadedLayer(nn.Module):
    """A layer that outputs location and scale of a move, and logits of a choice."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(OBSERVATIONS, 7)

    def forward(self, observation: torch.Tensor) -> Any:
        heads = self.layer(observation)
        return heads[..., :2], nn.functional.softplus(heads[..., 2:4]), heads[..., 4:]


def make_two_headed_actor(move_distribution: Any, nested: bool) -> Any:
    """Return an actor with a continuous action "move" and a discrete action "choice"."""
    outputs = [
        ("params", "move", "loc"),
        ("params", "move", "scale"),
        ("params", "choice", "logits"),
    ]
    kinds = {"move": move_distribution, "choice": torch.distributions.Categorical}
    names = {"move": ("agent", "move"), "choice": ("agent", "choice")}
    options = {"distribution_map": kinds, **({"name_map": names} if nested else {})}
    composite = compat.find_in_library("tensordict.nn", "CompositeDistribution")
    return make_actor(
        _TwoHeadedLayer(), outputs, composite, in_keys=["params"], distribution_kwargs=options
    )
