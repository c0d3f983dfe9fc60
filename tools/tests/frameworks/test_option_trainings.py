"""Trainings that are generated from one: its options are changed one by one, and faults show."""

from __future__ import annotations

import sys
import time
import types

import pytest
import torch

from rlregress import frameworks
from rlregress.frameworks.skrl.recurrent_layers import Recurrence, RecurrentLayers
from rlregress.inside import events
from rlregress.inside.recorder import Recorder
from rlregress.probing import option_trainings
from rlregress.probing.framework_errors import ExpectedError
from rlregress.probing.interface import Unsupported
from rlregress.probing.option_trainings import CapturedOptions, OptionTrainings
from rlregress.probing.option_variants import Lacking, call_or_return_error
from rlregress.probing.toys import MixedEndsEnv
from tools.tests.nightly import every

LIBRARY = """
class Base:
    def __init__(self, scale=1.0, common=2):
        self.scale, self.common = scale, common


class Shift(Base):
    def __init__(self, by, twice=False, given=3, common=2{more}):
        super().__init__(common=common)
        self.by, self.twice = by, twice
        while {ends}:
            pass

    def back(self, number, half=False):
        return {back}


def library_calls(shift):
    return shift.back(1.0)
"""


def library(monkeypatch, more="", ends="False", back="number - self.by * self.scale") -> None:
    """Put a version of a library where trainings import it."""
    module = types.ModuleType("shifting")
    exec(LIBRARY.format(more=more, ends=ends, back=back), vars(module))  # noqa: S102
    monkeypatch.setitem(sys.modules, "shifting", module)


def training(make_env, seed):
    """Shift a number by the library."""
    from shifting import Shift, library_calls

    shift = Shift(0.5, given=1)
    return {"back": library_calls(shift), "twice": shift.twice}


SHIFTING = OptionTrainings({"shift": training}, ["shifting"])


def recorded():
    """Return what is recorded of this version of the library: name of a training -> its parts."""
    recorder = Recorder(events.Places([]))
    recorder.record_runs_as_results(SHIFTING(MixedEndsEnv, 0))
    return {event["name"]: event["parts"] for event in recorder.events}


def test_options_are_what_constructors_leave_at_their_defaults(monkeypatch):
    """What the training gives, what a subclass hands down and what the library calls is none."""
    library(monkeypatch)
    outputs = {name: run() for name, run in SHIFTING(MixedEndsEnv, 0)}
    plain = {"back": 0.5, "twice": False}
    assert outputs == {
        "shift": plain,
        "shift: Base(scale=0.55)": {"back": 0.725, "twice": False},
        "shift: Shift(common=3)": plain,
        "shift: Shift(twice=True)": {"back": 0.5, "twice": True},
    }
    assert training(MixedEndsEnv, 0) == plain, "a default stays changed"


@pytest.mark.parametrize("ends", ["twice", "twice and not __import__('time').sleep(60)"])
def test_a_training_with_an_option_that_goes_on_for_ever_is_ended(monkeypatch, ends):
    """Whether it computes or sleeps, it is reported that it does not end, and others follow it."""
    monkeypatch.setattr(option_trainings, "_EXTRA_SECONDS", 0.05)
    library(monkeypatch, ends=ends)
    begun = time.monotonic()
    outputs = {name: run() for name, run in SHIFTING(MixedEndsEnv, 0)}
    assert outputs["shift: Shift(twice=True)"] == "does not end"
    assert len(outputs) == 4
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize(
    ("other", "added", "differ"),
    [
        ({}, set(), set()),
        # what one version lacks is no difference of the trainings that are left
        ({"more": ", late=False"}, {"shift: Shift(late=True)"}, set()),
        # the same option does something else, and only where it is changed
        ({"back": "number - self.by * self.scale ** 2"}, set(), {"shift: Base(scale=0.55)"}),
        ({"back": "number - self.by * self.scale + 0 / (self.scale - 0.55)"}, set(),
         {"shift: Base(scale=0.55)"}),
    ],
)  # fmt: skip
def test_an_option_of_one_version_changes_no_other_training(other, added, differ, monkeypatch):
    """A training differs where its own option does something else."""
    library(monkeypatch)
    old = recorded()
    library(monkeypatch, **other)
    new = recorded()
    assert new.keys() - old.keys() == added
    assert {name for name in old if new[name] != old[name]} == differ


def test_a_version_that_lacks_all_trainings_does_not_offer_them():
    """One without truncations gives one flag."""

    def lacking(make_env, seed):
        raise Unsupported("this version has no Shift")

    runs = OptionTrainings({"shift": lacking}, ["shifting"])(MixedEndsEnv, 0)
    with pytest.raises(Unsupported, match="none of these trainings"):
        Recorder(events.Places([])).record_runs_as_results(runs)
    layers = RecurrentLayers(2, Recurrence("gru", steps=4, environments=3)).train()
    rows, ends = torch.randn(12, 2), torch.zeros(12, 1, dtype=torch.bool)
    ends[1] = ends[6] = True
    inputs = {"rnn": [torch.zeros(2, 12, 6)], "terminated": ends}
    alone, _ = layers(rows, inputs)
    beside, _ = layers(rows, {**inputs, "truncated": torch.zeros_like(ends)})
    torch.testing.assert_close(alone, beside)


ENTRIES = [
    (framework, title, name)
    for framework in ("sb3", "torchrl")
    for title, entry in frameworks.get_adapter(framework).list_trace_trainings().items()
    if isinstance(entry, OptionTrainings)
    for name in entry.trainings
]


@pytest.mark.parametrize(("owner", "title", "name"), every(24, ENTRIES, " ".join))
def test_each_runs_with_all_defaults(owner, title, name):
    """A training that no longer fits would turn all of its variants into the same error."""
    entry = frameworks.get_adapter(owner).list_trace_trainings()[title]
    run = CapturedOptions(entry.packages).capture_during
    training = entry.trainings[name]
    answer = call_or_return_error(
        lambda: run(lambda: option_trainings._train_seeded(training, MixedEndsEnv, 0))
    )
    if isinstance(answer, Lacking):
        pytest.skip(answer)
    assert not isinstance(answer, ExpectedError), answer


def test_functions_that_a_training_calls_itself_have_options():
    """The library's own calls of functions have none: what it hands them is no choice of users."""
    entry = frameworks.get_adapter("sb3").list_trace_trainings()["ppo calls-options"]
    captured = CapturedOptions(entry.packages)
    captured.capture_during(lambda: entry.trainings["ppo normalised"](MixedEndsEnv, 0))
    names = {
        option.name_training_with(None).partition("(")[0] for option in captured.take_captured()
    }
    assert {"PPO", "PPO.learn", "evaluate_policy", "VecNormalize"} <= names
    assert not {"PPO.train", "PPO.collect_rollouts", "OnPolicyAlgorithm.learn"} & names
