"""A script of CleanRL: its text, its defaults, and errors about what it lacks.

The suite keeps no text of a script: it reads the user's copy.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlregress import suite
from rlregress.errors import UserError
from rlregress.probing.interface import Unprobed

#: a line of the list of scripts: digest, two spaces, path.
_LISTED = re.compile(r"([0-9a-f]{64})  \S+")


#: name of an argument in HEAD -> its name in earlier versions
_OLDER_NAMES = {"num_minibatches": "n_minibatch"}


class VariableLost(Unprobed):
    """A script lacks a variable that a probe looks for."""


class ArgumentLost(VariableLost, UserError):
    """A script's command line lacks an argument that a training or probe passes."""


class Unreadable(Unprobed, UserError):
    """A file of the scripts is missing, or is no Python text."""


def read_script_text(path: Path) -> str:
    """Return the text of a file of the scripts, which is UTF-8.

    Raises:
        Unreadable: there is no such file, or it holds something else.
    """
    try:
        return Path(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise make_unreadable_error(path, error) from None


def imports_gym(text: str) -> bool:
    """Return whether a script was written for gym, before Gymnasium."""
    return re.search(r"^import gym\s*$", text, re.MULTILINE) is not None


def make_unreadable_error(path: Path, error: Exception) -> Unreadable:
    """Return the error for a file of the scripts that cannot be read or compiled."""
    line = f" at line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    words = error.strerror if isinstance(error, OSError) else str(getattr(error, "msg", error))
    return Unreadable(
        f"{path} cannot be read as a script of CleanRL: {type(error).__name__}{line}: {words}; "
        "expected the file as upstream has it: check it out or install it again",
        False,
    )


@functools.cache
def load_digests_of_known_scripts() -> frozenset[str]:
    """Return SHA-256 of the scripts that the suite was written for, from its list in ``baselines``.

    Raises:
        UserError: the list is missing or empty, or a line of it is no digest.
    """
    path = suite.locate_baselines() / "scripts" / "cleanrl.sha256"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}; restore the list of scripts") from None
    digests = set()
    for number, line in enumerate(lines, start=1):
        if line.strip() and line[0] != "#":
            entry = _LISTED.fullmatch(line)
            if entry is None:
                raise UserError(
                    f"{path}, line {number}: found {line!r}, expected 64 hexadecimal digits, two "
                    f"spaces and a path, as sha256sum writes them"
                )
            digests.add(entry.group(1))
    if not digests:
        raise UserError(f"{path} lists no script; restore the list of scripts")
    return frozenset(digests)


class Script:
    """A script, parsed.

    Attributes:
        path: the file.
        text: of the file.
        for_gym: whether it was written for gym, before Gymnasium.
        sha256: of its bytes.
        tree: its statements.
        known: whether the suite was written for exactly this file.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.text = Path(path), read_script_text(path)
        self.for_gym = imports_gym(self.text)
        content = self.text.encode()
        self.sha256 = hashlib.sha256(content).hexdigest()
        self.known = self.sha256 in load_digests_of_known_scripts()
        try:
            self.tree = ast.parse(content)
        except (SyntaxError, ValueError) as error:
            raise make_unreadable_error(path, error) from None

    def __repr__(self) -> str:
        return f"{self.path.name} ({self.sha256[:12]})"

    @functools.cached_property
    def arguments(self) -> Mapping[str, Any]:
        """The expressions of the defaults of the script's command line, by name with underscores.

        They come from the annotated class ``Args`` or from calls of ``add_argument``.
        """
        by_name: dict[str, Any] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef) and node.name == "Args":
                for field in node.body:
                    if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                        by_name[field.target.id] = field.value
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
                flag = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
                values = {keyword.arg: keyword.value for keyword in node.keywords}
                by_name[str(flag).lstrip("-").replace("-", "_")] = values.get("default")
        return by_name

    @functools.cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The defaults of the script's command line, by name with underscores.

        Defaults that are computed from anything but literals, ``int`` and ``float`` are left out.
        """
        values: dict[str, Any] = {}
        known = {"__builtins__": {}, "int": int, "float": float}
        for name, expression in self.arguments.items():
            # computed from the file's name, or no default at all
            with contextlib.suppress(Exception):
                code = compile(ast.Expression(expression), "<default>", "eval")
                values[name] = eval(code, dict(known))  # noqa: S307
        return values

    def spell_argument(self, name: str) -> str:
        """Return the name that this script has for an argument, given by its name in HEAD."""
        older = _OLDER_NAMES.get(name, name)
        return older if older in self.defaults else name

    def make_lost_error(self, problem: str) -> VariableLost:
        """Return the error that the script cannot be probed, with whose fault that is."""
        blame = "the suite does not know this version of the file"
        if self.known:
            blame = "the suite was written for this file, so this is a fault of the suite"
        return VariableLost(f"{self}: {problem}; {blame}", self.known)

    def make_variable_lost_error(self, *candidates: str) -> VariableLost:
        """Return the error that no variable has one of the names in ``candidates``."""
        names = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                names.add(node.name)
        near: dict[str, None] = {}
        for name in candidates:
            matches = difflib.get_close_matches(name, sorted(names), n=3, cutoff=0.5)
            near.update(dict.fromkeys(matches))
        nearest = f"nearest names: {', '.join(near)}" if near else "no name is near"
        tried = ", ".join(candidates)
        # a statement that binds the name may not have run
        bound = bool(set(candidates) & names)
        why = f"the run has not bound {tried}" if bound else f"nothing is assigned to {tried}"
        return self.make_lost_error(f"{why}; {nearest}")


def parse_script_file(path: Path) -> Script:
    """Return the parsed script of a file, parsed once as long as it is not changed."""
    return _parse_unchanged_file(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _parse_unchanged_file(path: Path, modified_at: int) -> Script:
    del modified_at
    return Script(path)


def find_first_variable(variables: Mapping[str, Any], *candidates: str) -> Any:
    """Return the value of the first of ``candidates`` that is a global variable of a script."""
    for name in candidates:
        if name in variables:
            return variables[name]
    raise Script(Path(variables["__file__"])).make_variable_lost_error(*candidates)
