"""The page of claims: counts, quotes, answers."""

from __future__ import annotations

from rlregress.model.detail_answers import Item
from rlregress_studies.claims.claim_files import Claim, Framework
from rlregress_studies.claims.claims_text import (
    describe_claims_not_as_recorded,
    format_claims,
    format_index_rows,
)
from rlregress_studies.claims.settle import build_settled_claim, probe_subjects_of_items
from tools.tests.small_adapters import SmallAdapter, make_probe_of_variant


def _make_adapter(path):
    """Return the adapter of a framework of one version."""
    id = "sac.critic_loss.scale"
    probes = {(id, "library"): make_probe_of_variant(id, "half")}
    defaults = {("ppo", "library"): {"epochs": 10}}
    functions = {"list_probes": lambda: probes, "read_defaults": lambda: defaults}
    return SmallAdapter(functions, version="2.0", expectations=path)


def _settled(id, verdict="confirmed", version="2.0", **changed):
    keys = {
        "document": "A paper", "id": id, "place": "Box 6", "quote": "a factor |B|",
        "framework": "some", "detail": "sac.critic_loss.scale", "says": ("half",),
        "verdicts": {"": "confirmed"},
    }  # fmt: skip
    answers = {"library": "half", "script": "none"}
    return build_settled_claim(Claim(**(keys | changed)), version, verdict, answers, "of library")


FRAMEWORK = Framework(name="some", title="Some", version="2.0")
SETTLED = [
    _settled("a"),
    _settled("b", "refuted", version="1.0", note="Read so."),
    _settled("c", quote="another", place="Box 7", said_of="the algorithm"),
    _settled("d", document="A blog"),
]


def test_a_verdict_that_is_not_the_recorded_one_differs():
    """Only claims with another verdict than the recorded one get a failure text."""
    assert [text.split(":")[0] for text in describe_claims_not_as_recorded(SETTLED)] == ["b"]


def test_the_document_groups_the_answers_by_quote():
    """Verdicts are counted by source, version and subject; each quote has the answers below it."""
    page = format_claims(SETTLED, [FRAMEWORK])
    assert "| A paper | some 1.0 | it | 0 | 1 | 0 | 0 | 0 |" in page
    assert "| A paper | some 2.0 | something else | 1 | 0 | 0 | 0 | 0 |" in page
    assert "| **all** |  |  | 3 | 1 | 0 | 0 | 0 |" in page
    assert page.count("### Box 6\n\n`` a factor |B| ``\n") == 2
    assert "| **refuted** (of library) |\n\nRead so.\n\n### Box 7" in page


def test_the_index_has_a_row_for_every_item(tmp_path):
    """The row has its checks with their results, or the reason why there is none."""
    (tmp_path / "empty.toml").touch()
    items = [
        Item(id="a", place="Box 6", title="a factor", details=("sac.critic_loss.scale",),
             not_code="the rest"),
        Item(id="b", place="heading 2", title="rewards", not_code="about a task"),
        Item(id="c", place="Table 6", title="settings", defaults=("ppo.epochs", "ppo.other")),
    ]  # fmt: skip
    answered = probe_subjects_of_items(items, [_make_adapter(tmp_path)])
    assert list(format_index_rows(items, answered, [FRAMEWORK]))[-5:] == [
        "| Box 6 | a factor | `sac.critic_loss.scale` | half (library) |",
        "|  |  | *no code*: the rest |  |",
        "| heading 2 | rewards | *no code*: about a task |  |",
        "| Table 6 | settings | default `ppo.epochs` | 10 (library) |",
        "|  |  | default `ppo.other` | absent (library) |",
    ]
