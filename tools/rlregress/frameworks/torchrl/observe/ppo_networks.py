"""Probes of PPO's networks and of parts of its loss, for ``ppo_loop``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import (
    MLP,
    NormalParamExtractor,
    TanhNormal,
    TensorDict,
    ValueOperator,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.compat import (
    find_action_spec,
    find_deterministic_type,
    find_entry,
)
from rlregress.frameworks.torchrl.known_networks import policy
from rlregress.frameworks.torchrl.observe.helpers import ppo_losses, tiny_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import (
    describe_ppo_architecture,
    linear_layers,
    measure_ppo_initialisation,
)
from rlregress.probing.scripted import Scripted


def library_networks(
    low: list[float], high: list[float], observation_dimensions: int, hidden: int = 64
) -> Any:
    """Return actor and critic of the library's own parts, MLP and NormalParamExtractor.

    Two hidden layers, which the library does not decide; all else as it is by default.
    """
    cells = [hidden, hidden]
    environment = Scripted(low, high, observation_dimensions=observation_dimensions)
    spec = find_action_spec(wrap_environment(environment))
    actor = policy(
        nn.Sequential(
            MLP(observation_dimensions, 2 * len(low), num_cells=cells), NormalParamExtractor()
        ),
        spec,
        TanhNormal,
        low=spec.space.low,
        high=spec.space.high,
    )
    critic = ValueOperator(MLP(observation_dimensions, 1, num_cells=cells), in_keys=["observation"])
    return actor, critic


def _networks(make: Callable[..., Any]) -> Raw:
    def probe(i: Inputs) -> np.ndarray:
        parts = make([-1.0], [1.0], 1)
        mlps = [m for part in parts for m in part.modules() if isinstance(m, MLP)]
        return describe_ppo_architecture(parts, 1, mlps, torch.as_tensor(i["fed"]))

    return probe


def _log_std(make: Callable[..., Any]) -> Raw:
    def probe(i: Inputs) -> list[float]:
        actor, _ = make([-1.0], [1.0], 1)
        for layer in linear_layers(actor):
            nn.init.zeros_(layer.bias)
        logs = []
        for x in (0.0, i["observation"]):
            fed = TensorDict({"observation": torch.tensor([[x]])}, [1])
            with torch.no_grad():
                logs.append(float(actor(fed)["scale"].log()))
        return [logs[0], abs(logs[1] - logs[0]) > 1e-6]

    return probe


def _library_actor(environment: Scripted, i: Inputs) -> tuple[Any, Callable[[float], Any]]:
    actor = tiny_trainers.squashed_policy(environment, [0.0], i["scale"])
    (loc,) = [p for name, p in actor.named_parameters() if "loc" in name]
    return actor, loc.data.fill_


def _script_actor(environment: Scripted, i: Inputs) -> tuple[Any, Callable[[float], Any]]:
    actor, mean = programs.make_constant_actor(i["low"], i["high"], i["scale"])
    return actor, mean.data.fill_


def _action_distribution(make_actor: Any) -> Raw:
    def probe(i: Inputs) -> list[float]:
        executed = []
        environment = Scripted(i["low"], i["high"])
        playing = wrap_environment(environment)
        actor, set_mean = make_actor(environment, i)
        for mean in i["means"]:
            set_mean(float(mean))
            with set_exploration_type(find_deterministic_type()), torch.no_grad():
                playing.rollout(1, actor)
            executed.append(float(environment.received[-1][0]))
        return executed

    return probe


def _normalisation_of_one(i: Inputs) -> list[float]:
    batch = {"count": 1, "advantages": i["advantage"]}
    loss = float(
        ppo_losses.compute_losses(0.0, batch, normalize_advantage=True)["loss_objective"].detach()
    )
    return [1.0, loss] if np.isfinite(loss) else [0.0, 0.0]


def _kl_estimator(i: Inputs) -> float:
    output = ppo_losses.compute_losses(0.0, {"count": len(i["ratios"]), "ratios": i["ratios"]})
    return float(find_entry(output, "kl_approx").detach().mean())


def _initialisation(make: Any) -> Raw:
    def probe(i: Inputs) -> list[float]:
        dimensions = int(i["action_dimensions"])
        actor, critic = make(
            [-1.0] * dimensions, [1.0] * dimensions, int(i["observation_dimensions"])
        )
        return measure_ppo_initialisation(linear_layers(actor) + linear_layers(critic))

    return probe


PROBES: dict[tuple[str, str], Raw] = {
    ("ppo.initialisation", "script"): _initialisation(programs.make_ppo_networks),
    ("ppo.initialisation", "library"): _initialisation(library_networks),
    ("ppo.networks", "script"): _networks(programs.make_ppo_networks),
    ("ppo.log_std", "library"): _log_std(library_networks),
    ("ppo.log_std", "script"): _log_std(programs.make_ppo_networks),
    ("ppo.action.distribution", "library"): _action_distribution(_library_actor),
    ("ppo.action.distribution", "script"): _action_distribution(_script_actor),
    ("ppo.advantage_normalisation.single", "library"): _normalisation_of_one,
    ("ppo.kl_estimator", "library"): _kl_estimator,
}
