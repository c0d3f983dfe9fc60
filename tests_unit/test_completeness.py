"""Nothing is left out: every detail is asked, every answer is documented, no record is stale."""

from __future__ import annotations

import pytest

from rlregress import frameworks, suite
from rlregress.details import catalogue, expectations
from rlregress.details.implementation import absent, stated


def test_every_detail_is_documented():
    """Every entry of the catalogue is documented of a framework; the tests below have it probed."""
    folders = (suite.baselines() / "details").iterdir()
    documented = {entry.id for folder in folders for entry in expectations.load(folder)}
    assert {detail.id for detail in catalogue.all_details()} - documented == set()


@pytest.mark.usefixtures("of_this_suite")
def test_every_detail_is_probed(framework):
    """A framework of this suite is asked every detail, or has no such component and says so."""
    algorithms = {a for known in map(frameworks.get, frameworks.names()) for a in known.algorithms}
    lacking = algorithms - set(framework.algorithms) if framework.algorithms else set()
    requested = {id for id, _ in framework.probes()}
    wanted = {detail.id for detail in catalogue.all_details() if detail.family not in lacking}
    assert wanted - requested - set(absent(framework)) == set()


def test_nothing_is_probed_and_absent(framework):
    """What a framework does not have is not checked of it, and is a detail of the catalogue."""
    families = {detail.family for detail in catalogue.all_details()}
    assert set(absent(framework)) & {id for id, _ in framework.probes()} == set()
    assert set(framework.absent()) - families <= set(catalogue.ids())


def test_no_expectation_is_stale(framework):
    """Every documented entry is probed, and some entry holds for the installed version."""
    version = framework.version()
    stale = expectations.stale(stated(framework), set(framework.probes()), version)
    assert not stale, "; ".join(stale.values())


def test_every_deciding_line_is_found_once(framework):
    """The fragment of each ``code`` that holds for the installed version is in its file once."""
    version = framework.version()
    for entry in stated(framework):
        if entry.code and entry.holds_for(version):
            file, _, fragment = entry.code.partition(": ")
            path = framework.locate(file)
            assert path is not None, f"{entry.id}: {framework.name} {version} has no {file}"
            count = path.read_text(encoding="utf-8").count(fragment)
            assert count == 1, f"{entry.id}: {fragment!r} stands {count} times in {file}"


def test_every_probe_is_documented(framework):
    """Every probed (detail, scope) has an entry that holds for the installed version."""
    version = framework.version()
    missing = expectations.missing(stated(framework), set(framework.probes()), version)
    assert not missing, f"nothing is documented of {missing} at version {version}"
