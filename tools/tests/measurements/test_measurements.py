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
def test_every_variant_of_every_measured_detail_is_here(table: ModuleType):
    """An agent can be all that the catalogue knows."""
    known = {id: set(variants) for id, variants in table.VARIANTS.items()}
    assert known == {id: set(registry.get_detail(id).variants) for id in table.MEASUREMENTS}
    details = {
        detail.id for name in table.FAMILIES for detail in registry.list_details_of_family(name)
    }
    assert details - table.PROBED - known.keys() == set()


@pytest.mark.parametrize(("table", "id"), DETAILS)
def test_variants_are_told_apart(table: ModuleType, id: str):
    """What is measured on an agent of one variant is judged to be that variant."""
    detail, judged = registry.get_detail(id), {}
    for variant, options in table.VARIANTS[id].items():
        observed = table.MEASUREMENTS[id](table.make_agent(**options), detail.copy_inputs())
        judged[variant] = judge_observation(detail, observed).variant_or_reason
    assert judged == {variant: variant for variant in judged}


@pytest.mark.parametrize("table", [ddpg_variants, dqn_variants, quantile_variants])
def test_what_an_entry_observes_is_the_text_of_its_measurement(table: ModuleType):
    """The catalogue says what the measurement does in its own words."""
    # which a probe of each framework asks as well
    measured = table.MEASUREMENTS.keys() - {"target.hard_update_period"}
    texts = {id: " ".join(table.MEASUREMENTS[id].__doc__.split()) for id in measured}
    assert texts == {id: registry.get_detail(id).observed for id in measured}


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
