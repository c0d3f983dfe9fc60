"""Import dotted names as a script would, and describe the objects."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from rlregress.inside.job_files import answer_job_of_file


def import_object(name: str) -> Any:
    """Return the object of a dotted path: modules are imported, further names are attributes.

    Raises:
        Exception: an error of an imported module, or AttributeError.
    """
    first, *names = name.split(".")
    value = importlib.import_module(first)
    path = first
    for part in names:
        path = f"{path}.{part}"
        if not hasattr(value, part):
            try:
                importlib.import_module(path)
            except ModuleNotFoundError as error:
                # the module exists, and lacks another one
                if error.name != path and not path.startswith(f"{error.name}."):
                    raise
        value = getattr(value, part)
    return value


def identify_importable_object(name: str) -> dict[str, str]:
    """Return {"is": identity}, the same for all paths to an object, or {"error": reason}.

    The identity of numbers and texts, which have no qualified name, is their path.
    """
    try:
        value = import_object(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # foreign code, which may also end the process
        text = str(error).strip().partition("\n")[0]
        return {"error": f"{type(error).__name__}: {text}" if text else type(error).__name__}
    qualified = getattr(value, "__qualname__", "")
    module = getattr(value, "__module__", "") if qualified else getattr(value, "__name__", "")
    return {"is": f"{module} {qualified}".strip() or name}


def identify_importable_objects(job: dict[str, Any]) -> dict[str, Any]:
    """Return name -> identity or error, for the ``names`` of a job."""
    return {name: identify_importable_object(name) for name in job["names"]}


if __name__ == "__main__":
    sys.exit(answer_job_of_file(identify_importable_objects, sys.argv[1:]))
