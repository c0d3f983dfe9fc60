"""OLD and NEW of an upgrade: requirements, a working tree, a lock file, an environment."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from rlregress import files, frameworks
from rlregress.errors import UserError
from rlregress.files import resolve_real_path
from rlregress.source import digest_files, list_sources_below
from rlregress.upgrade.versions import interpreters, revisions
from rlregress.upgrade.versions.distribution_metadata import get_package_name

INSTALLED = "installed"
#: the most bytes of a lock file that is read, and the most characters of a line in a message.
_LARGEST, _QUOTED = 10_000_000, 100
#: match names of files: any, which are no packages, and those of which pip reads no requirements.
_FILE = r"^[^\s=]+\.(txt|in|lock|toml|ya?ml|cfg|json|whl|gz|zip)$"
_NO_REQUIREMENTS = r"\.(toml|ya?ml|json|cfg)$|^(Pipfile|poetry|uv|pdm|conda)\b.*"
#: pattern in the name of such a file -> command that writes requirements.txt from it.
_EXPORTS = {
    "^Pipfile": "pipenv requirements > requirements.txt",
    "^poetry": "poetry export -o requirements.txt",
    "ya?ml$": "pip freeze > requirements.txt in that environment, or name the environment's folder",
    "": "uv export --no-hashes -o requirements.txt",
}
_IGNORED = {".git", "__pycache__", ".venv", "node_modules"}


@dataclass(frozen=True)
class RequestedVersion:
    """A version as the user wrote it: OLD or NEW.

    Attributes:
        text: as given.
        requirements: canonical, sorted; empty for a tree and for what is installed.
        tree: a working tree of a framework.
        lock: a file of pinned requirements.
        environment: a virtual environment of the user's.
        understood: sentences on short names that were read as names of packages.
        python: another interpreter, for which everything is installed; empty: this one.
        base: the user's environment to install into, if the other version is one; None: this
            process's environment.
    """

    text: str
    requirements: tuple[str, ...] = ()
    tree: Path | None = None
    lock: Path | None = None
    environment: Path | None = None
    understood: tuple[str, ...] = ()
    python: str = ""
    base: Path | None = None

    @property
    def pins(self) -> dict[str, str]:
        """Canonical name -> requirement, of the packages that it pins."""
        return {get_package_name(row): row for row in self.requirements}

    @property
    def user_environment(self) -> Path | None:
        """Return the user's environment: the requested one, or the one it is installed into."""
        return self.environment or self.base

    @property
    def key(self) -> str:
        """Return a digest of everything that decides the content of this version."""
        rows = [*self.requirements]
        if self.tree is not None:
            rows.append(digest_files(list_sources_below(self.tree, _IGNORED), self.tree))
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]

    def add_missing_pins(self, pins: Sequence[str]) -> RequestedVersion:
        """Add the pins of packages that are not pinned yet."""
        rows = _parse_pinned_rows(list(pins), " ".join(pins))
        added = [row for row in rows if get_package_name(row) not in self.pins]
        text = " ".join([self.text, *added])
        return replace(self, text=text, requirements=tuple(sorted([*self.requirements, *added])))


def share_user_environment(
    old: RequestedVersion, new: RequestedVersion
) -> tuple[RequestedVersion, RequestedVersion]:
    """Return both versions; if one is the user's environment, the other is based on it."""
    if old.environment is not None and (new.requirements or new.tree):
        return old, replace(new, base=old.environment)
    if new.environment is not None and (old.requirements or old.tree):
        return replace(old, base=new.environment), new
    return old, new


def find_interpreter_of_environment(environment: Path) -> str:
    """Return the interpreter of an environment.

    Raises:
        UserError: the environment has no interpreter.
    """
    python = environment / "bin" / "python"
    if not python.exists():
        raise UserError(f"{environment} is an environment without a Python; expected {python}")
    return str(python)


def parse_requested_version(text: str, python: str = "") -> RequestedVersion:
    """Parse OLD or NEW of a command: pins, a lock file, a folder, an environment, or "installed".

    Args:
        python: another interpreter to run this version.

    Raises:
        UserError: it is neither a folder, a file, ``installed``, nor a list of pinned requirements.
    """
    words = text.strip()
    path = Path(os.path.expanduser(words))
    if words == INSTALLED or (path / "pyvenv.cfg").is_file():
        if python:
            raise UserError(
                f"'{words}' has an interpreter of its own, and --python names another one; leave "
                "--python out, or pin packages"
            )
        environment = resolve_real_path(path) if words != INSTALLED else None
        return RequestedVersion(words, environment=environment)
    if path.is_dir():
        return RequestedVersion(
            words, tree=_find_tree_above_package(resolve_real_path(path)), python=python
        )
    if path.is_file():
        return RequestedVersion(
            words,
            _parse_pinned_rows(_read_lock_file(path), words, python),
            lock=path,
            python=python,
        )
    revision = revisions.parse_revision(words)
    if revision is not None:
        folder, name = revision
        tree = revisions.check_out_commit(folder, revisions.find_commit(folder, name))
        return RequestedVersion(words, tree=tree, python=python)
    if "/" in words or re.search(_FILE, words):
        raise UserError(
            f"'{text}' is no folder and no file; expected requirements such as "
            f"'framework==2.7.1', a working tree, a lock file, or '{INSTALLED}'"
        )
    rows = words.replace(",", " ").split()
    packages = _map_short_names_to_packages()
    understood = []
    for number, row in enumerate(rows):
        name = re.split(r"[=<>!~\[@;]", row, maxsplit=1)[0]
        package = packages.get(str(canonicalize_name(name)))
        if package is not None:
            rows[number] = package + row.removeprefix(name)
            understood.append(f"{name} is understood as the package {package}")
    pinned = _parse_pinned_rows(rows, words, python)
    return RequestedVersion(words, pinned, understood=tuple(understood), python=python)


def _find_tree_above_package(folder: Path) -> Path:
    """Return the nearest folder, from this one upwards, that is not a package.

    Raises:
        UserError: the package is one of an environment.
    """
    tree = next(x for x in (folder, *folder.parents) if not (x / "__init__.py").is_file())
    if tree.name in ("site-packages", "dist-packages"):
        raise UserError(
            f"{folder} is a package of an environment; expected that environment, or a copy of the "
            "package elsewhere"
        )
    return tree


def _map_short_names_to_packages() -> dict[str, str]:
    """Return short name or import name of a framework -> its package, where the two differ."""
    adapters = frameworks.list_adapters()
    named = {
        str(canonicalize_name(name)): adapter.framework.packages[0]
        for adapter in adapters
        for name in (*adapter.framework.modules[:1], adapter.name)
    }
    published = {
        str(canonicalize_name(p)) for adapter in adapters for p in adapter.framework.packages
    }
    return {name: package for name, package in named.items() if name not in published}


def _read_lock_file(path: Path) -> list[str]:
    """Return the requirements of a lock file, without hashes, comments and options."""
    try:
        # an editor may have put a mark of byte order before it
        text = files.read_regular_file(path, _LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"the lock file {path} cannot be read: byte {error.start} is not UTF-8; expected one "
            "pinned requirement a line"
        ) from None
    except OSError as error:
        raise UserError(f"the lock file {path} cannot be read: {error.strerror}") from None
    if "[[package]]" in text or re.search(_NO_REQUIREMENTS, path.name):
        command = next(x for pattern, x in _EXPORTS.items() if re.search(pattern, path.name))
        raise UserError(
            f"{path} is of a format that pip cannot install from; expected one pinned requirement "
            f"a line, in requirements.txt: {command}"
        )
    lines = [re.split(r"(?:^|\s)#", line)[0].strip() for line in text.splitlines()]
    for line in lines:
        if re.match(r"(-r|-c|--requirement|--constraint)\b", line):
            raise UserError(
                f"'{line}' in {path} refers to another file; expected every pin in one file"
            )
    rows = [line.partition(" --hash")[0].rstrip(" \\") for line in lines]
    pins = [row for row in rows if row and not row.startswith("-")]
    if not pins:
        raise UserError(f"the lock file {path} pins nothing; expected lines such as numpy==2.0.0")
    return pins


def _parse_pinned_rows(rows: list[str], file: str, python: str = "") -> tuple[str, ...]:
    pinned = []
    for row in rows:
        try:
            requirement = Requirement(row)
        except InvalidRequirement:
            raise UserError(
                f"'{row[:_QUOTED]}' in '{file[:_QUOTED]}' is no requirement; expected one such as "
                "'framework==2.7.1'"
            ) from None
        pins = [s for s in requirement.specifier if s.operator in ("==", "===")]
        if not requirement.url and (len(pins) != 1 or pins[0].version.endswith("*")):
            bare = re.fullmatch(r"v?[0-9][0-9.a-z]*", row)
            write = f"<package>=={row.lstrip('v')}" if bare else f"{requirement.name}==<version>"
            raise UserError(f"'{row}' in '{file}' is not pinned to one version; write {write}")
        if requirement.marker is None or requirement.marker.evaluate(
            dict(interpreters.read_marker_values(python))
        ):
            requirement.marker = None
            requirement.name = str(canonicalize_name(requirement.name))
            pinned.append(str(requirement))
    if not pinned:
        raise UserError(
            f"no requirement of '{file}' applies to this Python: its markers exclude all of them"
        )
    distinct = sorted(set(pinned))
    for name, count in Counter(map(get_package_name, distinct)).items():
        if count > 1:
            both = " and ".join(row for row in distinct if get_package_name(row) == name)
            raise UserError(f"'{file}' contradicts itself: {both}")
    return tuple(distinct)
