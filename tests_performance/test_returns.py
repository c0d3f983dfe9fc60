"""Do the frameworks still learn? Trainings in worker processes, judged against stored runs."""

from __future__ import annotations

import math

import pytest

from rlregress.model.verdict import REGRESSED


def test_replay(replayed_cell, evidence):
    """A stored run that is trained again here has its numbers, or fresh seeds are judged."""
    replay = replayed_cell.replay_cell()
    evidence(replay=replay)
    if not replay.is_reproduced:
        pytest.skip(f"{replay.state}: {replay.reason}; fresh seeds are judged")


def test_training(training, evidence):
    """A training of the cell ends, with finite parameters and finite returns."""
    record = training.train_or_read_record()
    evidence(record=training.summarize_record(record))
    assert record["status"] == "finished", (
        f"{training.job.cell.id} seed {training.job.seed} failed: {record['failure']}"
    )
    assert math.isfinite(record["final_return"])
    assert record["steps"] >= training.job.protocol.total_steps


def test_returns(judged_cell, evidence):
    """The new runs of the cell return no less than its stored runs, at the stated error rate."""
    verdict = judged_cell.judge_subject()
    further = {
        "diagnostics": judged_cell.judge_diagnostics(),
        "not_judged": judged_cell.explain_not_judged(),
    }
    evidence(verdict=verdict, **further)
    assert verdict.verdict != REGRESSED, f"{judged_cell.name}: {verdict.verdict}: {verdict.reason}"


def test_group(judged_group, evidence):
    """The cells of an implementation, taken together, return no less than their stored runs."""
    verdict = judged_group.judge_subject()
    evidence(verdict=verdict, diagnostics=judged_group.judge_diagnostics())
    assert verdict.verdict != REGRESSED, f"{judged_group.name}: {verdict.verdict}: {verdict.reason}"


def test_training_return(judged_training, evidence):
    """The training episodes, of a cell or of an implementation, return no less than the stored."""
    verdict = judged_training.judge_subject()
    evidence(verdict=verdict)
    assert verdict.verdict != REGRESSED, (
        f"{judged_training.name}: {verdict.verdict}: {verdict.reason}"
    )


def test_critic(judged_critic, evidence):
    """The critic, of a cell or of an implementation, is no further off than in the stored runs."""
    verdict = judged_critic.judge_subject()
    evidence(verdict=verdict)
    assert verdict.verdict != REGRESSED, (
        f"{judged_critic.name}: {verdict.verdict}: {verdict.reason}"
    )
