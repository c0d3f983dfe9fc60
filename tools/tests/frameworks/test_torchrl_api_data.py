"""Parts of TorchRL: buffers, transforms, environments, collectors and trainers by themselves."""

from __future__ import annotations

import functools
import importlib
import inspect
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest
import torchrl

from rlregress import frameworks
from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.torchrl import api_cases
from rlregress.frameworks.torchrl.api_cases import (
    algorithm_trainers,
    collectors,
    hook_stages,
    hooked_trainers,
    multiprocess_collectors,
    replay_buffers,
    samplers,
    trainer_configs,
    trainer_edge_cases,
    trainer_hooks,
    transforms,
    wrapped_environments,
)
from rlregress.inside.recorded_methods import parts_of_output
from rlregress.inside.swap import swap
from rlregress.inside.toys import Ends
from rlregress.upgrade import scenario_files

OWN = [
    name
    for module in (
        replay_buffers,
        collectors,
        trainer_configs,
        trainer_edge_cases,
        wrapped_environments,
        trainer_hooks,
        multiprocess_collectors,
        samplers,
        hook_stages,
        hooked_trainers,
        transforms,
        algorithm_trainers,
    )
    for name in module.API_CASES
]
FAULTS = tomllib.loads(Path(__file__).with_name("faults_of_data.toml").read_text(encoding="utf-8"))[
    "fault"
]
#: start processes of their own, or run whole trainers: seconds each
SLOW = (
    "environments-in-processes", "collected-in-a-process", "changes-of-hooks", "registered-hooks",
    "options-of-on-policy-trainers", "trainer-of-dqn", "trainers-of-batches-elsewhere",
    "folders-of-trainers", "loaded-trainers", "steep-losses", "logged-trainings",
)  # fmt: skip


def slow(part: str) -> list[pytest.MarkDecorator]:
    """The mark of the slow parts, for a parameter."""
    return [pytest.mark.nightly] if part in SLOW else []


def used(name: str) -> dict[str, Any]:
    """What a part returns, as it is recorded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = api_cases.use(name, Ends, 1)
    return {label: parts_of_output(value) for label, value in found.items()}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(part, marks=slow(part))
        for part in sorted(set(OWN) - {fault["part"] for fault in FAULTS})
    ],
)
def test_a_part_repeats_itself(name):
    """It runs on the installed version and returns the same twice; the others show it below."""
    try:
        first = used(name)
    except Unsupported as reason:
        pytest.skip(str(reason))
    assert first
    assert used(name) == first


def test_each_part_is_a_scenario():
    """A part that no scenario names is never traced."""
    chosen = {each.features.get("part") for each in scenario_files.of(frameworks.get("torchrl"))}
    assert set(OWN) <= chosen


def function_of(file: str, name: str) -> Any:
    """A function of the installed version, behind its decorators."""
    module = importlib.import_module(f"torchrl.{file[:-3].replace('/', '.')}")
    return inspect.unwrap(functools.reduce(getattr, name.split("."), module))


@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, id=fault["part"], marks=slow(fault["part"])) for fault in FAULTS],
)
def test_a_fault_changes_what_a_part_returns(fault):
    """What is put into the function that it is about; without it they are as before."""
    name, file = fault["part"], fault["file"]
    root = Path(torchrl.__file__).parent
    text = (root / file).read_text(encoding="utf-8") if (root / file).exists() else ""
    if fault["old"] not in text:
        pytest.skip("the installed version has other code there")
    function, before = function_of(file, fault["function"]), used(name)
    code = function.__code__
    try:
        change = {
            "file": f"torchrl/{file}",
            "functions": [fault["function"]],
            "text": text.replace(fault["old"], fault["new"]),
        }
        assert swap([change], [str(root)]) == []
        assert used(name) != before
    finally:
        function.__code__ = code
    assert used(name) == before
