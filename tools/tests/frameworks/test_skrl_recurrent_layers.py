"""Models with memory for skrl: an update repeats what a rollout did, step by step."""

from __future__ import annotations

import pytest
import torch

from rlregress.frameworks.skrl.recurrent_layers import Memory, RecurrentLayers

STEPS, SEQUENCES = 4, 3
KINDS = ("gru", "lstm", "rnn")


def layers_of(kind):
    """Layers, the inputs of a few sequences [steps, sequences, 2], and where episodes end."""
    torch.manual_seed(0)
    layers = RecurrentLayers(2, Memory(kind, STEPS, SEQUENCES))
    ends = torch.zeros(STEPS, SEQUENCES, 1, dtype=torch.bool)
    ends[1, 0] = ends[2, 2] = True
    return layers, torch.randn(STEPS, SEQUENCES, 2), ends


def states_of(kind):
    """States that a memory begins with, as its specification says."""
    sizes = Memory(kind, STEPS, SEQUENCES).make_specification()["rnn"]["sizes"]
    return [torch.randn(size) for size in sizes]


def collected(layers, given, ends, states):
    """Outputs [steps, sequences, size] of single steps, and the states before each of them."""
    layers.eval()
    outputs, before = [], []
    for step in range(STEPS):
        before.append(states)
        made, states = layers(given[step], {"rnn": states})
        states = [state * ~ends[step, :, 0][None, :, None] for state in states]
        outputs.append(made)
    return torch.stack(outputs), before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("flag", ["terminated", "truncated"])
def test_a_sequence_is_its_steps(kind, flag):
    """In training mode a sequence goes as its steps did, and anew behind an end of either kind."""
    layers, given, ends = layers_of(kind)
    outputs, before = collected(layers, given, ends, states_of(kind))
    layers.train()
    # rows are sequences, one behind the other: [layers, sequences * steps, size] for each state
    states = [torch.stack(own, dim=2).flatten(1, 2) for own in zip(*before, strict=True)]
    flags = {"terminated": torch.zeros_like(ends), "truncated": torch.zeros_like(ends), flag: ends}
    rows = {name: own.transpose(0, 1).flatten(0, 1) for name, own in flags.items()}
    made, _ = layers(given.transpose(0, 1).flatten(0, 1), {"rnn": states, **rows})
    expected = outputs.transpose(0, 1).flatten(0, 1)
    torch.testing.assert_close(made, expected)
    without = {name: torch.zeros_like(own) for name, own in rows.items()}
    made, _ = layers(given.transpose(0, 1).flatten(0, 1), {"rnn": states, **without})
    assert not torch.allclose(made, expected), "an end changes nothing"


def test_a_version_without_truncations_gives_one_flag():
    """Where skrl hands out "terminated" alone, it decides."""
    layers, given, ends = layers_of("gru")
    layers.train()
    states = [torch.zeros(2, STEPS * SEQUENCES, 6)]
    rows = given.transpose(0, 1).flatten(0, 1)
    flags = ends.transpose(0, 1).flatten(0, 1)
    one, _ = layers(rows, {"rnn": states, "terminated": flags})
    both = {"terminated": flags, "truncated": torch.zeros_like(flags)}
    two, _ = layers(rows, {"rnn": states, **both})
    torch.testing.assert_close(one, two)
