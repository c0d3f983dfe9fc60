"""Entries that somebody has reviewed: keyed by content, silent, and listed."""

from __future__ import annotations

import pytest

from rlregress.errors import UserError
from rlregress.model import differences as model
from rlregress.model.differences import Entry
from rlregress.upgrade.verdict import accepted

from . import test_result as upgrades

GONE = Entry(kind=model.PUBLIC, name="p.logger.read_csv", state=model.DIFFERS, content="gone")


def reviewed(tmp_path, key, note="we never read these files"):
    """A file with one accepted entry."""
    path = tmp_path / "accepted.toml"
    path.write_text(f'[[accepted]]\nkey = "{key}"\nname = "read_csv"\nnote = "{note}"\n')
    return accepted.load_accepted_entries(path)


def test_an_accepted_entry_no_longer_decides_and_stays_listed(tmp_path):
    """Its note stands beside it; every other entry counts as before."""
    result = upgrades.upgrade(upgrades.of(upgrades.traced()), other_packages=[GONE])
    assert (result.verdict, result.exit_code) == (model.CHANGED, 3)
    after = accepted.mark_accepted_and_stale(result, reviewed(tmp_path, GONE.key))
    assert (after.verdict, after.exit_code) == (model.AS_DOCUMENTED, 0)
    assert [e.accepted for e in after.entries if e.kind == model.PUBLIC] == [
        "we never read these files"
    ]
    assert len(after.entries) == len(result.entries)


def test_what_has_changed_again_is_not_accepted(tmp_path):
    """Another content has another key: the old line matches nothing, and is named."""
    moved_again = Entry(kind=model.PUBLIC, name=GONE.name, state=model.DIFFERS, content="moved")
    result = upgrades.upgrade(upgrades.of(upgrades.traced()), other_packages=[moved_again])
    after = accepted.mark_accepted_and_stale(result, reviewed(tmp_path, GONE.key))
    assert after.verdict == model.CHANGED
    assert after.stale == (f"read_csv ({GONE.key})",)


def test_without_a_file_nothing_is_accepted():
    """The gate runs as it does without the option."""
    assert accepted.load_accepted_entries(None) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no file of accepted entries"),
        (2 * '[[accepted]]\nkey = "0123456789abcdef"\nname = "x"\nnote = "y"\n', "more than once"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, text, message):
    """The sentence names file, key and the expected value."""
    path = tmp_path / "accepted.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=message) as raised:
        accepted.load_accepted_entries(path)
    assert "\n" not in str(raised.value)
