"""The glossary explains every word that a verdict can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlregress.model import differences
from rlregress.reporting import summary

GLOSSARY = Path(__file__).parents[3] / "docs" / "glossary.md"
COMPARISONS = "equal, close, diverged"


@pytest.mark.parametrize("word", sorted({*differences.ORDER, *summary.MEANING, COMPARISONS}))
def test_a_verdict_has_one_entry(word):
    """Every verdict of a gate, of an upgrade and of a comparison is explained, once."""
    rows = [row for row in GLOSSARY.read_text().splitlines() if row.startswith(f"| {word} |")]
    assert len(rows) == 1, f"docs/glossary.md explains '{word}' {len(rows)} times"


def test_a_word_has_one_meaning():
    """No word of the glossary is explained twice."""
    rows = [row.split("|")[1].strip() for row in GLOSSARY.read_text().splitlines() if "|" in row]
    words = [word for word in rows if word not in ("word", "---")]
    assert len(words) == len(set(words))
