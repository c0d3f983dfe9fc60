"""Every detail of the catalogue, on every framework and in every scope that has it.

``pytest tests_unit --detail sac.critic_loss.scale`` asks one, ``--detail sac`` a family. Question,
inputs and variants of a detail are printed by ``rlregress details sac.critic_loss.scale``; what is
documented of a framework stands in ``baselines/details``. The other files of this folder show, for
the details that a reader knows by name, the numbers themselves.
"""

from __future__ import annotations


def test_detail(implementation):
    """The framework's real code does the documented variant and none of the others."""
    implementation.assert_documented_variant()
