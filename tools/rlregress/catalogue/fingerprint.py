"""Fingerprints of frameworks: the variant that each probe shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlregress import missing_packages
from rlregress.catalogue import registry
from rlregress.catalogue.judge import Judgement, judge_observation
from rlregress.model.detail_answers import UNPROBED
from rlregress.probing.framework_errors import find_error_location
from rlregress.probing.interface import Probe, Unprobed
from rlregress.probing.isolation import run_probe_isolated

if TYPE_CHECKING:
    from rlregress.frameworks.framework_code import Code


def run_and_judge_probe(
    detail: registry.Detail, probe: Probe, code: Code | None = None
) -> Judgement:
    """Run one probe on a copy of the detail's inputs, and find the variant that its result matches.

    A probe that raises gives a judgement without a variant, and the error is its reason. Thus a
    detail that can no longer be probed is a finding, never a skip, unless a package of an extra is
    missing.

    Args:
        code: what the probe calls. An error that it did not raise leaves the detail unprobed.
    """
    try:
        observed = run_probe_isolated(probe, detail.copy_inputs())
    except Unprobed as error:
        text = f"{UNPROBED}{error}"
        unprobed = not error.known
        return Judgement(
            detail.id, None, text, {}, detail.compute_expected_vectors(), unprobed=unprobed
        )
    except Exception as error:  # any error of foreign code is the finding
        lacking = missing_packages.describe_missing_package(error)
        text = f"{UNPROBED}{lacking or f'{type(error).__name__}: {error}'}"
        unprobed = code is not None and not code.has_raised(error)
        if unprobed and not lacking:
            # whoever wrote the probe looks for it
            text += " at {file}:{line}".format(**find_error_location(error))
        expected = detail.compute_expected_vectors()
        return Judgement(
            detail.id, None, text, expected=expected, unprobed=unprobed, lacking=lacking
        )
    return judge_observation(detail, observed)
