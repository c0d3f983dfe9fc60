"""Calls of Stable-Baselines3 that are generated from signatures: they repeat themselves."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

from rlregress import frameworks
from rlregress.frameworks.sb3 import generated_cases
from rlregress.inside import events
from rlregress.probing import option_variants
from rlregress.probing.framework_errors import ExpectedError
from rlregress.probing.trace_trainings import GeneratedCalls
from tools.tests.nightly import every

TABLES = generated_cases.TABLES
PARTS = TABLES.list_subjects()


def shown(call: Any) -> Any:
    """What a call shows, as a trace notes it, whatever was drawn before."""
    random.random()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = option_variants.name_events_of_call("", call())
    return {name: events.make_event_part(item) for name, item in found.items()}


@pytest.mark.parametrize("part", every(6, sorted(PARTS)))
def test_calls_repeat_themselves(part):
    """Every tenth call, whatever was called in between."""
    some = list(TABLES.make_calls_of_part(part, 0).items())[::10]
    first = {name: shown(call) for name, call in some}
    assert any(first.values())
    assert {name: shown(call) for name, call in reversed(some)} == first


@pytest.mark.parametrize("part", sorted(PARTS))
def test_the_defaults_are_no_error(part):
    """A factory that no longer fits would turn all of the calls into the same error."""
    for subject in PARTS[part]:
        name, call = next(
            iter(option_variants.make_calls_of_subject(subject, 0, TABLES.names).items())
        )
        assert not isinstance(call(), (ExpectedError, option_variants.Lacking)), name


def test_each_part_is_a_scenario():
    """A part that no scenario names is never traced."""
    trainings = frameworks.get_adapter("sb3").list_trace_trainings().values()
    assert set(PARTS) == {each.part for each in trainings if isinstance(each, GeneratedCalls)}
