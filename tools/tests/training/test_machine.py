"""Descriptions of machines: what several had a part in is told of all of them."""

from __future__ import annotations

import torch

from rlregress.inside import machine

ONE = {"cpu": "A", "instructions": "AVX2", "python": "3.11.7", "torch_threads": 1}


def test_what_two_machines_have_in_common_is_told_once():
    """A run that was continued elsewhere names both, where they differ."""
    assert machine.join_descriptions([ONE, ONE]) == ONE
    both = machine.join_descriptions([ONE, ONE | {"cpu": "B", "torch_threads": 2}])
    assert both == ONE | {"cpu": "A and B", "torch_threads": "1 and 2"}


def test_a_machine_in_words_leaves_out_what_is_not_known():
    """Records of before a field was noted have none."""
    assert machine.text(ONE) == "A, AVX2, Python 3.11.7, threads: 1"
    assert machine.text(ONE, ["instructions"]) == "AVX2"
    assert machine.text({"cpu": "A", "libc": ""}) == "A"
    assert machine.text({"libc": ""}) == "unknown"


def test_torch_tells_its_instruction_set_and_its_library_for_matrices():
    """The words are read from what torch prints of itself, of which versions differ."""
    description = machine.described()
    assert f"CPU capability usage: {description['instructions']}\n" in torch.__config__.show()
    assert description["blas"]
    assert description["libc"]
