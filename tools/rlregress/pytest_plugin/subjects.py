"""The subject of a test: a framework, a detail, a training, or judged trainings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from rlregress import evidence as evidence_file
from rlregress import frameworks
from rlregress.catalogue import registry, requested_names
from rlregress.catalogue.implementation import Implementation
from rlregress.frameworks.base import Adapter
from rlregress.model.cells import Verdict
from rlregress.model.quantities import DIAGNOSTICS
from rlregress.model.replay_result import Replay
from rlregress.training.cell import Job
from rlregress.training.recorded_runs import RunResult

if TYPE_CHECKING:
    from rlregress.check.session import Session

#: markers of what takes long
SLOW, NIGHTLY, SAMPLED = "slow", "nightly", "two_algorithms_by_day"
#: arguments of tests that judge
JUDGED = (*(f"judged_{kind}" for kind in evidence_file.JUDGED), "replayed_cell")


@dataclass(frozen=True)
class SessionRun:
    """One run of the session."""

    session: Session
    job: Job

    def train_or_read_record(self) -> dict[str, Any]:
        """Train in a worker process unless the store has the run. Return the record.

        Skips the test if the cell was decided before the look of this run.
        """
        from rlregress.check.judging import do_earlier_looks_and_explain_skip

        if reason := do_earlier_looks_and_explain_skip(
            self.session.without_reproduced_cells, self.job
        ):
            pytest.skip(reason)
        return self.session.run_or_read_job(self.job)

    def summarize_record(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the part of a record that a report keeps."""
        return {
            "cell": self.job.cell.id,
            "seed": self.job.seed,
            "protocol": asdict(self.job.protocol),
            "hyperparameters": dict(self.job.hyperparameters),
            "platform": record["platform"],
            **asdict(RunResult.make_from_record(record)),
        }


@dataclass(frozen=True)
class JudgedSubject:
    """A cell or a group of the session, or the training returns or critics of one of these."""

    session: Session
    name: str

    def judge_subject(self) -> Verdict:
        """Return the verdict, judged with the whole session as one family."""
        verdicts = _judge_session(self.session.without_reproduced_cells)
        if self.name not in verdicts:
            pytest.skip(f"no fresh seeds: replays of {self.name} have the stored numbers")
        return verdicts[self.name]

    def replay_cell(self) -> Replay:
        [cell] = [cell for cell in self.session.replays if cell.id == self.name]
        return self.session.replay_stored_run(cell)

    def judge_diagnostics(self) -> dict[str, Verdict]:
        """Return the verdicts on logged diagnostics of the same cell or group, by name."""
        all_verdicts = _judge_session(self.session.without_reproduced_cells)
        names = [quantity.make_verdict_name(self.name) for quantity in DIAGNOSTICS.values()]
        return {name: all_verdicts[name] for name in names if name in all_verdicts}

    def explain_not_judged(self) -> dict[str, str]:
        """Return the quantities that could judge a cell but do not -> the reason."""
        matching = [cell for cell in self.session.stored if cell.id == self.name]
        return self.session.explain_unjudged_quantities(matching[0]) if matching else {}


@cache
def _judge_session(session: Session) -> dict[str, Verdict]:
    from rlregress.check.judging import train_and_judge_session

    return train_and_judge_session(session)


def get_test_parameters(item: pytest.Item) -> Mapping[str, Any]:
    """Return the parameters of a test, by argument name."""
    return getattr(getattr(item, "callspec", None), "params", {})


def get_framework_of_test(item: pytest.Item) -> str:
    """Return the framework of a test; empty if it has none."""
    params = get_test_parameters(item)
    if is_empty_parameter_set(item):
        return ""
    if "framework" in params:
        return params["framework"].full_name
    if "implementation" in params:
        return params["implementation"].adapter.full_name
    if "framework_of_claim" in params:
        return params["framework_of_claim"].full_name
    if "training" in params:
        return params["training"].job.cell.framework
    for name in JUDGED:
        if name in params:
            return params[name].session.get_framework_of_verdict(params[name].name)
    return ""


def is_empty_parameter_set(item: pytest.Item) -> bool:
    """Return whether an item replaces an empty list of parameters, such as of no judged cells."""
    params = get_test_parameters(item)
    kinds = {"framework", "framework_of_claim", "implementation", *JUDGED}
    parametrized = kinds & set(params)
    return any(
        not isinstance(params[name], JudgedSubject | Implementation | Adapter)
        for name in parametrized
    )


def get_judged_subject(item: pytest.Item) -> tuple[str, str] | None:
    """Return the subject that a test trains or judges: one of ``evidence.JUDGED``, and its name."""
    params = get_test_parameters(item)
    if "training" in params:
        return "cell", params["training"].job.cell.id
    for name in JUDGED:
        if name in params:
            kind = "cell" if name == "replayed_cell" else name.removeprefix("judged_")
            return kind, params[name].name
    return None


def get_detail_of_test(item: pytest.Item) -> str:
    """Return the detail (``sac.actor_loss``) or default (``sac.discount``) of a test, if any."""
    params = get_test_parameters(item)
    if "implementation" in params:
        return params["implementation"].detail.id
    return params["claim"].subject if "claim" in params else ""


def list_selectable_names() -> set[str]:
    """Return the names that -m accepts: frameworks, algorithms, and families of details."""
    families = {detail.family for detail in registry.list_details()}
    return {*frameworks.list_framework_names(), *requested_names.list_algorithms(), *families}


def list_marks_of_test(item: pytest.Item, selectable: set[str]) -> set[str]:
    """Return the names by which -m selects an item besides its markers."""
    params = get_test_parameters(item)
    algorithm = params.get("algorithm", get_detail_of_test(item).partition(".")[0])
    if "training" in params:
        algorithm = params["training"].job.cell.algorithm
    for name in JUDGED:
        if isinstance(judged := params.get(name), JudgedSubject):
            algorithm = judged.session.get_algorithm_of_verdict(judged.name)
    marks = {get_framework_of_test(item).partition("@")[0], algorithm} & selectable
    slow = "training" in params or get_judged_subject(item) or item.get_closest_marker(NIGHTLY)
    return marks | ({SLOW} if slow else set())


def rank_test(item: pytest.Item) -> int:
    """Return a test's rank: those of a detail first, then of an implementation, others, claims."""
    params = get_test_parameters(item)
    if "implementation" in params:
        return 0 if item.get_closest_marker("detail") else 1
    return 3 if "claim" in params else 2
