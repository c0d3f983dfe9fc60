"""What an adapter is: the only place that knows a framework's API.

An adapter answers two kinds of request. A *probe* feeds controlled inputs to the framework's
real code and returns what came out. A *training* runs the framework's own training loop. An
adapter knows no formulas and no expectations; it meets them in the tests.

Adapters run inside foreign and old environments: standard library, NumPy, torch, gymnasium and
the framework only, Python 3.10 syntax.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
)

from rlregress.errors import UserError
from rlregress.frameworks import families, installed_metadata
from rlregress.missing_packages import MissingPackage
from rlregress.model.extra_packages import not_installed

if TYPE_CHECKING:
    # not at run time: what names a framework, such as a shell's completion, starts without it
    import numpy as np

    from rlregress.frameworks.file_kinds import Saving

#: observations [n, *observation_shape] -> deterministic actions [n, *action_shape], in the units
#: of the environment; any observation normalisation is applied inside, with frozen statistics.
Policy = Callable[["np.ndarray"], "np.ndarray"]

#: Called with (environment steps done, policy at that moment).
Checkpoint = Callable[[int, Policy], None]

#: Called with (environment steps done, what the training consists of, to be written if it is time).
Keep = Callable[[int, Any], None]

#: (make_env, seed) -> what is recorded beside a short training, by name: numbers, tensors, words,
#: trees of them, or a ``framework_errors.ExpectedError``. ``make_env`` has the options of
#: ``toys.Ends``; ``Unsupported``: this version lacks an algorithm or an option.
TraceTraining = Callable[[Callable[..., Any], int], "Mapping[str, Any] | None"]

#: what a probe receives: name -> float64 array, float, int or str.
Inputs = Mapping[str, Any]

#: inputs -> observed quantity, a float array whose meaning the detail's catalogue entry defines.
Probe = Callable[[Inputs], "np.ndarray"]


def absences(families: Sequence[Any]) -> Mapping[str, str]:
    """What modules of probes state in ``ABSENT``: detail id -> what the framework does not have."""
    return {
        detail: reason
        for family in families
        for detail, reason in getattr(family, "ABSENT", {}).items()
    }


def refuse(who: str, reasons: Sequence[str]) -> None:
    """UserError that says what of a hyperparameter set cannot be set, if there are reasons.

    Args:
        who: what was to be set, such as the class or the script of an algorithm.
        reasons: one clause for each hyperparameter, or each group of them.
    """
    if reasons:
        raise UserError(
            f"{who} cannot be set to these hyperparameters: {'; '.join(reasons)}; expected another "
            "hyperparameter set, or another framework or algorithm"
        )


def without_fixed(
    fixed: Mapping[tuple[str, str], Any], algorithm: str, hyperparameters: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The hyperparameters that the framework does not fix, and a reason for each that differs.

    Args:
        fixed: (algorithm, hyperparameter) -> the value that it has, and that no argument sets.

    Returns:
        What is left to be set, and one clause for ``refuse`` for each fixed hyperparameter that
        was asked to be something else.
    """
    ours = {
        name: value
        for (other_algorithm, name), value in fixed.items()
        if other_algorithm == algorithm
    }
    reasons = [
        f"{name} is {value} and no argument sets it, found {hyperparameters[name]}"
        for name, value in ours.items()
        if hyperparameters.get(name, value) != value
    ]
    return {name: value for name, value in hyperparameters.items() if name not in ours}, reasons


def with_exploration_fraction(
    hyperparameters: Mapping[str, Any], total_steps: int
) -> dict[str, Any]:
    """The steps in which exploration falls as a fraction of all steps, which some are told."""
    given = dict(hyperparameters)
    if "exploration_steps" in given:
        given["exploration_fraction"] = given.pop("exploration_steps") / total_steps
    return given


def _folders(modules: Sequence[str]) -> list[str]:
    specs = [importlib.util.find_spec(module) for module in modules]
    return [f for spec in specs if spec for f in spec.submodule_search_locations or ()]


class Unprobed(Exception):
    """The framework's code could not be probed: not a statement about its behaviour.

    Attributes:
        known: the code is of a version that the suite was written for, so that not being able to
            ask it is a failure; otherwise it is code that nobody has looked at yet.
    """

    def __init__(self, message: str, known: bool) -> None:
        super().__init__(message)
        self.known = known


class Unsupported(Exception):
    """The framework, in this version, does not have what a training asks for; says what."""


class Passing:
    """The checkpoints that a training passes.

    Args:
        checkpoints: environment steps, ascending.
        done: those up to here were passed before.
    """

    def __init__(self, checkpoints: Sequence[int], done: int = -1) -> None:
        self._pending = [checkpoint for checkpoint in checkpoints if checkpoint > done]

    def at(self, steps: int) -> bool:
        """Whether one or more were passed since it was last asked."""
        passed = bool(self._pending) and steps >= self._pending[0]
        while self._pending and steps >= self._pending[0]:
            self._pending.pop(0)
        return passed


@dataclass(frozen=True)
class TrainingRequest:
    """One training, as an adapter receives it.

    Attributes:
        algorithm: one of the adapter's ``algorithms``.
        make_env: makes a fresh gymnasium environment, time limit included, nothing else around it.
        hyperparameters: in the names of ``baselines/hyperparameters`` (Tables 6 to 8 of the
            thesis); the adapter maps them to its framework's own. Of DQN also
            ``exploration_final``, the last epsilon, ``exploration_steps``, in which it falls from 1
            to that, and ``target_update_interval``, both in environment steps.
        total_steps: environment steps (transitions over all environments).
        seed: seeds networks, exploration, sampling and the training environment.
        checkpoints: ascending environment steps at which ``on_checkpoint`` is to be called: at the
            first point at or after each of them where the framework's loop can be observed.
        on_checkpoint: must not be allowed to disturb the training.
        keep: to be called at every whole step of the framework's loop, by an adapter that can keep
            a training (``Adapter.no_resume_reason``): when nothing of the training is anywhere but
            in the objects that it is called with, the request, and the global random generators.
        kept: what ``keep`` was called with, in another process: the training goes on from there,
            and draws no random number before it does.
        prepare: called with the ``rlregress.frameworks.heads.Heads`` of the agent when it has been
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
    """What is around a training, where it is not the framework's plainest way.

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

    def only(self, framework: str, *supported: str) -> None:
        """Raise Unsupported if anything else is asked for than what a framework offers."""
        for spec in fields(self):
            if spec.name not in supported and getattr(self, spec.name) != spec.default:
                raise Unsupported(f"{framework} has no {spec.name} of this kind")


@dataclass(frozen=True)
class Trained:
    """A finished training.

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
    """What an algorithm stored while it trained, row by row, before any sampling.

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

    def in_rows_of(self, steps: int) -> Transitions:
        """Shorter segments, of a framework that updates more often, put together."""

        def joined(rows: Any) -> Any:
            if rows is None or rows.shape[1] >= steps:
                return rows
            return rows.reshape(-1, steps, *rows.shape[2:])

        return Transitions(
            **{field.name: joined(getattr(self, field.name)) for field in fields(self)}
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
    """What the framework's own normalisation of observations knows, at three moments.

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


class Adapter:
    """Base of all adapters.

    A subclass sets the attributes. Its framework is imported only when one of the methods needs
    it: each finds its work in a module beside the one that defines the subclass, ``probes``
    (``PROBES``), ``training`` (``train``), ``collection`` (``transitions``) or ``minibatches``
    (``minibatches``). A subclass that lives in a single file overrides the methods.
    """

    name: str = ""
    title: str = ""
    #: distributions whose versions identify what was tested; the first is the package under test.
    packages: tuple[str, ...] = ()
    #: importable packages whose code is under test.
    modules: tuple[str, ...] = ()
    #: importable packages of another framework that this one extends: its probes run their code.
    beneath: tuple[str, ...] = ()
    #: modules whose public classes and functions users call: their defaults are compared.
    public: tuple[str, ...] = ()
    #: algorithm names as in the catalogue: "ppo", "sac", "td3".
    algorithms: tuple[str, ...] = ()
    #: of these, the ones that are trained with discrete actions, too.
    discrete: tuple[str, ...] = ()
    #: algorithms beside these that no cell trains: their behaviour is asked, not their returns.
    behavior_only: tuple[str, ...] = ()
    #: of these, algorithm -> those of other names that have its details, too.
    related: Mapping[str, tuple[str, ...]] = {}
    #: the scopes a detail can be probed in: "library" (class defaults), "trainer", "script", or the
    #: name of a class where several classes have the detail, and "library" is another one of them.
    scopes: tuple[str, ...] = ("library",)
    #: methods whose return values a trace records, "module:Class.method", with all subclasses: what
    #: vector environments, normalisers and collectors hand out.
    recorded_methods: tuple[str, ...] = ()
    #: methods that are given what a training logs, named as the above: a name and a value, a table
    #: of them, or values by keyword.
    logged: tuple[str, ...] = ()
    #: class that steps environments, or samples, in other threads or processes -> what to use in
    #: its place to do the same in one.
    in_one_process: Mapping[str, str] = {}
    #: why a training that was stopped begins anew, one clause; empty: ``train`` keeps it, and goes
    #: on with it in another process as if nothing had been.
    no_resume_reason: str = "its adapter cannot keep a training"
    #: whether ``baselines/saved`` keeps files that its past releases wrote.
    stores_files: bool = False
    #: environment variable that names a checkout to ask instead of an installed package, if any.
    checkout: str = ""
    #: which of several copies of the framework this adapter asks; empty where there can be but one.
    label: str = ""

    @property
    def full_name(self) -> str:
        """``name``, or ``name@label`` where there can be several copies."""
        return f"{self.name}@{self.label}" if self.label else self.name

    def is_about(self, algorithm: str, words: Collection[str]) -> bool:
        """Whether one of some words, of a file or of a training's name, is of an algorithm.

        It is the algorithm's name, ends with it, as ``recurrentppo`` does, or is ``related``.
        """
        related = self.related.get(algorithm, ())
        if (algorithm,) == (*self.algorithms, *self.behavior_only):
            return bool(words)
        return any(word.endswith(algorithm) or word in related for word in words)

    def available(self) -> Sequence[str]:
        """Labels of the copies that are here; a framework that is a package has none."""
        return ()

    def at(self, label: str) -> Adapter:
        """The adapter of one copy; UserError if there is none of that label."""
        version = self.version()
        if label != version:
            raise UserError(
                f"{self.name}@{label} is not here: {self.packages[0]} {version} is installed"
            )
        return self

    def versions(self) -> Mapping[str, str]:
        """Versions of ``packages``; raises UserError that names the first missing one."""
        try:
            return installed_metadata.versions(self.packages)
        except importlib.metadata.PackageNotFoundError as error:
            missing = error.args[0]
            # of another party there is no extra
            own = type(self).__module__.startswith("rlregress.")
            raise MissingPackage(
                f"{self.title} cannot be tested: {not_installed(missing, self.name if own else '')}"
            ) from None

    def version(self) -> str:
        """The version of the package under test."""
        return self.versions()[self.packages[0]]

    def _sibling(self, name: str) -> Any:
        return families.load(f"{type(self).__module__}.{name}")

    def digests(self) -> Mapping[str, str]:
        """SHA-256 of code under test that is in no importable package, by name."""
        return {}

    def probes(self) -> Mapping[tuple[str, str], Probe]:
        """The probes of this adapter by (detail id, scope)."""
        return self._sibling("probes").PROBES

    def defaults(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """What is set if a user sets nothing: (algorithm, scope) -> hyperparameter -> value.

        Hyperparameters have the names of ``baselines/hyperparameters``. None: switched off. One
        that a scope does not have, or whose value is not in the installed package, is left out.
        A cell that cannot be read is a ``families.Unread``.
        """
        return self._sibling("defaults").values()

    def other_defaults(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """As ``defaults``, but all arguments in the framework's own names, and none documented.

        Two sides of an upgrade are compared by these, where an algorithm is among both.
        """
        return {}

    def applied(self, algorithm: str, hyperparameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Build an agent with a hyperparameter set and read back what it is set to.

        Raises:
            UserError: the framework cannot be set to it; names every hyperparameter that it cannot
                take. A hyperparameter is never dropped silently.
        """
        return self._sibling("defaults").applied(algorithm, hyperparameters)

    def parameter_names(self) -> Mapping[tuple[str, str], Mapping[str, str]]:
        """What the framework calls them: (algorithm, scope) -> hyperparameter -> own name."""
        return self._sibling("defaults").names()

    def expectations(self) -> Path | None:
        """File or folder of what is documented, for an adapter outside of this repository."""
        return None

    def locate(self, file: str) -> Path | None:
        """Where a source file of the framework is, given below the folder of its packages."""
        package, _, below = file.partition("/")
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):  # no package of that name can be
            return None
        for folder in (spec.submodule_search_locations if spec else None) or ():
            if (Path(folder) / below).is_file():
                return Path(folder) / below
        return None

    def copy_to_change(self, file: str, folder: Path) -> Mapping[str, str]:
        """Lay a copy of the code that holds ``file`` into ``folder``, where it can be changed.

        Args:
            file: path of a source file, below the folder of its packages.
            folder: an empty one; the copy of the file is ``folder / file``, maybe as a link.

        Returns:
            Environment variables of a process that is to use the copy; what is in ``PYTHONPATH``
            goes in front of what is there.

        Raises:
            UserError: the package of ``file`` is not installed.
        """
        package = file.partition("/")[0]
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise UserError(f"the package '{package}' of {file} is not installed; install it")
        source = next(iter(spec.submodule_search_locations))
        # links, so that the compiled files of what is not changed still serve
        shutil.copytree(source, folder / package, copy_function=os.symlink)
        return {"PYTHONPATH": str(folder)}

    def is_checkout(self, folder: Path) -> bool:
        """Whether a folder can be named as a checkout of this framework."""
        return False

    def code_folders(self) -> Sequence[str]:
        """The folders of the code under test."""
        return _folders(self.modules)

    def probed_folders(self) -> Sequence[str]:
        """The folders of the code under test, and of what it extends."""
        return [*self.code_folders(), *_folders(self.beneath)]

    def absent(self) -> Mapping[str, str]:
        """What this framework does not have: a detail, or a whole family of them -> the reason."""
        return getattr(self._sibling("probes"), "ABSENT", {})

    def train(self, request: TrainingRequest) -> Trained:
        """Train with the framework's own loop."""
        return self._sibling("training").train(request)

    def train_and_resume(self, request: TrainingRequest, restored: bool = False) -> Trained:
        """Train half of the steps, and then, as the framework documents it, the other half.

        Args:
            request: ``total_steps`` are two whole halves of its loop; without checkpoints.
            restored: in between the training is saved, and all of it that the framework can load is
                loaded into a new one, as its documentation says; the global random generators and
                the environment go on as they were.

        Raises:
            Unsupported: the framework has no such way to go on.
        """
        return self._sibling("resume").train_and_resume(request, restored)

    def train_seeded(self, request: Any) -> Trained:
        """Train DQN or DDPG with the framework's own loop, each source of chance with its own seed.

        Args:
            request: a ``rlregress.frameworks.seeded_training.SeededTraining``.

        Raises:
            Unsupported: the framework, in this version, has no such algorithm.
        """
        return self._sibling("seeded").train_seeded(request)

    def sources_of_chance(self) -> Mapping[str, str]:
        """Source, named as in ``seeded_training.Seeds`` -> what draws it, how it is set apart."""
        return self._sibling("seeded").SOURCES

    def trace_trainings(self) -> Mapping[str, TraceTraining]:
        """Built-in trainings for traces, by title: "<algorithm>" or "<algorithm> <scenario>".

        They are short. That of an algorithm reaches truncation, termination and both at once,
        several environments, a replay buffer that wraps around, delayed and target updates, the end
        of schedules, the last incomplete minibatch and an evaluation, as far as the algorithm has
        them. Scenarios switch on what users do.
        """
        return self._sibling("builtin_trainings").TRAININGS

    def saved_files(self) -> Mapping[str, Sequence[Saving]]:
        """What the framework's documentation saves of built-in trainings, by algorithm."""
        return {}

    @property
    def saves_files(self) -> bool:
        """Whether there are such files; the framework need not be installed to say so."""
        return type(self).saved_files is not Adapter.saved_files

    def user_agent(self, path: str) -> Any:
        """Load an agent of a user, whatever its algorithm.

        Raises:
            UserError: files of this framework say nothing of what they hold.
        """
        raise UserError(
            f"files of {self.title} do not say how they are loaded; give --loader FILE, a file "
            "with a function load(path)"
        )

    def settings_of(self, agent: Any) -> Mapping[str, Any]:
        """The settings of an agent that was loaded, by name."""
        return {}

    def warm_up(self) -> None:
        """Do once what takes long the first time; traced trainings are forked after it."""

    def transitions(self, request: TrainingRequest, environments: int = 1) -> Transitions:
        """Train with the framework's own loop and return what the algorithm stored.

        On-policy algorithms give every rollout as their update got it; off-policy algorithms the
        rows of the replay buffer in the order of their writing.

        Args:
            request: ``total_steps`` (over all environments) is a whole number of segments; a
                segment has ``rollout_steps`` (on-policy) or ``steps_per_collection`` (off-policy)
                steps in each environment. ``replay_size`` holds them all.
            environments: copies from ``make_env``, side by side in the framework's own vectorised
                environment.
        """
        return self._sibling("collection").transitions(request, environments)

    def minibatches(
        self, request: TrainingRequest, environments: int = 1, around: TrainingVariant = PLAIN
    ) -> Sequence[Minibatch]:
        """Train with the framework's own loop and return the minibatches that its updates read.

        They are noted where the framework's own sampling hands them to the update, in the order of
        reading: all of an epoch, then those of the next.

        Args:
            request: as for ``transitions``.
            environments: as for ``transitions``.
            around: what else is set up.

        Raises:
            Unsupported: the framework has nothing of the kind.
        """
        return self._sibling("minibatches").minibatches(request, environments, around)

    def running_statistics(
        self, request: TrainingRequest, environments: int = 1
    ) -> RunningStatistics:
        """Train with the framework's own normalisation of observations around the environments.

        As a user sets it up who says nothing else than that observations are to be normalised.

        Args:
            request: as for ``transitions``; ``on_checkpoint`` is called once, when the training has
                ended and nothing has been evaluated yet.
            environments: as for ``transitions``.

        Raises:
            Unsupported: the framework has no normalisation, or none that can be looked into.
        """
        return self._sibling("normalised").running_statistics(request, environments)

    def play_atari(self, make_env: Callable[[], Any]) -> Any:
        """A game of ``make_env`` through all that surrounds one in a training on Atari.

        Returns:
            A ``rlregress.environments.atari_play.Player``.
        """
        return self._sibling("probes.atari").player(make_env)
