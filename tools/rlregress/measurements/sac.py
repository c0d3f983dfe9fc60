"""The details of soft actor-critic, measured on any agent with a driver.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from rlregress.measurements import twin_details
from rlregress.measurements.loop_journal import Journal
from rlregress.measurements.named_settings import Inputs, select_inputs
from rlregress.measurements.twin_agents import MakeTwinDriver, Settings
from rlregress.measurements.twin_details import FROZEN, Measurement, make_loop_settings


def measure_temperature_loss(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the loss of the temperature, and its gradient."""
    settings = Settings(
        trained_temperature=True,
        rates=FROZEN,
        delay=1,
        **select_inputs(inputs, "log_prob", "temperature", "target_entropy"),
    )
    return np.array(make_driver(settings).compute_temperature_loss_and_gradient())


def measure_target_entropy(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the default target entropy for each number of action dimensions."""
    bounds = [np.ones(int(dimensions)) for dimensions in inputs["dimensions"]]
    return np.array(
        [make_driver(Settings(low=-ones, high=ones)).read_target_entropy() for ones in bounds]
    )


def measure_log_standard_deviation(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the logarithm of the standard deviation, for each output of its layer."""
    return np.asarray(make_driver(Settings()).compute_log_deviation(inputs["head_outputs"]))


def measure_tanh_correction(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the log-density of the Gaussian minus the log-probability that is reported."""
    agent = make_driver(Settings())
    gaussian = -0.5 * inputs["pre_tanh"] ** 2 - 0.5 * np.log(2.0 * np.pi)
    return gaussian - np.array([agent.compute_log_prob([x]) for x in inputs["pre_tanh"]])


def measure_effect_of_action_scale(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Return the log-probability with wider action bounds minus that with bounds of 1."""
    ones = np.ones(len(inputs["pre_tanh"]))
    bounds = ((inputs["low"], inputs["high"]), (-ones, ones))
    wide, unit = (
        make_driver(Settings(low=a, high=b)).compute_log_prob(inputs["pre_tanh"]) for a, b in bounds
    )
    return np.array([wide - unit])


def measure_update_order(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Return flags: whether Q networks and temperature are updated before they are used.

    In order: Q networks before the policy's loss, the temperature before the targets, and before
    the policy's loss.
    """

    def compute_target_and_loss(rate: float, log_prob: float) -> tuple[float, float]:
        settings = Settings(
            rates=(rate, rate),
            log_prob=log_prob,
            temperature=1.0,
            trained_temperature=True,
            **select_inputs(inputs, "reward", "batch_size", "discount"),
        )
        return make_driver(settings).compute_first_target_and_actor_loss(inputs["target_q"])

    rate, log_prob = inputs["learning_rate"], inputs["log_prob"]
    frozen_target, frozen_loss = compute_target_and_loss(0.0, log_prob)
    moved_target, loss = compute_target_and_loss(rate, log_prob)
    # Without entropy the loss is that of the Q values alone, which were 0.
    _, loss_of_q = compute_target_and_loss(rate, 0.0)
    changes = [loss_of_q, moved_target - frozen_target, loss - loss_of_q - frozen_loss]
    return np.abs(changes) > 1e-3


def _count_consecutive_policy_updates(journal: Journal) -> int:
    """Return the most updates of the policy in a row, without one of the Q networks."""
    longest = current = 0
    for part, _ in journal.updates:
        current = current + 1 if part == "actor" else 0 if part == "critic" else current
        longest = max(longest, current)
    return longest


def measure_update_schedule(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Count updates of critic, actor, temperature and targets in the last ``counted`` steps, and
    the most actor updates in a row.
    """
    journal = make_driver(make_loop_settings(inputs)).run_loop()
    past = inputs["steps"] - inputs["counted"]
    counts = [
        journal.count_updates(part, after_steps=past) for part in ("critic", "actor", "temperature")
    ]
    critics = [steps for part, steps in journal.updates if part == "critic"]
    moves = zip(journal.moves, critics, strict=False)
    target_moves = sum(targets for (_, targets), steps in moves if steps > past)
    return np.array([*counts, target_moves, _count_consecutive_policy_updates(journal)])


def measure_temperature_learning_rate(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure log10 of the first change of log alpha, its last change over that, and the learning
    rates of Q networks and policy over the requested ones.
    """
    policy = inputs["policy_rate"]
    critic = policy if make_driver(Settings()).shares_rate else inputs["critic_rate"]
    journal = make_driver(
        make_loop_settings(inputs, log_prob=inputs["log_prob"], rates=(critic, policy))
    ).run_loop()
    changes = np.abs(np.diff(journal.temperatures))
    ratios = [journal.rates["critic"] / critic, journal.rates["actor"] / policy]
    return np.array([np.log10(changes[0]), changes[-1] / changes[0], *ratios])


def measure_initial_temperature(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the initial temperature by default, and with a requested one."""
    configured = Settings(temperature=inputs["asked"], trained_temperature=True)
    return np.array(
        [make_driver(settings).read_temperature() for settings in (Settings(), configured)]
    )


def measure_target_moves_at_interval(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Return for each update whether the targets moved, with their interval set."""
    updates = inputs["updates"]
    # some programs start to learn only after more than a minibatch
    steps = updates + inputs["batch_size"] + 1
    journal = make_driver(
        make_loop_settings(inputs, steps=steps, target_every=inputs["interval"])
    ).run_loop()
    return np.array([has_moved for _, has_moved in journal.moves[:updates]])


def measure_reward_scaling(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the reward that is stored, and the one in the target."""
    steps = inputs["batch_size"]
    paid = {"reward": inputs["reward"], "terminated": 1.0, "log_prob": 0.0}
    agent = make_driver(make_loop_settings(inputs, steps=steps, learns=False, **paid))
    return np.array([agent.run_loop().stored_reward, agent.compute_target([0.0, 0.0])])


def measure_initialisation_of_first_layer(
    make_driver: MakeTwinDriver, inputs: Inputs
) -> np.ndarray:
    """Measure RMS weight, largest bias, inverse condition number of a Q network's first layer."""
    return make_driver(Settings(observations=inputs["observations"])).measure_initialisation()


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Measurement] = {
    "sac.critic_loss.scale": twin_details.measure_critic_loss_scale,
    "sac.critic_loss.reduction": twin_details.measure_critic_loss_reduction,
    "sac.critic_loss.distance": twin_details.measure_critic_loss_distance,
    "sac.target.minimum": twin_details.measure_target,
    "sac.target.bootstrap": twin_details.measure_target_bootstrap,
    "sac.actor_loss": twin_details.measure_actor_loss,
    "sac.target_update.polyak": twin_details.measure_target_update,
    "sac.target_update.parameter": twin_details.measure_target_update,
    "sac.replay.action": twin_details.measure_received_and_stored_action,
    "sac.learning_starts": twin_details.measure_random_steps_and_first_update,
    "sac.update_ratio": partial(twin_details.measure_update_ratio, ("critic", "actor")),
    "sac.vectorisation": twin_details.measure_steps_and_updates_of_several_environments,
    "sac.networks": twin_details.measure_network_architecture,
    "sac.gradient_clip": twin_details.measure_inverse_clipped_norms,
    "sac.adam.epsilon": twin_details.measure_adam_epsilon,
    "sac.target.entropy": twin_details.measure_target,
    "sac.temperature.loss": measure_temperature_loss,
    "sac.temperature.target_entropy": measure_target_entropy,
    "sac.temperature.learning_rate": measure_temperature_learning_rate,
    "sac.temperature.initial": measure_initial_temperature,
    "sac.log_std.bounds": measure_log_standard_deviation,
    "sac.log_prob.tanh_correction": measure_tanh_correction,
    "sac.log_prob.action_scale": measure_effect_of_action_scale,
    "sac.update_order": measure_update_order,
    "sac.update_schedule": measure_update_schedule,
    "sac.target_update.interval": measure_target_moves_at_interval,
    "sac.reward_scaling": measure_reward_scaling,
    "sac.networks.initialisation": measure_initialisation_of_first_layer,
}
