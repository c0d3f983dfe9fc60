"""The gate on two versions, as a user runs it: on a branch, interrupted, and on bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rlregress import cli, frameworks
from rlregress.details import catalogue
from rlregress.errors import UserError
from rlregress.reporting import upgrade as report
from rlregress.tracing.run import Side
from rlregress.upgrade import gate, interpreters, making, state
from rlregress.upgrade.environments import Prepared
from rlregress.upgrade.wanted import Wanted

SB3 = frameworks.get("sb3")
FILE = f"{SB3.modules[0]}/sac/sac.py"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv(making.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def branch(tmp_path):
    """A working tree with a copy of the framework, in which text of SAC's file is replaced."""

    def made(old, new):
        SB3.copy_to_change(FILE, tmp_path / "branch")
        path = tmp_path / "branch" / FILE
        text = path.read_text()
        assert text.count(old) == 1
        path.unlink()
        path.write_text(text.replace(old, new))
        return str(tmp_path / "branch")

    (tmp_path / "branch").mkdir()
    return made


@pytest.fixture
def judge(cache, tmp_path, monkeypatch):
    """Judge an upgrade of SAC, asked only about SAC; the exit code and the report."""
    asked = [d for d in catalogue.all_details() if d.id.startswith("sac.critic_loss")]
    monkeypatch.setattr(catalogue, "all_details", lambda: asked)

    def judged(a, b):
        options = gate.Options(a, b, tmp_path / "report", algorithms=["sac"], returns=False)
        code = report.judge(options)
        return code, json.loads((tmp_path / "report" / "upgrade.json").read_text())

    return judged


def test_a_branch_with_another_loss_is_found_and_explained(judge, branch):
    """SAC without its factor 1/2 diverges at the line of the critics' backward, by name."""
    tree = branch("0.5 * sum(F.mse_loss", "1.0 * sum(F.mse_loss")
    code, found = judge("installed", tree)
    traced = found["frameworks"]["sb3"]["traces"]["sac"]
    line = 1 + (Path(tree) / FILE).read_text().split("critic_loss.backward()")[0].count("\n")
    assert (code, found["verdict"], traced["verdict"]) == (3, "changed", "diverged")
    assert traced["first"]["kind"] == "loss"
    assert traced["first"]["ratio"] == pytest.approx(2.0, rel=1e-6)
    assert traced["first"]["b"] == f"{FILE}:{line}"
    assert traced["details"] == [{"id": "sac.critic_loss.scale", "scope": "library", "sure": True}]


def test_a_branch_that_does_the_same_is_acquitted(judge, branch):
    """A renamed variable is no change, and the acquittal says what it covers."""
    code, found = judge(
        "installed", branch("critic_loss = 0.5 * sum", "critic_loss = sum([0.5]) * sum")
    )
    traced = found["frameworks"]["sb3"]["traces"]["sac"]
    assert (code, found["verdict"], traced["verdict"]) == (0, "unchanged", "equal")
    shares = traced["reached"]["shares"]
    assert shares["A"] == pytest.approx(shares["B"], abs=0.01)
    assert 0.5 < shares["A"] < 1.0
    assert FILE in traced["reached"]["missed"]


#: a gate whose every question is answered at once, except that one recording waits to be killed.
INTERRUPTED = """
import json, sys, time
from pathlib import Path
from rlregress.tracing import events, run, trace
from rlregress.training.record import write_atomically
from rlregress.upgrade import fingerprints, gate

log = Path(sys.argv[1])

def noted(word):
    with log.open("a") as file:
        print(word, file=file)

def ask(side, module, job, kept):
    if kept.is_file():
        return json.loads(kept.read_text())
    noted(kept.name)
    answers = {"versions": {}, "algorithms": ["sac"], "observed": {}, "defaults": {}}
    answers = answers if module.endswith("ask") else {}
    write_atomically(kept, json.dumps(answers))
    return answers

def record(job, output, side):
    noted(output.name.partition(".trace")[0])
    if "-b." in output.name and sys.argv[2] == "wait":
        output.write_text("half")
        time.sleep(60)
    step = {"kind": "step", "name": "x", "at": None, "parts": {"reward": events.part(1.0)}}
    events.write(str(output), {"failure": "", "seeded": [], "lines": {}}, [step])
    return trace.load(output)

fingerprints.asking.ask, run.record = ask, record
options = gate.Options("installed", sys.argv[3], Path("report"), ["sb3"], returns=False, workers=1)
print(gate.run(options).verdict)
"""


def test_an_interrupted_gate_goes_on_where_it_was(cache, branch, tmp_path):
    """What a killed gate has recorded is not recorded again, and half a trace is."""
    log = tmp_path / "log"
    tree = branch("critic_loss = 0.5", "critic_loss = 0.50")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}

    def command(mode):
        return [sys.executable, "-c", INTERRUPTED, str(log), mode, tree]

    with subprocess.Popen(command("wait"), cwd=tmp_path, env=environment) as process:
        for _ in range(600):
            if log.is_file() and "sb3-sac-b" in log.read_text():
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    before = log.read_text().split()
    ended = subprocess.run(
        command("go"), cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    after = log.read_text().split()[len(before) :]
    assert ended.stdout.strip() == "unchanged"
    assert before == ["sb3-details-a.json", "sb3-details-b.json", "sb3-sac-a", "sb3-sac-b"]
    assert after[0] == "sb3-sac-b"
    assert not set(after[1:]) & set(before)
    subprocess.run(command("go"), cwd=tmp_path, env=environment, capture_output=True, check=True)
    # one that had ended is done anew
    assert log.read_text().split()[len(before) + len(after) :][:3] == before[:3]


def test_sides_under_different_pythons_are_refused(cache, monkeypatch):
    """Bits are compared under one interpreter only."""
    monkeypatch.setattr(
        interpreters, "distributions", lambda python: {"python": f"3.{len(python)}.0"}
    )
    sides = [Prepared(Wanted("x"), Side(label, python=label * 9), "environment") for label in "AB"]
    gate._check(*sides)
    other = Prepared(Wanted("x"), Side("B", python="B"), "environment")
    with pytest.raises(UserError, match="side A runs on Python 3.9.0 and side B on 3.1.0"):
        gate._check(sides[0], other)


def test_an_interpreter_that_does_not_run_is_one_sentence(tmp_path):
    """A user's environment whose Python is broken is named."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(UserError, match="cannot be used: broken"):
        interpreters.python_of(Side("A", python=str(python)))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "gymnasium>=1"], "not pinned to one version"),
        (["--from", "no/such/tree"], "no folder and no file"),
        (["--from", "typer==0.1.0"], "concerns no framework"),
        (["--from", "installed"], "both sides are what is installed"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_two(
    cache, tmp_path, monkeypatch, capsys, arguments, said
):
    """What cannot be judged is said in one sentence; nothing is made in the cache."""
    command = ["rlregress", "gate", *arguments, "--report", str(tmp_path / "report")]
    monkeypatch.setattr(sys, "argv", command)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            cli.main()
    finally:
        signal.signal(signal.SIGTERM, handler)
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert said in error
    assert len(error.splitlines()) == 1
    assert not cache.exists()


def test_the_state_of_a_side_moves_with_its_code(cache, branch, monkeypatch):
    """A changed copy on the path is another side, although its versions are the same."""
    side = Prepared(Wanted("installed"), Side("A"), "installed")
    before = state.state(side, [SB3])
    assert state.state(side, [SB3]) == before
    monkeypatch.setattr(state, "_digests", lambda adapter: {"module": "other"})
    assert state.state(side, [SB3]) != before
