"""A fingerprint judges every probe of an adapter, and hides none that fails."""

from __future__ import annotations

import numpy as np
import pytest

from rlregress.catalogue.fingerprint import collect_judgements
from rlregress.errors import UserError
from rlregress.formulas import gae
from tools.tests.small_adapters import SmallAdapter


def _adapter(probes) -> SmallAdapter:
    """Return an adapter with the probes that it is given."""
    return SmallAdapter({"list_probes": lambda: probes})


def _gae(inputs) -> np.ndarray:
    """Return a probe that computes with the inputs, in float32, as a framework would."""
    names = ("rewards", "values", "next_values", "terminated", "truncated", "discount", "trace")
    return gae.compute_advantages(*(inputs[name] for name in names)).astype(np.float32)


def test_every_probe_is_judged_by_the_inputs_of_its_detail() -> None:
    """The same probe in two scopes gives two entries, in catalogue order."""
    cells = [("gae.truncation", "script"), ("gae.truncation", "library")]
    adapter = _adapter(
        dict.fromkeys(cells, _gae) | {("sac.critic_loss.scale", "library"): lambda i: 4.25}
    )
    judgements = collect_judgements(adapter)
    assert {cell: judgement.variant for cell, judgement in judgements.items()} == {
        ("sac.critic_loss.scale", "library"): "half",
        ("gae.truncation", "library"): "bootstrap_truncation",
        ("gae.truncation", "script"): "bootstrap_truncation",
    }
    assert next(iter(judgements)) == ("sac.critic_loss.scale", "library")


def test_a_probe_that_raises_is_a_finding_with_the_error() -> None:
    """The other probes are judged all the same."""

    def broken(inputs) -> np.ndarray:
        raise AttributeError("no attribute 'critic'")

    adapter = _adapter(
        {("sac.critic_loss.scale", "library"): broken, ("gae.truncation", "library"): _gae}
    )
    judgements = collect_judgements(adapter)
    judgement = judgements["sac.critic_loss.scale", "library"]
    assert judgement.variant is None
    assert (
        judgement.variant_or_reason == "could not be probed: AttributeError: no attribute 'critic'"
    )
    assert judgements["gae.truncation", "library"].variant == "bootstrap_truncation"


def test_a_probe_cannot_change_the_inputs_of_the_next_one() -> None:
    """Each gets its own arrays."""

    def spoils(inputs) -> np.ndarray:
        judgements = _gae(inputs)
        inputs["rewards"][:] = 0.0
        return judgements

    cells = [("gae.truncation", scope) for scope in ("a", "b")]
    judgements = collect_judgements(_adapter(dict.fromkeys(cells, spoils)))
    assert [judgement.variant for judgement in judgements.values()] == ["bootstrap_truncation"] * 2


def test_a_probe_for_an_unknown_detail_is_an_error() -> None:
    """It would otherwise never be compared with anything."""
    with pytest.raises(UserError, match="unknown detail 'gae.truncatoin'; did you mean 'gae."):
        collect_judgements(_adapter({("gae.truncatoin", "library"): _gae}))
