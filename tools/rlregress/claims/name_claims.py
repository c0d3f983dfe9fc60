"""What Tables 6 to 8 of the thesis call a hyperparameter, as claims.

The names are kept, recorded and tested with the defaults
(``rlregress.details.hyperparameter_names``); here they take the form of claims, so that one report
holds everything that the sources say.
"""

from __future__ import annotations

from collections.abc import Iterator

from rlregress.claims.settle import settled
from rlregress.details import hyperparameter_names
from rlregress.frameworks.base import Adapter
from rlregress.model.settled_claims import Claim, Settled

#: the title of ``baselines/claims/thesis.toml``.
DOCUMENT = "Janssens 2025, How Stable are Baselines"


def settle_names(adapter: Adapter) -> Iterator[Settled]:
    """Every printed name of the framework of ``adapter``, settled."""
    names, version = adapter.parameter_names(), adapter.version()
    for cell in hyperparameter_names.cells(adapter.name):
        question = f"name of {cell.algorithm}.{cell.hyperparameter}"
        by_scope = {
            scope: called[cell.hyperparameter]
            for (algorithm, scope), called in names.items()
            if algorithm == cell.algorithm and cell.hyperparameter in called
        }
        right = cell.right(names)
        later = cell.wrong_until or ""
        reason = f"true from {later} on" if later and not right else ""
        verdict = "confirmed" if right else "outdated" if later else "refuted"
        recorded = "confirmed" if cell.recorded(version) else "outdated" if later else "refuted"
        claim = Claim(
            document=DOCUMENT,
            id=f"{cell.table}.{cell.algorithm}.{cell.row}.{cell.framework}",
            place=f"thesis, appendix D, {cell.table}, names",
            quote=cell.row,
            framework=cell.framework,
            default=question,
            note="" if right else cell.reason,
            says=(cell.printed,),
            verdicts={"": recorded},
        )
        yield settled(claim, version, verdict, by_scope, reason)
