"""The details of soft actor-critic, measured on any agent that can be driven.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from rlregress.measurements import twin_details
from rlregress.measurements.loop_journal import Journal
from rlregress.measurements.twin_agents import MakeTwinDriver, Settings
from rlregress.measurements.twin_details import FROZEN, Inputs, Measurement, loop


def temperature_loss(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the loss of the temperature, and its gradient."""
    settings = Settings(
        log_prob=float(i["log_prob"]),
        temperature=float(i["temperature"]),
        trained_temperature=True,
        target_entropy=float(i["target_entropy"]),
        rates=FROZEN,
        delay=1,
    )
    return np.array(make(settings).temperature_loss())


def target_entropy(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the default for each number of dimensions of actions."""
    bounds = [np.ones(int(dimensions)) for dimensions in i["dimensions"]]
    return np.array([make(Settings(low=-ones, high=ones)).target_entropy() for ones in bounds])


def log_std(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the logarithm of the standard deviation, for each output of its layer."""
    return np.asarray(make(Settings()).log_deviation(i["head_outputs"]))


def tanh_correction(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the log-density of the Gaussian minus the log-probability that is reported."""
    agent = make(Settings())
    gaussian = -0.5 * i["pre_tanh"] ** 2 - 0.5 * np.log(2.0 * np.pi)
    return gaussian - np.array([agent.log_prob([x]) for x in i["pre_tanh"]])


def action_scale(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Return the difference that wider bounds make to the log-probability."""
    ones = np.ones(len(i["pre_tanh"]))
    bounds = ((i["low"], i["high"]), (-ones, ones))
    wide, unit = (make(Settings(low=a, high=b)).log_prob(i["pre_tanh"]) for a, b in bounds)
    return np.array([wide - unit])


def update_order(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Return which parts of an update come before the policy's loss and the targets."""

    def first_update(rate: float, log_prob: float) -> tuple[float, float]:
        settings = Settings(
            reward=float(i["reward"]),
            batch_size=int(i["batch_size"]),
            discount=float(i["discount"]),
            rates=(rate, rate),
            log_prob=log_prob,
            temperature=1.0,
            trained_temperature=True,
        )
        return make(settings).first_update(float(i["target_q"]))

    rate, log_prob = float(i["learning_rate"]), float(i["log_prob"])
    frozen_target, frozen_loss = first_update(0.0, log_prob)
    moved_target, loss = first_update(rate, log_prob)
    # Without entropy the loss is that of the Q values alone, which were 0.
    _, loss_of_q = first_update(rate, 0.0)
    changes = [loss_of_q, moved_target - frozen_target, loss - loss_of_q - frozen_loss]
    return (np.abs(changes) > 1e-3).astype(np.float64)


def _count_consecutive_policy_updates(journal: Journal) -> int:
    """Return the most updates of the policy in a row, without one of the Q networks."""
    longest = current = 0
    for part, _ in journal.updates:
        current = current + 1 if part == "actor" else 0 if part == "critic" else current
        longest = max(longest, current)
    return longest


def update_schedule(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the last ``counted`` steps: updates of each part, moves of targets, longest burst."""
    journal = make(loop(i)).run()
    past = int(i["steps"]) - int(i["counted"])
    counts = [journal.count(part, after=past) for part in ("critic", "actor", "temperature")]
    critics = [steps for part, steps in journal.updates if part == "critic"]
    moves = zip(journal.moves, critics, strict=False)
    target_moves = sum(targets for (_, targets), steps in moves if steps > past)
    return np.array(
        [*counts, target_moves, _count_consecutive_policy_updates(journal)], dtype=np.float64
    )


def temperature_rate(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the logarithm of the first change of log alpha; its last change over its first; other
    rates.
    """
    policy = float(i["policy_rate"])
    critic = policy if make(Settings()).shares_rate else float(i["critic_rate"])
    journal = make(loop(i, log_prob=float(i["log_prob"]), rates=(critic, policy))).run()
    changes = np.abs(np.diff(journal.temperatures))
    ratios = [journal.rates["critic"] / critic, journal.rates["actor"] / policy]
    return np.array([np.log10(changes[0]), changes[-1] / changes[0], *ratios])


def temperature_initial(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the temperature by default, and where a number is asked for."""
    configured = Settings(temperature=float(i["asked"]), trained_temperature=True)
    return np.array([make(settings).temperature() for settings in (Settings(), configured)])


def target_interval(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Return for each update whether the targets moved."""
    updates = int(i["updates"])
    # some programs wait for more than a minibatch
    steps = updates + int(i["batch_size"]) + 1
    journal = make(loop(i, steps=steps, target_every=int(i["interval"]))).run()
    return np.array([has_moved for _, has_moved in journal.moves[:updates]], dtype=np.float64)


def reward_scaling(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure the reward that is stored, and the one in the target."""
    steps = int(i["batch_size"])
    paid = {"reward": float(i["reward"]), "terminated": 1.0, "log_prob": 0.0}
    agent = make(loop(i, steps=steps, learns=False, **paid))
    return np.array([agent.run().stored_reward, agent.target([0.0, 0.0])])


def initialisation(make: MakeTwinDriver, i: Inputs) -> np.ndarray:
    """Measure how the first layer of a Q network is initialised."""
    return make(Settings(observations=int(i["observations"]))).initialisation()


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Measurement] = {
    "sac.critic_loss.scale": twin_details.critic_loss_scale,
    "sac.critic_loss.reduction": twin_details.critic_loss_reduction,
    "sac.critic_loss.distance": twin_details.critic_loss_distance,
    "sac.target.minimum": twin_details.target,
    "sac.target.bootstrap": twin_details.target_bootstrap,
    "sac.actor_loss": twin_details.actor_loss,
    "sac.target_update.polyak": twin_details.target_update,
    "sac.target_update.parameter": twin_details.target_update,
    "sac.replay.action": twin_details.replay_action,
    "sac.learning_starts": twin_details.learning_starts,
    "sac.update_ratio": partial(twin_details.update_ratio, ("critic", "actor")),
    "sac.vectorisation": twin_details.vectorisation,
    "sac.networks": twin_details.networks,
    "sac.gradient_clip": twin_details.gradient_clip,
    "sac.adam.epsilon": twin_details.adam_epsilon,
    "sac.target.entropy": twin_details.target,
    "sac.temperature.loss": temperature_loss,
    "sac.temperature.target_entropy": target_entropy,
    "sac.temperature.learning_rate": temperature_rate,
    "sac.temperature.initial": temperature_initial,
    "sac.log_std.bounds": log_std,
    "sac.log_prob.tanh_correction": tanh_correction,
    "sac.log_prob.action_scale": action_scale,
    "sac.update_order": update_order,
    "sac.update_schedule": update_schedule,
    "sac.target_update.interval": target_interval,
    "sac.reward_scaling": reward_scaling,
    "sac.networks.initialisation": initialisation,
}
