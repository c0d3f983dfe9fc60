"""The five ways to measure a framework, each with the functions that an adapter has for it.

An adapter defines them in its modules ``observe``, ``train``, ``call``, ``read`` and ``load``.
"""

from __future__ import annotations

import inspect
import reprlib
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import cache, partial
from typing import Any, get_origin

from rlregress.errors import UserError
from rlregress.frameworks.adapter_errors import (
    REMEDY,
    convert_errors_to_sentences,
    format_annotation,
    is_value_of_type,
)
from rlregress.probing import families
from rlregress.probing.file_kinds import TrainingWithFiles
from rlregress.probing.interface import (
    Minibatch,
    Probe,
    RunningStatistics,
    TraceTraining,
    Trained,
    TrainingRequest,
    TrainingVariant,
    Transitions,
    Unsupported,
)


def _call_and_check_return_type(
    kind_method: Callable[..., Any],
    module: str,
    function: Callable[..., Any],
    *arguments: Any,
    **named: Any,
) -> Any:
    """Call a function of an adapter, and check the type of its result.

    Errors of functions that return tables become UserErrors. Errors of trainings are raised
    unchanged, because they are results.
    """
    name, returned_type = kind_method.__name__, _get_return_type(kind_method)
    is_table = get_origin(returned_type) is Mapping
    table = convert_errors_to_sentences(module, f"{name}() to return a table", Unsupported)
    with table if is_table else nullcontext():
        returned = function(*arguments, **named)
    if not is_value_of_type(returned, returned_type):
        file = getattr(sys.modules.get(module), "__file__", module)
        raise UserError(
            f"{file}: {name}() returned {reprlib.repr(returned)}; expected "
            f"{format_annotation(returned_type)}; {REMEDY}"
        )
    return returned


@cache
def _get_return_type(kind_method: Callable[..., Any]) -> Any:
    return inspect.get_annotations(kind_method, eval_str=True)["return"]


class Kind:
    """One of the five ways to measure: the functions of an adapter's module, by their names.

    A method of a kind documents the arguments and the result of the adapter's function of its name.
    Its body is the default for adapters without that function.

    Args:
        module: the adapter's module; None: it has none.
        title: of the framework.
        arguments: further arguments of each function, by keyword.
    """

    def __init__(self, module: Any, title: str, arguments: Mapping[str, Any]) -> None:
        self._module, self._title, self._arguments = module, title, arguments

    def __getattribute__(self, name: str) -> Any:
        kind_method = super().__getattribute__(name)
        if name.startswith("_") or self._module is None:
            return kind_method
        module = getattr(self._module, "__name__", __name__)
        with convert_errors_to_sentences(module, f"a function {name}"):
            function = getattr(self._module, name, None)
        own = kind_method if function is None else partial(function, **self._arguments)
        return partial(_call_and_check_return_type, kind_method.__func__, module, own)

    def __bool__(self) -> bool:
        return self._module is not None

    def _make_unsupported_error(self, function: str) -> Unsupported:
        return Unsupported(f"the adapter of {self._title} has no {function}")


class Observe(Kind):
    """Measurements of single updates with known inputs, by probes and drivers."""

    def list_probes(self) -> Mapping[tuple[str, str], Probe]:
        """Return the probes by (detail id, scope).

        The default: all tables ``PROBES`` in the modules of the adapter's package ``observe``,
        whose keys have the scope "library" unless they name one.
        """
        return families.list_probes(self._package) if self._package else {}

    def list_absent_details(self) -> Mapping[str, str]:
        """Return the details and whole families that this framework lacks, each with the reason.

        The default: the tables ``ABSENT`` of a package and of its modules.
        """
        own = getattr(self._module, "ABSENT", {})
        return {
            **(families.list_reasons_of_absent_details(self._package) if self._package else {}),
            **own,
        }

    @property
    def _package(self) -> str:
        """The name of the adapter's module, if it is a package; otherwise empty."""
        return self._module.__name__ if hasattr(self._module, "__path__") else ""

    def make_atari_player(self, make_env: Callable[[], Any]) -> Any:
        """Wrap a game as a training on Atari does, and return an object that plays it.

        Returns:
            A ``rlregress.environments.atari_play.Player``.
        """
        raise self._make_unsupported_error("make_atari_player")


class Train(Kind):
    """Trainings with the framework's own loop, short ones and long ones."""

    def train(self, request: TrainingRequest) -> Trained:
        """Train as a user does, and return the agent."""
        raise self._make_unsupported_error("train")

    def explain_why_not_resumable(self) -> str:
        """Return why a training that was stopped cannot be resumed, as one clause; empty: it can.

        If it can, ``train`` passes its state to ``keep``, and continues from that state in another
        process with the same result.
        """
        return "its adapter cannot keep a training"

    def train_and_resume(self, request: TrainingRequest, restored: bool) -> Trained:
        """Train half of the steps, then continue as the framework documents, for the other half.

        Args:
            request: ``total_steps`` are two whole halves of its loop; without checkpoints.
            restored: whether the second half runs in a new training, into which everything that the
                framework can save and load was loaded. The global random generators and the
                environment keep their states.

        Raises:
            Unsupported: the framework cannot continue a training in this way.
        """
        raise self._make_unsupported_error("train_and_resume")

    def train_seeded(self, request: Any) -> Trained:
        """Train DQN or DDPG, each source of chance with its own seed.

        Args:
            request: a ``rlregress.probing.seeded_training.SeededTraining``.

        Raises:
            Unsupported: the framework, in this version, has no such algorithm.
        """
        raise self._make_unsupported_error("train_seeded")

    def describe_sources_of_chance(self) -> Mapping[str, str]:
        """Return source of chance in ``Seeds`` -> a text on its generator and its separate seed."""
        raise self._make_unsupported_error("describe_sources_of_chance")

    def collect_transitions(self, request: TrainingRequest, environments: int) -> Transitions:
        """Train, and return the stored transitions.

        On-policy algorithms give every rollout as their update got it; off-policy algorithms the
        rows of the replay buffer in the order of their writing.

        Args:
            request: ``total_steps`` (over all environments) is a whole number of segments; a
                segment has ``rollout_steps`` (on-policy) or ``steps_per_collection`` (off-policy)
                steps in each environment. ``replay_size`` holds them all.
            environments: copies from ``make_env``, side by side in the framework's own vectorised
                environment.
        """
        raise self._make_unsupported_error("collect_transitions")

    def collect_minibatches(
        self, request: TrainingRequest, environments: int, variant: TrainingVariant
    ) -> Sequence[Minibatch]:
        """Train, and return the minibatches that the updates read.

        They are noted where the framework's own sampling hands them to the update, in the order of
        reading: all of an epoch, then those of the next.

        Args:
            request: as for ``collect_transitions``.
            environments: as for ``collect_transitions``.
            variant: the variant of the training.

        Raises:
            Unsupported: the framework has no such variant, or hands no minibatches to its update.
        """
        raise self._make_unsupported_error("collect_minibatches")

    def collect_running_statistics(
        self, request: TrainingRequest, environments: int
    ) -> RunningStatistics:
        """Train with the framework's normaliser of observations, and return its statistics.

        It is set up with the framework's defaults.

        Args:
            request: as for ``collect_transitions``; ``on_checkpoint`` is called once, when the
                training has ended and nothing has been evaluated yet.
            environments: as for ``collect_transitions``.

        Raises:
            Unsupported: the framework has no normalisation, or none whose statistics can be read.
        """
        raise self._make_unsupported_error("collect_running_statistics")

    def list_builtin_trainings(self) -> Mapping[str, TraceTraining]:
        """Return built-in trainings for traces, by title: "<algorithm>" or "<algorithm>
        <scenario>".

        They are short. That of an algorithm reaches truncation, termination and both at once,
        several environments, a replay buffer that wraps around, delayed and target updates, the end
        of schedules, the last incomplete minibatch and an evaluation, as far as the algorithm has
        them. Scenarios switch on options that users set. Listing titles imports no framework.
        """
        return {}

    def warm_up_before_fork(self) -> None:
        """Run slow first-time work once, so that the traced trainings, forked later, share it."""


class Call(Kind):
    """Calls of classes and functions with many combinations of arguments."""

    def list_generated_calls(self) -> Mapping[str, TraceTraining]:
        """Return calls with generated arguments, by title: "<algorithm> calls-<part>"."""
        return {}


class Read(Kind):
    """Defaults, and the framework's names of hyperparameters."""

    def read_defaults(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """Return the defaults: (algorithm, scope) -> hyperparameter -> value.

        Hyperparameters have the names of ``baselines/hyperparameters``. None: switched off.
        Hyperparameters that a scope lacks, or whose value is not in the installed package, are left
        out. A table that cannot be read is a ``families.Unread``.
        """
        raise self._make_unsupported_error("read_defaults")

    def read_defaults_of_all_arguments(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """Return (algorithm, scope) -> default of every argument, by the framework's own names.

        ``upgrade`` compares them between two versions that both have the algorithm.
        """
        return {}

    def map_hyperparameters_to_own_names(self) -> Mapping[tuple[str, str], Mapping[str, str]]:
        """Return the framework's own names: (algorithm, scope) -> hyperparameter -> name."""
        raise self._make_unsupported_error("map_hyperparameters_to_own_names")

    def read_applied_hyperparameters(
        self, algorithm: str, hyperparameters: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Build an agent with a hyperparameter set, and read its settings.

        Raises:
            UserError: the framework cannot use some of the hyperparameters. The message names all
                of these; none is dropped silently.
        """
        raise self._make_unsupported_error("read_applied_hyperparameters")


class Load(Kind):
    """Loading of files that this version, or another one, has saved."""

    def list_trainings_with_files(self) -> Mapping[str, Sequence[TrainingWithFiles]]:
        """Return algorithm -> built-in trainings, each with the kinds of files saved after it.

        Kinds of files are those that the framework's documentation saves.
        """
        return {}

    def load_user_agent(self, path: str) -> Any:
        """Load an agent of a user, whatever its algorithm.

        Raises:
            UserError: a file of this framework does not say which class of agent it contains.
        """
        raise UserError(
            f"files of {self._title} do not say how they are loaded; give --loader FILE, a file "
            "with a function load(path)"
        )

    def read_settings_of_agent(self, agent: Any) -> Mapping[str, Any]:
        """Return the settings of an agent that was loaded, by name."""
        return {}
