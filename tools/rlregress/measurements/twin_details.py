"""The details that SAC and TD3 share, measured on any agent of theirs that can be driven.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rlregress.measurements.twin_agents import MakeTwinDriver, Settings

Inputs = Mapping[str, Any]
#: (class of a driver, inputs) -> what is observed
Measurement = Callable[[MakeTwinDriver, Inputs], np.ndarray]

#: learning rates with which updates move nothing
FROZEN = (0.0, 0.0)
#: what a policy is at the upper bound with, but for less than 0.001
_SATURATED = 5.0
#: a norm that no clip lets through
_UNCLIPPED = 1e3


def soft(i: Inputs) -> dict[str, Any]:
    """Return the settings of entropy, where an agent has one."""
    return {name: i.get(name) for name in ("log_prob", "temperature")}


def loop(i: Inputs, **options: Any) -> Settings:
    """Return settings of a run of the framework's own loop."""
    names = ("steps", "batch_size", "starts", "collected_at_once")
    return Settings(
        **{"starts": 0, **{name: int(i[name]) for name in names if name in i}, **options}
    )


def _critic_loss(
    make: MakeTwinDriver, i: Inputs, values: Sequence[float], squared: bool = True
) -> float:
    settings = Settings(
        reward=float(i["reward"]),
        terminated=1.0,
        batch_size=int(i["batch_size"]),
        discount=float(i["discount"]),
        rates=FROZEN,
        networks=len(values),
        squared=squared,
        # entropy may enter the target of a termination
        log_prob=0.0,
    )
    return make(settings).critic_loss(values)


def critic_loss_scale(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the loss of two networks."""
    return np.array([_critic_loss(make, i, i["q_values"])])


def critic_loss_reduction(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the loss of three networks over that of the first two."""
    both, two = (_critic_loss(make, i, i["q_values"][:count]) for count in (3, 2))
    return np.array([both / two])


def critic_loss_distance(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the loss at each error over that at the first."""
    values = [[float(i["reward"]) + error] * 2 for error in i["errors"]]
    losses = np.array([_critic_loss(make, i, pair, squared=False) for pair in values])
    return losses[1:] / losses[0]


def _targets(make: MakeTwinDriver, i: Inputs, cases: Any) -> np.ndarray:
    """Measure the target of each case: numbers of the target networks, and flags of every step."""
    targets = []
    for values, terminated, truncated in cases:
        settings = Settings(
            reward=float(i["reward"]),
            terminated=float(terminated),
            truncated=float(truncated),
            batch_size=int(i["batch_size"]),
            discount=float(i["discount"]),
            squared=True,
            # the noise of target actions is off twice: one of the two may be ignored
            smoothing=0.0,
            smoothing_bound=0.0,
            **soft(i),
        )
        targets.append(make(settings).target(values))
    return np.array(targets)


def target(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the target for each pair of numbers of the target networks."""
    pairs = np.atleast_2d(i["target_q"]) * np.ones((1, 2))
    return _targets(make, i, [(pair, 0.0, 0.0) for pair in pairs])


def target_bootstrap(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the target for each pair of flags."""
    flags = zip(i["terminated"], i["truncated"], strict=False)
    return _targets(make, i, [([i["target_q"]] * 2, *pair) for pair in flags])


def actor_loss(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the loss of the policy for each pair of numbers of the Q networks."""
    settings = Settings(batch_size=int(i["batch_size"]), rates=FROZEN, delay=1, **soft(i))
    return np.array([make(settings).actor_loss(values) for values in i["q_values"]])


def target_update(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure a parameter of each target after an update, with a coefficient if one is given."""
    settings = Settings(
        rates=FROZEN, delay=1, coefficient=i.get("coefficient"), tau=float(i.get("tau", 0.005))
    )
    return np.asarray(make(settings).update_target(i["source"], i["target"]))


def replay_action(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the last action that the environment received, and the one that is stored."""
    steps = int(i.get("batch_size", 1))
    bounds = {"low": i["low"], "high": i["high"], "pre_tanh": float(i["pre_tanh"])}
    journal = make(loop(i, steps=steps, learns=False, noise=0.0, **bounds)).run()
    return np.array([journal.collected()[0, -1], journal.stored_action])


def learning_starts(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure random steps before a policy at the upper bound; steps taken at the first update."""
    journal = make(loop(i, pre_tanh=_SATURATED, noise=0.0, rates=FROZEN)).run()
    (actions,) = journal.collected()
    below = np.flatnonzero(actions < 0.999)
    first = next(steps for part, steps in journal.updates if part == "critic")
    return np.array([below[-1] + 1 if len(below) else 0, first], dtype=np.float64)


def update_ratio(parts: Sequence[str], make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure updates of the parts for each step, in the last ``counted`` steps of each run."""
    past = int(i["steps"]) - int(i["counted"])
    runs = [make(loop(i, updates=updates)).run() for updates in ("default", "fewer", "more")]
    counts = [run.count(part, after=past) for run in runs for part in parts]
    return np.array(counts) / int(i["counted"])


def vectorisation(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure transitions for each step that is asked for; updates for each transition;
    environments.
    """
    journal = make(loop(i, environments=int(i["environments"]))).run()
    half = journal.steps // 2
    updates = journal.count("critic", after=half) / half
    return np.array([journal.steps / int(i["steps"]), updates, journal.environments])


def networks(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure widths of the hidden layers, number of Q networks, activation, sharing."""
    bound = np.ones(int(i["dimensions"]))
    hidden = (int(i["first"]), int(i["second"]))
    shape: dict[str, Any] = {"hidden": hidden, "activation": str(i["activation"])}
    return make(Settings(low=-bound, high=bound, observations=len(bound), **shape)).architecture()


def gradient_clip(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure one over the first gradient norms of Q networks and policy; 0.0 beyond 1e3."""
    steps = int(i["batch_size"]) + 3
    journal = make(loop(i, steps=steps, weight=float(i["factor"]))).run()
    norms = [journal.gradient_norms[part] for part in ("critic", "actor")]
    return np.array([0.0 if norm > _UNCLIPPED else 1.0 / norm for norm in norms])


def adam_epsilon(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the logarithm to base 10 of the epsilon of each optimiser."""
    return np.array(make(Settings(epsilon=float(i["documented"]))).log_epsilons())
