"""Files of expectations are read by version range; bad input is one clear sentence."""

from __future__ import annotations

import pytest

from rlregress.catalogue import expectations
from rlregress.catalogue.expectations import (
    filter_by_version,
    list_stale_expectations,
    load_expectations,
)
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


def test_an_entry_keeps_its_fields_and_its_line(write) -> None:
    """Optional keys have defaults; the line is that of [[detail]]."""
    (entry,) = write(_table(note="seen"))
    assert entry.cell == CELL
    assert (entry.variant, entry.since, entry.until, entry.note) == ("half", "0.6.0", None, "seen")
    assert entry.where.endswith("[[detail]] at line 2")


def test_a_fault_beside_an_entry_is_not_read_as_one(write) -> None:
    """Faults stand in the same file, in tables of another name."""
    assert write() == ()
    first, second = write(_table(), '[[fault]]\nname = "x"\n', _table(scope="script"))
    assert (first.scope, second.scope) == ("library", "script")
    assert first.where.endswith("[[detail]] at line 2")
    assert second.where.endswith("[[detail]] at line 12")


@pytest.mark.parametrize(
    ("version", "variants"),
    [("0.5.9", []), ("0.6.0", ["half"]), ("0.6.0+cpu", ["half"]), ("0.10.0", ["half"]),
     ("2.0.0", ["none"]), ("10.0", ["none"]), ("3.0rc1", ["none"])],
)  # fmt: skip
def test_a_range_holds_from_since_and_no_longer_at_until(write, version, variants) -> None:
    """[0.6.0, 2.0.0), compared as versions and not as text; a local version is its release."""
    entries = write(_table(until="2.0.0"), _table(variant="none", since="2.0.0"))
    assert [entry.variant for entry in filter_by_version(entries, version).values()] == variants
    assert filter_by_version(entries[:1], "2.0.0") == {}
    with pytest.raises(UserError, match="'newest' is not a version"):
        filter_by_version(entries, "newest")


@pytest.mark.parametrize(
    ("table", "message"),
    [([_table(variant="halve")], "line 2: key 'variant': .* has no variant 'halve'; did you"),
     ([_table(until="0.6")], "line 2: no version lies between since '0.6.0' and until '0.6'"),
     ([_table(), _table(scope="script", variant="halve")], "line 9: key 'variant'")],
)  # fmt: skip
def test_bad_input_is_named_with_its_line(write, table, message) -> None:
    """One sentence for each way to be wrong; the second table is named by its own line."""
    with pytest.raises(UserError, match=message):
        write(*table)


@pytest.mark.parametrize("since", ["0.6", "0.7", "0.1"])
def test_two_entries_for_the_same_versions_are_a_duplicate(write, since: str) -> None:
    """Overlapping ranges are an error, in any order."""
    with pytest.raises(UserError, match="line 9: .* is a duplicate: .* at line 2 holds"):
        write(_table(), _table(variant="none", since=since))


def test_an_entry_that_no_probe_asks_for_is_stale(write) -> None:
    """A scope with a typing error would otherwise never be compared with anything."""
    entries = write(_table(), _table(scope="libary"))
    (reason,) = list_stale_expectations(entries, {CELL}, "2.9.2").values()
    assert "(libary, half): never matched" in reason


def test_an_entry_whose_range_has_passed_is_stale_unless_another_takes_its_place(write) -> None:
    """History is kept; a gap is reported."""
    old = _table(until="2.0")
    (reason,) = list_stale_expectations(write(old), {CELL}, "2.9.2").values()
    assert reason.endswith("stated from 0.6.0 until 2.0, and no entry covers 2.9.2")
    assert (
        list_stale_expectations(write(old, _table(variant="none", since="2.0")), {CELL}, "2.9.2")
        == {}
    )
    assert list_stale_expectations(write(old), {CELL}, "1.0") == {}


def test_a_probe_without_an_entry_is_missing(write) -> None:
    """A probed detail without an entry for the version is undocumented."""
    further_cell = ("gae.truncation", "library")
    undocumented = expectations.list_undocumented_probes
    assert undocumented(write(_table()), {CELL, further_cell}, "2.9.2") == (further_cell,)
    assert undocumented(write(_table()), {CELL}, "0.1") == (CELL,)
