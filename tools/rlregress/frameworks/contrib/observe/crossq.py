"""Probes of CrossQ: its own ``train``, ``learn`` and ``predict``, at their normalisations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from sb3_contrib import CrossQ
from sb3_contrib.common.torch_layers import BatchRenorm1d

from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.frameworks.sb3.observe.drivers.twins import Driver
from rlregress.measurements.loss_minimum import require_one_number
from rlregress.measurements.twin_details import make_loop_settings
from rlregress.probing import watched_updates
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.journal import run_and_record_steps
from rlregress.probing.layers import find_last_linear_layer, list_linear_layers
from rlregress.probing.scripted import Scripted

#: a warm-up is looked for among so many updates
_LONGEST = 2**21
#: numbers that a normalisation received and made, of one input, [rows] each
_Pass = tuple[np.ndarray, np.ndarray]


def _make_agent(environment: Any = None, **arguments: Any) -> Any:
    return probe_agents.make_small_off_policy_agent(
        CrossQ,
        environment or Scripted(),
        learning_rate=probe_agents.FROZEN,
        learning_starts=0,
        **arguments,
    )


def _add_transitions(agent: Any, observations: Any, next_observation: float) -> None:
    buffer = agent.replay_buffer
    following = np.full((1, 1), next_observation, dtype=np.float32)
    for number in observations:
        observation = np.full((1, 1), number, dtype=np.float32)
        action, flags = np.zeros((1, 1), dtype=np.float32), np.zeros(1)
        buffer.add(observation, following, action, flags, flags, [{}])


def _list_norm_layers(network: torch.nn.Module) -> list[Any]:
    return [layer for layer in network.modules() if isinstance(layer, BatchRenorm1d)]


def _set_running_statistics(layer: Any, inputs: Inputs) -> None:
    fill_parameters([layer.ra_mean], inputs["mean"])
    fill_parameters([layer.ra_var], inputs["variance"])


def _record_passes(layer: Any) -> list[_Pass]:
    """Return a list that receives (inputs, outputs) of each call of a normalisation layer."""
    recorded: list[_Pass] = []

    def record_pass(_: Any, inputs: Any, outputs: torch.Tensor) -> None:
        recorded.append((inputs[0][:, 0].detach().numpy(), outputs[:, 0].detach().double().numpy()))

    layer.register_forward_hook(record_pass)
    return recorded


def _find_output_for_number(passes: list[_Pass], number: float) -> float:
    """Return the output for the input ``number``, which exactly one of the passes contains."""
    outputs_found = [outputs[inputs == np.float32(number)] for inputs, outputs in passes]
    rows = [float(outputs.mean()) for outputs in outputs_found if len(outputs)]
    if len(rows) != 1:
        raise RuntimeError(f"expected one pass with the observation {number}, found {len(rows)}")
    return rows[0]


def _measure_outputs_of_joint_batch(inputs: Inputs) -> list[float]:
    size = inputs["batch_size"]
    agent = _make_agent(buffer_size=size)
    _add_transitions(agent, [inputs["current"]] * size, inputs["next"])
    passes = _record_passes(_list_norm_layers(agent.critic)[0])
    agent.train(gradient_steps=1, batch_size=size)
    return [_find_output_for_number(passes, inputs[name]) for name in ("current", "next")]


def _measure_next_value_and_gradient_scale(inputs: Inputs) -> list[float]:
    size, discount = inputs["batch_size"], inputs["discount"]
    agent = _make_agent(gamma=discount, ent_coef=0.0, buffer_size=size)
    critics = [module for module in agent.policy.modules() if hasattr(module, "q_networks")]
    for critic, number in [
        *((number_of_critic, "before") for number_of_critic in critics),
        (agent.critic, "value"),
    ]:
        probe_agents.make_critics_constant(critic, [inputs[number]] * len(critic.q_networks))
    probe_agents.add_equal_transitions(agent, size, reward=inputs["reward"])
    gradients: list[float] = []

    def note_gradient_at_step(_: str) -> None:
        layers: list[Any] = [find_last_linear_layer(network) for network in agent.critic.q_networks]
        gradients.append(float(np.mean([float(layer.bias.grad) for layer in layers])))

    update = partial(agent.train, gradient_steps=1, batch_size=size)
    optimizers = {"critic": agent.critic.optimizer}
    target = watched_updates.run_and_find_target(
        lambda: run_and_record_steps(update, optimizers, note_gradient_at_step)
    )
    error = inputs["value"] - target
    gradient = require_one_number(gradients)
    return [(target - inputs["reward"]) / discount, gradient / error]


def _normalise_after_updates(layer: Any, numbers: np.ndarray, updates: int) -> np.ndarray:
    """Return a layer's outputs as after ``updates`` updates, with running mean 0 and variance 1."""
    _set_running_statistics(layer, {"mean": 0.0, "variance": 1.0})
    with torch.no_grad():
        layer.steps.fill_(updates)
        rows = torch.as_tensor(numbers, dtype=torch.float32)[:, None].repeat(1, layer.num_features)
        return layer(rows)[:, 0].double().numpy()


def _measure_renormalisation_limits_and_warmup(inputs: Inputs) -> list[float]:
    agent, far = _make_agent(), inputs["far"]
    agent.policy.set_training_mode(True)
    layer = _list_norm_layers(agent.critic)[0]
    numbers = np.linspace(-1.0, 1.0, inputs["batch_size"])
    numbers /= numbers.std(ddof=1)
    first, end = 0, _LONGEST
    while first < end:
        middle = (first + end) // 2
        # statistics of the batch alone leave nothing of its mean
        renormalised = abs(_normalise_after_updates(layer, numbers + far, middle).mean()) > 1.0
        first, end = (first, middle) if renormalised else (middle + 1, end)
    other_rows = (numbers * far, numbers * inputs["deviation"] + far)
    wide, shifted = (_normalise_after_updates(layer, n, _LONGEST) for n in other_rows)
    return [wide.std(ddof=1), shifted.mean(), first]


def _measure_running_statistics(inputs: Inputs) -> list[float]:
    agent = _make_agent()
    agent.policy.set_training_mode(True)
    away = np.resize([1.0, -1.0], inputs["batch_size"]) * inputs["away"]
    statistics: list[float] = []
    for layer in (_list_norm_layers(agent.critic)[0], _list_norm_layers(agent.actor)[0]):
        _normalise_after_updates(layer, away + inputs["batch_mean"], updates=0)
        statistics += [float(layer.ra_mean[0]), float(layer.ra_var[0])]
    return statistics


def _measure_normalised_observation_when_acting(inputs: Inputs) -> list[float]:
    size = inputs["batch_size"]
    environment = Scripted(observations=inputs["current"], next_observations=inputs["current"])
    agent = _make_agent(environment, gradient_steps=0, buffer_size=size)
    _add_transitions(agent, [inputs["current"]] * size, inputs["next"])
    for _ in range(3):
        agent.train(gradient_steps=1, batch_size=size)
    layer = _list_norm_layers(agent.actor)[0]
    _set_running_statistics(layer, inputs)
    acting = []
    expected = np.full(1, inputs["current"], dtype=np.float32)
    for act in (lambda: agent.learn(1), lambda: agent.predict(expected, deterministic=True)):
        passes = _record_passes(layer)
        act()
        acting.append(_find_output_for_number(passes, inputs["current"]))
    has_moved = float(layer.ra_mean[0]) != inputs["mean"]
    return [*acting, has_moved]


def _measure_statistics_used_in_policy_loss(inputs: Inputs) -> list[float]:
    size = inputs["batch_size"]
    agent = _make_agent(policy_delay=1, buffer_size=size)
    halves = [inputs["current"], inputs["other"]] * (size // 2)
    _add_transitions(agent, halves, inputs["next"])
    rows = agent.replay_buffer._get_samples(np.arange(size))
    agent.replay_buffer.sample = lambda *_, **__: rows
    critic = _list_norm_layers(agent.critic)[0]
    stepped: list[int] = []

    def reset_critic_statistics(_: str) -> None:
        # the loss of the critics has moved them
        _set_running_statistics(critic, inputs)
        stepped.append(len(passed))

    actor = _list_norm_layers(agent.actor)[0]
    _set_running_statistics(actor, inputs)
    policy, passed = _record_passes(actor), _record_passes(critic)
    update = partial(agent.train, gradient_steps=1, batch_size=size)
    run_and_record_steps(update, {"critic": agent.critic.optimizer}, reset_critic_statistics)
    passes = [policy, policy, passed[stepped[0] :]]
    names = ("next", "other", "other")
    return [
        _find_output_for_number(passes_of_policy, inputs[name])
        for passes_of_policy, name in zip(passes, names, strict=False)
    ]


def _measure_policy_and_temperature_delay(inputs: Inputs) -> list[float]:
    journal = Driver(CrossQ, make_loop_settings(inputs)).run_loop()
    critics, *counts = (journal.count_updates(part) for part in ("critic", "actor", "temperature"))
    return [critics / count for count in counts]


def _measure_adam_beta1(inputs: Inputs) -> list[float]:
    optimizers = probe_agents.list_optimizers(_make_agent())
    return [optimizer.param_groups[0]["betas"][0] for optimizer in optimizers.values()]


def _measure_networks(inputs: Inputs) -> list[float]:
    agent = probe_agents.make_agent(CrossQ, Scripted(), buffer_size=8)
    networks = [agent.actor.latent_pi, agent.critic.q_networks[0]]
    widths = [
        layer.out_features for network in networks for layer in list_linear_layers(network)[:2]
    ]
    counts = [len(_list_norm_layers(network)) for network in networks]
    return [*widths, *counts]


PROBES: Mapping[str, Probe] = {
    "crossq.critic.batch": _measure_outputs_of_joint_batch,
    "crossq.target": _measure_next_value_and_gradient_scale,
    "crossq.renormalisation": _measure_renormalisation_limits_and_warmup,
    "crossq.running_statistics": _measure_running_statistics,
    "crossq.acting": _measure_normalised_observation_when_acting,
    "crossq.policy.statistics": _measure_statistics_used_in_policy_loss,
    "crossq.policy_delay": _measure_policy_and_temperature_delay,
    "crossq.adam.beta1": _measure_adam_beta1,
    "crossq.networks": _measure_networks,
}
