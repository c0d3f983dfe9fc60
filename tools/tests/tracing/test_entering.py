"""What a training enters, without a recording of it."""

from __future__ import annotations

import importlib
import json
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.inside import events
from rlregress.inside.marks import Marks
from rlregress.tracing.recording_processes import Side
from rlregress.upgrade import compared_trainings, sides
from rlregress.upgrade.training_selection import Triggers

pytestmark = pytest.mark.usefixtures("warm_python")

SB3 = frameworks.get("sb3")
SAC = ("stable_baselines3/sac/sac.py", "SAC.train")


@pytest.mark.nightly
def test_the_same_is_entered_as_in_a_recording(tmp_path: Path) -> None:
    """Unseen generators are seeded alike, so that the same way is gone."""
    names = ("ppo kl-stop", "a2c gsde-simple")
    requested = [item for item in compared_trainings.every(SB3) if item.name in names]
    recorded = sides.recorded(requested, Side("B"), tmp_path, lines=True)
    light = sides.recorded(requested, Side("B"), tmp_path, "-2", lines=[])
    functions_by_name = {name: recorded[name].header["functions"] for name in names}
    files = sorted({file for functions in functions_by_name.values() for file in functions})
    executed = sides.executed_functions(requested, Side("B"), Triggers(), SB3.code_folders(), files)
    assert {name: executed[name].functions for name in names} == functions_by_name
    assert {name: light[name].header["functions"] for name in names} == functions_by_name


def test_a_training_is_ended_at_the_first_function_that_tells() -> None:
    """SAC enters what differs; PPO does not, and all that it enters is known."""
    requested = [compared_trainings.built_in(SB3, name) for name in ("sac", "ppo")]
    ppo = "stable_baselines3/ppo/ppo.py"
    executed = sides.executed_functions(
        requested, Side("B"), Triggers(frozenset({SAC})), SB3.code_folders(), [ppo]
    )
    assert executed["sac"].functions is None
    assert executed["ppo"].functions is not None
    assert set(executed["ppo"].functions) <= {ppo, SAC[0]}
    assert "PPO.train" in executed["ppo"].functions[ppo]


STARTING = """
import multiprocessing, subprocess, sys
from rlregress.inside import entering, events, trace_worker
from rlregress.inside.marks import Marks

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
    trace_worker.built_in = lambda job: globals()[sys.argv[1]]
    entering._train({"output": sys.argv[2]}, Marks(places, []), places)
"""


@pytest.mark.parametrize(("how", "reason"), [("spawned", True), ("called", True), ("told", False)])
def test_what_starts_another_process_is_not_told(how: str, reason: bool, tmp_path: Path) -> None:
    """What is entered there is not seen; who asks for the machine starts no training."""
    script, output = tmp_path / "starting.py", tmp_path / "answer.json"
    script.write_text(STARTING, encoding="utf-8")
    subprocess.run([sys.executable, str(script), how, str(output)], check=True, timeout=120)
    text = json.loads(output.read_text(encoding="utf-8"))
    assert text == (
        {"reason": "it starts another process"} if reason else {"functions": {}, "imported": []}
    )


FORKING = """
import multiprocessing, sys, time
from rlregress.inside import entering, events, trace_worker
from rlregress.inside.marks import Marks

sys.path.insert(0, sys.argv[1])
places = events.Places([sys.argv[1] + "/calling.py"])
with Marks(places, ["calling.py"], [("calling.py", sys.argv[2])]) as marks:
    import calling

    def forked(_):
        process = multiprocessing.get_context("fork").Process(target=calling.Kind().method)
        process.start()
        process.join()
        time.sleep(100 if sys.argv[2] == "Kind.method" else 0)

    trace_worker.built_in = lambda job: forked
    entering._train({"output": sys.argv[3]}, marks, places)
"""


REFUSING = """
import sys
from rlregress.frameworks.base import Unsupported
from rlregress.inside import entering, events, trace_worker
from rlregress.inside.marks import Marks

sys.path.insert(0, sys.argv[1])
places = events.Places([sys.argv[1] + "/calling.py"])
with Marks(places, ["calling.py"], [("calling.py", sys.argv[2])]) as marks:
    import calling

    def refused(_):
        calling.Kind().method()
        raise Unsupported("this version has none")

    trace_worker.built_in = lambda job: refused
    entering._train({"output": sys.argv[3]}, marks, places)
"""


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("Kind.method", {"met": ["calling.py", "Kind.method"]}),
        ("gone", {"unsupported": "this version has none"}),
    ],
)
def test_what_no_version_has_is_settled_unless_code_that_differs_says_so(
    calling: str, tmp_path: Path, function: str, answer: dict[str, object]
) -> None:
    """Only where the training entered nothing that differs, the other version says the same."""
    output = tmp_path / "answer.json"
    command = [sys.executable, "-c", REFUSING, str(Path(calling).parent), function, str(output)]
    subprocess.run(command, check=True, timeout=60)
    assert json.loads(output.read_text(encoding="utf-8")) == answer


@pytest.mark.parametrize("function", ["Kind.method", "gone"])
def test_what_a_copy_of_the_process_enters_is_met(calling: str, tmp_path: Path, function: str):
    """The training is ended with it, though it waits; where nothing is met, it is told."""
    output = tmp_path / "answer.json"
    command = [sys.executable, "-c", FORKING, str(Path(calling).parent), function, str(output)]
    ended = subprocess.run(command, timeout=60)
    text = json.loads(output.read_text(encoding="utf-8"))
    if function == "Kind.method":
        assert (text, ended.returncode) == ({"met": ["calling.py", "Kind.method"]}, -signal.SIGKILL)
    else:
        assert text["functions"] == {"calling.py": ["one", "two"]}
        assert text["imported"] == ["calling.py"]


CALLING = """
from functools import lru_cache

def one():
    '''Called at import.'''
    return 1

@(lambda function: function)
def two(key=lambda: 2):
    def inner():
        yield 3
    return key, inner

class Kind:
    attribute = lambda self: 4

    @property
    def value(self):
        async def later():
            return 5
        return later

    @lru_cache
    def method(self):
        "documented"

ONE = one()
"""


@pytest.fixture
def calling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A file with functions of all kinds."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "calling.py").write_text(CALLING, encoding="utf-8")
    yield str(tmp_path / "calling.py")
    sys.modules.pop("calling", None)


def test_functions_of_all_kinds_are_met(calling: str) -> None:
    """Called at import, nested, generators, coroutines, properties, lambdas of a definition."""
    met: list[tuple[str, str]] = []
    functions = [("calling.py", "one"), ("calling.py", "Kind.method")]
    with Marks(events.Places([calling]), ["calling.py"], functions, met.append) as marks:
        module = importlib.import_module("calling")
        assert met == [("calling.py", "one")]
        # the decorator of the second is a lambda
        assert marks.functions() == {"calling.py": ["one", "two"]}
        key, inner = module.two()
        assert key() == 2
        result = inner()
        assert "two.inner" not in marks.functions()["calling.py"]
        assert list(result) == [3]
        kind = module.Kind()
        assert kind.attribute() == 4
        with pytest.raises(StopIteration, match="5"):
            kind.value().send(None)
        assert kind.method() is None
        assert module.one.__doc__ == "Called at import."
        assert module.Kind.method.__doc__ == "documented"
    assert met == [("calling.py", "one"), ("calling.py", "Kind.method")]
    assert marks.functions() == {
        "calling.py": ["Kind.method", "Kind.value", "Kind.value.later", "one", "two", "two.inner"]
    }
    assert not marks.unmarked


@pytest.mark.parametrize(
    ("text", "executed", "meets"),
    [
        ("one = 1\n", True, True),
        ("one = 1\n", False, False),
        ("if __name__ == '__main__':\n    one = 1\n", True, True),
        # an import runs what stands around the block
        ("if __name__ == '__main__':\n    one = 1\n", False, True),
    ],
)
def test_the_body_of_a_script_is_met(text: str, executed: bool, meets: bool, calling: str) -> None:
    """When it runs as a script, and when a file that is one is imported."""
    Path(calling).write_text(text, encoding="utf-8")
    met: list[tuple[str, str]] = []
    body = ("calling.py", "<module>")
    with Marks(events.Places([calling]), ["calling.py"], [body], met.append):
        if executed:
            runpy.run_path(calling, run_name="__main__")
        else:
            importlib.import_module("calling")
    assert met == ([body] if meets else [])


@pytest.mark.parametrize("how", ["before", "executed"])
def test_code_that_runs_without_marks_is_not_told(how: str, calling: str) -> None:
    """What was imported before, and what a script compiles itself, says nothing."""
    if how == "before":
        importlib.import_module("calling")
    with Marks(events.Places([calling]), ["calling.py"]) as marks:
        if how == "executed":
            exec(compile("def one(): pass", calling, "exec"), {})  # noqa: S102
    assert marks.unmarked == calling


def test_a_script_that_compiles_itself_is_traced(calling: str, tmp_path: Path) -> None:
    """The answer is a reason."""
    output = tmp_path / "answer.json"
    run = subprocess.run(
        [sys.executable, "-c", COMPILING, calling, str(output)], check=True, timeout=120
    )
    assert run.returncode == 0
    assert json.loads(output.read_text(encoding="utf-8")) == {
        "reason": f"{calling} was not imported as modules are"
    }


COMPILING = """
import sys
from rlregress.inside import entering, events, trace_worker
from rlregress.inside.marks import Marks

trace_worker.built_in = lambda job: lambda _: exec(compile("x = 1", sys.argv[1], "exec"), {})
places = events.Places([sys.argv[1]])
with Marks(places, ["calling.py"]) as marks:
    entering._train({"output": sys.argv[2]}, marks, places)
"""
