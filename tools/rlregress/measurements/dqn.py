"""The details of deep Q-networks, each measured on any agent that lets itself be driven.

The text of a measurement is what the catalogue says of the vector that it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rlregress.measurements.driven_agents import (
    DiscreteAgent,
    LoopRecord,
    MakeDiscreteAgent,
    Settings,
)
from rlregress.measurements.loss_minimum import inverse, lowest, mean_distance

Inputs = Mapping[str, Any]

#: so many actions that a random one is hardly ever the greedy one
_MANY = 1000


def _target(agent: DiscreteAgent, online: Sequence[float], target: Sequence[float]) -> float:
    """Return the target of Q(s, 0)."""
    return lowest(lambda number: agent.loss([number, *online[1:]], target))


def _greedy() -> list[float]:
    """Return values of many actions of which the last one is the best."""
    return [0.0] * (_MANY - 1) + [1.0]


def _act_greedily(agent: DiscreteAgent) -> LoopRecord:
    """Run the agent where the last action is the best one in every state."""
    values = _greedy()
    return agent.run(begin=lambda _: agent.set_values(values, values))


def _random(actions: Sequence[float]) -> np.ndarray:
    """Return for each action whether it differs from the greedy one, bool [steps]."""
    return np.asarray(actions) != _MANY - 1


def target_double(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Measure which network chooses the next action, and which one values it.

    Three actions; in every state the Q network outputs ``online`` and the target network
    ``target``. An update on steps inside an episode with action 0 and reward ``reward``. The target
    y is where the loss is lowest as a function of the Q network's value of action 0: the least of a
    parabola through the losses of the values -0.25, 0 and 0.25, so that |y| has to stay below 0.75,
    and the first of ``online`` below the others. Observed, [1]: y.
    """
    agent = make(Settings(reward=float(i["reward"]), discount=float(i["discount"])))
    return np.array([_target(agent, i["online"], i["target"])])


def target_ties(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Return the next value where several actions are the best.

    The target network outputs ``target``, with several best values, in every state; the Q network
    prefers the first of them. Reward ``reward``; the target y is found as in the detail on double
    Q-learning, |y| below 0.75. Observed, [1]: y.
    """
    agent = make(Settings(reward=float(i["reward"]), discount=float(i["discount"])))
    online = -1.0 - np.arange(len(i["target"]))
    online[int(np.argmax(i["target"]))] = 1.0
    return np.array([_target(agent, online.tolist(), i["target"])])


def target_terminal(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Measure which ends of an episode stop the bootstrap.

    Three cases k: a step inside an episode, a terminated one, a truncated one (flags
    terminated[k], truncated[k]). The flags enter where the framework receives them when it stores a
    transition. The target network outputs ``target_q`` for its best action, less for the others;
    reward ``reward``. The target y is found as in the detail on double Q-learning, |y| below 0.75.
    Observed, [3]: y of the cases.
    """
    targets = []
    for terminated, truncated in zip(i["terminated"], i["truncated"], strict=False):
        agent = make(
            Settings(
                reward=float(i["reward"]),
                terminated=float(terminated),
                truncated=float(truncated),
                discount=float(i["discount"]),
            )
        )
        best = float(i["target_q"])
        targets.append(_target(agent, [0.0, 0.5, 0.4], [best - 1.0, best, best - 1.0]))
    return np.array(targets)


def loss_kind(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Measure the distance between prediction and target.

    An update on ``batch_size`` equal transitions that terminate, with reward ``reward``, which is
    the target then; the Q network outputs reward + errors[k] for their action. Observed, [3]: the
    loss that is differentiated, of each error.
    """
    settings = Settings(reward=float(i["reward"]), terminated=1.0, batch_size=int(i["batch_size"]))
    agent = make(settings)
    values = [float(i["reward"]) + error for error in i["errors"]]
    return np.array([agent.loss([value, 0.0, 0.0], [0.0] * 3) for value in values])


def gradient_clip(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Return the norm of huge gradients at the optimiser's step.

    The framework's own loop; every parameter of the Q network is ``weight``, so that the gradients
    of whatever loss have a norm beyond 100. Observed, [1]: one over the norm of all gradients
    together that the optimiser finds at its first step; 0.0 for a norm beyond 100.
    """
    agent = make(Settings(steps=8))
    run = agent.run(begin=lambda _: agent.fill(float(i["weight"]), 0.0))
    _, norm = run.updates[0]
    return np.array([inverse(norm)])


def _record_target_moves(
    make: MakeDiscreteAgent, settings: Settings
) -> tuple[list[tuple[int, float]], int]:
    """Return steps and shares of each move of the target network, and the number of environments.

    Every parameter of the Q network is 1 and of the target network 0, and so again after each move.
    """
    agent = make(settings)
    moves: list[tuple[int, float]] = []

    def note_move(steps: int) -> None:
        share = agent.target_parameter()
        if share != 0.0:
            moves.append((steps, share))
            agent.fill(1.0, 0.0)

    run = agent.run(begin=lambda _: agent.fill(1.0, 0.0), between=note_move)
    return moves, sum(1 for actions in run.actions if actions)


def target_update_interval(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Measure the unit in which the interval between two updates of the target network is counted.

    The framework's own loop with one environment, an update by its own setting every ``every``
    steps, its setting for the target network's interval at ``interval``, a run of ``steps`` steps.
    Observed, [1]: environment steps from one change of the target network to the next, 0.0 if there
    are not two.
    """
    moves, _ = _record_target_moves(
        make,
        Settings(steps=int(i["steps"]), every=int(i["every"]), target_every=int(i["interval"])),
    )
    return np.array([mean_distance([steps for steps, _ in moves])])


def target_update_environments(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Measure the same interval with several environments.

    As for one environment, with ``environments`` of them (one, where a framework has no setting for
    more). Observed, [2]: environments that were stepped; transitions, over all of them, from one
    change of the target network to the next, 0.0 if there are not two.
    """
    moves, environments = _record_target_moves(
        make,
        Settings(
            environments=int(i["environments"]),
            steps=int(i["steps"]),
            every=int(i["every"]),
            target_every=int(i["interval"]),
        ),
    )
    return np.array([environments, mean_distance([steps for steps, _ in moves])])


def target_update_share(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Measure whether the target is copied as a whole, or moved by a fraction.

    Every parameter of the Q network is 1, every one of the target network 0; the interval is set to
    ``interval``, the fraction is not set. Observed, [1]: a parameter of the target network after
    its first update.
    """
    moves, _ = _record_target_moves(
        make, Settings(steps=int(i["steps"]), target_every=int(i["interval"]))
    )
    return np.array([moves[0][1] if moves else 0.0])


def hard_update_period(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Return the environment steps between the first copies of the Q network, [2]."""
    moves, _ = _record_target_moves(
        make, Settings(steps=int(i["steps"]), target_every=int(i["interval"]))
    )
    copies = [steps for steps, share in moves if share == 1.0]
    return np.diff(copies[:3]).astype(np.float64)


def epsilon_schedule(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Measure the probability of a random action at both ends and on the way.

    Epsilon is set to fall from ``first`` to ``last`` over ``falls`` of ``steps`` environment steps.
    The greedy action is the last of a thousand; each uniform draw that decides whether an action is
    random is the number draws[k], so that an action is random as long as epsilon is above it.
    Observed, [5]: of a run for each draw, the number of steps with a random action.
    """
    shares = []
    for draw in i["draws"]:
        agent = make(
            Settings(
                actions=_MANY,
                steps=int(i["steps"]),
                epsilon=(float(i["first"]), float(i["last"]), int(i["falls"])),
                draw=float(draw),
            )
        )
        run = _act_greedily(agent)
        shares.append(np.sum(_random(run.actions[0])))
    return np.array(shares, dtype=np.float64)


def epsilon_deterministic(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Measure exploration when a user asks for an action without chance.

    Epsilon is ``epsilon`` throughout and every draw that decides is 0.0, so that whoever looks at
    epsilon acts at random. Observed, [2]: 1.0 if the action is random that a user gets in training;
    1.0 if the one is that a user asks for without chance, or by the framework's own evaluation,
    -1.0 where there is neither.
    """
    epsilon = float(i["epsilon"])
    shares = []
    for deterministic in (False, True):
        agent = make(Settings(actions=_MANY, epsilon=(epsilon, epsilon, 1), draw=0.0, steps=4))
        action = agent.act(_greedy(), deterministic)
        shares.append(-1.0 if action is None else float(_random([action])[0]))
    return np.array(shares)


def learning_starts(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Measure until when actions are random, and from when there are updates.

    One environment; the setting for the start of learning is ``starts``, epsilon is 0 throughout.
    The greedy action is the last of a thousand. Observed, [2]: steps up to the last random action;
    steps taken before the first update, the last one included.
    """
    agent = make(Settings(actions=_MANY, steps=int(i["steps"]), starts=int(i["starts"])))
    run = _act_greedily(agent)
    random = np.flatnonzero(_random(run.actions[0]))
    first, _ = run.updates[0]
    return np.array([random[-1] + 1 if len(random) else 0, first], dtype=np.float64)


def train_frequency(make: MakeDiscreteAgent, i: Inputs) -> np.ndarray:
    """Measure the unit in which the steps between two updates are counted.

    The framework's own setting for steps between two updates is ``every``; once with one
    environment, once with ``environments`` (one, where a framework has no setting for more).
    Observed, [3]: transitions from one update to the next with one environment; environments that
    were stepped; transitions, over all of them, from one update to the next.
    """
    updates = []
    environments = 1
    for number in (1, int(i["environments"])):
        agent = make(Settings(environments=number, steps=int(i["steps"]), every=int(i["every"])))
        run = agent.run()
        updates.append(mean_distance([steps for steps, _ in run.updates]))
        environments = sum(1 for actions in run.actions if len(actions))
    return np.array([updates[0], environments, updates[1]], dtype=np.float64)


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Callable[[MakeDiscreteAgent, Inputs], np.ndarray]] = {
    "dqn.target.double": target_double,
    "dqn.target.ties": target_ties,
    "dqn.target.terminal": target_terminal,
    "dqn.loss.kind": loss_kind,
    "dqn.gradient.clip": gradient_clip,
    "dqn.target_update.interval": target_update_interval,
    "dqn.target_update.environments": target_update_environments,
    "dqn.target_update.share": target_update_share,
    "dqn.epsilon.schedule": epsilon_schedule,
    "dqn.epsilon.deterministic": epsilon_deterministic,
    "dqn.learning_starts": learning_starts,
    "dqn.train_frequency": train_frequency,
}
