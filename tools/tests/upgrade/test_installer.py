"""Words of the installer and for it, declarations of distributions, and known good pins."""

from __future__ import annotations

import importlib.metadata
import sys

import pytest

from rlregress import suite
from rlregress.upgrade.versions import (
    cached_folders,
    distribution_metadata,
    installer,
    known_good_pins,
    requested,
)
from rlregress.upgrade.versions.resolved import resolve_versions
from tools.tests.small_files import write_files

UV_SAYS = [
    ("  cause: Because there is no version of a==9 and you require a==9, we can conclude",
     "there is no a==9; published for this Python and nearest are 1.0, 8.0, 10.0, 11.0, 12.0, "
     "last 20"),
    ("  cause: Because a was not found in the package registry and you require a==9, we can",
     "the package index has no package 'a'"),
    ("  cause: Because a==9 has no wheels with a matching Python ABI tag (e.g., `cp311`) and you "
     "require a==9, we can conclude that your requirements are unsatisfiable.",
     "a==9 has no build for this Python; published"),
    ("error: Failed to download and build `a==9`\n  cause: The build backend returned an error",
     "a==9 is published for this Python as source only, which cannot be built here; published"),
    ("error: No solution found when resolving dependencies\n  cause: Because a==9 depends on c<2 "
     "and you require a==9, we can conclude that you require c<2.\n         And because you "
     "require c==3, we can conclude that your requirements are unsatisfiable.\n\nhint: anything",
     "cannot be installed together: Because a==9 depends on c<2 and you require a==9, you require "
     "c<2. And because you require c==3, your requirements are unsatisfiable."),
    ("error: the disk is full", "could not be installed: the disk is full"),
    ("", "uv said nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), UV_SAYS)
def test_what_the_installer_says_becomes_one_sentence(monkeypatch, text, expected):
    """A complaint of several lines is one sentence, with the versions that there are."""
    published = "print('Available versions: 20, 11.0, 10.0, 8.0, 1.0, 12.0')"
    monkeypatch.setattr(installer, "PIP", (sys.executable, "-c", published))
    sentence = str(installer.build_uv_error(text, "a==9"))
    assert expected in sentence
    assert "\n" not in sentence


def test_without_a_network_the_sentence_says_so(tmp_path, monkeypatch):
    """An index that does not answer is named as that, and nothing half made is left."""
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path / "of" / "mine"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(installer.Unreachable, match="cannot be reached and not all of it is in"):
        resolve_versions(*map(requested.parse_requested_version, ("a==9", "installed")), [], print)
    assert not (tmp_path / "of" / "mine" / "overlays").exists()


def test_the_installer_asks_where_pip_is_configured_to_ask(monkeypatch):
    """Indexes and folders hold for the sides as well; its variables win over its files."""
    configured = (
        "print(\"global.index-url='https://a.example/simple'\")\n"
        "print(\"install.find-links='/x /y'\")\n"
        "print(\":env:.extra-index-url='https://b.example/simple'\")\n"
        "print(\"global.extra-index-url='https://c.example/simple'\")\n"
        "print(\"download.index-url='https://d.example/simple'\")\n"
        "print(\"global.no-index='false'\")\n"
    )
    monkeypatch.setattr(installer, "PIP", (sys.executable, "-c", configured))
    assert installer._translate_pip_configuration_to_uv.__wrapped__() == {
        "UV_DEFAULT_INDEX": "https://a.example/simple",
        "UV_FIND_LINKS": "/x,/y",
        "UV_INDEX": "https://b.example/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


HEADERS = "Name: Some.Package\nVersion: 1.0\n"
BODY = "\nName: another\nRequires-Dist: nothing\n"


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        ("a-1.dist-info", {"METADATA": f"{HEADERS}Requires-Dist: x (>=3.) ; extra == 'y'\n{BODY}"}),
        ("a-1.egg-info", {"PKG-INFO": HEADERS + BODY, "requires.txt": "?? what\n[y]\nx>=3.\n"}),
    ],
)
def test_headers_are_read_and_the_description_is_not(tmp_path, folder, files):
    """Both formats tell name, version and requirements, each extra its own.

    A requirement with a slip of the pen is understood; one that says nothing is left out.
    """
    (tmp_path / folder).mkdir()
    for name, text in files.items():
        (tmp_path / folder / name).write_text(text)
    ((name, distribution),) = distribution_metadata.map_distributions_in_folder(tmp_path).items()
    assert (name, distribution_metadata.get_version(distribution)) == ("some-package", "1.0")
    required = distribution_metadata.list_requirements
    assert [*map(str, required(distribution)), *map(str, required(distribution, "y"))] == ["x>=3"]


def test_the_first_of_a_name_counts_and_what_has_none_is_left_out(tmp_path):
    """Python imports the first on its path."""
    for number, text in enumerate(["", HEADERS, HEADERS]):
        folder = tmp_path / str(number) / f"a-{number}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(text)
    path = [str(tmp_path / str(number)) for number in range(3)]
    named = distribution_metadata.map_distributions_by_name(
        importlib.metadata.distributions(path=path)
    )
    assert list(named) == ["some-package"]
    assert named["some-package"].locate_file("") == tmp_path / "1"


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Read a file with the given lines, which is then the only one."""

    def read_lines(*lines):
        write_files(tmp_path, {"stacks/x.toml": "\n".join(lines) + "\n"})
        monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)
        return known_good_pins.read_stacks()

    return read_lines


GOOD = ("[[stack]]", 'package = "A_b"', 'since = "1.0"', 'until = "2.0"', 'requires = ["x==1"]')


def test_a_stack_holds_from_one_release_up_to_another(read):
    """It adds only missing pins, with its tools: what the user pins wins."""
    # every entry of the data is as it has to be
    assert known_good_pins.read_stacks()
    (stack,) = read(*GOOD)
    versions = ["0.9", "1.0", "1.9.9", "2.0", "2.0rc1", "x"]
    assert [v for v in versions if stack.is_for_release("a-b", v)] == ["1.0", "1.9.9", "2.0rc1"]
    assert not any(stack.is_for_release("other", version) for version in versions)
    read(*GOOD[:4], 'requires = ["x==1", "y<3"]', 'build = ["tool==1"]')
    defaults = known_good_pins.choose_known_good_versions({"a-b": "a-b==1.5", "x": "X==2"})
    assert defaults == ({"y": "y<3"}, ("tool==1",))
    defaults = known_good_pins.choose_known_good_versions({"a-b": "a-b==2.5"})
    assert defaults == ({}, ())
