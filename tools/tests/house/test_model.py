"""Results are plain data: whatever a report is given cannot be changed by it."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pytest

from rlregress import model

MODULES = [path.stem for path in sorted(Path(model.__file__).parent.glob("[!_]*.py"))]


def changeable(module: ModuleType) -> list[str]:
    """Classes of a module that are not frozen, or whose fields are not named by their callers."""
    return [
        name
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__
        and not (
            dataclasses.is_dataclass(kind)
            and kind.__dataclass_params__.frozen
            and all(field.kw_only for field in dataclasses.fields(kind))
        )
    ]


def test_results_are_frozen_and_keyword_only():
    """Every class of the model is a frozen dataclass with keyword-only fields."""
    modules = [importlib.import_module(f"rlregress.model.{name}") for name in MODULES]
    assert [name for module in modules for name in changeable(module)] == []


@pytest.mark.parametrize("options", [{"frozen": True}, {"kw_only": True}, None])
def test_a_class_that_is_neither_is_found(options):
    """Control: one that is only frozen, only keyword-only, or no dataclass, is named."""

    class Some:
        value: int

    module = ModuleType(Some.__module__)
    module.Some = dataclasses.dataclass(**options)(Some) if options is not None else Some
    assert changeable(module) == ["Some"]
