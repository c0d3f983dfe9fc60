"""``docs/claims.md``: counts, quotes, answers."""

from __future__ import annotations

from rlregress.claims.settle import Settled
from rlregress.claims.statements import Claim
from rlregress.frameworks.base import Adapter
from rlregress.reporting.claims import claims_markdown, counts, differing


class Some(Adapter):
    """A framework of one version."""

    name = "some"
    title = "Some"
    packages = ("some",)

    def versions(self):
        return {"some": "2.0"}


def _settled(id: str, verdict: str = "confirmed", version: str = "2.0", **changed) -> Settled:
    keys = {
        "document": "A paper",
        "id": id,
        "place": "Box 6",
        "quote": "a factor |B|",
        "framework": "some",
        "detail": "sac.critic_loss.scale",
        "says": ("half",),
        "verdicts": {"": "confirmed"},
    }
    found = {"library": "half", "script": "none"}
    return Settled(Claim(**(keys | changed)), version, verdict, found, "of library")


FOUND = [
    _settled("a"),
    _settled("b", "refuted", version="1.0", note="Read so."),
    _settled("c", quote="another", place="Box 7", said_of="the algorithm"),
    _settled("d", document="A blog"),
]


def test_claims_are_counted_by_source_and_version() -> None:
    """Two versions of a framework are counted apart."""
    counted = counts(FOUND)
    assert counted["A paper", "some 2.0"] == {"confirmed": 2}
    assert counted["A paper", "some 1.0"] == {"refuted": 1}


def test_a_verdict_that_is_not_the_recorded_one_differs() -> None:
    """Each with the text of the failure."""
    assert [text.split(":")[0] for text in differing(FOUND)] == ["b"]


def test_the_document_groups_the_answers_by_quote() -> None:
    """Places and quotes come once, in the order of the files, with the answers below them."""
    text = claims_markdown(FOUND, [Some()])
    assert text.count("### Box 6") == 2  # one for each document
    assert text.count("`` a factor |B| ``") == 2
    assert text.index("## A paper") < text.index("### Box 7") < text.index("## A blog")
    assert "| some 2.0 | `sac.critic_loss.scale` | half | half (library); none (script) |" in text
    assert "**refuted** (of library)" in text
    assert "Read so." in text
    assert "Said of the algorithm." in text
    assert "probes of\nSome 2.0." in text
    assert "| **all** | | 3 | 1 | 0 | 0 | 0 |" in text


def test_the_document_is_the_same_twice() -> None:
    """No date, no order that depends on chance."""
    assert claims_markdown(FOUND, [Some()]) == claims_markdown(list(FOUND), [Some()])
