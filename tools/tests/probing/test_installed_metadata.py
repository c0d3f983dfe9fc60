"""Metadata of packages is read once, and again after an installation or a removal."""

from __future__ import annotations

import itertools
import os
import shutil

import pytest

from rlregress.errors import UserError
from rlregress.frameworks.base import Framework
from rlregress.frameworks.framework_code import Code
from rlregress.probing import installed_metadata

GROUP = "rlregress.nothing"
TICKS = itertools.count(1)


PACKAGES = ("some-package-of-nobody", "other-package-of-nobody")


def _install(folder, name, version):
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {version}\n")
    # the clock of a file system may be coarser than this test is fast
    os.utime(folder, ns=(0, next(TICKS)))
    return info


def test_a_package_is_found_as_soon_as_it_is_installed(tmp_path, monkeypatch):
    """The first that is missing is named; then both versions are there."""
    code = Code(Framework("Some", PACKAGES), "")
    monkeypatch.syspath_prepend(tmp_path)
    _install(tmp_path, "some-package-of-nobody", "1.0")
    with pytest.raises(UserError, match="Some cannot .* 'other-package-of-nobody' is not inst"):
        code.map_package_versions()
    _install(tmp_path, "other-package-of-nobody", "2.0")
    assert list(code.map_package_versions().values()) == ["1.0", "2.0"]
    assert code.version() == "1.0"


def test_another_version_takes_the_place_of_the_one_before(tmp_path, monkeypatch):
    """Installed in the same folder, or in one that stands before it on the path."""
    name = PACKAGES[0]
    monkeypatch.syspath_prepend(tmp_path / "first")
    info = _install(tmp_path / "first", name, "1.0")
    assert installed_metadata.map_installed_versions((name,)) == {name: "1.0"}
    shutil.rmtree(info)
    _install(tmp_path / "first", name, "1.1")
    assert installed_metadata.map_installed_versions((name,)) == {name: "1.1"}
    with monkeypatch.context() as before:
        _install(tmp_path / "second", name, "2.0")
        before.syspath_prepend(tmp_path / "second")
        assert installed_metadata.map_installed_versions((name,)) == {name: "2.0"}
        assert installed_metadata.map_entry_points(GROUP)[name].value == "2.0"
    assert installed_metadata.map_installed_versions((name,)) == {name: "1.1"}
