"""Hostile contents and file types in place of a file, and what sound ones hold."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tomli_w

from rlregress.cluster import manifest
from rlregress.inside import run_record
from rlregress.inside.events import SCHEMA
from rlregress.training.cell import Cell, Job, Protocol
from rlregress.training.lease import Holder
from tools.tests.check import night_files

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


def sealed(content: Any) -> bytes:
    """Return a record with the checksum of its content, whatever that is."""
    if not isinstance(content, dict):
        return json.dumps(content).encode()
    text = json.dumps(content, sort_keys=True)
    digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    return json.dumps({**content, "checksum": digest}).encode()


def places(sample: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value within one, itself included."""
    yield above
    if isinstance(sample, dict | list):
        for key, value in sample.items() if isinstance(sample, dict) else enumerate(sample):
            yield from places(value, (*above, key))


def replaced(sample: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return the sample with another value at a place."""
    if not place:
        return value
    copied = copy.deepcopy(sample)
    inner = copied
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return copied


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes:
        name: of the kind.
        sample: what a sound one holds.
        dump: content -> bytes.
        path: where it lies below the folder that commands are given.
        commands: what reads it; ``{folder}`` and ``{file}`` stand for the names.
        add_context: makes the other files of the folder.
    """

    name: str
    sample: Any
    dump: Callable[[Any], bytes]
    path: str
    commands: tuple[str, ...]
    add_context: Callable[[Path], object] = lambda folder: None


def _json(content: Any) -> bytes:
    return json.dumps(content).encode()


def _toml(content: Any) -> bytes:
    return tomli_w.dumps(content).encode("utf-8", "surrogatepass")


def _csv(content: Any) -> bytes:
    rows = content if isinstance(content, list) else [content]
    cells = [row if isinstance(row, list) else [row] for row in rows]
    return "\n".join(",".join(map(str, row)) for row in cells).encode("utf-8", "surrogatepass")


def _trace(content: Any) -> bytes:
    rows = content if isinstance(content, list) else [content]
    return gzip.compress("\n".join(map(json.dumps, rows)).encode(), 1)


RECORD = {
    "schema": run_record.SCHEMA, "job": {**JOB.convert_to_plain_data(), "key": JOB.key},
    "key": JOB.key,
    "status": "finished", "failure": "", "curve": [[256, [1.0, 2.0]], [512, [1.0, None]]],
    "final_return": 1.5, "episode_returns": [1.0, 2.0], "steps": 512, "parameters_sha256": "0",
    "platform": {"cpu": "EPYC", "torch_threads": 1},
    "time": {"started_at": "2026-11-23T04:16:14Z", "wall_seconds": 1.5, "cpu_seconds": 1,
             "steps_per_cpu_second": 90.0},
    "training_return": 1.0, "diagnostics": {"entropy": 1.4, "kl": None},
    "trail": {"updates": 1, "names": ["ppo.py: optimizer.step()"], "rows": ["1 0 a b c d"],
              "lines": {"ppo.py": [1, 2]}},
    "critic": {"states": 9, "bootstrapped": 0.0, "explained_variance": 0.5, "bias": 0.1,
               "finite": True, "mean": 1.0, "spread": 1.0},
    "memory": {"peak_mib": 400.5}, "curve_cpu_seconds": [[0.5, 0.25], [1.0, 0.25]],
    "episodes": [[50, 1.0, 50], [2000, None, 50]],
    "attempt": {"id": "host-1-ab", "host": "host", "slurm": {"SLURM_JOB_ID": "7"}, "restarts": 1,
                "begun_anew": "", "continued": [{"steps": 5, "attempt": "h-0", "host": "h"}]},
}  # fmt: skip
HOLDER = asdict(
    Holder("host-1-ab", "host", "boot pid", 1, 2, {"SLURM_ARRAY_TASK_ID": "3"}, 1, "stopped")
)
NIGHTS = list(night_files.nights(2, 2))
NIGHTS[0]["replays"] = {
    "sb3-ppo-Env9-v4-short": {
        "framework": "sb3", "group": "sb3-ppo", "replayed": "sb3-ppo-Env9-v4-replay", "seed": 1,
        "state": "differs", "first": "update 1, gradients",
    }
}  # fmt: skip
ENTRY = {
    "test": "tests_performance/t.py::t[x]", "tier": "performance", "outcome": "passed",
    "seconds": 1.0, "message": "", "framework": "sb3", "cell": "sb3-ppo-Env0-v4-short",
    "record": {
        "cell": "sb3-ppo-Env0-v4-short", "seed": 1000, "status": "finished", "failure": "",
        "final_return": 1.0, "steps": 9, "parameters_sha256": "sha256:ab", "platform": {"cpu": "x"},
        "time": {"started_at": "2026-11-23T04:16:14Z"}, "training_return": 1.0,
        "critic": RECORD["critic"], "diagnostics": {"kl": 0.1}, "trail": RECORD["trail"],
        "protocol": {"total_steps": 9},
        "hyperparameters": {"discount": 0.9}, "learning_curve": [[9.0, 1.0]],
    },
}  # fmt: skip
JUDGED = {
    "test": "tests_performance/t.py::r[x]", "tier": "performance", "outcome": "passed",
    "seconds": 1.0, "message": "", "framework": "sb3", "cell": "sb3-ppo-Env0-v4-short",
    "verdict": {"verdict": "holds", "interval": [0.0, 1.0], "effect": 0.5},
    "throughput": {"algorithm": "ppo", "processes": [{"ratio": 2.0}], "verdicts": {}},
    "replay": {"cell": "sb3-ppo-Env0-v4-short", "replayed": "sb3-ppo-Env0-v4-replay", "seed": 1,
               "state": "differs", "reason": "other numbers", "first": "update 1, gradients",
               "moved": "", "not_checked": "", "steps": 0, "lines": {"ppo.py": [1, 2]},
               "seconds": 1.0},
    "old_files": {"kind": "sac model", "found": ["same (2.0.0)"]},
}  # fmt: skip
EVIDENCE = {"schema": 1, "tests": [ENTRY, JUDGED]}
_PLACE = ["a.py", 7, "train"]
TRACE = [
    {"schema": SCHEMA, "failure": "", "seeded": ["numpy"], "lines": {"a.py": [[1], [1, 2]]},
     "elsewhere": [{"what": "thread", "class": "C", "file": "a.py", "line": 1, "instead": ""}]},
    {"kind": "step", "name": "env", "at": [*_PLACE, [_PLACE]],
     "parts": {"action": ["ab", 1.0, [1.0, "nan"], None, "", "float32 array 2"]}},
    {"kind": "output", "name": "net", "at": None,
     "parts": {"types": ["cd", None, [], None, "x int", ""],
               "value": ["ef", 2.0, [1.0], [1.0, 2.0], "", "float64 array 5"]}},
    {"kind": "optimizer", "name": "Adam 1", "at": [*_PLACE, []],
     "parts": {"parameters": ["ab", 1.0, [1.0], [1.0, 2.0], "", "float32 tensor 5"]}},
]  # fmt: skip


def _header(content: Any) -> bytes:
    lines = manifest._Lines()
    line = lines.format_line(JOB, 1.0) + b" \n"
    if isinstance(content, dict) and content.get("width") == "right":
        content = {**content, "width": len(line), "digest": hashlib.sha256(line).hexdigest()}
    return json.dumps(content).encode() + b"\n" + line


def _sound(folder: Path, name: str, content: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


_READ_STORE = (
    "runs status --store {folder}",
    "runs status --verify --store {folder}",
    "runs merge {folder} -o {out}",
)
_READ_NIGHTS = ("trend {folder} --report {out}",)
_READ_LIST = ("runs status --manifest {file} --store {out}",
                "runs status --verify --manifest {file} --store {out}",
                "runs run --manifest {file} --index 0 --store {out}",
                "runs launch --manifest {file} --store {out}")  # fmt: skip
_LEASE = f"{JOB.name}.lease"
_CSV_ROWS = [["implementation", "environment", "seed", "return"]] + [
    [name, "Env", seed, seed + plus] for name, plus in (("A", 0.0), ("B", 9.0)) for seed in range(5)
]
FORMATS = (
    Format("record", RECORD, sealed, f"{JOB.name}.json",
           (*_READ_STORE, "study rank --store {folder} --budget smoke --report {out}",
            "runs status --watch --store {folder}")),
    Format("lease", HOLDER, _json, _LEASE, _READ_STORE[:2]),
    Format("progress", {"steps": 5, "total_steps": 9, "wall_seconds": 1.0}, _json,
           f"{JOB.name}.attempts/host-1-ab/record.progress", _READ_STORE[:1],
           lambda folder: _sound(folder, _LEASE, _json({**HOLDER, "ended": "", "machine": ""}))),
    Format("checkpoint", {"schema": 1, "key": JOB.key, "steps": 5, "total_steps": 9,
                          "wall_seconds": 1.0, "unable": ""},
           lambda content: _json(content) + b"\nrest", f"{JOB.name}.checkpoint", _READ_STORE[:1],
           lambda folder: _sound(folder, _LEASE, _json(HOLDER))),
    Format("why a run failed", "it crashed", lambda text: str(text).encode("utf-8", "replace"),
           f"{JOB.name}.failed", _READ_STORE[:1],
           lambda folder: _sound(folder, f"{JOB.name}.json", sealed(RECORD))),
    Format("manifest", {"schema": 1, "runs": 1, "width": "right", "digest": ""}, _header,
           "runs.jsonl", _READ_LIST),
    Format("night", {"night": NIGHTS[0]}, _json, "0/verdict.json", _READ_NIGHTS),
    Format("trace", TRACE, _trace, "run.trace", ("diff {file} {file}",)),
    Format("CSV", _CSV_ROWS, _csv, "runs.csv", ("study rank {file} --report {out}",)),
    Format("accepted entries",
           {"accepted": [{"key": "0123456789abcdef", "name": "x", "note": "y"}]}, _toml,
           "accepted.toml",
           ("upgrade {package}==0.0.1 installed --accepted {file} --report {out}",)),
    Format("lock file", "numpy==1.26.4\n{package}==0.0.1\n",
           lambda text: str(text).encode("utf-8", "surrogatepass"), "lock.txt",
           ("upgrade {file} installed --report {out}",)),
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
