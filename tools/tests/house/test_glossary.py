"""Each word has one meaning: those of verdicts on the page of evidence, others in the glossary."""

from __future__ import annotations

import re

from rlregress import suite
from rlregress.model import differences
from rlregress.report import check_report

DOCS = suite.find_suite_root() / "docs"
#: word and exit code of a verdict, in the table of all verdicts
_VERDICT = re.compile(r"(?m)^\| `([\w ]+)` \| (?:both|upgrade|check) \| ([0-3](?: or 2)?) \|")


def test_a_verdict_has_one_entry():
    """Every verdict is explained once, those of an upgrade from the worst to the best."""
    words = [word for word, _ in _VERDICT.findall((DOCS / "evidence.md").read_text("utf-8"))]
    assert sorted(words) == sorted({*differences.ORDER, *check_report.MEANING})
    assert [word for word in words if word in differences.ORDER] == list(differences.ORDER)


def test_a_verdict_has_its_exit_code():
    """The table gives the exit code that an upgrade with this verdict has by default."""
    codes = dict(_VERDICT.findall((DOCS / "evidence.md").read_text("utf-8")))
    fails = differences.ORDER[: differences.ORDER.index(differences.FAIL_ON) + 1]
    assert {word: int(codes[word][0]) for word in differences.ORDER} == {
        word: differences._CODES.get(word, 3) if word in fails else 0 for word in differences.ORDER
    }


def test_a_state_has_one_entry():
    """Every state of an entry is explained once, in the order of the reports."""
    table = (DOCS / "evidence.md").read_text("utf-8").partition("\n## States\n")[2]
    rows = table.partition("\n## ")[0].splitlines()
    states = [row.split("|")[1].strip() for row in rows if row.startswith("| ")]
    assert states == ["state", *differences.STATES]


def test_a_word_has_one_meaning():
    """No word of the glossary is explained twice."""
    rows = (DOCS / "glossary.md").read_text("utf-8").splitlines()
    words = [row.split("|")[1].strip() for row in rows if row.startswith("| ")]
    words = [word for word in words if word != "word"]
    assert len(words) == len(set(words)) > 40
