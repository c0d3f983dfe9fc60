"""An error of the installer becomes one sentence, and it uses the configuration of pip."""

from __future__ import annotations

import sys

import pytest

from rlregress.upgrade.versions import cached_folders, distribution_metadata, installer, requested
from rlregress.upgrade.versions.resolved import resolve_versions

UV_SAYS = {
    "no version": (
        "  cause: Because there is no version of a==9 and you require a==9, we can conclude",
        "there is no a==9; published for this Python and nearest are 1.0, 8.0, 10.0, 11.0, 12.0, "
        "last 20",
    ),
    "no package": (
        "  cause: Because a was not found in the package registry and you require a==9, we can",
        "the package index has no package 'a'",
    ),
    "no build": (
        "  cause: Because a==9 has no wheels with a matching Python ABI tag (e.g., `cp311`) and "
        "you require a==9, we can conclude that your requirements are unsatisfiable.",
        "a==9 has no build for this Python; published",
    ),
    "no wheel": (
        "error: Failed to download and build `a==9`\n  cause: The build backend returned an error",
        "a==9 is published for this Python as source only, which cannot be built here; published",
    ),
    "conflict": (
        "error: No solution found when resolving dependencies\n  cause: Because a==9 depends on "
        "c<2 and you require a==9, we can conclude that you require c<2.\n"
        "         And because you require c==3, we can conclude that your requirements are "
        "unsatisfiable.\n\nhint: anything",
        "cannot be installed together: Because a==9 depends on c<2 and you require a==9, you "
        "require c<2. And because you require c==3, your requirements are unsatisfiable.",
    ),
    "anything": ("error: the disk is full", "could not be installed: the disk is full"),
    "nothing": ("", "uv said nothing"),
}


@pytest.mark.parametrize("case", UV_SAYS)
def test_what_the_installer_says_becomes_one_sentence(tmp_path, monkeypatch, case):
    """A complaint of several lines is one sentence, with the versions that there are."""
    script = tmp_path / "pip.py"
    script.write_text("print('Available versions: 20, 11.0, 10.0, 8.0, 1.0, 12.0')")
    monkeypatch.setattr(installer, "PIP", (sys.executable, str(script)))
    text, expected = UV_SAYS[case]
    sentence = str(installer.describe_uv_failure(text, "a==9"))
    assert expected in sentence
    assert "\n" not in sentence


def test_without_a_network_the_sentence_says_so(tmp_path, monkeypatch):
    """An index that does not answer is named as that, and nothing half made is left."""
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(installer.Unreachable, match="cannot be reached and not all of it is in"):
        resolve_versions(
            requested.parse_requested_version("a==9"),
            requested.parse_requested_version("installed"),
            [],
            print,
        )
    assert not (tmp_path / "overlays").exists()


def test_the_installer_asks_where_pip_is_configured_to_ask(tmp_path, monkeypatch):
    """Indexes and folders hold for the sides as well; its variables win over its files."""
    script = tmp_path / "pip.py"
    script.write_text(
        "print(\"global.index-url='https://a.example/simple'\")\n"
        "print(\"install.find-links='/x /y'\")\n"
        "print(\":env:.extra-index-url='https://b.example/simple'\")\n"
        "print(\"global.extra-index-url='https://c.example/simple'\")\n"
        "print(\"download.index-url='https://d.example/simple'\")\n"
        "print(\"global.no-index='false'\")\n"
        "print(\"global.timeout='9'\")\n"
    )
    monkeypatch.setattr(installer, "PIP", (sys.executable, str(script)))
    assert installer._read_pip_configuration.__wrapped__() == {
        "UV_DEFAULT_INDEX": "https://a.example/simple",
        "UV_FIND_LINKS": "/x,/y",
        "UV_INDEX": "https://b.example/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_misspelt_requirements_are_read():
    """A requirement with a slip of the pen is understood; one that says nothing is left out."""
    assert str(distribution_metadata.parse_requirement("opencv-python>=3.")) == "opencv-python>=3"
    assert str(distribution_metadata.parse_requirement("x (>=3.) ; extra == 'all'")).startswith(
        "x>=3;"
    )
    assert distribution_metadata.parse_requirement("?? what") is None
