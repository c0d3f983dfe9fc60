"""Whether what a line does has made a difference: clamps that bind, masks that mask.

Runs inside foreign and old environments: NumPy and torch only, Python 3.10 syntax. A clamp that
never binds and a mask that is all ones are code that was run and not tried: an equal trace says
nothing about the bound, or about what is masked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rlregress.inside.events import Places, readable
from rlregress.inside.lines import WAYS
from rlregress.probing.framework_errors import through

#: (file, line, function, operation)
_Place = tuple[str, int, str, str]
_Outcomes = Callable[[tuple[Any, ...], dict[str, Any], Any], set[str]]


def _array(value: Any) -> Any:
    return value.detach().cpu().numpy() if torch.is_tensor(value) else np.asarray(value)


def _clamp(given: tuple[Any, ...], named: dict[str, Any], _: Any) -> set[str]:
    low = named.get("min", named.get("a_min", given[1] if len(given) > 1 else None))
    high = named.get("max", named.get("a_max", given[2] if len(given) > 2 else None))
    value = _array(given[0] if given else named.get("input", named.get("a")))
    outcomes = set()
    below = value < _array(low) if low is not None else np.zeros(value.shape, bool)
    above = value > _array(high) if high is not None else np.zeros(value.shape, bool)
    if low is None or below.any():
        outcomes.add("below")
    if high is None or above.any():
        outcomes.add("above")
    if not (below | above).all():
        outcomes.add("inside")
    return outcomes


def _extremum(sign: int) -> _Outcomes:
    def outcomes(given: tuple[Any, ...], named: dict[str, Any], _: Any) -> set[str]:
        second = given[1] if len(given) > 1 else named.get("other")
        if not (torch.is_tensor(second) or isinstance(second, np.ndarray)):
            return {"first", "second"}  # over an axis, not of two
        difference = sign * (_array(given[0]) - _array(second))
        return ({"first"} if (difference > 0).any() else set()) | (
            {"second"} if (difference < 0).any() else set()
        )

    return outcomes


def _condition(given: tuple[Any, ...], named: dict[str, Any], position: int) -> set[str]:
    mask = _array(given[position] if len(given) > position else named.get("condition"))
    if mask.dtype != bool:
        return {"true", "false"}
    return ({"true"} if mask.any() else set()) | ({"false"} if not mask.all() else set())


def _where(given: tuple[Any, ...], named: dict[str, Any], _: Any) -> set[str]:
    return _condition(given, named, 0)


def _mask(given: tuple[Any, ...], named: dict[str, Any], _: Any) -> set[str]:
    return _condition(given, named, 1)


def _complement(given: tuple[Any, ...], named: dict[str, Any], _: Any) -> set[str]:
    value = _array(given[0])
    zero, one = value == 0, value == 1
    if not (zero | one).all():
        return {"zero", "one"}  # no mask
    return ({"zero"} if one.any() else set()) | ({"one"} if zero.any() else set())


def _clip_grad_norm(given: tuple[Any, ...], named: dict[str, Any], norm: Any) -> set[str]:
    limit = given[1] if len(given) > 1 else named["max_norm"]
    return {"clipped" if float(norm) > float(limit) else "left"}


#: owner, name, operation, what it did; the last ones by their result.
_HOOKED: list[tuple[Any, str, str, _Outcomes]] = [
    *((torch, name, "clamp", _clamp) for name in ("clamp", "clip")),
    *((torch.Tensor, name, "clamp", _clamp) for name in ("clamp", "clip", "clamp_")),
    (np, "clip", "clamp", _clamp),
    *((torch, name, "minimum", _extremum(-1)) for name in ("min", "minimum")),
    *((torch, name, "maximum", _extremum(1)) for name in ("max", "maximum")),
    (torch, "where", "where", _where),
    (torch.Tensor, "masked_fill", "mask", _mask),
    (torch.Tensor, "masked_fill_", "mask", _mask),
    (torch.Tensor, "masked_select", "mask", _mask),
    (torch.Tensor, "__rsub__", "complement", _complement),
    (torch.Tensor, "__invert__", "complement", _complement),
    (torch.nn.utils, "clip_grad_norm_", "clip_grad_norm", _clip_grad_norm),
]


class Activity:
    """Notes what clamps and masks of the traced code do; installed by a recorder."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._outcomes: dict[_Place, set[str]] = {}

    def install(self, recorder: Any) -> None:
        """Watch from now on, until the recorder is left."""
        for owner, name, operation, outcomes in _HOOKED:
            self._watch(recorder, owner, name, operation, outcomes)

    def _watch(
        self, recorder: Any, owner: Any, name: str, operation: str, outcomes: _Outcomes
    ) -> None:
        original = getattr(owner, name)

        def recording(*given: Any, **named: Any) -> Any:
            if recorder.inside or recorder.over:
                return through(original, *given, **named)
            # before it is done, which may be in place; but a norm is known after it
            late = operation == "clip_grad_norm"
            place = self._open(operation)
            if place is not None and not late:
                self._note(recorder, place, outcomes, given, named, None)
            returned = through(original, *given, **named)
            if place is not None and late:
                self._note(recorder, place, outcomes, given, named, returned)
            return returned

        recorder.register_with_jit(original, recorder.replace(owner, name, recording))

    def _open(self, operation: str) -> Any:
        """The place, unless all that can happen there has happened."""
        # called by the traced code itself, not by what it calls
        caller = sys._getframe(2)
        file = self._places.name(caller.f_code.co_filename)
        if file is None:
            return None
        place = (file, caller.f_lineno, caller.f_code.co_name, operation)
        return None if len(self._outcomes.get(place, ())) == len(WAYS[operation]) else place

    def _note(
        self,
        recorder: Any,
        place: _Place,
        outcomes: _Outcomes,
        given: tuple[Any, ...],
        named: dict[str, Any],
        returned: Any,
    ) -> None:
        if not readable(list(given)) or not readable(list(named.values())):
            return
        recorder.inside = True
        try:
            ways = outcomes(given, named, returned)
        except Exception:  # a recorder's failure must not end a training
            ways = set(WAYS[place[3]])
        finally:
            recorder.inside = False
        self._outcomes.setdefault(place, set()).update(ways)

    def outcomes(self) -> list[list[Any]]:
        """File, line, function, operation and what has happened there."""
        return [[*place, sorted(ways)] for place, ways in sorted(self._outcomes.items())]
