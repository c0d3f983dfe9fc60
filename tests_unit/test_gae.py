"""Generalised advantage estimation: equations 1 and 2 of the thesis.

Inputs, variants and their formulas stand in the catalogue (``rlregress.details.gae``). A test
passes if the framework's real code shows the documented variant and is far from every other one.
"""

from __future__ import annotations

import pytest

from rlregress.details.implementation import assert_documented


@pytest.mark.detail("gae.truncation")
def test_truncation(implementation):
    """Terminations end an advantage; truncations and segment ends bootstrap, as documented."""
    assert_documented(implementation)


@pytest.mark.detail("gae.value_target")
def test_value_target(implementation):
    """The values regress towards the documented return."""
    assert_documented(implementation)
