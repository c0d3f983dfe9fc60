"""Probes of PPO's networks, and of the actions that its policies take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import (
    MLP,
    ExplorationType,
    IndependentNormal,
    NormalParamExtractor,
    TanhNormal,
    TensorDict,
    ValueOperator,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.compat import (
    LOG_PROBS,
    find_action_spec,
    find_deterministic_exploration,
)
from rlregress.frameworks.torchrl.known_networks import FixedLocScale, make_stochastic_policy
from rlregress.frameworks.torchrl.scripted_environments import (
    collect_batch,
    make_squashed_policy,
    wrap_environment,
)
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.isolation import shift_seed
from rlregress.probing.layers import (
    describe_ppo_networks_as_numbers,
    find_last_linear_layer,
    list_linear_layers,
    measure_ppo_initialisation,
)
from rlregress.probing.scripted import Scripted


def _make_library_networks(
    low: list[float], high: list[float], observation_dimensions: int
) -> tuple[Any, Any]:
    """Return actor and critic made of the library's MLP and NormalParamExtractor.

    Two hidden layers, which the library does not decide; all else as it is by default.
    """
    cells = [64, 64]
    environment = Scripted(low, high, observation_dimensions=observation_dimensions)
    spec = find_action_spec(wrap_environment(environment))
    layers = MLP(observation_dimensions, 2 * len(low), num_cells=cells)
    bounds = {"low": spec.space.low, "high": spec.space.high}
    actor = make_stochastic_policy(
        nn.Sequential(layers, NormalParamExtractor()), spec, TanhNormal, **bounds
    )
    critic = ValueOperator(MLP(observation_dimensions, 1, num_cells=cells), in_keys=["observation"])
    return actor, critic


def _describe_networks_of_program(inputs: Inputs) -> np.ndarray:
    parts = programs.make_ppo_networks([-1.0], [1.0], 1)
    mlps = [m for part in parts for m in part.modules() if isinstance(m, MLP)]
    return describe_ppo_networks_as_numbers(parts, 1, mlps, torch.as_tensor(inputs["fed"]))


def _measure_log_std(make_networks: Callable[..., Any], inputs: Inputs) -> list[float]:
    actor, _ = make_networks([-1.0], [1.0], 1)
    for layer in list_linear_layers(actor):
        nn.init.zeros_(layer.bias)
    logs = []
    for x in (0.0, inputs["observation"]):
        fed = TensorDict({"observation": torch.tensor([[x]])}, [1])
        with torch.no_grad():
            logs.append(float(actor(fed)["scale"].log()))
    return [logs[0], abs(logs[1] - logs[0]) > 1e-6]


def _measure_initialisation(make_networks: Callable[..., Any], inputs: Inputs) -> list[float]:
    bound = np.ones(int(inputs["action_dimensions"]))
    parts = make_networks(list(-bound), list(bound), int(inputs["observation_dimensions"]))
    return measure_ppo_initialisation([own for part in parts for own in list_linear_layers(part)])


#: environment, standard deviation -> an actor with the same Gaussian in all states, and its mean
ActorMaker = Callable[[Scripted, float], tuple[Any, torch.Tensor]]


def _make_library_actor(environment: Scripted, deviation: float) -> tuple[Any, torch.Tensor]:
    actor = make_squashed_policy(environment, [0.0], deviation)
    (loc,) = [p for name, p in actor.named_parameters() if "loc" in name]
    return actor, loc


def _make_script_actor(environment: Scripted, deviation: float) -> tuple[Any, torch.Tensor]:
    bounds = environment.action_space
    actor, _ = programs.make_ppo_networks(bounds.low, bounds.high, 1)
    last = find_last_linear_layer(actor)
    nn.init.zeros_(last.weight)
    for name, parameter in actor.named_parameters():
        if "scale" in name:
            nn.init.constant_(parameter, float(np.log(deviation)))
    return actor, last.bias


def _measure_executed_and_stored_actions(make_actor: ActorMaker, inputs: Inputs) -> np.ndarray:
    pairs = []
    for x in inputs["samples"]:
        environment = Scripted(inputs["low"], inputs["high"])
        actor, mean = make_actor(environment, 2e-6)
        mean.data.fill_(x)
        with set_exploration_type(ExplorationType.RANDOM):
            batch = collect_batch(wrap_environment(environment), 1, actor)
        pairs.append((float(environment.received[-1][0]), float(batch["action"])))
    return np.transpose(pairs).ravel()


def _measure_actions_at_fixed_means(make_actor: ActorMaker, inputs: Inputs) -> list[float]:
    environment = Scripted(inputs["low"], inputs["high"])
    playing, executed = wrap_environment(environment), []
    actor, mean = make_actor(environment, inputs["scale"])
    for number in inputs["means"]:
        mean.data.fill_(float(number))
        with set_exploration_type(find_deterministic_exploration()), torch.no_grad():
            playing.rollout(1, actor)
        executed.append(float(environment.received[-1][0]))
    return executed


def _measure_executed_action_beyond_bounds(inputs: Inputs) -> float:
    environment = Scripted(inputs["low"], inputs["high"])
    playing = wrap_environment(environment)
    numbers = FixedLocScale([inputs["mean"]], [1e-6], torch.float32)
    actor = make_stochastic_policy(numbers, find_action_spec(playing), IndependentNormal)
    collect_batch(playing, 1, actor)
    return float(environment.received[0].item())


def _measure_share_of_wrong_log_probs(inputs: Inputs) -> float:
    environment = Scripted()
    actor = make_squashed_policy(environment, [inputs["mean"]], 1.0)
    torch.manual_seed(shift_seed(int(inputs["seed"])))
    batch = collect_batch(wrap_environment(environment), int(inputs["count"]), actor)
    with torch.no_grad():
        now = actor.get_dist(batch).log_prob(batch["action"])
    (stored,) = [batch[name] for name in LOG_PROBS if name in batch.keys()]  # noqa: SIM118
    return float((torch.abs(now - stored) > 0.01).double().mean())


#: detail -> what measures it, and what it needs of library and program
_OF_BOTH: Mapping[str, tuple[Callable[..., Any], Any, Any]] = {
    "ppo.initialisation": (
        _measure_initialisation, _make_library_networks, programs.make_ppo_networks,
    ),
    "ppo.log_std": (_measure_log_std, _make_library_networks, programs.make_ppo_networks),
    "ppo.action.bounding": (
        _measure_executed_and_stored_actions, _make_library_actor, _make_script_actor,
    ),
    "ppo.action.distribution": (
        _measure_actions_at_fixed_means, _make_library_actor, _make_script_actor,
    ),
}  # fmt: skip
PROBES: dict[tuple[str, str], Probe] = {
    **{
        (id, scope): partial(measure, make)
        for id, (measure, *makers) in _OF_BOTH.items()
        for scope, make in zip(("library", "script"), makers, strict=True)
    },
    ("ppo.networks", "script"): _describe_networks_of_program,
    ("policy.out_of_bounds", "library"): _measure_executed_action_beyond_bounds,
    ("policy.stored_log_prob", "library"): _measure_share_of_wrong_log_probs,
}
