"""Whether new runs come from machines of the class that the stored runs come from."""

from __future__ import annotations

from collections import Counter

from rlregress.gate.session import Session
from rlregress.inside import machine


def other_machines(session: Session) -> list[str]:
    """A sentence for every class of machine that new runs come from and their stored ones do not.

    What only one of the two says of its machine is not compared, as runs were stored before all of
    it was noted; nor is a failed run that says nothing.
    """
    runs: Counter[tuple[str, str]] = Counter()
    for cell, stored in session.stored.items():
        expected = stored.platform
        for found in map(session.store.find_record, session.jobs(cell)):
            new = found["platform"] if found is not None else {}
            known = [name for name in machine.FIELDS if name in expected and new.get(name)]
            if any(new[name] != expected[name] for name in known):
                runs[machine.text(new, known), machine.text(expected, known)] += 1
    return [
        f"{count} new runs come from another class of machine ({new}) than the stored runs that "
        f"they are judged by ({stored}); confirm a change on machines of one class"
        for (new, stored), count in sorted(runs.items())
    ]
