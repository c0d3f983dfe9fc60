"""The inputs of generated cases: the same numbers on every version, by a rule and not by chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from rlregress.frameworks.torchrl.api import TensorDict
from rlregress.frameworks.torchrl.known_networks import ACTIONS, CHOICES, OBSERVATIONS


def make_numbers(*shape: int, word: str = "", low: float = -2.0, high: float = 2.0) -> torch.Tensor:
    """Return unordered distinct numbers from ``low`` to ``high``; each word gives others."""
    start = sum(ord(letter) * (place + 3) for place, letter in enumerate(word))
    places = torch.arange(start, start + math.prod(shape))
    return (low + (high - low) * ((places * 7919 + 104729) % 1009).float() / 1009).reshape(shape)


def make_flags(shape: Sequence[int], *places: int) -> torch.Tensor:
    """Return flags that are true at ``places`` of the last dimension of ``shape``."""
    marks = torch.zeros(*shape, 1, dtype=torch.bool)
    marks[..., [place for place in places if place < shape[-1]], :] = True
    return marks


#: what a step's action is -> how it is made for a shape.
ACTS: dict[str, Callable[[tuple[int, ...]], torch.Tensor]] = {
    "continuous": lambda shape: make_numbers(*shape, ACTIONS, word="action", low=-0.95, high=0.95),
    "one_hot": lambda shape: torch.nn.functional.one_hot(_make_choice_indices(shape), CHOICES),
    "index": lambda shape: _make_choice_indices(shape),
    "column": lambda shape: _make_choice_indices(shape).unsqueeze(-1),
}


def _make_choice_indices(shape: tuple[int, ...]) -> torch.Tensor:
    return (make_numbers(*shape, word="choice", low=0, high=CHOICES)).long()


def make_steps(action_kind: str, *shape: int) -> Any:
    """Return steps with the entries of an environment, an old policy, a critic and an estimator.

    The second step of a row is truncated, the fourth terminates.
    """
    over, cut = make_flags(shape, 3), make_flags(shape, 1)
    following = {
        "observation": make_numbers(*shape, OBSERVATIONS, word="next"),
        "reward": make_numbers(*shape, 1, word="reward"),
        "done": over | cut,
        "terminated": over,
        "truncated": cut,
        "state_value": make_numbers(*shape, 1, word="next value"),
        "is_init": torch.zeros(*shape, 1, dtype=torch.bool),
    }
    nothing = torch.zeros(*shape, 1, dtype=torch.bool)
    score = make_numbers(*shape, word="score", low=-3.0, high=-0.2)
    items = {
        "observation": make_numbers(*shape, OBSERVATIONS, word="observation"),
        "action": ACTS[action_kind](shape),
        "done": nothing,
        "terminated": nothing.clone(),
        "truncated": nothing.clone(),
        "is_init": make_flags(shape, 0, 2),
        "flat group": torch.arange(math.prod(shape)).reshape(shape) % 2,
        "group": (torch.arange(math.prod(shape)) % 3).reshape(*shape, 1),
        "mask": make_flags((*shape, CHOICES), 0, 1, 3).squeeze(-1),
        "loc": make_numbers(*shape, ACTIONS, word="loc"),
        "scale": make_numbers(*shape, ACTIONS, word="scale", low=0.3, high=1.5),
        "logits": make_numbers(*shape, CHOICES, word="logits"),
        "advantage": make_numbers(*shape, 1, word="advantage", low=-4.0, high=5.0),
        "value_target": make_numbers(*shape, 1, word="target"),
        "state_value": make_numbers(*shape, 1, word="value"),
        "action_log_prob": score,
        "sample_log_prob": score.clone(),
    }
    return TensorDict({**items, "next": TensorDict(following, shape)}, shape)


_ESTIMATED = ("advantage", "value_target", "state_value", ("next", "state_value"))


def _set_entries(batch: Any, **entries: Any) -> Any:
    return batch.update(entries)


def _set_next_entry(batch: Any, name: str, value: Any) -> Any:
    batch["next", name] = value
    return batch


def _set_final_observations_to_nan(batch: Any) -> Any:
    """Set the next observation of each step that ends an episode to not-a-number."""
    ends = batch["next", "done"].expand(batch["next", "observation"].shape)
    batch["next", "observation"][ends] = float("nan")
    return batch


def _set_next_flags(batch: Any, *names: str) -> Any:
    for name in names:
        batch["next", name] = torch.ones_like(batch["next", name])
    return batch


#: label -> what is done with plain steps.
CHANGES: dict[str, Callable[[Any], Any]] = {
    "counted": lambda b: _set_entries(b, shifted_valid=~make_flags(b.shape, 4).squeeze(-1)),
    "column": lambda b: _set_entries(b, shifted_valid=b["shifted_valid"].unsqueeze(-1)),
    "collected": lambda b: _set_entries(
        b, collector=TensorDict({"mask": ~make_flags(b.shape, 4, 5).squeeze(-1)}, b.shape)
    ),
    "weighted": lambda b: _set_entries(
        b, priority_weight=make_numbers(*b.shape, word="weight", low=0.5, high=2)
    ),
    "several": lambda b: _set_entries(
        b, steps_to_next_obs=1 + (torch.arange(b.numel()) % 3).reshape(*b.shape, 1)
    ),
    "unscored": lambda b: b.exclude(*_ESTIMATED),
    "trifling": lambda b: _set_entries(b, advantage=1e-5 * b["advantage"]),
    "few": lambda b: _set_entries(b, shifted_valid=make_flags(b.shape, 2).squeeze(-1)),
    "whole": lambda b: _set_next_flags(b, "truncated", "done"),
    "traced": lambda b: _set_next_entry(b, "observation", b["next", "observation"].roll(1, -2)),
    "missing": _set_final_observations_to_nan,
    "over": lambda b: _set_next_flags(b.exclude(*_ESTIMATED), "done", "terminated"),
    "endless": lambda b: b.exclude(*_ESTIMATED, ("next", "terminated")),
    "flat": lambda b: _set_entries(b, advantage=b["advantage"].squeeze(-1)),
    "wide": lambda b: _set_entries(b, advantage=make_numbers(*b.shape, 2, word="wide")),
    "columns": lambda b: _set_entries(
        b, **{k: b[k].unsqueeze(-1) for k in ("action_log_prob", "sample_log_prob")}
    ),
    "even": lambda b: _set_entries(b, advantage=torch.full_like(b["advantage"], 1.00005)),
    "startless": lambda b: b.exclude(("next", "is_init")),
    # one step both starts an episode and truncates it
    "short": lambda b: _set_entries(b, is_init=b["is_init"] | b["next", "truncated"]),
    "large": lambda b: _set_next_entry(b, "reward", 9e3 * b["next", "reward"]),
    "unrewarded": lambda b: _set_next_entry(b, "reward", torch.zeros_like(b["next", "reward"])),
    "carried": lambda b: _set_entries(b, advantage=b["advantage"].requires_grad_()),
    "led": lambda b: _set_entries(
        b, **{k: b[k].requires_grad_() for k in ("action_log_prob", "sample_log_prob")}
    ),
    "lacking": lambda b: b.exclude("advantage", "action", ("next", "reward")),
    "hopeless": lambda b: _set_next_entry(b, "reward", float("nan") * b["next", "reward"]),
    "double": lambda b: b.apply(lambda x: x.double() if x.is_floating_point() else x),
}
SHAPES: dict[str, tuple[int, ...]] = {
    "one": (1,), "rows": (6,), "time": (2, 6), "blocks": (2, 3, 6), "long": (3, 40),
    "pair": (2,), "thin": (2, 1, 3),
}  # fmt: skip


def make_batch(action_kind: str, shape_and_changes: str) -> Any:
    """Return steps of a shape, with changes, such as "time" or "time flat_double"."""
    shape, _, changes = shape_and_changes.partition(" ")
    data = make_steps(action_kind, *SHAPES[shape])
    for change in filter(None, changes.split("_")):
        data = CHANGES[change](data)
    return data
