"""Lines that a session of pytest prints in addition to pytest's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlregress.report import words


def list_lines_of_session_verdicts(verdicts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the verdicts of a session, by cell and group; empty without any."""
    lines = words.format_verdicts(verdicts)
    return ["", "verdicts on returns and secondary quantities", *lines] if lines else []


def describe_interrupted_session(store: Path) -> str:
    """Describe the results kept from an interrupted session."""
    return (
        f"interrupted; finished trainings are kept in {store}, and the same command continues "
        "from there"
    )


def suggest_when_all_tests_are_excluded(options: Sequence[str]) -> str:
    """Suggest how to proceed when the options exclude every test.

    Args:
        options: those that select among the tests, with their values.
    """
    return (
        f"no test is left after {', '.join(options)}: no test of the named files fits all of them; "
        "leave one of these options out, or name other files or folders, such as tests_unit"
    )


def suggest_when_no_tests_exist(paths: Sequence[str]) -> str:
    """Suggest how to proceed when no tests exist and no option excluded any.

    Args:
        paths: files and folders, as they were given.
    """
    return (
        f"no test was collected from {', '.join(paths)}: it holds no tests; name other files or "
        "folders, such as tests_unit, tests_behavior or tests_performance"
    )


def describe_recorded_run(record: Mapping[str, Any], done: int, total: int) -> str:
    """Describe a recorded run in one line."""
    return (
        f"[{done}/{total}] {record['cell']} seed {record['seed']}: {record['status']}, return "
        f"{record['final_return']}{words.describe_critic(record.get('critic'))}"
    )


def describe_finished_run(entry: dict[str, Any], ended: int, total: int) -> str:
    """Describe a finished run in one line.

    Args:
        ended: runs that have ended.
        total: runs if every cell comes to the last look.
    """
    record = entry["record"]
    spent = record["time"].get("wall_seconds", 0.0)
    rate = record["time"].get("steps_per_cpu_second")
    returned = words.format_return(record["final_return"])
    return (
        f"[{ended}/{total}] {record['cell']} seed {record['seed']}: {record['status']}, return "
        f"{returned}{words.describe_critic(record.get('critic'))}, {spent:.0f} s at "
        f"{rate or 0:.0f} steps per CPU second"
    )
