"""Probes of the loop of ``td3_continuous_action.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.probes.helpers import off_policy_agents, off_policy_runs
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.layers import make_constant
from rlregress.measurements.spread import log2_spread, spread_between_environments

_SCRIPT = "td3_continuous_action"


def _centre(names: Mapping[str, Any]) -> None:
    make_constant(off_policy_runs.head(names), 0.0)


def _collected(source: Source, steps: int, starts: int = 0, **settings: Any) -> np.ndarray:
    """The actions of each environment in a collection that moves nothing, [environments, steps]."""
    # updates are not asked for and cannot be switched off: as few and as small as can be
    journal, _ = off_policy_runs.run(
        source, _SCRIPT, steps, _centre, learning_starts=starts, learning_rate=0.0, batch_size=2,
        policy_frequency=10 * steps, **settings,
    )  # fmt: skip
    return journal.collected()


def _replay_action(source: Source, inputs: Inputs) -> np.ndarray:
    journal, ended = off_policy_runs.run(
        source, _SCRIPT, 3,
        lambda run: make_constant(off_policy_runs.head(run), inputs["pre_tanh"]),
        environment={"low": inputs["low"], "high": inputs["high"]},
        learning_rate=0.0, exploration_noise=0.0, batch_size=2,
    )  # fmt: skip
    buffer = ended["rb"]
    actions = getattr(buffer, "actions", None)
    stored = buffer.buffer[-1][1] if actions is None else actions[2]
    return np.array([journal.collected()[0, -1], float(np.ravel(stored)[0])])


def _exploration_default(source: Source, inputs: Inputs) -> np.ndarray:
    return np.array([log2_spread(_collected(source, int(inputs["samples"])))])


def _exploration_environments(source: Source, inputs: Inputs) -> np.ndarray:
    settings = off_policy_runs.several(source, _SCRIPT, int(inputs["environments"]))
    return spread_between_environments(_collected(source, int(inputs["steps"]), **settings))


def _exploration_warmup(source: Source, inputs: Inputs) -> np.ndarray:
    steps = int(inputs["steps"])
    actions = _collected(
        source, steps, starts=steps + 1, exploration_noise=1000.0 * float(inputs["noise"])
    )
    return np.array([np.mean(np.abs(actions) >= 1.0)])


PROBES: dict[str, Callable[[Source, Inputs], np.ndarray]] = {
    "td3.networks": partial(off_policy_agents.networks, script=_SCRIPT),
    "td3.gradient_clip": partial(off_policy_agents.gradient_clip, script=_SCRIPT),
    "td3.adam.epsilon": partial(off_policy_agents.adam_epsilon, script=_SCRIPT),
    "td3.learning_starts": partial(
        off_policy_runs.learning_starts, script=_SCRIPT, exploration_noise=0.0
    ),
    "td3.update_ratio": partial(off_policy_runs.update_ratio, script=_SCRIPT, roles=("critic",)),
    "td3.vectorisation": partial(off_policy_runs.vectorisation, script=_SCRIPT),
    "td3.replay.action": _replay_action,
    "td3.exploration.default": _exploration_default,
    "td3.exploration.environments": _exploration_environments,
    "td3.exploration.warmup": _exploration_warmup,
}
