"""Specifications of spaces."""

from __future__ import annotations

from typing import Any, Dict

import torch

from rlregress.frameworks.base import NotOffered


def _bounded_integers(make_env: Any, seed: int) -> Dict[str, Any]:
    """Random actions of 0 to 3, the upper bound among them."""
    from torchrl.data import tensor_specs

    kind = getattr(tensor_specs, "Bounded", None) or getattr(
        tensor_specs, "BoundedTensorSpec", None
    )
    if kind is None:
        raise NotOffered("this version has no Bounded")
    spec = kind(0, 3, shape=(4,), dtype=torch.int64)
    return {"draws": torch.stack([spec.rand() for _ in range(16)])}


PARTS = {"bounded-integers": _bounded_integers}
