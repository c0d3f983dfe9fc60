"""The page of claims: counts, quotes, answers."""

from __future__ import annotations

import re

from rlregress.catalogue import registry
from rlregress.model.detail_answers import Item
from rlregress_studies.claims.claim_files import Claim, Framework
from rlregress_studies.claims.claims_text import (
    claims_markdown,
    count_verdicts,
    describe_differing,
    index_rows,
)
from rlregress_studies.claims.settle import answer_items, build_settled
from tools.tests.small_adapters import SmallAdapter


def _make_adapter(path):
    """Return the adapter of a framework of one version."""
    detail = registry.get_detail("sac.critic_loss.scale")
    probes = {(detail.id, "library"): lambda inputs: detail.compute_expected_vectors()["half"]}
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
    return build_settled(Claim(**(keys | changed)), version, verdict, answers, "of library")


FRAMEWORK = Framework(name="some", title="Some", version="2.0")
SETTLED = [
    _settled("a"),
    _settled("b", "refuted", version="1.0", note="Read so."),
    _settled("c", quote="another", place="Box 7", said_of="the algorithm"),
    _settled("d", document="A blog"),
]


def test_claims_are_counted_by_source_version_and_subject():
    """Two versions of a framework are counted apart, and so are claims about something else."""
    assert [
        (count.framework, count.said_of, count.verdicts) for count in count_verdicts(SETTLED)
    ] == [
        ("some 1.0", "it", {"refuted": 1}),
        ("some 2.0", "it", {"confirmed": 1}),
        ("some 2.0", "something else", {"confirmed": 1}),
        ("some 2.0", "it", {"confirmed": 1}),
    ]


def test_a_verdict_that_is_not_the_recorded_one_differs():
    """Only claims with another verdict than the recorded one get a failure text."""
    assert [text.split(":")[0] for text in describe_differing(SETTLED)] == ["b"]


def test_the_document_groups_the_answers_by_quote(snapshot):
    """Places and quotes come once, in the order of the files, with the answers below them."""
    snapshot("claims.md", claims_markdown(SETTLED, [FRAMEWORK]))


def test_the_index_has_a_row_for_every_item(tmp_path, snapshot):
    """The row has its checks with their results, or the reason why there is none."""
    (tmp_path / "empty.toml").touch()
    items = [
        Item(id="a", place="Box 6", title="a factor", details=("sac.critic_loss.scale",),
             not_code="the rest"),
        Item(id="b", place="heading 2", title="rewards", not_code="about a task"),
        Item(id="c", place="Table 6", title="settings", defaults=("ppo.epochs", "ppo.other")),
    ]  # fmt: skip
    answered = answer_items(items, [_make_adapter(tmp_path)])
    snapshot("index.md", "\n".join([*index_rows(items, answered, [FRAMEWORK]), ""]))


def test_the_totals_of_the_document_are_the_sums_of_its_rows():
    """The last row of the table of verdicts counts what stands above it."""
    text = claims_markdown(SETTLED, [FRAMEWORK])
    table = re.findall(
        r"(?m)^\| (.+?) \| .*?\| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", text
    )
    *rows, total = [[int(number) for number in numbers] for _, *numbers in table]
    assert table[-1][0] == "**all**"
    assert [sum(column) for column in zip(*rows, strict=True)] == total
