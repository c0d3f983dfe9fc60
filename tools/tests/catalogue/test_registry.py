"""The catalogue is sound, tells its variants apart, and documents the defaults."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rlregress import suite
from rlregress.catalogue import documented_defaults, hyperparameter_names, registry
from rlregress.catalogue.hyperparameter_names import PrintedName
from rlregress.catalogue.judge import compute_scaled_error, judge_observation
from rlregress.catalogue.registry import Detail
from rlregress.errors import UserError

DETAILS = registry.list_details()


def _nearest_pair(detail: Detail) -> tuple[float, str, str]:
    """Smallest error between two variants, in tolerances, and their names."""
    expected, scales = detail.compute_expected_vectors(), detail.make_error_scales()
    return min(
        (compute_scaled_error(expected[a], expected[b], scales) / detail.tolerance, a, b)
        for a, b in itertools.combinations(expected, 2)
    )


def test_details_are_unique_sourced_and_tell_their_variants_apart():
    """Every family has some; inputs separate all pairs, also after a rounding to float32."""
    ids = [detail.id for detail in DETAILS]
    assert len(set(ids)) == len(ids)
    assert all(detail.family == detail.id.partition(".")[0] for detail in DETAILS)
    for detail in DETAILS:
        tolerances, *pair = _nearest_pair(detail)
        assert tolerances > detail.margin + 1, (detail.id, pair)
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
    for detail in DETAILS:
        exact = detail.id == "sac.log_prob.tanh_correction"  # its contract asks for float64
        for name, expected in detail.compute_expected_vectors().items():
            rounded = expected if exact else expected.astype(np.float32)
            assert judge_observation(detail, rounded).variant_or_reason == name, detail.id


def test_inputs_are_the_same_for_every_probe():
    """Those that are no literals are refused."""
    detail = registry.get_detail("gae.truncation")
    copy = detail.copy_inputs()
    copy["rewards"][0] = 99.0
    assert detail.inputs["rewards"][0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        detail.inputs["rewards"][0] = 99.0
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


ENTRY = """[[defaults]]
algorithm = "ppo"
scope = "library"
since = "1.0"
source = "here"
values = { rollout_steps = 64, target_kl = "none" }
names = { minibatch_size = "batches", value_clip_range = "clip", polyak_coefficient = "tau" }
[defaults.transforms]
minibatch_size = "count"
value_clip_range = "switch"
polyak_coefficient = "flipped"
"""


def _load(tmp_path, text):
    path = tmp_path / "defaults.toml"
    path.write_text(text)
    return documented_defaults.load_documented_defaults(path)


def test_own_numbers_and_back(tmp_path):
    """None means switched off."""
    (entry,) = _load(tmp_path, ENTRY)
    assert entry.values == {"rollout_steps": 64, "target_kl": None}
    with_names = 'names = { rollout_steps = "steps", clip_range = "eps",'
    (entry,) = _load(tmp_path, ENTRY.replace("names = {", with_names))
    hyperparameters = {"rollout_steps": 64, "minibatch_size": 16, "clip_range": 0.2,
                       "value_clip_range": None, "polyak_coefficient": 0.005}  # fmt: skip
    own = entry.convert_to_framework_parameters(hyperparameters)
    assert own == {"steps": 64, "batches": 4, "eps": 0.2, "clip": False, "tau": 0.995}
    assert entry.convert_to_our_parameters(own) == pytest.approx(hyperparameters)


def test_difference_names_both_values():
    """The printed name is right in any scope, and a dash in none."""
    clauses = documented_defaults.list_differences_from_documented(
        {"a": 1, "b": 1e6, "new": None}, {"a": 2, "b": 1000000, "old": 3}
    )
    assert clauses == [
        "a: 1 (documented: 2)",
        "new: none (documented: nothing)",
        "old: no such hyperparameter (documented: 3)",
    ]
    names = {("ppo", "library"): {"discount": "gamma"},
             ("ppo", "script"): {"epochs": "loss.rounds"}}  # fmt: skip

    def cell(hyperparameter, printed):
        return PrintedName("Table 6", "ppo", "row", "any", hyperparameter, printed, None, "")

    assert cell("discount", "gamma").is_right(names)
    assert not cell("discount", "discount").is_right(names)
    assert cell("epochs", "rounds").is_right(names)
    assert cell("discount", "-").is_right(names)
    assert not cell("epochs", "-").is_right(names)


@pytest.mark.parametrize("lacking", ["td3", "sac"])
def test_a_table_that_lacks_rows_is_an_error(tmp_path, monkeypatch, lacking):
    """Names of the thesis cannot vanish unnoticed: each table has its number of rows."""
    (tmp_path / "paper").mkdir()
    for path in (suite.locate_baselines() / "paper").glob("thesis_hyperparameters.*"):
        lines = path.read_text(encoding="utf-8").splitlines()
        if path.suffix == ".csv":
            lines.remove(next(row for row in lines if row.split(",")[1] == lacking))
        (tmp_path / "paper" / path.name).write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)
    with pytest.raises(UserError, match=f"rows for {lacking}, expected the 1[45] of its table"):
        list(hyperparameter_names.list_printed_names("any"))
