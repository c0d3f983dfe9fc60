"""A training that is interrupted and continued is the training that was not, to the last bit."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

# here, and not in each of the processes that are forked
import rlregress.frameworks.sb3.train.training
import rlregress.frameworks.torchrl.train.training  # noqa: F401
from rlregress.inside import checkpoint, episodes, pickled, run_record, worker
from rlregress.training import job_plan
from rlregress.training.cell import Cell, Protocol

#: small networks and batches: what is asked is where every number is kept, not how many there are
_OFF_POLICY = {
    "learning_starts": 100, "steps_per_collection": 4, "updates_per_collection": 1,
    "minibatch_size": 16, "hidden_sizes": [16, 16], "replay_size": 200,
}  # fmt: skip
SMALL = {
    "ppo": {"rollout_steps": 64, "minibatch_size": 16, "epochs": 2, "hidden_sizes": [16, 16]},
    "sac": _OFF_POLICY,
    "td3": _OFF_POLICY,
}


def job_of(framework: str, algorithm: str, environment: str, **changes: Any) -> dict[str, Any]:
    """A run of 260 steps, which is longer than an episode of Pendulum, as its worker gets it."""
    cell = Cell(framework, algorithm, environment, framework, "smoke")
    planned = job_plan.plan_jobs_of_cell(cell, [7])[0]
    hyperparameters = {**planned.hyperparameters, **SMALL[algorithm], **changes}
    planned = replace(planned, protocol=Protocol(260, 130, 1), hyperparameters=hyperparameters)
    read: dict[str, Any] = json.loads(
        json.dumps({**planned.convert_to_plain_data(), "key": planned.key})
    )
    return read


def train_part(job, checkpoint_path, attempt="1", stop_after=0, before=lambda: None):
    """Return the record of a process that trains, or the signal that ended it.

    Args:
        stop_after: environment steps after which it is told to stop; 0: never.
        before: called in the process first.
    """
    folder = checkpoint_path.parent / attempt
    folder.mkdir(exist_ok=True)
    child = os.fork()
    if not child:
        try:
            before()
            if stop_after:
                _stop_after(stop_after)
            # as a process that begins has it: nothing of what the one that it was forked from drew
            torch.manual_seed(0)
            np.random.seed(0)
            content = worker.train_job(job, folder / "record.progress", checkpoint_path)
            run_record.write_record_with_checksum(folder / "record.json", content)
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status)
    assert os.WEXITSTATUS(status) == 0
    return run_record.read_record_content(folder / "record.json")


def _stop_after(steps: int) -> None:
    note = episodes.Episodes._note_step

    def note_step(self, *step) -> None:
        note(self, *step)
        if self._steps == steps:
            os.kill(os.getpid(), signal.SIGTERM)

    episodes.Episodes._note_step = note_step  # type: ignore[method-assign]


def require_finished(content: dict[str, Any] | int) -> dict[str, Any]:
    """Return the record of a run that has ended well."""
    assert isinstance(content, dict)
    assert content["status"] == "finished", content["failure"]
    return content


@pytest.fixture(autouse=True)
def one_thread():
    """As in a worker."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


TRAININGS = [
    ("sb3", "ppo", "Hopper-v4"), ("sb3", "sac", "Pendulum-v1"), ("sb3", "td3", "Hopper-v4"),
    ("torchrl", "ppo", "Hopper-v4"), ("torchrl", "sac", "Pendulum-v1"),
    ("torchrl", "td3", "Hopper-v4"),
]  # fmt: skip


# at every commit the fixture ``interrupted`` is continued, a training of SAC with one stop
@pytest.mark.nightly
@pytest.mark.parametrize(("framework_name", "algorithm", "environment"), TRAININGS)
def test_a_continued_run_is_the_uninterrupted_one(tmp_path, framework_name, algorithm, environment):
    """Stopped before its first update, amid an episode and late, a run has the same record."""
    job = job_of(framework_name, algorithm, environment)
    uninterrupted = require_finished(train_part(job, tmp_path / "never"))
    checkpoint_path = tmp_path / "checkpoint"
    stops = (1, 150, 230)
    for number, steps in enumerate(stops):
        assert train_part(job, checkpoint_path, f"{number}", steps) == signal.SIGTERM
    continued = require_finished(train_part(job, checkpoint_path, "last"))
    assert run_record.select_result_of_run(continued) == run_record.select_result_of_run(
        uninterrupted
    )
    came_about = continued["attempt"]["continued"]
    assert [continuation["attempt"] for continuation in came_about] == ["0", "1", "2"]
    # a loop is whole after a rollout, or what is collected between two updates
    hyperparameters = job["hyperparameters"]
    whole_steps = hyperparameters.get("rollout_steps") or hyperparameters["steps_per_collection"]
    done = [-(-steps // whole_steps) * whole_steps for steps in stops]
    assert [continuation["steps"] for continuation in came_about] == done
    assert uninterrupted["attempt"] == {"continued": [], "begun_anew": ""}


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """Job, checkpoint after 150 steps, and record without an interruption, of SAC on Pendulum."""
    folder = tmp_path_factory.mktemp("interrupted")
    job = job_of("sb3", "sac", "Pendulum-v1")
    uninterrupted = require_finished(train_part(job, folder / "never"))
    assert train_part(job, folder / "checkpoint", "1", 150) == signal.SIGTERM
    return job, folder / "checkpoint", uninterrupted


#: what could be forgotten -> what the checkpoint is like without it
FORGOTTEN = {
    "nothing": lambda saved, model: None,
    "np_random of the environment": lambda saved, model: setattr(
        model.env.envs[0].unwrapped, "np_random", np.random.default_rng(0)),
}  # fmt: skip


@pytest.mark.parametrize("forgotten", FORGOTTEN)
def test_a_forgotten_part_changes_the_record(tmp_path, interrupted, forgotten):
    """Control: without one part of its state a continued run has another record."""
    job, checkpoint_path, uninterrupted = interrupted
    shutil.copy(checkpoint_path, tmp_path / "checkpoint")
    load = pickled.unpickle_objects

    def without(file):
        everything = load(file)
        FORGOTTEN[forgotten](everything, everything["training"][0])
        return everything

    def seed() -> None:
        pickled.unpickle_objects = without

    continued = require_finished(train_part(job, tmp_path / "checkpoint", before=seed))
    same = run_record.select_result_of_run(continued) == run_record.select_result_of_run(
        uninterrupted
    )
    assert same == (forgotten == "nothing")


def sealed(folder: Path, head: bytes, everything: Any) -> bytes:
    """Return a checkpoint with this head, that holds something and has the right checksum."""
    checkpoint.write_checkpoint(folder / "made", folder / "draft", json.loads(head), everything)
    return (folder / "made").read_bytes()


def test_a_checkpoint_of_somebody_else_is_not_read(tmp_path, interrupted, monkeypatch):
    """It can run code: read is what this user, root or the group of a shared store may write."""
    job, checkpoint_path, _ = interrupted
    copy_path = tmp_path / "cell" / "checkpoint"
    copy_path.parent.mkdir()
    shutil.copy(checkpoint_path, copy_path)
    expected_head = checkpoint.read_checkpoint_head(checkpoint_path)
    me, mine = os.getuid(), os.getegid()
    #: mode, owner and group of the file, of its folder, of the store -> what is said of it
    own, shared, them = (0o755, me, mine), (0o2775, me, mine), 4321
    cases = [
        ((0o600, me, mine), own, own, ""),
        ((0o664, 0, mine), own, own, ""),
        ((0o644, me, mine), (0o1777, me, mine), own, ""),
        ((0o664, them, mine), shared, shared, ""),
        ((0o666, me, mine), own, own, "everybody may write to it"),
        ((0o644, me, mine), (0o777, me, mine), own, "everybody may write to its folder"),
        ((0o644, me, mine), own, (0o777, me, mine), "everybody may write to its store"),
        ((0o664, them, them), (0o3777, me, them), own, "the group 4321, .* may write to it"),
        ((0o644, me, mine), (0o775, me, them), own, "the group 4321, .* may write to its folder"),
        ((0o644, me, mine), (0o755, them, mine), own, "its folder belongs to the user 4321"),
        ((0o644, me, mine), own, (0o755, them, mine), "its store belongs to the user 4321"),
        ((0o644, them, mine), own, own, "it belongs to the user 4321"),
    ]
    paths = (copy_path, copy_path.parent, copy_path.parent.parent)
    for *rights, text in cases:
        if any((owner, group) != (me, mine) for _, owner, group in rights) and me != 0:
            continue  # root alone can make it
        for path, (mode, owner, group) in zip(paths, rights, strict=True):
            os.chown(path, owner, group)
            path.chmod(mode)
        if not text:
            assert checkpoint.read_checkpoint(copy_path, expected_head) is not None
            continue
        with pytest.raises(checkpoint.UntrustedCheckpoint, match=f"{text}.*--trust-pickle"):
            checkpoint.read_checkpoint(copy_path, expected_head)
        assert copy_path.exists()
        monkeypatch.setenv(checkpoint.TRUST, "1")
        assert checkpoint.read_checkpoint(copy_path, expected_head) is not None
        monkeypatch.delenv(checkpoint.TRUST)


def test_a_checkpoint_that_does_not_fit_is_set_aside(tmp_path, interrupted):
    """Damaged, of another run, of another Python: the run begins anew, and its record says why."""
    job, checkpoint_path, uninterrupted = interrupted
    copy_path = tmp_path / "checkpoint"
    text = checkpoint_path.read_bytes()
    middle = len(text) // 2
    head, body = text.split(b"\n", 1)
    cases = {
        "its content does not match its checksum": text[:middle] + b"?" + text[middle + 1 :],
        "found key another, expected": head.replace(job["key"].encode(), b"another") + b"\n" + body,
        "cut off": text[:middle],
        "python 2.7, expected 3.": json.dumps({**json.loads(head), "python": "2.7"}).encode(),
        "found schema missing, expected 1": b"something else",
        "found schema missing": b"[" * 60_000 + b"\n" + body,
        "it holds something else than a training": sealed(tmp_path, head, {"training": 1}),
    }
    for title, damaged in cases.items():
        copy_path.write_bytes(damaged)
        keeper = checkpoint.CheckpointWriter(
            copy_path, tmp_path / "draft", checkpoint.read_checkpoint_head(checkpoint_path)
        )
        position, everything, why = keeper.read_or_set_aside_checkpoint()
        assert (position, everything) == ({}, None)
        assert title in why or title == "cut off"
        assert not copy_path.exists()
        assert copy_path.with_name("checkpoint.damaged").read_bytes() == damaged
    copy_path.write_bytes(cases["cut off"])
    anew = require_finished(train_part(job, copy_path))
    assert run_record.select_result_of_run(anew) == run_record.select_result_of_run(uninterrupted)
    assert "cannot be read: ValueError: its content does not" in anew["attempt"]["begun_anew"]
