"""What the processes of a session do, and what may happen to them."""

from __future__ import annotations

import tomllib

import tomli_w

from rlregress.gate import baseline_runs
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


def run_whole_session(stored_selection, store):
    """One process from the first run to the verdicts."""
    session = open_session(stored_selection, 0, str(store))
    work(session, session.ordered_jobs())
    return judge_session(session)


def with_three_runs(cell):
    """Leave three of the stored runs of a cell."""
    content = tomllib.loads(baseline_runs.baseline_path(cell).read_text())
    content |= {"run": content["run"][:3], "seeds": 3}
    baseline_runs.baseline_path(cell).write_text(tomli_w.dumps(content))
