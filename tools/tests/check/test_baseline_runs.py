"""Stored runs are written from records, and read again."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace

import pytest
import tomli_w

from rlregress.check import baseline_runs
from rlregress.errors import UserError
from rlregress.inside import machine
from rlregress.inside.critic import CriticAccuracy
from rlregress.inside.episodes import compute_learning_curve
from rlregress.model.quantities import CRITIC, DIAGNOSTICS
from rlregress.training.cell import Job, Protocol

from ..training.test_records import content
from ..training.test_records import job as imaginary

CELL = replace(imaginary().cell, budget="short")


def job(seed: int) -> Job:
    """Return a run of an imaginary framework."""
    return imaginary(seed, cell=CELL)


def run_record(seed: int, **changes) -> dict:
    """Return the record of a finished run."""
    return {**content(job(seed)), "time": {"cpu_seconds": 2.0}, **changes}


#: what a record says of a critic
CRITIC_TOLD = {
    "states": 7, "bootstrapped": 0.0, "mean": 50.0, "spread": 20.0,
    "explained_variance": 0.5, "bias": 0.1,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Keep stored runs in an empty folder, and return it."""
    monkeypatch.setattr(baseline_runs, "locate_returns_folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def written(folder):
    """Write records as stored runs and read them again."""

    def write(*records):
        jobs = [job(record["job"]["seed"]) for record in records]
        return baseline_runs.load_baseline(baseline_runs.write_baseline(jobs, records)).runs

    return write


def test_the_critic_of_a_run_is_stored(written):
    """A missing number stays None; mean and spread belong to a critic that is finite."""
    fields = {**CRITIC_TOLD, "bootstrapped": 0.25, "bias": -0.125}
    none = {**fields, "explained_variance": None, "bias": None}
    first, second = written(run_record(0, critic=fields), run_record(1, critic=none))
    assert first.critic == CriticAccuracy(7, 0.25, 0.5, -0.125, mean=50.0, spread=20.0)
    assert second.critic == CriticAccuracy(7, 0.25, mean=50.0, spread=20.0)
    lacking = {name: CRITIC_TOLD[name] for name in CRITIC_TOLD if name not in ("mean", "spread")}
    with pytest.raises(ValueError, match="lacks 'mean' or 'spread'"):
        written(run_record(0), run_record(1, critic=lacking))


@pytest.mark.parametrize(
    ("without", "critic_text", "kl_text"),
    [
        (1, "1 of 3 stored runs", "it is missing in 1 of 3 stored runs"),
        (3, "its stored runs", "its framework does not expose it"),
    ],
)
def test_stored_runs_without_a_value_are_counted(written, without, critic_text, kl_text):
    """Some of them make nothing known of the framework; all of them do."""
    critic = CRITIC_TOLD
    still = {**critic, "explained_variance": None, "bias": None}
    full = {"critic": critic, "diagnostics": {"entropy": 1.0, "kl": 0.1}}
    lacking = {"critic": still, "diagnostics": {"entropy": 1.0, "kl": None}}
    written(*(run_record(seed, **(lacking if seed < without else full)) for seed in range(3)))
    stored = baseline_runs.load_baseline(baseline_runs.locate_baseline(CELL))
    varies = critic_text and f"the returns of {critic_text} do not vary from state to state"
    assert stored.explain_excluded_quantity(CRITIC) == varies
    assert stored.explain_excluded_quantity(DIAGNOSTICS["kl"]) == kl_text


@pytest.mark.parametrize(
    ("found", "instead", "message"),
    [
        ("explained_variance = 0.5\n", "", "has one of 'explained_variance' and 'bias'"),
        ("states = 7", "states = 0", "0, expected a number of at least 1"),
        ("bootstrapped = 0.0", "bootstrapped = 1.5", "1.5, expected a number from 0 to 1"),
        ("variance = 0.5", "variance = 1.5", "1.5, expected a finite number of at most 1"),
        ("bias = 0.1", "bias = nan", "nan, expected a finite number"),
    ],
)
def test_a_critic_that_cannot_be_is_one_sentence(written, found, instead, message):
    """Half of a critic's numbers, or impossible ones: run, key and the next step are named."""
    written(run_record(0), run_record(1, critic=CRITIC_TOLD))
    path = baseline_runs.locate_baseline(CELL)
    path.write_text(path.read_text().replace(found, instead))
    with pytest.raises(UserError) as raised:
        baseline_runs.load_baseline(path)
    text = rf"{path}, \[\[run\]\] at line \d+: key 'critic.*{message}"
    assert re.match(text, str(raised.value))
    assert str(raised.value).endswith("; record it again, with --replace")


def test_the_learning_curve_of_a_run_is_stored(written):
    """For each twentieth of 100 steps the mean return of the ended episodes is stored, if any."""
    episodes = [[3, 1.0, 3], [5, 3.0, 2], [6, 8.0, 1], [7, None, 1], [100, 4.0, 94]]
    curve = compute_learning_curve(episodes, 100)
    first, older = written(run_record(0, learning_curve=curve), run_record(1))
    assert first.learning_curve == ((5.0, 2.0), (10.0, 8.0), (100.0, 4.0))
    assert older.learning_curve == ()


def stored(*seeds: int, jobs: Sequence[Job] = (), **changes) -> None:
    """Stored runs of these seeds, or jobs, which tell all that runs tell."""
    fields = {"training_return": 1.0, "critic": CRITIC_TOLD, "diagnostics": {}, **changes}
    jobs = jobs or [job(seed) for seed in seeds]
    baseline_runs.write_baseline(jobs, [run_record(run.seed, **fields) for run in jobs])


def test_stored_runs_become_more_by_those_that_are_missing(folder):
    """Two stored runs and one more are three, and those two stay as they were."""
    stored(0, 1)
    before = baseline_runs.load_baseline(baseline_runs.locate_baseline(CELL)).runs
    jobs = [job(seed) for seed in range(3)]
    earlier = baseline_runs.find_reusable_runs_by_seed(jobs)
    assert set(earlier) == {0, 1}
    baseline_runs.write_baseline([jobs[2]], [run_record(2, final_return=3.0)], earlier)
    after = baseline_runs.load_baseline(baseline_runs.locate_baseline(CELL))
    assert [run.seed for run in after.runs] == [0, 1, 2]
    assert tuple(after.runs[:2]) == tuple(before)
    assert after.returns == [1.5, 1.5, 3.0]


def test_runs_of_another_adapter_are_kept_with_its_digest(folder):
    """Each run keeps the digest of the adapter that trained it, if it is not the present one."""
    own = "rlregress.frameworks.some"
    stored(jobs=[replace(job(seed), sources={"some": "a", own: "old"}) for seed in (0, 1)])
    later = [replace(job(seed), sources={"some": "a", own: "new"}) for seed in range(3)]
    earlier = baseline_runs.find_reusable_runs_by_seed(later)
    baseline_runs.write_baseline([later[2]], [run_record(2)], earlier)
    after = baseline_runs.load_baseline(baseline_runs.locate_baseline(CELL))
    assert after.sources[own] == "new"
    assert [dict(run.sources).get(own) for run in after.runs] == ["old", "old", None]
    reusable = baseline_runs.find_reusable_runs_by_seed(later)
    assert [reusable[seed].sources[own] for seed in (0, 1)] == ["old", "old"]


@pytest.mark.parametrize(
    "changed",
    [{"versions": {"some": "1.1"}}, {"sources": {"some": "b"}}, {"arithmetic": "portable"},
     {"protocol": Protocol(200, 100, 2)}, {"hyperparameters": {"learning_rate": 0.2}}],
    ids=str,
)  # fmt: skip
def test_runs_of_other_code_or_another_protocol_are_done_again(folder, changed):
    """Nothing is kept of runs that were made with anything else that decides a result."""
    stored(0, 1)
    jobs = [replace(job(seed), **changed) for seed in range(2)]
    assert baseline_runs.find_reusable_runs_by_seed(jobs) == {}
    with pytest.raises(UserError, match=r"holds 2 runs of .+; 2 new ones would replace them: give"):
        baseline_runs.check_no_runs_are_lost(jobs)


def test_stored_runs_of_other_seeds_are_not_lost(folder):
    """Seeds that are not asked for are named; more seeds lose none."""
    stored(0, 1, 500)
    with pytest.raises(UserError, match="runs of seeds that were not requested: 500; 3 new ones"):
        baseline_runs.check_no_runs_are_lost([job(seed) for seed in range(3)])
    baseline_runs.check_no_runs_are_lost([job(seed) for seed in (0, 1, 2, 500)])


def test_an_unreadable_folder_of_stored_runs_is_an_error(folder, monkeypatch):
    """A folder that is closed is no empty one."""

    def closed(folder):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "listdir", closed)
    with pytest.raises(UserError, match="cannot be read: Permission denied; expected a folder"):
        baseline_runs.load_all_baselines()


def test_stored_runs_without_a_critic_are_done_again(folder):
    """A run without a critic is not kept: it would be judged by its returns alone."""
    stored(0, 1)
    path = baseline_runs.locate_baseline(CELL)
    content = tomllib.loads(path.read_text())
    del content["run"][1]["critic"]
    path.write_text(tomli_w.dumps(content))
    assert set(baseline_runs.find_reusable_runs_by_seed([job(0), job(1)])) == {0}


def test_runs_of_two_machines_are_not_joined(folder, monkeypatch):
    """Another processor is named before anything is trained."""
    where = {"platform": {"cpu": "Some CPU", "python": "3.11.7", "torch_threads": 1}}
    stored(0, 1, **where)
    earlier = baseline_runs.find_reusable_runs_by_seed([job(0), job(1)])
    monkeypatch.setattr(machine, "read_cpu_name", lambda: "Other CPU")
    with pytest.raises(UserError, match="holds 2 runs of Some CPU, .* and this is Other CPU, .*"):
        baseline_runs.check_same_machine(CELL, earlier)


def test_a_return_of_a_run_that_failed_is_named(folder):
    """It cannot be: such a run has none."""
    stored(0, 1)
    path = baseline_runs.locate_baseline(CELL)
    path.write_text(path.read_text().replace('"finished"', '"failed"'))
    text = "contradicts itself: status 'failed' with the return 1.5.* record it again, with --rep"
    with pytest.raises(UserError, match=text):
        baseline_runs.load_baseline(path)


@pytest.mark.parametrize(
    ("differing", "per_step"),
    [
        ({}, 0.25),
        ({"budget": "full"}, 0.5),
        ({"budget": "smoke"}, 0.375),  # the mean of its other two
        ({"environment": "Other-v0"}, 0.75),  # the mean of its framework and algorithm
        ({"framework": "other"}, 0.75),
        ({"algorithm": "sac"}, 0.0),
    ],
)
def test_the_cost_of_a_step_is_that_of_the_runs_most_alike(folder, differing, per_step):
    """A quarter of a second at the cell's own budget, twice and six times as much elsewhere."""
    full, slow = replace(CELL, budget="full"), replace(CELL, environment="Slow-v0")
    for cell, seconds in ((CELL, 25.0), (full, 50.0), (slow, 150.0)):
        jobs = [replace(job(seed), cell=cell) for seed in (0, 1)]
        stored(jobs=jobs, time={"cpu_seconds": seconds})
    cell, baselines = replace(CELL, **differing), baseline_runs.load_all_baselines()
    assert baseline_runs.estimate_seconds_per_step(cell, baselines) == per_step
