"""Driver of QR-DQN: its own ``learn``, ``train`` and ``predict``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sb3_contrib import QRDQN

from rlregress.frameworks.sb3.observe.drivers import dqn


class Driver(dqn.Driver):
    """An agent of ``QRDQN`` with small networks (see ``driven_agents.QuantileCritic``)."""

    algorithm_class = QRDQN
    networks = ("quantile_net", "quantile_net_target")

    def make_policy_arguments(self) -> dict[str, Any]:
        # two, where no measurement is about their number: of five thousand actions each has as many
        return {**super().make_policy_arguments(), "n_quantiles": self._settings.quantiles or 2}

    def set_values(self, online: Any, target: Any) -> None:
        shape = (self._agent.n_quantiles, self._settings.actions)
        # the quantiles of all actions, one quantile after the other
        outputs: list[Any] = [np.broadcast_to(own, shape).flatten() for own in (online, target)]
        super().set_values(*outputs)

    def compute_quantile_loss(self, quantiles: Sequence[float]) -> float:
        """Return the loss of ``train``, where action 0 has these quantiles."""
        table: Any = np.zeros((len(quantiles), self._settings.actions))
        table[:, 0] = quantiles
        return self.compute_loss(table, [0.0] * self._settings.actions)
