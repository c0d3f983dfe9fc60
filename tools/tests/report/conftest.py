"""Gates on simulated nights, for the tests of their pages."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from rlregress.check import check_run
from rlregress.check_options import CheckOptions
from rlregress.cli import check as check_command
from rlregress.report.html import svg

from . import simulated

#: two cells that a gate judges alone and together, and no other framework
PPO = "sb3-ppo-Hopper-v4-short,sb3-ppo-InvertedPendulum-v4-short"


@functools.cache
def _runs_of_ppo(losses: tuple[tuple[str, float], ...]) -> list[dict[str, Any]]:
    """Return the entries of trainings; most tests have the same runs."""
    stored = simulated.stored_cells()
    return simulated.run_entries({name: stored[name] for name in PPO.split(",")}, dict(losses))


def _empty_figure(draw: object, name: str, label: str, *_: object) -> Markup:
    """Return a figure without what takes most of a page's time."""
    return Markup('<svg role="img" aria-label="{}"></svg>').format(label)


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, Path]]:
    """Judge SB3 by a simulated night; exit code, page, and folder of the report.

    Called with the shares that cells lose, with the beginning of ids of details that are not
    asked, with further entries of the evidence, and with the cells. Figures are empty, unless they
    are asked for.
    """

    def judged(
        losses: Mapping[str, float] | None = None,
        without: str = "no detail",
        further_entries: Sequence[Mapping[str, Any]] = (),
        cells: str = PPO,
        frameworks: str | None = "sb3",
        in_brief: bool = False,
        figures: bool = False,
    ) -> tuple[int, str, Path]:
        def evidence(options: CheckOptions) -> None:
            session = check_run.open_check_session(options)
            stored_by_cell = {cell.id: stored for cell, stored in session.stored.items()}
            entries_found = simulated.detail_entries(without, frameworks)
            if cells == PPO:
                entries_found += _runs_of_ppo(tuple((losses or {}).items()))
            else:
                entries_found += simulated.run_entries(stored_by_cell, losses or {})
            text = json.dumps({"schema": 1, "tests": [*entries_found, *further_entries]})
            options.evidence.write_text(text)
            options.junit.write_text("<testsuites/>")

        monkeypatch.setattr(check_run, "run_session_and_throughput", evidence)
        if not figures:
            monkeypatch.setattr(svg, "draw_svg", _empty_figure)
        report = tmp_path / "report"
        options = CheckOptions(
            report=report, store=str(tmp_path / "runs"), cells=cells, frameworks=frameworks
        )
        code = check_command.judge_and_report_check(options, in_brief)
        return code, (report / "report.html").read_text("utf-8"), report

    return judged
