"""Every sentence of the sources about the frameworks has the recorded verdict.

The sentences are in ``baselines/claims``; the verdict comes from probes of the installed code.
"""

from __future__ import annotations

import pytest

from rlregress import suite
from rlregress.catalogue import requested_names
from rlregress.errors import UserError
from rlregress.missing_packages import MissingPackage
from rlregress_studies.claims import claim_files, settle
from rlregress_studies.claims.claims_text import describe_claim_not_as_recorded
from tests_behavior.every_commit import is_shown, is_touched


def pytest_generate_tests(metafunc):
    """Make one test per checkable sentence and per copy of the framework that it is about.

    Every commit settles some claims about two frameworks, and all about a framework that it
    changes: ``tests_unit`` asks each of them for the details that claims are about.
    """
    if "claim" not in metafunc.fixturenames:
        return
    try:
        names = metafunc.config.getoption("--framework")
        adapters = requested_names.select_adapters(
            requested_names.split_comma_separated_names("--framework", names)
        )
        claims = claim_files.load_claims(suite.locate_baselines() / "claims")
        pairs = [
            pytest.param(
                claim, adapter, id=f"{claim.id}@{adapter.label}".rstrip("@"),
                marks=() if _is_settled(number, adapter.name) else pytest.mark.nightly,
            )
            for number, claim in enumerate(claims)
            for adapter in adapters
            if claim.framework == adapter.name and not claim.not_checkable
        ]  # fmt: skip
    except UserError as error:
        raise pytest.UsageError(str(error)) from None
    metafunc.parametrize(("claim", "framework_of_claim"), pairs)


def _is_settled(number, framework):
    return is_touched(framework) or (is_shown(framework) and number % 16 == 0)


def test_claim_has_the_recorded_verdict(claim, framework_of_claim):
    """The code confirms or refutes the sentence as recorded."""
    settled = settle.settle_claim(claim, framework_of_claim)
    if settled.lacking:
        raise MissingPackage(settled.lacking)
    assert settled.is_as_recorded, describe_claim_not_as_recorded(settled)
