"""Trainings that are generated from one: the same again with each option that it does not set.

While a training runs once, constructors of the framework are captured, and the functions that the
training calls itself. Their parameters that kept their defaults are the options. Then the training
runs again for every other value of each, which ``option_variants`` reads from signatures.

Runs inside foreign and old environments: Python 3.10 syntax.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import rlregress
from rlregress.probing.interface import TraceTraining
from rlregress.probing.option_variants import label_value, list_other_values
from rlregress.probing.random_generators import seed_generators
from rlregress.probing.time_limits import raise_error_after

_SUITE = os.path.join(str(Path(rlregress.__file__).parent), "")
#: code of the suite that stands between a training and the framework.
_BETWEEN = tuple(_SUITE + name for name in (f"inside{os.sep}", f"probing{os.sep}framework_err"))
#: options that lead to other processes, threads, devices or compiled code, or to a screen.
_LEADING_OUT = re.compile(
    "compil|cuda|gpu|device|backend|process|collectors|thread|async|prefetch|mp_start|daemon"
    "|shared|pin_memory|memmap|learner|render|progress"
)
#: CPU time that a training may take, in times of that with all defaults, and seconds more.
_TIMES, _EXTRA_SECONDS = 10, 5.0
#: times of that which may pass by the clock.
_WAITED = 4


class DoesNotEnd(BaseException):
    """Error that stops an endless training; no Exception, so that frameworks do not catch it."""


@dataclass(frozen=True)
class Option:
    """A parameter that a training leaves at its default.

    Attributes:
        function: that has it.
        described: the class or function whose docstring names other values.
        parameter: its name, default and annotation.
    """

    function: FunctionType
    described: Any
    parameter: inspect.Parameter

    def list_other_values(self) -> list[Any]:
        """Return values other than the default; of a number only one, as zero is often invalid."""
        values = list_other_values(self.described, self.parameter)
        return values[:1] if isinstance(self.parameter.default, (int, float)) else values

    def name_training_with(self, value: Any) -> str:
        """Return the name of a training with this value."""
        name = self.function.__qualname__.replace(".__init__", "")
        return f"{name}({self.parameter.name}={label_value(value)})"

    @contextlib.contextmanager
    def change_default(self, value: Any) -> Iterator[None]:
        """Change the parameter's default within the block."""
        function, name = self.function, self.parameter.name
        before = function.__defaults__, function.__kwdefaults__
        if self.parameter.kind is self.parameter.KEYWORD_ONLY:
            function.__kwdefaults__ = {**(before[1] or {}), name: value}
        else:
            code, values = function.__code__, list(before[0] or ())
            first = code.co_argcount - len(values)
            values[code.co_varnames.index(name) - first] = value
            function.__defaults__ = tuple(values)
        try:
            yield
        finally:
            function.__defaults__, function.__kwdefaults__ = before


@dataclass(frozen=True)
class OptionTrainings:
    """Several trainings that run in place of one, by name, and each again with its options changed.

    The name of its scenario begins with "calls-". What a version lacks is left out.

    Attributes:
        trainings: those that others are generated from. An option that several leave alone is
            changed in the first one.
        packages: importable packages or modules whose options are changed.
    """

    trainings: Mapping[str, TraceTraining]
    packages: Sequence[str]

    def __call__(self, make_env: Callable[..., Any], seed: int) -> Any:
        """Yield (name, training) pairs; the caller runs each before it requests the next."""
        captured = CapturedOptions(self.packages)
        for name, training in self.trainings.items():
            train = partial(_train_seeded, training, make_env, seed)
            start = time.process_time()
            yield name, partial(captured.capture_during, train)
            seconds = _TIMES * (time.process_time() - start) + _EXTRA_SECONDS
            # what is there already need not be looked through whenever a network is let go
            gc.collect()
            gc.freeze()
            for option in captured.take_captured():
                for value in option.list_other_values():
                    run = partial(_train_with_option, option, value, seconds, train)
                    yield f"{name}: {option.name_training_with(value)}", run


def _train_seeded(training: TraceTraining, make_env: Callable[..., Any], seed: int) -> Any:
    seed_generators(seed)
    with warnings.catch_warnings():
        # about what is done on purpose
        warnings.simplefilter("ignore")
        return training(make_env, seed)


def _train_with_option(option: Option, value: Any, seconds: float, train: Callable[[], Any]) -> Any:
    # a training that waits uses no CPU time; on a busy machine one that computes takes longer by
    # the clock
    limits = {signal.ITIMER_VIRTUAL: seconds, signal.ITIMER_REAL: _WAITED * seconds}
    with option.change_default(value), raise_error_after(DoesNotEnd, limits):
        try:
            return train()
        except DoesNotEnd:
            return "does not end"


class CapturedOptions:
    """Captures options while trainings run.

    Args:
        packages: importable packages or modules whose options are captured.
    """

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = tuple(f"{package}." for package in packages)
        self._options: dict[tuple[str, str], Option] = {}
        # kept, so that no other code comes to have their identity
        self._captured: dict[int, CodeType] = {}

    def capture_during(self, run: Callable[[], Any]) -> Any:
        """Call ``run`` and return its result; capture the options of all calls meanwhile."""

        def trace_call(frame: FrameType, *_: Any) -> None:
            self._note_option_of_call(frame)

        # not sys.setprofile, which also reports each return and each call of C code
        sys.settrace(trace_call)
        try:
            return run()
        finally:
            sys.settrace(None)

    def take_captured(self) -> list[Option]:
        """Return and forget the options captured since the last call, sorted by function."""
        options = [self._options[key] for key in sorted(self._options)]
        self._options.clear()
        return options

    def _note_option_of_call(self, frame: FrameType) -> None:
        code = frame.f_code
        if id(code) in self._captured:
            return
        if not f"{frame.f_globals.get('__name__')}.".startswith(self._packages):
            return
        is_constructor = code.co_name == "__init__"
        if is_constructor or (code.co_name[:1] not in "_<" and _is_called_by_training(frame)):
            self._captured[id(code)] = code
            self._capture_options(
                frame, _list_parameters_of_subclass_constructors(frame) if is_constructor else set()
            )

    def _capture_options(self, frame: FrameType, passed_names: Collection[str]) -> None:
        function, described = find_function_of_frame(frame)
        if function is None:
            return
        for name, parameter in inspect.signature(function).parameters.items():
            is_left = parameter.default is not parameter.empty and (
                frame.f_locals.get(name, self) is parameter.default
            )
            if is_left and name not in passed_names and not _LEADING_OUT.search(name):
                key = f"{function.__module__}.{function.__qualname__}", name
                self._options[key] = Option(function, described, parameter)


def _is_called_by_training(frame: FrameType) -> bool:
    """Return whether a function is called by the training itself, and not by the framework."""
    caller = frame.f_back
    while caller is not None and caller.f_code.co_filename.startswith(_BETWEEN):
        caller = caller.f_back
    return caller is not None and caller.f_code.co_filename.startswith(_SUITE)


def _list_parameters_of_subclass_constructors(frame: FrameType) -> set[str]:
    """Return the parameter names of subclass constructors that called this one for their object."""
    instance, names = _get_first_argument(frame), set[str]()
    caller = frame.f_back
    while caller is not None:
        code = caller.f_code
        if code.co_name == "__init__" and _get_first_argument(caller) is instance:
            names.update(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        caller = caller.f_back
    return names


def _get_first_argument(frame: FrameType) -> Any:
    """Return the first argument of a call: the object or the class of a method."""
    code = frame.f_code
    return frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None


def find_function_of_frame(frame: FrameType) -> tuple[FunctionType | None, Any]:
    """Return the function that a frame runs, and the function or class that documents it."""
    code, first = frame.f_code, _get_first_argument(frame)
    owners = inspect.getmro(first if inspect.isclass(first) else type(first))
    places = [*((vars(owner), owner) for owner in owners), (frame.f_globals, None)]
    for names, owner in places:
        member: Any = names.get(code.co_name)
        function = inspect.unwrap(getattr(member, "__func__", member))
        if inspect.isfunction(function) and function.__code__ is code:
            return function, owner if code.co_name == "__init__" else function
    return None, None
