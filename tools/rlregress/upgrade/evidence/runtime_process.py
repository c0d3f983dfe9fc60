"""Runs a measurement as a process in a runtime; its job and its stored answers are JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress.errors import UserError
from rlregress.inside.run_record import write_text_atomically
from rlregress.model.recorded_traces import describe_version_label
from rlregress.trace import child_processes
from rlregress.trace.recording_processes import Runtime


def run_module_on_version(runtime: Runtime, path: Path, module: str, job: Mapping[str, Any]) -> Any:
    """Run ``python -m module job answers`` on a version and return the answers.

    Answers that ``path`` already holds are returned without a run.

    Raises:
        UserError: the process ended without answers.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        pass
    with TemporaryDirectory(prefix="rlregress-ask-") as folder:
        job_file, answered = Path(folder) / "job.json", Path(folder) / "answers.json"
        # some modules read the answer's path from their arguments, others from the job
        job_file.write_text(json.dumps({**job, "output": str(answered)}), encoding="utf-8")
        command = [runtime.python, "-W", "ignore", "-m", module, str(job_file), str(answered)]
        completed = child_processes.run_command(
            command, runtime.make_environment_variables(), folder
        )
        if completed.returncode or not answered.is_file():
            raise UserError(
                f"{describe_version_label(runtime.label)} gave no answers "
                f"({module.rpartition('.')[2]} ended with status {completed.returncode}): "
                f"{child_processes.extract_last_message(completed.stderr)}"
            )
        text = answered.read_text(encoding="utf-8")
    write_text_atomically(path, text)
    return json.loads(text)
