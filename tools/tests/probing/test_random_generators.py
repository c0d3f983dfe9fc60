"""The global random generators are seeded and restored together."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from rlregress.probing import random_generators

DRAWS = {
    "python": random.random,
    "numpy": np.random.rand,
    "torch": lambda: torch.rand(1).item(),
}


@pytest.mark.parametrize("library", DRAWS)
def test_a_draw_shows_in_the_states_of_its_generator_alone(library):
    """States can be compared by ``==``."""
    with random_generators.restore_generator_states_after():
        before = random_generators.read_comparable_states()
        assert random_generators.read_comparable_states() == before
        DRAWS[library]()
        after = random_generators.read_comparable_states()
        assert [name for name in before if before[name] != after[name]] == [library]
