"""Runs of whole, unmodified scripts in this process, with chosen environment and arguments.

The file is read from the user's copy and executed as ``__main__``. Modules that it imports beside
torch, NumPy and Gymnasium (``tyro``, TensorBoard, and those of 0.4.8) are replaced in memory.
Afterwards everything is as before: modules, arguments, folder, random generators.

One run at a time: a script uses the global random generators, ``__main__`` and the folder.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import gymnasium
import numpy as np
import torch

from rlregress import marks
from rlregress.frameworks.cleanrl import oldgym, restored, shim
from rlregress.frameworks.cleanrl.script import (
    ArgumentLost,
    Script,
    find_first_variable,
    parse_script_file,
)
from rlregress.probing.framework_errors import call_original
from rlregress.probing.isolation import shift_seed

#: id by which scripts request the environment of ``make_env``; it is not registered.
GIVEN = "Given-v0"


class StopRun(BaseException):
    """Ends a script from inside its environment; no handler of a script catches it."""


@dataclass
class ScriptRun:
    """The run of a script: its variables, steps and logs, during the run and afterwards.

    ``run["agent"]`` is the script's own global of that name: ``args``, ``envs``, ``actor``, ``rb``
    and so on.

    Attributes:
        globals: all global variables of the script.
        steps: steps of the environments so far, over all environments.
        scalars: (tag, value, step) as the script logged them.
    """

    globals: dict[str, Any]
    steps: int = 0
    scalars: list[tuple[str, float, int]] = field(default_factory=list)

    def __getitem__(self, name: str) -> Any:
        return find_first_variable(self.globals, name)

    def __contains__(self, name: str) -> bool:
        return name in self.globals


OnStep = Callable[[ScriptRun], None]


def run_script(
    path: Path,
    overrides: Mapping[str, Any] | None = None,
    *,
    make_env: Callable[[], Any],
    stop: int | None = None,
    on_step: OnStep | None = None,
    on_start: OnStep | None = None,
    guard_random: bool = True,
    shimmed: bool = True,
    patches: Sequence[shim.Patch] = (),
) -> ScriptRun:
    """Run a script of CleanRL to its end, or to a number of steps.

    Args:
        path: of the script, in ``cleanrl/`` below the root of a checkout or an installed copy.
        overrides: of its arguments, by their names in ``args``. ``cuda`` and ``capture_video`` are
            off unless given.
        make_env: makes the environment of the script.
        stop: end the script after this many steps of its environments.
        on_step: called after every step of the script's environments, before the script goes on;
            after the script ended, nothing calls it again. It may raise ``StopRun``.
        on_start: called once, when the script has made its agent and first resets its environments.
            It may raise ``StopRun``.
        guard_random: restore the states of the global generators after each ``on_step``.
        shimmed: give a script written for Gymnasium 0.29 that interface on a newer one (see
            ``shim``). Without it, on Gymnasium 1.x, it trains on rows that never happened.
        patches: (object, attribute, value) for the time of the run.

    Raises:
        UserError: the script has no such argument, or this Gymnasium cannot serve it.
    """
    script = parse_script_file(path)
    arguments = _merge_overrides_with_run_defaults(script, overrides or {})
    module = oldgym.make_module("__main__", __file__=str(path))
    run = ScriptRun(vars(module))
    watch = _RunWatcher(run, stop, on_step, on_start, guard_random)
    make = partial(_make_environment, gymnasium.make, make_env)
    stubs = {"__main__": module, **_make_tensorboard_stub(run)}
    if script.for_gym:
        stubs.update(oldgym.make_stub_modules(make, watch))
        replaced = [*patches, (sys, "argv", [str(path), *_format_command_line(arguments)])]
    else:
        stubs["tyro"] = oldgym.make_module("tyro", cli=lambda kind: kind(**arguments))
        replaced = [*(shim.list_patches_of_gymnasium() if shimmed else ()), *patches]
        replaced += [(gymnasium, "make", make), (sys, "argv", [str(path)])]
    with _prepare_process(path, stubs, replaced):
        recorded = watch.make_reporting_vector_class(gymnasium.vector.SyncVectorEnv)
        vector = mock.patch.object(gymnasium.vector, "SyncVectorEnv", recorded)
        with vector, contextlib.suppress(StopRun):
            # the user's own script
            exec(_compile_script(script.text, str(path)), run.globals)  # noqa: S102
    return run


@contextlib.contextmanager
def _prepare_process(
    path: Path, stubs: Mapping[str, types.ModuleType], patches: Sequence[shim.Patch]
) -> Iterator[None]:
    """Replace modules and attributes within the block, and restore everything after it."""
    with contextlib.ExitStack() as around:
        for context in (
            restored.restore_random_state_after(),
            restored.import_as_modules(stubs),
            restored.make_utilities_importable(path.parent.parent),
            restored.enter_temporary_folder(),
            contextlib.redirect_stdout(io.StringIO()),
            warnings.catch_warnings(),
            *(mock.patch.object(*patch, create=True) for patch in patches),
        ):
            around.enter_context(context)
        # about the age of the environment and what the script does with its spaces
        warnings.filterwarnings("ignore", module="gymnasium")
        warnings.filterwarnings("ignore", "Creating a tensor from a list of numpy.ndarrays")
        yield


def start_script(
    path: Path, overrides: Mapping[str, Any], make_env: Callable[[], Any]
) -> ScriptRun:
    """Run a script until it first resets its environments; return its variables of that moment."""

    def stop_script(run: ScriptRun) -> None:
        raise StopRun

    return run_script(path, overrides, make_env=make_env, on_start=stop_script)


@functools.lru_cache(maxsize=64)
def _compile_script(text: str, path: str) -> types.CodeType:
    """Return a script's code, compiled once, as it runs dozens of times in one process."""
    return marks.compile_source(text, path, is_script=True)


def _merge_overrides_with_run_defaults(
    script: Script, overrides: Mapping[str, Any]
) -> dict[str, Any]:
    """Return overrides and, without them: no CUDA, no videos, the environment, a shifted seed.

    Raises:
        ArgumentLost: the script has no such argument.
    """
    known = script.arguments
    arguments: dict[str, Any] = {"gym_id" if script.for_gym else "env_id": GIVEN}
    arguments.update({name: False for name in ("cuda", "capture_video") if name in known})
    if shift_seed(0):
        # the default of every script is 1
        arguments["seed"] = shift_seed(1)
    arguments.update(overrides)
    for name in arguments:
        if name not in known:
            names = ", ".join(sorted(known))
            problem = f"{script.path.name} has no argument '{name}'; it has: {names}"
            raise ArgumentLost(problem, script.known)
    return arguments


def _format_command_line(arguments: Mapping[str, Any]) -> list[str]:
    words = []
    for name, value in arguments.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return words


def _make_environment(
    original: Callable[..., Any], make_env: Callable[[], Any], id: Any, **options: Any
) -> Any:
    return make_env() if id == GIVEN else call_original(original, id, **options)


def _make_tensorboard_stub(run: ScriptRun) -> dict[str, types.ModuleType]:
    name = "torch.utils.tensorboard"
    return {name: oldgym.make_module(name, SummaryWriter=partial(Writer, run))}


class Writer:
    """Stands in for TensorBoard's writer: adds scalars to the record of a run, and writes none."""

    def __init__(self, run: ScriptRun, *_: Any, **__: Any) -> None:
        """Make no folder."""
        self._run = run

    def add_scalar(self, tag: str, value: Any, global_step: Any = None, *_: Any) -> None:
        """Append a scalar to the record of the run."""
        plain = value.detach().cpu().numpy() if torch.is_tensor(value) else value
        number = float(np.asarray(plain).reshape(-1)[0])
        self._run.scalars.append((tag, number, int(global_step or 0)))

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


@dataclass
class _RunWatcher:
    """Watches the steps of the script's environments, not those of an evaluator that it makes."""

    run: ScriptRun
    stop: int | None
    on_step: OnStep | None
    on_start: OnStep | None
    guard: bool
    first: Any = None
    outside: Callable[[], Any] = field(default_factory=restored.make_folder_and_output_restorer)

    def note_step(self, environments: int) -> None:
        run = self.run
        run.steps += environments
        if self.on_step is not None:
            guard = (
                restored.restore_random_state_after() if self.guard else contextlib.nullcontext()
            )
            with self.outside(), guard:
                self.on_step(run)
        if self.stop is not None and run.steps >= self.stop:
            raise StopRun

    def note_start(self) -> None:
        on_start, self.on_start = self.on_start, None
        if on_start is not None:
            with self.outside():
                on_start(self.run)

    def make_reporting_vector_class(self, base: Any) -> Any:
        watch = self

        class SyncVectorEnv(base):
            """Reports its steps if it is the first one that the script has made."""

            def __init__(self, *args: Any, **kwargs: Any) -> None:
                call_original(super().__init__, *args, **kwargs)
                if watch.first is None:
                    watch.first = self

            def reset(self, *args: Any, **kwargs: Any) -> Any:
                if watch.first is self:
                    watch.note_start()
                return call_original(super().reset, *args, **kwargs)

            def step(self, actions: Any) -> Any:
                outcome = call_original(super().step, actions)
                if watch.first is self:
                    watch.note_step(self.num_envs)
                return outcome

        return SyncVectorEnv
