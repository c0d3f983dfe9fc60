"""Probes that SAC and TD3 share: critic loss, regression target, target networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks import driven
from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.probes.helpers.learner import Learner
from rlregress.frameworks.cleanrl.probes.helpers.playing import Playing
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import Fn

#: (agent, inputs) -> None: what the algorithm needs so that its policy does not disturb.
Prepare = Callable[[Learner, Inputs], None]

_CASES = 3
#: what smooths the action that the targets are evaluated at
_WITHOUT_NOISE = {"td3_continuous_action": {"policy_noise": 0.0}}
#: observation, action and next observation of every transition
_ROW = (_NOW, _ACTION, _THEN) = (0.5, 0.25, -0.5)


def learner(source: Source, script: str, inputs: Inputs, **options: Any) -> Learner:
    """An agent with batch size and discount of the inputs, learning rates 0."""
    for key, name in (("batch_size", "batch_size"), ("discount", "gamma")):
        if key in inputs:
            options.setdefault(name, type(inputs[key])(inputs[key]))
    made = Learner(source, script, **options)
    made.freeze()
    return made


def fill(agent: Learner, inputs: Inputs, **flags: Any) -> None:
    """Store one transition more than a batch, all equal."""
    playing = Playing(agent.spaces, reward=float(inputs.get("reward", 1.0)), **flags)
    agent.collect(int(inputs["batch_size"]) + 1, playing)
    agent.set_rows(*_ROW)


def critic_loss(script: str, source: Source, inputs: Inputs, q_values: Sequence[float]) -> float:
    """The loss of a batch of terminations, as it trains the critics.

    A script names its two networks; a third one is within reach under the next name.
    """
    agent = learner(source, script, inputs)
    agent.set_critics(q_values[:2], at=(_NOW, _ACTION))
    for third in map(float, q_values[2:]):
        constant = Fn(lambda observations, actions, q=third: 0.0 * observations[:, :1] + q)
        agent.names.update(qf3=constant, qf3_target=constant)
    fill(agent, inputs, terminated=True)
    losses = agent.update().losses["critic"]
    if len(losses) != 1:
        raise RuntimeError(f"{len(losses)} updates of the critics in one step")
    return losses[0]


def of_loss(measure: Callable[..., np.ndarray], script: str) -> Callable[..., np.ndarray]:
    """A measurement of the critic loss, as a probe of the copies of a script."""
    return lambda source, inputs: measure(partial(critic_loss, script, source), inputs)


def regression_target(agent: Learner, **given: Any) -> float:
    """What the critics regress towards, one number for a batch of equal transitions."""
    targets = agent.value("regression target", "next_q_value", **given).vector("next_q_value")
    if not np.allclose(targets, targets.flat[0], rtol=1e-6, atol=0.0):
        raise RuntimeError("the regression targets of equal transitions differ")
    return float(targets.flat[0])


def target(
    source: Source, script: str, inputs: Inputs, target_q: Sequence[float], prepare: Prepare
) -> float:
    """The regression target of steps inside an episode."""
    agent = learner(source, script, inputs, **_WITHOUT_NOISE.get(script, {}))
    fill(agent, inputs)
    prepare(agent, inputs)
    agent.set_critics(target_q, target=True, at=(_THEN, agent.action(_THEN, target=True)))
    return regression_target(agent, **_temperature(inputs))


def _temperature(inputs: Inputs) -> dict[str, float]:
    return {"alpha": float(inputs["temperature"])} if "temperature" in inputs else {}


def target_minimum(script: str, prepare: Prepare, source: Source, inputs: Inputs) -> np.ndarray:
    """The regression target per case of constant target networks."""
    return np.array([target(source, script, inputs, q, prepare) for q in inputs["target_q"]])


def bootstrap(script: str, prepare: Prepare, source: Source, inputs: Inputs) -> np.ndarray:
    """The regression target of collected steps with the flags of each case."""
    targets = []
    for case in range(_CASES):
        agent = learner(source, script, inputs)
        agent.set_critics([inputs["target_q"]] * 2, target=True)
        flags = {key: bool(inputs[key][case]) for key in ("terminated", "truncated")}
        fill(agent, inputs, **flags)
        prepare(agent, inputs)
        targets.append(regression_target(agent, **_temperature(inputs)))
    return np.array(targets)


def actor_loss(script: str, prepare: Prepare, source: Source, inputs: Inputs) -> np.ndarray:
    """The policy's loss per case of constant Q networks."""
    losses = []
    for q_values in inputs["q_values"]:
        agent = learner(source, script, inputs)
        fill(agent, inputs)
        prepare(agent, inputs)
        agent.set_critics(q_values, at=(_NOW, agent.action(_NOW)))
        names = ("actor_loss", "policy_loss")
        losses.append(agent.value("policy loss", *names, **_temperature(inputs)).number(*names))
    return np.array(losses)


def polyak(script: str, source: Source, inputs: Inputs, **chosen: Any) -> np.ndarray:
    """A parameter of each target after one update; by default with the default fraction."""
    agent = learner(source, script, {"batch_size": 8}, **chosen)
    fill(agent, {"batch_size": 8})
    pairs = [(agent.part(f"qf{i}"), agent.part(f"qf{i}_target")) for i in (1, 2)]
    if len(inputs["source"]) > len(pairs):
        pairs.append((agent.actor, agent.part("target_actor")))
    return driven.moved(inputs, pairs, agent.update)


def nothing(agent: Learner, inputs: Inputs) -> None:
    """The policy does not disturb."""
