"""Whether new runs come from machines of the class that the stored runs come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rlregress.gate.session import Session


def _class(cpu: str, python: str, threads: int) -> str:
    return f"{cpu or 'an unknown processor'}, Python {python}, threads: {threads}"


def _of_record(platform: Mapping[str, Any]) -> str:
    given = platform.get("cpu", ""), platform.get("python", ""), platform.get("torch_threads", 0)
    return _class(*given)


def other_machines(session: Session) -> list[str]:
    """A sentence for every class of machine that new runs come from and their stored ones do not.

    A failed run that says nothing of its machine is not counted.
    """
    runs: Counter[tuple[str, str]] = Counter()
    for cell, stored in session.stored.items():
        of = stored.provenance
        expected = _class(of.get("cpu", ""), of.get("python", ""), of.get("threads", 0))
        for found in map(session.store.find, session.jobs(cell)):
            if found is not None and found["platform"]:
                runs[_of_record(found["platform"]), expected] += 1
    return [
        f"{count} new runs come from another class of machine ({new}) than the stored runs that "
        f"they are judged by ({stored}); confirm a change on machines of one class"
        for (new, stored), count in sorted(runs.items())
        if new != stored
    ]
