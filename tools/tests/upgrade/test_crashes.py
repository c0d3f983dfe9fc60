"""A training that the code under test ends with an error on one version only."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable

import pytest

from rlregress import frameworks
from rlregress.model.recorded_traces import VERSIONS, NotTraced, Traced
from rlregress.trace import jobs
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.evidence import compared_trainings
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.runtimes import Runtimes
from tools.tests.upgrade import small_traces

from ..trace.scripts import changed

pytestmark = pytest.mark.usefixtures("warm_python")

Outcome = Traced | NotTraced
Compare = Callable[..., Outcome]

LEARNER = """
import numpy
import torch

class Loss:
    def __init__(self):
        self.weight = 1.0

    def of(self, given, wanted):
        return self.weight * ((given - wanted) ** 2).mean()
"""
SCRIPT = "import learner\n" + changed(
    ("    return ((given - wanted) ** 2).mean()", "    return criterion.of(given, wanted)"),
    ("trained = main()", "criterion = learner.Loss()\ntrained = main()"),
)
LOSS_LINE = "return self.weight"


@pytest.fixture
def compare(tmp_path):
    """Record a training on two versions, and compare."""

    def compared(training, old, new):
        folders = tmp_path / "a", tmp_path / "b"
        for folder in folders:
            folder.mkdir()
        with Runtimes((old, new), folders, 2) as runtimes:

            def record_again(_):
                return [
                    traces[training.name]
                    for traces in runtimes.record_on_both_versions([training], again=True)
                ]

            recorded = runtimes.record_on_both_versions([training], {"old": True, "new": True})
            name = training.name
            return small_traces.compare_training(
                name, *(traces[name] for traces in recorded), record_again
            )

    return compared


@pytest.fixture
def script(tmp_path, compare):
    """Compare a script on a package as it is and with a fragment of it replaced."""

    def compare_script(old, new, text=SCRIPT, turned=False):
        assert old in LEARNER
        trees = []
        for label, source in (("old", LEARNER), ("new", LEARNER.replace(old, new))):
            folder = tmp_path / f"tree-{label}"
            (folder / "learner").mkdir(parents=True)
            (folder / "learner" / "__init__.py").write_text(source, encoding="utf-8")
            trees.append(folder)
        path = tmp_path / "train.py"
        path.write_text(text, encoding="utf-8")
        job = {**jobs.build_script_job(path, [], ["learner"], 0), "trees": ["learner"]}
        training = Training("script", "train.py", job)
        trees = reversed(trees) if turned else trees
        both = (Runtime(label, paths=(str(p),)) for label, p in zip(VERSIONS, trees, strict=True))
        return compare(training, *both)

    return compare_script


def at(text, function):
    """The place of a line of the script."""
    (line,) = [n for n, line_ in enumerate(SCRIPT.splitlines(), 1) if line_.strip() == text]
    return f"train.py:{line} {function}"


LOSS = at("return criterion.of(given, wanted)", "loss_of")
UPDATE, CONSTRUCTION = at("loss.backward()", "main"), at("criterion = learner.Loss()", "<module>")
#: how the new version fails: what stands in place of what, the error, and where it is.
ERRORS = {
    # raised by what the recorder's hooks stand in for
    "a tensor that cannot be made": (
        LOSS_LINE, "torch.as_tensor(numpy.array([{}, 1]))\n        return self.weight", "TypeError",
        "learner/__init__.py:10 Loss.of", LOSS),
    "a draw that cannot be": (
        LOSS_LINE, "numpy.random.choice(3, size=9, replace=False)\n        return self.weight",
        "ValueError", "learner/__init__.py:10 Loss.of", LOSS),
    "a gradient that cannot be had": (
        LOSS_LINE, "given.sum().backward()\n        return self.weight", "RuntimeError",
        UPDATE, UPDATE),
    "a clamp without bounds": (
        LOSS_LINE, "given.clamp()\n        return self.weight", "RuntimeError",
        "learner/__init__.py:10 Loss.of", LOSS),
    # before anything is trained
    "an error of construction": (
        "self.weight = 1.0", "raise KeyError('weight')", "KeyError",
        "learner/__init__.py:7 Loss.__init__", CONSTRUCTION),
    "an import that fails": (
        "import numpy\n", "import no_such_module\n", "ModuleNotFoundError",
        "learner/__init__.py:2 <module>", "train.py:1 <module>"),
    # on the script's own line
    "a name that is gone": (
        "class Loss:", "class Losses:", "AttributeError", CONSTRUCTION,
        CONSTRUCTION),
    "an argument that is gone": (
        "def of(self, given, wanted)", "def of(self, given)", "TypeError", LOSS,
        LOSS),
    "an exit": (
        LOSS_LINE, "raise SystemExit(3)\n        return self.weight", "SystemExit",
        "learner/__init__.py:10 Loss.of", LOSS),
    "an end of the process": (
        LOSS_LINE, "import os; os.abort()\n        return self.weight",
        "the process was ended by SIGABRT",
        "learner/__init__.py:10 Loss.of", LOSS),
}  # fmt: skip
FEW = ("a gradient that cannot be had", "an end of the process")


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=() if c in FEW else pytest.mark.nightly) for c in ERRORS]
)
def test_an_error_of_the_new_version_is_a_crash(case, script):
    """It names the error, where it was raised, and the line of the script."""
    old, new, error, innermost, by = ERRORS[case]
    outcome = script(old, new)
    crash = outcome.crash
    assert crash is not None
    assert crash.label == "new"
    assert crash.error.partition(":")[0] == error
    assert (crash.at, crash.by) == (innermost, by)
    killed = "process" in error
    assert (crash.executed is None) == killed
    if not killed:
        assert "<module>" in crash.executed.header["functions"]["train.py"]
        assert "train.py" in crash.executed.header["imported"]
    assert isinstance(outcome, Traced) == (crash.executed is not None and crash.executed.has_begun)


def test_an_error_of_the_old_version_is_a_crash_of_that_version(script):
    """The version that fails tells a repair from a fault."""
    outcome = script("class Loss:", "class Losses:", turned=True)
    assert outcome.crash is not None
    assert outcome.crash.label == "old"


def test_the_same_error_in_both_versions_is_a_gap(script):
    """It says nothing of what would have come after it."""
    outcome = script("1.0", "2.0", "import learner\nlearner.none\n")
    assert isinstance(outcome, NotTraced)
    assert (outcome.crash, sorted(outcome.reasons)) == (None, ["new", "old"])


@pytest.mark.nightly
def test_different_errors_are_a_difference(script):
    """Both fail before anything is trained, and not in the same way."""
    text = "import learner\nlearner.Loss().of([0], [1]).backward()\n"
    outcome = script("(given - wanted)", "given[2]", text)
    assert isinstance(outcome, Traced)
    assert (outcome.crash, outcome.comparison.verdict) == (None, "diverged")


@pytest.mark.nightly
def test_an_error_that_only_a_recording_meets_is_the_recorders(script):
    """A failure caused by the recording is no crash of the new version."""
    new = (
        "import sys\n        assert sys.gettrace() is None, 'recorded'\n        return self.weight"
    )
    outcome = script(LOSS_LINE, new)
    assert isinstance(outcome, NotTraced)
    assert outcome.crash is None
    assert outcome.reasons == {
        "new": "this suite's recorder failed: AssertionError: recorded; without recording: the "
        "training ends well"
    }


@pytest.mark.nightly
def test_a_process_that_is_killed_is_not_judged(script):
    """SIGKILL is what a machine without memory sends."""
    outcome = script(LOSS_LINE, "import os; os.kill(os.getpid(), 9)\n        return self.weight")
    assert isinstance(outcome, NotTraced)
    assert outcome.crash is None


@pytest.fixture(scope="module")
def sb3(tmp_path_factory):
    """A version whose Stable-Baselines3 has a fragment replaced."""
    spec = importlib.util.find_spec("stable_baselines3")
    assert spec is not None
    assert spec.submodule_search_locations

    def edit(file, old, new):
        folder = tmp_path_factory.mktemp("sb3")
        shutil.copytree(spec.submodule_search_locations[0], folder / "stable_baselines3")
        path = folder / "stable_baselines3" / file
        text = path.read_text(encoding="utf-8")
        assert len(re.findall(re.escape(old), text)) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")
        return Runtime("new", paths=(str(folder),))

    return edit


PPO = frameworks.get_adapter("sb3"), "ppo"


@pytest.mark.nightly
def test_a_training_that_does_not_fit_is_a_gap(compare, sb3):
    """A call of the suite's that a version does not take says nothing of that version."""
    runtime = sb3("ppo/ppo.py", "total_timesteps: int,", "total_timesteps: int, rounds: int,")
    outcome = compare(compared_trainings.make_built_in_training(*PPO), Runtime("old"), runtime)
    assert isinstance(outcome, NotTraced)
    assert outcome.crash is None
    assert outcome.reasons["new"].startswith(
        "this suite's training does not fit that version: TypeErr"
    )


@pytest.mark.nightly
def test_a_built_in_training_that_is_ended_by_a_signal_is_a_crash(compare, sb3):
    """The stack that faulthandler has written tells where."""
    runtime = sb3("ppo/ppo.py", "loss.backward()", "import os; os.kill(os.getpid(), 11)")
    outcome = compare(compared_trainings.make_built_in_training(*PPO), Runtime("old"), runtime)
    assert isinstance(outcome, NotTraced)
    crash = outcome.crash
    assert crash is not None
    assert crash.error == "the process was ended by SIGSEGV"
    assert re.fullmatch(r"stable_baselines3/ppo/ppo.py:\d+ PPO.train", crash.at)
    assert re.fullmatch(r"rlregress/frameworks/sb3/train/builtin_trainings.py:\d+ \S+", crash.by)
