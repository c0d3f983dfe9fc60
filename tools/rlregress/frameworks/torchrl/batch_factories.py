"""Small batches of steps for parts of TorchRL, and what is read of those that come back."""

from __future__ import annotations

import importlib
from typing import Any, Dict, Sequence, Tuple, Union

import torch

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.torchrl.api import TensorDict

Key = Union[str, Tuple[str, ...]]


def library(name: str, *modules: str) -> Any:
    """What a version has under a name in the first of these modules that has it.

    Raises:
        Unsupported: it is in none of them.
    """
    for module in modules:
        try:
            member = getattr(importlib.import_module(module), name, None)
        except ImportError:
            continue
        if member is not None:
            return member
    raise Unsupported(f"this version has no {name}")


def steps(ends: str, first: int = 0) -> Any:
    """Steps one after the other, one for each letter.

    Args:
        ends: "t" terminates an episode, "l" cuts it off by a limit, "." goes on.
        first: the number of the first step, which is what is observed.
    """
    count = len(ends)
    number = torch.arange(first, first + count, dtype=torch.float32).unsqueeze(-1)
    terminated = torch.tensor([letter == "t" for letter in ends]).unsqueeze(-1)
    truncated = torch.tensor([letter == "l" for letter in ends]).unsqueeze(-1)
    done = terminated | truncated
    starts = torch.cat([torch.ones(1, 1, dtype=torch.bool), done[:-1]])
    following = {
        "observation": number + 1,
        "reward": 1 + number / 8,
        "done": done,
        "terminated": terminated,
        "truncated": truncated,
    }
    return TensorDict(
        {
            "observation": number,
            "action": number / 4,
            "is_init": starts,
            "done": torch.zeros_like(done),
            "terminated": torch.zeros_like(done),
            "truncated": torch.zeros_like(done),
            "episode": starts.squeeze(-1).long().cumsum(0),
            "next": TensorDict(following, [count]),
        },
        [count],
    )


def read(label: str, data: Any, *keys: Key) -> Dict[str, Any]:
    """Copies of the entries of a batch, each under a name; "absent" where there is none."""
    if isinstance(data, str):
        return {label: data}
    return {
        f"{label}.{key if isinstance(key, str) else '.'.join(key)}": _copied(data, key)
        for key in keys
    }


def _copied(data: Any, key: Key) -> Any:
    entry = data.get(key, None)
    return "absent" if entry is None else entry.clone()


def names(data: Any) -> str:
    """The names of the entries of a batch."""
    return " ".join(
        sorted(key if isinstance(key, str) else ".".join(key) for key in data.keys(True, True))
    )


def shape(sizes: Sequence[int]) -> str:
    """A shape in words."""
    return "x".join(str(int(size)) for size in sizes)
