"""What a training enters, without a recording of it."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.tracing import events
from rlregress.tracing.entered import Entered
from rlregress.tracing.run import Side
from rlregress.upgrade import sides, traced
from rlregress.upgrade.selection import Telling

SB3 = frameworks.get("sb3")
SAC = ("stable_baselines3/sac/sac.py", "SAC.train")


@pytest.mark.parametrize("name", ["ppo", "ppo kl-stop", "a2c gsde-simple"])
def test_the_same_is_entered_as_in_a_recording(name: str, tmp_path: Path) -> None:
    """Unseen generators are seeded alike, so that the same way is gone."""
    (asked,) = [each for each in traced.every(SB3) if each.name == name]
    found = sides.entered([asked], Side("B"), Telling(), SB3.code_folders())
    recorded = sides.recorded([asked], Side("B"), tmp_path, lines=True)
    assert found[name].functions == recorded[name].header["functions"]
    light = sides.recorded([asked], Side("B"), tmp_path, "-2", lines=[])
    assert light[name].header["functions"] == found[name].functions


def test_a_training_is_ended_at_the_first_function_that_tells() -> None:
    """SAC enters what differs; PPO does not, and all that it enters is known."""
    asked = [traced.built_in(SB3, name) for name in ("sac", "ppo")]
    found = sides.entered(asked, Side("B"), Telling(frozenset({SAC})), SB3.code_folders())
    assert found["sac"].functions is None
    assert found["ppo"].functions is not None
    assert "PPO.train" in found["ppo"].functions["stable_baselines3/ppo/ppo.py"]


STARTING = """
import multiprocessing, subprocess, sys
from rlregress.tracing import entering, events, record
from rlregress.tracing.entered import Entered

def spawned(_):
    process = multiprocessing.get_context("spawn").Process(target=len, args=("",))
    process.start()
    process.join()

def called(_):
    subprocess.run(["uname"], check=True)
    subprocess.run(["true"], check=True)

def told(_):
    subprocess.run(["uname"], check=True)

if __name__ == "__main__":
    places = events.Places([])
    record.built_in = lambda job: globals()[sys.argv[1]]
    entering._train({"output": sys.argv[2]}, Entered(places), places)
"""


@pytest.mark.parametrize(("how", "reason"), [("spawned", True), ("called", True), ("told", False)])
def test_what_starts_another_process_is_not_told(how: str, reason: bool, tmp_path: Path) -> None:
    """What is entered there is not seen; who asks for the machine starts no training."""
    script, output = tmp_path / "starting.py", tmp_path / "answer.json"
    script.write_text(STARTING, encoding="utf-8")
    subprocess.run([sys.executable, str(script), how, str(output)], check=True, timeout=120)
    said = json.loads(output.read_text(encoding="utf-8"))
    assert said == ({"reason": "it starts another process"} if reason else {"functions": {}})


def test_what_a_module_calls_when_it_is_imported_is_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a function has run in every training."""
    (tmp_path / "calling.py").write_text(
        "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\nONE = one()\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    met: list[tuple[str, str]] = []
    file = str(tmp_path / "calling.py")
    functions = [("calling.py", "one"), ("calling.py", "two")]
    with Entered(events.Places([file]), functions, met.append) as entered:
        importlib.import_module("calling")
    assert met == [("calling.py", "one")]
    assert entered.functions() == {"calling.py": ["one"]}
