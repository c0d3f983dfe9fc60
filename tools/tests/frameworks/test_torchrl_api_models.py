"""Parts of TorchRL used by themselves: losses, networks."""

from __future__ import annotations

import functools
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import torchrl

from rlregress.frameworks.torchrl import api_cases
from rlregress.frameworks.torchrl.api_cases import (
    action_shapes,
    actor_networks,
    batched_actions,
    batched_losses,
    loss_edge_cases,
    loss_errors,
    loss_inputs,
    loss_options,
    loss_shapes,
    module_edge_cases,
)
from rlregress.inside import events, swap

MODULES = (
    batched_actions, batched_losses, loss_edge_cases, module_edge_cases, loss_inputs, loss_options,
    actor_networks, loss_errors, action_shapes, loss_shapes,
)  # fmt: skip
NAMES = sorted(name for module in MODULES for name in module.API_CASES)
ROOT = Path(torchrl.__file__).parent
FAULTS = tomllib.loads(
    Path(__file__).with_name("faults_of_models.toml").read_text(encoding="utf-8")
)["fault"]


def outputs(name: str) -> dict[str, object]:
    """What a part returns, as a trace notes it."""
    state = torch.get_rng_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = api_cases.use(name, None, 0)
    torch.set_rng_state(state)
    return {
        label: (events.part(item), events.types_of({"": item})) for label, item in found.items()
    }


@functools.cache
def first(name: str) -> dict[str, object]:
    """What a part returns the first time that it is asked."""
    return outputs(name)


def put(fault: dict[str, str], faulty: bool) -> None:
    """Put a fault into the function of the installed code, or take it out again."""
    text = (ROOT / fault["file"]).read_text(encoding="utf-8")
    assert fault["old"] in text
    text = text.replace(fault["old"], fault["new"]) if faulty else text
    change = {"file": f"torchrl/{fault['file']}", "functions": [fault["function"]], "text": text}
    assert not swap.swap([change], [str(ROOT)])


@pytest.mark.parametrize("name", NAMES)
def test_a_part_answers_the_same_twice(name):
    """On the installed version, and whatever has been asked in between."""
    assert first(name)
    assert outputs(name) == first(name)


def marked(fault: dict[str, str]) -> Any:
    """A fault as a parameter: some run nightly."""
    marks = [pytest.mark.nightly] if fault.get("nightly") else []
    return pytest.param(fault, id=f"{fault['part']}-{fault['item']}", marks=marks)


@pytest.mark.parametrize("fault", [marked(fault) for fault in FAULTS])
def test_a_part_shows_a_fault_in_what_it_is_about(fault):
    """The item that it is about is another one."""
    name = fault["part"]
    item, sound = f"{name}.{fault['item']}", first(name)
    put(fault, True)
    try:
        found = outputs(name)
    finally:
        put(fault, False)
    # one that is refused now has no item of this name, and the other way round
    assert found.get(item) != sound.get(item)
    assert item in sound or item in found
