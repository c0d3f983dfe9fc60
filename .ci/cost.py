"""Runs a command, and fails when it took more CPU time than a fifth above its budget.

    python .ci/cost.py BUDGET COMMAND...

Everything that the command starts counts, servers that outlive their starter too. The budget is in
multiples of a loop that is timed again and again while the command runs, so that a slow or a busy
machine is not red.
"""

from __future__ import annotations

import ctypes
import os
import resource
import statistics
import subprocess
import sys
import time

_PR_SET_CHILD_SUBREAPER = 36
#: seconds between two loops, each of which takes a tenth of a second or two.
_PAUSE = 10.0


def _loop_seconds() -> float:
    """Return the CPU seconds of the loop."""
    begun = time.process_time()
    total = 0
    for number in range(2_000_000):
        total += number % 7
    return time.process_time() - begun


def main(budget: float, command: list[str]) -> int:
    """Return the exit code of the command, or 1 where it cost too much."""
    # whose starter has ended becomes a child of this process, which can wait for it
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    begun = time.monotonic()
    loops = [_loop_seconds()]
    with subprocess.Popen(command) as process:
        while True:
            try:
                code = process.wait(timeout=_PAUSE)
                break
            except subprocess.TimeoutExpired:
                loops.append(_loop_seconds())
    seconds = time.monotonic() - begun
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_seconds = used.ru_utime + used.ru_stime
    loop = statistics.median(loops)
    cost = cpu_seconds / loop
    print(
        f"== {seconds:.0f} s, {cpu_seconds:.0f} CPU seconds: {cost:.0f} reference loops of "
        f"{loop:.3f} s, budget {budget:.0f}"
    )
    if cost > 1.2 * budget:
        print(f"ERROR: that is {cost / budget:.2f} times the budget, and at most 1.2 is allowed")
        return code or 1
    return code


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
