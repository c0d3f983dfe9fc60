"""Specifications of spaces."""

from __future__ import annotations

from typing import Any, Dict

import torch

from rlregress.frameworks.torchrl.compat import library


def _bounded_integers(make_env: Any, seed: int) -> Dict[str, Any]:
    """Random actions of 0 to 3, the upper bound among them."""
    kind = library("torchrl.data.tensor_specs", "Bounded", "BoundedTensorSpec")
    spec = kind(0, 3, shape=(4,), dtype=torch.int64)
    return {"draws": torch.stack([spec.rand() for _ in range(16)])}


API_CASES = {"bounded-integers": _bounded_integers}
