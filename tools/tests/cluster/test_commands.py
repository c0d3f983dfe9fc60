"""Commands for runs: those of a check, of other code, on this machine, and of a store."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from rlregress.check.cell_selection import Selection
from rlregress.check.session import Session
from rlregress.cli import with_versions as commands_versions
from rlregress.cluster import local, run_one, run_selection
from rlregress.errors import UserError
from rlregress.inside import checkpoint
from rlregress.training.store import Store
from rlregress.upgrade.versions import cached_folders

from .short_runs import PACKAGE, begin, has_ended, holder, jobs, other_code, rlregress, write_listed
from .slurm_daemons import until


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


RUNS = ("--budget", "smoke", "--framework", "sb3", "--algorithm", "ppo",
        "--environment", "InvertedPendulum-v4", "--seeds", "1")  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return a working tree of a framework whose code differs by a comment."""
    return other_code(tmp_path_factory.mktemp("tree"))


@pytest.mark.nightly
def test_runs_of_a_launch_with_another_version_are_done_with_it(tree, tmp_path):
    """The printed command trains with the other version; without it a run refuses."""
    launch = rlregress("runs", "launch", "--with", str(tree), *RUNS, "--store", str(tmp_path))
    assert launch.returncode == 0, launch.stderr
    assert launch.stdout.startswith(f"with {tree} (tree): ")
    assert f"\none run: PYTHONPATH={tree}:" in launch.stdout
    (manifest,) = (tmp_path / "manifests").iterdir()
    run = ("runs", "run", "--manifest", str(manifest), "--index", "0")
    plain = rlregress(*run, "--store", str(tmp_path))
    assert plain.returncode == 2
    assert f"would train other code than planned: '{PACKAGE}' has the digest" in plain.stderr

    done = rlregress("runs", "launch", "--local", f"--with={tree}", *RUNS, "--store", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    (name,) = Store(tmp_path).list_runs_by_state().done
    record = json.loads((tmp_path / f"{name}.json").read_text())
    (digest_here,) = {job.sources[PACKAGE] for job in jobs([0])}
    assert record["status"] == "finished"
    assert record["job"]["sources"][PACKAGE] != digest_here


def test_environments_that_others_may_write_are_not_used(tmp_path, command, monkeypatch):
    """They are run as code: a store that somebody has handed over would be obeyed."""
    monkeypatch.delenv(cached_folders.CACHE_VARIABLE, raising=False)
    store = tmp_path / "store"
    (store / "environments").mkdir(parents=True)
    store.chmod(0o777)
    words = ("runs", "launch", "--with", "stable-baselines3==0.0.1", *RUNS, "--store", str(store))
    code, _, error = command(*words)
    assert (code, error.count("\n")) == (2, 1)
    assert f"others may change them: everybody may write to it ({store})" in error
    assert "--trust-pickle" in error


@pytest.mark.skipif(os.getuid() != 0, reason="root alone can give a folder to others")
def test_environments_of_another_user_are_not_used(tmp_path, monkeypatch):
    """Only those of a shared store's group, or trusted ones, are used."""
    os.chown(tmp_path, 54321, 54321)
    with pytest.raises(UserError, match="others may change them: it belongs to the user 54321"):
        commands_versions._check_nobody_else_can_write(tmp_path)
    tmp_path.chmod(0o775)
    monkeypatch.setattr(os, "getgroups", lambda: [54321])
    commands_versions._check_nobody_else_can_write(tmp_path)
    tmp_path.chmod(0o777)
    with pytest.raises(UserError, match="others may change them: everybody may write to it"):
        commands_versions._check_nobody_else_can_write(tmp_path)
    monkeypatch.setenv(checkpoint.TRUST, "1")
    commands_versions._check_nobody_else_can_write(tmp_path)


def start_launch(store: Store, manifest, workers: int = 2) -> subprocess.Popen[str]:
    """Start a launch of a manifest."""
    command = [sys.executable, "-m", "rlregress", "runs", "launch", "--local", "-j", str(workers)]
    return begin([*command, "--manifest", str(manifest.path), "--store", str(store.folder)])


@pytest.mark.usefixtures("warm_python")
@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_launch_that_is_ended_goes_on_when_it_is_launched_again(tmp_path, number):
    """Its processes end with the launch, whatever ends it; finished runs are not repeated."""
    all_jobs = jobs(range(3) if number == signal.SIGKILL else range(2))
    store = Store(tmp_path)
    manifest = write_listed(store, all_jobs)
    first = start_launch(store, manifest)
    processes = [holder(store, job).process for job in all_jobs[:2]]
    first.send_signal(number)
    first.wait(60)
    until(lambda: all(map(has_ended, processes)), 60, "what it started goes on")
    done = {path: path.stat() for path in store.folder.glob("sb3*/*.json")}
    assert len(done) < len(all_jobs)

    second_launch = start_launch(store, manifest)
    text, _ = second_launch.communicate(timeout=300)
    assert second_launch.returncode == 0, text
    assert f"{len(all_jobs)} runs, {len(all_jobs) - len(done)} of them to do" in text
    contents = store.list_runs_by_state()
    assert contents.done == {job.name for job in all_jobs}
    assert (contents.leases, contents.duplicates) == (set(), [])
    assert {path: path.stat() for path in done} == done


@pytest.mark.parametrize(
    ("code", "result"),
    [
        (0, "done"), (75, "unfinished"), (1, "failed"), (-signal.SIGTERM, "unfinished"),
        (-signal.SIGKILL, "unfinished"), (128 + signal.SIGINT, "unfinished"),
        (-signal.SIGSEGV, "failed"),
    ],
)  # fmt: skip
def test_a_run_ended_by_a_signal_is_unfinished(tmp_path, monkeypatch, code, result):
    """A run that a signal ends is unfinished; a crash of its own code is a failure."""
    end = f"exit({code})"
    if code < 0:
        default = f"signal.signal({-code}, signal.SIG_DFL)" if code != -signal.SIGKILL else ""
        end = f"import os, signal; {default}; os.kill(os.getpid(), {-code})"
    started = []

    def build_command(*_):
        started.append(1)
        return [sys.executable, "-c", end.replace("; ;", ";")]

    monkeypatch.setattr(run_one, "build_command_of_run", build_command)
    monkeypatch.setattr(local, "_PAUSE_SECONDS", 0.0)
    store = Store(tmp_path)
    manifest = write_listed(store, jobs([0]))
    counts = local.run_on_this_machine(
        manifest, list(manifest.iterate_runs()), store, 1, lambda _: None
    )
    assert counts == local.Counts(**{result: 1})
    # what another attempt does is tried once more, after the others
    assert len(started) == (2 if code == run_one.RESUMABLE else 1)


def test_a_signal_is_not_lost_while_a_run_is_started(tmp_path, monkeypatch):
    """Python ignores what a handler raises in the hooks that run around a fork."""
    forks = []

    def interrupt():
        if not forks:
            forks.append(1)
            signal.raise_signal(signal.SIGINT)

    # a process of a parallel test run has another handler
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    os.register_at_fork(after_in_parent=interrupt)
    monkeypatch.setattr(run_one, "build_command_of_run", lambda *_: [sys.executable, "-c", "pass"])
    store = Store(tmp_path)
    manifest = write_listed(store, jobs([0]))
    try:
        with pytest.raises(KeyboardInterrupt):
            local.run_on_this_machine(
                manifest, list(manifest.iterate_runs()), store, 1, lambda _: None
            )
    finally:
        signal.signal(signal.SIGINT, before)
