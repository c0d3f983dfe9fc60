"""Measurements tell variants apart: frameworks and the faults injected into them show several."""

from __future__ import annotations

import pytest

from rlregress import frameworks
from rlregress.catalogue import implementation, registry
from rlregress.catalogue.judge import judge_observation
from rlregress.faults import fault_tables
from rlregress.formulas import schedules
from rlregress.measurements import ddpg, dqn, ppo, ppo_loop, recurrent, sac, td3, trpo
from rlregress.measurements.recurrent import Record
from rlregress.model.fault_results import DETAILS

#: what several frameworks are measured by
TABLES = (ddpg, dqn, ppo, ppo_loop, sac, td3, trpo)
#: families, and the details of each that a probe of each framework asks
FAMILIES = {
    "ddpg": set(), "dqn": {"dqn.exploration.draw"}, "sac": set(), "td3": set(),
    "trpo": {"trpo.critic_updates"},
}  # fmt: skip


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
    """By frameworks and their faults; the schedule of the entropy is shown below."""
    shown = map_shown_variants()
    shown["ppo.entropy.schedule"].add("by_rollout")
    measured = [id for table in TABLES for id in table.MEASUREMENTS]
    # whose measurements each framework names with its probes
    measured += [id for id in shown if id.partition(".")[0] in ("qrdqn", "recurrent", "tqc")]
    assert [id for id in measured if len(shown[id]) < 2] == []


def test_every_detail_of_a_family_has_a_measurement():
    """But for those that are asked by a probe of each framework."""
    measured = {id for table in TABLES for id in table.MEASUREMENTS}
    for name, by_probes in FAMILIES.items():
        details = {detail.id for detail in registry.list_details_of_family(name)}
        assert details - measured == by_probes & details


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
    expected = detail.compute_expected_vectors()
    agents = expected["reset_at_ends"], expected["never_reset"]
    probe = recurrent.make_probe_averaged_over_agents(lambda agent, inputs: agent, *agents)
    assert judge_observation(detail, probe({})).variant is None


def test_an_update_of_two_steps_is_no_answer():
    """A loss cannot be read where the optimiser steps twice."""
    inputs = registry.get_detail("recurrent.padding").copy_inputs()
    with pytest.raises(RuntimeError, match="expected one step of the optimiser, found 2"):
        recurrent.measure_step_counts_of_means(lambda _: Record(losses=[1.0, 1.0]), inputs)
