"""What the processes of a session do, and what may happen to them."""

from __future__ import annotations

import tomllib
from contextlib import contextmanager

import tomli_w

from rlregress.gate import baseline_runs, session_planning
from rlregress.gate.judging import explain_not_needed, judge_session
from rlregress.gate.session import open_session


class Ended(BaseException):
    """The session is ended from outside."""


def work(session, jobs):
    """What the tests of a worker process do: every run in turn, unless it is not needed."""
    reasons = []
    for job in jobs:
        reason = explain_not_needed(session, job)
        reasons.append(reason)
        if not reason:
            session.run_job(job)
    return reasons


def open_stored(selection, store, seeds=0, *options, **named):
    """Open a session of cells, with its runs below a folder."""
    return open_session(selection, seeds, str(store), *options, **named)


def plan(selection, store, seeds=0, **options):
    """Plan a session of cells, with its runs below a folder."""
    return session_planning.plan_session(selection, seeds, str(store), **options)


def run_whole_session(stored_selection, store):
    """One process from the first run to the verdicts."""
    session = open_stored(stored_selection, store)
    work(session, session.ordered_jobs())
    return judge_session(session)


@contextmanager
def edited_baseline(cell):
    """Give what is stored of a cell to be edited, and store it again."""
    path = baseline_runs.baseline_path(cell)
    content = tomllib.loads(path.read_text())
    yield content
    path.write_text(tomli_w.dumps(content))


def with_three_runs(cell):
    """Leave three of the stored runs of a cell."""
    with edited_baseline(cell) as content:
        content |= {"run": content["run"][:3], "seeds": 3}
