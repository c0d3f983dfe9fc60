"""Which lines a built-in training reaches: ``python -m rlregress.tracing.lines JOB``.

Runs inside foreign and old environments: standard library, NumPy, torch, gymnasium and what is
traced only, Python 3.9 syntax. What counts are the lines of the functions that the training enters.
"""

from __future__ import annotations

import dis
import json
import sys
from types import CodeType
from typing import Any, Dict, List, Set, Tuple

import torch

from rlregress import frameworks
from rlregress.tracing.events import Places
from rlregress.tracing.toys import Ends


def own_lines(code: CodeType) -> Set[int]:
    """Executable lines of a code object, without those of the functions inside it."""
    lines = {line for _, line in dis.findlinestarts(code) if line}
    # the line of the definition is no step of its own
    return lines - {code.co_firstlineno} if code.co_name != "<module>" else lines


def reached(job: Dict[str, Any]) -> Dict[str, Tuple[List[int], List[int]]]:
    """File below its root -> lines reached, and all lines of the functions that were entered."""
    torch.set_num_threads(1)
    adapter = frameworks.get(job["framework"])
    places = Places(adapter.code_folders())
    training = adapter.trace_trainings()[job["algorithm"]]
    hit: Dict[str, Set[int]] = {}
    entered: Set[CodeType] = set()

    def watch(frame: Any, event: str, _: Any) -> Any:
        code = frame.f_code
        if event == "call":
            if places.name(code.co_filename) is None:
                return None
            # a script is a module that is run; any other module only defines things
            if code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
                return None
            entered.add(code)
        elif event == "line":
            hit.setdefault(code.co_filename, set()).add(frame.f_lineno)
        return watch

    sys.settrace(watch)
    try:
        training(lambda discrete=False: Ends(discrete), int(job.get("seed", 0)))
    finally:
        sys.settrace(None)
    every: Dict[str, Set[int]] = {}
    for code in entered:
        every.setdefault(code.co_filename, set()).update(own_lines(code))
    return {
        str(places.name(file)): (sorted(lines & hit.get(file, set())), sorted(lines))
        for file, lines in every.items()
        if lines
    }


def main(arguments: List[str]) -> int:
    """Entry point."""
    with open(arguments[0], encoding="utf-8") as file:
        job = json.load(file)
    found = reached(job)
    with open(job["output"], "w", encoding="utf-8") as file:
        json.dump(found, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
