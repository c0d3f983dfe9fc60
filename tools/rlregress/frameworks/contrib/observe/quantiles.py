"""Probes of values that are distributions: QR-DQN and TQC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch
from sb3_contrib import QRDQN, TQC
from sb3_contrib.tqc import tqc

from rlregress.frameworks.contrib.observe.drivers.dqn import Driver as QuantileNetwork
from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.measurements import quantiles
from rlregress.measurements.driven_agents import Settings
from rlregress.probing.driven import fix_log_prob_of_samples
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.journal import run_and_record_steps
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import Scripted

_ROWS = 8


class _Critics:
    """An agent of ``TQC`` with small networks (see ``driven_agents.QuantileCritic``)."""

    def __init__(self, settings: Settings) -> None:
        options = {"n_quantiles": settings.quantiles, "n_critics": settings.networks}
        self._size = settings.batch_size
        self._agent = probe_agents.make_small_off_policy_agent(
            TQC,
            Scripted(),
            learning_rate=probe_agents.FROZEN,
            ent_coef=0.0,
            top_quantiles_to_drop_per_net=0,
            policy_kwargs={name: count for name, count in options.items() if count is not None},
        )
        probe_agents.add_equal_transitions(
            self._agent, self._size, reward=settings.reward, done=bool(settings.terminated)
        )

    def compute_quantile_loss(self, quantiles: Sequence[float]) -> float:
        """Return the loss of ``train``, where every network outputs these quantiles."""
        agent = self._agent
        for network in agent.critic.q_networks:
            make_output_constant(network, quantiles)
        update = partial(agent.train, gradient_steps=1, batch_size=self._size)
        journal = run_and_record_steps(update, probe_agents.list_optimizers(agent))
        return journal.get_only_loss("critic")


def _make_qrdqn_agent(**arguments: Any) -> Any:
    return probe_agents.make_agent(QRDQN, Scripted(discrete=2), buffer_size=8, **arguments)


def _count_default_qrdqn_quantiles(inputs: Inputs) -> float:
    values = _make_qrdqn_agent().quantile_net(torch.zeros(1, 1))
    return values.shape[1]


def _measure_adam_epsilon(inputs: Inputs) -> np.ndarray:
    sizes = (32, inputs["batch_size"])
    optimizers = [_make_qrdqn_agent(batch_size=size).policy.optimizer for size in sizes]
    return np.log10([optimizer.param_groups[0]["eps"] for optimizer in optimizers])


def _list_default_tqc_counts(inputs: Inputs) -> list[float]:
    agent = probe_agents.make_agent(TQC, Scripted(), buffer_size=8)
    values = agent.critic(torch.zeros(1, 1), torch.zeros(1, 1))
    return [*values.shape[1:], agent.top_quantiles_to_drop_per_net]


def _make_tqc_agent_with_quantiles(inputs: Inputs, **arguments: Any) -> Any:
    """Return a TQC agent whose networks and target networks output the quantiles of the inputs."""
    networks, count = inputs["quantiles"].shape
    agent = probe_agents.make_small_off_policy_agent(
        TQC,
        Scripted(),
        learning_rate=probe_agents.FROZEN,
        ent_coef=0.0,
        top_quantiles_to_drop_per_net=inputs["dropped"],
        policy_kwargs={"n_quantiles": count, "n_critics": networks},
        **arguments,
    )
    for critic in (agent.critic, agent.critic_target):
        for network, numbers in zip(critic.q_networks, inputs["quantiles"], strict=False):
            make_output_constant(network, numbers)
    fix_log_prob_of_samples(agent.actor, "action_log_prob", 0.0)
    probe_agents.add_equal_transitions(agent, _ROWS, reward=0.0)
    return agent


def _measure_target_quantiles(inputs: Inputs) -> list[float]:
    discount = inputs["discount"]
    agent = _make_tqc_agent_with_quantiles(inputs, gamma=discount)
    distance = tqc.quantile_huber_loss
    with mock.patch.object(tqc, "quantile_huber_loss", wraps=distance) as called:
        agent.train(gradient_steps=1, batch_size=_ROWS)
    (((_, targets), _),) = called.call_args_list
    atoms = targets.numpy().reshape(_ROWS, -1)[0] / discount
    return [len(atoms), atoms.min(), atoms.max(), atoms.mean()]


def _measure_actor_loss(inputs: Inputs) -> float:
    agent = _make_tqc_agent_with_quantiles(inputs)
    update = partial(agent.train, gradient_steps=1, batch_size=_ROWS)
    journal = run_and_record_steps(update, probe_agents.list_optimizers(agent))
    return journal.get_only_loss("actor")


PROBES: Mapping[str, Probe] = {
    "qrdqn.loss.distance": partial(quantiles.measure_loss_distance, QuantileNetwork),
    "qrdqn.loss.fractions": partial(quantiles.measure_loss_shares_of_quantiles, QuantileNetwork),
    "qrdqn.loss.reduction": partial(quantiles.measure_loss_reduction, QuantileNetwork),
    "qrdqn.target.action": partial(quantiles.measure_mean_target_quantile, QuantileNetwork),
    "qrdqn.policy.action": partial(quantiles.measure_greedy_action, QuantileNetwork),
    "qrdqn.quantiles.default": _count_default_qrdqn_quantiles,
    "qrdqn.adam.epsilon": _measure_adam_epsilon,
    "tqc.critic_loss.distance": partial(quantiles.measure_loss_distance, _Critics),
    "tqc.critic_loss.fractions": partial(quantiles.measure_loss_shares_of_quantiles, _Critics),
    "tqc.critic_loss.reduction": partial(quantiles.measure_loss_reduction, _Critics),
    "tqc.critic_loss.networks": partial(quantiles.measure_loss_of_several_networks, _Critics),
    "tqc.target.dropped": _measure_target_quantiles,
    "tqc.actor_loss.quantiles": _measure_actor_loss,
    "tqc.quantiles.default": _list_default_tqc_counts,
}
