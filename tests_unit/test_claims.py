"""What the sources say of the frameworks: every sentence has the recorded verdict.

The sentences stand in ``baselines/claims``, the index of what the sources name in
``baselines/sources``; a verdict is what the installed code says of a sentence.
"""

from __future__ import annotations

from functools import cache

import pytest

from rlregress import frameworks, suite
from rlregress.details import catalogue, expectations, requested_names
from rlregress.errors import UserError
from rlregress.missing_packages import MissingPackage
from rlregress.studies.claims import claim_files, settle, source_index
from rlregress.studies.claims.claims_text import report

#: what has to be answered for every framework that trains the algorithms that they are about: the
#: numbered lists and the boxes.
EVERYWHERE = ("ppo32.", "tricks.", "thesis.box")


def pytest_generate_tests(metafunc):
    """One test per checkable sentence and per copy of the framework that it is about."""
    if "claim" not in metafunc.fixturenames:
        return
    try:
        given = metafunc.config.getoption("--framework")
        chosen = requested_names.adapters(requested_names.names("--framework", given))
        pairs = [
            (claim, adapter)
            for claim in claim_files.load(suite.baselines() / "claims")
            for adapter in chosen
            if claim.framework == adapter.name and not claim.not_checkable
        ]
    except UserError as error:
        raise pytest.UsageError(str(error)) from None
    ids = [f"{claim.id}@{adapter.label}".rstrip("@") for claim, adapter in pairs]
    metafunc.parametrize(("claim", "framework_of_claim"), pairs, ids=ids)


@cache
def _items():
    return source_index.load(suite.baselines() / "sources")


def _skip_without_them(framework):
    if not {"ppo", "sac", "td3"} <= set(framework.algorithms):
        pytest.skip(f"{framework.title} has other algorithms than those that the lists are about")


def test_claim_has_the_recorded_verdict(claim, framework_of_claim):
    """The code confirms or refutes the sentence as recorded."""
    settled = settle.settle(claim, framework_of_claim)
    if settled.lacking:
        raise MissingPackage(settled.lacking)
    assert settled.as_recorded, report(settled)


def test_every_item_of_the_numbered_lists_is_there():
    """The index holds 11 + 8 + 10 + 3 details of PPO, 11 tricks and 7 boxes."""
    ids = {item.id for item in _items()}
    lengths = {"ppo32.general": 11, "ppo32.mujoco": 8, "ppo32.atari": 10, "ppo32.auxiliary": 3}
    wanted = {f"{group}.{n}" for group, last in lengths.items() for n in range(1, last + 1)}
    wanted |= {f"tricks.{n}" for n in range(1, 12)} | {f"thesis.box{n}" for n in range(1, 8)}
    assert wanted - ids == set()


def test_every_item_is_asked_by_details_that_exist():
    """A detail that the index names is in the catalogue."""
    known = {detail.id for detail in catalogue.all_details()}
    assert source_index.without_answer(_items(), known, ("",)) == []


@pytest.mark.parametrize(
    "folder", sorted(path.name for path in (suite.baselines() / "details").iterdir())
)
def test_every_box_detail_and_trick_is_documented(folder):
    """What a box, one of the 32 details or a trick asks is documented for every framework."""
    _skip_without_them(frameworks.get(folder))
    entries = expectations.load(suite.baselines() / "details" / folder)
    documented = {entry.id for entry in entries}
    assert source_index.without_answer(_items(), documented, EVERYWHERE) == []


@pytest.mark.usefixtures("of_this_suite")
def test_every_box_detail_and_trick_is_probed(framework):
    """What a box, one of the 32 details or a trick asks is probed, and not left out as absent."""
    _skip_without_them(framework)
    probed = {detail for detail, _ in framework.probes()}
    assert source_index.without_answer(_items(), probed, EVERYWHERE) == []
