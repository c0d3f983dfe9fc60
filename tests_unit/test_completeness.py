"""Nothing is left out: every detail is asked, every answer is documented, no record is stale."""

from __future__ import annotations

from pathlib import Path

from rlregress import suite
from rlregress.details import catalogue, expectations


def _asked() -> set[str]:
    here = Path(__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in here.glob("test_*.py"))
    return {detail.id for detail in catalogue.all_details() if f'detail("{detail.id}")' in text}


def test_every_detail_has_a_test():
    """Every entry of the catalogue is asserted by a test of this folder."""
    assert {detail.id for detail in catalogue.all_details()} - _asked() == set()


def test_every_detail_of_an_algorithm_is_probed(framework):
    """A framework that has an algorithm has a probe for each of its details."""
    families = set(framework.algorithms) | ({"gae"} if "ppo" in framework.algorithms else set())
    wanted = {detail.id for detail in catalogue.all_details() if detail.family in families}
    assert wanted - {id for id, _ in framework.probes()} == set()


def test_no_expectation_is_stale(framework):
    """Every documented entry is probed, and some entry holds for the installed version."""
    path = suite.baselines() / "details" / f"{framework.name}.toml"
    version = framework.versions()[framework.packages[0]]
    stale = expectations.stale(expectations.load(path), set(framework.probes()), version)
    assert not stale, f"{path}: " + "; ".join(stale.values())


def test_every_probe_is_documented(framework):
    """Every probed (detail, scope) has an entry that holds for the installed version."""
    path = suite.baselines() / "details" / f"{framework.name}.toml"
    version = framework.versions()[framework.packages[0]]
    missing = expectations.missing(expectations.load(path), set(framework.probes()), version)
    assert not missing, f"{path} says nothing of {missing} at version {version}"
