"""Small networks and batches for parts of TorchRL that are used by themselves.

What is made here is the same on every version: plain layers, and numbers drawn by torch.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Sequence

import torch
from torch import nn

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.torchrl.api_cases import refused
from rlregress.frameworks.torchrl.compat import library, made

OBSERVATIONS, ACTIONS = 3, 2
#: actions of an environment with choices.
CHOICES = 4
#: where the log-probability of an action stands, now and until 0.9.
_LOG_PROBS = ("action_log_prob", "sample_log_prob")


def answers(seed: int, **calls: Callable[[], Any]) -> Dict[str, Any]:
    """What each call returns or is refused with, from the same random state; trees item by item."""
    outputs: Dict[str, Any] = {}
    for label, call in calls.items():
        torch.manual_seed(seed)
        answer = _answer(call)
        if isinstance(answer, dict):
            outputs.update({f"{label}.{name}": item for name, item in answer.items()})
        else:
            outputs[label] = answer
    return outputs


def _answer(call: Callable[[], Any]) -> Any:
    def guarded() -> Any:
        try:
            return call()
        except Unsupported as lacking:
            return lacking

    answer = refused(guarded)
    if isinstance(answer, Unsupported):
        raise answer
    return answer


def dictionary(items: Dict[str, Any], shape: Sequence[int]) -> Any:
    """A tensordict."""
    from tensordict import TensorDict

    return TensorDict(items, batch_size=list(shape))


# -- batches ------------------------------------------------------------------------------------


def steps(*shape: int, **more: Any) -> Any:
    """Steps with continuous actions, in which nothing ends unless ``more`` says so."""
    ends = torch.zeros(*shape, 1, dtype=torch.bool)
    done, terminated = more.pop("done", ends), more.pop("terminated", ends)
    following = {
        "observation": torch.randn(*shape, OBSERVATIONS),
        "reward": torch.randn(*shape, 1),
        "done": done.clone(),
        "terminated": terminated.clone(),
        **more.pop("following", {}),
    }
    items = {
        "observation": torch.randn(*shape, OBSERVATIONS),
        "action": torch.tanh(torch.randn(*shape, ACTIONS)),
        "done": ends.clone(),
        "terminated": ends.clone(),
        **more,
    }
    return dictionary({**items, "next": dictionary(following, shape)}, shape)


def scored(*shape: int, **more: Any) -> Any:
    """Steps with what an old policy, its critic and an estimator wrote."""
    log_prob = -5.0 * torch.rand(*shape) - 1.0
    old = {
        "loc": torch.randn(*shape, ACTIONS),
        "scale": torch.rand(*shape, ACTIONS) + 0.5,
        "advantage": 3.0 * torch.randn(*shape, 1) + 1.0,
        "value_target": torch.randn(*shape, 1),
        "state_value": torch.randn(*shape, 1),
        **{key: log_prob.clone() for key in _LOG_PROBS},
    }
    return steps(*shape, **{**old, **more})


def at(shape: Sequence[int], *places: int) -> torch.Tensor:
    """Flags that are set at some steps of every trajectory."""
    flags = torch.zeros(*shape, 1, dtype=torch.bool)
    flags[..., list(places), :] = True
    return flags


# -- networks -----------------------------------------------------------------------------------


class Together(nn.Sequential):
    """Layers that take several inputs side by side."""

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """The inputs joined, and through the layers."""
        return super().forward(torch.cat(inputs, -1))


def value(*layers: nn.Module) -> Any:
    """A state-value network: one linear layer, behind what is given."""
    from torchrl.modules import ValueOperator

    return ValueOperator(nn.Sequential(nn.Linear(OBSERVATIONS, 1), *layers), ["observation"])


def action_value(*layers: nn.Module) -> Any:
    """An action-value network of continuous actions."""
    from torchrl.modules import ValueOperator

    network = Together(nn.Linear(OBSERVATIONS + ACTIONS, 1), *layers)
    return ValueOperator(network, in_keys=["observation", "action"])


def q_values(*layers: nn.Module, **options: Any) -> Any:
    """An actor that takes the choice of the greatest value."""
    from torchrl.modules import QValueActor

    network = nn.Sequential(nn.Linear(OBSERVATIONS, CHOICES), *layers)
    given = {"action_space": "one_hot", **options}
    return QValueActor(network, in_keys=["observation"], **given)


def choice_values() -> Any:
    """The values of all choices."""
    from tensordict.nn import TensorDictModule

    return TensorDictModule(nn.Linear(OBSERVATIONS, CHOICES), ["observation"], ["action_value"])


def stochastic(distribution: Any, gain: float = 1.0, **options: Any) -> Any:
    """An actor with a location and a scale for each of its actions; a gain drives it to bounds."""
    from tensordict.nn import NormalParamExtractor, TensorDictModule
    from torchrl.modules import ProbabilisticActor

    layer = nn.Linear(OBSERVATIONS, 2 * ACTIONS)
    with torch.no_grad():
        layer.weight.mul_(gain)
    parameters = nn.Sequential(layer, NormalParamExtractor())
    return ProbabilisticActor(
        TensorDictModule(parameters, ["observation"], ["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=distribution,
        return_log_prob=True,
        **options,
    )


def choosing(distribution: Any, masked: bool = False, **options: Any) -> Any:
    """An actor that chooses, by logits and perhaps a mask of the batch."""
    from tensordict.nn import TensorDictModule
    from torchrl.modules import ProbabilisticActor

    return ProbabilisticActor(
        TensorDictModule(nn.Linear(OBSERVATIONS, CHOICES), ["observation"], ["logits"]),
        in_keys=["logits", "mask"] if masked else ["logits"],
        distribution_class=distribution,
        return_log_prob=True,
        **options,
    )


def deterministic() -> Any:
    """An actor without chance."""
    from tensordict.nn import TensorDictModule

    network = nn.Sequential(nn.Linear(OBSERVATIONS, ACTIONS), nn.Tanh())
    return TensorDictModule(network, ["observation"], ["action"])


def bounds(low: float = -1.0, high: float = 1.0) -> Any:
    """The specification of the actions."""
    kind = library("torchrl.data", "Bounded", "BoundedTensorSpec")
    return kind(low, high, shape=(ACTIONS,))


# -- several heads, exploration and estimators -----------------------------------------------------


class _Heads(nn.Module):
    """Parameters of a move and of a choice."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(OBSERVATIONS, 7)

    def forward(self, observation: torch.Tensor) -> Any:
        heads = self.layer(observation)
        return heads[..., :2], nn.functional.softplus(heads[..., 2:4]), heads[..., 4:]


def actor_of_heads(move: Any, nested: bool, choice: Any = torch.distributions.Categorical) -> Any:
    """An actor of a move, which is continuous, and a choice."""
    from tensordict.nn import CompositeDistribution, TensorDictModule
    from torchrl.modules import ProbabilisticActor

    outputs = [
        ("params", "move", "loc"),
        ("params", "move", "scale"),
        ("params", "choice", "logits"),
    ]
    kinds = {
        "move": move,
        "choice": choice,
    }
    names = {"move": ("agent", "move"), "choice": ("agent", "choice")}
    options = {"distribution_map": kinds, **({"name_map": names} if nested else {})}
    return ProbabilisticActor(
        TensorDictModule(_Heads(), ["observation"], outputs),
        in_keys=["params"],
        distribution_class=CompositeDistribution,
        distribution_kwargs=options,
        return_log_prob=True,
    )


def exploring(name: str, call: Callable[[], Any]) -> Any:
    """What a call returns under a type of exploration."""
    exploration = library("torchrl.envs.utils", "set_exploration_type")
    types = library("torchrl.envs.utils", "ExplorationType")
    names = {"deterministic": ("DETERMINISTIC", "MODE"), "random": ("RANDOM",), "mean": ("MEAN",)}
    kind = next(
        getattr(types, known_name) for known_name in names[name] if hasattr(types, known_name)
    )
    with exploration(kind), torch.no_grad():
        return call()


def estimator_of(name: str, critic: Any, **options: Any) -> Any:
    """An estimator of the version, by keywords that it has."""
    kind = library("torchrl.objectives.value", name)
    given = {"gamma": 0.9, "value_network": critic, **options}
    if name in ("GAE", "TDLambdaEstimator", "MultiAgentGAE"):
        given["lmbda"] = 0.8
    return made(kind, **given)
