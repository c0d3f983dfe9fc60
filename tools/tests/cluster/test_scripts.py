"""The scripts for Slurm: which runs, in which arrays, with what time and memory."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from rlregress.check import stored_throughput
from rlregress.cluster import manifest, run_one, slurm_arrays
from rlregress.errors import UserError
from rlregress.training.lease import Lease
from rlregress.training.store import Store

from ..training.test_records import content, job


def write_listed(tmp_path: Path, seconds: dict[int, float]) -> manifest.Manifest:
    """A manifest of runs with so many expected seconds; every second one is of another group."""
    cells = (job().cell, replace(job().cell, algorithm="sac"))
    jobs = [(job(n, cell=cells[n % 2]), second) for n, second in seconds.items()]
    return manifest.write_manifest_of_jobs(jobs, tmp_path / "manifests")


def build_scripts(run_list, folder, site=None, size=1001, done=()) -> tuple:
    """Return the scripts of the remaining runs, and the lines about time and memory."""
    runs, lines = list(run_list.iterate_runs()), []
    remaining = [run for run in runs if run.name not in done]
    arguments = (remaining, done, Store(folder), site or slurm_arrays.Site(), size, lines.append)
    return slurm_arrays.build_array_scripts(run_list, runs, *arguments), lines


@pytest.mark.parametrize(
    ("indices", "text"),
    [([0], "0"), ([0, 1, 2, 3], "0-3"), ([3, 17, 40, 41, 42], "3,17,40-42"), ([1, 3, 5], "1,3,5")],
)
def test_indices_are_written_short(indices, text):
    """Indices are ranges, as sbatch takes them."""
    assert slurm_arrays.format_index_ranges(indices) == text


def test_a_piece_fits_into_an_array():
    """The pieces of 1440 runs have indices up to 1000 each; finished runs leave holes."""
    assert [len(piece) for piece in slurm_arrays.split_indices_into_arrays(range(1440), 1001)] == [
        1001,
        439,
    ]
    pieces = list(slurm_arrays.split_indices_into_arrays([0, 999, 1000, 1001, 1439, 2002], 1001))
    assert pieces == [[0, 999, 1000], [1001, 1439], [2002]]
    assert all(piece[-1] - piece[0] <= 1000 for piece in pieces)


def test_a_script_names_its_runs_and_nothing_else(tmp_path, snapshot, monkeypatch):
    """Undone runs are listed longest first; options and lines of a site replace ours."""
    monkeypatch.setattr(run_one, "collect_variables_of_remote_process", dict)
    run_list = write_listed(tmp_path, dict.fromkeys(range(0, 14, 2), 100.0))
    done = {run.name for run in run_list.iterate_runs() if run.number in (0, 3)}
    scripts, _ = build_scripts(run_list, tmp_path, size=3, done=done)
    assert [script.runs for script in scripts] == [[1, 2], [4, 5, 6]]
    assert f"#SBATCH --job-name={scripts[1].name}\n" in scripts[1].text
    site = slurm_arrays.Site(("account=x", "time=3-0", "exclusive"), "module load python\n", 24)
    ((own,), _) = build_scripts(write_listed(tmp_path, {0: 60.0, 2: 60.0}), tmp_path, site)
    text = scripts[1].text + own.text
    for written, shown in ((str(tmp_path), "FOLDER"), (sys.executable, "PYTHON")):
        text = text.replace(written, shown)
    text = re.sub("[0-9a-f]{12}|(?<=rlregress-)[0-9a-f]{8}", "DIGEST", text)
    snapshot("scripts.txt", text)


def test_time_and_memory_are_those_of_recorded_runs(tmp_path):
    """Else memory is that of stored throughput; unmeasured limits are those of the site."""
    run_list = write_listed(tmp_path, {0: 600.0, 2: 300.0, 1: 30.0})
    for seed in (0, 2):
        measured = {"time": {"wall_seconds": 1200.0}, "memory": {"peak_mib": 1000.0}}
        Store(tmp_path).put_record_of_attempt(job(seed), {**content(job(seed)), **measured}, "one")
    done = Store(tmp_path).list_runs_by_state().done
    larger = write_listed(tmp_path, {0: 600.0, 2: 300.0, 1: 30.0, 4: 600.0})
    scripts, text = build_scripts(larger, tmp_path, done=done)
    assert "--time=50\n" in scripts[0].text
    assert "--mem=1536M\n" in scripts[0].text
    assert "--time=11\n" in scripts[1].text
    assert "--mem" not in scripts[1].text
    assert text == [
        "some-ppo: time: 2 times the 20.0 min of 2 records of this store, and 10 min; "
        "memory: 1.3 times the 1000 MiB of 2 records of this store",
        "some-sac: time: 2 times the 0.5 min of its stored runs, and 10 min; "
        "memory: the site's, because no run of it is recorded",
    ]
    assert run_list.size == 3
    framework, algorithm = next(iter(stored_throughput.load_all_throughput()))
    cell = type(job().cell)(framework, algorithm, "Ring-v0", framework, "smoke")
    run_list = manifest.write_manifest_of_jobs([(job(cell=cell), 0.0)], tmp_path / "manifests")
    ((script,), (text,)) = build_scripts(run_list, tmp_path)
    assert "time: the site's" in text
    assert re.search(r"MiB of \d+ stored processes of its throughput", text)
    assert "--time" not in script.text
    assert re.search(r"--mem=\d+M\n", script.text)


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--account=x", "expected an option of sbatch without its dashes"),
        ("account=x\nrm", "expected an option of sbatch"),
        ("array=1-4", "rlregress sets array itself"),
        ("job-name=x", "rlregress sets job-name itself"),
    ],
)
def test_an_option_that_cannot_be_passed_is_refused(option, reason):
    """A wrong option is one sentence, before anything is submitted."""
    with pytest.raises(UserError, match=reason):
        slurm_arrays.Site((option,))


@pytest.mark.parametrize(
    ("name", "written"),
    [("a b", "'/x/a b{}'"), ("a%A", "/x/a%%A{}"), ("a%", "/x/a%%{}"), ('a"b', "'/x/a\"b{}'"),
     ("a'b", "'/x/a'\"'\"'b{}'"), ("$HOME", "'/x/$HOME{}'"), ("a#ü", "'/x/a#ü{}'")],
)  # fmt: skip
def test_a_log_may_lie_anywhere(tmp_path, name, written):
    """Quoted for sbatch, which takes %% for a per cent sign."""
    run_list = write_listed(tmp_path, {0: 60.0})
    text = build_scripts(run_list, Path("/x") / name)[0][0].text
    assert f"#SBATCH --output={written.format('/slurm/%A_%a.log')}\n" in text
    assert shlex.split(text.splitlines()[-1])[-1] == f"/x/{name}"


@pytest.mark.parametrize("name", ["a\\b", "a\nb", "a\tb", "\x1b[2J", "\udcff"])
def test_a_path_that_slurm_does_not_take_is_refused(tmp_path, name):
    """A backslash ends the replacement of %A; a line ends an option."""
    run_list = write_listed(tmp_path, {0: 60.0})
    with pytest.raises(UserError, match="^--store is '/x/.*, and Slurm takes no path with"):
        build_scripts(run_list, Path("/x") / name)


def test_a_path_may_hold_the_word_that_is_an_index(tmp_path):
    """A shell evaluates only the index, whatever the path holds."""
    folder = tmp_path / "INDEX" / "$((SLURM_ARRAY_TASK_ID + 0))"
    ((script,), _) = build_scripts(write_listed(folder, {0: 60.0}), folder)
    last = script.text.splitlines()[-1]
    assert last.count(" $((SLURM_ARRAY_TASK_ID + 0)) ") == 1
    words = ["bash", "-c", last.replace("exec ", "printf '%s\\n' ")]
    text = subprocess.check_output(words, env={"SLURM_ARRAY_TASK_ID": "7"}, text=True)
    assert text.splitlines()[-4:] == ["--index", "7", "--store", str(folder)]


def install(folder: Path, monkeypatch, **programs: str) -> None:
    """Commands of Slurm that are shell scripts."""
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("text", "message"),
    [("exit 3", "scontrol refused: "),
     ("echo no; echo 'a\nb' >&2; exit 1", "scontrol refused: a b$"),
     *((text, "names no MaxArraySize") for text in (
         "echo 'MaxArraySize = many'", f"echo 'MaxArraySize = {'9' * 5000}'",
         "printf 'MaxArraySize = \\xff'")),
     ("exec sleep 60", "scontrol did not answer in 0.5 s"),
     # it is there, and no program
     (None, "scontrol cannot be started: Exec format error")],
    ids=lambda text: str(text)[:20],
)  # fmt: skip
def test_a_slurm_that_answers_nonsense_or_never_is_one_sentence(
    tmp_path, monkeypatch, text, message
):
    """Nonsense, silence and a broken program are one sentence each."""
    monkeypatch.setattr(run_one, "SLURM_TIMEOUT_SECONDS", 0.5)
    install(tmp_path, monkeypatch, scontrol=text or "")
    if text is None:
        (tmp_path / "scontrol").write_text("")
        monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=message) as raised:
        slurm_arrays.read_max_array_size()
    assert len(str(raised.value).splitlines()) == 1


def test_rows_of_a_queue_that_are_not_ours_are_passed_over(tmp_path, monkeypatch):
    """Other jobs may be called anything; the user is asked for by number."""
    run_list, store = write_listed(tmp_path, {0: 60.0, 2: 50.0}), Store(tmp_path)
    name = build_scripts(run_list, tmp_path)[0][0].name
    rows = [
        "", "|", "a|b", f"{name}|1", f"{name}|\u00b2|RUNNING|None", f"{name}|x|RUNNING|None",
        f"{name}9999999999|0|RUNNING|None", f"{name[:-1]}x|0|RUNNING|None", "-|-|-|-|-",
        f"{name}|0|COMPLETING|None", f"{name}|1|PENDING|(a|b)",
    ]  # fmt: skip
    (tmp_path / "rows").write_text("\n".join([*rows, ""]))
    text = f"echo $* >> {tmp_path}/asked; cat {tmp_path}/rows; printf '\\xff|\\n'"
    install(tmp_path, monkeypatch, squeue=text)
    queue = slurm_arrays.read_queued_tasks(store)
    assert (queue.error, queue.states) == ("", {("PENDING", "(a|b)"): 1})
    assert queue.runs == {run.name for run in run_list.iterate_runs() if run.number == 1}
    assert f" -u {os.getuid()} " in (tmp_path / "asked").read_text()


def test_a_submitted_run_without_a_task_is_gone(tmp_path, monkeypatch):
    """A run of a script without a task is gone, unless a launch runs or Slurm is silent."""
    run_list, store = write_listed(tmp_path, {0: 60.0, 2: 50.0, 4: 40.0}), Store(tmp_path)
    ((script,), _) = build_scripts(run_list, tmp_path)
    install(tmp_path, monkeypatch, squeue=f"echo '{script.name}|1|PENDING|None'", sbatch="echo 5")
    slurm_arrays.submit_remaining_runs(lambda _: [script], store, print)
    digest = run_list.digest[: manifest.NAME_LENGTH]
    assert slurm_arrays.read_queued_tasks(store).gone == {digest: {0, 2}}
    path = tmp_path / "slurm" / f"{script.name}.sh"
    for array in ("0-99999999999", "2,1", "5-1", "-"):
        path.write_text(re.sub("--array=.*", f"--array={array}", script.text))
        assert slurm_arrays.read_queued_tasks(store).gone in ({}, {digest: set()})
    # not the millions that a script may name, which take a GiB
    path.write_text(re.sub("--array=.*", "--array=0-4000000", script.text))
    tracemalloc.start()
    assert slurm_arrays.read_queued_tasks(store).gone == {digest: {0, 2}}
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    path.write_text(script.text)
    lease = Lease(tmp_path / "slurm" / "launch.lease")
    assert lease.take_if_free()
    assert slurm_arrays.read_queued_tasks(store).gone == {}
    lease.release_lease()
    install(tmp_path, monkeypatch, squeue="exit 1")
    assert slurm_arrays.read_queued_tasks(store).gone == {}


def test_an_answer_of_sbatch_that_is_none_is_one_sentence(tmp_path, monkeypatch):
    """The script is kept to be looked at, and its runs do not count as submitted."""
    run_list, store = write_listed(tmp_path, {0: 60.0}), Store(tmp_path)
    ((script,), _) = build_scripts(run_list, tmp_path)
    install(tmp_path, monkeypatch, squeue="", sbatch="echo welcome")
    text = "sbatch answered 'welcome', expected the number of a job; the script is .*refused; subm"
    with pytest.raises(UserError, match=text):
        slurm_arrays.submit_remaining_runs(lambda _: [script], store, print)
    assert slurm_arrays.read_queued_tasks(store).gone == {}
