"""The details of deep deterministic policy gradients, measured on any agent with a driver.

The text of a measurement is what the catalogue says of the vector that it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rlregress.measurements.driven_agents import (
    LoopRecord,
    MakeContinuousAgent,
    Settings,
    list_settings_of_ends,
)
from rlregress.measurements.loss_minimum import (
    count_steps_to_last,
    find_argmin_of_loss,
    invert_norm_if_clipped,
)
from rlregress.measurements.named_settings import Inputs, select_inputs
from rlregress.measurements.spread import compute_log2_spread

#: what a policy is at the upper bound with, but for less than 0.001
_SATURATED = 5.0


def measure_numbers_of_q_networks_and_targets(
    make_agent: MakeContinuousAgent, inputs: Inputs
) -> np.ndarray:
    """Count the Q networks and the target Q networks of an agent with default settings.

    An agent for actions of ``dimensions`` dimension. Observed, [2]: Q networks that are trained;
    target Q networks.
    """
    del inputs
    return np.array(make_agent(Settings()).count_q_networks_and_targets())


def measure_mean_and_spread_of_next_actions(
    make_agent: MakeContinuousAgent, inputs: Inputs
) -> np.ndarray:
    """Measure the mean of the next actions in an update, and the spread of the noise on them.

    The policy's last layer gives ``online`` in every state, the target policy's ``target``; bounds
    -1 and 1. One update on ``samples`` transitions with parameters of any noise at their defaults:
    the next actions a' that the target Q network evaluates. Observed, [2]: their mean, and the root
    mean square of their differences from it.
    """
    agent = make_agent(Settings(batch_size=inputs["samples"]))
    agent.set_policy(inputs["online"], inputs["target"])
    actions = agent.read_target_actions()
    return np.array([np.mean(actions), np.std(actions)])


def measure_targets_at_episode_ends(make_agent: MakeContinuousAgent, inputs: Inputs) -> np.ndarray:
    """Measure the target of a step inside an episode, a terminated and a truncated one.

    Three cases k: a step inside an episode, a terminated one, a truncated one (flags terminated[k],
    truncated[k]). The flags enter where the framework receives them when it stores a transition.
    The target Q networks output ``target_q``; reward ``reward``. The target y is the value of the
    Q networks at which their loss is lowest: the minimum of a parabola through three losses.
    |y| has to stay below 0.75, where all documented losses are still quadratic. Observed, [3]: y of
    the cases.
    """
    targets = []
    for settings in list_settings_of_ends(inputs):
        agent = make_agent(settings)
        targets.append(
            find_argmin_of_loss(
                lambda q, a=agent: a.compute_critic_and_policy_loss(q, inputs["target_q"])[0]  # type: ignore[misc]
            )
        )
    return np.array(targets)


def measure_critic_loss(make_agent: MakeContinuousAgent, inputs: Inputs) -> np.ndarray:
    """Measure the critic loss for several errors, which shows its distance function.

    An update on ``batch_size`` equal transitions that terminate, with reward ``reward``, which is
    the target then; every Q network outputs reward + errors[k]. Observed, [3]: the loss that
    is differentiated, of each error.
    """
    agent = make_agent(Settings(terminated=1.0, **select_inputs(inputs, "reward", "batch_size")))
    values = [inputs["reward"] + error for error in inputs["errors"]]
    return np.array([agent.compute_critic_and_policy_loss(value, 0.0)[0] for value in values])


def measure_actor_loss(make_agent: MakeContinuousAgent, inputs: Inputs) -> np.ndarray:
    """Measure the policy's loss where Q network and target Q network output different numbers.

    The Q network outputs ``online`` and the target Q network ``target``, everywhere. Observed, [1]:
    the loss of the policy that is differentiated.
    """
    agent = make_agent(Settings())
    return np.array([agent.compute_critic_and_policy_loss(inputs["online"], inputs["target"])[1]])


def measure_policy_delay(make_agent: MakeContinuousAgent, inputs: Inputs) -> np.ndarray:
    """Measure the updates of policy and target Q network per update of the Q network.

    The framework's own loop with defaults for how often policy and targets are updated, ``steps``
    steps with one update of the Q network each. Observed, [2]: updates of the policy, and changes
    of the target Q network, each divided by the updates of the Q network; both rounded to tenths.
    """
    agent = make_agent(Settings(steps=inputs["steps"]))
    moves: list[int] = []

    def note_move_of_target(steps: int) -> None:
        if agent.read_target_parameters()[0] != 0.0:
            moves.append(steps)
            agent.fill_parameters(1.0, 0.0)

    run = agent.run_loop(
        on_start=lambda _: agent.fill_parameters(1.0, 0.0), on_step=note_move_of_target
    )
    values = sum(role in ("values", "both") for role in run.roles)
    policy = sum(role in ("policy", "both") for role in run.roles)
    return np.round(np.array([policy, len(moves)]) / values, 1)


def measure_target_share(make_agent: MakeContinuousAgent, inputs: Inputs) -> np.ndarray:
    """Measure the fraction by which targets move towards the networks.

    Every parameter of Q network and policy is 1, every one of their targets 0; the framework's own
    loop. The fraction is not set (where there is no default, the fraction that moves is ``tau``).
    Observed, [2]: a parameter of the target Q network after its first update, and of the target
    policy; -1.0 where there is no target policy.
    """
    agent = make_agent(Settings(**select_inputs(inputs, "steps", "tau")))
    shares: list[tuple[float, float]] = []

    def note_share_of_move(_: int) -> None:
        values, policy = agent.read_target_parameters()
        if values != 0.0 and not shares:
            shares.append((values, -1.0 if policy is None else policy))

    agent.run_loop(on_start=lambda _: agent.fill_parameters(1.0, 0.0), on_step=note_share_of_move)
    return np.array(shares[0] if shares else (0.0, 0.0))


def measure_actions_with_exploration_noise(
    make_agent: MakeContinuousAgent, inputs: Inputs
) -> np.ndarray:
    """Measure actions with constant exploration noise: its units, and how bounds are kept.

    Bounds ``low`` and ``high``; the policy's last layer gives ``pre_tanh``. Exploration adds the
    constant noise[k] in the units in which the framework takes its noise. Observed, [2]: the first
    action that the environment receives, for k = 0 and 1.
    """
    deviations = []
    for noise in inputs["noise"]:
        agent = make_agent(
            Settings(
                low=inputs["low"],
                high=inputs["high"],
                noise=float(noise),
                steps=3,
                starts=0,
            )
        )
        pre_tanh = inputs["pre_tanh"]
        run = agent.run_loop(on_start=lambda _, a=agent, p=pre_tanh: a.set_policy(p, p))  # type: ignore[misc]
        deviations.append(run.actions[0][-1])
    return np.array(deviations)


def measure_default_exploration_noise(
    make_agent: MakeContinuousAgent, inputs: Inputs
) -> np.ndarray:
    """Measure the size of the exploration noise of an agent whose noise is not set.

    Bounds -1 and 1, a policy whose action is 0 in every state; ``samples`` actions of the
    framework's own loop after the start of learning, an update every ten steps. Observed, [1]: the
    base-2 logarithm of the root of their mean square, -10 at least.
    """
    samples = inputs["samples"]
    agent = make_agent(Settings(steps=samples + 2, every=10))
    run = agent.run_loop(on_start=lambda _: agent.set_policy(0.0, 0.0))
    actions = np.array(run.actions[0])[-samples:]
    return np.array([compute_log2_spread(actions)])


def _run_with_saturated_policy(make_agent: MakeContinuousAgent, inputs: Inputs) -> LoopRecord:
    agent = make_agent(Settings(noise=0.0, **select_inputs(inputs, "steps", "starts")))
    return agent.run_loop(on_start=lambda _: agent.set_policy(_SATURATED, _SATURATED))


def measure_random_steps_and_first_update(
    make_agent: MakeContinuousAgent, inputs: Inputs
) -> np.ndarray:
    """Measure the steps with random actions at the start, and those before the first update.

    The setting for the start of learning is ``starts``; the policy is at the upper bound, without
    noise. Observed, [2]: steps up to the last action below it; steps taken before the first update,
    the last one included.
    """
    run = _run_with_saturated_policy(make_agent, inputs)
    first, _ = run.updates[0]
    random = np.array(run.actions[0]) < 0.999
    return np.array([count_steps_to_last(random), first])


def measure_distinct_warmup_actions(make_agent: MakeContinuousAgent, inputs: Inputs) -> np.ndarray:
    """Measure how many of the random actions of the warm-up are distinct.

    As for the start of learning: the policy is at the upper bound, without noise, so that an action
    below it is a random one. Observed, [2]: 1.0 if there are random actions and else 0.0; the share
    of distinct ones among them.
    """
    actions = np.array(_run_with_saturated_policy(make_agent, inputs).actions[0])
    random = actions[actions < 0.999]
    if not len(random):
        return np.zeros(2)
    return np.array([1.0, len(np.unique(random)) / len(random)])


def measure_inverse_clipped_norm(make_agent: MakeContinuousAgent, inputs: Inputs) -> np.ndarray:
    """Measure the norm to which huge gradients of the Q network are clipped, if they are.

    The framework's own loop; the Q network outputs ``value`` everywhere, so that the norm of its
    gradients is beyond 100. Observed, [1]: one over the norm of all gradients together at the
    first step of its optimiser; 0.0 for a norm beyond 100.
    """
    agent = make_agent(Settings(steps=8))
    run = agent.run_loop(on_start=lambda _: agent.set_values(inputs["value"], 0.0))
    norms = [
        norm for (_, norm), role in zip(run.updates, run.roles, strict=False) if role != "policy"
    ]
    return np.array([invert_norm_if_clipped(norms[0])])


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Callable[[MakeContinuousAgent, Inputs], np.ndarray]] = {
    "ddpg.networks": measure_numbers_of_q_networks_and_targets,
    "ddpg.target.action": measure_mean_and_spread_of_next_actions,
    "ddpg.target.terminal": measure_targets_at_episode_ends,
    "ddpg.loss.values": measure_critic_loss,
    "ddpg.loss.policy": measure_actor_loss,
    "ddpg.policy_delay": measure_policy_delay,
    "ddpg.target_update.share": measure_target_share,
    "ddpg.exploration.noise": measure_actions_with_exploration_noise,
    "ddpg.exploration.default": measure_default_exploration_noise,
    "ddpg.learning_starts": measure_random_steps_and_first_update,
    "ddpg.warmup.draw": measure_distinct_warmup_actions,
    "ddpg.gradient.clip": measure_inverse_clipped_norm,
}
