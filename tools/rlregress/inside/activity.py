"""Notes the effects of clamps and masks: did a bound bind, did a mask hide anything?

If a clamp never binds or a mask is all ones, equal traces say nothing about the bound or about
masked values.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from rlregress.inside.events import Places, has_readable_numbers
from rlregress.inside.lines import WAYS

#: an operation in the traced code: file, line, function, and its name
_Place = tuple[str, int, str, str]


class _Call(NamedTuple):
    """A call of an operation: its arguments, by position and by name, and its result."""

    arguments: tuple[Any, ...]
    options: dict[str, Any]
    returned: Any

    def find_argument(self, position: int, *names: str) -> Any:
        if len(self.arguments) > position:
            return self.arguments[position]
        return next((self.options[name] for name in names if name in self.options), None)


#: returns each way of the operation -> whether it happened; None: all ways count as tried.
_FindEffects = Callable[[_Call], "dict[str, Any] | None"]


def _convert_to_array(value: Any) -> Any:
    return value.detach().cpu().numpy() if torch.is_tensor(value) else np.asarray(value)


def _find_clamp_effects(call: _Call) -> dict[str, Any]:
    value = _convert_to_array(call.find_argument(0, "input", "a"))
    low, high = call.find_argument(1, "min", "a_min"), call.find_argument(2, "max", "a_max")
    nothing = np.zeros(value.shape, bool)
    below = value < _convert_to_array(low) if low is not None else nothing
    above = value > _convert_to_array(high) if high is not None else nothing
    return {
        # a missing bound counts as tried
        "below": low is None or below.any(),
        "above": high is None or above.any(),
        "inside": not (below | above).all(),
    }


def _find_extremum_effects(call: _Call, sign: int) -> dict[str, Any] | None:
    second = call.find_argument(1, "other")
    if not (torch.is_tensor(second) or isinstance(second, np.ndarray)):
        return None  # over an axis, not of two arrays
    difference = sign * (_convert_to_array(call.arguments[0]) - _convert_to_array(second))
    return {"first": (difference > 0).any(), "second": (difference < 0).any()}


def _find_condition_effects(call: _Call, position: int) -> dict[str, Any] | None:
    mask = _convert_to_array(call.find_argument(position, "condition", "mask"))
    return {"true": mask.any(), "false": not mask.all()} if mask.dtype == bool else None


def _find_complement_effects(call: _Call) -> dict[str, Any] | None:
    value = _convert_to_array(call.arguments[0])
    are_zero, are_one = value == 0, value == 1
    if not (are_zero | are_one).all():
        return None  # no mask
    # the effects of ``1 - mask``: it is zero where the mask is one
    return {"zero": are_one.any(), "one": are_zero.any()}


def _find_grad_norm_effects(call: _Call) -> dict[str, Any]:
    is_clipped = float(call.returned) > float(call.find_argument(1, "max_norm"))
    return {"clipped": is_clipped, "left": not is_clipped}


def _find_finite_effects(call: _Call) -> dict[str, Any]:
    is_finite = np.isfinite(_convert_to_array(call.find_argument(0, "input", "x")))
    return {"finite": is_finite.any(), "not finite": not is_finite.all()}


_find_minimum_effects = functools.partial(_find_extremum_effects, sign=-1)
_find_maximum_effects = functools.partial(_find_extremum_effects, sign=1)
_find_mask_effects = functools.partial(_find_condition_effects, position=1)

#: hooked functions: owner, name, operation, and the function that finds its effects.
_HOOKED: list[tuple[Any, str, str, _FindEffects]] = [
    *((torch, name, "clamp", _find_clamp_effects) for name in ("clamp", "clip")),
    *((torch.Tensor, name, "clamp", _find_clamp_effects) for name in ("clamp", "clip", "clamp_")),
    (np, "clip", "clamp", _find_clamp_effects),
    *((torch, name, "minimum", _find_minimum_effects) for name in ("min", "minimum")),
    *((torch, name, "maximum", _find_maximum_effects) for name in ("max", "maximum")),
    (torch, "where", "where", functools.partial(_find_condition_effects, position=0)),
    (torch.Tensor, "masked_fill", "mask", _find_mask_effects),
    (torch.Tensor, "masked_fill_", "mask", _find_mask_effects),
    (torch.Tensor, "masked_select", "mask", _find_mask_effects),
    (torch.Tensor, "__rsub__", "complement", _find_complement_effects),
    (torch.Tensor, "__invert__", "complement", _find_complement_effects),
    (torch, "nan_to_num", "nan_to_num", _find_finite_effects),
    (torch.Tensor, "nan_to_num", "nan_to_num", _find_finite_effects),
    (np, "nan_to_num", "nan_to_num", _find_finite_effects),
    (torch.nn.utils, "clip_grad_norm_", "clip_grad_norm", _find_grad_norm_effects),
]


class ClampAndMaskEffects:
    """Notes for each clamp and mask in traced code whether it had an effect on its values."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._ways: dict[_Place, set[str]] = {}

    def install(self, recorder: Any) -> None:
        """Note clamps and masks from now on, until the recorder exits."""
        for owner, name, operation, find_effects in _HOOKED:
            note = functools.partial(self._note_effects_of_operation, operation, find_effects)
            # before the operation, which may overwrite its arguments; a norm is known after it
            when = "after" if operation == "clip_grad_norm" else "before"
            recorder.hook_function(owner, name, **{when: note}, hides_inner=False)

    def _note_effects_of_operation(
        self,
        operation: str,
        find_effects: _FindEffects,
        arguments: tuple[Any, ...],
        options: dict[str, Any],
        returned: Any = None,
    ) -> None:
        # frame 2 called the hooked operation: only operations that traced code calls itself count
        caller = sys._getframe(2)
        file = self._places.find_path_below_root(caller.f_code.co_filename)
        if file is None:
            return
        place = (file, caller.f_lineno, caller.f_code.co_name, operation)
        if len(self._ways.get(place, ())) == len(WAYS[operation]):
            return
        if not has_readable_numbers([*arguments, *options.values()]):
            return
        try:
            effects = find_effects(_Call(arguments, options, returned))
        except Exception:  # a recorder's failure must not end a training
            effects = None
        ways = (way for way in WAYS[operation] if effects is None or effects[way])
        self._ways.setdefault(place, set()).update(ways)

    def list_effects_by_place(self) -> list[list[Any]]:
        """Return file, line, function, operation and its observed effects, sorted by place."""
        return [[*place, sorted(ways)] for place, ways in sorted(self._ways.items())]
