"""Driver of the critics of TQC: its own ``train``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sb3_contrib import TQC

from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.measurements.driven_agents import Settings
from rlregress.probing import watched_updates
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import Scripted


class Driver:
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
        losses = watched_updates.run_and_record_losses(
            partial(agent.train, gradient_steps=1, batch_size=self._size),
            probe_agents.list_optimizers(agent),
        )
        return watched_updates.require_one_number(losses["critic"])
