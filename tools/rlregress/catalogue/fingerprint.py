"""Fingerprints of frameworks: the variant that each probe shows."""

from __future__ import annotations

from rlregress import missing_packages
from rlregress.catalogue import registry
from rlregress.catalogue.judge import Judgement, judge_observation
from rlregress.frameworks.base import Adapter
from rlregress.model.detail_answers import UNPROBED
from rlregress.probing.interface import Probe, Unprobed
from rlregress.probing.isolation import run_probe_isolated


def run_and_judge_probe(detail: registry.Detail, probe: Probe) -> Judgement:
    """Judge the result of one probe for a copy of the detail's inputs.

    A probe that raises gives a judgement without a variant, and the error is its reason. Thus a
    detail that can no longer be probed is a finding, never a skip, unless a package of an extra is
    missing.
    """
    try:
        observed = run_probe_isolated(probe, detail.copy_inputs())
    except Unprobed as error:
        text = f"{UNPROBED}{error}"
        unprobed = not error.known
        return Judgement(
            detail.id, None, text, {}, detail.compute_expected_vectors(), unprobed=unprobed
        )
    except Exception as error:  # any error of foreign code is the finding
        lacking = missing_packages.describe_missing_package(error)
        text = f"{UNPROBED}{lacking or f'{type(error).__name__}: {error}'}"
        return Judgement(
            detail.id, None, text, {}, detail.compute_expected_vectors(), lacking=lacking
        )
    return judge_observation(detail, observed)


def collect_judgements(adapter: Adapter) -> dict[tuple[str, str], Judgement]:
    """Return judgements of all probes of an adapter, by (detail id, scope), in catalogue order.

    Raises:
        UserError: a probe is for a detail that is not in the catalogue.
    """
    probes = adapter.observe.list_probes()
    for id, _ in probes:
        registry.get_detail(id)
    order = {detail.id: place for place, detail in enumerate(registry.list_details())}
    cells = sorted(probes, key=lambda cell: (order[cell[0]], cell[1]))
    return {cell: run_and_judge_probe(registry.get_detail(cell[0]), probes[cell]) for cell in cells}
