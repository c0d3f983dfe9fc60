"""Runs a worker process: reads a job from one JSON file, and writes the answer to another."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from rlregress.errors import UserError


def answer_job_of_file(
    find_answer: Callable[[dict[str, Any]], Any], arguments: Sequence[str]
) -> int:
    """Answer the job in the first file; write the answer to the second; return the exit status."""
    with open(arguments[0], encoding="utf-8") as file:
        job = json.load(file)
    try:
        answer = find_answer(job)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    with open(f"{arguments[1]}.new", "w", encoding="utf-8") as file:
        json.dump(answer, file)
    # a process that is ended before this leaves no answer, instead of a part of one
    os.replace(f"{arguments[1]}.new", arguments[1])
    return 0
