"""Probes of twin delayed deep deterministic policy gradient."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.scripted import Scripted
from rlregress.frameworks.torchrl.api import (
    AdditiveGaussianModule,
    ExplorationType,
    TanhModule,
    TD3Loss,
    TensorDictModule,
    TensorDictSequential,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.compat import (
    action_spec,
    deterministic,
    td3_loss,
    with_gaussian_noise,
)
from rlregress.frameworks.torchrl.probes.helpers import (
    critics,
    off_policy_losses,
    off_policy_programs,
    programs,
    tiny_trainers,
)
from rlregress.frameworks.torchrl.probes.helpers.known_networks import Slope, q_network
from rlregress.frameworks.torchrl.probes.helpers.quiet import Raw
from rlregress.frameworks.torchrl.probes.helpers.scripted_environments import wrapped
from rlregress.measurements import critic_loss
from rlregress.measurements.noise_bounds import beyond_bounds


def _noise(i: Inputs) -> np.ndarray:
    return off_policy_losses.smoothed_actions(i)[:, 0] - (i["low"] + i["high"]) / 2


def _law(i: Inputs) -> list[float]:
    d = _noise(i) / ((i["high"] - i["low"]) / 2)
    root = float(np.sqrt(np.mean(d**2)))
    return [root, float(np.quantile(np.abs(d), 0.999)) / root if root else 0.0]


def _bounds(i: Inputs) -> np.ndarray:
    return beyond_bounds(off_policy_losses.smoothed_actions, i)


def _draw(i: Inputs) -> float:
    d = _noise(i)
    return float(np.std(d) / np.sqrt(np.mean(d**2)))


def _executed(environment: Scripted, actor: Any, exploration: Any) -> float:
    with set_exploration_type(exploration), torch.no_grad():
        wrapped(environment).rollout(1, actor)
    return float(environment.received[-1][0])


def _library_agent(environment: Scripted) -> tuple[nn.Linear, Any, Any, Any]:
    """Last layer, policy, exploring policy and its noise, as TorchRL's modules build them."""
    spec = action_spec(wrapped(environment))
    layer = nn.Linear(1, 1)
    actor = TensorDictSequential(
        TensorDictModule(layer, in_keys=["observation"], out_keys=["param"]),
        TanhModule(in_keys=["param"], out_keys=["action"], spec=spec),
    )
    return (layer, actor, *with_gaussian_noise(actor, spec))


def _script_agent(environment: Scripted) -> tuple[nn.Linear, Any, Any, Any]:
    """The same, as ``make_td3_agent`` of the TD3 script builds them."""
    settings = programs.Settings(network=programs.Settings(hidden_sizes=[4], activation="relu"))
    wrapped_environment = wrapped(environment)
    make = programs.load("td3", "utils").make_td3_agent
    model, exploring = make(settings, wrapped_environment, wrapped_environment, torch.device("cpu"))
    layer = [m for m in model[0].modules() if isinstance(m, nn.Linear)][-1]
    noise = [m for m in exploring.modules() if isinstance(m, AdditiveGaussianModule)][0]
    return layer, model[0], exploring, noise


def _output(layer: nn.Linear, number: float) -> None:
    nn.init.zeros_(layer.weight)
    nn.init.constant_(layer.bias, number)


def _bounding(agent: Any) -> Raw:
    def probe(i: Inputs) -> list[float]:
        environment = Scripted(i["low"], i["high"])
        layer, actor, _, _ = agent(environment)
        executed = []
        for x in i["pre_activation"]:
            _output(layer, x)
            executed.append(_executed(environment, actor, deterministic()))
        return executed

    return probe


def _exploration(agent: Any) -> Raw:
    def probe(i: Inputs) -> list[float]:
        environment = Scripted(i["low"], i["high"])
        layer, _, exploring, noise = agent(environment)
        _output(layer, i["pre_tanh"])
        executed = []
        for number in i["noise"]:
            # not in place: where the mean is given as an integer, the buffer is one
            noise.mean, noise.std = torch.tensor(float(number)), torch.tensor(0.0)
            executed.append(_executed(environment, exploring, ExplorationType.RANDOM))
        return executed

    return probe


def _snapshot(parameters: Any) -> torch.Tensor:
    return torch.cat([p.detach().reshape(-1) for p in parameters.values(True, True)])


class _Moves:
    """Notes after each update whether the policy and the target critics have moved."""

    def __init__(self, loss: TD3Loss) -> None:
        self._loss = loss
        self._last = self._state()
        self.moved: list[tuple[bool, bool]] = []

    def _state(self) -> tuple[torch.Tensor, torch.Tensor]:
        loss = self._loss
        return (
            _snapshot(loss.actor_network_params),
            _snapshot(loss.target_qvalue_network_params),
        )

    def note(self) -> None:
        now = self._state()
        moved = [not torch.equal(a, b) for a, b in zip(now, self._last, strict=False)]
        self.moved.append((moved[0], moved[1]))
        self._last = now

    def observed(self) -> list[float]:
        return [float(pair[k]) for k in range(2) for pair in self.moved]


def _trainer_delay(i: Inputs) -> list[float]:
    environment = Scripted(rewards=[1.0])
    spec = action_spec(wrapped(environment))
    actor = TensorDictModule(nn.Linear(1, 1), in_keys=["observation"], out_keys=["action"])

    loss = td3_loss(actor, [q_network(Slope()) for _ in range(2)], action_spec=spec)
    moves = _Moves(loss)
    tiny_trainers.td3(
        environment,
        loss,
        actor,
        frames=4,
        updates=int(i["updates"]),
        delay=int(i["delay"]),
        learning_rate=0.1,
        after_update=moves.note,
    )
    return moves.observed()


def _script_delay(i: Inputs) -> list[float]:
    return off_policy_programs.td3_moves(_Moves, int(i["updates"]), int(i["delay"])).observed()


_LOSS = off_policy_losses.td3

_CRITIC_LOSS = partial(critics.of_terminations, _LOSS)
_SQUARED_LOSS = partial(_CRITIC_LOSS, loss_function="l2")
PROBES: dict[tuple[str, str], Raw] = {
    ("td3.critic_loss.scale", "library"): partial(critic_loss.scale, _SQUARED_LOSS),
    ("td3.critic_loss.reduction", "library"): partial(critic_loss.reduction, _SQUARED_LOSS),
    ("td3.critic_loss.distance", "library"): partial(critic_loss.distance, _CRITIC_LOSS),
    ("td3.target.minimum", "library"): partial(critics.minimum, _LOSS),
    ("td3.target.bootstrap", "library"): partial(critics.bootstrap, _LOSS),
    ("td3.actor_loss", "library"): partial(critics.actor_loss, _LOSS),
    ("td3.target_update.polyak", "library"): partial(critics.polyak, _LOSS),
    ("td3.target.bootstrap", "trainer"): lambda i: off_policy_losses.collected_bootstrap("td3", i),
    ("td3.target_noise.law", "library"): _law,
    ("td3.target_noise.bounds", "library"): _bounds,
    ("td3.target_noise.draw", "library"): _draw,
    ("td3.action.bounding", "library"): _bounding(_library_agent),
    ("td3.action.bounding", "script"): _bounding(_script_agent),
    ("td3.exploration.noise", "library"): _exploration(_library_agent),
    ("td3.exploration.noise", "script"): _exploration(_script_agent),
    ("td3.policy_delay", "trainer"): _trainer_delay,
    ("td3.policy_delay", "script"): _script_delay,
    ("td3.target_update.polyak", "script"): off_policy_losses.td3_program_polyak,
}
