"""Judges which variant an observation is, and reports variants that are not documented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from rlregress.catalogue.registry import Detail
from rlregress.model.detail_answers import describe_variant
from rlregress.probing.isolation import convert_observation


class Documented(Protocol):
    """The parts of an expectation that a report needs (see ``expectations.Expectation``)."""

    @property
    def scope(self) -> str: ...
    @property
    def variant(self) -> str: ...
    @property
    def since(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def deviation(self) -> str: ...
    @property
    def upstream(self) -> str: ...


@dataclass(frozen=True)
class Judgement:
    """The variant of a detail that the result of a probe matches, or the reason why none does.

    Attributes:
        detail: the id.
        variant: the one variant that matches, or None.
        reason: why there is no variant; empty if there is one.
        distances: variant -> scaled error; empty if the observation cannot be compared.
        expected: variant -> expected vector, float64 [k].
        observed: float64 [k], or None if the probe returned nothing.
        unprobed: whether the code is unknown to the suite and could not be probed.
        lacking: a sentence about a missing package that the probe needs.
        inputs: the inputs that a test replaced, by name.
    """

    detail: str
    variant: str | None
    reason: str = ""
    distances: Mapping[str, float] = field(default_factory=dict)
    expected: Mapping[str, np.ndarray] = field(default_factory=dict)
    observed: np.ndarray | None = None
    unprobed: bool = False
    lacking: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def variant_or_reason(self) -> str:
        """The variant, or the reason why there is none."""
        return self.reason if self.variant is None else self.variant


def compute_scaled_error(observed: np.ndarray, expected: np.ndarray, scales: np.ndarray) -> float:
    """Return the largest over components of |observed - expected| / scale; all [k]."""
    return float(np.max(np.abs(observed - expected) / scales))


def judge_observation(detail: Detail, observed: object) -> Judgement:
    """Find the variant within tolerance of a probe's result while all others are far away.

    Args:
        detail: a catalogue entry.
        observed: result of a probe; converted to float64, a number to [1].

    Returns:
        A judgement with variant None and the reason if the observation is no float vector of the
        right shape, contains a number that is not finite, or matches no variant or several.
    """
    expected = detail.compute_expected_vectors()

    def make_undecided_judgement(reason: str, vector: np.ndarray | None) -> Judgement:
        return Judgement(detail.id, None, reason, {}, expected, vector)

    try:
        vector = convert_observation(observed)
    except TypeError as error:
        return make_undecided_judgement(str(error), None)
    shape = next(iter(expected.values())).shape
    if vector.shape != shape:
        return make_undecided_judgement(
            f"wrong shape: {list(vector.shape)}, expected {list(shape)}", vector
        )
    if not np.all(np.isfinite(vector)):
        return make_undecided_judgement(f"not finite: {format_vector(vector)}", vector)

    # only now: a vector of another shape or with nan has no distance
    distances = _compute_distances(vector, expected, detail.make_error_scales())
    variant, reason = _choose_variant(detail, distances)
    return Judgement(detail.id, variant, reason, distances, expected, vector)


def _compute_distances(
    observed: np.ndarray, expected: Mapping[str, np.ndarray], scales: np.ndarray
) -> dict[str, float]:
    return {name: compute_scaled_error(observed, e, scales) for name, e in expected.items()}


def _choose_variant(detail: Detail, distances: Mapping[str, float]) -> tuple[str | None, str]:
    """Return the one variant within tolerance with all others far away; or None and the reason."""
    matching = [name for name, d in distances.items() if d <= detail.tolerance]
    if not matching:
        return None, "no variant matches"
    if len(matching) > 1:
        return None, f"{len(matching)} variants match: {', '.join(matching)}"
    limit = detail.margin * detail.tolerance
    # a variant just outside the tolerance makes the match ambiguous
    near = [n for n, d in distances.items() if n not in matching and d < limit]
    if near:
        match = describe_variant(matching[0])
        return (
            None,
            f"{match} matches, but {', '.join(map(describe_variant, near))} is not far away",
        )
    return matching[0], ""


def judge_against_stated_variants(
    detail: Detail, judgement: Judgement, stated: Mapping[str, np.ndarray]
) -> Judgement:
    """Judge the observation of a judgement again, against the numbers that a test states.

    Args:
        detail: a catalogue entry with the inputs of the answer.
        judgement: the judgement for these inputs.
        stated: variant -> expected vector [k].

    Returns:
        ``judgement`` itself if its observation could not be compared.
    """
    if judgement.observed is None or not judgement.distances:
        return judgement
    distances = _compute_distances(judgement.observed, stated, detail.make_error_scales())
    variant, reason = _choose_variant(detail, distances)
    return replace(judgement, variant=variant, reason=reason, distances=distances, expected=stated)


def format_vector(vector: np.ndarray) -> str:
    """Format a vector with seven significant digits."""
    return "[" + ", ".join(f"{x:.7g}" for x in vector) + "]"


def format_inputs(inputs: Mapping[str, Any]) -> str:
    """Format inputs as a test names them: ``q_values = [3.0, 4.0], reward = 1.0``."""
    plain = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in inputs.items()}
    return ", ".join(f"{name} = {value}" for name, value in plain.items())


def _format_ratio_to_expected(observed: np.ndarray, expected: np.ndarray) -> str:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = observed / expected
    return "[" + ", ".join(f"{x:.4g}" if np.isfinite(x) else "-" for x in ratio) + "]"


def format_expectation_entry(detail: str, scope: str, variant: str, version: str) -> str:
    """Format the table of an expectations file that records ``variant`` from ``version`` on."""
    return (
        f'[[detail]]\nid = "{detail}"\nscope = "{scope}"\nvariant = "{variant}"\n'
        f'since = "{version}"\nsource = "..."'
    )


def format_deviation_report(
    detail: Detail, judgement: Judgement, documented: Documented, framework: str, version: str
) -> str:
    """Format the failure text of a detail that is not as documented.

    First line: ``sac.critic_loss.scale: none (documented: half, since 0.6.0)``. If a known
    deviation is documented and another variant is found, the first lines say that this record is
    stale. Then come the numbers and, if a variant was found, the entry to write into the
    expectations.

    Args:
        detail: the catalogue entry.
        judgement: of the observation.
        documented: the violated expectation.
        framework: name of the adapter and of its file of expectations.
        version: of the package under test, the first version of the new entry.
    """
    is_stale = bool(documented.deviation) and judgement.variant is not None
    if is_stale:
        link = f" ({documented.upstream})" if documented.upstream else ""
        headline = [
            f"{detail.id}: {describe_variant(judgement.variant_or_reason)}; the known deviation "
            f"'{documented.variant}' is gone: the record is stale",
            f"  it says since {documented.since}: {documented.deviation}{link}",
        ]
    else:
        headline = [
            f"{detail.id}: {describe_variant(judgement.variant_or_reason)} "
            f"(documented: {describe_variant(documented.variant)}, since {documented.since})"
        ]
    lines = [
        *headline,
        f"  {detail.question}",
        f"  {framework} {version}, scope {documented.scope}; documented in: {documented.source}",
    ]
    if judgement.inputs:
        lines.append(f"  inputs: {format_inputs(judgement.inputs)}")
    observed = judgement.observed
    if observed is not None:
        lines.append(f"  observed: {format_vector(observed)}")
    expected_vector = judgement.expected.get(documented.variant)
    documented_words = describe_variant(documented.variant)
    if expected_vector is not None:
        meaning = detail.variants[documented.variant].meaning
        lines.append(
            f"  expected of {documented_words}: {format_vector(expected_vector)} ({meaning})"
        )
    if judgement.variant is not None:
        meaning = detail.variants[judgement.variant].meaning
        expected = judgement.expected[judgement.variant]
        found_words = describe_variant(judgement.variant)
        lines.append(f"  expected of {found_words}: {format_vector(expected)} ({meaning})")
    elif judgement.distances:
        nearest = sorted(judgement.distances.items(), key=lambda pair: pair[1])[:3]
        nearest_text = ", ".join(
            f"{describe_variant(name)} ({error:.3g})" for name, error in nearest
        )
        lines.append(
            f"  nearest variants by error (tolerance {detail.tolerance:g}): {nearest_text}"
        )
    if (
        observed is not None
        and expected_vector is not None
        and observed.shape == expected_vector.shape
    ):
        ratio = _format_ratio_to_expected(observed, expected_vector)
        lines.append(f"  observed / expected of {documented_words}: {ratio}")
    if judgement.variant is not None:
        occasion = "To bring the record up to date" if is_stale else "If the change is intended"
        lines += [
            f'{occasion}, set until = "{version}", or the first release that does so, in the entry '
            f"of '{documented.variant}' in baselines/details/{framework}/, and add:",
            format_expectation_entry(detail.id, documented.scope, judgement.variant, version),
        ]
    return "\n".join(lines)
