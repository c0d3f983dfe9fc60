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
def test_a_generator_goes_on_after_the_block_as_if_nothing_had_been_drawn(library):
    """Whatever is drawn or seeded in the block."""
    with random_generators.restore_generator_states_after():
        random_generators.seed_generators(1)
        expected = [DRAWS[library]() for _ in range(2)]
        random_generators.seed_generators(1)
        observed = [DRAWS[library]()]
        with random_generators.restore_generator_states_after():
            DRAWS[library]()
            random_generators.seed_generators(2)
        assert [*observed, DRAWS[library]()] == expected


@pytest.mark.parametrize("library", DRAWS)
def test_a_draw_shows_in_the_states_of_its_generator_alone(library):
    """States can be compared by ``==``."""
    with random_generators.restore_generator_states_after():
        before = random_generators.read_comparable_states()
        assert random_generators.read_comparable_states() == before
        DRAWS[library]()
        after = random_generators.read_comparable_states()
        assert [name for name in before if before[name] != after[name]] == [library]
