"""Compares the machines of new runs with those of the stored runs."""

from __future__ import annotations

from collections import Counter

from rlregress.check.session import Session
from rlregress.inside import machine


def describe_other_machines(session: Session) -> list[str]:
    """Describe every class of machine of new runs that differs from that of their stored runs.

    Fields that only one of the two has are not compared: older runs lack some. Failed runs without
    a platform are skipped.
    """
    runs: Counter[tuple[str, str]] = Counter()
    for cell, stored in session.stored.items():
        expected = stored.platform
        for run_record in map(session.store.find_record, session.list_jobs_of_cell(cell)):
            new = run_record["platform"] if run_record is not None else {}
            compared_fields = [
                name for name in machine.FIELDS if name in expected and new.get(name)
            ]
            if any(new[name] != expected[name] for name in compared_fields):
                runs[
                    machine.format_machine_in_words(new, compared_fields),
                    machine.format_machine_in_words(expected, compared_fields),
                ] += 1
    return [
        f"{count} new runs come from another class of machine ({new}) than the stored runs that "
        f"they are judged by ({stored}); confirm a change on machines of one class"
        for (new, stored), count in sorted(runs.items())
    ]
