"""Values as distributions: QR-DQN (Dabney et al. 2018) and TQC (Kuznetsov et al. 2020).

Each test asks the framework's real code with the inputs that it names, and states what every known
way to do it makes of them. Beside a number stands who does it that way.
"""

from __future__ import annotations

import pytest


@pytest.mark.detail("qrdqn.loss.reduction")
def test_reduction_of_a_network(implementation):
    """Five quantiles give five times the loss of one, and a minibatch of any size the same."""
    growth = implementation.probe(quantiles=5, batch_size=4)
    implementation.assert_documented(
        growth,
        sum=[5.0, 1.0],  # SB3-Contrib
        mean=[1.0, 1.0],
        sum_of_pairs=[25.0, 1.0],
    )


@pytest.mark.detail("tqc.critic_loss.reduction")
def test_reduction_of_critics(implementation):
    """Five quantiles give the loss of one, and a minibatch of any size the same."""
    growth = implementation.probe(quantiles=5, batch_size=4)
    implementation.assert_documented(
        growth,
        sum=[5.0, 1.0],
        mean=[1.0, 1.0],  # SB3-Contrib
        sum_of_pairs=[25.0, 1.0],
    )


@pytest.mark.detail("tqc.target.dropped")
def test_dropped_quantiles(implementation):
    """Of 9, 8, 3 and 2, 1, 0 the two largest are left out, although one network says both."""
    quantiles = implementation.probe(quantiles=[[8.0, 9.0, 3.0], [2.0, 0.0, 1.0]], dropped=1)
    implementation.assert_documented(  # how many, the smallest, the largest, the mean
        quantiles,
        top_of_all=[4.0, 0.0, 3.0, 1.5],  # SB3-Contrib
        top_of_each=[4.0, 0.0, 8.0, 3.0],
        bottom_of_all=[4.0, 2.0, 9.0, 5.5],
        none=[6.0, 0.0, 9.0, 23.0 / 6.0],
    )
