"""Imports dotted names as a script would, and reports what each is, in one version."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def resolve(name: str) -> Any:
    """Return what a dotted path leads to: modules are imported, the rest are attributes.

    Raises:
        Exception: whatever a module raises when it is imported, or an attribute that is not there.
    """
    first, *rest = name.split(".")
    found = importlib.import_module(first)
    path = first
    for part in rest:
        path = f"{path}.{part}"
        if not hasattr(found, part):
            try:
                importlib.import_module(path)
            except ModuleNotFoundError as error:
                # another module that is missing is why this one cannot be imported
                if error.name != path and not path.startswith(f"{error.name}."):
                    raise
        found = getattr(found, part)
    return found


def described(name: str) -> dict[str, str]:
    """Return ``is``, which is the same for two paths to one thing; or ``error``, why there is none.

    Numbers and texts have no qualified name: their path stands for them.
    """
    try:
        found = resolve(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # foreign code, which may also end the process
        text = str(error).strip().partition("\n")[0]
        return {"error": f"{type(error).__name__}: {text}" if text else type(error).__name__}
    qualified = getattr(found, "__qualname__", "")
    module = getattr(found, "__module__", "") if qualified else getattr(found, "__name__", "")
    return {"is": f"{module} {qualified}".strip() or name}


def main(arguments: list[str]) -> int:
    """Write what the ``names`` of a job are, as JSON."""
    with open(arguments[0], encoding="utf-8") as file:
        names = json.load(file)["names"]
    found = {name: described(name) for name in names}
    with open(arguments[1], "w", encoding="utf-8") as file:
        json.dump(found, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
