"""A framework's name stands in its adapter and nowhere else in the library."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlregress import frameworks

LIBRARY = Path(__file__).resolve().parents[3] / "tools" / "rlregress"

# Part of the platform that every framework stands on, so not the name of one.
PLATFORM = {"torch", "numpy", "gymnasium", "mujoco"}


# Scripts that import another framework themselves: what they import has to be named to be replaced.
# An extension of a framework is probed with what its adapter has, and both save files of one kind.
# Environments of RSL-RL hand out observations in a class of another framework's package.
BESIDE = {
    "cleanrl": {"stable_baselines3"},
    "contrib": {"sb3", "stable_baselines3"},
    "rsl_rl": {"tensordict"},
    "sb3": {"contrib", "sb3_contrib"},
}


def words() -> dict[str, set[str]]:
    """Adapter of this repository -> what gives it away: its own name and those of its packages."""
    found = {}
    for name in filter(
        lambda name: (LIBRARY / "frameworks" / name).is_dir(), frameworks.list_framework_names()
    ):
        packages = set(frameworks.get_adapter(name).framework.packages) - PLATFORM
        found[name] = {word.replace("-", "_").lower() for word in {name, *packages}}
    return found


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of every token but comments, docstrings and bytes."""
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.NL):
            continue
        is_docstring = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        is_bytes = "b" in token.string.partition('"')[0]
        if token.type != tokenize.STRING or not (is_docstring or is_bytes):
            yield token.start[0], token.string
        before = token.type


def names_out_of_place(library: Path, given_away_by: dict[str, set[str]]) -> list[str]:
    """Every mention of a framework outside of its own folder."""
    found = []
    for path in sorted(library.rglob("*.py")):
        parts = path.relative_to(library).parts
        if parts[0] == "tests":
            continue
        home = parts[1] if parts[0] == "frameworks" and len(parts) > 2 else None
        foreign = set().union(*(given_away_by[name] for name in given_away_by if name != home))
        foreign -= given_away_by.get(home or "", set()) | BESIDE.get(home or "", set())
        pattern = re.compile(rf"(?<![a-z0-9])({'|'.join(sorted(foreign))})(?![a-z0-9])")
        content = path.read_text()
        if not pattern.search(content.replace("-", "_").lower()):
            continue  # most files: nothing in them is worth a closer look
        for line, text in texts(content):
            if match := pattern.search(text.replace("-", "_").lower()):
                found.append(f"{path.relative_to(library)}:{line} says {match[1]}")
    return found


def test_no_framework_is_named_outside_of_its_adapter():
    """No identifier and no string literal of the library names a framework, its adapter apart."""
    packages = (LIBRARY, *(LIBRARY.parent / f"rlregress_{name}" for name in ("studies", "power")))
    assert [row for package in packages for row in names_out_of_place(package, words())] == []


@pytest.mark.parametrize(
    "line",
    [
        "from other.sac import SAC",
        "one_seeds = 3",
        "x.other",
        "class Other: pass",
        "print(f'pip install o-ne {1}')",
    ],
)
def test_a_name_out_of_place_is_found(tmp_path, line):
    """A name is found as identifier, as keyword, in an import and in a literal, in any spelling."""
    given_away_by = {"one": {"one", "o_ne", "other"}, "two": {"two"}}
    clean = '"""Like one or other."""\nanother = done = bone = "someone"\n'
    for name, text in (("frameworks/one/probes.py", "import other\n"), ("cli.py", clean)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert names_out_of_place(tmp_path, given_away_by) == []
    (tmp_path / "cli.py").write_text(clean + line + "\n")
    assert [row.split(" says ")[0] for row in names_out_of_place(tmp_path, given_away_by)] == [
        "cli.py:3"
    ]
    (tmp_path / "cli.py").write_text(clean)
    (tmp_path / "frameworks/one/probes.py").write_text("import two\n")
    assert names_out_of_place(tmp_path, given_away_by) == ["frameworks/one/probes.py:1 says two"]
