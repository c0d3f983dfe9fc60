"""Entries that somebody has reviewed: keyed by content, silent, and listed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress.errors import UserError
from rlregress.model import differences as model
from rlregress.model.differences import Entry
from rlregress.upgrade.verdict import accepted

from . import test_result as upgrades

GONE = Entry(kind=model.PUBLIC, name="p.logger.read_csv", state=model.DIFFERS, content="gone")


@pytest.mark.parametrize(
    ("content", "notes", "verdict", "stale"),
    [
        ("gone", ["we never read these"], (model.AS_DOCUMENTED, 0), ()),
        # what has changed again has to be reviewed again: the old line matches nothing
        ("moved", [""], (model.CHANGED, 3), (f"read_csv ({GONE.key})",)),
    ],
)
def test_an_accepted_entry_no_longer_decides_and_stays_listed(
    tmp_path, content, notes, verdict, stale
):
    """Its note stands beside it; every other entry counts as before."""
    path = tmp_path / "accepted.toml"
    path.write_text(
        f'[[accepted]]\nkey = "{GONE.key}"\nname = "read_csv"\nnote = "we never read these"\n'
    )
    entry = replace(GONE, content=content)
    result = upgrades.upgrade(upgrades.of(upgrades.traced()), other_packages=[entry])
    assert result.verdict == model.CHANGED
    after = accepted.mark_accepted_and_stale(result, accepted.load_accepted_entries(path))
    assert (after.verdict, after.exit_code) == verdict
    assert [e.accepted for e in after.entries if e.kind == model.PUBLIC] == notes
    assert (len(after.entries), after.stale) == (len(result.entries), stale)


def test_a_file_with_one_entry_twice_is_refused(tmp_path):
    """Otherwise what a reviewer has not accepted would seem to be."""
    path = tmp_path / "accepted.toml"
    path.write_text(2 * '[[accepted]]\nkey = "0123456789abcdef"\nname = "x"\nnote = "y"\n')
    with pytest.raises(UserError, match="more than once"):
        accepted.load_accepted_entries(path)
