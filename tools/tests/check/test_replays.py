"""Replays train a stored run again; cells that differ get fresh seeds."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import date

import pytest
import tomli_w

from rlregress import evidence
from rlregress.check import baseline_runs, cell_selection, outcome, replays
from rlregress.check.cell_selection import Selection
from rlregress.check.session import Session
from rlregress.check_options import CheckOptions
from rlregress.errors import UserError
from rlregress.inside import run_record
from rlregress.model.replay_result import DIFFERS, NOT_REPLAYED, Replay
from rlregress.model.verdict import HOLDS, REPRODUCED
from rlregress.report import check_report, words
from rlregress.training import job_plan, worker_launch
from rlregress.training.recorded_runs import RunResult, Trail
from rlregress.training.store import Store

from ..training.test_records import content

CELLS = "sb3-ppo-Reacher-v4-short", "sb3-ppo-Hopper-v4-short", "sb3-ppo-InvertedPendulum-v4-short"
SEEDS = range(3)
OPERATIONS = {"torch sqrt float32": "a1", "numpy exp float64": "b2"}
REAL_CANARY = replays.digest_operations_in_process
ROWS = ("1 0 aa bb cc dd", "2 1 ab bc cd de", "3 0 ac bd ce df")


def trail(rows=ROWS):
    """Return digests of three updates by two lines."""
    lines = {"some/ppo.py": (30, 40), "some/on_policy.py": (10, 10)}
    return Trail(updates=3, names=("ppo.py: actor.step()", "ppo.py: critic.step()"), rows=rows,
                 lines=lines)  # fmt: skip


def result(seed, **changes):
    """Return the result fields of the record of a run with this seed."""
    return {
        "status": "finished", "failure": "", "curve": [], "final_return": -float(seed),
        "episode_returns": [1.0], "steps": 4096, "parameters_sha256": f"{seed}",
        "platform": {"arithmetic": "portable"}, "time": {"cpu_seconds": 60.0},
        "training_return": -2.0, "trail": json.loads(json.dumps(asdict(trail()))),
        **changes,
    }  # fmt: skip


@pytest.fixture
def trainings(tmp_path, monkeypatch):
    """Known trainings of cells with stored replays; a dial changes their records.

    The dial maps the id of a replayed cell to one change for each time that it is trained.
    """
    done, dial, canary = [], {}, dict(OPERATIONS)
    for name in CELLS:
        stored = baseline_runs.locate_returns_folder() / f"{name}.toml"
        (tmp_path / "returns").mkdir(exist_ok=True)
        (tmp_path / "returns" / f"{name}.toml").write_text(stored.read_text())
    monkeypatch.setattr(baseline_runs, "locate_returns_folder", lambda: tmp_path / "returns")
    monkeypatch.setattr(replays, "locate_canary_file", lambda: tmp_path / "canary.toml")
    monkeypatch.setattr(replays, "digest_operations_in_process", lambda: canary)
    for cell in cell_selection.choose_cells(Selection("short", cells=",".join(CELLS))):
        jobs = job_plan.plan_jobs_of_cell(replace(cell, budget="replay"), SEEDS)
        baseline_runs.write_baseline(jobs, [result(job.seed) for job in jobs])
    versions = {name: jobs[0].versions[name] for name in ("numpy", "torch")}
    canary_text = tomli_w.dumps({"versions": versions, "operations": OPERATIONS})
    (tmp_path / "canary.toml").write_text(canary_text)

    def train(job, attempt, pinned):
        changes = dial.get(job.cell.id, [])
        number = done.count(job.cell.id)
        done.append(job.cell.id)
        fields = result(job.seed) | (changes[min(number, len(changes) - 1)] if changes else {})
        run_record.write_record_with_checksum(attempt.record, {**content(job), **fields})

    monkeypatch.setattr(worker_launch, "_train_until_recorded", train)
    return done, dial, canary


@pytest.fixture
def session(trainings, tmp_path):
    """Return a session of the three cells that replays seed 1 of each."""
    selection, folder = Selection("short", cells=",".join(CELLS)), str(tmp_path / "replays")
    return Session(selection, 0, str(tmp_path / "runs"), replay_seed=1, replays=folder)


@pytest.fixture
def replay_first(session, trainings):
    """Return what the replay of the first cell comes to, with changes of its trainings."""

    def replay(*changes):
        trainings[1]["sb3-ppo-Reacher-v4-replay"] = changes
        return session.replay_stored_run(
            next(cell for cell in session.cells if cell.id == CELLS[0])
        )

    return replay


def test_a_run_with_the_stored_numbers_is_reproduced(replay_first):
    """The claim names seed, steps and lines; its limits are listed."""
    result = replay_first()
    assert (result.state, result.seed, result.steps) == (REPRODUCED, 1, 4096)
    claim = "seed 1: same numbers in all 4 096 steps; 80 % of the lines of on_policy.py and ppo.py"
    assert result.reason == f"{claim} ran"
    assert "other seeds, budgets and hyperparameters" in result.not_checked
    assert "natively" in result.not_checked


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({"final_return": -1.5}, "the final return after the training"),
        ({"parameters_sha256": "f"}, "the parameters sha256 after the training"),
        ({"trail": asdict(trail((ROWS[0], "2 1 ab bc xx yy", ROWS[2])))},
         "update 2, gradients (ppo.py: critic.step())"),
        ({"trail": asdict(trail((ROWS[0], ROWS[1], "3 0 ac xx ce df")))},
         "update 3, random draws (ppo.py: actor.step())"),
        ({"trail": asdict(trail(ROWS[:2]))}, "the trail after the training"),
        ({}, ""),
        # a line that was renamed, or made two of, is no other number
        ({"trail": asdict(replace(
            trail((ROWS[0], "2 2 ab bc cd de", ROWS[2])),
            names=("ppo.py: policy.optimizer.step()", "ppo.py: x.step()", "ppo.py: y.step()"),
        ))}, ""),
    ],
    ids=["return", "parameters", "gradients", "draws", "fewer updates", "nothing", "other lines"],
)  # fmt: skip
def test_where_a_run_differs_first_is_named(changes, first):
    """The first update with another digest, and of it what comes about first."""
    old, new = (RunResult.make_from_record(result(0) | fields) for fields in ({}, changes))
    assert replays.describe_first_difference(old, new) == first


OTHER_ARITHMETIC = "mkl products AUTO, expected COMPATIBLE"


@pytest.mark.parametrize(
    ("versions", "sources"), [({"gymnasium": "1.0"}, {}), ({}, {"stable_baselines3": "other"})]
)
def test_lines_of_another_framework_are_counted_anew(session, replay_first, versions, sources):
    """With the same numbers it may run other lines than those of the record."""
    [cell] = [cell for cell in session.cells if cell.id == CELLS[0]]
    run = session.replays[cell]
    stored = replace(run.stored, versions={**run.stored.versions, **versions})
    job = replace(run.job, sources={**run.job.sources, **sources})
    session.replays[cell] = replace(run, stored=stored, job=job)
    counted = asdict(replace(trail(), lines={"some/ppo.py": (10, 40)}))
    result = replay_first({"trail": counted})
    assert result.reason.endswith("; 25 % of the lines of ppo.py ran")


@pytest.mark.parametrize(
    ("changes", "state", "reason"),
    [
        ([{"final_return": 5.0}], DIFFERS,
         "versions and code are those of the record, so this machine"),
        ([{"final_return": 5.0}, {"final_return": 6.0}], DIFFERS,
         "training is not deterministic here: two replays differ"),
        ([{"platform": {"arithmetic": OTHER_ARITHMETIC}}], NOT_REPLAYED, OTHER_ARITHMETIC),
    ],
    ids=["other numbers", "two answers", "another arithmetic"],
)  # fmt: skip
def test_other_numbers_of_the_same_version_are_no_change_of_the_framework(
    replay_first, changes, state, reason
):
    """The machine, chance, or the arithmetic that libraries report is named instead."""
    result = replay_first(*changes)
    assert (result.state, reason in result.reason) == (state, True)


def test_other_numbers_of_another_version_name_it(session, replay_first):
    """A torch that moved since the record stands beside the update that differs first."""
    [cell] = [cell for cell in session.cells if cell.id == CELLS[0]]
    run = session.replays[cell]
    session.replays[cell] = replace(run, stored=replace(
        run.stored, versions={**run.stored.versions, "torch": "2.12.0"}
    ))  # fmt: skip
    result = replay_first({"trail": asdict(trail(("1 0 aa bb xx dd", *ROWS[1:])))})
    assert result.differs_from_start
    change = f"torch 2.12.0 -> {run.job.versions['torch']}"
    line = f"update 1, gradients (ppo.py: actor.step()); changed since the record: {change}"
    assert result.reason == f"other numbers, first difference: {line}"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_with_other_bits_prevents_all_replays(
    session, trainings, replay_first, operation
):
    """The canary names it, nothing is trained, and every cell has fresh seeds."""
    done, _, canary = trainings
    canary[operation] = "other"
    result = replay_first()
    assert result.state == NOT_REPLAYED
    text = "this machine's arithmetic is not that of the records"
    assert result.reason == f"{text} (operation {operation})"
    assert session.without_reproduced_cells.cells == session.cells
    assert done == []


def test_a_machine_that_cannot_compute_so_has_fresh_seeds(replay_first, trainings, monkeypatch):
    """A processor without the instructions ends the canary, and that is the reason."""
    done, _, _ = trainings
    monkeypatch.setattr(replays, "digest_operations_in_process", REAL_CANARY)
    monkeypatch.setattr(replays.sys, "executable", "/bin/false")
    result = replay_first()
    assert result.state == NOT_REPLAYED
    assert "could not be checked: /bin/false -m rlregress.inside.canary ended with" in result.reason
    assert done == []


def test_the_cells_that_differ_are_the_family_of_fresh_seeds(session, trainings):
    """A reproduced cell is owed no verdict, and its group has the rest; each is trained once."""
    done, dial, _ = trainings
    assert session.list_group_names() == ["sb3-ppo"]
    dial["sb3-ppo-Reacher-v4-replay"] = [{"final_return": 5.0}]
    fresh_session = session.without_reproduced_cells
    assert [cell.id for cell in fresh_session.cells] == [CELLS[0]]
    assert (fresh_session.list_group_names(), list(fresh_session.stored)) == (
        [],
        fresh_session.cells,
    )
    assert {name.partition(" ")[0] for name in fresh_session.list_names_to_judge()} == {CELLS[0]}
    assert len(session.list_names_to_judge()) > len(fresh_session.list_names_to_judge())
    # two attempts at what differs, one at the others
    replayed = [f"{name.removesuffix('short')}replay" for name in CELLS]
    assert sorted(done) == sorted([*replayed, replayed[0]])
    assert session.without_reproduced_cells is fresh_session


def test_a_replay_is_never_taken_from_the_store_of_runs(session, trainings, tmp_path):
    """A record of an earlier session is trained again."""
    done, _, _ = trainings
    [cell] = [cell for cell in session.cells if cell.id == CELLS[0]]
    worker_launch.do_run_unless_recorded(session.replays[cell].job, Store(tmp_path / "runs"))
    session.replay_stored_run(cell)
    assert len(done) == 2


def test_a_seed_that_is_not_stored_is_one_sentence(trainings, tmp_path):
    """It names the option and the seeds that there are."""
    selection = Selection("short", cells=CELLS[0])
    with pytest.raises(UserError, match=r"--replay-seed is 7, expected a seed of .*: 0, 1, 2$"):
        Session(selection, 0, str(tmp_path / "runs"), replay_seed=7)


def test_each_day_replays_another_seed(trainings, tmp_path, monkeypatch):
    """Three days replay all three stored seeds, where no seed is given."""
    [cell] = cell_selection.choose_cells(Selection("short", cells=CELLS[0]))

    class Day(date):
        today = classmethod(lambda run: run.day)

    monkeypatch.setattr(replays, "date", Day)
    seeds = set()
    for day in (1, 2, 3):
        Day.day = date(2026, 11, day)
        seeds.add(replays.find_replayable_run(cell, -1).run.seed)
    assert seeds == {0, 1, 2}


@pytest.mark.parametrize(
    ("options", "first"),
    [({}, True), ({"fresh_seeds": True}, False), ({"seeds": 5}, False), ({"one_look": True}, False),
     ({"first_seed": 2000}, False)],
    ids=str,
)  # fmt: skip
def test_options_for_other_runs_imply_fresh_seeds(options, first):
    """A number of seeds, a first seed and a single look leave out the replays."""
    assert CheckOptions(**options).replays_first == first


def judged_framework(replay, **verdict):
    """Return the outcome of a framework whose cell was replayed, and judged by fresh seeds."""
    entry = {"framework": "sb3", "cell": CELLS[0], "outcome": "passed", "message": ""}
    entries = [
        {**entry, "test": "tests_unit/t.py::a", "tier": "unit"},
        {
            **entry,
            "test": "r",
            "tier": "performance",
            "replay": evidence.convert_to_plain_data(replay),
        },
    ]
    if verdict:
        entries.append({**entry, "test": "v", "tier": "performance", "verdict": verdict})
    [framework_outcome] = outcome.build_framework_outcomes(entries)
    return framework_outcome


def test_reproduced_is_a_verdict_of_its_own():
    """With exit code 0; returns that hold after another number say so."""
    replay = Replay(cell=CELLS[0], replayed="r", seed=1, state=REPRODUCED, reason="same")
    framework_outcome = judged_framework(replay)
    assert framework_outcome.verdict == REPRODUCED
    assert outcome.compute_exit_code([framework_outcome], []) == 0
    assert framework_outcome.replays == {CELLS[0]: replay}
    replay = Replay(cell=CELLS[0], replayed="r", seed=1, state=DIFFERS, reason="other numbers")
    framework_outcome = judged_framework(replay, verdict=HOLDS)
    assert framework_outcome.verdict == HOLDS
    assert check_report.describe_verdict(framework_outcome) == "other numbers; returns hold"


def test_a_version_that_explains_every_difference_is_one_line():
    """Many cells that differ from the first update on are reported once, with what moved."""
    run = [
        Replay(cell=name, replayed="r", seed=1, state=DIFFERS, reason="other numbers",
               first="update 1, gradients (x)", moved="torch 2.12.0 -> 2.13.0")
        for name in CELLS
    ]  # fmt: skip
    [line] = words.describe_replays({replay.cell: replay for replay in run})
    assert "all 3 replays have other numbers from update 1 on" in line
    assert "torch 2.12.0 -> 2.13.0" in line
    later = replace(run[0], first="update 9, gradients (x)")
    assert len(words.describe_replays({replay.cell: replay for replay in [later, *run[1:]]})) == 3
