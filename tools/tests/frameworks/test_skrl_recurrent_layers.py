"""Models with memory for skrl, where a version hands out less than the installed one."""

from __future__ import annotations

import torch

from rlregress.frameworks.skrl.recurrent_layers import Memory, RecurrentLayers


def test_a_version_without_truncations_gives_one_flag():
    """Where skrl hands out "terminated" alone, it decides."""
    layers = RecurrentLayers(2, Memory("gru", steps=4, environments=3)).train()
    rows, ends = torch.randn(12, 2), torch.zeros(12, 1, dtype=torch.bool)
    ends[1] = ends[6] = True
    inputs = {"rnn": [torch.zeros(2, 12, 6)], "terminated": ends}
    alone, _ = layers(rows, inputs)
    beside, _ = layers(rows, {**inputs, "truncated": torch.zeros_like(ends)})
    torch.testing.assert_close(alone, beside)
