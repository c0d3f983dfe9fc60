"""Details whose description is the docstring of their measurement, shared by all frameworks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, make_detail


def make_measured_detail(
    id: str,
    measurement: Callable[..., np.ndarray],
    question: str,
    sources: tuple[str, ...],
    inputs: Mapping[str, Any],
    variants: Mapping[str, tuple[str, Formula]],
    consequence: str,
    **options: Any,
) -> Detail:
    """Build a detail whose observed text is the docstring of ``measurement``."""
    text = measurement.__doc__ or ""
    return make_detail(
        id, question, text, sources, inputs, variants, consequence=consequence, **options
    )
