"""The details of deep Q-networks, each measured on any agent with a driver.

The text of a measurement is what the catalogue says of the vector that it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rlregress.measurements.driven_agents import DiscreteAgent, MakeDiscreteAgent, Settings
from rlregress.measurements.loop_journal import Journal
from rlregress.measurements.loss_minimum import (
    compute_mean_distance,
    count_steps_to_last,
    find_argmin_of_loss,
    invert_norm_if_clipped,
)
from rlregress.measurements.named_settings import Inputs, select_inputs

#: actions, so that a random one is hardly ever the greedy one: in a run of all draws once in 180
_MANY = 5000


def _measure_target(
    agent: DiscreteAgent, online: Sequence[float], target: Sequence[float]
) -> float:
    """Return the target of Q(s, 0): the value at which the loss is lowest."""
    return find_argmin_of_loss(lambda number: agent.compute_loss([number, *online[1:]], target))


def _make_values_with_last_best() -> list[float]:
    """Return values of many actions of which the last one is the best."""
    return [0.0] * (_MANY - 1) + [1.0]


def _run_with_last_action_best(agent: DiscreteAgent) -> Journal:
    """Run the agent where the last action is the best one in every state."""
    values = _make_values_with_last_best()
    return agent.run_loop(on_start=lambda _: agent.set_values(values, values))


def _flag_random_actions(actions: Sequence[np.ndarray]) -> np.ndarray:
    """Return for each action whether it differs from the greedy one, bool [steps]."""
    return np.ravel(actions) != _MANY - 1


def measure_double_q_target(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Measure which network chooses the next action, and which one values it.

    Three actions; in every state the Q network outputs ``online`` and the target network
    ``target``. An update on steps inside an episode with action 0 and reward ``reward``. The target
    y is where the loss is lowest as a function of the Q network's value of action 0: the least of a
    parabola through the losses of the values -0.25, 0 and 0.25, so that |y| has to stay below 0.75,
    and the first of ``online`` below the others. Observed, [1]: y.
    """
    agent = make_agent(Settings(**select_inputs(inputs, "reward", "discount")))
    return np.array([_measure_target(agent, inputs["online"], inputs["target"])])


def measure_target_of_tied_actions(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Measure the target where several next actions share the best value.

    The target network outputs ``target``, with several best values, in every state; the Q network
    prefers the first of them. Reward ``reward``; the target y is found as in the detail on double
    Q-learning, |y| below 0.75. Observed, [1]: y.
    """
    agent = make_agent(Settings(**select_inputs(inputs, "reward", "discount")))
    online = -1.0 - np.arange(len(inputs["target"]))
    online[int(np.argmax(inputs["target"]))] = 1.0
    return np.array([_measure_target(agent, online.tolist(), inputs["target"])])


def measure_targets_at_episode_ends(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Measure the target of a step inside an episode, a terminated and a truncated one.

    Three cases k: a step inside an episode, a terminated one, a truncated one (flags
    terminated[k], truncated[k]). The flags enter where the framework receives them when it stores a
    transition. The target network outputs ``target_q`` for its best action, less for the others;
    reward ``reward``. The target y is found as in the detail on double Q-learning, |y| below 0.75.
    Observed, [3]: y of the cases.
    """
    best = inputs["target_q"]
    values = [0.0, 0.5, 0.4], [best - 1.0, best, best - 1.0]
    options = select_inputs(inputs, "reward", "discount")
    flags = zip(inputs["terminated"], inputs["truncated"], strict=False)
    settings = [Settings(terminated=end, truncated=cut, **options) for end, cut in flags]
    return np.array([_measure_target(make_agent(own), *values) for own in settings])


def measure_loss_kind(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Measure the loss for several errors, which shows its distance function.

    An update on ``batch_size`` equal transitions that terminate, with reward ``reward``, which is
    the target then; the Q network outputs reward + errors[k] for their action. Observed, [3]: the
    loss that is differentiated, of each error.
    """
    agent = make_agent(Settings(terminated=1.0, **select_inputs(inputs, "reward", "batch_size")))
    values = [inputs["reward"] + error for error in inputs["errors"]]
    return np.array([agent.compute_loss([value, 0.0, 0.0], [0.0] * 3) for value in values])


def measure_inverse_clipped_norm(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Measure the norm to which huge gradients are clipped, if they are.

    The framework's own loop; every parameter of the Q network is ``weight``, so that the gradients
    of whatever loss have a norm beyond 100. Observed, [1]: one over the norm of all gradients
    together that the optimiser finds at its first step; 0.0 for a norm beyond 100.
    """
    agent = make_agent(Settings(steps=8))
    run = agent.run_loop(on_start=lambda _: agent.fill_parameters(inputs["weight"], 0.0))
    return np.array([invert_norm_if_clipped(run.gradient_norms["critic"][0])])


def _record_target_moves(
    make_agent: MakeDiscreteAgent, inputs: Inputs
) -> tuple[list[tuple[int, float]], int]:
    """Return (environment steps, share moved) of each target update, and number of environments.

    Every parameter of the Q network is 1 and of the target network 0, and so again after each move.
    """
    agent = make_agent(
        Settings(
            target_every=inputs["interval"],
            **select_inputs(inputs, "environments", "steps", "every"),
        )
    )
    moves: list[tuple[int, float]] = []

    def note_move_of_target(steps: int) -> None:
        share = agent.read_target_parameter()
        if share != 0.0:
            moves.append((steps, share))
            agent.fill_parameters(1.0, 0.0)

    run = agent.run_loop(
        on_start=lambda _: agent.fill_parameters(1.0, 0.0), on_step=note_move_of_target
    )
    return moves, run.environments


def measure_target_update_interval(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Measure the environment steps between two updates of the target network.

    The framework's own loop with one environment, an update by its own setting every ``every``
    steps, its setting for the target network's interval at ``interval``, a run of ``steps`` steps.
    Observed, [1]: environment steps from one change of the target network to the next, 0.0 if there
    are not two.
    """
    moves, _ = _record_target_moves(make_agent, inputs)
    return np.array([compute_mean_distance([steps for steps, _ in moves])])


def measure_target_update_interval_of_several_environments(
    make_agent: MakeDiscreteAgent, inputs: Inputs
) -> np.ndarray:
    """Measure the transitions between two updates of the target network, over all environments.

    As for one environment, with ``environments`` of them (one, where a framework has no setting for
    more). Observed, [2]: environments that were stepped; transitions, over all of them, from one
    change of the target network to the next, 0.0 if there are not two.
    """
    moves, environments = _record_target_moves(make_agent, inputs)
    return np.array([environments, compute_mean_distance([steps for steps, _ in moves])])


def measure_target_update_share(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Measure whether the target is copied as a whole, or moved by a fraction.

    Every parameter of the Q network is 1, every one of the target network 0; the interval is set to
    ``interval``, the fraction is not set. Observed, [1]: a parameter of the target network after
    its first update.
    """
    moves, _ = _record_target_moves(make_agent, inputs)
    return np.array([moves[0][1] if moves else 0.0])


def measure_steps_between_hard_updates(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Return the environment steps between the first three copies to the target network, [2]."""
    moves, _ = _record_target_moves(make_agent, inputs)
    copies = [steps for steps, share in moves if share == 1.0]
    return np.diff(copies[:3])


def count_random_actions_per_draw(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Count the random actions of runs with different draws, which shows how epsilon falls.

    Epsilon is set to fall from ``first`` to ``last`` over ``falls`` of ``steps`` environment steps.
    The greedy action is the last of five thousand; each uniform draw that decides whether an action
    is random is the number draws[k], so that an action is random as long as epsilon is above it.
    Observed, [5]: of a run for each draw, the number of steps with a random action.
    """
    shares = []
    for draw in inputs["draws"]:
        agent = make_agent(
            Settings(
                actions=_MANY,
                steps=inputs["steps"],
                epsilon=(inputs["first"], inputs["last"], inputs["falls"]),
                draw=float(draw),
            )
        )
        run = _run_with_last_action_best(agent)
        shares.append(np.sum(_flag_random_actions(run.actions[0])))
    return np.array(shares)


def measure_deterministic_exploration(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Measure whether actions are random: in training, and where a deterministic one is requested.

    Epsilon is ``epsilon`` throughout and every draw that decides is 0.0, so that every choice that
    uses epsilon is random. Observed, [2]: 1.0 if the action that a user gets in training is random;
    1.0 if the action without chance, or that of the framework's own evaluation, is random, -1.0
    where there is neither.
    """
    epsilon = inputs["epsilon"]
    shares = []
    for deterministic in (False, True):
        agent = make_agent(
            Settings(actions=_MANY, epsilon=(epsilon, epsilon, 1), draw=0.0, steps=4)
        )
        action = agent.choose_action(_make_values_with_last_best(), deterministic)
        shares.append(-1.0 if action is None else float(action != _MANY - 1))
    return np.array(shares)


def measure_random_steps_and_first_update(
    make_agent: MakeDiscreteAgent, inputs: Inputs
) -> np.ndarray:
    """Measure until when actions are random, and from when there are updates.

    One environment; the setting for the start of learning is ``starts``, epsilon is 0 throughout.
    The greedy action is the last of five thousand. Observed, [2]: steps up to the last random
    action; steps taken before the first update, the last one included.
    """
    agent = make_agent(Settings(actions=_MANY, **select_inputs(inputs, "steps", "starts")))
    run = _run_with_last_action_best(agent)
    random, (_, first) = _flag_random_actions(run.actions[0]), run.updates[0]
    return np.array([count_steps_to_last(random), first])


def measure_train_frequency(make_agent: MakeDiscreteAgent, inputs: Inputs) -> np.ndarray:
    """Measure the transitions between two updates, with one and with several environments.

    The framework's own setting for steps between two updates is ``every``; once with one
    environment, once with ``environments`` (one, where a framework has no setting for more).
    Observed, [3]: transitions from one update to the next with one environment; environments that
    were stepped; transitions, over all of them, from one update to the next.
    """
    runs = [
        make_agent(
            Settings(environments=number, **select_inputs(inputs, "steps", "every"))
        ).run_loop()
        for number in (1, inputs["environments"])
    ]
    one, several = (compute_mean_distance([steps for _, steps in run.updates]) for run in runs)
    return np.array([one, runs[1].environments, several])


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Callable[[MakeDiscreteAgent, Inputs], np.ndarray]] = {
    "dqn.target.double": measure_double_q_target,
    "dqn.target.ties": measure_target_of_tied_actions,
    "dqn.target.terminal": measure_targets_at_episode_ends,
    "dqn.loss.kind": measure_loss_kind,
    "dqn.gradient.clip": measure_inverse_clipped_norm,
    "dqn.target_update.interval": measure_target_update_interval,
    "dqn.target_update.environments": measure_target_update_interval_of_several_environments,
    "dqn.target_update.share": measure_target_update_share,
    "dqn.epsilon.schedule": count_random_actions_per_draw,
    "dqn.epsilon.deterministic": measure_deterministic_exploration,
    "dqn.learning_starts": measure_random_steps_and_first_update,
    "dqn.train_frequency": measure_train_frequency,
}
