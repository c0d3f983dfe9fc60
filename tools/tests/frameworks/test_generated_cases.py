"""Calls that are generated from signatures: they repeat themselves and show faults."""

from __future__ import annotations

import inspect
import operator
import random
import sys
import tomllib
import types
import warnings
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
import torchrl

from rlregress import frameworks
from rlregress.frameworks.sb3 import generated_cases as sb3_cases
from rlregress.frameworks.torchrl import generated_cases as torchrl_cases
from rlregress.inside import events, swap
from rlregress.inside.recorder import Recorder
from rlregress.probing import option_variants
from rlregress.probing.framework_errors import ExpectedError
from rlregress.probing.interface import Unsupported
from rlregress.probing.option_trainings import _train_seeded
from rlregress.probing.option_variants import call_or_return_error
from rlregress.probing.toys import MixedEndsEnv
from rlregress.probing.trace_trainings import GeneratedCalls
from tools.tests.nightly import every

TABLES = {"sb3": sb3_cases.TABLES, "torchrl": torchrl_cases.TABLES}
SUBJECTS = {framework: tables.list_subjects() for framework, tables in TABLES.items()}
ROOT = Path(torchrl.__file__).parent
FAULTS = tomllib.loads(
    Path(__file__).with_name("faults_of_calls.toml").read_text(encoding="utf-8")
)["fault"]


def shown(call: Any) -> Any:
    """What a call shows, as a trace notes it; nothing where the version lacks it."""
    state = torch.get_rng_state()
    random.random()
    try:
        found = option_variants.make_events_of_call("", call_once(call))
    finally:
        torch.set_rng_state(state)
    return {name: events.make_event_part(item) for name, item in found.items()}


def cases(nth: int, framework: str) -> list[Any]:
    """Parts of a framework's tables; all but some are nightly."""
    return every(nth, [(framework, part) for part in sorted(SUBJECTS[framework])], "-".join)


@pytest.mark.parametrize(("owner", "part"), [*cases(9, "torchrl"), *cases(6, "sb3")])
def test_calls_repeat_themselves(owner, part):
    """Every twentieth call, whatever was called in between."""
    some = list(TABLES[owner].make_calls_of_part(part, 0).items())[::20]
    if not some:
        pytest.skip("a package that its classes need is not installed")
    first = {name: shown(call) for name, call in some}
    assert any(first.values())
    assert {name: shown(call) for name, call in reversed(some)} == first


@pytest.mark.parametrize(("owner", "part"), [*cases(4, "torchrl"), *cases(1, "sb3")])
def test_the_defaults_are_no_error(owner, part):
    """A factory that no longer fits would turn all of the calls into the same error."""
    for subject in SUBJECTS[owner][part]:
        # the installed version lacks some, and refuses the wrappers that older ones have
        calls = option_variants.make_calls_of_subject(subject, 0, TABLES[owner].names)
        name, call = next(iter(calls.items()), ("Wrapper", str))
        assert "Wrapper" in name or not isinstance(
            call_once(call), (ExpectedError, option_variants.Lacking)
        ), name


@pytest.mark.parametrize("owner", TABLES)
def test_each_part_is_a_scenario(owner):
    """A part that no scenario names is never traced."""
    trainings = frameworks.get_adapter(owner).list_trace_trainings().values()
    parts = {each.part for each in trainings if isinstance(each, GeneratedCalls)}
    assert set(SUBJECTS[owner]) == parts


def call_once(call: Any) -> Any:
    """What a call returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


@pytest.mark.parametrize("call", ["PPOLoss() rows", "SACLoss() bounds time weighted"])
def test_losses_reach_the_parameters(call):
    """There are gradients."""
    part = call.partition("(")[0]
    assert call_once(TABLES["torchrl"].make_calls_of_part(part, 0)[call])["gradient"]


#: a library
SHIFT = """
class Shift:
    def __init__(self, by: float = 1.0, twice: bool = False):
        self.by, self.twice = by, twice

    def __call__(self, number: float) -> float:
        return number + self.by * (1 + self.twice)

    def back(self, number: float) -> float:
        return number - self.by
"""


def recorded(text: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what is recorded of a version of the library: name of a result -> its parts."""
    library = types.ModuleType("shifting")
    exec(text, vars(library))
    monkeypatch.setitem(sys.modules, "shifting", library)
    kit = option_variants.Kit(lambda: {"by": 2.0}, float)

    def both(shift: Any, number: float) -> Any:
        # no frame of this file is below: the suite asks for the names
        items = {name: operator.methodcaller(name, number) for name in ("__call__", "back")}
        return option_variants.Items(
            (name, option_variants.call_or_return_error(partial(call, shift)))
            for name, call in items.items()
        )

    calls = {"": lambda shift, number: shift(number), "both": both}
    subject = option_variants.Subject("shifting:Shift", {"": kit}, ["1"], calls=calls)
    table = types.SimpleNamespace(list_subjects=lambda: {"shift": [subject]})
    tables = option_variants.Tables(TABLES["torchrl"].names, [table])
    recorder = Recorder(events.Places([]))
    for name, value in tables.run_calls_of_part("shift", 0).items():
        recorder.record_result(name, value)
    return {event["name"]: event["parts"] for event in recorder.events}


@pytest.mark.parametrize(
    ("old", "new", "differs", "lacking"),
    [
        # what one version lacks is no difference of the calls that are left
        (", twice: bool = False):", "):\n        twice = False", False,
         {"Shift(twice=True) 1", "Shift() holds: twice"}),
        ("def back", "def forth", False, {"Shift() 1 both: back"}),
        # the same call is made on both sides and does something else
        ("1 + self.twice", "1 / (1 - self.twice)", True, set()),
        ("- self.by", "- 2 * self.by", True, set()),
    ],
)  # fmt: skip
def test_what_a_version_lacks_is_not_called_and_what_it_refuses_differs(
    old, new, differs, lacking, monkeypatch
):
    """Calls that both versions have are recorded of both."""
    first, second = (recorded(text, monkeypatch) for text in (SHIFT, SHIFT.replace(old, new)))
    assert first.keys() - second.keys() == lacking
    assert any(second[name] != first[name] for name in second) == differs


def test_a_version_that_lacks_all_calls_of_a_part_does_not_offer_it(monkeypatch):
    """It is reported as gone, or as new, and never as the same."""
    with pytest.raises(Unsupported, match="no class or function of shift"):
        recorded("", monkeypatch)


def put(fault: dict[str, str], faulty: bool) -> None:
    """Put a fault into the function of the installed code, or take it out again."""
    text = (ROOT / fault["file"]).read_text(encoding="utf-8")
    assert fault["old"] in text
    text = text.replace(fault["old"], fault["new"]) if faulty else text
    change = {"file": f"torchrl/{fault['file']}", "functions": [fault["function"]], "text": text}
    assert not swap.replace_running_code([change], [str(ROOT)])


def find_call(part: str, name: str) -> Any:
    """Return a call of a part of the tables by name, or a training of a title."""
    title = frameworks.get_adapter("torchrl").list_trace_trainings().get(part)
    if title is not None:
        return partial(
            call_or_return_error, partial(_train_seeded, title.trainings[name], MixedEndsEnv, 0)
        )
    names, subjects = TABLES["torchrl"].names, SUBJECTS["torchrl"][part]
    every_call = (option_variants.make_calls_of_subject(s, 0, names) for s in subjects)
    return next(calls[name] for calls in every_call if name in calls)


# one needs processes of its own
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(
            fault, id=fault["call"],
            marks=pytest.mark.nightly if "processes" in fault["part"] else (),
        )
        for fault in FAULTS
    ],
)  # fmt: skip
def test_a_call_shows_a_fault(fault):
    """The result of the call, or of the training of that title, is something else."""
    call = find_call(fault["part"], fault["call"])
    sound = shown(call)
    put(fault, True)
    try:
        found = shown(call)
    finally:
        put(fault, False)
    assert found != sound
    assert shown(call) == sound


def documented(
    flag: bool = False, number: float = 0.5, word: str = "one", none: int | None = None,
    named: Literal["min", "max"] = "min",
):  # fmt: skip
    """Do nothing.

    Args:
        flag (bool): this.
        word (str): either ``"one"``, ``"two"`` or ``"three"``.
    """


def test_other_values_of_a_parameter_are_read_from_its_default_and_docstring():
    """A flag is flipped, numbers change, words are those of the docstring or the annotation."""
    found = {
        name: option_variants.list_other_values(documented, parameter)
        for name, parameter in inspect.signature(documented).parameters.items()
    }
    numbers = {"flag": [True], "number": [0.3, 0.0], "none": [2]}
    assert found == {**numbers, "word": ["three", "two"], "named": ["max"]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (torch.zeros(2), torch.tensor([0.0, float("nan")])),
        (torch.zeros(2), torch.tensor([0.0, -0.0])),
        (torch.tensor(3e38), torch.tensor(float("inf"))),
        (torch.zeros(2), torch.zeros(2, dtype=torch.int32)),
        (torch.zeros(2), torch.zeros(2, 1)),
        (torch.zeros(1), 0.0),
        (1, True),
        (0.0, -0.0),
    ],
)
def test_an_entry_that_a_call_changes_in_any_bit_is_recorded(before, after):
    """One that became NaN, for example; what stays the same is left out, and NaN may stay."""
    rows = {"same": torch.tensor([float("nan"), 1.0]), "word": "a"}
    copied = {"same": rows["same"].clone(), "word": "a"}
    changed = option_variants.select_changed_entries(
        {**rows, "entry": before}, {**copied, "entry": after}
    )
    assert set(changed) == {"entry"}
