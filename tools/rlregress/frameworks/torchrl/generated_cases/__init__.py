"""Calls of TorchRL's classes and functions that are generated from their signatures.

A scenario whose feature ``calls`` names a part makes all of its calls, and what each shows is an
event of the trace: ``Class(option=value) input call``. What a version lacks is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlregress.frameworks.torchrl import compat
from rlregress.frameworks.torchrl.generated_cases import (
    action_tables,
    data_tables,
    environment_tables,
    estimator_tables,
    loss_tables,
    network_tables,
    trainer_tables,
)
from rlregress.probing.option_variants import Names, Subject, cases, outputs_of

NAMES = Names(compat.library, compat.keyword)


def subjects() -> dict[str, list[Subject]]:
    """Part -> classes and functions."""
    tables = (loss_tables, estimator_tables, action_tables, network_tables, data_tables,
              environment_tables, trainer_tables)  # fmt: skip
    return {part: some for table in tables for part, some in table.subjects().items()}


def calls(part: str, seed: int) -> dict[str, Callable[[], Any]]:
    """Name -> call, of a part."""
    return {
        name: call for each in subjects()[part] for name, call in cases(each, seed, NAMES).items()
    }


def use(part: str, seed: int) -> dict[str, Any]:
    """What each call of a part shows; raises as ``outputs_of``."""
    return outputs_of(calls(part, seed), part)
