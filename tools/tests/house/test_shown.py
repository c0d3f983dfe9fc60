"""Commands, outputs, findings and links of the pages are real, and so are next steps."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rlregress import suite
from rlregress.faults import fault_tables, injection
from rlregress.model.fault_results import DETAILS
from rlregress.report import next_steps as after
from rlregress_power.cli import histories
from rlregress_studies.cli import claims, rank

from . import page_contents
from .command_lines import why_not_understood
from .page_contents import PAGES, Block, Command

COMMANDS = [command for page in PAGES for command in page_contents.commands(page)]
TEXTS = sorted({command.text for command in COMMANDS})
BLOCKS = [block for page in PAGES for block in page_contents.blocks(page)]
DATA: dict[str, list[dict[str, Any]]] = tomllib.loads(
    (Path(__file__).parent / "shown.toml").read_text("utf-8")
)
RUN = {entry["command"]: entry.get("nightly", False) for entry in DATA["run"]}
CODES = {entry["command"]: entry.get("code", 0) for entry in DATA["run"]}
#: languages of blocks that are no output
_SOURCE = {"python", "toml", "yaml", "sh"}


def test_every_command_is_understood(pytestconfig):
    """Every command line that a page shows is one that the program takes."""
    assert len(TEXTS) > 100
    wrong = {
        f"{command.page}:{command.line} {command.text}": why
        for command in COMMANDS
        if (why := why_not_understood(command, pytestconfig))
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "line",
    [
        "rlregress gat",
        "rlregress check --alpha much",
        "pytest test_unit",
        "pytest tests_unit --detail sac.critic",
        "pytest tests_unit -m sac3",
        "make tests",
        "python -m rlregress.simulate",
    ],
)
def test_a_command_that_is_none_is_found(pytestconfig, line, tmp_path):
    """Names, options, values, paths, markers and modules that are not there."""
    page = tmp_path / "page.md"
    page.write_text(f"Do\n\n    {line}  # so\n")
    [command] = page_contents.commands(page)
    assert command.text == line
    try:
        why = why_not_understood(command, pytestconfig)
    except pytest.UsageError as error:
        why = str(error)
    assert why


FOLDER = Path(__file__).parents[3] / "docs" / "findings"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))


def test_every_page_script_and_command_is_reached():
    """From the README by links; no entry of shown.toml and no script of a finding is left over."""
    assert set(RUN) - set(TEXTS) == set()
    page = (FOLDER.parent / "findings.md").read_text()
    assert sorted(re.findall(r"\(findings/(\w+\.py)\)", page)) == SCRIPTS
    matches, new = set(), [suite.find_suite_root() / "README.md"]
    while new:
        page = new.pop()
        matches.add(page)
        names = [target.partition("#")[0] for _, target in page_contents.links(page)]
        executed = {(page.parent / name).resolve() for name in names if name.endswith(".md")}
        new += sorted(executed - matches - set(new))
    assert [page.name for page in PAGES if page.resolve() not in matches] == []


def test_every_output_is_compared_or_says_why_not():
    """A block is source, commands, the output of a command, or listed; no entry is left over."""
    listed = {entry["begins"]: False for kind in ("kept", "drawn") for entry in DATA[kind]}
    unknown = []
    with_commands = {(command.page, command.line) for command in COMMANDS}
    for block in BLOCKS:
        matches = [begins for begins in listed if block.text.startswith(begins)]
        listed.update(dict.fromkeys(matches, True))
        lines = range(block.line, block.line + block.text.count("\n") + 1)
        is_known = block.kind in _SOURCE or block.output_of or matches
        if not is_known and not any((block.page, line) in with_commands for line in lines):
            unknown.append(f"{block.page}:{block.line}")
    assert unknown == []
    assert [begins for begins, used in listed.items() if not used] == []


def _said(text: str) -> str:
    """A text in one line, without what pytest puts before the lines of a failure."""
    return " ".join(re.sub(r"(?m)^E\s", " ", text).split())


def not_said(block: Block, output: str) -> str:
    """The first piece of a block, between ellipses, that does not follow in an output."""
    remaining = _said(output)
    for piece in re.split(r"(?m)^\s*\.\.\.$", block.text):
        before, matches, remaining = remaining.partition(_said(piece))
        if not matches:
            return f"{block.page}:{block.line} shows\n{piece}\nthe command says\n{before}"
    return ""


@pytest.mark.usefixtures("warm_python")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, marks=pytest.mark.nightly if nightly else ())
        for text, nightly in RUN.items()
    ],
)
def test_a_shown_command_runs(text, command, tmp_path, monkeypatch):
    """It ends with exit code 0, or the one that is listed, and says what a page shows of it."""
    program, *words = Command("", 0, text, False).words()
    if program == "rlregress":
        monkeypatch.chdir(tmp_path)
        # a warm Python does not stand beside the programs of its environment, such as uv
        monkeypatch.setenv("PATH", sysconfig.get_path("scripts"), prepend=os.pathsep)
        code, output, error = command(*words)
    else:
        ended = subprocess.run(
            [sys.executable, "-m", program, *words],
            cwd=page_contents.ROOT, capture_output=True, text=True,
        )  # fmt: skip
        code, output, error = ended.returncode, ended.stdout, ended.stderr
    assert code == CODES[text], output[-2000:] + error[-2000:]
    assert [
        no for block in BLOCKS if block.output_of == text and (no := not_said(block, output))
    ] == []


FAULTY = [block for block in BLOCKS if " with the fault " in block.output_of]


@pytest.mark.nightly
@pytest.mark.usefixtures("warm_python")
@pytest.mark.parametrize("block", FAULTY, ids=lambda block: f"{block.page}:{block.line}")
def test_an_output_is_that_of_a_fault(block, tmp_path):
    """With the fault in a copy of the framework, the command says what the page shows."""
    text, _, name = block.output_of.partition(" with the fault ")
    program, *words = Command("", 0, text, False).words()
    [fault] = fault_tables.select_faults(DETAILS, ["sb3"], [name])
    if "branch" in words:
        with injection.inject_fault(fault) as variables:
            copy = variables["PYTHONPATH"].split(os.pathsep)[0]
            shutil.copytree(copy, tmp_path / "branch", symlinks=False)
        ended = subprocess.run(
            [sys.executable, "-m", program, *words], cwd=tmp_path, capture_output=True, text=True
        )
    else:
        ended = injection.run_python_with_fault(
            fault, ["-m", program, *words, "-p", "no:cacheprovider"]
        )
    assert ended.returncode == 1, ended.stdout[-2000:] + ended.stderr[-2000:]
    assert not_said(block, ended.stdout) == ""


def test_another_output_is_found(tmp_path):
    """A number, a line or an order that is not the output's is named; "..." leaves out some."""

    def listed(text: str) -> Block:
        page = tmp_path / "page.md"
        page.write_text(f"<!-- output of rlregress --version -->\n\n{text}\n")
        [block] = page_contents.blocks(page)
        assert block.output_of == "rlregress --version"
        return block

    output = "one 1\ntwo 2\nE   three 3\n"
    assert not_said(listed("    one 1\n    ...\n    three 3"), output) == ""
    assert "two 3" in not_said(listed("    one 1\n    two 3"), output)
    assert not_said(listed("    two 2\n    ...\n    one 1"), output)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    """Every link within the project leads to a file that is there, and to a heading of it."""
    assert page_contents.dead_links(page) == []


#: how the name of a script begins -> what has to be installed
PACKAGES = {"contrib": "sb3_contrib", "rsl_rl": "rsl_rl", "skrl": "skrl"}


@pytest.mark.nightly
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_shows_what_it_is_about(script, tmp_path):
    """It ends with what was expected and found; one that passes is off the page."""
    (package,) = [module for start, module in PACKAGES.items() if script.startswith(start)]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    ran = subprocess.run(
        [sys.executable, FOLDER / script],
        capture_output=True, text=True, timeout=300, cwd=tmp_path,
    )  # fmt: skip
    assert not any(tmp_path.iterdir()), "it leaves files"
    assert ran.returncode == 1, f"mended: the entry of {script} can go"
    assert re.search(r"(?m)^AssertionError: expected .+ found", ran.stderr), ran.stderr


RUNS = Path("runs")
STEPS = [
    after.suggest_after_probe(["sac.critic_loss.scale sb3 library"]),
    after.suggest_after_probe([]),
    after.suggest_after_trace(RUNS / "a.trace", repeats=True),
    after.suggest_after_diff(diverged=True),
    after.suggest_after_golden_file(RUNS / "a.golden", "train.py", repeats=True),
    after.suggest_after_launch(RUNS),
    after.suggest_after_verify(RUNS, has_wrong=False, has_damaged=True, has_missing=False),
    after.suggest_after_verify(RUNS, has_wrong=False, has_damaged=False, has_missing=False),
    claims.suggest_after_claims(["one"]),
    rank.suggest_after_study(),
    histories.suggest_after_histories(["sb3"]),
]


@pytest.mark.parametrize("step", STEPS)
def test_the_command_of_a_step_is_understood(step, pytestconfig):
    """Options and names of a step are the program's own."""
    _, colon, line = step.partition(": ")
    line = line.partition(", and ")[0]
    assert colon
    assert why_not_understood(Command("", 0, line, in_text=False), pytestconfig) == ""


@pytest.mark.parametrize("name", ["my runs", "it's"])
def test_a_path_in_a_command_is_one_word_of_it(name):
    """Whoever copies it, copies it into a shell."""
    path = Path(name)
    for step in (
        after.suggest_after_trace(path, repeats=True),
        after.suggest_after_launch(path),
        after.suggest_after_verify(path, has_wrong=False, has_damaged=False, has_missing=False),
    ):
        assert name in shlex.split(step.partition(": ")[2])


def test_a_command_ends_in_its_next_step(command, monkeypatch, tmp_path):
    """In the last line that it prints."""
    monkeypatch.chdir(tmp_path)
    ended, printed, _ = command("runs", "status", "--verify", "--store", ".")
    assert ended == 0
    assert printed.splitlines()[-1] == (
        f"next: Judge by these runs: rlregress check --fresh-seeds --store {tmp_path}"
    )
