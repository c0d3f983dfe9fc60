"""Probes of RSL-RL, one file per family; all of them probe the class defaults."""

from __future__ import annotations

from collections.abc import Mapping

_OFF_POLICY = "has no algorithm with a replay buffer"

#: detail id, or family -> why this framework does not have it.
ABSENT: Mapping[str, str] = {
    **dict.fromkeys(("sac", "td3", "dqn", "ddpg", "qrdqn", "tqc", "crossq"), _OFF_POLICY),
    **dict.fromkeys(("replay", "nstep", "target", "collection"), _OFF_POLICY),
    "trpo": "has no TRPO",
    "ars": "has no ARS",
    "gae.truncation.asked": "bootstraps at time limits always",
    "maskable": "masks no actions",
    "atari": "has no wrappers of games",
    "normalisation": "normalises in the agent, before the step (normaliser), and no rewards",
    "policy": "has no tanh policy",
    "advantage": "has no mask of valid steps but that of sequences (recurrent.padding)",
    "networks": "has no Q networks",
    "optimizer": "has no configuration of optimisers",
}
