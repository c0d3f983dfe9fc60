"""Errors of a third party's adapter, each as one sentence that names the adapter's file."""

from __future__ import annotations

import contextlib
import importlib.util
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

from rlregress.errors import UserError
from rlregress.probing.families import format_error

#: what a user does about each of them.
REMEDY = "mend the adapter, or uninstall its package"


@contextlib.contextmanager
def convert_errors_to_sentences(
    module: str, expected: str, *exempt: type[Exception]
) -> Iterator[None]:
    """Raise UserError in place of an error that a third party's adapter raises.

    Args:
        module: name of the adapter's module; errors of this library's own are raised as they are.
        expected: what follows "expected" in the message.
        exempt: errors that are raised as they are.
    """
    try:
        yield
    # a package may end the process when it is imported
    except (Exception, SystemExit) as error:
        if module.startswith("rlregress.") or isinstance(error, (UserError, *exempt)):
            raise
        text = f"{format_place_in_adapter(error, module)}: {format_error(error)}"
        raise UserError(f"{text}; expected {expected}; {REMEDY}") from error


def format_place_in_adapter(error: BaseException, module: str) -> str:
    """Return file and line of the adapter where an error was raised, or its module's name."""
    if isinstance(error, SyntaxError) and error.filename:
        # its text may have been parsed again without its name
        if error.__context__ is not None and not Path(error.filename).is_file():
            return format_place_in_adapter(error.__context__, module)
        return f"{error.filename}:{error.lineno}"
    package = module.partition(".")[0]
    spec = importlib.util.find_spec(package) if package else None
    if spec is None or not spec.origin:
        return module
    folder = Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else spec.origin


def is_value_of_type(value: Any, annotation: Any) -> bool:
    """Return whether a value, and each of its items, is of an annotated type."""
    kind, item_types = get_origin(annotation) or annotation, get_args(annotation)
    if kind in (Any, None):
        return kind is Any or value is None
    if not isinstance(value, annotation if kind is UnionType else kind):
        return False
    if kind is Mapping:
        key_type, value_type = item_types
        return all(
            is_value_of_type(k, key_type) and is_value_of_type(v, value_type)
            for k, v in value.items()
        )
    if kind is tuple and ... not in item_types:
        return len(value) == len(item_types) and all(map(is_value_of_type, value, item_types))
    return kind not in (tuple, Sequence) or all(
        is_value_of_type(item, item_types[0]) for item in value
    )


def format_annotation(annotation: Any) -> str:
    """Return an annotation as text, without names of its modules."""
    return str(annotation).replace("collections.abc.", "").replace("typing.", "")
