"""The details of deep deterministic policy gradients, measured on any agent with a driver.

The text of a measurement is what the catalogue says of the vector that it returns. Where a driver
takes numbers for two Q networks, both get the same one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rlregress.measurements import td3, twin_details
from rlregress.measurements.loss_minimum import invert_norm_if_clipped
from rlregress.measurements.named_settings import Inputs
from rlregress.measurements.twin_agents import MakeTwinDriver, Settings
from rlregress.measurements.twin_details import (
    FROZEN,
    SATURATED,
    Measurement,
    make_loop_settings,
    run_with_saturated_policy,
)


def measure_numbers_of_q_networks_and_targets(
    make_driver: MakeTwinDriver, inputs: Inputs
) -> np.ndarray:
    """Count the Q networks and the target Q networks of an agent with default settings.

    An agent for actions of ``dimensions`` dimension. Observed, [2]: Q networks that are trained;
    target Q networks.
    """
    del inputs
    return np.array(make_driver(Settings()).count_q_networks_and_targets())


def measure_mean_and_spread_of_next_actions(
    make_driver: MakeTwinDriver, inputs: Inputs
) -> np.ndarray:
    """Measure the mean of the next actions in an update, and the spread of the noise on them.

    The policy's last layer gives ``online`` in every state, the target policy's ``target``; bounds
    -1 and 1. One update on ``samples`` transitions with parameters of any noise at their defaults:
    the next actions a' that the target Q network evaluates. Observed, [2]: their mean, and the root
    mean square of their differences from it.
    """
    driver = make_driver(Settings(pre_tanh=inputs["online"], discount=1.0))
    actions = driver.compute_smoothed_actions(np.tanh(inputs["target"]), inputs["samples"], True)
    return np.array([np.mean(actions), np.std(actions)])


def measure_targets_at_episode_ends(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the target of a step inside an episode, a terminated and a truncated one.

    Three cases k: a step inside an episode, a terminated one, a truncated one (flags terminated[k],
    truncated[k]). The flags enter where the framework receives them when it stores a transition.
    The target Q networks output ``target_q`` for the next observation and the target policy's
    action there; reward ``reward``. The target y is the number that the Q networks regress towards.
    Observed, [3]: y of the cases.
    """
    return twin_details.measure_target_bootstrap(make_driver, inputs)


def measure_critic_loss(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the critic loss for several errors, which shows its distance function.

    An update on ``batch_size`` equal transitions that terminate, with reward ``reward``, which is
    the target then; every Q network outputs reward + errors[k]. Observed, [3]: the loss that
    is differentiated, of each error.
    """
    return twin_details.measure_critic_losses_of_errors(make_driver, inputs)


def measure_actor_loss(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the policy's loss where Q network and target Q network output different numbers.

    The Q network outputs ``online`` for the policy's action, and the target Q network ``target``
    everywhere. Observed, [1]: the loss of the policy that is differentiated.
    """
    driver = make_driver(Settings(rates=FROZEN))
    return np.array([driver.compute_actor_loss([inputs["online"]] * 2, inputs["target"])])


def measure_policy_delay(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the updates of policy and target Q network per update of the Q network.

    The framework's own loop with defaults for how often policy and targets are updated, ``steps``
    steps with one update of the Q network each. Observed, [2]: updates of the policy, and steps
    at which the target Q network changed, each divided by the updates of the Q network; both
    rounded to tenths.
    """
    journal = make_driver(make_loop_settings(inputs)).run_loop()
    critics = [steps for part, steps in journal.updates if part == "critic"]
    moved = {steps for steps, (_, target) in zip(critics, journal.moves, strict=True) if target}
    return np.round(np.array([journal.count_updates("actor"), len(moved)]) / len(critics), 1)


def measure_target_share(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the fraction by which targets move towards the networks.

    Every parameter of Q network and policy is 1, every one of their targets 0; one update of the
    framework's own. The fraction is not set (where there is no default, the fraction that moves is
    ``tau``). Observed, [2]: a parameter of the target Q network after it, and of the target
    policy; -1.0 where there is no target policy.
    """
    numbers = {"source": [1.0] * 3, "target": [0.0] * 3}
    return twin_details.measure_target_update(make_driver, {**inputs, **numbers})[[0, -1]]


def measure_distinct_warmup_actions(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure how many of the random actions of the warm-up are distinct.

    As for the start of learning: the policy is at the upper bound, without noise, so that an action
    below it is a random one. Observed, [2]: 1.0 if there are random actions and else 0.0; the share
    of distinct ones among them.
    """
    actions, _ = run_with_saturated_policy(make_driver, inputs)
    random = actions[actions < 0.999]
    if not len(random):
        return np.zeros(2)
    return np.array([1.0, len(np.unique(random)) / len(random)])


def measure_inverse_clipped_norm(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the norm to which huge gradients of the Q network are clipped, if they are.

    The framework's own loop, where every step terminates; the weights of the Q network's last layer
    are ``value``, so that the norm of its gradients is beyond 100, and the policy is at the upper
    bound, so that it has next to none. Observed, [1]: one over the norm of the Q network's
    gradients at the first step of its optimiser; 0.0 for a norm beyond 100.
    """
    # with a next value, targets would grow with the values
    options = {"weight": inputs["value"], "pre_tanh": SATURATED, "terminated": 1.0}
    norms = make_driver(make_loop_settings(inputs, steps=12, **options)).run_loop().gradient_norms
    return np.array([invert_norm_if_clipped(norms["critic"][0])])


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Measurement] = {
    "ddpg.networks": measure_numbers_of_q_networks_and_targets,
    "ddpg.target.action": measure_mean_and_spread_of_next_actions,
    "ddpg.target.terminal": measure_targets_at_episode_ends,
    "ddpg.loss.values": measure_critic_loss,
    "ddpg.loss.policy": measure_actor_loss,
    "ddpg.policy_delay": measure_policy_delay,
    "ddpg.target_update.share": measure_target_share,
    "ddpg.exploration.noise": td3.measure_actions_with_exploration_noise,
    "ddpg.exploration.default": td3.measure_default_exploration_noise,
    "ddpg.learning_starts": twin_details.measure_random_steps_and_first_update,
    "ddpg.warmup.draw": measure_distinct_warmup_actions,
    "ddpg.gradient.clip": measure_inverse_clipped_norm,
}
