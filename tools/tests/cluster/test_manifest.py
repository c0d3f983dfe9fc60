"""A manifest: written once, read by index, and named by one sentence if it is damaged."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re

import pytest

from rlregress.cluster import manifest, run_selection, slurm_arrays
from rlregress.cluster.manifest import Manifest
from rlregress.errors import UserError
from rlregress.training.store import Store

from ..training.test_records import job

RUNS = [(job(0), 1.0), (job(1), 0.0), (job(1000), 30.04)]


@pytest.fixture
def written(tmp_path) -> Manifest:
    """Return runs of three seeds, of which the last takes longest."""
    return manifest.write_manifest_of_jobs(RUNS, tmp_path / "listed")


def test_runs_are_listed_longest_first(written):
    """Each with its name, its group and its expected seconds; the whole job is found by index."""
    runs = list(written.iterate_runs())
    assert [run.name for run in runs] == [job(seed).name for seed in (1000, 0, 1)]
    assert [run.seconds for run in runs] == [30.0, 1.0, 0.0]
    assert {run.group for run in runs} == {"some-ppo"}
    assert [written.read_job_at(run.number) for run in runs] == [job(seed) for seed in (1000, 0, 1)]
    assert [written.read_job_at(0).key, written.read_job_at(0).name] == [
        job(1000).key,
        job(1000).name,
    ]


def test_the_same_runs_are_the_same_file(written, tmp_path):
    """Another list has another name; a store keeps a copy, which tasks find."""
    before = written.path.stat()
    rewritten = manifest.write_manifest_of_jobs(RUNS, written.path.parent)
    assert rewritten.path == written.path
    assert rewritten.path.stat().st_mtime_ns == before.st_mtime_ns
    assert (
        manifest.write_manifest_of_jobs([(job(0), 1.0)], written.path.parent).path != written.path
    )
    assert len(list(written.path.parent.iterdir())) == 2
    store = Store(tmp_path / "runs")
    copy = run_selection.copy_manifest_to_store(written, store)
    assert copy.path.parent == tmp_path / "runs" / "manifests"
    written.path.unlink()
    assert copy.read_job_at(0) == job(1000)
    assert [copied.path for copied in run_selection.list_manifests_of_store(store)] == [copy.path]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: "", "is not a manifest of runs"),
        (lambda text: "[" * 900, "is not a manifest of runs"),
        (lambda text: text.replace('"runs": 3', f'"runs": {"9" * 99}'), "9 bytes of runs|damaged"),
        (lambda text: text[:-5], r"damaged: found \d+ bytes of runs, expected \d+"),
        (lambda text: text.replace("1000-", "1001-"), "damaged: its runs do not match its digest"),
        (lambda text: text.replace('{"run"', '["run"'), "damaged: line 0 is not a run"),
    ],
    ids=["empty", "deep", "huge number", "cut off", "edited", "broken"],
)  # fmt: skip
def test_a_damaged_manifest_is_named(written, damage, message):
    """Damage is one sentence, before a run is started."""
    written.path.write_text(damage(written.path.read_text()))
    text = f"{re.escape(str(written.path))}.* {message}.*; expected a f"
    with pytest.raises(UserError, match=text):
        list(Manifest(written.path).iterate_runs())


def test_a_run_that_was_edited_is_not_done(written):
    """One line is read and checked alone: its key is the digest of its content."""
    text = written.path.read_text().replace('"learning_rate": 0.1', '"learning_rate": 0.2')
    written.path.write_text(text)
    with pytest.raises(UserError, match="line 2: it does not match its key"):
        Manifest(written.path).read_job_at(2)


def forge(path, line: str) -> Manifest:
    """Return a manifest of one run whose digest is that of its line."""
    head = {"schema": 1, "runs": 1, "width": len(line.encode()) + 1}
    head["digest"] = hashlib.sha256(f"{line}\n".encode()).hexdigest()
    path.write_text(f"{json.dumps(head)}\n{line}\n")
    return Manifest(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("run", "../outside/0000-0123"), ("run", "a/\x1b[2J"), ("run", "a/b/c"),
        ("group", "\x9b31m"), ("seconds", math.nan),
    ],
)  # fmt: skip
def test_fields_beside_a_job_are_validated(tmp_path, name, value):
    """Invalid fields are refused although the digest is right."""
    glance = {"run": job(0).name, "group": job(0).cell.group, "seconds": 1.0}
    content = job(0).convert_to_plain_data() | {"key": job(0).key}
    sound = forge(tmp_path / "sound.jsonl", json.dumps({**glance, "job": content}))
    assert [run.name for run in sound.iterate_runs()] == [job(0).name]
    wrong = forge(tmp_path / "forged.jsonl", json.dumps({**glance, name: value, "job": content}))
    with pytest.raises(UserError, match="is damaged: line 0 is not a run; expected a file"):
        list(wrong.iterate_runs())


def test_a_job_that_is_none_is_not_done(tmp_path):
    """Names that lead elsewhere, the last of two keys; others: ``test_data_contracts``."""
    content = job(0).convert_to_plain_data() | {"key": job(0).key}
    content["cell"]["framework"] = "../x"
    glance = {"run": job(0).name, "group": "some-ppo", "seconds": 1.0}
    forged_manifest = forge(tmp_path / "forged.jsonl", json.dumps({**glance, "job": content}))
    with pytest.raises(UserError, match="is damaged: line 0: .*; expected a file that"):
        forged_manifest.read_job_at(0)
    content = json.dumps(job(1).convert_to_plain_data() | {"key": job(1).key})
    glance = f'"run": "{job(0).name}", "group": "{job(0).cell.group}", "seconds": 1.0'
    line = f'{{{glance}, "job": {content}, "run": "{job(1).name}"}}'
    forged_manifest = forge(tmp_path / "x.jsonl", line)
    assert [run.name for run in forged_manifest.iterate_runs()] == [job(0).name]
    with pytest.raises(UserError, match="line 0: it does not match its key"):
        forged_manifest.read_job_at(0)


@pytest.mark.parametrize("index", [-1, 3])
def test_an_index_beyond_the_list_is_named(written, index):
    """An index below 0 or beyond the last run is an error."""
    with pytest.raises(UserError, match=f"--index is {index}, expected 0 to 2"):
        written.read_job_at(index)


def write_another_list(path):
    """Write a list of another run."""
    manifest.write_manifest_of_jobs([(job(7), 1.0)], path.parent).path.replace(path)


PLANTED = {
    "another list": write_another_list,
    "a link": lambda path: path.symlink_to("/dev/null"),
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_manifest_is_set_aside(written, tmp_path, planted):
    """A planted file, link, folder or pipe under a predictable name is renamed, never read."""
    store = Store(tmp_path / "runs")
    path = tmp_path / "runs" / "manifests" / written.path.name
    path.parent.mkdir(parents=True)
    PLANTED[planted](path)
    jobs = [
        (written.read_job_at(number), run.seconds)
        for number, run in enumerate(written.iterate_runs())
    ]
    for write in (
        lambda: run_selection.copy_manifest_to_store(written, store),
        lambda: manifest.write_manifest_of_jobs(jobs, path.parent),
    ):
        rewritten = write()
        assert (rewritten.path, rewritten.digest) == (path, written.digest)
        assert list(rewritten.iterate_runs()) == list(written.iterate_runs())
        assert len(list(path.parent.glob("*.damaged"))) == 1
        assert len(list(path.parent.iterdir())) == 2


def test_an_edited_list_with_the_right_header_is_set_aside(written, tmp_path):
    """Its header alone says nothing."""
    store = Store(tmp_path / "runs")
    path = run_selection.copy_manifest_to_store(written, store).path
    path.write_text(path.read_text().replace('"learning_rate": 0.1', '"learning_rate": 0.2'))
    assert run_selection.copy_manifest_to_store(written, store).read_job_at(2) == job(1)


@pytest.mark.parametrize("name", ["manifests", "slurm"])
def test_a_folder_that_leads_out_of_the_store_is_not_written_to(written, tmp_path, name):
    """A linked folder is neither written nor read."""
    store, outside = Store(tmp_path / "runs"), tmp_path / "outside"
    outside.mkdir()
    store.folder.mkdir()
    (store.folder / name).symlink_to(outside)
    text = f"{name}.* lies outside of .*runs, where a link leads; .*remove the link"
    calls = {
        "slurm": [lambda: slurm_arrays.submit_remaining_runs(lambda _: [], store, print),
                  lambda: slurm_arrays.read_queued_tasks(store)],
        "manifests": [lambda: run_selection.copy_manifest_to_store(written, store),
                      lambda: run_selection.list_manifests_of_store(store),
                      lambda: run_selection._write_manifest_to_store([(job(0), 1.0)], store)],
    }  # fmt: skip
    for call in calls[name]:
        with pytest.raises(UserError, match=text):
            call()
    assert list(outside.iterdir()) == []
