"""Descriptions of machines are joined where they differ."""

from __future__ import annotations

import torch

from rlregress.inside import machine

MACHINE = {"cpu": "A", "instructions": "AVX2", "python": "3.11.7", "torch_threads": 1}


def test_common_fields_of_two_machines_are_listed_once():
    """A run that was continued elsewhere names both, where they differ."""
    assert machine.join_machine_descriptions([MACHINE, MACHINE]) == MACHINE
    both = machine.join_machine_descriptions([MACHINE, MACHINE | {"cpu": "B", "torch_threads": 2}])
    assert both == MACHINE | {"cpu": "A and B", "torch_threads": "1 and 2"}


def test_the_text_of_a_machine_leaves_out_unknown_fields():
    """Records of before a field was noted have none."""
    assert machine.format_machine_in_words(MACHINE) == "A, AVX2, Python 3.11.7, threads: 1"
    assert machine.format_machine_in_words(MACHINE, ["instructions"]) == "AVX2"
    assert machine.format_machine_in_words({"cpu": "A", "libc": ""}) == "A"
    assert machine.format_machine_in_words({"libc": ""}) == "unknown"


def test_torch_tells_its_instruction_set_and_its_library_for_matrices():
    """The words are read from what torch prints of itself, of which versions differ."""
    description = machine.describe_machine()
    assert f"CPU capability usage: {description['instructions']}\n" in torch.__config__.show()
    assert description["blas"]
    assert description["libc"]
