"""Expectations are read by version; a variant is named only if exactly one matches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from rlregress.catalogue import expectations, registry
from rlregress.catalogue.expectations import Expectation
from rlregress.catalogue.judge import (
    format_deviation_report,
    format_expectation_entry,
    judge_observation,
)
from rlregress.errors import UserError
from rlregress.model.detail_answers import describe_variant

SCALE = registry.get_detail("sac.critic_loss.scale")
HALF = Expectation("sac.critic_loss.scale", "library", "half", "thesis, Box 6", since="0.6.0")


def _toy(first: float, second: float, tolerance: float = 1e-5) -> registry.Detail:
    variants = {"a": ("first", lambda i: first), "b": ("second", lambda i: second)}
    texts = ("sac.toy", "Which?", "Observed, [1]: a number.", ("here",))
    return registry.make_detail(*texts, {}, variants, tolerance)


@pytest.mark.parametrize(
    ("detail", "observed", "variant", "reason"),
    [
        # 8.5 is the sum of squared errors in float32, and 4.25 the half of it
        (SCALE, np.float32([8.5000004]), "none", "none"), (SCALE, 4.25, "half", "half"),
        # a factor of 0.6 has no name
        (SCALE, [5.1], None, "no variant matches"),
        (_toy(1.0, 1.0), [1.0], None, "2 variants match: a, b"),
        # 10 tolerances are not a wide margin; 30 are
        (_toy(1.0, 1.0 - 1e-4), [1.0], None, "a matches, but b is not far away"),
        (_toy(1.0, 1.0 - 3e-4), [1.0], "a", "a"),
    ],
)  # fmt: skip
def test_a_variant_is_named_only_if_it_alone_is_near(detail, observed, variant, reason) -> None:
    """Neither a number between variants nor inputs that do not separate them give an answer."""
    judgement = judge_observation(detail, observed)
    assert (judgement.variant, judgement.variant_or_reason) == (variant, reason)


@pytest.mark.parametrize(
    ("observed", "reason"),
    [([1.0, 2.0], "wrong shape: [2], expected [1]"), ([[1.0]], "wrong shape: [1, 1], expected [1]"),
     ([np.inf], "not finite: [inf]"), ("4.25", "not a float vector: '4.25'"),
     (None, "not a float vector: None"),
     (np.array([4.25j]), "not a float vector: array([0.+4.25j])"),
     (torch.ones(1, requires_grad=True),
      "not a float vector: tensor([1.], requires_grad=True)")],
)  # fmt: skip
def test_an_observation_of_another_shape_is_refused(observed, reason) -> None:
    """Nothing is broadcast, guessed or compared."""
    judgement = judge_observation(SCALE, observed)
    assert (judgement.variant, judgement.reason) == (None, reason)
    assert judgement.distances == {}


def test_a_changed_variant_is_reported_with_both_names_the_numbers_and_the_record() -> None:
    """The report has what is documented, observed and expected, and the lines to record."""
    text = format_deviation_report(SCALE, judge_observation(SCALE, [8.5]), HALF, "any", "2.9.2")
    first, *further = text.splitlines()
    assert first == "sac.critic_loss.scale: the variant 'none' (documented: half, since 0.6.0)"
    for line in (
        "  any 2.9.2, scope library; documented in: thesis, Box 6",
        "  observed: [8.5]",
        "  observed / expected of half: [2]",
    ):
        assert line in further
    assert "  expected of half: [4.25] (" in text
    assert 'set until = "2.9.2"' in text
    assert text.endswith(
        "\n" + format_expectation_entry("sac.critic_loss.scale", "library", "none", "2.9.2")
    )


@pytest.mark.parametrize(
    ("name", "meaning", "words"),
    [("half", "1/2", "half"), ("none", "", "the variant 'none'"),
     ("none", "not clipped", "'none' (the variant: not clipped)"),
     ("no variant matches", "", "no variant matches")],
)  # fmt: skip
def test_the_variant_none_differs_from_no_answer_in_words(name, meaning, words) -> None:
    """Every text that names a variant uses these words; data keep the name."""
    assert describe_variant(name, meaning) == words
    assert '"none"' in format_expectation_entry("sac.critic_loss.scale", "library", "none", "2.9.2")


def test_a_known_deviation_that_is_gone_is_reported_as_a_stale_record():
    """One without any variant is not called gone."""
    detail = registry.get_detail("nstep.terminal")
    pinned = Expectation(
        "nstep.terminal", "library", "unmasked", "postprocs.py", since="0.14.1",
        deviation="The value of a terminal observation enters.", upstream="https://example.org/1",
    )  # fmt: skip
    masked = detail.compute_expected_vectors()["masked"]
    text = format_deviation_report(
        detail, judge_observation(detail, masked), pinned, "any", "0.15.0"
    )
    assert "the known deviation 'unmasked' is gone: the record is stale" in text
    assert "since 0.14.1: The value of a terminal observation enters. (https://" in text
    assert text.endswith(format_expectation_entry(detail.id, "library", "masked", "0.15.0"))
    detail = registry.get_detail("nstep.terminal")
    pinned = dataclasses.replace(HALF, id=detail.id, variant="unmasked", deviation="It hurts.")
    judgement = judge_observation(detail, [0.5, 0.5, 0.5])
    text = format_deviation_report(detail, judgement, pinned, "any", "0.15.0")
    assert text.startswith("nstep.terminal: no variant matches (documented: unmasked, since 0.6.0)")
    assert "stale" not in text


def test_the_recorded_lines_are_an_entry_that_loads(tmp_path) -> None:
    """The lines to paste are a valid entry."""
    path = tmp_path / "any.toml"
    path.write_text(format_expectation_entry("sac.critic_loss.scale", "library", "none", "2.9.2"))
    (entry,) = expectations.load_expectations(path)
    assert (entry.key, entry.variant) == (("sac.critic_loss.scale", "library"), "none")


def test_an_observation_without_a_variant_is_reported_with_the_nearest_ones() -> None:
    """There is nothing to record, only something to look at."""
    text = format_deviation_report(SCALE, judge_observation(SCALE, [5.1]), HALF, "any", "2.9.2")
    assert text.startswith("sac.critic_loss.scale: no variant matches (documented: half, since 0.6")
    assert "  nearest variants by error (tolerance 1e-05): half (0.0125), quarter" in text
    assert "observed / expected of half: [1.2]" in text
    assert "[[detail]]" not in text


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
        return expectations.load_expectations(path)

    return loaded


def test_an_entry_keeps_its_fields_and_its_line(write):
    """A fault beside it is not read as one."""
    (entry,) = write(_table(note="seen"))
    assert entry.key == CELL
    assert (entry.variant, entry.since, entry.until, entry.note) == ("half", "0.6.0", None, "seen")
    assert entry.where.endswith("[[detail]] at line 2")
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
    assert [
        entry.variant for entry in expectations.filter_by_version(entries, version).values()
    ] == variants
    assert expectations.filter_by_version(entries[:1], "2.0.0") == {}
    with pytest.raises(UserError, match="'newest' is not a version"):
        expectations.filter_by_version(entries, "newest")


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


def test_an_entry_that_no_probe_asks_for_is_stale(write):
    """Also one whose range has passed and that none replaces; a probe without one is missing."""
    entries = write(_table(), _table(scope="libary"))
    (reason,) = expectations.list_stale_expectations(entries, {CELL}, "2.9.2").values()
    assert "(libary, half): never matched" in reason
    old = _table(until="2.0")
    (reason,) = expectations.list_stale_expectations(write(old), {CELL}, "2.9.2").values()
    assert reason.endswith("stated from 0.6.0 until 2.0, and no entry covers 2.9.2")
    assert (
        expectations.list_stale_expectations(
            write(old, _table(variant="none", since="2.0")), {CELL}, "2.9.2"
        )
        == {}
    )
    assert expectations.list_stale_expectations(write(old), {CELL}, "1.0") == {}
    further_cell = ("gae.truncation", "library")
    undocumented = expectations.list_undocumented_probes
    assert undocumented(write(_table()), {CELL, further_cell}, "2.9.2") == (further_cell,)
    assert undocumented(write(_table()), {CELL}, "0.1") == (CELL,)
