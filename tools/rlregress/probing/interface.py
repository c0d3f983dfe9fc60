"""Types that adapters are called with and return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # not at run time: what names a framework, such as a shell's completion, starts without it
    import numpy as np

#: observations [n, *observation_shape] -> deterministic actions [n, *action_shape], in the units
#: of the environment; any observation normalisation is applied inside, with frozen statistics.
Policy = Callable[["np.ndarray"], "np.ndarray"]

#: Called with (environment steps done, policy at that moment).
Checkpoint = Callable[[int, Policy], None]

#: Called with (environment steps done, what the training consists of, to be written if it is time).
Keep = Callable[[int, Any], None]

#: (make_env, seed) -> what is recorded beside a short training, by name: numbers, tensors, words,
#: trees of them, or a ``framework_errors.ExpectedError``. ``make_env`` has the options of
#: ``toys.MixedEndsEnv``; ``Unsupported``: this version lacks an algorithm or an option.
TraceTraining = Callable[[Callable[..., Any], int], "Mapping[str, Any] | None"]

#: what a probe receives: name -> float64 array, float, int or str.
Inputs = Mapping[str, Any]

#: inputs -> observed quantity: numbers in any form that NumPy makes a float64 vector of; the
#: detail's catalogue entry defines their meaning.
Probe = Callable[[Inputs], Any]


class Unprobed(Exception):
    """The framework's code could not be probed: not a statement about its behaviour.

    Attributes:
        known: the code is of a version that the suite was written for, so that this is a failure;
            otherwise it is a version that nobody has looked at yet.
    """

    def __init__(self, message: str, is_known: bool) -> None:
        super().__init__(message)
        self.known = is_known


class Unsupported(Exception):
    """The framework, in this version, lacks an option or algorithm of a training."""


class PendingCheckpoints:
    """The checkpoints that a training has not passed yet.

    Args:
        checkpoints: environment steps, ascending.
        done: environment steps that were trained before; checkpoints up to there are passed.
    """

    def __init__(self, checkpoints: Sequence[int], done: int = -1) -> None:
        self._pending = [checkpoint for checkpoint in checkpoints if checkpoint > done]

    def drop_passed(self, steps: int) -> bool:
        """Drop the checkpoints up to ``steps``; return whether there were any."""
        passed = bool(self._pending) and steps >= self._pending[0]
        while self._pending and steps >= self._pending[0]:
            self._pending.pop(0)
        return passed


@dataclass(frozen=True)
class TrainingRequest:
    """One training, as an adapter receives it.

    Attributes:
        algorithm: one of the framework's ``algorithms``.
        make_env: makes a fresh gymnasium environment, time limit included, nothing else around it.
        hyperparameters: in the names of ``baselines/hyperparameters`` (Tables 6 to 8 of the
            thesis); the adapter maps them to its framework's own. Of DQN also
            ``exploration_final``, the last epsilon, ``exploration_steps``, in which it falls from 1
            to that, and ``target_update_interval``, both in environment steps.
        total_steps: environment steps (transitions over all environments).
        seed: seeds networks, exploration, sampling and the training environment.
        checkpoints: ascending environment steps at which ``on_checkpoint`` is to be called: at the
            first point at or after each of them where the framework's loop can be observed.
        on_checkpoint: the adapter ensures that a call does not disturb the training.
        keep: called at every whole step of the framework's loop, by an adapter that can keep a
            training (``Train.explain_why_not_resumable``): its argument, the request and the global
            random generators then hold the whole state of the training.
        kept: what ``keep`` was called with, in another process: the training goes on from there,
            and draws no random number before it does.
        prepare: called with the ``rlregress.probing.heads.Heads`` of the agent when it has been
            made, before its first step; not of a training that is kept.
    """

    algorithm: str
    make_env: Callable[[], Any]
    hyperparameters: Mapping[str, Any]
    total_steps: int
    seed: int
    checkpoints: Sequence[int] = ()
    on_checkpoint: Checkpoint = field(default=lambda steps, policy: None)
    keep: Keep = field(default=lambda steps, training: None)
    kept: Any = None
    prepare: Callable[[Any], None] | None = None


@dataclass(frozen=True)
class TrainingVariant:
    """Options of a training beyond the framework's simplest use; the defaults change nothing.

    Attributes:
        n_steps: rewards in the target of an algorithm with a replay buffer.
        statistics: mean and standard deviation [*observation_shape], both or neither: the
            framework's own normalisation of observations is around the environments, with these
            statistics, frozen.
        running: the same, with the statistics of what was observed so far.
        autoreset: the environments are side by side in gymnasium's vectorised environment, which
            resets them so: "next_step", "same_step" or "disabled"; empty: in the framework's own.
    """

    n_steps: int = 1
    statistics: tuple[np.ndarray, np.ndarray] | None = None
    running: bool = False
    autoreset: str = ""

    def raise_if_unsupported(self, framework: str, *supported: str) -> None:
        """Raise Unsupported if an attribute has a value that the framework does not support.

        Args:
            supported: names of the attributes that it supports.
        """
        for spec in fields(self):
            if spec.name not in supported and getattr(self, spec.name) != spec.default:
                raise Unsupported(f"{framework} does not support this value of {spec.name}")


@dataclass(frozen=True)
class Trained:
    """The result of a training: its policy, critic, parameters and diagnostics.

    Attributes:
        policy: the deterministic policy after the last update.
        value: observations [n, *observation_shape] -> what the agent's critic says of them [n]:
            V(s) of an actor-critic with a state-value network, the minimum over the Q networks of
            Q(s, policy(s)) of one with action-value networks.
        parameters: every trained and target parameter by name.
        steps: environment steps really done.
        diagnostics: what the framework itself logs or returns at its updates, in their order:
            ``entropy`` of the policy in nats, ``kl``, the approximate divergence of PPO's policy
            from that of the rollout, ``temperature`` of SAC. What it does not expose is left out.
        drawn: (observations [n, *observation_shape], standard normal numbers [n, dimensions]) ->
            (actions [n, dimensions], their log-probabilities [n] or None) as tensors, as an update
            gets them of the policy whose Gaussian draws these numbers, in the units in which the
            log-probability is one. Actions of PPO are given to it, so that no gradient goes through
            them; those of a deterministic policy have no log-probability.
    """

    policy: Policy
    value: Callable[[np.ndarray], np.ndarray]
    parameters: Mapping[str, np.ndarray]
    steps: int
    diagnostics: Mapping[str, Sequence[float]] = field(default_factory=dict)
    drawn: Callable[[np.ndarray, np.ndarray], tuple[Any, Any]] | None = None


@dataclass(frozen=True)
class Transitions:
    """Rows that an algorithm stored while it trained, before any sampling.

    The axes are [segments, steps, environments, ...]. A segment is what is collected between two
    rounds of updates. A field is None where the framework stores no such thing.

    Attributes:
        observations: float [.., *observation_shape].
        next_observations: float [.., *observation_shape]; what the step led to, as stored with it.
        rewards: float [..], as stored.
        done: bool [..], the step ended an episode, for whatever reason.
        terminated: bool [..], the step ended an episode such that no value is to follow.
    """

    observations: np.ndarray
    next_observations: np.ndarray | None
    rewards: np.ndarray
    done: np.ndarray | None
    terminated: np.ndarray | None

    def join_short_segments(self, steps: int) -> Transitions:
        """Return the transitions in segments of ``steps`` steps; shorter segments are joined."""

        def join_rows(rows: Any) -> Any:
            if rows is None or rows.shape[1] >= steps:
                return rows
            return rows.reshape(-1, steps, *rows.shape[2:])

        return Transitions(
            **{field.name: join_rows(getattr(self, field.name)) for field in fields(self)}
        )


@dataclass(frozen=True)
class Minibatch:
    """The rows of one minibatch, as an update of the networks read them.

    Row for row, in the order of reading. A field is None where the framework hands the update no
    such thing.

    Attributes:
        observations: float [rows, *observation_shape].
        actions: float [rows, *action_shape], as stored; the number of one of several, [rows, 1].
        next_observations: float [rows, *observation_shape].
        rewards: float [rows].
        done: bool [rows], the step ended an episode, for whatever reason.
        terminated: bool [rows], the step ended an episode such that no value is to follow.
        log_probs: float [rows], of the actions when they were taken.
        policy_log_probs: float [rows], of the actions by the policy that is about to be updated.
        values: float [rows], of the observations when the actions were taken.
        advantages: float [rows], before a minibatch is normalised by itself.
        returns: float [rows], what the values are regressed towards.
        targets: float [rows], what action values are regressed towards.
        discounts: float [rows], of the value of the next observation, where it is not the discount.
    """

    observations: np.ndarray
    actions: np.ndarray
    next_observations: np.ndarray | None = None
    rewards: np.ndarray | None = None
    done: np.ndarray | None = None
    terminated: np.ndarray | None = None
    log_probs: np.ndarray | None = None
    policy_log_probs: np.ndarray | None = None
    values: np.ndarray | None = None
    advantages: np.ndarray | None = None
    returns: np.ndarray | None = None
    targets: np.ndarray | None = None
    discounts: np.ndarray | None = None


@dataclass(frozen=True)
class RunningStatistics:
    """Statistics of the framework's own normalisation of observations, at three moments.

    Each is float [sets, 2, dimensions]: mean and variance, once for each set of statistics that the
    environments have; environments that share theirs have one set.

    Attributes:
        trained: at the end of a training.
        evaluated: those that an evaluation of the trained agent normalises with, at its end, if it
            begins with those of the training.
        restored: after what is saved with the agent is loaded in new environments; None if nothing
            normalises there.
    """

    trained: np.ndarray
    evaluated: np.ndarray
    restored: np.ndarray | None


#: nothing else is around a training
PLAIN = TrainingVariant()
