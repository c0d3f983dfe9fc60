"""The sequential gate: a cell that is healthy ends early, one that is not gets more runs.

A cell has m stored runs and is looked at after 3, 6 and 12 new ones (``looks.SEQUENTIAL``).

Two errors, both stated with every verdict. *False alarm*: ``regressed`` somewhere although nothing
changed; its probability over the whole session is at most alpha. At every look all stored runs are
compared with all new ones, the error is spent over the looks (``Looks.spent``), and Holm corrects
over all cells, groups and critics together. ``improved`` is a second family with an alpha of its
own, judged at the first look only: no run is spent on it. *Miss*: ``holds`` although returns
dropped; each verdict names the smallest drop that these looks see with 80 % power, and where that
exceeds the drop that matters the verdict is ``inconclusive``, not ``holds``.

A critic is a cell like any other here: a sample with a name, a group and a share of the error of
its own, whose runs happen to be those of another cell.

Nothing here depends on which run ends first: a look is taken when every cell that is still
undecided has its whole block of runs, and runs beyond it are not looked at.
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
from rlregress.model.quantities import RETURNS, Quantity, shares
from rlregress.model.verdict import HOLDS, INCONCLUSIVE, REGRESSED
from rlregress.verdicts import ceiling
from rlregress.verdicts.descriptive_statistics import interquartile_mean, probability_of_improvement
from rlregress.verdicts.effect import group_interval, welch_interval
from rlregress.verdicts.family import holm, stouffer
from rlregress.verdicts.looks import SEQUENTIAL, Looks, fixed
from rlregress.verdicts.missing import seeds_for_cell, seeds_for_group
from rlregress.verdicts.permutation import PermutationP, content_generator, permutation_p
from rlregress.verdicts.power import smallest_group_drop
from rlregress.verdicts.rules import CellSample, Rules, decide, reasons_against, visible_drop

FloatArray = NDArray[np.float64]
Key = tuple[str, str]  # ("cell" or "group", name)
_DEFAULTS = Rules()


@dataclass(frozen=True)
class Sample:
    """The runs of a cell that one look compares, failures filled in, sorted.

    Attributes:
        stored, new: returns [m] and [n].
        known_stored, known_new: those that a verdict describes: of returns all of them, of another
            quantity the runs that have a number.
        failed: new runs among them that failed, or have no number.
        quantity: what the numbers are.
    """

    stored: FloatArray
    new: FloatArray
    known_stored: FloatArray
    known_new: FloatArray
    failed: int
    quantity: Quantity = RETURNS

    @property
    def scale(self) -> float:
        """What the effect is a share of; nan without stored runs."""
        return self.quantity.scale(self.known_stored) if len(self.known_stored) else math.nan

    @property
    def effect_fraction(self) -> float:
        """(mean(new) - mean(stored)) / scale, of what is known; nan where nothing is."""
        if not (len(self.known_stored) and len(self.known_new)):
            return math.nan
        return float(self.known_new.mean() - self.known_stored.mean()) / self.scale

    def has_too_few(self, rules: Rules) -> bool:
        """Whether so many new runs have no number that nothing is said of what would be seen."""
        share = rules.max_failed_share
        return self.quantity is not RETURNS and self.failed > share * len(self.new)


@dataclass
class Member:
    """How far one cell or one group has come.

    Attributes:
        p: evidence of every look that was taken: for a drop, for a gain, and of a cell mid-p.
        look: looks that were taken.
        decided: ``regressed``, ``improved`` or ``moved``, else empty.
        reason: the sentence on the rejection, or on what could not be rejected.
        open: it goes on to the next look.
        fraction: effect as a share of the scale at the last look.
    """

    p: list[PermutationP] = field(default_factory=list)
    look: int = 0
    decided: str = ""
    reason: str = "no change rejected"
    open: bool = True
    fraction: float = math.nan


@dataclass(frozen=True)
class Course:
    """What the runs so far decide, and what they leave open.

    Attributes:
        cells: the samples.
        looks: of each cell.
        rules: as given.
        members: cells and groups that are tested, by kind and name.
        groups: name -> its tested cells.
        adjusted_drop, adjusted_gain: Holm's p-values of the members, so far.
        needed: cell -> new runs in all that its next look waits for, where they are not all there;
            empty: everything is decided.
        undecided: cells that the next look is about, whether their runs are there or not.
        look: looks that were taken.
    """

    cells: Mapping[str, CellSample]
    looks: Mapping[str, Looks]
    rules: Rules
    members: Mapping[Key, Member]
    groups: Mapping[str, list[str]]
    adjusted_drop: Mapping[Key, float]
    adjusted_gain: Mapping[Key, float]
    needed: Mapping[str, int]
    undecided: frozenset[str]
    look: int

    def taken(self, name: str) -> int:
        """How many looks were taken at a cell; a cell that cannot be tested has one."""
        member = self.members.get(("cell", name))
        return member.look if member is not None else min(self.look, 1)

    def quantity(self, key: Key) -> Quantity:
        """What is judged of a cell or a group."""
        kind, name = key
        return self.cells[self.groups[name][0] if kind == "group" else name].quantity

    def family(self, quantity: Quantity) -> tuple[int, float]:
        """How many cells and groups are tested by a quantity, and its share of alpha."""
        counts = self._counts(drops=not quantity.two_sided)
        if quantity not in counts:
            return 0, self.rules.alpha
        return counts[quantity], self.rules.alpha * shares(counts)[quantity]

    def looks_at(self, name: str) -> tuple[Looks, float]:
        """The looks that a cell is judged at, and the share of a level that one side has."""
        looks = self.looks[name]
        if self.cells[name].quantity.two_sided:
            return fixed(looks.seeds[0]), 0.5
        return looks, 1.0

    def weights(self, drops: bool) -> Mapping[Key, float]:
        """Of the members of a family in Holm's procedure; 1 where all are of one quantity.

        Args:
            drops: of the family of drops, which has no members that are judged both ways.
        """
        counts = self._counts(drops)
        of = {quantity: share / counts[quantity] for quantity, share in shares(counts).items()}
        most = max(of.values(), default=1.0)
        of_members = {key: self.quantity(key) for key in self.members}
        return {
            key: of[members_of] / most
            for key, members_of in of_members.items()
            if members_of in counts
        }

    def _counts(self, drops: bool) -> Mapping[Quantity, int]:
        every = map(self.quantity, self.members)
        return Counter(quantity_ for quantity_ in every if not (drops and quantity_.two_sided))

    def sample(self, name: str, look: int) -> Sample:
        """The runs of a cell at a look, counted from 1."""
        seeds = self.looks[name].seeds[max(look, 1) - 1]
        return sample_at(name, self.cells[name], seeds)


def judge_cells(
    cells: Mapping[str, CellSample],
    looks: Looks = SEQUENTIAL,
    rules: Rules = _DEFAULTS,
) -> Verdicts:
    """Judge every cell and every group of at least two tested cells.

    Args:
        cells: cell name -> CellSample, the new runs by seed.

    Raises:
        UserError: as ``follow``, and where runs are missing that a look needs.
    """
    return verdicts_of(follow(cells, dict.fromkeys(cells, looks), rules))


def follow(cells: Mapping[str, CellSample], looks: Mapping[str, Looks], rules: Rules) -> Course:
    """Take every look that the runs so far allow.

    Args:
        cells: cell name -> CellSample, the new runs by seed; only whole blocks are looked at.
        looks: of each cell; all with the same weights and bounds.
        rules: see ``Rules``.

    Raises:
        UserError: a level outside (0, 1), a negative count, or a worst return that is not finite.
    """
    if not (0 < rules.alpha < 1 and 0 < rules.confidence < 1):
        raise UserError(
            f"alpha {rules.alpha} and confidence {rules.confidence} must lie between 0 and 1."
        )
    for name, cell in cells.items():
        _check(name, cell)
    tested = {
        name for name in cells if looks[name].could_reject(np.size(cells[name].stored), rules.alpha)
    }
    by_group: dict[str, list[str]] = defaultdict(list)
    for name in sorted(tested):
        if cells[name].group:
            by_group[cells[name].group].append(name)
    groups = {group: names for group, names in by_group.items() if len(names) >= 2}
    members: dict[Key, Member] = {("cell", name): Member() for name in cells if name in tested}
    members |= {("group", group): Member() for group in groups}
    course = Course(cells, looks, rules, members, groups, {}, {}, {}, frozenset(cells), 0)
    count = max((len(look_.seeds) for look_ in looks.values()), default=0)
    for look in range(count):
        # a cell that cannot be tested has its first block, to be reported
        open_cells = {n for n in cells if (members[("cell", n)].open if n in tested else look == 0)}
        needed = {n: looks[n].seeds[look] for n in sorted(open_cells)}
        needed = {n: seeds for n, seeds in needed.items() if _there(cells[n]) < seeds}
        course = replace(course, needed=needed, undecided=frozenset(open_cells), look=look)
        if needed or not open_cells:
            return course
        course = replace(_looked(course, look), needed={}, undecided=frozenset(), look=look + 1)
    return course


def _there(cell: CellSample) -> int:
    return int(np.size(cell.new)) + cell.failed


def _check(name: str, cell: CellSample) -> None:
    if cell.failed < 0 or (cell.worst is not None and not math.isfinite(cell.worst)):
        raise UserError(
            f"cell {name} has {cell.failed} failed runs and a worst return of {cell.worst}: "
            "expected a count of at least 0 and a finite return."
        )


def sample_at(name: str, cell: CellSample, seeds: int) -> Sample:
    """The stored and the first ``seeds`` new returns; UserError if a failed run has no return."""
    stored = np.asarray(cell.stored, dtype=np.float64).ravel()
    new = np.asarray(cell.new, dtype=np.float64).ravel()
    new = np.concatenate([new, np.full(cell.failed, np.nan)])[:seeds]
    pooled = np.concatenate([stored, new])
    finite = pooled[np.isfinite(pooled)]
    if cell.quantity is not RETURNS:
        mean = float(finite.mean()) if len(finite) else 0.0
        return _filled(stored, new, mean, cell.quantity)
    if len(finite) < len(pooled) and cell.worst is None:
        raise UserError(
            f"cell {name} has {len(pooled) - len(finite)} failed runs and no worst return: give "
            "the environment's worst recorded return, which a failed run counts as."
        )
    worst = min([*finite.tolist(), *([] if cell.worst is None else [cell.worst])], default=0.0)
    return _filled(stored, new, worst, cell.quantity)


def _filled(stored: FloatArray, new: FloatArray, by: float, quantity: Quantity) -> Sample:
    known, known_new = np.isfinite(stored), np.isfinite(new)
    filled, filled_new = np.where(known, stored, by), np.where(known_new, new, by)
    of_returns = quantity is RETURNS
    return Sample(
        np.sort(filled),
        np.sort(filled_new),
        np.sort(filled if of_returns else stored[known]),
        np.sort(filled_new if of_returns else new[known_new]),
        int(np.count_nonzero(~known_new)),
        quantity,
    )


def _looked(course: Course, look: int) -> Course:
    """The course after a look, from 0, that every open cell has the runs for."""
    rules, members = course.rules, course.members
    some = next(iter(course.looks.values()))
    for (kind, name), member in members.items():
        if kind == "cell" and member.open:
            runs = course.sample(name, look + 1)
            generator = content_generator(runs.stored, runs.new, seed=rules.seed)
            member.p.append(permutation_p(runs.stored, runs.new, generator))
            member.look, member.fraction = look + 1, runs.effect_fraction
    for (kind, name), member in members.items():
        if kind == "group" and member.open:
            # a cell that was rejected before keeps its evidence: if nothing changed in the group
            # that rejection was a false alarm already
            of_cells = [members["cell", cell] for cell in course.groups[name]]
            drop = float(stouffer([float(cell.p[-1].drop_mid) for cell in of_cells]))
            gain = float(stouffer([float(cell.p[-1].gain_mid) for cell in of_cells]))
            member.p.append(PermutationP(drop, gain, drop, gain, 0, False))
            member.look = look + 1
            known = [cell.fraction for cell in of_cells if not math.isnan(cell.fraction)]
            member.fraction = float(np.mean(known)) if known else math.nan
    weights = course.weights(drops=True)
    adjusted_drop = holm({key: _spent(course, key) for key in weights}, weights)
    adjusted_gain = course.adjusted_gain
    if look == 0:
        weights = course.weights(drops=False)
        adjusted_gain = holm({key: _gain(course, key) for key in weights}, weights)
    for key, member in members.items():
        gain = adjusted_gain[key] if look == 0 else math.nan
        p = (math.nan, math.nan, adjusted_drop.get(key, math.nan), gain)
        verdict, reason = decide(member.fraction, p, rules, course.quantity(key))
        if verdict and member.decided != REGRESSED:
            member.decided, member.reason = verdict, reason
        elif not member.decided:
            member.reason = reason
        if member.decided == REGRESSED or course.quantity(key).two_sided:
            member.open = False
    if look < len(some.accept_cell):
        _accept(course, some, look)
    return replace(course, adjusted_drop=adjusted_drop, adjusted_gain=adjusted_gain)


def _accept(course: Course, looks: Looks, look: int) -> None:
    """End the groups and cells whose evidence is weak, if no suspicious group keeps a cell."""
    kept = set()
    for group, names in course.groups.items():
        of = course.members["group", group]
        if of.open and float(of.p[-1].drop) > looks.accept_group[look]:
            of.open = False
        if of.open or of.decided == REGRESSED:
            kept.update(names)
    for (kind, name), member in course.members.items():
        if kind == "cell" and member.open and name not in kept:
            member.open = float(member.p[-1].drop) <= looks.accept_cell[look]


def _spent(course: Course, key: Key) -> float:
    looks = course.looks[course.groups[key[1]][0] if key[0] == "group" else key[1]]
    return float(looks.spent([float(p.drop) for p in course.members[key].p]))


def _gain(course: Course, key: Key) -> float:
    """The p-value of a gain at the first look; of a change, where it is judged both ways."""
    p = course.members[key].p[0]
    if course.quantity(key).two_sided:
        return min(1.0, 2 * min(float(p.gain), float(p.drop)))
    return float(p.gain)


def verdicts_of(course: Course) -> Verdicts:
    """The verdicts of a course that has come to its end.

    Raises:
        UserError: runs are missing that a look needs.
    """
    if course.needed:
        named = ", ".join(
            f"{name} has {_there(course.cells[name])} of {seeds} new runs"
            for name, seeds in course.needed.items()
        )
        raise UserError(f"the next look waits for runs: {named}; do these runs first")
    cells = {name: _cell_verdict(course, name) for name in course.cells}
    groups = {group: _group_verdict(course, group, cells) for group in course.groups}
    return Verdicts(
        cells=cells, groups=groups, alpha=course.rules.alpha, hypotheses=len(course.members)
    )


def _p_values(course: Course, key: Key) -> tuple[float, float, float, float]:
    """P-values of drop and gain, then Holm's; nan where there was no test."""
    if key not in course.members:
        return math.nan, math.nan, math.nan, math.nan
    drops = (math.nan, math.nan)
    if key in course.adjusted_drop:
        drops = (_spent(course, key), course.adjusted_drop[key])
    return drops[0], _gain(course, key), drops[1], course.adjusted_gain[key]


def _cell_verdict(course: Course, name: str) -> CellVerdict:
    rules, quantity = course.rules, course.cells[name].quantity
    looks, of_side = course.looks_at(name)
    hypotheses, alpha = course.family(quantity)
    alpha *= of_side
    member = course.members.get(("cell", name), Member(look=1))
    runs = course.sample(name, member.look)
    stored, m, n = runs.known_stored, len(runs.known_stored), len(runs.new)
    before = float(stored.mean()) if m else math.nan
    after = float(runs.known_new.mean()) if len(runs.known_new) else math.nan
    p = _p_values(course, ("cell", name))
    visible = (
        visible_drop(stored, looks, hypotheses, alpha, quantity, rules.floor)
        if m >= 2 and n and not math.isnan(p[1])
        else None
    )
    verdict, reason = member.decided, member.reason
    untold = runs.has_too_few(rules)
    if not verdict:
        level = alpha / max(hypotheses, 1)
        against = reasons_against(
            stored,
            n,
            runs.failed,
            runs.effect_fraction,
            visible,
            looks,
            level,
            rules,
            quantity,
        )
        verdict = INCONCLUSIVE if against else HOLDS
        if visible is not None and not untold:
            of_scale = quantity.loss(visible / runs.scale)
            in_returns = f" ({visible:.4g})" if quantity is RETURNS else ""
            against.append(
                f"the smallest change detected with 80 % power is {of_scale}{in_returns}"
            )
        if (
            m >= 2
            and n
            and hypotheses
            and not untold
            and (visible is None or visible > rules.must_detect * runs.scale)
        ):
            against.append(
                seeds_for_cell(
                    stored, looks, hypotheses, alpha, rules.must_detect, quantity, rules.floor
                )
            )
        reason = "; ".join([reason, *against]) + "."
    if untold:
        visible = None
    return CellVerdict(
        verdict=verdict,
        reason=reason,
        group=course.cells[name].group,
        stored_seeds=len(runs.stored),
        new_seeds=n,
        failed=runs.failed,
        stored_mean=before,
        stored_sd=float(stored.std(ddof=1)) if m > 1 else math.nan,
        new_mean=after,
        scale=runs.scale,
        effect=after - before,
        effect_fraction=runs.effect_fraction,
        interval=welch_interval(stored, runs.known_new, rules.confidence),
        p_drop=p[0],
        p_gain=p[1],
        adjusted_drop=p[2],
        adjusted_gain=p[3],
        alpha=rules.alpha,
        hypotheses=len(course.members),
        visible_drop=visible,
        visible_fraction=None if visible is None else visible / runs.scale,
        look=member.look,
        looks=looks.seeds,
        quantity=quantity.name,
        stored_middle=interquartile_mean(stored),
        new_middle=interquartile_mean(runs.known_new),
        improvement=probability_of_improvement(stored, runs.known_new),
    )


def _group_verdict(course: Course, group: str, cells: Mapping[str, CellVerdict]) -> GroupVerdict:
    rules, names = course.rules, course.groups[group]
    quantity = course.quantity(("group", group))
    hypotheses, alpha = course.family(quantity)
    member = course.members["group", group]
    # of the look that decided the group; a cell that was decided before it has the runs of then
    runs = [
        course.sample(name, min(member.look, course.members["cell", name].look)) for name in names
    ]
    looks, of_side = min((course.looks_at(name) for name in names), key=lambda item: item[0].most)
    alpha *= of_side
    spreads = [cells[name].stored_sd / of.scale for name, of in zip(names, runs, strict=True)]
    ceilings = [ceiling.at_ceiling(of.known_stored) for of in runs]
    stored = tuple(len(of.known_stored) for of in runs)
    detectable = smallest_group_drop(
        stored, looks, spreads, hypotheses, alpha, floor=rules.floor, ceilings=ceilings
    )
    largest = min(quantity.largest_loss(of.known_stored) / of.scale for of in runs)
    total, failed = sum(len(of.new) for of in runs), sum(of.failed for of in runs)
    verdict, reason = member.decided, member.reason
    untold = quantity is not RETURNS and failed / total > rules.max_failed_share
    visible = (
        detectable if math.isfinite(detectable) and detectable <= largest and not untold else None
    )
    if not verdict:
        against = []
        if failed / total > rules.max_failed_share:
            against.append(f"{failed} of {total} new runs {quantity.missing}")
        if any(m < rules.min_stored for m in stored):
            against.append(f"a cell has fewer than {rules.min_stored} stored seeds")
        if member.fraction < -rules.must_detect or (
            quantity.two_sided and member.fraction > rules.must_detect
        ):
            against.append(f"{quantity.moved(member.fraction)}, too few seeds to reject it")
        if visible is None and not untold:
            against.append("nothing common would be detected with 80 % power")
        elif visible is not None and visible > rules.must_detect:
            against.append(f"{quantity.common_loss(rules.must_detect)} could be missed")
        verdict = INCONCLUSIVE if against else HOLDS
        if visible is not None:
            loss = quantity.common_loss(visible)
            against.append(f"the smallest change detected with 80 % power is {loss}")
            if visible > rules.must_detect:
                against.append(
                    seeds_for_group(
                        min(stored),
                        spreads,
                        looks,
                        visible,
                        rules.must_detect,
                        quantity,
                        rules.floor,
                    )
                )
        reason = "; ".join([reason, *against]) + "."
    described = [of for of in runs if len(of.known_new)]
    return GroupVerdict(
        verdict=verdict,
        reason=reason,
        cells=tuple(names),
        new_seeds=total,
        effect_fraction=member.fraction,
        interval=group_interval(
            [(of.known_stored, of.known_new) for of in described],
            [of.scale for of in described],
            rules.confidence,
        ),
        p_drop=(p := _p_values(course, ("group", group)))[0],
        p_gain=p[1],
        adjusted_drop=p[2],
        adjusted_gain=p[3],
        alpha=rules.alpha,
        hypotheses=len(course.members),
        visible_fraction=visible,
        look=member.look,
        looks=looks.seeds,
        quantity=quantity.name,
    )
