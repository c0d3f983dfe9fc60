"""The gate on a user's own script: working trees of a package that no adapter knows."""

from __future__ import annotations

import json
import re
import time

import pytest

from rlregress.cli import upgrade as upgrade_command
from rlregress.errors import UserError
from rlregress.inside import trace_worker
from rlregress.trace import jobs, rounding
from rlregress.upgrade import cascade
from rlregress.upgrade.evidence.compared_trainings import make_script_training
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.versions import affected
from rlregress.upgrade.versions.requested import parse_requested_version

from ..small_files import write_files
from ..trace.scripts import changed

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
OPENING = "\nRATE = float(open('rate.txt').read())\nrandom.seed(1)"
SCRIPT = "import learner\n" + changed(
    ("    return ((given - wanted) ** 2).mean()", "    return learner.loss(given, wanted)")
)


@pytest.fixture
def tree(tmp_path):
    """A working tree of the package that the script imports."""

    def write(name, old="", new=""):
        text = LOSS.replace(old, new)
        assert (text == LOSS) == (old == new)
        return str(write_files(tmp_path / name, {"learner/__init__.py": text}))

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


def test_a_script_that_does_the_same_is_acquitted(judge, tree, tmp_path, monkeypatch):
    """Other text, the same numbers: unchanged, with what the script reached of the package.

    It may read a file of the folder where the user starts it.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rate.txt").write_text("0.9")
    script = SCRIPT.replace("rewards + 0.9", "rewards + RATE").replace("\nrandom.seed(1)", OPENING)
    code, report, text = judge(tree("a"), tree("b", "** 2", "** (1 + 1)"), script)
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
def test_a_name_that_is_gone_counts_where_the_script_uses_it(judge, tree, tmp_path):
    """It is listed in either case; a file beside the script that it imports is read, too."""
    old, new = tree("a"), tree("b", "def spare", "def other")
    code, report, _ = judge(old, new)
    (state,) = [e["state"] for e in report["entries"] if e["name"] == "learner.spare"]
    assert (code, state) == (0, "no effect")
    (tmp_path / "helper.py").write_text("import learner\n\n\ndef idle():\n    learner.spare()\n")
    code, report, _ = judge(old, new, f"import helper\n{SCRIPT}")
    line = {
        "name": "learner.spare", "file": "helper.py", "line": 5, "text": "learner.spare()",
        "dotted": "learner.spare",
        "why": "AttributeError: module 'learner' has no attribute 'spare'",
    }  # fmt: skip
    assert (code, report["script"]["train.py"]["names"]) == (3, [line])


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
    with pytest.raises(UserError, match="--algorithm chooses among the built-in trainings"):
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
    old = parse_requested_version("typer==0.1.0 numpy==1.26.4")
    new = parse_requested_version("installed")
    imports = affected.group_importable_names(old, new)
    assert make_script_training(job, imports).job["distributions"] == ["typer"]
    assert trace_worker.list_packages_of_distribution("typer") == ["typer"]
    assert trace_worker.list_packages_of_distribution("no-such-release") == []


@pytest.mark.nightly
def test_a_script_without_an_end_is_compared_up_to_a_common_step(judge, tree):
    """Within the minutes and a fifth; later steps are listed first, as not checked."""
    start = time.time()
    text = f"{SCRIPT.rstrip()}\nwhile True:\n    main()\n"
    code, report, _ = judge(tree("a"), tree("b", "** 2", "** (1 + 1)"), text, minutes=1)
    assert time.time() - start < 60 * 1.2
    assert report["script"]["train.py"]["verdict"] == "equal"
    assert (code, report["verdict"]) == (0, "partly checked")
    assert re.fullmatch(
        r"train.py after \d+ environment steps; --steps .*: --minutes 1 were over",
        report["not_done_in_time"][0],
    )


@pytest.mark.nightly
def test_a_script_that_does_not_train_in_time_is_not_compared(judge, tree):
    """Also where it neither steps nor ends: there is a verdict, and it acquits nothing."""
    start = time.time()
    text = "import learner, time\nwhile True:\n    time.sleep(9)\n"
    code, report, _ = judge(tree("a"), tree("b", "** 2", "** 3"), text, minutes=0.1)
    assert time.time() - start < 6 + 8
    assert (code, report["verdict"]) == (2, "could not judge")
    assert "--minutes 0.1 were over" in report["not_done_in_time"][0]
