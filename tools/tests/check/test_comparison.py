"""Frameworks side by side: what differs comes first, with its line and its consequence."""

from __future__ import annotations

import copy
import json
import re

import numpy as np
import pytest

from rlregress import suite
from rlregress.catalogue import registry
from rlregress.check.comparison import compare_adapters, list_documented_variants
from rlregress.errors import UserError
from rlregress.model.detail_answers import (
    DIFFERENT,
    GROUPS,
    SAME,
    UNDECIDED,
    UNMEASURED,
    UNSHARED,
    Comparison,
    DetailRow,
    FoundVariant,
)
from rlregress.report import comparison_text, markdown_page, tables, terminal_tables
from rlregress.report.html import comparison_page
from rlregress.report.html.page import PageInfo
from tools.tests.small_adapters import SmallAdapter, format_entry, make_probe_of_variant

#: details whose variants the adapters of this file answer by their formulas
SCALE, DISTANCE, MINIMUM = "sac.critic_loss.scale", "sac.critic_loss.distance", "td3.target.minimum"


def _forget_variants(framework, name):
    """Let the framework answer with numbers of no variant, under another name."""
    # an answer is asked once per process and framework
    framework.name = name
    unknown = {(DISTANCE, "library"): lambda inputs: np.full(2, -7.0)}
    framework.functions["list_probes"] = lambda: unknown


@pytest.fixture
def pair(tmp_path):
    """Return two frameworks: one detail differs, one is alike, one only the first has."""

    def make_framework(name, **variants):
        path = tmp_path / f"{name}.toml"
        path.write_text("".join(format_entry(id, v, code="x.py: y") for id, v in variants.items()))
        probes = {(id, "library"): make_probe_of_variant(id, v) for id, v in variants.items()}
        absent = {id: "has none" for id in (SCALE, DISTANCE, MINIMUM) if id not in variants}
        functions = {"list_probes": lambda: probes, "list_absent_details": lambda: absent}
        options = {"title": name, "packages": ("pytest",), "expectations": path}
        return SmallAdapter(functions, name, **options)

    first = make_framework("one", **{SCALE: "half", DISTANCE: "squared", MINIMUM: "min"})
    return first, make_framework("other", **{SCALE: "none", DISTANCE: "squared"})


def ids(rows):
    """Return the details of rows."""
    return [row.detail.id for row in rows]


def group_ids(compared):
    """Return the details of each group that is not empty."""
    return {group: rows for group in GROUPS if (rows := ids(compared.select_rows(group)))}


def markdown(compared):
    """Return the page of a comparison as Markdown."""
    return markdown_page.format_page_as_markdown(
        comparison_page.make_page_of_comparison(compared, PageInfo("a title", "", 0.0, "", ""))
    )


def test_details_are_different_same_or_alone(pair):
    """Neither a framework with itself nor an answer of no variant is compared."""
    compared = compare_adapters(pair)
    assert group_ids(compared) == {DIFFERENT: [SCALE], SAME: [DISTANCE], UNSHARED: [MINIMUM]}
    assert compared.select_rows(UNSHARED)[0].absent == {"other": "has none"}
    with pytest.raises(UserError, match="expected two or more different frameworks"):
        compare_adapters((pair[0], pair[0]))
    _forget_variants(pair[1], "unknown")
    compared = compare_adapters(pair)
    assert group_ids(compared) == {UNDECIDED: [DISTANCE], UNMEASURED: [SCALE], UNSHARED: [MINIMUM]}
    assert compared.rows[1].answers["unknown"][0].variant is None
    assert "details could not be compared" in markdown(compared)


@pytest.mark.parametrize(
    ("variants", "absent", "group"),
    [
        ({"a": {"s": "half"}, "b": {"s": "none"}, "c": {"s": None}}, (), DIFFERENT),
        ({"a": {"s": "half", "t": "none"}, "b": {"s": "none", "t": "half"}}, "c", DIFFERENT),
        ({"a": {"s": "half"}, "b": {"s": "half"}, "c": {"s": None}}, (), UNDECIDED),
        ({"a": {"s": None}}, "bc", UNDECIDED),
        ({"a": {"s": "half"}, "b": {"s": "half"}}, (), UNMEASURED),
        ({"a": {"s": "half"}}, "b", UNMEASURED),
        ({"a": {"s": "half"}, "b": {"t": "half"}}, "c", SAME),
        ({"a": {"s": "half"}}, "bc", UNSHARED),
    ],
)
def test_what_was_not_compared_is_not_equal(variants, absent, group):
    """Of three frameworks: a failed probe hides no difference, and silence is no agreement."""
    more = {"meaning": "", "deviation": "", "place": None}
    answers = {
        name: tuple(FoundVariant(scope=s, variant=v, **more) for s, v in scopes.items())
        for name, scopes in variants.items()
    }
    row = DetailRow(
        detail=registry.get_detail(SCALE), answers=answers, absent=dict.fromkeys(absent, "has none")
    )
    compared = Comparison(versions=dict.fromkeys("abc", "1"), rows=(row,))
    assert group_ids(compared) == {group: [SCALE]}
    is_equal = comparison_page.make_card_of_comparison(compared).badge.word == "no detail differs"
    assert is_equal == (group == SAME)


def test_a_page_begins_with_a_table_of_each_family(pair):
    """Each difference in one row; of three frameworks, how many differ between any two."""
    glance, _, _ = markdown(compare_adapters(pair)).partition("\n### ")
    assert "| sac | 1 |\n" in glance
    row = f"| {SCALE} | half | the variant 'none' |"
    head = "## What differs of sac\n\n| detail | one | other |\n|---|---|---|\n"
    assert f"{head}{row}\n" in glance
    first, second = pair
    third = copy.copy(first)
    third.name = "third"
    text = markdown(compare_adapters((first, second, third)))
    glance, _, _ = text.partition("\n## 1 details differ")
    assert "| family | differ | one and other | one and third | other and third |" in glance
    assert "| sac | 1 | 1 of 2 | 0 of 2 | 1 of 2 |" in glance
    assert f"| {SCALE} | half | the variant 'none' | half |" in glance
    assert "`rlregress compare one other --detail sac --only-different` prints one" in glance
    third.functions["list_probes"] = first.functions["list_probes"]
    same = markdown(compare_adapters((first, third)))
    assert "| family |" not in same


def test_details_that_a_pair_lacks_do_not_count_as_equal(pair):
    """Four frameworks have one table of pairs; a pair without common details has a dash."""
    first, second = pair
    third, alien = copy.copy(first), copy.copy(first)
    third.name, alien.name = "third", "alien"
    own = {(MINIMUM, "library"): first.observe.list_probes()[MINIMUM, "library"]}
    alien.functions = {**first.functions, "list_probes": lambda: own}
    compared = compare_adapters((first, second, third, alien))
    for shown in (compared, compared.select_different_rows()):
        glance, _, _ = markdown(shown).partition("\n## 1 details differ")
        assert "| sac | 1 |\n" in glance
        assert "| one |  | 1 of 2 | 0 of 3 | 0 of 1 |" in glance
        assert "| other | 1 of 2 |  | 1 of 2 | - |" in glance


def test_json_says_the_same(pair):
    """JSON has variants and missing details, differences first."""
    compared = json.loads(comparison_text.format_comparison_as_json(compare_adapters(pair)))
    first = compared["details"][0]
    assert first["id"] == SCALE
    assert first["group"] == DIFFERENT
    assert compared["counts"][SAME] == 1
    assert first["answers"]["other"]["library"]["variant"] == "none"


def test_a_comparison_can_be_of_some_details_alone(pair):
    """A comparison takes ids, families, or differences alone; undecided details stay."""
    assert ids(compare_adapters(pair, [SCALE]).rows) == [SCALE]
    assert ids(compare_adapters(pair, (), ["sac"]).rows) == [MINIMUM]
    differing = compare_adapters(pair).select_different_rows()
    assert ids(differing.rows) == [SCALE]
    counts = f"1 details differ, 1 {SAME}, 1 {UNSHARED}."
    assert counts in markdown(differing)
    _forget_variants(pair[1], "another")
    assert ids(compare_adapters(pair).select_different_rows().rows) == [DISTANCE]


def test_every_detail_has_a_consequence():
    """In one sentence; in a table a path is broken between its words."""
    lines = terminal_tables.break_long_words("stable_baselines3/common/off_policy.py:270", 10)
    assert lines.splitlines() == ["stable_", "baselines3/", "common/", "off_", "policy.", "py:270"]
    assert [d.id for d in registry.list_details() if not d.consequence.endswith(".")] == []


PAGE = suite.find_suite_root() / "docs" / "compare.md"


def list_outdated(page: str) -> list[str]:
    """Return rows of the page's tables that differ from the documented variants, or are missing."""
    versions = dict(re.findall(r"\b(\w+) (\d\S*?)[,.]? ", page.partition("documented of")[2])[:6])
    documented = list_documented_variants(versions)
    lines = set(page.splitlines())
    return [
        row
        for family in re.findall(r"(?m)^### (\w+)$", page)
        for row in comparison_page.make_table_of_family(documented, family).rows
        if tables.format_markdown_row(f"`{row[0]}`", *row[1:]) not in lines
    ]


def test_the_tables_of_the_documentation_are_those_of_the_data():
    """docs/compare.md has each detail that differs, with the documented variants."""
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("\n| `") > 40
    assert list_outdated(page) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("| half | the variant 'none' |", "| half | half |"), ("skrl 2.1.1", "skrl 1.0")],
)  # fmt: skip
def test_a_table_that_is_not_current_is_found(old, new):
    """Another variant, detail or version makes a row outdated."""
    page = PAGE.read_text(encoding="utf-8")
    assert old in page
    assert list_outdated(page.replace(old, new, 1)) != []
