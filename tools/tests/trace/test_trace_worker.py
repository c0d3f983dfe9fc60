"""A script recorded, twice, in a process of its own, and compared from the command line."""

from __future__ import annotations

import json
import sys

import pytest

from rlregress import cli
from rlregress.cli import trace as traces_command
from rlregress.errors import UserError
from rlregress.inside import trace_worker
from rlregress.model.explain import RepeatedTrace
from rlregress.trace import child_processes
from rlregress.trace.trace_comparison import compare_traces

from .scripts import TRAINING, changed

pytestmark = pytest.mark.usefixtures("warm_python")


@pytest.mark.parametrize("text", ["def broken(:\n", "raise SystemExit(3)\n"])
def test_a_script_that_does_not_begin(recorded, text):
    """A script that cannot be read or ends at once says how."""
    assert recorded(text).failure


def test_a_script_has_its_arguments_and_its_folder(recorded, tmp_path):
    """The script is the main module, sees its arguments and imports what lies beside it."""
    (tmp_path / "beside_the_script.py").write_text("VALUE = 3\n", encoding="utf-8")
    text = (
        "import sys\nimport beside_the_script as beside\nimport torch\n"
        "assert sys.argv[1:] == ['--seed', '4'], sys.argv\n"
        "assert __name__ == '__main__' and __file__.endswith('train.py')\n"
        "assert sys.modules['__main__'].beside is beside\n"
        "torch.rand(beside.VALUE)\n"
    )
    recorded_trace = recorded(text, arguments=["--seed", "4"])
    assert recorded_trace.failure == ""
    assert recorded_trace.count_events_of_kind("draw") == 1


def test_a_package_in_the_repository_of_the_script_is_traced(recorded, tmp_path):
    """A package that only the script's repository has is found when it is asked for by name."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "scripts").mkdir()
    package = tmp_path / "package_of_the_script"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import torch\ndef draw():\n    return torch.rand(3)\n", encoding="utf-8"
    )
    text = "import package_of_the_script as package\npackage.draw()\n"
    recorded_trace = recorded(text, "scripts/train", packages=[package.name])
    assert recorded_trace.failure == ""
    assert [event.place for event in recorded_trace.events] == [
        "package_of_the_script/__init__.py:3"
    ]


def test_a_package_below_the_traced_ones_can_have_its_old_code(recorded, tmp_path):
    """A method that is gone there is reverted, so that what needs it runs."""
    package = tmp_path / "package_below"
    package.mkdir()
    (package / "__init__.py").write_text("class Wrapper:\n  x = 1\n", encoding="utf-8")
    old = "class Wrapper:\n  x = 1\n  def __getattr__(self, name):\n    return 3\n"
    change = {"file": f"{package.name}/__init__.py", "functions": ["Wrapper.__getattr__"],
              "text": old}  # fmt: skip
    text = f"from {package.name} import Wrapper\nassert Wrapper().gone == 3\n"
    assert "no attribute 'gone'" in recorded(text, moved=[package.name]).failure
    recorded_trace = recorded(text, moved=[package.name], swap=[change])
    assert (recorded_trace.header["misfits"], recorded_trace.failure) == ([], "")


def test_a_script_that_draws_its_own_seed(recorded):
    """It is the tracer's; the header has the request, but not the path of the file."""
    text = changed(("np.random.seed(1)\n", "np.random.seed(np.random.randint(99))\n"))
    first, second = recorded(text, "a"), recorded(text, "b")
    repeated = RepeatedTrace(
        trace=first, with_itself=compare_traces(first, second), repetition=second
    )
    expected = "seeded by the tracer, not by the script: NumPy's generator"
    assert repeated.describe_seeds_and_repeatability() == [expected]
    assert recorded(TRAINING).header["seeded"] == []
    recorded_trace = recorded(TRAINING, steps=5)
    assert recorded_trace.header["job"]["steps"] == 5
    assert "output" not in json.dumps(recorded_trace.header["job"])
    assert recorded_trace.count_events_of_kind("step") == 5
    assert recorded_trace.failure == ""


def test_the_last_words_of_a_process():
    """The first line of an error with several lines is quoted: it has its type."""
    error = 'Traceback:\n  File "a.py", line 1, in f\n    g()\nValueError: no\nsuch\n  name\n'
    for output, last in (
        ("", "it printed no message"), ("loading\nkilled\n", "killed"), (error, "ValueError: no"),
    ):  # fmt: skip
        assert child_processes.extract_last_message(output) == last


def test_a_trace_that_cannot_be_compared_or_written_is_refused(tmp_path, recorded):
    """Nothing beside nothing would be equal; the folder is looked for before the training."""
    recorded("raise ValueError('no')", "a")
    with pytest.raises(UserError, match=r"a\.trace holds no events.*ended in ValueError: no at"):
        traces_command.compare_trace_files(tmp_path / "a.trace", tmp_path / "a.trace")
    with pytest.raises(UserError, match="there is no folder .*missing"):
        traces_command.record_twice_and_report({}, tmp_path / "missing" / "x.trace")


#: how a training ends: the statement, and what of its error and its places is printed.
_ENDS = {
    "library": ("torch.nn.Linear(2, 2)(torch.zeros(9))", "ended in RuntimeError: mat1"),
    "script": ("raise ValueError('no')", "ended in ValueError: no at b.py:"),
    "other": ("raise ValueError('another')", "ended in ValueError: another at b.py:"),
}


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [("script", "script", 0), ("", "script", 1), ("library", "", 1), ("script", "other", 1)],
)
def test_the_end_of_a_training_is_compared(tmp_path, recorded, capsys, old, new, code):
    """The same error is the same end; another error, or one of one version alone, is not."""
    for name, end in (("a", old), ("b", new)):
        line = f"        if step == 4: {_ENDS[end][0]}\n" if end else ""
        recorded(changed(("        follow(", f"{line}        follow(")), name)
    assert traces_command.compare_trace_files(tmp_path / "a.trace", tmp_path / "b.trace") == code
    printed = capsys.readouterr().out
    for name, end in (("a", old), ("b", new)):
        line = f"{name}.trace {_ENDS[end][1] if end else 'ended in'}".replace("b.py", f"{name}.py")
        assert (line in printed) == bool(end)
    assert ("equal: " in printed) == (not code)


def test_what_follows_two_dashes_belongs_to_the_script():
    """An option of ours among them is the script's own."""
    arguments = ["upgrade", "--script", "x.py", "--", "--cleanrl", "folder"]
    assert cli._apply_common_options(arguments) == arguments


@pytest.mark.parametrize(
    "source",
    [
        b"\xef\xbb\xbfword = '\xc3\xa4'\n",
        b"# -*- coding: latin-1 -*-\nword = '\xe4'\n",
        b"def f(x: int): pass\nassert f.__annotations__ == {'x': int}\nword = '\\xe4'\n",
    ],
    ids=["byte-order-mark", "coding", "annotations"],
)
def test_a_script_is_compiled_as_python_would(tmp_path, monkeypatch, source):
    """Its coding is its own, and the recorder's future statements are not its."""
    path = tmp_path / "script.py"
    path.write_bytes(source)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    trace_worker._make_script_runner({"script": str(path)})(None)
    assert sys.modules["__main__"].word == "\xe4"
