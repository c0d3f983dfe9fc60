"""Hostile contents and file types in place of a file."""

from __future__ import annotations

import gzip
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rlregress.cluster import manifest
from rlregress.training.cell import Cell, Job, Protocol
from rlregress.training.lease import describe_this_process
from rlregress.training.store import Store
from tools.tests.training.test_records import content

#: a file as a whole
CONTENTS = {
    "empty": b"", "binary": bytes(range(256)) * 4, "no UTF-8": b"\xff\xfe{}", "a null": b"null",
    "a list": b"[]", "a table": b"{}", "deep": b"[" * 100_000, "deep table": b'{"a":' * 100_000,
    "a long line": b'"' + b"x" * 3_000_000, "many digits": b"9" * 100_000,
    "aliases": b"a0: &a0 [x]\n"
    + b"".join(b"a%d: &a%d [%s*a0]\n" % (n, n, b"*a%d, " % (n - 1) * 9) for n in range(1, 30)),
    "tags": b"a: !!int ''\n", "no day": b"a: 2026-99-99\n", "large": b"- x\n" * 2_000_000,
    "a recursion": b"&a [*a]\n", "3 GB": gzip.compress(bytes(1 << 20), 1) * 3000,
}  # fmt: skip

KEY_OF = ("sb3", "ppo", "InvertedPendulum-v4", "sb3", "smoke")
_RUN = Job(Cell(*KEY_OF), 0, Protocol(512, 256, 2), {"discount": 0.9}, {"torch": "2"}, {"m": "a"})
(JOB,) = _RUN.make_jobs_of_seeds([1000])


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes:
        name: of the kind.
        path: where it lies below the folder that commands are given.
        commands: what reads it; ``{folder}`` and ``{file}`` stand for the names.
        add_context: makes the other files of the folder.
    """

    name: str
    path: str
    commands: tuple[str, ...]
    add_context: Callable[[Path], object] = lambda folder: None


_LEASE = f"{JOB.name}.lease"


def _add_lease(folder: Path, **fields: str) -> None:
    path = folder / _LEASE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(replace(describe_this_process(), **fields))))


def _add_record(folder: Path) -> None:
    (folder / JOB.name).parent.mkdir()
    Store(folder).put_record_of_attempt(JOB, content(JOB), "one")


def write_manifest(folder: Path) -> Path:
    """Write a sound manifest of one run; its path."""
    return manifest.write_manifest_of_jobs([(JOB, 1.0)], folder).path


_READ_STORE = (
    "runs status --store {folder}",
    "runs status --verify --store {folder}",
    "runs merge {folder} -o {out}",
)
_READ_LIST = ("runs status --manifest {file} --store {out}",
                "runs status --verify --manifest {file} --store {out}",
                "runs run --manifest {file} --index 0 --store {out}",
                "runs launch --manifest {file} --store {out}")  # fmt: skip
FORMATS = (
    Format("record", f"{JOB.name}.json",
           (*_READ_STORE, "study rank --store {folder} --budget smoke --report {out}",
            "runs status --watch --store {folder}")),
    Format("lease", _LEASE, _READ_STORE[:2]),
    Format("progress", f"{JOB.name}.attempts/host-1-ab/record.progress", _READ_STORE[:1],
           lambda folder: _add_lease(folder, attempt="host-1-ab", machine="")),
    Format("checkpoint", f"{JOB.name}.checkpoint", _READ_STORE[:1],
           lambda folder: _add_lease(folder, ended="stopped")),
    Format("why a run failed", f"{JOB.name}.failed", _READ_STORE[:1], _add_record),
    Format("manifest", "runs.jsonl", _READ_LIST),
    Format("night", "0/verdict.json", ("trend {folder} --report {out}",)),
    Format("trace", "run.trace", ("diff {file} {file}",)),
    Format("CSV", "runs.csv", ("study rank {file} --report {out}",)),
    Format("accepted entries", "accepted.toml",
           ("upgrade {package}==0.0.1 installed --accepted {file} --report {out}",)),
    Format("lock file", "lock.txt", ("upgrade {file} installed --report {out}",)),
)  # fmt: skip


def fifo(path: Path) -> None:
    """A pipe into which nobody writes."""
    os.mkfifo(path)


def _device(number: int) -> Callable[[Path], None]:
    """Return a function that links to a character device of memory."""

    def link_to_device(path: Path) -> None:
        node = path.with_name(f".device-{number}")
        with suppress(FileExistsError):
            try:
                os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, number))
            except PermissionError:
                node.symlink_to({5: "/dev/zero", 7: "/dev/full"}[number])
        path.symlink_to(node)

    return link_to_device


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _closed(path: Path) -> None:
    path.write_bytes(b"{}")
    path.chmod(0)


#: what may be there in the place of a file
PLACES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "a folder": lambda path: path.mkdir(),
    "a pipe": fifo,
    "an endless device": _device(5),
    "a full device": _device(7),
    "a loop of links": _loop,
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a closed file": _closed,
}


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, which may read whatever is closed."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)
