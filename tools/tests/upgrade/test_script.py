"""The gate on a user's own script: working trees of a package that no adapter knows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

import pytest

from rlregress.cli import upgrade as upgrade_command
from rlregress.errors import UserError
from rlregress.inside import trace_worker
from rlregress.trace import jobs, rounding
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade import cascade
from rlregress.upgrade.evidence import direct_calls, runtimes
from rlregress.upgrade.evidence.compared_trainings import Training, make_script_training
from rlregress.upgrade.evidence.runtimes import Runtimes
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.versions import affected, cached_folders
from rlregress.upgrade.versions.requested import parse_requested_version
from tools.tests.left_processes import processes_with

from ..trace.scripts import TRAINING, changed

pytestmark = pytest.mark.usefixtures("warm_python")

LOSS = """
def loss(given, wanted):
    if given.isnan().any():
        raise ValueError("not a number")
    return ((given - wanted) ** 2).mean()


def spare():
    return 0
"""
#: in place of the first statement that seeds.
OPENING = "RATE = float(open('rate.txt').read())\nrandom.seed(1)"
SCRIPT = "import learner\n" + changed(
    ("    return ((given - wanted) ** 2).mean()", "    return learner.loss(given, wanted)")
)


@pytest.fixture
def tree(tmp_path):
    """A working tree of the package that the script imports."""

    def write(name, old="", new=""):
        folder = tmp_path / name / "learner"
        folder.mkdir(parents=True)
        text = LOSS.replace(old, new)
        assert (text == LOSS) == (old == new)
        (folder / "__init__.py").write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


@pytest.fixture
def judge(tmp_path, cache):
    """Judge two trees by a script; return the exit code and the report."""

    def judged(old, new, text=SCRIPT, minutes=0.0):
        script = tmp_path / "train.py"
        script.write_text(text, encoding="utf-8")
        job = jobs.build_script_job(script, [], [], 0)
        code = upgrade_command.judge_and_report_upgrade(
            Options(old, new, tmp_path / "report", script=job, minutes=minutes)
        )
        report = json.loads((tmp_path / "report" / "upgrade.json").read_text())
        return code, report, (tmp_path / "report" / "upgrade.md").read_text()

    return judged


def test_a_script_that_does_the_same_is_acquitted(judge, tree):
    """Other text, the same numbers: unchanged, with what the script reached of the package."""
    code, report, text = judge(tree("a"), tree("b", "** 2", "** (1 + 1)"))
    traced = report["script"]["train.py"]
    assert (code, report["verdict"], traced["verdict"]) == (0, "unchanged", "equal")
    assert report["frameworks"] == {}
    assert "lines 4 never ran" in text
    assert "| equal | train.py |" in text


@pytest.mark.nightly
def test_the_rounding_of_a_script_is_measured(judge, tree, monkeypatch):
    """By copies of the old version, as that of a built-in training."""
    counts, measure = [], rounding.measure_rounding_of_comparison

    def measure_and_count(comparison, old, new, copies):
        counts.append(len(copies))
        return measure(comparison, old, new, copies)

    monkeypatch.setattr(rounding, "measure_rounding_of_comparison", measure_and_count)
    other = "(((given - wanted) / 3) ** 2).mean() * 9"
    code, report, _ = judge(tree("a"), tree("b", "((given - wanted) ** 2).mean()", other))
    traced = report["script"]["train.py"]
    assert (code, report["verdict"], traced["verdict"]) == (0, "close", "close")
    assert counts == [rounding.COPIES]


@pytest.mark.nightly
def test_a_script_is_searched_for_what_is_gone(judge, tree, tmp_path):
    """A file beside it that it imports is read too, and the next step names its line."""
    (tmp_path / "helper.py").write_text("import learner\n\n\ndef idle():\n    learner.spare()\n")
    _, report, text = judge(
        tree("a"), tree("b", "def spare", "def other"), f"import helper\n{SCRIPT}"
    )
    line = {
        "name": "learner.spare", "file": "helper.py", "line": 5, "text": "learner.spare()",
        "dotted": "learner.spare",
        "why": "AttributeError: module 'learner' has no attribute 'spare'",
    }  # fmt: skip
    assert report["script"]["train.py"]["names"] == [line]
    assert f"- helper.py:5 learner.spare(): {line['why']}" in text
    step = "Change 1 line that names what is gone or incompatible: helper.py:5 learner.spare() ("
    assert step in (tmp_path / "report" / "upgrade.html").read_text()


@pytest.mark.nightly
@pytest.mark.parametrize(("use", "code"), [("", 0), ("print(learner.spare)\n", 3)])
def test_a_name_that_is_gone_counts_where_the_script_uses_it(judge, tree, use, code):
    """It is listed in either case."""
    text = SCRIPT + (f"\n\ndef idle():\n    {use}" if use else "")
    exit_code, report, _ = judge(tree("a"), tree("b", "def spare", "def other"), text)
    (state,) = [e["state"] for e in report["entries"] if e["name"] == "learner.spare"]
    assert (exit_code, state) == (code, "differs" if use else "no effect")


def test_a_script_that_never_trains_is_refused(judge, tree):
    """A gate on nothing is no acquittal."""
    with pytest.raises(UserError, match="nothing was traced on the old version"):
        judge(tree("a"), tree("b"), "import learner\n")


@pytest.mark.nightly
@pytest.mark.parametrize("own", ["", "own"])
def test_a_script_that_does_not_use_what_differs_is_refused(judge, tree, own):
    """It imports nothing of the two trees, or on both versions a copy of its own."""
    text, message = TRAINING, "imported no changed package on the old version .learner"
    if own:
        text = f"import sys\nsys.path.insert(0, {tree(own)!r})\n{SCRIPT}"
        message = "both versions imported 'learner' from .*own"
    with pytest.raises(UserError, match=message):
        judge(tree("a"), tree("b", ".mean()", ".mean() * 2"), text)


@pytest.mark.nightly
def test_neither_the_working_directory_nor_the_scripts_goes_before_a_version(
    judge, tree, tmp_path, monkeypatch
):
    """A script started inside one tree is traced with the packages of either version."""
    new = tree("b", ".mean()", ".mean() * 2")
    monkeypatch.chdir(new)
    (tmp_path / "learner.py").write_text("raise AssertionError", encoding="utf-8")
    assert judge(tree("a"), new)[1]["verdict"] == "changed"


def test_a_script_has_no_algorithm_to_choose(tmp_path):
    """The option is about built-in trainings."""
    options = Options("installed", "installed", tmp_path, algorithms=["sac"], script={})
    with pytest.raises(UserError, match="--algorithm chooses among those"):
        cascade.judge_upgrade(options)


def test_a_script_of_other_content_is_another_training(tmp_path):
    """Nothing of an interrupted gate is used when script or steps have changed since."""
    script = tmp_path / "train.py"
    imports = {"distributions": ["typer"], "trees": []}
    keys = set()
    for text, steps in (("1", 0), ("2", 0), ("1", 9)):
        script.write_text(text)
        job = jobs.build_script_job(script, [], [], steps)
        keys.add(make_script_training(job, imports).key)
    assert len(keys) == 3


def test_the_packages_that_differ_are_among_what_is_traced():
    """A release is known by its name, and the recorder finds its modules where it runs."""
    job = {"script": "train.py", "packages": []}
    old, new = (
        parse_requested_version("typer==0.1.0 numpy==1.26.4"),
        parse_requested_version("installed"),
    )
    imports = affected.list_importable_packages(
        old, new, affected.list_packages_pinned_apart(old, new)
    )
    assert make_script_training(job, imports).job["distributions"] == ["typer"]
    assert trace_worker.list_modules("typer") == ["typer"]
    assert trace_worker.list_modules("no-such-release") == []


@pytest.mark.nightly
def test_what_could_not_be_judged_is_not_gone_on_with(judge, tree, tmp_path):
    """After bad input nothing of the attempt is taken for an interrupted gate."""
    old, new = tree("a"), tree("b")
    steps = tmp_path / "steps.txt"
    text = SCRIPT.replace("trained = main()", f"open({str(steps)!r}).read() and main()")
    steps.write_text("")
    with pytest.raises(UserError, match="nothing was traced"):
        judge(old, new, text)
    steps.write_text("go")
    assert judge(old, new, text)[1]["verdict"] == "unchanged"


def endless(text):
    """The script again and again."""
    assert text.rstrip().endswith("main()")
    return text.rstrip() + "\nwhile True:\n    main()\n"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("old", "new", "word"),
    [("** 2", "** (1 + 1)", "equal"), (".mean()", ".mean() * 2", "diverged")],
)
def test_a_script_without_an_end_is_compared_up_to_a_common_step(judge, tree, old, new, word):
    """Within the minutes and a fifth; later steps are listed first, as not checked."""
    start = time.time()
    code, report, text = judge(tree("a"), tree("b", old, new), endless(SCRIPT), minutes=1)
    assert time.time() - start < 60 * 1.2
    assert report["script"]["train.py"]["verdict"] == word
    assert code == (3 if word == "diverged" else 0)
    assert report["verdict"] == ("changed" if word == "diverged" else "partly checked")
    (cut, *_) = report["not_done_in_time"]
    assert re.fullmatch(
        r"train.py after \d+ environment steps; --steps .*: --minutes 1 were over", cut
    )
    assert text.index(cut) < text.index("## Everything that differs")


def test_a_script_that_does_not_train_in_time_is_not_compared(judge, tree):
    """Also where it neither steps nor ends: there is a verdict, and it acquits nothing."""
    start = time.time()
    text = "import learner, time\nwhile True:\n    time.sleep(9)\n"
    code, report, _ = judge(tree("a"), tree("b", "** 2", "** 3"), text, minutes=0.1)
    assert time.time() - start < 6 + 8
    assert (code, report["verdict"]) == (2, "could not judge")
    assert "--minutes 0.1 were over" in report["not_done_in_time"][0]


@pytest.mark.nightly
def test_an_upgrade_that_is_ended_ends_its_trainings(tree, tmp_path):
    """SIGTERM, as a scheduler sends it: nothing runs on."""
    log, script = tmp_path / "log", tmp_path / "train.py"
    script.write_text(
        f"import os, time\nprint(os.getpid(), file=open({str(log)!r}, 'a'))\ntime.sleep(120)\n"
    )
    command = [sys.executable, "-m", "rlregress", "upgrade", tree("a")]
    command += [tree("b", "** 2", "** 3"), "--script", str(script), "--report", str(tmp_path / "r")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        cached_folders.CACHE_VARIABLE: str(tmp_path / "cache"),
    }
    with subprocess.Popen(command, env=environment, cwd=tmp_path) as process:
        # the recording of the other version waits until the log is free
        _until(lambda: log.is_file() and log.read_text().split())
        process.terminate()
        assert process.wait(timeout=20) == 143
    mark = str(tmp_path / "cache")
    # but for the interpreters that tests share
    _until(lambda: all("warm.py serve" in line for line in processes_with(mark)))


def test_calls_of_a_script_are_captured_where_the_user_starts_it(tmp_path, monkeypatch):
    """It may read a file of the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rate.txt").write_text("0.9")
    script = tmp_path / "train.py"
    text = changed(("rewards + 0.9", "rewards + RATE"), ("\nrandom.seed(1)", f"\n{OPENING}"))
    script.write_text(text, encoding="utf-8")
    mutant = {
        "file": "train.py",
        "functions": ["loss_of"],
        "text": text.replace("+ RATE", "- RATE"),
    }
    training = Training("script", "train.py", {"script": str(script), "mutant": mutant})
    with Runtimes((Runtime("old"), Runtime("new")), (tmp_path, tmp_path), 1) as both:
        calls = direct_calls.compare_calls_of_mutants(both, [training], [])["train.py"]
    assert (calls.captured > 0, calls.given) == (True, True)


def _until(condition, seconds=60):
    for _ in range(10 * seconds):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("waited in vain")


def test_a_fault_that_does_not_fit_a_script_is_one_of_many(tree, tmp_path):
    """It ends no gate: its trace is a failure that says why; one that fits is recorded."""
    folder = tree("b")
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    job = {"script": str(tmp_path / "train.py"), "trees": ["learner"]}

    def faulty(name, function, text):
        change = {"file": "learner/__init__.py", "functions": [function], "text": text}
        return Training("script", name, {**job, "swap": [change]})

    trainings = [faulty("gone", "gone", LOSS), faulty("fits", "loss", LOSS.replace("** 2", "** 4"))]
    traces = runtimes.load_or_record_traces(trainings, Runtime("new", paths=[folder]), tmp_path)
    assert "Misfit: there is no gone in learner/__init__.py" in traces["gone"].failure
    assert (traces["fits"].failure, traces["fits"].count_events_of_kind("backward") > 0) == (
        "",
        True,
    )
