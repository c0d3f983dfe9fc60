"""Helpers that open, run and edit sessions."""

from __future__ import annotations

from rlregress.check import session_planning
from rlregress.check.judging import do_earlier_looks_and_explain_skip, train_and_judge_session
from rlregress.check.session import Session

from .stored import edited_baseline


class SessionEnded(BaseException):
    """The session is ended from outside."""


def work(session, jobs):
    """Run each job as a worker process does, unless it is not needed; return the reasons."""
    reasons = []
    for job in jobs:
        reason = do_earlier_looks_and_explain_skip(session, job)
        reasons.append(reason)
        if not reason:
            session.run_or_read_job(job)
    return reasons


def open_stored(selection, store, seeds=0, *options, **named):
    """Open a session of cells, with its runs below a folder."""
    return Session(selection, seeds, str(store), *options, **named)


def plan(selection, store, seeds=0, **options):
    """Plan a session of cells, with its runs below a folder."""
    return session_planning.plan_session(selection, seeds, str(store), **options)


def run_whole_session(stored_selection, store):
    """Run a session in one process, and return its verdicts."""
    session = open_stored(stored_selection, store)
    work(session, session.list_jobs_look_by_look())
    return train_and_judge_session(session)


def with_three_runs(cell):
    """Leave three of the stored runs of a cell."""
    with edited_baseline(cell) as content:
        content |= {"run": content["run"][:3], "seeds": 3}
