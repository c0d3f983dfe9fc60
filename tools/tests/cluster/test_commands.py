"""Commands for runs select the runs of a check, and inspect a store."""

from __future__ import annotations

from rlregress.check.cell_selection import Selection
from rlregress.check.session import Session
from rlregress.cluster import run_selection
from rlregress.training.store import Store

from .short_runs import jobs, write_listed


def test_a_launch_has_the_runs_of_a_check(tmp_path):
    """The runs of a launch are those of the first look of a check with the same options."""
    selection = Selection("short", cells="sb3-ppo-*")
    manifest = run_selection.write_selection_manifest(selection, 0, 1000, Store(tmp_path))
    session = Session(selection, 0, str(tmp_path))
    first = [job for job in session.list_jobs_look_by_look() if session.find_index_of_run(job) < 5]
    assert {run.name for run in manifest.iterate_runs()} == {job.name for job in first}
    seconds = [run.seconds for run in manifest.iterate_runs()]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[-1] > 0


def test_a_launch_without_a_scheduler_lists_the_runs(command, tmp_path):
    """It says where, how many, and how another scheduler starts one; launched again it is equal."""
    words = f"runs launch --budget smoke --framework sb3 --store {tmp_path}".split()
    code, text, error = command(*words)
    assert (code, error) == (0, "")
    (path,) = (tmp_path / "manifests").iterdir()
    assert text.splitlines()[0] == f"{path}: 3 runs, 3 of them to do"
    assert f"rlregress runs run --manifest {path} --index INDEX --store {tmp_path}" in text
    assert "INDEX is 0 to 2" in text
    assert command(*words)[:2] == (0, text)


def test_a_dry_run_prints_scripts_and_submits_nothing(command, tmp_path, monkeypatch):
    """A dry run works without Slurm, with arrays of the usual size."""
    monkeypatch.setenv("PATH", "")
    words = "runs launch --slurm --dry-run --sbatch account=x --budget smoke --framework sb3"
    code, text, error = command(*words.split(), "--store", str(tmp_path))
    assert (code, error) == (0, "")
    assert "arrays are split at 1001, the usual size" in text
    assert text.count("#SBATCH --account=x\n") == text.count("#!/bin/bash\n") > 0
    assert not (tmp_path / "slurm").exists()


def test_a_store_is_looked_at_and_checked(command, tmp_path):
    """``status`` counts runs; ``--verify`` exits with code 1 where a record is damaged."""
    store = Store(tmp_path)
    all_jobs = jobs(range(2))
    written = write_listed(store, all_jobs)
    store.locate_record(all_jobs[0]).parent.mkdir()
    store.locate_record(all_jobs[0]).write_text("{")
    path, verify = (
        store.locate_record(all_jobs[0]),
        ("runs", "status", "--verify", "--store", str(tmp_path)),
    )
    code, text, _ = command("runs", "status", "--store", str(tmp_path))
    assert (code, text.splitlines()[1].split()) == (0, ["sb3-sac", "1", *"----", "1", "2"])
    assert "nothing is running: launch again" in text
    code, text, _ = command(*verify)
    assert code == 1
    assert text.startswith(f"wrong: the run record {path} is damaged")
    assert "0 records are intact" in text
    assert "verify --set-aside" in text
    code, text, _ = command(*verify, "--set-aside")
    assert (code, f"set aside: {path.with_suffix('.damaged')}" in text) == (1, True)
    launch = ("runs", "launch", "--manifest", str(written.path), "--store", str(tmp_path))
    assert "2 runs, 2 of them to do" in command(*launch)[1]
    assert command(*verify)[0] == 0
    path.write_text("{")
    assert command("runs", "status", "--watch", "--store", str(tmp_path / "none"))[0] == 2
    assert command("runs", "merge", str(tmp_path), "-o", str(tmp_path / "all"))[0] == 1


def test_the_output_of_a_watch_is_harmless(command, tmp_path):
    """A reason is escaped; the watch ends when nothing is left to do."""
    store = Store(tmp_path)
    (job,) = jobs([0])
    write_listed(store, [job])
    store.locate_record(job).parent.mkdir()
    store.locate_record(job).write_text("{}")
    store.locate_record(job).with_suffix(".failed").write_text("bad \x1b]0;title\x07 \x1b[2J\n")
    words = ["runs", "status", "--watch", "--store", str(tmp_path)]
    code, shown, _ = command(*words)
    assert (code, "all runs are done" in shown) == (0, True)
    assert r"bad \x1b]0;title\x07 \x1b[2J" in shown
    assert "\x1b" not in shown
