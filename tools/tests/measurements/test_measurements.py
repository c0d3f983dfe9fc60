"""Measurements tell every variant apart, on agents of our own that can be each of them."""

from __future__ import annotations

from types import ModuleType

import pytest

from rlregress.catalogue import registry
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
#: each detail, with the module that has its measurement and its variants
DETAILS = [pytest.param(table, id, id=id) for table in TABLES for id in table.VARIANTS]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__.rpartition(".")[2])
def test_every_measured_detail_has_several_variants_here(table: ModuleType):
    """Of variants that differ in one number two are enough: the same code measures all."""
    assert table.VARIANTS.keys() == table.MEASUREMENTS.keys()
    for id, variants in table.VARIANTS.items():
        assert len(variants) > 1, id
    details = {
        detail.id for name in table.FAMILIES for detail in registry.list_details_of_family(name)
    }
    assert details - table.PROBED - table.VARIANTS.keys() == set()


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
