"""Calls of TorchRL that are generated from signatures: they repeat themselves and show faults."""

from __future__ import annotations

import inspect
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import torchrl

from rlregress import frameworks
from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.framework_errors import ExpectedError
from rlregress.frameworks.torchrl import generated_cases
from rlregress.frameworks.torchrl.generated_cases import option_variants
from rlregress.inside import events, swap
from rlregress.upgrade import scenario_files

PARTS = generated_cases.subjects()
ROOT = Path(torchrl.__file__).parent
FAULTS = tomllib.loads(
    Path(__file__).with_name("faults_of_calls.toml").read_text(encoding="utf-8")
)["fault"]


def shown(call: Any) -> Any:
    """What a call shows, as a trace notes it; nothing where the version lacks it."""
    state = torch.get_rng_state()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call()
    except Unsupported:
        return None
    finally:
        torch.set_rng_state(state)
    return events.part(found), events.types_of({"": found})


@pytest.mark.parametrize("part", sorted(PARTS))
def test_calls_repeat_themselves(part):
    """Every twentieth call, whatever was called in between."""
    some = list(generated_cases.calls(part, 0).items())[::20]
    first = {name: shown(call) for name, call in some}
    assert any(first.values())
    assert {name: shown(call) for name, call in reversed(some)} == first


@pytest.mark.parametrize("part", sorted(PARTS))
def test_the_defaults_are_no_error(part):
    """A factory that no longer fits would turn all of the calls into the same error."""
    for subject in PARTS[part]:
        calls = option_variants.cases(subject, 0)
        errors = [
            name for name, call in calls.items() if isinstance(call_once(call), ExpectedError)
        ]
        assert len(errors) < len(calls) / 2, errors
        break


def call_once(call: Any) -> Any:
    """What a call returns, nothing where the version lacks it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except Unsupported:
        return None


@pytest.mark.parametrize(
    "call", ["PPOLoss() rows", "SACLoss() rows", "SACLoss() bounds time weighted"]
)
def test_losses_reach_the_parameters(call):
    """There are gradients."""
    part = call.partition("(")[0]
    assert call_once(generated_cases.calls(part, 0)[call])["gradient"]


def test_each_part_is_a_scenario():
    """A part that no scenario names is never traced."""
    chosen = {each.features.get("calls") for each in scenario_files.of(frameworks.get("torchrl"))}
    assert set(PARTS) == chosen - {None}


def put(fault: dict[str, str], faulty: bool) -> None:
    """Put a fault into the function of the installed code, or take it out again."""
    text = (ROOT / fault["file"]).read_text(encoding="utf-8")
    assert fault["old"] in text
    text = text.replace(fault["old"], fault["new"]) if faulty else text
    change = {"file": f"torchrl/{fault['file']}", "functions": [fault["function"]], "text": text}
    assert not swap.swap([change], [str(ROOT)])


@pytest.mark.parametrize("fault", [pytest.param(f, id=f["call"]) for f in FAULTS])
def test_a_call_shows_a_fault(fault):
    """What the call shows is something else."""
    call = next(
        calls[fault["call"]]
        for calls in (option_variants.cases(s, 0) for s in PARTS[fault["part"]])
        if fault["call"] in calls
    )
    sound = shown(call)
    put(fault, True)
    try:
        found = shown(call)
    finally:
        put(fault, False)
    assert found != sound
    assert shown(call) == sound


def documented(flag: bool = False, number: float = 0.5, word: str = "one", none: int | None = None):
    """Do nothing.

    Args:
        flag (bool): this.
        word (str): either ``"one"``, ``"two"`` or ``"three"``.
    """


def test_other_values_of_a_parameter_are_read_from_its_default_and_docstring():
    """A flag is flipped, numbers change, words are those of the docstring."""
    found = {
        name: option_variants.values_of(documented, parameter)
        for name, parameter in inspect.signature(documented).parameters.items()
    }
    assert found == {"flag": [True], "number": [0.3, 0.0], "word": ["three", "two"], "none": [2]}
