"""Entries whose text is that of their measurement, which is written once for all frameworks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rlregress.details.catalogue import Detail, Formula, make_detail


def measured_detail(
    id: str,
    measurement: Callable[..., np.ndarray],
    question: str,
    sources: tuple[str, ...],
    inputs: Mapping[str, Any],
    variants: Mapping[str, tuple[str, Formula]],
    consequence: str,
    **options: Any,
) -> Detail:
    """An entry that observes what ``measurement`` says of itself."""
    text = measurement.__doc__ or ""
    return make_detail(
        id, question, text, sources, inputs, variants, consequence=consequence, **options
    )
