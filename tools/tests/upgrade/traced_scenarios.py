"""Trace the trainings of a framework in one process, each in a fork of it.

``python traced_scenarios.py FRAMEWORK FOLDER [TITLE ...]``: without titles all of them.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

import torch

from rlregress import frameworks
from rlregress.inside.trace_worker import record_job_to_trace
from rlregress.upgrade.evidence import compared_trainings


def main(framework, folder, *titles):
    """Write a trace for each title into the folder."""
    adapter = frameworks.get_adapter(framework)
    trainings = list(adapter.list_trace_trainings())
    if unknown := [title for title in titles if title not in trainings]:
        sys.exit(f"no title {', '.join(unknown)}; of {framework} there are: {', '.join(trainings)}")
    # what every fork would import for itself
    torch.optim.Adam(torch.nn.Linear(1, 1).parameters())
    for title in titles or trainings:
        job = {**compared_trainings.make_built_in_training(adapter, title).job, "lines": True}
        child = os.fork()
        if child == 0:
            try:
                record_job_to_trace({**job, "output": str(Path(folder) / title)})
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        if os.waitpid(child, 0)[1]:
            sys.exit(f"no trace of {title}")


if __name__ == "__main__":
    main(*sys.argv[1:])
