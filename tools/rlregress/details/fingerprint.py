"""A framework's fingerprint: which variant each of its probes shows."""

from __future__ import annotations

from rlregress import missing_packages
from rlregress.details import catalogue
from rlregress.details.judge import Judgement, judge
from rlregress.frameworks.base import Adapter
from rlregress.model.detail_answers import UNPROBED
from rlregress.probing.interface import Probe, Unprobed
from rlregress.probing.isolation import observe


def run_probe(detail: catalogue.Detail, probe: Probe) -> Judgement:
    """Judge what one probe returns for a copy of the detail's inputs.

    A probe that raises is a judgement without a variant whose reason is the error: a detail that
    can no longer be probed is a finding, never a skip. Only where a package of an extra is not
    installed it is none.
    """
    try:
        observed = observe(probe, detail.copy_inputs())
    except Unprobed as error:
        text = f"{UNPROBED}{error}"
        unprobed = not error.known
        return Judgement(detail.id, None, text, {}, detail.expected(), unprobed=unprobed)
    except Exception as error:  # whatever the foreign code raises is the finding
        lacking = missing_packages.lacking(error)
        text = f"{UNPROBED}{lacking or f'{type(error).__name__}: {error}'}"
        return Judgement(detail.id, None, text, {}, detail.expected(), lacking=lacking)
    return judge(detail, observed)


def fingerprint(adapter: Adapter) -> dict[tuple[str, str], Judgement]:
    """Judgements of all probes of an adapter, by (detail id, scope), in catalogue order.

    Raises:
        UserError: a probe is for a detail that the catalogue does not know.
    """
    probes = adapter.observe.probes()
    for id, _ in probes:
        catalogue.get(id)
    order = {detail.id: place for place, detail in enumerate(catalogue.all_details())}
    cells = sorted(probes, key=lambda cell: (order[cell[0]], cell[1]))
    return {cell: run_probe(catalogue.get(cell[0]), probes[cell]) for cell in cells}
