"""The sequential gate: a healthy cell ends early, a doubtful one gets more runs.

A cell has m stored runs and is looked at after 3, 6 and 12 new ones (``looks.SEQUENTIAL_LOOKS``).

Every verdict states two errors. *False alarm*: ``regressed`` somewhere although nothing changed.
Its probability over the whole session is at most alpha. At every look all stored runs are compared
with all new ones. The error is spent over the looks (``Looks.combine_p_values_of_looks``), and Holm
corrects over all cells, groups and critics together. ``improved`` is a second family with a
separate alpha, judged at the first look only: no run is spent on it.
*Miss*: ``holds`` although returns dropped.
Each verdict names the smallest drop that these looks detect with 80 % power. If that exceeds the
drop that matters, the verdict is ``inconclusive``, not ``holds``.

A critic is treated as a cell: a sample with a name, a group and its own share of the error. Its
runs are those of the cell that it belongs to.

The verdict does not depend on which run ends first. A look is taken when every undecided cell has
its whole block of runs. Runs beyond that block are ignored.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rlregress.errors import UserError
from rlregress.model.cells import CellVerdict, GroupVerdict, Verdicts
from rlregress.model.quantities import RETURNS, Quantity, compute_alpha_shares
from rlregress.model.verdict import HOLDS, INCONCLUSIVE, REGRESSED
from rlregress.verdicts import ceiling
from rlregress.verdicts.descriptive_statistics import (
    compute_interquartile_mean,
    compute_probability_of_improvement,
)
from rlregress.verdicts.effect import compute_group_interval, compute_welch_interval
from rlregress.verdicts.family import adjust_by_holm_with_names, combine_mid_p_values
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS, Looks, make_single_look
from rlregress.verdicts.missing import suggest_seeds_of_cell, suggest_seeds_of_group
from rlregress.verdicts.permutation import (
    PermutationPValues,
    compute_p_values_of_one_comparison,
    make_generator_from_values,
)
from rlregress.verdicts.power import estimate_smallest_group_drop
from rlregress.verdicts.rules import (
    CellSample,
    Rules,
    classify_rejected_change,
    compute_detectable_drop_of_cell,
    list_reasons_against_holding,
)

FloatArray = NDArray[np.float64]
Key = tuple[str, str]  # ("cell" or "group", name)
_DEFAULTS = Rules()


@dataclass(frozen=True)
class LookSample:
    """The runs of a cell at one look, sorted, with substitute values for failed runs.

    Attributes:
        stored, new: returns [m] and [n].
        known_stored, known_new: the values that a verdict describes: all returns, or, for another
            quantity, those of runs that have a number.
        failed: new runs among them that failed, or have no number.
        quantity: the kind of number.
    """

    stored: FloatArray
    new: FloatArray
    known_stored: FloatArray
    known_new: FloatArray
    failed: int
    quantity: Quantity = RETURNS

    @property
    def scale(self) -> float:
        """Denominator of the effect; nan without stored runs."""
        return (
            self.quantity.compute_scale(self.known_stored) if len(self.known_stored) else math.nan
        )

    @property
    def effect_fraction(self) -> float:
        """(mean(new) - mean(stored)) / scale of the known values; nan if there are none."""
        if not (len(self.known_stored) and len(self.known_new)):
            return math.nan
        return float(self.known_new.mean() - self.known_stored.mean()) / self.scale

    def has_too_few_numbers(self, rules: Rules) -> bool:
        """Return whether too many new runs lack a number to state a detectable change."""
        share = rules.max_failed_share
        # a failed run has a return all the same: the worst one
        return self.quantity is not RETURNS and self.failed > share * len(self.new)


@dataclass
class CellOrGroupProgress:
    """The looks taken at a cell or a group, and the decision so far.

    Attributes:
        p: p-values of every look taken: of a drop, of a gain, and for cells also mid-p.
        look: number of looks taken.
        decided: ``regressed``, ``improved`` or ``moved``, else empty.
        reason: the sentence on the rejection, or why nothing was rejected.
        open: whether it continues to the next look.
        fraction: effect as a share of the scale at the last look.
    """

    p: list[PermutationPValues] = field(default_factory=list)
    look: int = 0
    decided: str = ""
    reason: str = "no change rejected"
    open: bool = True
    fraction: float = math.nan


@dataclass(frozen=True)
class GateProgress:
    """The gate's decisions so far, and the runs that its undecided cells wait for.

    Attributes:
        cells: the samples.
        looks: cell -> its looks.
        rules: the settings of the verdicts.
        members: tested cells and groups, by kind and name.
        groups: name -> its tested cells.
        adjusted_drop, adjusted_gain: Holm's p-values of the members, so far.
        needed: cell -> total of new runs that its next look waits for, for cells that lack some;
            empty: everything is decided.
        undecided: cells of the next look, whether they lack runs or not.
        look: number of looks taken.
    """

    cells: Mapping[str, CellSample]
    looks: Mapping[str, Looks]
    rules: Rules
    members: Mapping[Key, CellOrGroupProgress]
    groups: Mapping[str, list[str]]
    adjusted_drop: Mapping[Key, float]
    adjusted_gain: Mapping[Key, float]
    needed: Mapping[str, int]
    undecided: frozenset[str]
    look: int

    def count_looks_taken(self, cell_name: str) -> int:
        """Return how many looks were taken at a cell; a cell that cannot be tested has one."""
        member = self.members.get(("cell", cell_name))
        return member.look if member is not None else min(self.look, 1)

    def get_quantity_of_key(self, key: Key) -> Quantity:
        """Return the quantity by which a cell or a group is judged."""
        kind, name = key
        return self.cells[self.groups[name][0] if kind == "group" else name].quantity

    def get_family_size_and_alpha(self, quantity: Quantity) -> tuple[int, float]:
        """Return the number of cells and groups tested by a quantity, and its share of alpha."""
        counts = self.count_members_by_quantity(is_drop_family=not quantity.two_sided)
        if quantity not in counts:
            return 0, self.rules.alpha
        return counts[quantity], self.rules.alpha * compute_alpha_shares(counts)[quantity]

    def get_looks_and_level_share(self, cell_name: str) -> tuple[Looks, float]:
        """Return the looks that judge a cell, and the share of a level that one direction gets."""
        looks = self.looks[cell_name]
        # a change in either direction counts, so each direction is tested at half of the level
        if self.cells[cell_name].quantity.two_sided:
            return make_single_look(looks.run_counts[0]), 0.5
        return looks, 1.0

    def compute_holm_weights(self, is_drop_family: bool) -> Mapping[Key, float]:
        """Return the weights of a family's members in Holm's procedure; 1 for a single quantity.

        Args:
            is_drop_family: whether the family is that of drops. It has no two-sided members.
        """
        counts = self.count_members_by_quantity(is_drop_family)
        share_by_quantity = {
            quantity: share / counts[quantity]
            for quantity, share in compute_alpha_shares(counts).items()
        }
        # relative to the largest share: a single quantity has weights of exactly 1
        largest = max(share_by_quantity.values(), default=1.0)
        quantity_by_member = {key: self.get_quantity_of_key(key) for key in self.members}
        return {
            key: share_by_quantity[own_quantity] / largest
            for key, own_quantity in quantity_by_member.items()
            if own_quantity in counts
        }

    def count_members_by_quantity(self, is_drop_family: bool) -> Mapping[Quantity, int]:
        quantities = map(self.get_quantity_of_key, self.members)
        return Counter(
            quantity for quantity in quantities if not (is_drop_family and quantity.two_sided)
        )

    def get_sample_at_look(self, cell_name: str, look: int) -> LookSample:
        """Return the runs of a cell at a look, counted from 1."""
        # a cell without a look is described by the runs of its first
        seeds = self.looks[cell_name].run_counts[max(look, 1) - 1]
        return make_sample_of_first_seeds(cell_name, self.cells[cell_name], seeds)


def judge_cells_and_groups(
    cells: Mapping[str, CellSample], looks: Looks = SEQUENTIAL_LOOKS, rules: Rules = _DEFAULTS
) -> Verdicts:
    """Judge every cell and every group of at least two tested cells.

    Args:
        cells: cell name -> CellSample, the new runs by seed.

    Raises:
        UserError: as ``take_possible_looks``, and where runs are missing that a look needs.
    """
    return build_verdicts_of_gate(take_possible_looks(cells, dict.fromkeys(cells, looks), rules))


def take_possible_looks(
    cells: Mapping[str, CellSample], looks: Mapping[str, Looks], rules: Rules
) -> GateProgress:
    """Take every look that the runs so far allow.

    Args:
        cells: cell name -> CellSample, the new runs by seed; only whole blocks are judged.
        looks: by cell; all with the same weights and bounds.
        rules: see ``Rules``.

    Raises:
        UserError: a level outside (0, 1), a negative count, or a worst return that is not finite.
    """
    if not (0 < rules.alpha < 1 and 0 < rules.confidence < 1):
        raise UserError(
            f"alpha {rules.alpha} and confidence {rules.confidence} must lie between 0 and 1"
        )
    for name, cell in cells.items():
        _check_runs_of_cell(name, cell)
    # a hypothesis that no data could reject would only cost the others power
    tested = {
        name
        for name in cells
        if looks[name].could_reject_at_level(np.size(cells[name].stored), rules.alpha)
    }
    by_group: dict[str, list[str]] = defaultdict(list)
    for name in sorted(tested):
        if cells[name].group:
            by_group[cells[name].group].append(name)
    # a group of one cell would test the hypothesis of that cell a second time
    groups = {group: names for group, names in by_group.items() if len(names) >= 2}
    members: dict[Key, CellOrGroupProgress] = {
        ("cell", name): CellOrGroupProgress() for name in cells if name in tested
    }
    members |= {("group", group): CellOrGroupProgress() for group in groups}
    gate = GateProgress(cells, looks, rules, members, groups, {}, {}, {}, frozenset(cells), 0)
    count = max((len(look_.run_counts) for look_ in looks.values()), default=0)
    for look in range(count):
        # a cell that cannot be tested has its first block, to be reported
        open_cells = {n for n in cells if (members[("cell", n)].open if n in tested else look == 0)}
        needed = {n: looks[n].run_counts[look] for n in sorted(open_cells)}
        needed = {n: seeds for n, seeds in needed.items() if _count_new_runs(cells[n]) < seeds}
        gate = replace(gate, needed=needed, undecided=frozenset(open_cells), look=look)
        if needed or not open_cells:
            return gate
        gate = replace(_take_look(gate, look), needed={}, undecided=frozenset(), look=look + 1)
    return gate


def _count_new_runs(cell: CellSample) -> int:
    return int(np.size(cell.new)) + cell.failed


def _check_runs_of_cell(cell_name: str, cell: CellSample) -> None:
    if cell.failed < 0 or (cell.worst is not None and not math.isfinite(cell.worst)):
        raise UserError(
            f"cell {cell_name} has {cell.failed} failed runs and a worst return of {cell.worst}: "
            "expected a count of at least 0 and a finite return"
        )


def make_sample_of_first_seeds(cell_name: str, cell: CellSample, seeds: int) -> LookSample:
    """Return all stored and the first ``seeds`` new returns, with values for failed runs.

    Raises:
        UserError: a run failed, and the cell has no ``worst`` return to replace it.
    """
    stored = np.asarray(cell.stored, dtype=np.float64).ravel()
    new = np.asarray(cell.new, dtype=np.float64).ravel()
    new = np.concatenate([new, np.full(cell.failed, np.nan)])[:seeds]
    pooled = np.concatenate([stored, new])
    finite = pooled[np.isfinite(pooled)]
    if cell.quantity is not RETURNS:
        # a missing diagnostic is no evidence: the mean moves neither sample
        mean = float(finite.mean()) if len(finite) else 0.0
        return _fill_failed_runs(stored, new, mean, cell.quantity)
    # a crash must not improve a mean: it counts as the worst return on record
    if len(finite) < len(pooled) and cell.worst is None:
        raise UserError(
            f"cell {cell_name} has {len(pooled) - len(finite)} failed runs and no worst return: "
            "give the environment's worst recorded return, which a failed run counts as"
        )
    worst = min([*finite.tolist(), *([] if cell.worst is None else [cell.worst])], default=0.0)
    return _fill_failed_runs(stored, new, worst, cell.quantity)


def _fill_failed_runs(
    stored: FloatArray, new: FloatArray, substitute: float, quantity: Quantity
) -> LookSample:
    stored_is_known, new_is_known = np.isfinite(stored), np.isfinite(new)
    filled, filled_new = (
        np.where(stored_is_known, stored, substitute),
        np.where(new_is_known, new, substitute),
    )
    is_returns = quantity is RETURNS
    # sorted: the verdict must not depend on which run ends first
    return LookSample(
        np.sort(filled),
        np.sort(filled_new),
        np.sort(filled if is_returns else stored[stored_is_known]),
        np.sort(filled_new if is_returns else new[new_is_known]),
        int(np.count_nonzero(~new_is_known)),
        quantity,
    )


def _take_look(gate: GateProgress, look: int) -> GateProgress:
    """Return the progress after look ``look`` (from 0), for which every open cell has its runs."""
    rules, members = gate.rules, gate.members
    # the looks of all cells have the same weights and bounds
    any_looks = next(iter(gate.looks.values()))
    for (kind, name), member in members.items():
        if kind == "cell" and member.open:
            runs = gate.get_sample_at_look(name, look + 1)
            generator = make_generator_from_values(runs.stored, runs.new, seed=rules.seed)
            member.p.append(compute_p_values_of_one_comparison(runs.stored, runs.new, generator))
            member.look, member.fraction = look + 1, runs.effect_fraction
    for (kind, name), member in members.items():
        if kind == "group" and member.open:
            # a cell that was rejected before keeps its evidence: if nothing changed in the group
            # that rejection was a false alarm already
            cell_members = [members["cell", cell] for cell in gate.groups[name]]
            drop = float(
                combine_mid_p_values([float(cell.p[-1].drop_mid) for cell in cell_members])
            )
            gain = float(
                combine_mid_p_values([float(cell.p[-1].gain_mid) for cell in cell_members])
            )
            member.p.append(PermutationPValues(drop, gain, drop, gain, 0, False))
            member.look = look + 1
            fractions = [cell.fraction for cell in cell_members if not math.isnan(cell.fraction)]
            member.fraction = float(np.mean(fractions)) if fractions else math.nan
    weights = gate.compute_holm_weights(is_drop_family=True)
    adjusted_drop = adjust_by_holm_with_names(
        {key: _combine_p_values_of_drop(gate, key) for key in weights}, weights
    )
    adjusted_gain = gate.adjusted_gain
    # gains are a separate family with its own alpha, judged once: no run is spent on them
    if look == 0:
        weights = gate.compute_holm_weights(is_drop_family=False)
        adjusted_gain = adjust_by_holm_with_names(
            {key: _compute_first_gain_p_value(gate, key) for key in weights}, weights
        )
    for key, member in members.items():
        gain = adjusted_gain[key] if look == 0 else math.nan
        p = (math.nan, math.nan, adjusted_drop.get(key, math.nan), gain)
        verdict, reason = classify_rejected_change(
            member.fraction, p, rules, gate.get_quantity_of_key(key)
        )
        # a regression stays one, whatever later looks show
        if verdict and member.decided != REGRESSED:
            member.decided, member.reason = verdict, reason
        elif not member.decided:
            # an earlier verdict keeps its sentence
            member.reason = reason
        # diagnostics are judged once; further runs are not spent on them
        if member.decided == REGRESSED or gate.get_quantity_of_key(key).two_sided:
            member.open = False
    if look < len(any_looks.accept_cell):
        _stop_cells_and_groups_for_futility(gate, any_looks, look)
    return replace(gate, adjusted_drop=adjusted_drop, adjusted_gain=adjusted_gain)


def _stop_cells_and_groups_for_futility(gate: GateProgress, looks: Looks, look: int) -> None:
    """Stop judging groups and cells with a large p-value, unless a suspicious group needs them."""
    protected = set()
    for group, names in gate.groups.items():
        member_group = gate.members["group", group]
        if member_group.open and float(member_group.p[-1].drop) > looks.accept_group[look]:
            member_group.open = False
        # the evidence of a group is that of its cells, so a suspicious one needs more of their runs
        if member_group.open or member_group.decided == REGRESSED:
            protected.update(names)
    for (kind, name), member in gate.members.items():
        if kind == "cell" and member.open and name not in protected:
            member.open = float(member.p[-1].drop) <= looks.accept_cell[look]


def _combine_p_values_of_drop(gate: GateProgress, key: Key) -> float:
    looks = gate.looks[gate.groups[key[1]][0] if key[0] == "group" else key[1]]
    return float(looks.combine_p_values_of_looks([float(p.drop) for p in gate.members[key].p]))


def _compute_first_gain_p_value(gate: GateProgress, key: Key) -> float:
    """Return the p-value of a gain at the first look, or of a change if both directions count."""
    p = gate.members[key].p[0]
    # a change in either direction counts: twice the smaller one-sided p-value
    if gate.get_quantity_of_key(key).two_sided:
        return min(1.0, 2 * min(float(p.gain), float(p.drop)))
    return float(p.gain)


def build_verdicts_of_gate(gate: GateProgress) -> Verdicts:
    """Return the verdicts of a gate that has ended.

    Raises:
        UserError: runs are missing that a look needs.
    """
    if gate.needed:
        named = ", ".join(
            f"{name} has {_count_new_runs(gate.cells[name])} of {seeds} new runs"
            for name, seeds in gate.needed.items()
        )
        raise UserError(f"the next look needs runs that are not done: {named}; do them first")
    cells = {name: _build_cell_verdict(gate, name) for name in gate.cells}
    groups = {group: _build_group_verdict(gate, group, cells) for group in gate.groups}
    return Verdicts(
        cells=cells, groups=groups, alpha=gate.rules.alpha, hypotheses=len(gate.members)
    )


def _list_p_values(gate: GateProgress, key: Key) -> tuple[float, float, float, float]:
    """Return the p-values of drop and gain, then Holm's; nan where there was no test."""
    if key not in gate.members:
        return math.nan, math.nan, math.nan, math.nan
    drops = (math.nan, math.nan)
    if key in gate.adjusted_drop:
        drops = (_combine_p_values_of_drop(gate, key), gate.adjusted_drop[key])
    return drops[0], _compute_first_gain_p_value(gate, key), drops[1], gate.adjusted_gain[key]


def _build_cell_verdict(gate: GateProgress, cell_name: str) -> CellVerdict:
    rules, quantity = gate.rules, gate.cells[cell_name].quantity
    looks, level_share = gate.get_looks_and_level_share(cell_name)
    hypotheses, alpha = gate.get_family_size_and_alpha(quantity)
    alpha *= level_share
    # a cell that cannot be tested is described at its first look
    member = gate.members.get(("cell", cell_name), CellOrGroupProgress(look=1))
    runs = gate.get_sample_at_look(cell_name, member.look)
    stored, m, n = runs.known_stored, len(runs.known_stored), len(runs.new)
    before = float(stored.mean()) if m else math.nan
    after = float(runs.known_new.mean()) if len(runs.known_new) else math.nan
    p = _list_p_values(gate, ("cell", cell_name))
    visible = (
        compute_detectable_drop_of_cell(stored, looks, hypotheses, alpha, quantity, rules.floor)
        if m >= 2 and n and not math.isnan(p[1])
        else None
    )
    verdict, reason = member.decided, member.reason
    lacks_numbers = runs.has_too_few_numbers(rules)
    if not verdict:
        # where nothing could be tested there are no hypotheses
        level = alpha / max(hypotheses, 1)
        reasons = list_reasons_against_holding(
            stored, n, runs.failed, runs.effect_fraction, visible, looks, level, rules, quantity
        )
        verdict = INCONCLUSIVE if reasons else HOLDS
        if visible is not None and not lacks_numbers:
            loss = quantity.describe_loss(visible / runs.scale)
            in_returns = f" ({visible:.4g})" if quantity is RETURNS else ""
            reasons.append(f"the smallest change detected with 80 % power is {loss}{in_returns}")
        if (
            m >= 2
            and n
            and hypotheses
            and not lacks_numbers
            and (visible is None or visible > rules.must_detect * runs.scale)
        ):
            reasons.append(
                suggest_seeds_of_cell(
                    stored, looks, hypotheses, alpha, rules.must_detect, quantity, rules.floor
                )
            )
        reason = "; ".join([reason, *reasons]) + "."
    # the power was computed for runs that all have a number
    if lacks_numbers:
        visible = None
    return CellVerdict(
        verdict=verdict,
        reason=reason,
        group=gate.cells[cell_name].group,
        stored_seeds=len(runs.stored),
        new_seeds=n,
        failed=runs.failed,
        stored_mean=before,
        stored_sd=float(stored.std(ddof=1)) if m > 1 else math.nan,
        new_mean=after,
        scale=runs.scale,
        effect=after - before,
        effect_fraction=runs.effect_fraction,
        interval=compute_welch_interval(stored, runs.known_new, rules.confidence),
        p_drop=p[0],
        p_gain=p[1],
        adjusted_drop=p[2],
        adjusted_gain=p[3],
        alpha=rules.alpha,
        hypotheses=len(gate.members),
        visible_drop=visible,
        visible_fraction=None if visible is None else visible / runs.scale,
        look=member.look,
        looks=looks.run_counts,
        quantity=quantity.name,
        stored_middle=compute_interquartile_mean(stored),
        new_middle=compute_interquartile_mean(runs.known_new),
        improvement=compute_probability_of_improvement(stored, runs.known_new),
    )


def _build_group_verdict(
    gate: GateProgress, group: str, cells: Mapping[str, CellVerdict]
) -> GroupVerdict:
    rules, names = gate.rules, gate.groups[group]
    quantity = gate.get_quantity_of_key(("group", group))
    hypotheses, alpha = gate.get_family_size_and_alpha(quantity)
    member = gate.members["group", group]
    # the runs at the look that decided the group; a cell decided earlier has the runs of that look
    runs = [
        gate.get_sample_at_look(name, min(member.look, gate.members["cell", name].look))
        for name in names
    ]
    # the cell with the fewest runs limits what the group detects
    looks, level_share = min(
        (gate.get_looks_and_level_share(name) for name in names),
        key=lambda item: item[0].max_runs,
    )
    alpha *= level_share
    spreads = [
        cells[name].stored_sd / sample.scale for name, sample in zip(names, runs, strict=True)
    ]
    ceilings = [ceiling.are_returns_at_ceiling(sample.known_stored) for sample in runs]
    stored = tuple(len(sample.known_stored) for sample in runs)
    detectable = estimate_smallest_group_drop(
        stored, looks, spreads, hypotheses, alpha, floor=rules.floor, ceilings=ceilings
    )
    # a common drop that some cell cannot have is none that would be detected
    largest = min(
        quantity.compute_largest_loss(sample.known_stored) / sample.scale for sample in runs
    )
    total, failed = sum(len(sample.new) for sample in runs), sum(sample.failed for sample in runs)
    verdict, reason = member.decided, member.reason
    lacks_numbers = quantity is not RETURNS and failed / total > rules.max_failed_share
    visible = (
        detectable
        if math.isfinite(detectable) and detectable <= largest and not lacks_numbers
        else None
    )
    if not verdict:
        reasons = []
        if failed / total > rules.max_failed_share:
            reasons.append(f"{failed} of {total} new runs {quantity.missing}")
        if any(m < rules.min_stored for m in stored):
            reasons.append(f"a cell has fewer than {rules.min_stored} stored seeds")
        if member.fraction < -rules.must_detect or (
            quantity.two_sided and member.fraction > rules.must_detect
        ):
            reasons.append(
                f"{quantity.describe_change(member.fraction)}, too few seeds to reject it"
            )
        if visible is None and not lacks_numbers:
            reasons.append("no common drop would be detected with 80 % power")
        elif visible is not None and visible > rules.must_detect:
            reasons.append(f"{quantity.describe_common_loss(rules.must_detect)} could be missed")
        verdict = INCONCLUSIVE if reasons else HOLDS
        if visible is not None:
            loss = quantity.describe_common_loss(visible)
            reasons.append(f"the smallest change detected with 80 % power is {loss}")
            if visible > rules.must_detect:
                reasons.append(
                    suggest_seeds_of_group(
                        min(stored),
                        spreads,
                        looks,
                        visible,
                        rules.must_detect,
                        quantity,
                        rules.floor,
                    )
                )
        reason = "; ".join([reason, *reasons]) + "."
    described_samples = [sample for sample in runs if len(sample.known_new)]
    return GroupVerdict(
        verdict=verdict,
        reason=reason,
        cells=tuple(names),
        new_seeds=total,
        effect_fraction=member.fraction,
        interval=compute_group_interval(
            [(sample.known_stored, sample.known_new) for sample in described_samples],
            [sample.scale for sample in described_samples],
            rules.confidence,
        ),
        p_drop=(p := _list_p_values(gate, ("group", group)))[0],
        p_gain=p[1],
        adjusted_drop=p[2],
        adjusted_gain=p[3],
        alpha=rules.alpha,
        hypotheses=len(gate.members),
        visible_fraction=visible,
        look=member.look,
        looks=looks.run_counts,
        quantity=quantity.name,
    )
