"""Comments in tests_unit that say which framework does which variant say what is documented."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.catalogue.expectations import Expectation
from rlregress.catalogue.implementation import load_all_expectations

TESTS = Path(__file__).resolve().parents[3] / "tests_unit"
ADAPTERS = {
    frameworks.get_adapter(n).framework.title: frameworks.get_adapter(n)
    for n in ("sb3", "torchrl", "cleanrl", "contrib")
}
# An extension does what the framework does that it stands on: it is named where it is alone.
ALONE = {"SB3-Contrib": ("qrdqn.", "tqc.")}
SCOPES = {"program": "script", "trainer": "trainer"}
# framework, scope, range of versions
MENTION = re.compile(rf"({'|'.join(ADAPTERS)})(?:'s (\w+))?(?: (from |before |)(\d+\.[\d.]*\d))?")


def stated_values(source: str) -> Iterator[tuple[str, str, str]]:
    """Detail, variant and comments of each value that tests state; above it, or in its lines."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {t.start[0]: (t.string, t.line) for t in tokens if t.type == tokenize.COMMENT}
    for test in ast.parse(source).body:
        for call in ast.walk(test):
            if getattr(getattr(call, "func", None), "attr", "") != "assert_documented":
                continue
            (detail,) = re.findall(r"mark\.detail\('([\w.]+)'\)", ast.unparse(test))
            values = [(keyword.arg, keyword, keyword.value) for keyword in call.keywords]
            for _, _, names in values:
                if isinstance(names, ast.Dict):  # **{"no identifier": value}
                    pairs = zip(names.keys, names.values, strict=True)
                    values += [(key.value, key, value) for key, value in pairs]
            for variant, start, value in values:
                first = start.lineno
                while comments.get(first - 1, ("", "no"))[1].lstrip()[:1] == "#":
                    first -= 1
                lines = range(first, value.end_lineno + 1)
                if variant is not None:
                    yield detail, variant, " ".join(comments[n][0] for n in lines if n in comments)


def holds(entries: Iterable[Expectation], scope: str, range_: str, version: str) -> bool:
    """Whether an entry is of the scope and versions that a comment names; if none, of today's."""
    own = [entry for entry in entries if entry.scope == SCOPES.get(scope, entry.scope)]
    if range_ == "before ":
        return any((entry.until or "").startswith(version) for entry in own)
    if version:
        begun = any(entry.since.startswith(version) for entry in own)
        return begun or not range_ and any(entry.includes_version(version) for entry in own)
    return any(entry.until is None for entry in own)


def wrong(source: str) -> list[str]:
    """The comments that say something else than baselines/details."""
    problems = []
    for detail, variant, comment in stated_values(source):
        documented = {title: [] for title in ADAPTERS if detail.startswith(ALONE.get(title, ""))}
        for title in documented:
            entries = load_all_expectations(ADAPTERS[title])
            documented[title] = [e for e in entries if (e.id, e.variant) == (detail, variant)]
        mentions = MENTION.findall(comment.replace("# all", ", ".join(documented), 1))
        named = {title for title, *_ in mentions}
        if named != {title for title, entries in documented.items() if entries} or not all(
            holds(documented[title], *said) for title, *said in mentions
        ):
            places = [entry.where for entries in documented.values() for entry in entries]
            problems.append(f"{detail}, {variant}: '{comment}', but documented is {places}")
    return problems


def test_comments_say_who_does_a_variant():
    """A comment at a value names the frameworks of which it is documented, and the versions."""
    texts = [path.read_text(encoding="utf-8") for path in TESTS.glob("test_*.py")]
    assert len(texts) > 10
    assert [problem for text in texts for problem in wrong(text)] == []


@pytest.mark.parametrize(
    ("right", "other"),
    [
        ("# Stable-Baselines3\n", "# TorchRL\n"),
        ("# Stable-Baselines3\n", "\n"),
        ("CleanRL 0.4.8", "CleanRL"),
        ("CleanRL from 2.0 on", "CleanRL from 1.0 on"),
        ("TorchRL's program", "TorchRL's trainer"),
    ],
)
def test_a_wrong_comment_is_found(right, other):
    """Another framework, none, other versions or another scope than what is documented."""
    source = (TESTS / "test_td3_loop.py").read_text(encoding="utf-8")
    assert wrong(source.replace(right, other, 1))
