"""Which variant an observation is, and the report of a variant that is not the documented one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from rlregress.details.catalogue import Detail
from rlregress.model.detail_answers import variant_words


class Documented(Protocol):
    """What a report needs of an expectation (see ``expectations.Expectation``)."""

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
    """What an observation says.

    Attributes:
        detail: the id.
        variant: the one variant that matches, or None.
        reason: why there is no variant; empty if there is one.
        distances: variant -> scaled error; empty if the observation cannot be compared.
        expected: variant -> expected vector, float64 [k].
        observed: float64 [k], or None if the probe gave nothing.
        unprobed: the code is none that the suite knows, and could not be probed.
        lacking: the package that a probe needs and that is not installed, in a sentence.
        inputs: what a test gives by name; the rest are the catalogue's inputs.
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
    def found(self) -> str:
        """The variant, or the reason in its place."""
        return self.reason if self.variant is None else self.variant


def scaled_error(observed: np.ndarray, expected: np.ndarray, scales: np.ndarray) -> float:
    """Largest over components of |observed - expected| / scale; all [k]."""
    return float(np.max(np.abs(observed - expected) / scales))


def judge(detail: Detail, observed: object) -> Judgement:
    """The one variant whose expectation is within tolerance while all others are far away.

    Args:
        detail: a catalogue entry.
        observed: what a probe returned; converted to float64, a number to [1].

    Returns:
        A judgement with variant None and the reason if the observation is no float vector of the
        right shape, holds a number that is not finite, or matches no variant or several.
    """
    expected = detail.expected()

    def undecided(reason: str, vector: np.ndarray | None) -> Judgement:
        return Judgement(detail.id, None, reason, {}, expected, vector)

    try:
        vector = np.atleast_1d(np.asarray(observed, dtype=np.float64))
    except (TypeError, ValueError):
        return undecided(f"not a float vector: {observed!r}", None)
    shape = next(iter(expected.values())).shape
    if vector.shape != shape:
        return undecided(f"wrong shape: {list(vector.shape)}, expected {list(shape)}", vector)
    if not np.all(np.isfinite(vector)):
        return undecided(f"not finite: {show(vector)}", vector)

    distances = _distances(vector, expected, detail.error_scales())
    variant, reason = _decide(detail, distances)
    return Judgement(detail.id, variant, reason, distances, expected, vector)


def _distances(
    observed: np.ndarray, expected: Mapping[str, np.ndarray], scales: np.ndarray
) -> dict[str, float]:
    return {name: scaled_error(observed, e, scales) for name, e in expected.items()}


def _decide(detail: Detail, distances: Mapping[str, float]) -> tuple[str | None, str]:
    """The one variant within tolerance with all others far away; or None, and the reason."""
    matching = [name for name, d in distances.items() if d <= detail.tolerance]
    if not matching:
        return None, "no variant matches"
    if len(matching) > 1:
        return None, f"{len(matching)} variants match: {', '.join(matching)}"
    limit = detail.margin * detail.tolerance
    near = [n for n, d in distances.items() if n not in matching and d < limit]
    if near:
        one = variant_words(matching[0])
        return None, f"{one} matches, but {', '.join(map(variant_words, near))} is not far away"
    return matching[0], ""


def judge_among(detail: Detail, answer: Judgement, stated: Mapping[str, np.ndarray]) -> Judgement:
    """The same observation, held against the stated numbers of some variants alone.

    Args:
        detail: a catalogue entry, with the inputs that were answered.
        answer: of ``judge`` for these inputs.
        stated: variant -> expected vector [k].

    Returns:
        ``answer`` itself if its observation could not be compared.
    """
    if answer.observed is None or not answer.distances:
        return answer
    distances = _distances(answer.observed, stated, detail.error_scales())
    variant, reason = _decide(detail, distances)
    return replace(answer, variant=variant, reason=reason, distances=distances, expected=stated)


def show(vector: np.ndarray) -> str:
    """A vector as a reader wants it: seven significant digits."""
    return "[" + ", ".join(f"{x:.7g}" for x in vector) + "]"


def show_inputs(inputs: Mapping[str, Any]) -> str:
    """Inputs as a test names them: ``q_values = [3.0, 4.0], reward = 1.0``."""
    plain = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in inputs.items()}
    return ", ".join(f"{name} = {value}" for name, value in plain.items())


def _ratio(observed: np.ndarray, expected: np.ndarray) -> str:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = observed / expected
    return "[" + ", ".join(f"{x:.4g}" if np.isfinite(x) else "-" for x in ratio) + "]"


def record(detail: str, scope: str, variant: str, version: str) -> str:
    """The table of a file of expectations that records ``variant`` from ``version`` on."""
    return (
        f'[[detail]]\nid = "{detail}"\nscope = "{scope}"\nvariant = "{variant}"\n'
        f'since = "{version}"\nsource = "..."'
    )


def report(
    detail: Detail, judgement: Judgement, documented: Documented, framework: str, version: str
) -> str:
    """The failure text of a detail that is not as documented.

    First line: ``sac.critic_loss.scale: none (documented: half, since 0.6.0)``; where a known
    deviation is documented and another variant is found, the first lines say that this record is
    stale. Then the numbers; then, if a variant was found, what to write into the expectations.

    Args:
        detail: the catalogue entry.
        judgement: of the observation.
        documented: the expectation that does not hold.
        framework: name of the adapter, which names the file of expectations.
        version: of the package under test, the first version that the new entry is recorded for.
    """
    stale = bool(documented.deviation) and judgement.variant is not None
    if stale:
        link = f" ({documented.upstream})" if documented.upstream else ""
        headline = [
            f"{detail.id}: {variant_words(judgement.found)}; the known deviation "
            f"'{documented.variant}' is gone: the record is stale",
            f"  it says since {documented.since}: {documented.deviation}{link}",
        ]
    else:
        headline = [
            f"{detail.id}: {variant_words(judgement.found)} "
            f"(documented: {variant_words(documented.variant)}, since {documented.since})"
        ]
    lines = [
        *headline,
        f"  {detail.question}",
        f"  {framework} {version}, scope {documented.scope}; documented in: {documented.source}",
    ]
    if judgement.inputs:
        lines.append(f"  inputs: {show_inputs(judgement.inputs)}")
    observed = judgement.observed
    if observed is not None:
        lines.append(f"  observed: {show(observed)}")
    wanted = judgement.expected.get(documented.variant)
    wanted_words = variant_words(documented.variant)
    if wanted is not None:
        meaning = detail.variants[documented.variant].meaning
        lines.append(f"  expected of {wanted_words}: {show(wanted)} ({meaning})")
    if judgement.variant is not None:
        meaning = detail.variants[judgement.variant].meaning
        expected = judgement.expected[judgement.variant]
        found = variant_words(judgement.variant)
        lines.append(f"  expected of {found}: {show(expected)} ({meaning})")
    elif judgement.distances:
        near = sorted(judgement.distances.items(), key=lambda pair: pair[1])[:3]
        listed = ", ".join(f"{variant_words(name)} ({error:.3g})" for name, error in near)
        lines.append(f"  nearest variants by error (tolerance {detail.tolerance:g}): {listed}")
    if observed is not None and wanted is not None and observed.shape == wanted.shape:
        lines.append(f"  observed / expected of {wanted_words}: {_ratio(observed, wanted)}")
    if judgement.variant is not None:
        occasion = "To bring the record up to date" if stale else "If the change is intended"
        lines += [
            f'{occasion}, set until = "{version}", or the first release that does so, in the entry '
            f"of '{documented.variant}' in baselines/details/{framework}/, and add:",
            record(detail.id, documented.scope, judgement.variant, version),
        ]
    return "\n".join(lines)
