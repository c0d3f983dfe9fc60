"""Measurements tell variants apart: of wrong code in frameworks, or of agents of our own."""

from __future__ import annotations

from types import ModuleType

import pytest

from rlregress import frameworks
from rlregress.catalogue import implementation, registry
from rlregress.catalogue.judge import judge_observation
from rlregress.faults import fault_tables
from rlregress.formulas import schedules
from rlregress.measurements import ddpg, dqn, ppo, ppo_loop, recurrent, sac, td3
from rlregress.model.fault_results import DETAILS

from . import quantile_variants, recurrent_variants, trpo_variants

#: of frameworks that no commit has to run
TABLES = (quantile_variants, recurrent_variants, trpo_variants)
#: what the two frameworks of every commit are measured by
SHARED = (ddpg, dqn, ppo, ppo_loop, sac, td3)
#: families of which a probe of each framework asks some details, and those details
FAMILIES = {"ddpg": set(), "dqn": {"dqn.exploration.draw"}, "sac": set(), "td3": set()}


def map_shown_variants() -> dict[str, set[str]]:
    """Return detail -> variants that a framework documents, or that a fault injected into one is.

    A nightly test injects all faults.
    """
    shown = {id: set() for id in registry.list_detail_ids()}
    names = frameworks.list_framework_names()
    for name in names:
        for entry in implementation.load_all_expectations(frameworks.get_adapter(name)):
            shown[entry.id].add(entry.variant)
    for fault in fault_tables.load_faults(DETAILS, names):
        for id in fault.turns:
            shown[id] |= {fault.finds} - {""}
    return shown


def test_every_measurement_is_shown_several_variants():
    """By frameworks and their faults, or else here."""
    shown = map_shown_variants()
    shown["ppo.entropy.schedule"].add("by_rollout")
    for table in (*SHARED, *TABLES):
        for id in table.MEASUREMENTS:
            assert len(shown[id]) > 1, id


def test_every_detail_of_a_family_has_a_measurement():
    """But for those that are asked by a probe of each framework."""
    probed = FAMILIES | {name: table.PROBED for table in TABLES for name in table.FAMILIES}
    measured = {id for table in (*SHARED, *TABLES) for id in table.MEASUREMENTS}
    for name, by_probes in probed.items():
        details = {detail.id for detail in registry.list_details_of_family(name)}
        assert details - measured == by_probes & details


@pytest.mark.parametrize(
    ("table", "id"), [pytest.param(t, id, id=id) for t in TABLES for id in t.VARIANTS]
)
def test_variants_are_told_apart(table: ModuleType, id: str):
    """What is measured on an agent of one variant is judged to be that variant."""
    detail, judged = registry.get_detail(id), {}
    for variant, options in table.VARIANTS[id].items():
        observed = table.MEASUREMENTS[id](table.make_agent(**options), detail.copy_inputs())
        judged[variant] = judge_observation(detail, observed).variant_or_reason
    assert judged == {variant: variant for variant in judged}


def test_an_entropy_coefficient_that_falls_is_told_from_one_that_stays():
    """No framework offers it, and no change of a line makes one do it."""

    def train(settings):
        rollouts = settings.total // settings.steps
        factors = schedules.make_linear_schedule_by_rollout(rollouts, settings.minibatches)
        gradients = list(-settings.entropy_coefficient * factors)
        return ppo_loop.RecordedTraining(log_std_gradients=gradients)

    detail = registry.get_detail("ppo.entropy.schedule")
    observed = ppo_loop.MEASUREMENTS[detail.id](train, detail.copy_inputs())
    assert judge_observation(detail, observed).variant == "by_rollout"


def test_agents_that_differ_have_no_variant():
    """A probe of two agents that do not do the same finds no known variant."""
    detail = registry.get_detail("recurrent.rollout")
    agents = recurrent_variants.Counting(), recurrent_variants.Counting(resets=(False, False))
    probe = recurrent.make_probe_averaged_over_agents(recurrent.measure_memory_in_rollout, *agents)
    assert judge_observation(detail, probe(detail.copy_inputs())).variant is None


def test_an_update_of_two_steps_is_no_answer():
    """A loss cannot be read where the optimiser steps twice."""

    def twice(settings):
        record = recurrent_variants.Counting()(settings)
        record.losses = [1.0, 1.0]
        return record

    with pytest.raises(RuntimeError, match="expected one step of the optimiser, found 2"):
        recurrent.measure_step_counts_of_means(
            twice, registry.get_detail("recurrent.padding").copy_inputs()
        )
