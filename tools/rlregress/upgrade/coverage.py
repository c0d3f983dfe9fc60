"""What an acquittal covers: which lines of the algorithm the built-in training has reached."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rlregress.frameworks.base import Adapter
from rlregress.tracing.run import Side


@dataclass(frozen=True)
class Reached:
    """Lines of the functions that the built-in training enters.

    Attributes:
        shares: side label -> share of executable lines reached.
        missed: side B's files -> ranges of lines that were not reached, "12-14, 20".
    """

    shares: Mapping[str, float]
    missed: Mapping[str, str]


def _lines(side: Side, adapter: Adapter, algorithm: str) -> dict[str, tuple[set[int], set[int]]]:
    with TemporaryDirectory(prefix="rlregress-lines-") as folder:
        job, output = Path(folder) / "job.json", Path(folder) / "lines.json"
        given = {"framework": adapter.name, "algorithm": algorithm, "seed": 0}
        job.write_text(json.dumps({**given, "output": str(output)}), encoding="utf-8")
        ended = subprocess.run(
            [side.python, "-W", "ignore", "-m", "rlregress.tracing.lines", str(job)],
            env=side.environment(),
            cwd=folder,
            capture_output=True,
            check=False,
        )
        if ended.returncode or not output.is_file():
            return {}
        found = json.loads(output.read_text(encoding="utf-8"))
    return {file: (set(hit), set(all_)) for file, (hit, all_) in found.items()}


def reached(adapter: Adapter, algorithm: str, a: Side, b: Side) -> Reached:
    """Run the built-in training on both sides with lines counted."""
    shares, missed = {}, {}
    for side in (a, b):
        lines = _lines(side, adapter, algorithm)
        executable = sum(len(every) for _, every in lines.values())
        hit = sum(len(done) for done, _ in lines.values())
        shares[side.label] = hit / executable if executable else 0.0
        missed = {file: ranges(every - done) for file, (done, every) in sorted(lines.items())}
    return Reached(shares, {file: text for file, text in missed.items() if text})


def ranges(lines: set[int]) -> str:
    """Line numbers as ranges."""
    found: list[list[int]] = []
    for line in sorted(lines):
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)
