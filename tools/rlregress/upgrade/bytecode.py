"""Bytecode of the packages of an overlay, compiled once a package and linked into every overlay.

Recordings keep no bytecode of their own, and a gate starts dozens of processes: each would compile
NumPy, pandas and gymnasium anew, which takes longer than to import them.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rlregress.upgrade import cached_folders, distribution_metadata, interpreters

#: modules for which processes of their own pay.
_MANY = 100


def keep(overlay: Path, python: str = "") -> None:
    """Give every module in an overlay its bytecode.

    Args:
        python: the interpreter that runs them; empty: the one that runs this.
    """
    distributions = distribution_metadata.in_folder(overlay).values()
    stores = {_store(overlay, x, python): [*_modules(overlay, x)] for x in distributions}
    new = {
        store: paths
        for store, paths in stores.items()
        if cached_folders.read_ready_record(store) is None
    }
    _compile([path for paths in new.values() for path in paths], python)
    for store, paths in stores.items():
        compiled = [(path, _compiled(path, python)) for path in paths]
        if store in new:
            _fill(store, [(store / p.relative_to(overlay), p) for _, p in compiled if p.exists()])
            continue
        for _, path in compiled:
            stored = store / path.relative_to(overlay)
            if stored.exists() and not path.exists():
                path.parent.mkdir(exist_ok=True)
                os.link(stored, path)


def _store(overlay: Path, distribution: importlib.metadata.Distribution, python: str) -> Path:
    """Return the folder of a package's bytecode, for files of one time of unpacking."""
    first = next(_modules(overlay, distribution), overlay)
    unpacked = first.stat().st_mtime_ns
    own = distribution_metadata.name_of(distribution)
    name = f"{interpreters.tag(python)}-{own}-{distribution.version}-{unpacked}"
    return cached_folders.cache() / "bytecode" / name


def _modules(overlay: Path, distribution: importlib.metadata.Distribution) -> Iterator[Path]:
    """The modules of a package, without its tests."""
    for path in distribution.files or ():
        module_path = overlay / path
        if path.suffix == ".py" and "tests" not in path.parts and module_path.is_file():
            yield module_path


def _compiled(path: Path, python: str) -> Path:
    return path.parent / "__pycache__" / f"{path.stem}.{interpreters.bytecode_tag(python)}.pyc"


def _compile(paths: list[Path], python: str) -> None:
    # what cannot be compiled is found where it is imported
    workers = "0" if len(paths) > _MANY else "1"
    command = [python or sys.executable, "-m", "compileall", "-q", "-j", workers, "-i", "-"]
    path_lines = "\n".join(map(str, paths))
    subprocess.run(command, input=path_lines, text=True, capture_output=True, check=False)


def _fill(store: Path, pairs: list[tuple[Path, Path]]) -> None:
    def make(target: Path) -> dict[str, Any]:
        for stored, path in pairs:
            target_path = target / stored.relative_to(store)
            target_path.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, target_path)
        return {"modules": len(pairs)}

    cached_folders.make_once(store, make)
