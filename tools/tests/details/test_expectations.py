"""Files of expectations: what is read, which range holds, and one clear sentence for bad input."""

from __future__ import annotations

import pytest

from rlregress.details import expectations
from rlregress.details.expectations import filter_by_version, list_stale, load_expectations
from rlregress.errors import UserError

GOOD = {"id": "sac.critic_loss.scale", "scope": "library", "variant": "half", "since": "0.6.0",
        "source": "thesis, Box 6"}  # fmt: skip
CELL = (GOOD["id"], GOOD["scope"])


def _table(**changed: str | None) -> str:
    entries = GOOD | changed
    rows = [f'{key} = "{value}"' for key, value in entries.items() if value is not None]
    return "\n".join(["[[detail]]", *rows, ""])


@pytest.fixture
def write(tmp_path):
    """Writes a file of expectations and loads it."""

    def loaded(*tables: str):
        path = tmp_path / "some.toml"
        path.write_text("# a comment\n" + "\n".join(tables))
        return load_expectations(path)

    return loaded


def test_an_entry_keeps_what_is_written_and_its_line(write) -> None:
    """Optional keys have defaults; the line is that of [[detail]]."""
    (entry,) = write(_table(note="seen"))
    assert entry.cell == CELL
    assert (entry.variant, entry.since, entry.until, entry.note) == ("half", "0.6.0", None, "seen")
    assert entry.where.endswith("[[detail]] at line 2")


def test_a_fault_beside_an_entry_is_not_read_as_one(write) -> None:
    """What proves an entry stands in the same file, in tables of another name."""
    first, second = write(_table(), '[[fault]]\nname = "x"\n', _table(scope="script"))
    assert (first.scope, second.scope) == ("library", "script")
    assert first.where.endswith("[[detail]] at line 2")
    assert second.where.endswith("[[detail]] at line 12")


def test_an_empty_file_has_no_entries(write) -> None:
    """Nothing documented is not an error here: the probes that lack an entry are reported."""
    assert write() == ()


def test_a_range_holds_from_since_and_no_longer_at_until(write) -> None:
    """[0.6.0, 2.0.0), compared as versions and not as text."""
    entries = write(_table(until="2.0.0"), _table(variant="none", since="2.0.0"))
    assert filter_by_version(entries, "0.5.9") == {}
    assert filter_by_version(entries, "0.6.0")[CELL].variant == "half"
    assert filter_by_version(entries, "0.10.0")[CELL].variant == "half"
    assert filter_by_version(entries, "2.0.0")[CELL].variant == "none"
    assert filter_by_version(entries, "10.0")[CELL].variant == "none"
    assert filter_by_version(entries[:1], "2.0.0") == {}


def test_a_local_version_lies_in_the_range_of_its_release(write) -> None:
    """2.9.2+cpu is not before 2.9.2."""
    assert CELL in filter_by_version(write(_table(since="2.9.2")), "2.9.2+cpu")


@pytest.mark.parametrize(
    ("table", "message"),
    [([_table(variant="halve")], "line 2: key 'variant': .* has no variant 'halve'; did you"),
     ([_table(until="0.6")], "line 2: no version lies between since '0.6.0' and until '0.6'"),
     ([_table(), _table(scope="script", variant="halve")], "line 9: key 'variant'")],
)  # fmt: skip
def test_bad_input_names_the_file_the_place_and_what_was_expected(write, table, message) -> None:
    """One sentence for each way to be wrong; the second table is named by its own line."""
    with pytest.raises(UserError, match=message):
        write(*table)


@pytest.mark.parametrize("since", ["0.6.0", "0.6", "0.7", "0.1"])
def test_two_entries_for_the_same_versions_are_a_duplicate(write, since: str) -> None:
    """Whichever of the two comes first."""
    with pytest.raises(UserError, match="line 9: .* is a duplicate: .* at line 2 holds"):
        write(_table(), _table(variant="none", since=since))


def test_the_same_detail_in_another_scope_is_no_duplicate(write) -> None:
    """Class defaults and script settings are different things."""
    assert len(write(_table(), _table(scope="script"))) == 2


def test_a_version_that_is_none_is_a_user_error(write) -> None:
    """The version comes from a package's metadata or from a user."""
    with pytest.raises(UserError, match="'newest' is not a version"):
        filter_by_version(write(_table()), "newest")


def test_an_entry_that_no_probe_asks_for_is_stale(write) -> None:
    """A scope with a typing error would otherwise never be compared with anything."""
    entries = write(_table(), _table(scope="libary"))
    (reason,) = list_stale(entries, {CELL}, "2.9.2").values()
    assert reason == (
        "sac.critic_loss.scale (libary, half): "
        "never matched: no probe checks this detail in this scope"
    )


def test_an_entry_whose_range_has_passed_is_stale_unless_another_takes_its_place(write) -> None:
    """History is kept; a gap is reported."""
    old = _table(until="2.0")
    (reason,) = list_stale(write(old), {CELL}, "2.9.2").values()
    assert reason.endswith("stated from 0.6.0 until 2.0, and no entry covers 2.9.2")
    assert list_stale(write(old, _table(variant="none", since="2.0")), {CELL}, "2.9.2") == {}
    assert list_stale(write(old), {CELL}, "1.0") == {}


def test_a_probe_without_an_entry_is_missing(write) -> None:
    """What is probed has to be documented."""
    other = ("gae.truncation", "library")
    undocumented = expectations.list_undocumented
    assert undocumented(write(_table()), {CELL, other}, "2.9.2") == (other,)
    assert undocumented(write(_table()), {CELL}, "0.1") == (CELL,)
