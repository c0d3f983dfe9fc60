"""The catalogue is sound: unique, sourced, and able to tell its own variants apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rlregress.catalogue import registry
from rlregress.catalogue.judge import compute_scaled_error, judge_observation
from rlregress.catalogue.registry import Detail

DETAILS = registry.list_details()


def _nearest_pair(detail: Detail) -> tuple[float, str, str]:
    """Smallest error between two variants, in tolerances, and their names."""
    expected, scales = detail.compute_expected_vectors(), detail.make_error_scales()
    return min(
        (compute_scaled_error(expected[a], expected[b], scales) / detail.tolerance, a, b)
        for a, b in itertools.combinations(expected, 2)
    )


def test_every_family_has_details_and_no_id_occurs_twice() -> None:
    """The id starts with the family."""
    ids = [detail.id for detail in DETAILS]
    assert len(set(ids)) == len(ids)
    assert all(detail.family == detail.id.partition(".")[0] for detail in DETAILS)


def test_inputs_separate_all_pairs_of_variants() -> None:
    """An observation that matches one variant is a margin away from every other one."""
    for detail in DETAILS:
        tolerances, *pair = _nearest_pair(detail)
        assert tolerances > detail.margin + 1, (detail.id, pair)


def test_details_have_question_sources_variants_and_a_contract() -> None:
    """Each has a question, sources, two variants or more, and finite vectors of one length."""
    for detail in DETAILS:
        assert detail.question.endswith("?"), detail.id
        assert detail.sources, detail.id
        assert all(source.strip() for source in detail.sources), detail.id
        assert len(detail.variants) >= 2, detail.id
        assert all(v.name == name and v.meaning for name, v in detail.variants.items()), detail.id
        expected = list(detail.compute_expected_vectors().values())
        assert all(e.dtype == np.float64 and e.ndim == 1 for e in expected), detail.id
        assert np.all(np.isfinite(expected)), detail.id
        (length,) = {len(vector) for vector in expected}
        text = detail.observed.replace("[2 * updates]", "[12]")
        assert f"Observed, [{length}]" in text, detail.id


def test_every_variant_is_found_again_after_a_float32_rounding() -> None:
    """The expectation of a variant, rounded to float32, is judged to be that variant."""
    for detail in DETAILS:
        exact = detail.id == "sac.log_prob.tanh_correction"  # its contract asks for float64
        for name, expected in detail.compute_expected_vectors().items():
            rounded = expected if exact else expected.astype(np.float32)
            assert judge_observation(detail, rounded).variant_or_reason == name, detail.id


def test_inputs_are_the_same_for_every_probe() -> None:
    """The stored arrays are read-only; a probe's copy is its own."""
    detail = registry.get_detail("gae.truncation")
    copy = detail.copy_inputs()
    copy["rewards"][0] = 99.0
    assert detail.inputs["rewards"][0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        detail.inputs["rewards"][0] = 99.0


def test_inputs_that_are_no_literals_are_refused() -> None:
    """A contract holds numbers, arrays and texts, nothing that computes."""
    with pytest.raises(TypeError, match="x.y: input 'f' is function, expected a literal"):
        registry.make_detail("x.y", "?", "", (), {"f": lambda: 0}, {})


def _noise_statistics(sample: np.ndarray) -> list[float]:
    """Return the observation of the detail for a sample [n] of noise."""
    std = float(np.sqrt(np.mean(sample**2)))
    return [std, float(np.quantile(np.abs(sample), 0.999)) / std] if std else [0.0, 0.0]


def test_real_samples_of_the_target_noise_are_judged_by_their_law() -> None:
    """Simulated noise of each kind, at the sample size of the contract, is told apart."""
    detail = registry.get_detail("td3.target_noise.law")
    n = int(detail.inputs["samples"])
    for seed in range(5):
        z = np.random.default_rng(seed).normal(size=n)
        samples = {
            "scaled": np.clip(0.2 * z, -0.5, 0.5),
            "environment": np.clip(0.2 * z, -0.5, 0.5) / 4,
            "unclipped_scaled": 0.2 * z,
            "unclipped_environment": 0.2 * z / 4,
            "unit_sigma_scaled": np.clip(z, -0.5, 0.5),
            "unit_sigma_environment": np.clip(z, -0.5, 0.5) / 4,
            "none": 0.0 * z,
        }
        assert set(samples) == set(detail.variants)
        for name, d in samples.items():
            assert judge_observation(detail, _noise_statistics(d)).variant_or_reason == name
        weaker = _noise_statistics(np.clip(0.19 * z, -0.5, 0.5))
        assert judge_observation(detail, weaker).variant_or_reason == "no variant matches"
