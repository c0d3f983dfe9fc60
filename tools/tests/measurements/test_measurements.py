"""Measurements tell variants apart: frameworks and the faults injected into them show several."""

from __future__ import annotations

import math

import pytest

from rlregress import frameworks
from rlregress.catalogue import implementation, registry
from rlregress.catalogue.judge import judge_observation
from rlregress.faults import fault_tables
from rlregress.formulas import schedules
from rlregress.measurements import ddpg, dqn, ppo_loop, ppo_trainings, recurrent, sac, td3, trpo
from rlregress.measurements.loss_minimum import find_argmin_of_loss
from rlregress.model.fault_results import DETAILS

#: what several frameworks are measured by
TABLES = (ddpg, dqn, ppo_trainings, sac, td3, trpo)
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


def test_every_detail_of_a_family_has_a_measurement():
    """Each is shown several variants."""
    shown = map_shown_variants()
    shown["ppo.entropy.schedule"].add("by_rollout")
    measured = [id for table in TABLES for id in table.MEASUREMENTS]
    # whose measurements each framework names with its probes
    measured += [id for id in shown if id.partition(".")[0] in ("qrdqn", "recurrent", "tqc")]
    assert [id for id in measured if len(shown[id]) < 2] == []
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


def test_what_is_no_answer():
    """Agents that differ, an update of two steps, and a straight line without a lowest place."""
    detail = registry.get_detail("recurrent.rollout")
    expected = detail.compute_expected_vectors()
    agents = expected["reset_at_ends"], expected["never_reset"]
    probe = recurrent.make_probe_averaged_over_agents(lambda agent, inputs: agent, *agents)
    assert judge_observation(detail, probe({})).variant is None
    inputs = registry.get_detail("recurrent.padding").copy_inputs()
    with pytest.raises(RuntimeError, match="expected one step of the optimiser, found 2"):
        recurrent.count_steps_in_loss_means(
            lambda _: ppo_loop.RecordedTraining(losses=[1.0, 1.0]), inputs
        )
    assert math.isnan(find_argmin_of_loss(lambda q: abs(q - 0.6)))


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_target_of_a_squared_error(factor):
    """Whatever the factor before it."""
    assert find_argmin_of_loss(lambda q: factor * (q - 0.6) ** 2) == pytest.approx(0.6)
