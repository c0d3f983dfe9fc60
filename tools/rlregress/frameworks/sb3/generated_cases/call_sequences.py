"""Subjects of functions and classes, and of short sequences of calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rlregress.probing.interface import Unsupported
from rlregress.probing.option_variants import (
    Call,
    Items,
    Kit,
    Subject,
    call_or_return_error,
    split_answer_into_items,
)

Step = str | tuple[Any, ...] | Callable[[Any], Any]
Arguments = Callable[[], dict[str, Any]]


class Keywords(dict[str, Any]):
    """Keyword arguments of a call, the last item after its positional arguments."""


def call_with_trailing_keywords(function: Any, arguments: tuple[Any, ...]) -> Any:
    """Call a function with positional arguments, the last of which may be its ``Keywords``."""
    named = arguments[-1] if arguments and isinstance(arguments[-1], Keywords) else {}
    return function(*arguments[: len(arguments) - bool(named)], **named)


def record_steps(target: Any, *steps: Step) -> Items:
    """Do steps with ``target``, such as calls of its methods, and return all results by label.

    A step is an attribute's name, a method's name with its arguments, or a function of the object.
    The items of a step that returns ``Items`` are recorded one by one, so that a version that lacks
    one of them still records the others.
    """
    results = Items()
    for place, step in enumerate(steps):
        word = getattr(step, "__name__", "") if callable(step) else str(step[0])
        word = step if isinstance(step, str) else word.strip("<>")
        inner = split_answer_into_items(call_or_return_error(partial(_do_step, target, step)))
        results.update((f"{place} {word} {label}".strip(), item) for label, item in inner.items())
    return results


def _do_step(target: Any, step: Step) -> Any:
    if isinstance(step, str):
        return getattr(target, step)
    if not isinstance(step, tuple):
        return step(target)
    # a wrapper looks for what its class lacks inside of what it wraps, and the library refuses it
    if not hasattr(target if inspect.isclass(target) else type(target), step[0]):
        raise Unsupported(f"{target!r} has no method {step[0]}")
    return call_with_trailing_keywords(getattr(target, step[0]), step[1:])


def make_function_subject(
    name: str, inputs: Mapping[str, Any], call: Call = call_with_trailing_keywords, **options: Any
) -> Subject:
    """Return the generated cases of a function: it is called with each option and each input.

    Args:
        inputs: label -> arguments of a call, or a function that returns them.
    """

    def make_arguments(label: str) -> Any:
        return inputs[label]() if callable(inputs[label]) else inputs[label]

    labels = tuple(inputs)
    return Subject(
        name, {"": Kit(dict, make_arguments)}, labels, labels, calls={"": call}, **options
    )


def make_class_subject(
    name: str, kits: Mapping[str, Arguments], *steps: Step, **options: Any
) -> Subject:
    """Return the generated cases of a class: an object for each kit, and steps with the object."""
    labelled_kits = {label: Kit(arguments, str) for label, arguments in kits.items()}
    calls = {"": lambda thing, _: record_steps(thing, *steps), **options.pop("calls", {})}
    return Subject(
        name, labelled_kits, ("",), calls=calls, skip=("holds", *options.pop("skip", ())), **options
    )
