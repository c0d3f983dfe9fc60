"""Faults of saving and loading, put into a framework in this process."""

from __future__ import annotations

import importlib
import multiprocessing
import tomllib
from pathlib import Path

from rlregress import frameworks
from rlregress.inside import swap

TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def put_in(change):
    """Change a function of a framework, as a table says."""
    module = frameworks.get_adapter(change["framework"]).framework.modules[0]
    root = Path(importlib.import_module(module).__file__).parent
    text = changed((root / change["file"]).read_text(encoding="utf-8"), change)
    functions = {"file": f"{root.name}/{change['file']}", "functions": [change["function"]]}
    assert swap.replace_running_code([{**functions, "text": text}], [str(root)]) == []


def changed(text, change):
    """The text of a file with a change."""
    at = text.index(f"def {change['function'].rpartition('.')[2]}(")
    at = text.index(change["old"], at)
    return text[:at] + change["new"].strip() + text[at + len(change["old"]) :]


def in_a_fork(work, *arguments):
    """Call a function in a process that ends with it, so that its changes stay there."""
    process = multiprocessing.get_context("fork").Process(target=work, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0
