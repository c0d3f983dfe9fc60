"""Install rows of ``name==version``, those whose metadata the installer refuses included.

An example is gym 0.21.0, with a misspelt requirement of an extra. An older pip that accepts it
builds the wheel, and its copy in the cache is corrected.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.utils import parse_wheel_filename

from rlregress.errors import UserError
from rlregress.upgrade.versions import (
    cached_folders,
    distribution_metadata,
    installer,
    interpreters,
)

#: the last pip that builds packages with invalid metadata.
_PIP = "pip==24.0"


def install_exact_pins(
    options: Sequence[str],
    pins: Sequence[str],
    build: Sequence[str],
    log: cached_folders.Log,
    python: str = "",
) -> None:
    """Install packages at exact versions, without the packages that these require.

    Args:
        options: options of the installer that name the place.
        build: versions of the tools that build a package which is published as source only.
        python: the interpreter to install for; empty: the one that runs this.

    Raises:
        UserError: in one sentence, why it could not be done.
    """
    built = {row: [*locate_folder_of_pin("wheels", row, python).glob("*.whl")] for row in pins}
    wheel_paths = {row: str(wheels[0]) for row, wheels in built.items() if wheels}
    with TemporaryDirectory(prefix="rlregress-install-") as folder:
        tools = write_requirements(Path(folder) / "build.txt", build)
        while True:
            rows_path = write_requirements(
                Path(folder) / "rows.txt", [wheel_paths.get(row, row) for row in pins]
            )
            requested = ["pip", "install", *options, "--no-deps", "-b", tools, "-r", rows_path]
            try:
                installer.run_uv(requested, " ".join(pins))
                return
            except installer.Unreadable as error:
                if error.row in wheel_paths:
                    raise
                wheel_paths[error.row] = str(_build_mended_wheel(error.row, tools, log, python))


def write_requirements(path: Path, requirements: Sequence[str]) -> str:
    """Write a file of requirements, and return its path."""
    path.write_text("".join(f"{row}\n" for row in requirements), encoding="utf-8")
    return str(path)


def unpack_package(
    pin: str, build: Sequence[str], log: cached_folders.Log, python: str = ""
) -> Path:
    """Return a folder that holds one package alone.

    Raises:
        UserError: in one sentence, why there is none.
    """
    folder = locate_folder_of_pin("packages", pin, python)

    def install_pinned_package(target: Path) -> None:
        into = ["--python", python or sys.executable, "--target", str(target)]
        install_exact_pins(into, [pin], build, log, python)

    cached_folders.reuse_or_make_folder(folder, install_pinned_package, log)
    return folder


def _build_mended_wheel(pin: str, tools: str, log: cached_folders.Log, python: str) -> Path:
    """Return a wheel of a package whose metadata is mended."""
    folder = locate_folder_of_pin("wheels", pin, python)

    def build_wheel(target: Path) -> None:
        log(f"building {pin}")
        uses = ["--python", python or sys.executable, "--with", _PIP]
        command = ["run", "--no-project", "--isolated", *uses]
        pip = ["python", "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(target), pin]
        # a variable, as pip passes no option on to the environment in which it builds
        installer.run_uv([*command, "--", *pip], pin, {"PIP_CONSTRAINT": tools})
        (wheel,) = target.glob("*.whl")
        _rewrite_unreadable_requirements(wheel)

    cached_folders.reuse_or_make_folder(folder, build_wheel, log)
    return next(folder.glob("*.whl"))


def locate_folder_of_pin(kind: str, pin: str, python: str) -> Path:
    """Return the folder for one package, which need not exist.

    Args:
        kind: "packages", unpacked, or "wheels", whose metadata had to be mended.
    """
    name = f"{interpreters.make_installation_tag(python)}-{pin.replace('==', '-')}"
    return cached_folders.locate_cache() / kind / name


def _rewrite_unreadable_requirements(wheel: Path) -> None:
    """Rewrite the requirements of a wheel in a readable form."""
    name, version, _, _ = parse_wheel_filename(wheel.name)
    with zipfile.ZipFile(wheel) as old:
        content = {info: old.read(info) for info in old.infolist()}
    texts = {info.filename.rpartition(".dist-info/")[2]: info for info in content}
    if "METADATA" not in texts or "RECORD" not in texts:
        text = f"{wheel.name}, built from {name} {version}, has no METADATA or no RECORD"
        raise UserError(f"{text}, expected both; name another version")
    rows = [
        _mend_or_drop_metadata_line(x) for x in content[texts["METADATA"]].decode().splitlines()
    ]
    new = "\n".join(row for row in rows if row is not None).encode() + b"\n"
    path = texts["METADATA"].filename
    digest = base64.urlsafe_b64encode(hashlib.sha256(new).digest()).rstrip(b"=").decode()
    recorded = content[texts["RECORD"]].decode().splitlines()
    records = [f"{path},sha256={digest},{len(new)}" if path in r else r for r in recorded]
    content[texts["METADATA"]] = new
    content[texts["RECORD"]] = "\n".join([*records, ""]).encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as mended:
        for info, data in content.items():
            mended.writestr(info, data)


def _mend_or_drop_metadata_line(line: str) -> str | None:
    """Return a line of metadata in valid syntax; None: it cannot be corrected."""
    key, _, row = line.partition(": ")
    if key != "Requires-Dist":
        return line
    requirement = distribution_metadata.parse_requirement(row)
    return None if requirement is None else f"{key}: {requirement}"
