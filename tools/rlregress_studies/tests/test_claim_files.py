"""Files of claims and of sources: what is read, and one clear sentence for bad input."""

from __future__ import annotations

import pytest

from rlregress import frameworks, suite
from rlregress.details import source_index
from rlregress.errors import UserError
from rlregress_studies.claims import claim_files
from rlregress_studies.claims.claim_files import recorded

CLAIM = {
    "id": "one", "place": "Box 6", "quote": "omit this halving factor",
    "framework": frameworks.names()[0], "detail": "sac.critic_loss.scale", "says": "none",
    "verdict": "confirmed",
}  # fmt: skip
ITEM = {"id": "box6", "place": "Box 6", "title": "a factor", "details": ["sac.critic_loss.scale"]}
REASON = {"detail": None, "says": None, "verdict": None, "not_checkable": "a result"}


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{k}" = {_toml(v)}' for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(first) for first in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _table(name: str, keys: dict) -> str:
    rows = [f"{key} = {_toml(value)}" for key, value in keys.items() if value is not None]
    return "\n".join([f"[[{name}]]", *rows, ""])


@pytest.fixture
def claims(tmp_path):
    """Writes a file of claims and loads it."""

    def loaded(*changes: dict):
        text = "\n".join(_table("claim", CLAIM | changed) for changed in changes)
        (tmp_path / "paper.toml").write_text(f'document = "A paper"\n{text}')
        return claim_files.load(tmp_path)

    return loaded


def test_a_claim_keeps_what_is_written(claims) -> None:
    """One variant or a list of them; the document is that of the file."""
    first, second = claims({}, {"id": "other", "says": ["none", "half"], "note": "n"})
    assert (first.document, first.subject) == ("A paper", "sac.critic_loss.scale")
    assert first.says == ("none",)
    assert (second.says, second.note) == (("none", "half"), "n")
    assert "at line 2" in first.where


def test_a_verdict_holds_for_all_versions_or_from_one_on(claims) -> None:
    """In a table each verdict holds from its version on; before the first nothing is recorded."""
    verdicts = {"0.9": "refuted", "0.10.0": "confirmed"}
    always, changed = claims({}, {"id": "other", "verdict": verdicts})
    assert recorded(always, "0.0.1") == "confirmed"
    versions = ("0.8", "0.9", "0.9.9", "0.10.0", "2.0.0b1")
    results = [recorded(changed, version) for version in versions]
    assert results == [None, "refuted", "refuted", "confirmed", "confirmed"]


def test_a_default_says_a_value_of_any_type(claims) -> None:
    """A default is compared as a value, so that a list is one value."""
    (claim,) = claims({"detail": None, "default": "td3.hidden_sizes", "says": [400, 300]})
    assert claim.says == ([400, 300],)


def test_a_claim_that_cannot_be_checked_gives_the_reason(claims) -> None:
    """Its verdict is that it cannot be checked, at every version."""
    (claim,) = claims(REASON)
    assert recorded(claim, "1.0") == "not checkable"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"quote": "word " * 31}, "expected at most 30 words"),
        ({"detail": None}, "found none of detail, default, not_checkable"),
        ({"default": "ppo.epochs"}, "found detail and default"),
        ({"says": None}, "key 'says' is missing"),
        ({"says": "third"}, "has no variant 'third'; known: batch_sum"),
        ({"verdict": None}, "key 'verdict' is missing"),
        ({"verdict": {"new": "refuted"}}, "key 'verdict' has the key 'new', expected a version"),
        ({"framework": "some"}, "key 'framework' is 'some', expected one of"),
        (REASON | {"says": "none"}, "says and verdict need a detail or a default"),
        (REASON | {"verdict": "refuted"}, "says and verdict need a detail or a default"),
    ],
)
def test_bad_claims_are_named(claims, changed, sentence) -> None:
    """One sentence: file, line, key, what was found and what was expected."""
    with pytest.raises(UserError) as error:
        claims(changed)
    assert sentence in str(error.value)
    assert "paper.toml, [[claim]] at line 2" in str(error.value)


def test_an_id_is_given_once(claims) -> None:
    """Two claims of one id are an error."""
    with pytest.raises(UserError, match="the id 'one' is taken"):
        claims({}, {})


def test_a_document_without_claims_is_named(tmp_path) -> None:
    """Each index of a document has its file of claims; one that vanished is missed."""
    for folder, names in (("sources", ("one", "other")), ("claims", ("one",))):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f"{name}.toml").write_text('document = "x"\n')
    with pytest.raises(UserError, match="claims has no other.toml; expected one for each"):
        claim_files.load(tmp_path / "claims")


def test_an_empty_folder_is_named(tmp_path) -> None:
    """No file at all is an error, not an empty list."""
    text = "holds no claims of a source document; expected TOML files"
    with pytest.raises(UserError, match=text):
        claim_files.load(tmp_path)


@pytest.fixture
def items(tmp_path):
    """Writes a file of items and loads it."""

    def loaded(*changes: dict):
        text = "\n".join(_table("item", ITEM | changed) for changed in changes)
        (tmp_path / "paper.toml").write_text(f'document = "A paper"\n{text}')
        return source_index.load_index(tmp_path)

    return loaded


def test_an_item_names_what_asks_it(items) -> None:
    """Details, defaults, or the reason why nothing does."""
    first, second = items({}, {"id": "x", "details": None, "not_code": "a result"})
    assert (first.details, first.not_code) == (("sac.critic_loss.scale",), "")
    assert (second.details, second.not_code) == ((), "a result")


def test_an_item_that_nothing_asks_is_named(items) -> None:
    """Without details and without a reason it would be left out unnoticed."""
    with pytest.raises(UserError, match="nothing checks 'box6'"):
        items({"details": None})


def test_details_without_an_answer_are_listed(items) -> None:
    """Of the items whose id begins so, and of no other."""
    results = items({}, {"id": "other6"})
    assert source_index.list_unanswered(results, [], ("box",)) == ["box6: sac.critic_loss.scale"]
    assert source_index.list_unanswered(results, ["sac.critic_loss.scale"], ("",)) == []


def test_the_files_of_the_project_are_read() -> None:
    """Each source document has a file of claims and an index."""
    claims = claim_files.load(suite.baselines() / "claims")
    results = source_index.load_index(suite.baselines() / "sources")
    assert len({claim.document for claim in claims}) == 5
    indices = {path.name for path in (suite.baselines() / "sources").glob("*.toml")}
    assert {path.name for path in (suite.baselines() / "claims").glob("*.toml")} == indices
    places = [{row.place.split(",")[0] for row in rows} for rows in (claims, results)]
    assert places[0] == places[1]
