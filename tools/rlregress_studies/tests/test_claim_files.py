"""Files of claims and of sources: they are read, and bad input is one clear sentence."""

from __future__ import annotations

import pytest

from rlregress import frameworks
from rlregress.catalogue import source_index
from rlregress.errors import UserError
from rlregress_studies.claims import claim_files
from rlregress_studies.claims.claim_files import find_recorded_verdict

CLAIM = {
    "id": "one", "place": "Box 6", "quote": "omit this halving factor",
    "framework": frameworks.list_framework_names()[0], "detail": "sac.critic_loss.scale",
    "says": "none",
    "verdict": "confirmed",
}  # fmt: skip
ITEM = {"id": "box6", "place": "Box 6", "title": "a factor", "details": ["sac.critic_loss.scale"]}
REASON = {"detail": None, "says": None, "verdict": None, "not_checkable": "a result"}


def _toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{k}" = {_toml(v)}' for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(first) for first in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _table(name, keys):
    rows = [f"{key} = {_toml(value)}" for key, value in keys.items() if value is not None]
    return "\n".join([f"[[{name}]]", *rows, ""])


@pytest.fixture
def claims(tmp_path):
    """Return a function that writes a file of claims and loads it."""

    def loaded(*changes):
        text = "\n".join(_table("claim", CLAIM | changed) for changed in changes)
        (tmp_path / "paper.toml").write_text(f'document = "A paper"\n{text}')
        return claim_files.load_claims(tmp_path)

    return loaded


def test_a_claim_keeps_what_is_written(claims):
    """Its verdict holds for all versions or from one on; it says a value or a reason."""
    first, second = claims({}, {"id": "other", "says": ["none", "half"], "note": "n"})
    assert (first.document, first.subject) == ("A paper", "sac.critic_loss.scale")
    assert first.says == ("none",)
    assert (second.says, second.note) == (("none", "half"), "n")
    assert "at line 2" in first.where
    verdicts = {"0.9": "refuted", "0.10.0": "confirmed"}
    always, changed = claims({}, {"id": "other", "verdict": verdicts})
    assert find_recorded_verdict(always, "0.0.1") == "confirmed"
    versions = ("0.8", "0.9", "0.9.9", "0.10.0", "2.0.0b1")
    results = [find_recorded_verdict(changed, version) for version in versions]
    assert results == [None, "refuted", "refuted", "confirmed", "confirmed"]
    (claim,) = claims({"detail": None, "default": "td3.hidden_sizes", "says": [400, 300]})
    assert claim.says == ([400, 300],)
    (claim,) = claims(REASON)
    assert find_recorded_verdict(claim, "1.0") == "not checkable"


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
    ],
)
def test_bad_claims_are_named(claims, changed, sentence):
    """The sentence names file, line, key, the bad value and the expected one."""
    with pytest.raises(UserError) as error:
        claims(changed)
    assert sentence in str(error.value)
    assert "paper.toml, [[claim]] at line 2" in str(error.value)


def test_a_document_without_claims_is_named(tmp_path, claims):
    """A folder without claims, a source without its file, and an id used twice are errors."""
    with pytest.raises(UserError, match="the id 'one' is taken"):
        claims({}, {})
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no claims of a source document; expected TOML"):
        claim_files.load_claims(tmp_path / "empty")
    for folder, names in (("sources", ("one", "other")), ("claims", ("one",))):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f"{name}.toml").write_text('document = "x"\n')
    with pytest.raises(UserError, match="claims has no other.toml; expected one for each"):
        claim_files.load_claims(tmp_path / "claims")


@pytest.fixture
def items(tmp_path):
    """Return a function that writes a file of items and loads it."""

    def loaded(*changes):
        text = "\n".join(_table("item", ITEM | changed) for changed in changes)
        (tmp_path / "paper.toml").write_text(f'document = "A paper"\n{text}')
        return source_index.load_source_index(tmp_path)

    return loaded


def test_an_item_names_what_asks_it(items):
    """An item names details, or the reason why none checks it; with neither it is an error."""
    first, second = items({}, {"id": "x", "details": None, "not_code": "a result"})
    assert (first.details, first.not_code) == (("sac.critic_loss.scale",), "")
    assert (second.details, second.not_code) == ((), "a result")
    with pytest.raises(UserError, match="nothing checks 'box6'"):
        items({"details": None})
