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
    find_deterministic_exploration,
    get_loss_output,
)
from rlregress.frameworks.torchrl.known_networks import make_stochastic_policy
from rlregress.frameworks.torchrl.observe.helpers import ppo_losses, tiny_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import (
    describe_ppo_networks_as_numbers,
    list_linear_layers,
    measure_ppo_initialisation,
)
from rlregress.probing.scripted import Scripted


def make_library_networks(
    low: list[float], high: list[float], observation_dimensions: int, hidden: int = 64
) -> Any:
    """Return actor and critic made of the library's MLP and NormalParamExtractor.

    Two hidden layers, which the library does not decide; all else as it is by default.
    """
    cells = [hidden, hidden]
    environment = Scripted(low, high, observation_dimensions=observation_dimensions)
    spec = find_action_spec(wrap_environment(environment))
    actor = make_stochastic_policy(
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


def _make_probe_of_networks(make_networks: Callable[..., Any]) -> Raw:
    def measure_networks(inputs: Inputs) -> np.ndarray:
        parts = make_networks([-1.0], [1.0], 1)
        mlps = [m for part in parts for m in part.modules() if isinstance(m, MLP)]
        return describe_ppo_networks_as_numbers(parts, 1, mlps, torch.as_tensor(inputs["fed"]))

    return measure_networks


def _make_probe_of_log_std(make_networks: Callable[..., Any]) -> Raw:
    def measure_log_std(inputs: Inputs) -> list[float]:
        actor, _ = make_networks([-1.0], [1.0], 1)
        for layer in list_linear_layers(actor):
            nn.init.zeros_(layer.bias)
        logs = []
        for x in (0.0, inputs["observation"]):
            fed = TensorDict({"observation": torch.tensor([[x]])}, [1])
            with torch.no_grad():
                logs.append(float(actor(fed)["scale"].log()))
        return [logs[0], abs(logs[1] - logs[0]) > 1e-6]

    return measure_log_std


MeanSetter = Callable[[float], Any]


def _make_library_actor(environment: Scripted, inputs: Inputs) -> tuple[Any, MeanSetter]:
    actor = tiny_trainers.make_squashed_policy(environment, [0.0], inputs["scale"])
    (loc,) = [p for name, p in actor.named_parameters() if "loc" in name]
    return actor, loc.data.fill_


def _make_script_actor(environment: Scripted, inputs: Inputs) -> tuple[Any, MeanSetter]:
    actor, mean = programs.make_constant_actor_and_mean(
        inputs["low"], inputs["high"], inputs["scale"]
    )
    return actor, mean.data.fill_


def _make_probe_of_action_distribution(make_actor: Any) -> Raw:
    def measure_actions_at_fixed_means(inputs: Inputs) -> list[float]:
        executed = []
        environment = Scripted(inputs["low"], inputs["high"])
        playing = wrap_environment(environment)
        actor, set_mean = make_actor(environment, inputs)
        for mean in inputs["means"]:
            set_mean(float(mean))
            with set_exploration_type(find_deterministic_exploration()), torch.no_grad():
                playing.rollout(1, actor)
            executed.append(float(environment.received[-1][0]))
        return executed

    return measure_actions_at_fixed_means


def _measure_finiteness_and_loss_of_single_sample(inputs: Inputs) -> list[float]:
    batch = {"count": 1, "advantages": inputs["advantage"]}
    loss = float(
        ppo_losses.compute_outputs_of_loss(0.0, batch, normalize_advantage=True)[
            "loss_objective"
        ].detach()
    )
    return [1.0, loss] if np.isfinite(loss) else [0.0, 0.0]


def _measure_kl_estimate(inputs: Inputs) -> float:
    output = ppo_losses.compute_outputs_of_loss(
        0.0, {"count": len(inputs["ratios"]), "ratios": inputs["ratios"]}
    )
    return float(get_loss_output(output, "kl_approx").detach().mean())


def _make_probe_of_initialisation(make_networks: Any) -> Raw:
    def measure_initialisation(inputs: Inputs) -> list[float]:
        dimensions = int(inputs["action_dimensions"])
        actor, critic = make_networks(
            [-1.0] * dimensions, [1.0] * dimensions, int(inputs["observation_dimensions"])
        )
        return measure_ppo_initialisation(list_linear_layers(actor) + list_linear_layers(critic))

    return measure_initialisation


PROBES: dict[tuple[str, str], Raw] = {
    ("ppo.initialisation", "script"): _make_probe_of_initialisation(programs.make_ppo_networks),
    ("ppo.initialisation", "library"): _make_probe_of_initialisation(make_library_networks),
    ("ppo.networks", "script"): _make_probe_of_networks(programs.make_ppo_networks),
    ("ppo.log_std", "library"): _make_probe_of_log_std(make_library_networks),
    ("ppo.log_std", "script"): _make_probe_of_log_std(programs.make_ppo_networks),
    ("ppo.action.distribution", "library"): _make_probe_of_action_distribution(_make_library_actor),
    ("ppo.action.distribution", "script"): _make_probe_of_action_distribution(_make_script_actor),
    (
        "ppo.advantage_normalisation.single",
        "library",
    ): _measure_finiteness_and_loss_of_single_sample,
    ("ppo.kl_estimator", "library"): _measure_kl_estimate,
}
