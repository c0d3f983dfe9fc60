"""Nothing is left out: every detail is asked, every answer is documented, no record is stale."""

from __future__ import annotations

from functools import cache

import pytest

from rlregress import frameworks, suite
from rlregress.catalogue import expectations, hyperparameter_names, registry, source_index
from rlregress.catalogue.implementation import load_all_expectations, load_reasons_of_absent_details

#: what has to be answered for every framework that the thesis compares: the numbered lists and the
#: boxes.
EVERYWHERE = ("ppo32.", "tricks.", "thesis.box")


def test_every_detail_is_documented():
    """Every entry of the catalogue is documented of a framework; the tests below have it probed."""
    folders = (suite.locate_baselines() / "details").iterdir()
    documented = {
        entry.id for folder in folders for entry in expectations.load_expectations(folder)
    }
    assert {detail.id for detail in registry.list_details()} - documented == set()


@pytest.mark.usefixtures("suite_framework")
def test_every_detail_is_probed(framework):
    """A framework of this suite is asked every detail, or has no such component and says so."""
    algorithms = {
        a
        for adapter in map(frameworks.get_adapter, frameworks.list_framework_names())
        for a in adapter.framework.algorithms
    }
    lacking = (
        algorithms - set(framework.framework.algorithms)
        if framework.framework.algorithms
        else set()
    )
    requested = {id for id, _ in framework.observe.list_probes()}
    expected = {detail.id for detail in registry.list_details() if detail.family not in lacking}
    assert expected - requested - set(load_reasons_of_absent_details(framework)) == set()


def test_nothing_is_probed_and_absent(framework):
    """An absent component is not probed, and is a detail of the catalogue."""
    families = {detail.family for detail in registry.list_details()}
    probed = {id for id, _ in framework.observe.list_probes()}
    assert set(load_reasons_of_absent_details(framework)) & probed == set()
    assert set(framework.observe.list_absent_details()) - families <= set(
        registry.list_detail_ids()
    )


def test_no_expectation_is_stale(framework):
    """Every documented entry is probed, and some entry holds for the installed version."""
    version = framework.code.version()
    stale = expectations.list_stale_expectations(
        load_all_expectations(framework), set(framework.observe.list_probes()), version
    )
    assert not stale, "; ".join(stale.values())


def test_every_deciding_line_is_found_once(framework):
    """The fragment of each ``code`` that holds for the installed version is in its file once."""
    version = framework.code.version()
    for entry in load_all_expectations(framework):
        if entry.code and entry.includes_version(version):
            file, _, fragment = entry.code.partition(": ")
            path = framework.code.find_installed_path(file)
            assert path is not None, f"{entry.id}: {framework.name} {version} has no {file}"
            count = path.read_text(encoding="utf-8").count(fragment)
            assert count == 1, f"{entry.id}: {fragment!r} stands {count} times in {file}"


def test_every_probe_is_documented(framework):
    """Every probed (detail, scope) has an entry that holds for the installed version."""
    version = framework.code.version()
    missing = expectations.list_undocumented_probes(
        load_all_expectations(framework), set(framework.observe.list_probes()), version
    )
    assert not missing, f"nothing is documented of {missing} at version {version}"


@cache
def _load_items():
    return source_index.load_source_index(suite.locate_baselines() / "sources")


def _skip_if_not_in_thesis(framework):
    if not any(hyperparameter_names.list_printed_names(framework.name)):
        pytest.skip(f"{framework} is none of the frameworks that the thesis compares")


def test_every_item_of_the_numbered_lists_is_there():
    """The index holds 11 + 8 + 10 + 3 details of PPO, 11 tricks and 7 boxes."""
    ids = {item.id for item in _load_items()}
    lengths = {"ppo32.general": 11, "ppo32.mujoco": 8, "ppo32.atari": 10, "ppo32.auxiliary": 3}
    expected = {f"{group}.{n}" for group, last in lengths.items() for n in range(1, last + 1)}
    expected |= {f"tricks.{n}" for n in range(1, 12)} | {f"thesis.box{n}" for n in range(1, 8)}
    assert expected - ids == set()


def test_every_item_is_asked_by_details_that_exist():
    """A detail that the index names is in the catalogue."""
    details = {detail.id for detail in registry.list_details()}
    assert source_index.list_unanswered_details(_load_items(), details, ("",)) == []


@pytest.mark.parametrize(
    "folder", sorted(path.name for path in (suite.locate_baselines() / "details").iterdir())
)
def test_every_box_detail_and_trick_is_documented(folder):
    """Questions of boxes, of the 32 details and of tricks are documented for every framework."""
    _skip_if_not_in_thesis(frameworks.get_adapter(folder))
    entries = expectations.load_expectations(suite.locate_baselines() / "details" / folder)
    documented = {entry.id for entry in entries}
    assert source_index.list_unanswered_details(_load_items(), documented, EVERYWHERE) == []


@pytest.mark.usefixtures("suite_framework")
def test_every_box_detail_and_trick_is_probed(framework):
    """Questions of boxes, of the 32 details and of tricks are probed, not left out as absent."""
    _skip_if_not_in_thesis(framework)
    probed = {detail for detail, _ in framework.observe.list_probes()}
    assert source_index.list_unanswered_details(_load_items(), probed, EVERYWHERE) == []
