"""Save and load files: ``python -m rlregress.inside.saved_files_worker JOB ANSWERS``.

The job is a JSON file: ``framework``; ``algorithms``, empty for all; ``files``, a folder;
``write``, whether the files are made there first; ``times``, how often each is loaded; ``again``,
whether each is saved once more after it was loaded; ``trusted``, names of kinds that PyTorch may
load although they hold more than numbers; ``kinds``, names of the requested kinds; and ``stored``,
whether only kinds that ``baselines/saved`` keeps of each release are requested.

Only files that a process of the same command has written are loaded, those of ``baselines/saved``
after their digests were compared, and ``user``, if the job has it (``user_files``), which the user
trusts.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import inspect
import os
import platform
import re
import shutil
import sys
import tempfile
import time
import types
import warnings
import zipfile
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from rlregress import frameworks
from rlregress.frameworks.base import Adapter
from rlregress.inside import error_origin, saved_items, user_files
from rlregress.inside.events import Places
from rlregress.inside.job_files import answer_job_of_file
from rlregress.probing.file_kinds import FileKind, TrainingWithFiles
from rlregress.probing.interface import Unsupported
from rlregress.probing.isolation import isolate_random_generators
from rlregress.probing.toys import MixedEndsEnv

#: seed of the training that is saved.
_SEED = 1
#: the most characters of an error that are kept: enough for the missing keys of a state.
_MESSAGE = 1000
#: words of PyTorch's refusal to load a file, and the variable that makes it load the file anyway.
_WEIGHTS_ONLY, _TRUST = "Weights only load failed", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
#: packages that may write a saved file, beside the framework's own.
_WRITING = ("cloudpickle", "gym", "gymnasium", "numpy", "torch")
_COLOUR = re.compile("\x1b\\[[0-9;]*m")
#: an item: path, description, index of the function that it comes from, and its numbers.
Row = tuple[str, str, int, list[Any]]


def save_and_load(job: dict[str, Any]) -> dict[str, Any]:
    """Save and load the files of a job; return what was loaded.

    ``functions``: "file:line name". ``kinds``: name -> ``way``, ``algorithm``, and either
    ``items``, once for each time it was loaded, or ``error``, ``at`` and ``when`` ("write", "load",
    or "use" with the items before it), or ``unsupported``. ``versions``: with ``stored``, the
    package versions that the record of a release names.
    """
    adapter = frameworks.get_adapter(job["framework"])
    places = Places(adapter.code.list_code_and_base_folders())
    loaded = _KindLoader(places)
    for algorithm, trainings in adapter.load.list_trainings_with_files().items():
        if not job["algorithms"] or algorithm in job["algorithms"]:
            for training in trainings:
                loaded.save_and_load_kinds(algorithm, training, job)
    if job.get("user"):
        kind = user_files.make_kind_of_user_file(job["user"], adapter)
        folder = os.path.dirname(job["user"]["file"])
        answer = loaded.load_with_trust_if_needed(kind, folder, job)
        loaded.kinds[kind.name] = {"way": kind.way, **answer}
    versions = _list_versions(adapter) if job.get("stored") else {}
    return {"functions": loaded.functions, "kinds": loaded.kinds, "versions": versions}


def _list_versions(adapter: Adapter) -> dict[str, str]:
    """Return the versions of Python and of packages that write parts of files."""
    versions = {"python": platform.python_version()}
    beneath = (module.replace("_", "-") for module in adapter.framework.beneath)
    for package in (*adapter.framework.packages, *beneath, *_WRITING):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions


class _KindLoader:
    """Loads kinds of files and notes their loaded items."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self.functions: list[str] = []
        self.kinds: dict[str, dict[str, Any]] = {}

    def save_and_load_kinds(
        self, algorithm: str, training: TrainingWithFiles, job: dict[str, Any]
    ) -> None:
        """Save and load the requested kinds of one training."""
        trained: Any = None
        lost: dict[str, Any] = {}
        named = job.get("kinds") or [kind.name for kind in training.kinds]
        requested = {*named} & {*training.stored} if job.get("stored") else {*named}
        kinds = [kind for kind in training.kinds if kind.name in requested]
        if job["write"] and kinds:
            trained, lost = self._call_or_describe_error(
                "write", training.train, _make_small_environment, _SEED
            )
        for kind in kinds:
            folder = os.path.join(job["files"], kind.name)
            failed = lost
            if job["write"] and not lost:
                with _fix_time_in_archives() if job.get("stored") else contextlib.nullcontext():
                    failed = self._call_or_describe_error(
                        "write", _save_files_of_kind, kind, trained, folder
                    )[1]
            elif not job["write"] and not os.path.isdir(folder):
                failed = {"unsupported": "there is no such file"}
            answer = failed or self.load_with_trust_if_needed(kind, folder, job)
            self.kinds[kind.name] = {"way": kind.way, "algorithm": algorithm, **answer}

    def load_with_trust_if_needed(
        self, kind: FileKind, folder: str, job: dict[str, Any]
    ) -> dict[str, Any]:
        """Load a file several times; return the items of each time, or the first error.

        PyTorch since 2.6 refuses files that hold more than numbers. Framework versions that do not
        expect this fail on their own files. For these, the usual workaround of users is applied.
        """
        trusted = kind.name in job["trusted"]
        answer = self._load_and_list_rows(kind, folder, job, trusted)
        if job["write"] and _WEIGHTS_ONLY in answer.get("error", ""):
            trusted = True
            answer = self._load_and_list_rows(kind, folder, job, trusted)
        return {**answer, "trusted": trusted}

    def _load_and_list_rows(
        self, kind: FileKind, folder: str, job: dict[str, Any], trusted: bool
    ) -> dict[str, Any]:
        rows: list[list[Row]] = []
        with mock.patch.dict(os.environ, {_TRUST: "1"} if trusted else {}):
            for _ in range(job["times"]):
                loaded, failed = self._call_or_describe_error("load", _load_kind, kind, folder)
                if failed:
                    return failed
                rows.append([])
                _, failed = self._call_or_describe_error(
                    "use", self._note_items_of_loaded_file, kind, loaded, job["again"], rows[-1]
                )
                if failed:
                    return {"items": rows, **failed}
        return {"items": rows}

    def _call_or_describe_error(
        self, when: str, work: Callable[..., Any], *arguments: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Call ``work``; return its result and an empty row, or None and a row on its error."""
        try:
            with isolate_random_generators(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return work(*arguments), {}
        except Unsupported as reason:
            return None, {"unsupported": str(reason)}
        except Exception as error:  # whatever the foreign code raises is the finding
            origin = error_origin.describe_error_for_header(error, self._places)
            # what is missing in a state follows in the lines below
            text = " ".join(_COLOUR.sub("", str(error)).split())
            message = f"{origin['type']}: {text}"[:_MESSAGE]
            return None, {"error": message, "at": origin["at"] or origin["by"], "when": when,
                          "raised_by_framework": bool(origin["at"])}  # fmt: skip

    def _note_items_of_loaded_file(
        self, kind: FileKind, loaded: Any, again: bool, rows: list[Row]
    ) -> None:
        """Note items of a loaded file and its use; with ``again`` also after reloading a copy."""
        rows.extend(self._list_rows_of_items(kind.state(loaded)))
        if not again:
            rows.extend(self._list_rows_of_items(kind.go_on(loaded)))
            return
        with tempfile.TemporaryDirectory() as copy:
            kind.save(loaded, os.path.join(copy, kind.file))
            rows.extend(self._list_rows_of_items(kind.go_on(loaded)))
            loaded = _load_kind(kind, copy)
            for items in (kind.state(loaded), kind.go_on(loaded)):
                rows.extend(self._list_rows_of_items(items, "saved again: "))

    def _list_rows_of_items(self, items: Any, before: str = "") -> Iterator[Row]:
        for name, value, function in items:
            number = self._number_function(function)
            for path, words, numbers in saved_items.describe_items(name, value):
                yield before + path, words, number, numbers

    def _number_function(self, function: Any) -> int:
        name = _format_place_of_function(function, self._places)
        if name not in self.functions:
            self.functions.append(name)
        return self.functions.index(name)


def _format_place_of_function(function: Any, places: Places) -> str:
    """Return the place of a function: "file:line name"."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = str(getattr(function, "__qualname__", type(function).__name__))
    if code is None:
        return name
    file = places.find_path_below_root(code.co_filename) or os.path.basename(code.co_filename)
    return f"{file}:{code.co_firstlineno} {name}"


def _fix_time_in_archives() -> Any:
    """Fix the time in zip archives, so that equal content gives equal bytes."""
    clock = types.SimpleNamespace(time=lambda: 0.0, localtime=lambda _: time.gmtime(1e9))
    return mock.patch.object(zipfile, "time", clock)


def _make_small_environment(discrete: bool = False) -> Any:
    return MixedEndsEnv(discrete=discrete)


def _load_kind(kind: FileKind, folder: str) -> Any:
    return kind.load(_make_small_environment, os.path.join(folder, kind.file))


def _save_files_of_kind(kind: FileKind, trained: Any, folder: str) -> None:
    # an interrupted process may have left one
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        kind.save(kind.of(trained), os.path.join(folder, kind.file))
    except BaseException:
        shutil.rmtree(folder)
        raise


if __name__ == "__main__":
    sys.exit(answer_job_of_file(save_and_load, sys.argv[1:]))
