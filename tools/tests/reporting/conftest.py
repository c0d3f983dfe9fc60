"""Gates on simulated nights, for the tests of their pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rlregress.cli import check as gate_command
from rlregress.gate import gate_run
from rlregress.gate_options import GateOptions

from . import simulated

#: two cells that a gate judges alone and together, and no other framework
PPO = "sb3-ppo-Hopper-v4-short,sb3-ppo-InvertedPendulum-v4-short"


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, Path]]:
    """Judge SB3 by a simulated night; exit code, page, and folder of the report.

    Called with the shares that cells lose, with the beginning of ids of details that are not
    asked, with further entries of the evidence, and with the cells.
    """

    def judged(
        lost: Mapping[str, float] | None = None,
        without: str = "no detail",
        more: Sequence[Mapping[str, Any]] = (),
        cells: str = PPO,
        frameworks: str | None = "sb3",
        in_brief: bool = False,
    ) -> tuple[int, str, Path]:
        def evidence(options: GateOptions) -> None:
            session = gate_run.session_of(options)
            known = {cell.id: stored for cell, stored in session.stored.items()}
            found = simulated.of_details(without, frameworks) + simulated.of_runs(known, lost or {})
            text = json.dumps({"schema": 1, "tests": [*found, *more]})
            options.evidence.write_text(text)
            options.junit.write_text("<testsuites/>")

        monkeypatch.setattr(gate_run, "run", evidence)
        report = tmp_path / "report"
        options = GateOptions(
            report=report, store=str(tmp_path / "runs"), cells=cells, frameworks=frameworks
        )
        code = gate_command.judge(options, in_brief)
        return code, (report / "report.html").read_text("utf-8"), report

    return judged
