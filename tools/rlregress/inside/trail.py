"""Digests along a training, which show where two runs with one seed begin to differ."""

from __future__ import annotations

import hashlib
import importlib.util
import linecache
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress import source
from rlregress.inside.events import Places
from rlregress.inside.marks import list_inner_code_objects, list_own_lines
from rlregress.inside.optimizers import hook_optimizer_steps

#: every update up to this one has a row, later ones at distances that grow by this factor
_FIRST_UPDATES, _GROWTH = 20, 1.15
_DIGITS = 8


class Trail:
    """The digests of one training; a context manager around it.

    An update is a call of ``step`` of any optimizer of torch. A row holds the state of the
    training at one update, in causal order: all actions and observations of the environments so
    far, the random generators, the gradients, and the parameters after the update. Parameters and
    generators depend on everything before, so that not every update needs a row.

    Args:
        algorithm: the name of the algorithm in names of the framework's files.
        roots: folders of the framework.
        counts_lines: note the lines that run, which takes up to half of the time.

    Attributes:
        updates: the number of updates.
        rows: number of the update, index in ``names``, and a digest of each kind of state.
        names: file and text of the lines that make updates.
    """

    def __init__(self, algorithm: str, roots: Sequence[str], counts_lines: bool = True) -> None:
        self.updates = 0
        self.rows: list[str] = []
        self.names: list[str] = []
        self._algorithm, self._next = algorithm, 1
        self._row: list[str] = []
        self._places = Places(roots)
        self._executed = _start_line_counter(roots) if counts_lines else None
        self._files: set[str] = set()
        self._scripts: set[str] = set()
        self._environment = hashlib.sha256()
        self._hooks = ExitStack()

    def __enter__(self) -> Trail:
        hook_optimizer_steps(
            self._digest_before_step, self._digest_after_step, self._hooks.callback
        )
        if self._executed is not None:
            self._executed.start()
            self._hooks.callback(self._executed.stop)
        return self

    def __exit__(self, *_: Any) -> None:
        self._hooks.close()

    def wrap_environment(self, environment: Any) -> Any:
        """Return a wrapper that changes nothing and digests all actions and results."""
        return _Watched(environment, self._environment)

    def _digest_before_step(self, optimizer: Any, *_: Any) -> None:
        self.updates += 1
        if self.updates < self._next:
            return
        self._next = self.updates + 1
        if self.updates >= _FIRST_UPDATES:
            self._next = max(self._next, int(self.updates * _GROWTH))
        name = self._describe_calling_line()
        if name not in self.names:
            self.names.append(name)
        numpy_state = np.random.get_state(legacy=False)["state"]
        # not Python's generator: imports of optional packages draw from it (rich does)
        draws = [*numpy_state.values(), torch.get_rng_state()]
        gradients = [parameter.grad for parameter in _list_parameters_of_optimizer(optimizer)]
        self._row = [
            str(self.updates),
            str(self.names.index(name)),
            self._environment.hexdigest()[:_DIGITS],
            _digest_values(draws),
            _digest_values(gradients),
        ]

    def _digest_after_step(self, optimizer: Any, *_: Any) -> None:
        if self._row:
            self.rows.append(
                " ".join([*self._row, _digest_values(_list_parameters_of_optimizer(optimizer))])
            )
            self._row = []

    def _describe_calling_line(self) -> str:
        """Return file and text of the line that calls ``step``; note the framework's files."""
        libraries = tuple(
            os.path.join(os.path.dirname(file), "") for file in (torch.__file__, __file__)
        )
        frame: Any = sys._getframe(1)
        text = ""
        while frame is not None:
            file = frame.f_code.co_filename
            if not text and not file.startswith(libraries):
                line = linecache.getline(file, frame.f_lineno).strip()
                text = f"{os.path.basename(file)}: {line}"
            if self._places.find_path_below_root(file) is not None:
                self._files.add(file)
                if frame.f_code.co_name == "<module>":
                    self._scripts.add(file)
            frame = frame.f_back
        return text

    def describe_trail(self) -> dict[str, Any]:
        """Return the digests, and how many lines of the algorithm's files there are and ran.

        The algorithm's files are those that call ``step``, and those with its name.
        """
        lines = {}
        for file, ran in self._read_executed_lines():
            executable = _list_executable_lines(file, file in self._scripts)
            executed = executable.intersection(ran)
            has_name = self._algorithm in os.path.basename(file)
            if executed and (file in self._files or has_name):
                lines[str(self._places.find_path_below_root(file))] = [
                    len(executed),
                    len(executable),
                ]
        return {"updates": self.updates, "names": self.names, "rows": self.rows, "lines": lines}

    def list_executed_lines(self) -> dict[str, list[int]]:
        """Return file of the framework -> lines that ran."""
        return {
            str(self._places.find_path_below_root(file)): lines
            for file, lines in self._read_executed_lines()
        }

    def _read_executed_lines(self) -> list[tuple[str, list[int]]]:
        data: Any = self._executed.get_data() if self._executed is not None else None
        files = sorted(data.measured_files()) if data is not None else ()
        return [(file, data.lines(file) or []) for file in files]


class _Watched(gymnasium.Wrapper):
    def __init__(self, environment: Any, digest: Any) -> None:
        super().__init__(environment)
        self._digest = digest

    def reset(self, **options: Any) -> Any:
        result = self.env.reset(**options)
        _feed_digest(self._digest, result[:1])
        return result

    def step(self, action: Any) -> Any:
        _feed_digest(self._digest, [action])
        result = self.env.step(action)
        _feed_digest(self._digest, result[:4])
        return result


def _list_parameters_of_optimizer(optimizer: Any) -> Iterable[Any]:
    return (parameter for group in optimizer.param_groups for parameter in group["params"])


def _feed_digest(digest: Any, values: Iterable[Any]) -> None:
    for value in values:
        if isinstance(value, str):
            digest.update(value.encode())
        elif isinstance(value, dict):
            _feed_digest(digest, value.values())
        elif value is None:
            digest.update(b"none")
        else:
            tensor = isinstance(value, torch.Tensor)
            array = value.detach().cpu().numpy() if tensor else np.asarray(value)
            # equal bytes may be another dtype or shape
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())


def _digest_values(values: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    _feed_digest(digest, values)
    return digest.hexdigest()[:_DIGITS]


def _start_line_counter(roots: Sequence[str]) -> Any:
    """Return a counter of the lines that run below folders; None if it is not installed."""
    if importlib.util.find_spec("coverage") is None:
        return None
    coverage = importlib.import_module("coverage")
    below = [os.path.join(root, "*") for root in roots]
    return coverage.Coverage(data_file=None, include=below, config_file=False)


def _list_executable_lines(path: str, is_script: bool) -> set[int]:
    """Return the lines of all functions of a file; for a script, also those of its body."""
    body = compile(source.read_source_text(path), path, "exec")
    lines: set[int] = set()
    for code in (body, *list_inner_code_objects(body)):
        # CO_OPTIMIZED: a function
        if code.co_flags & 1 or (is_script and code.co_name == "<module>"):
            lines |= list_own_lines(code)
    return lines
