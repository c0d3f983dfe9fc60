"""Shell completion, the order of the help, and the options that commands pass on."""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.check import check_run
from rlregress.check_options import CheckOptions
from rlregress.cli import check, upgrade
from rlregress.model import option
from rlregress.upgrade.upgrade_options import Options
from tools.tests.processes import run_python

ROOT = Path(__file__).resolve().parents[2]

#: the program under its own name for one line after another, each with what it completes to and
#: what has been imported of what takes long
PROGRAM = """
import contextlib, io, json, os, sys
from rlregress.cli import main
sys.argv = ["rlregress"]
for words in json.loads(sys.stdin.read()):
    os.environ |= {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        main()
    print(json.dumps([said.getvalue().split(), sorted({"numpy", "torch"} & set(sys.modules))]))
"""
#: what bash is given for a line that ends where the cursor is
COMPLETED = {
    "rlregress up": (["upgrade"], []),
    "rlregress runs la": (["launch"], []),
    "rlregress check --framework ": (sorted(frameworks.list_framework_names()), ["numpy"]),
    "rlregress check --cells sb3-ppo-Ho": (["sb3-ppo-Hopper-v4-short"], ["numpy"]),
    "rlregress check --cells all,sb3-ppo-Ho": (["all,sb3-ppo-Hopper-v4-short"], ["numpy"]),
    "rlregress details sac.critic_loss.s": (["sac.critic_loss.scale"], ["numpy"]),
}


def test_a_shell_completes_without_importing_torch():
    """Commands, frameworks, cells and details are completed."""
    environment = {**os.environ, "_RLREGRESS_COMPLETE": "complete_bash"}
    process = run_python("-c", PROGRAM, input=json.dumps([*COMPLETED]), env=environment)
    answers = map(json.loads, process.stdout.splitlines())
    assert dict(zip(COMPLETED, map(tuple, answers), strict=True)) == COMPLETED


def test_the_top_of_the_help_is_short(command, monkeypatch):
    """It opens with the four commands that matter, and lists at most 15."""
    monkeypatch.setenv("COLUMNS", "80")
    _, text, _ = command("--help")
    _, _, command_list = text.partition("Commands:\n")
    names = [line.split()[0] for line in command_list.splitlines()]
    assert names[:4] == ["check", "upgrade", "compare", "details"]
    assert len(names) <= 15
    assert "--install-completion" in text


@pytest.mark.usefixtures("warm_python")
def test_the_tests_run_from_any_folder(tmp_path):
    """Results go to the current folder, and files of ``tmp_path`` are kept, as by pytest."""
    own, temporary = tmp_path / "test_own.py", tmp_path / "temporary"
    own.write_text("def test_own(tmp_path):\n    (tmp_path / 'written.txt').touch()\n")
    temporary.mkdir()
    words = (
        f"-m rlregress test tests_unit/test_sac.py {own} -v --framework sb3 --junitxml found.xml"
    )
    options = {"cwd": tmp_path, "env": {**os.environ, "TMPDIR": str(temporary)}}
    process = run_python(*words.split(), "-k", "test_critic_loss_scale or test_own", **options)
    assert "tests_unit/test_sac.py::test_critic_loss_scale[" in process.stdout
    assert (tmp_path / "found.xml").is_file()
    assert list(temporary.glob("rlregress*")) == []
    assert len(list(temporary.rglob("written.txt"))) == 1


@pytest.mark.usefixtures("uncollected_tests")
def test_a_plan_begins_with_minutes_and_what_it_would_detect(command, tmp_path):
    """Five lines have least and most minutes, and the drop of each algorithm."""
    named = (
        "sb3-ppo-Reacher-v4-short,sb3-sac-InvertedDoublePendulum-v4-short,sb3-td3-Pendulum-v1-short"
    )
    code, output, _ = command("plan", "--cells", named, "--store", str(tmp_path), "-n", "2")
    first, nightly, *_ = output.split("\n\n")
    assert re.match(r"Every night .* --first-seed \d+ trains new seeds; [^\n]+$", nightly)
    lines = first.splitlines()
    assert code == 0
    assert len(lines) <= 5
    [unchanged] = re.findall(r"^If nothing changed, (\d+) minutes? here", lines[0])
    [least, most] = re.findall(r"torch changed, (\d+) to (\d+) minutes", lines[1])[0]
    assert 0 < int(unchanged) < int(least) < int(most)
    drops = dict(re.findall(r"(\w+) ([\d.]+)%", lines[-1]))
    assert set(drops) == {"ppo", "sac", "td3"}
    # the smallest that the table below has for the gate that is chosen
    table = re.findall(r"^  sb3-(ppo|sac|td3)\S*(?: training)?.*? +([\d.]+)%", output, re.MULTILINE)
    smallest = {name: min(float(d) for key, d in table if key == name) for name in drops}
    assert {name: float(drop) for name, drop in drops.items()} == smallest
    assert output.splitlines()[-1].startswith("next: rlregress check --budget short --cells ")


def test_a_report_repeats_the_options_of_an_upgrade(command, monkeypatch):
    """The command in a report is the one that was typed."""
    words = (
        "--framework sb3,torchrl --algorithm ppo,sac --scenario goals,atari --min-coverage 0.25 "
        "--fail-on close --accepted reviewed.toml --trace-all --no-returns "
        "--single-look --lend pandas --minutes 1.5"
    )
    judged = []
    monkeypatch.setattr(
        upgrade, "judge_and_report_upgrade", lambda options, *_: judged.append(options) or 0
    )
    command("upgrade", "a==1", "b", *words.split())
    typed = {*option.list_options(Options)} - {"report", "workers"}
    assert option.format_options_as_arguments(judged[0], typed) == words.split()


def test_a_report_repeats_the_options_of_a_check(command, monkeypatch):
    """pytest takes them, too, but for the throughput."""
    words = (
        "--budget full --framework sb3 --algorithm ppo --environment Hopper-v4 "
        "--hyperparameters original --seeds 5 --single-look --alpha 0.01 --first-seed 2000 "
        "--store runs --throughput"
    )
    judged = []
    monkeypatch.setattr(
        check, "judge_and_report_check", lambda options, *_: judged.append(options) or 0
    )
    command("check", *words.split())
    assert check_run.build_repeat_command(judged[0]) == f"rlregress check {words}"
    typed = [word for word in words.split() if word != "--throughput"]
    assert set(typed) <= set(check_run.build_pytest_command(judged[0]))


def test_every_option_of_a_check_is_in_the_command_that_repeats_it():
    """An option that pytest does not take is repeated, too."""
    for name, (declared, default) in option.list_options(CheckOptions).items():
        value = {bool: True, int: 7, float: 0.5}.get(type(default), "other")
        command = check_run.build_repeat_command(replace(CheckOptions(), **{name: value}))
        assert (declared.flag in shlex.split(command)) or name in ("report", "workers"), name


@pytest.mark.parametrize("owner", [CheckOptions, Options])
def test_every_option_is_read(owner):
    """A field that nothing reads is no option: it is declared, taken, and does nothing."""
    library = "\n".join(path.read_text() for path in (ROOT / "tools/rlregress").rglob("*.py"))

    def unread(names):
        return [name for name in names if not re.search(rf"[a-z_]\.{name}\b(?! = )", library)]

    assert unread(option.list_options(owner)) == []
    assert unread(["no_such_field"]) == ["no_such_field"]
