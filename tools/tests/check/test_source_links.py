"""Which files are linked to the source of their release, and which are not."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import gymnasium
import pytest

from rlregress.check import source_links

FILE = "gymnasium/core.py"
AT_TAG = "https://github.com/Farama-Foundation/Gymnasium/blob/v"


def installed(folder: Path, version: str = "9.1.0", direct: str = "") -> Path:
    """Return a file of a package that an installer has put into a folder."""
    path, metadata = folder / FILE, folder / f"gymnasium-{version}.dist-info"
    for directory in (path.parent, metadata):
        directory.mkdir(parents=True)
    path.write_text("x = 1\n")
    digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()
    (metadata / "METADATA").write_text(f"Name: gymnasium\nVersion: {version}\n")
    (metadata / "RECORD").write_text(f"{FILE},sha256={digest.rstrip('=')},6\n")
    if direct:
        (metadata / "direct_url.json").write_text(direct)
    return path


def test_a_file_of_a_release_is_linked_to_its_tag(tmp_path):
    """An edited file and a copy without metadata are not linked."""
    path = Path(gymnasium.__file__).with_name("core.py")
    assert source_links.find_source_url(path, FILE) == f"{AT_TAG}{gymnasium.__version__}/{FILE}"
    assert source_links.find_source_url(installed(tmp_path), FILE) == f"{AT_TAG}9.1.0/{FILE}"
    path = installed(tmp_path / "edited")
    path.write_text("x = 2\n")
    assert source_links.find_source_url(path, FILE) == ""
    copy = tmp_path / "copy" / FILE
    copy.parent.mkdir(parents=True)
    copy.write_text("x = 1\n")
    assert source_links.find_source_url(copy, FILE) == ""
    assert source_links.find_source_url(None, FILE) == ""


@pytest.mark.parametrize(
    "origin",
    [{"direct": '{"url": "file:///a"}'}, {"version": "9.1.0a1"}, {"version": "9.1.0+cpu"}],
    ids=["of a folder", "before a release", "of a build"],
)
def test_only_plain_releases_are_linked(tmp_path, origin):
    """A direct URL, a pre-release or a local version is not linked."""
    assert source_links.find_source_url(installed(tmp_path, **origin), FILE) == ""
