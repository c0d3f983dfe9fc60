"""Declarations of distributions are read from their headers alone."""

from __future__ import annotations

import importlib.metadata

import pytest

from rlregress.upgrade.versions import distribution_metadata

HEADERS = "Name: Some.Package\nVersion: 1.0\n"
BODY = "\nName: another\nRequires-Dist: nothing\n"


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        ("a-1.dist-info", {"METADATA": f"{HEADERS}Requires-Dist: x>=3.; extra == 'y'\n{BODY}"}),
        ("a-1.egg-info", {"PKG-INFO": HEADERS + BODY, "requires.txt": "[y]\nx>=3.\n"}),
    ],
)
def test_headers_are_read_and_the_description_is_not(tmp_path, folder, files):
    """Both formats tell name, version and requirements, each extra its own."""
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
