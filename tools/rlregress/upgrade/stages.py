"""The stages of an upgrade gate: fingerprints, traces, physics, each in both environments."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rlregress.details import catalogue
from rlregress.details.judge import judge
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.tracing import run, trace
from rlregress.tracing.compare import Comparison, compare
from rlregress.tracing.run import Side
from rlregress.tracing.trace import Trace

#: environments whose physics is compared where gymnasium or mujoco changes.
ENVIRONMENTS = (
    "CartPole-v1", "Pendulum-v1", "MountainCarContinuous-v0", "Acrobot-v1", "InvertedPendulum-v4",
    "InvertedDoublePendulum-v4", "Reacher-v4", "Swimmer-v4", "Hopper-v4", "HalfCheetah-v4",
    "Walker2d-v4", "Ant-v4", "InvertedPendulum-v5", "Hopper-v5", "HalfCheetah-v5", "Walker2d-v5",
    "Ant-v5", "Humanoid-v5",
)  # fmt: skip
PHYSICS_STEPS = 200


def _ask(side: Side, module: str, job: Mapping[str, Any]) -> Any:
    with TemporaryDirectory(prefix="rlregress-ask-") as folder:
        given, answered = Path(folder) / "job.json", Path(folder) / "answers.json"
        given.write_text(json.dumps(job), encoding="utf-8")
        ended = subprocess.run(
            [side.python, "-W", "ignore", "-m", module, str(given), str(answered)],
            env=side.environment(),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode or not answered.is_file():
            said = (ended.stderr.strip().splitlines() or ["nothing was said"])[-1]
            raise UserError(f"side {side.label} gave no answers: {said}")
        return json.loads(answered.read_text(encoding="utf-8"))


# -- fingerprints --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fingerprint:
    """What one side's probes observed.

    Attributes:
        found: (detail id, scope) -> variant, or why there is none.
        observed: the same keys -> vector, or None.
    """

    versions: Mapping[str, str]
    found: Mapping[tuple[str, str], str]
    observed: Mapping[tuple[str, str], tuple[float, ...] | None]


def fingerprint(side: Side, adapter: Adapter) -> Fingerprint:
    """Ask every detail on a side; judged here."""
    inputs = {
        detail.id: {
            key: value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in detail.inputs.items()
        }
        for detail in catalogue.all_details()
    }
    answers = _ask(side, "rlregress.frameworks.ask", {"framework": adapter.name, "inputs": inputs})
    found: dict[tuple[str, str], str] = {}
    observed: dict[tuple[str, str], tuple[float, ...] | None] = {}
    for cell, answer in answers["observed"].items():
        id, _, scope = cell.partition(" ")
        if "error" in answer:
            found[id, scope], observed[id, scope] = f"could not be probed: {answer['error']}", None
            continue
        found[id, scope] = judge(catalogue.get(id), answer["observed"]).found
        observed[id, scope] = tuple(answer["observed"])
    return Fingerprint(answers["versions"], found, observed)


@dataclass(frozen=True)
class ChangedDetail:
    """A detail that is not done alike on both sides."""

    id: str
    scope: str
    a: str
    b: str

    @property
    def consequence(self) -> str:
        """What it means for a training."""
        return catalogue.get(self.id).consequence


def changed_details(a: Fingerprint, b: Fingerprint) -> list[ChangedDetail]:
    """Details whose variant differs, and those that only one side could be asked."""
    cells = sorted(set(a.found) | set(b.found))
    missing = "not asked: no such probe on this side"
    pairs = [(cell, a.found.get(cell, missing), b.found.get(cell, missing)) for cell in cells]
    return [ChangedDetail(*cell, one, other) for cell, one, other in pairs if one != other]


# -- traces --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Traced:
    """An algorithm on both sides.

    Attributes:
        repeats: side A's trace repeats itself to the bit; otherwise nothing is proved.
        failures: side label -> how its training ended in an error.
    """

    algorithm: str
    comparison: Comparison
    a: Trace
    b: Trace
    repeats: bool
    notes: tuple[str, ...]
    failures: Mapping[str, str]


def _recorded(job: Mapping[str, Any], path: Path, side: Side) -> Trace:
    """The trace in ``path`` if an interrupted gate has left it there, or a new one."""
    if path.is_file():
        try:
            return trace.load(path)
        except UserError:
            path.unlink()
    return run.record(job, path, side)


def traced(adapter: Adapter, algorithm: str, a: Side, b: Side, folder: Path) -> Traced:
    """Record an algorithm's built-in training twice on side A and once on side B."""
    job = {"framework": adapter.name, "algorithm": algorithm, "seed": 0}
    name = f"{adapter.name}-{algorithm}"
    first = _recorded(job, folder / f"{name}-a.trace", a)
    again = _recorded(job, folder / f"{name}-a2.trace", a)
    other = _recorded(job, folder / f"{name}-b.trace", b)
    repeated = run.Repeated(first, compare(first, again), again)
    failures = {side.label: t.failure for side, t in ((a, first), (b, other)) if t.failure}
    return Traced(
        algorithm,
        compare(first, other),
        first,
        other,
        repeated.repeats,
        tuple(repeated.lines()),
        failures,
    )


def algorithms(adapter: Adapter, side: Side) -> list[str]:
    """The algorithms that have a built-in training."""
    del side
    return list(adapter.trace_trainings())


# -- physics -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moved:
    """An environment on both sides.

    Attributes:
        step: the first step at which the sides differ, from 0 for the reset; None: they do not.
        largest: largest absolute difference of an observation or a reward from there on.
        note: why there is no comparison.
    """

    environment: str
    step: int | None
    at_first: float = 0.0
    largest: float = 0.0
    note: str = ""


def physics(a: Side, b: Side, environments: Sequence[str] = ENVIRONMENTS) -> list[Moved]:
    """Play fixed actions on both sides."""
    job = {"environments": list(environments), "steps": PHYSICS_STEPS}
    one, other = (_ask(side, "rlregress.tracing.physics", job) for side in (a, b))
    return [_moved(id, one[id], other[id]) for id in environments]


def _moved(id: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Moved:
    if "error" in a or "error" in b:
        if "error" in a and "error" in b:
            return Moved(id, None, note="on neither side")
        side = "A" if "error" in a else "B"
        return Moved(id, None, note=f"not on side {side}: {(a if side == 'A' else b)['error']}")
    for step, (row, row_b) in enumerate(zip(a["rows"], b["rows"], strict=False)):
        if row != row_b:
            if len(row) != len(row_b):
                return Moved(id, step, note="the observations have another shape")
            rest = zip(a["rows"][step:], b["rows"][step:], strict=False)
            gaps = [max(abs(x - y) for x, y in zip(*rows, strict=True)) for rows in rest]
            return Moved(id, step, gaps[0], max(gaps))
    if len(a["rows"]) != len(b["rows"]):
        return Moved(id, min(len(a["rows"]), len(b["rows"])), note="episodes end elsewhere")
    return Moved(id, None)


def python_of(side: Side) -> str:
    """The version of a side's interpreter."""
    if side.python == sys.executable:
        return ".".join(map(str, sys.version_info[:3]))
    command = [side.python, "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
