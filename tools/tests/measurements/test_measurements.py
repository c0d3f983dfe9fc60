"""Measurements tell every variant apart, on agents of our own that can be each of them."""

from __future__ import annotations

from collections import defaultdict
from types import ModuleType

import pytest

from rlregress import frameworks
from rlregress.catalogue import implementation, registry
from rlregress.catalogue.judge import judge_observation
from rlregress.measurements import recurrent

from . import (
    ddpg_variants,
    dqn_variants,
    ppo_loop_variants,
    ppo_variants,
    quantile_variants,
    recurrent_variants,
    trpo_variants,
    twin_variants,
)

TABLES = (
    ddpg_variants, dqn_variants, ppo_loop_variants, ppo_variants, quantile_variants,
    recurrent_variants, trpo_variants, twin_variants,
)  # fmt: skip
#: each detail with variants here, with the module that has its measurement
DETAILS = [pytest.param(table, id, id=id) for table in TABLES for id in table.VARIANTS]


def map_documented_variants() -> dict[str, set[str]]:
    """Return detail -> the variants that the two frameworks of every commit document."""
    variants: dict[str, set[str]] = defaultdict(set)
    adapters = {adapter.name: adapter for adapter in frameworks.list_installed_adapters()}
    if not {"sb3", "torchrl"} <= adapters.keys():
        pytest.skip("it takes Stable-Baselines3 and TorchRL")
    for name in ("sb3", "torchrl"):
        entries = implementation.load_expectations_of_installed_version(adapters[name])
        for (id, _), entry in entries.items():
            variants[id].add(entry.variant)
    return variants


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__.rpartition(".")[2])
def test_every_measurement_is_shown_several_variants(table: ModuleType):
    """By the frameworks that every commit probes, or else here.

    Of variants that differ in one number two are enough: the same code measures all.
    """
    documented = map_documented_variants()
    for id in table.MEASUREMENTS:
        assert len(documented[id] | table.VARIANTS.get(id, {}).keys()) > 1, id
    details = {
        detail.id for name in table.FAMILIES for detail in registry.list_details_of_family(name)
    }
    assert details - table.PROBED - table.MEASUREMENTS.keys() == set()


@pytest.mark.parametrize(("table", "id"), DETAILS)
def test_variants_are_told_apart(table: ModuleType, id: str):
    """What is measured on an agent of one variant is judged to be that variant."""
    detail, judged = registry.get_detail(id), {}
    for variant, options in table.VARIANTS[id].items():
        observed = table.MEASUREMENTS[id](table.make_agent(**options), detail.copy_inputs())
        judged[variant] = judge_observation(detail, observed).variant_or_reason
    assert judged == {variant: variant for variant in judged}


def test_agents_that_differ_have_no_variant():
    """A probe of two agents that do not do the same finds no known variant."""
    detail = registry.get_detail("recurrent.rollout")
    agents = recurrent_variants.Counting(), recurrent_variants.Counting(resets=(False, False))
    probe = recurrent.make_probe_of_all_agents(recurrent.measure_memory_in_rollout, *agents)
    assert judge_observation(detail, probe(detail.copy_inputs())).variant is None


def test_an_update_of_two_steps_is_no_answer():
    """A loss cannot be read where the optimiser steps twice."""

    def twice(settings):
        record = recurrent_variants.Counting()(settings)
        record.losses = [1.0, 1.0]
        return record

    with pytest.raises(RuntimeError, match="expected one step of the optimiser, found 2"):
        recurrent.measure_padding_in_means(
            twice, registry.get_detail("recurrent.padding").copy_inputs()
        )
