"""Digests along a training, which show where two runs with one seed begin to differ."""

from __future__ import annotations

import hashlib
import linecache
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.inside.events import Places
from rlregress.inside.lines import ExecutionNotes
from rlregress.inside.optimizers import hook_optimizer_steps, list_parameters_of_optimizer

#: every update up to this one has a row, later ones at distances that grow by this factor
_FIRST_UPDATES, _GROWTH = 20, 1.15
_DIGITS = 8


class Trail:
    """Digests of a training's state at its updates; a context manager around the training.

    An update is a call of ``step`` of any optimizer of torch. A row holds the state of the
    training at one update, in causal order: all actions and observations of the environments so
    far, the random generators, the gradients, and the parameters after the update. Parameters and
    generators depend on everything before, so that not every update needs a row.

    Args:
        algorithm: the name of the algorithm in names of the framework's files.
        roots: folders of the framework.

    Attributes:
        updates: the number of updates.
        rows: number of the update, index in ``names``, and a digest of each kind of state.
        names: file and text of the lines that make updates.
    """

    def __init__(self, algorithm: str, roots: Sequence[str]) -> None:
        self.updates = 0
        self.rows: list[str] = []
        self.names: list[str] = []
        self._algorithm, self._next = algorithm, 1
        self._row: list[str] = []
        self._places = Places(roots)
        self._lines = ExecutionNotes(self._places)
        self._files: set[str | None] = set()
        self._environment = hashlib.sha256()
        self._hooks = ExitStack()

    def __enter__(self) -> Trail:
        hook_optimizer_steps(
            self._digest_before_step, self._digest_after_step, self._hooks.callback
        )
        self._hooks.enter_context(self._lines)
        return self

    def __exit__(self, *_: Any) -> None:
        self._hooks.close()

    def wrap_environment(self, environment: Any) -> Any:
        """Return a wrapper that changes nothing and digests all actions and results."""
        return _DigestWrapper(environment, self._environment)

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
        gradients = [parameter.grad for parameter in list_parameters_of_optimizer(optimizer)]
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
                " ".join([*self._row, _digest_values(list_parameters_of_optimizer(optimizer))])
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
            self._files.add(self._places.find_path_below_root(file))
            frame = frame.f_back
        return text

    def describe_trail(self) -> dict[str, Any]:
        """Return the digests, and (lines that ran, all lines) of each file of the algorithm.

        The algorithm's files are those that call ``step``, and those with its name.
        """
        executable = self._lines.list_all_lines()
        lines = {
            file: [len(executed), len(executable[file])]
            for file, executed in self.list_executed_lines().items()
            if file in self._files or self._algorithm in os.path.basename(file)
        }
        return {"updates": self.updates, "names": self.names, "rows": self.rows, "lines": lines}

    def list_executed_lines(self) -> dict[str, list[int]]:
        """Return file of the framework -> lines that ran."""
        listed = self._lines.list_line_coverage().items()
        return {file: executed for file, (executed, _) in listed if executed}


class _DigestWrapper(gymnasium.Wrapper):
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
