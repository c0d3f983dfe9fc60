"""What a scenario asks of a loop: its features and settings, over the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlregress.frameworks.base import Unsupported

ON_POLICY = ("ppo", "a2c", "reinforce")
_OFF_POLICY = ("sac", "td3", "ddpg", "dqn")
_SHARED = {"learning_rate": 3e-3, "hidden_sizes": [16, 16], "discount": 0.99}
_DEFAULTS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(
        ON_POLICY,
        {**_SHARED, "rollout_steps": 32, "minibatch_size": 48, "epochs": 2, "gae_lambda": 0.95},
    ),
    **dict.fromkeys(
        _OFF_POLICY,
        # 50 rows: the buffer is full after half of the training
        {
            **_SHARED,
            "replay_size": 50,
            "learning_starts": 24,
            "minibatch_size": 16,
            "polyak_coefficient": 0.05,
            "steps_per_collection": 12,
            "updates_per_collection": 2,
        },
    ),
}


class ScenarioOptions:
    """What a scenario asks for, each name once: what is left over in the end is not offered."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        self.algorithm = str(scenario["algorithm"])
        if self.algorithm not in _DEFAULTS:
            raise Unsupported(f"TorchRL's {self.algorithm.upper()} is not among what is traced")
        self.environment = dict(scenario.get("environment", {}))
        given = {**scenario.get("settings", {}), **scenario.get("features", {})}
        self.given = {**_DEFAULTS[self.algorithm], **given}
        self.discrete = self.environment.get("actions", "box") == "discrete"

    def take(self, name: str, default: Any = None) -> Any:
        """A feature or setting, no longer among what is left over."""
        return self.given.pop(name, default)

    def nothing_left(self) -> None:
        """Raise Unsupported for what nobody took."""
        if self.given:
            left = ", ".join(sorted(self.given))
            raise Unsupported(f"a training with TorchRL's {self.algorithm.upper()} has no {left}")
