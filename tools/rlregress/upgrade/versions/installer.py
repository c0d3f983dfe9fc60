"""Calls uv, which resolves and installs packages, and explains its failures.

uv unpacks each package once and links to it: a second version with the same package costs neither
a download nor disk space.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from itertools import product

import uv
from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from rlregress.errors import UserError
from rlregress.trace import child_processes
from rlregress.upgrade.versions import cached_folders

#: pip, which is asked how it is configured and which versions are published.
PIP: tuple[str, ...] = (sys.executable, "-m", "pip")


class Unreachable(UserError):
    """There is no network, and the cache does not have the package."""


class Unreadable(UserError):
    """The metadata of a package breaks its format.

    Attributes:
        row: the package, as ``name==version``.
    """

    def __init__(self, pin: str) -> None:
        super().__init__(f"the metadata of {pin} cannot be read")
        self.row = pin


def find_uv() -> str:
    """Return the path of uv: that of this environment, or the one that the uv package finds."""
    try:
        return uv.find_uv_bin()
    except FileNotFoundError:
        raise UserError(
            "uv, which installs the two versions, is not installed; run: pip install uv"
        ) from None


#: not a variable of uv, which has the option --no-index instead.
_NO_INDEX = "UV_NO_INDEX"
#: setting of pip -> variable of uv, and what separates several values there.
_SETTINGS = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "constraint": ("UV_CONSTRAINT", " "),
    "no-index": (_NO_INDEX, " "),
}
#: sections of pip's settings that hold for an installation; the later ones win.
_SECTIONS = ("global", "install", ":env:")
#: settings whose values may be paths, which pip takes from the folder that it runs in.
_PATHS = {"UV_FIND_LINKS", "UV_CONSTRAINT"}
_INDEXES = {"UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"}


#: values with which pip takes a setting as switched off.
_FALSE = ("", "0", "n", "no", "f", "false", "off")
_ASKING = threading.Lock()


@functools.cache
def _translate_pip_configuration_to_uv(python: str = "") -> dict[str, str]:
    """Return the variables that make uv use the package indexes of pip's configuration.

    Args:
        python: interpreter of the environment whose pip is configured; empty: this one.
    """
    command = [*PIP, *(["--python", python] if python else []), "config", "list"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    variables: dict[str, str] = {}
    rows = [line.partition("=")[::2] for line in completed.stdout.splitlines()]
    for section, (key, value) in product(_SECTIONS, rows):
        variable, between = _SETTINGS.get(key.rpartition(".")[2], ("", ""))
        if variable and key.rpartition(".")[0] == section:
            values = str(ast.literal_eval(value)).split()
            if variable in _PATHS:
                values = [os.path.abspath(v) if os.path.exists(v) else v for v in values]
            variables[variable] = between.join(values)
    if variables.get(_NO_INDEX, "").lower() in _FALSE:
        variables.pop(_NO_INDEX, None)
    if "UV_INDEX" in variables:
        # as pip does: the best version of all indexes, not the first index with the package
        variables["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return variables


def _make_uv_variables_from_pip_configuration(python: str = "") -> dict[str, str]:
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    with _ASKING:
        configured = _translate_pip_configuration_to_uv(python)
    # an index that is configured for uv replaces those of pip
    own = _INDEXES if _INDEXES & variables.keys() else set()
    for key, value in configured.items():
        if key not in own:
            variables.setdefault(key, value)
    # on the disk of the environments: uv then makes links, not copies
    variables.setdefault("UV_CACHE_DIR", str(cached_folders.locate_cache() / "uv"))
    variables.setdefault("UV_HTTP_RETRIES", "1")
    variables.update(UV_NO_PROGRESS="1", NO_COLOR="1")
    return variables


def run_uv(arguments: Sequence[str], requested: str, env: Mapping[str, str] | None = None) -> str:
    """Run uv and return its output; without a network from its cache.

    Args:
        requested: the user's name for what is installed, used in messages.
        env: further environment variables.

    Raises:
        UserError: uv failed; the message is one sentence.
        Unreachable: there is no network.
        Unreadable: the metadata of a package is not what the format allows.
    """
    python = arguments[arguments.index("--python") + 1] if "--python" in arguments else ""
    python = "" if python == sys.executable else python
    variables = {**_make_uv_variables_from_pip_configuration(python), **(env or {})}
    completed = _call_uv(arguments, variables)
    if completed.returncode and _is_unreachable_message(completed.stderr):
        completed = _call_uv(["--offline", *arguments], variables)
    if completed.returncode:
        raise build_uv_error(completed.stderr, requested)
    return completed.stdout


def _call_uv(
    arguments: Sequence[str], variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    cached_folders.locate_cache().mkdir(parents=True, exist_ok=True)
    # in a folder without a project, whose settings uv would read
    folder = cached_folders.locate_cache()
    command = [find_uv(), "--quiet", *arguments]
    if arguments[0] == "pip" and variables.get(_NO_INDEX):
        command.append("--no-index")
    return child_processes.run_command(command, variables, folder)


def list_published_versions(package: str, python: str = "") -> list[str]:
    """List a package's versions with a build for a Python, the newest first; empty: not known.

    Args:
        python: version of the interpreter; empty: this one.
    """
    command = [*PIP, "index", "versions", "--retries", "1", package]
    command += ["--python-version", python] if python else []
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    versions = re.search(r"Available versions: (.+)", completed.stdout)
    return versions.group(1).split(", ") if versions else []


def get_index_address() -> str:
    """Return the address of the package index."""
    variables = _make_uv_variables_from_pip_configuration()
    return variables.get("UV_DEFAULT_INDEX", "https://pypi.org/simple").rstrip("/")


_UNREACHABLE = ("Failed to fetch", "error sending request", "network was disabled", "dns error")


def _is_unreachable_message(sentence: str) -> bool:
    return any(sign in sentence for sign in _UNREACHABLE)


#: pattern in uv's message, which names a package -> explanation.
_EXPLANATIONS = {
    r"[Bb]ecause there is no version of (\S+==\S+)": "there is no {package}; {nearest}",
    r"[Bb]ecause (\S+) was not found in the p(?:ackage registry|rovided package locations)": (
        "'{requested}' could not be installed: the package index has no package '{package}'; "
        "check the name, {advice}"
    ),
    r"no wheels with a matching Python[^\n]*you require (\S+==[^\s,]+)": (
        "{package} has no build for this Python; {nearest}"
    ),
    r"Failed to (?:download and )?build `(\S+)`": (
        "{package} is published for this Python as source only, which cannot be built here; "
        "{nearest}"
    ),
}


def build_uv_error(sentence: str, requested: str) -> UserError:
    """Return the error to raise for a failure of uv, with one sentence of explanation."""
    advice = "what was made before is kept"
    if _is_unreachable_message(sentence):
        return Unreachable(
            f"'{requested}' could not be installed: the package index cannot be reached and not "
            "all "
            f"of it is in the cache {cached_folders.locate_cache()}; try again with a network, "
            f"{advice}"
        )
    broken = r"Because (\S+==\S+) has invalid metadata"
    if "Failed to parse metadata" in sentence:
        broken = r"`(\S+==\S+)`"
    if found := re.search(broken, sentence):
        return Unreadable(found.group(1))
    for pattern, explanation in _EXPLANATIONS.items():
        if found := re.search(pattern, sentence):
            package = found.group(1)
            nearest = _name_nearest_releases(package) if "{nearest}" in explanation else ""
            return UserError(
                explanation.format(
                    package=package, nearest=nearest, requested=requested, advice=advice
                )
            )
    causes = [line.strip() for line in sentence.splitlines() if line.strip()]
    because = " ".join(causes).partition("cause: ")[2].partition(" hint: ")[0]
    if "No solution found" in sentence:
        words = because.replace("we can conclude that ", "").replace(" cause: ", " ")
        return UserError(f"'{requested}' cannot be installed together: {words}")
    first = next((line for line in causes if line.startswith("error:")), "uv said nothing")
    why = (because or first.removeprefix("error: "))[:300]
    return UserError(f"'{requested}' could not be installed: {why}")


def _name_nearest_releases(pin: str) -> str:
    """Describe the published versions of a package that are nearest to the requested one."""
    requirement = Requirement(pin)
    texts = list_published_versions(requirement.name)
    try:
        versions = sorted(map(Version, texts))
        requested = Version(next(iter(requirement.specifier)).version)
    except InvalidVersion:
        return f"known are {', '.join(texts)}" if texts else "no version is known"
    if not versions:
        return "the package index does not say which versions it has for this Python"
    below = [str(v) for v in versions if v < requested][-3:]
    above = [str(v) for v in versions if v > requested][:3]
    last = [] if str(versions[-1]) in [*below, *above] else [f"last {versions[-1]}"]
    return f"published for this Python and nearest are {', '.join([*below, *above, *last])}"
