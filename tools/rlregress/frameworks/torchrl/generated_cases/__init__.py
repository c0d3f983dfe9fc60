"""Calls of TorchRL's classes and functions that are generated from their signatures.

A scenario whose name begins with "calls-" makes all calls of one part of the library. The result of
each is an event of the trace: ``Class(option=value) input call``. What a version lacks is left out.
"""

from __future__ import annotations

from rlregress.frameworks.torchrl import compat
from rlregress.frameworks.torchrl.generated_cases import (
    action_tables,
    estimator_tables,
    loss_tables,
)
from rlregress.probing.option_variants import NameLookup, Tables

TABLES = Tables(
    NameLookup(compat.find_in_library, compat.find_keyword_name),
    (loss_tables, estimator_tables, action_tables),
)
