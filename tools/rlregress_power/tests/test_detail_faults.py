"""Probes tell wrong code from right: each fault of each framework, as a user injects it."""

from __future__ import annotations

import pytest

from rlregress import frameworks
from rlregress.faults import fault_tables
from rlregress.model.fault_results import DETAILS
from rlregress_power.instruments import INSTRUMENTS

INSTALLED = sorted(
    {x.name for x in frameworks.list_installed_adapters() if x.framework.expectations is None}
)


@pytest.mark.nightly
@pytest.mark.parametrize("name", INSTALLED)
def test_each_fault_moves_its_details_to_the_variant_that_it_is(name):
    """All of a framework's faults that fit the installed version, and no other details."""
    faults = fault_tables.select_faults(DETAILS, [name], [])
    results = list(INSTRUMENTS[DETAILS].run(faults, 2, print))
    assert INSTRUMENTS[DETAILS].detects_enough(results), [
        (result.fault.name, result.by, result.trouble)
        for result in results
        if result.fits and not result.detected
    ]
