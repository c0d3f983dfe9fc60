"""Subjects of short sequences of calls, and the environments that generated calls are made with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from rlregress.frameworks.sb3 import gyms
from rlregress.probing.interface import Unsupported
from rlregress.probing.option_variants import Call, Items, Kit, Subject, items_of, refused
from rlregress.probing.toys import Ends

Step = str | tuple[Any, ...] | Callable[[Any], Any]
Arguments = Callable[[], dict[str, Any]]


class Named(dict[str, Any]):
    """Keywords of a call, the last of its arguments."""


def called(function: Any, given: tuple[Any, ...]) -> Any:
    """What a function returns."""
    named = given[-1] if given and isinstance(given[-1], Named) else {}
    return function(*given[: len(given) - bool(named)], **named)


def done(made: Any, *steps: Step) -> Items:
    """What each step shows, one after the other.

    A step is an attribute's name, a method's name with its arguments, or a function of the object.
    What has steps of its own is shown step by step: what a version lacks leaves the others.
    """
    results = Items()
    for place, step in enumerate(steps):
        word = getattr(step, "__name__", "") if callable(step) else str(step[0])
        word = step if isinstance(step, str) else word.strip("<>")
        inner = items_of(refused(partial(_step, made, step)))
        results.update((f"{place} {word} {label}".strip(), item) for label, item in inner.items())
    return results


def _step(made: Any, step: Step) -> Any:
    if isinstance(step, str):
        return getattr(made, step)
    if not isinstance(step, tuple):
        return step(made)
    # a wrapper looks for what its class lacks inside of what it wraps, and the library refuses it
    if not hasattr(made if inspect.isclass(made) else type(made), step[0]):
        raise Unsupported(f"{made!r} has no method {step[0]}")
    return called(getattr(made, step[0]), step[1:])


def function(name: str, inputs: Mapping[str, Any], call: Call = called, **more: Any) -> Subject:
    """A function, with every option on each of some inputs: its arguments, or what makes them."""

    def given(label: str) -> Any:
        return inputs[label]() if callable(inputs[label]) else inputs[label]

    labels = tuple(inputs)
    return Subject(name, {"": Kit(dict, given)}, labels, labels, calls={"": call}, **more)


def used(name: str, kits: Mapping[str, Arguments], *steps: Step, **more: Any) -> Subject:
    """A class, made with the arguments of each kit, and the steps that are done with it."""
    made = {label: Kit(arguments, str) for label, arguments in kits.items()}
    calls = {"": lambda thing, _: done(thing, *steps), **more.pop("calls", {})}
    return Subject(name, made, ("",), calls=calls, skip=("holds", *more.pop("skip", ())), **more)


# -- environments -----------------------------------------------------------------------------


def environment(
    observations: str = "box", actions: str = "box", first: int = 0, around: Any | None = None
) -> Any:
    """One environment, whose draws do not depend on what was made before."""
    inner = Ends(actions=actions, observations=observations, first=first)
    inner.np_random = np.random.default_rng(first)
    inner.action_space.seed(first)
    made = gyms.native(inner)
    return made if around is None else around(made)


def several(count: int = 2, *kinds: str, around: Any | None = None) -> Any:
    """Environments side by side, which begin with different ends."""
    make: Any = environment
    made = [make(*kinds, first=number, around=around) for number in range(count)]
    return gyms.side_by_side(*made)
