"""The result of an upgrade gate: plain data, with the list of entries and what it comes to.

Nothing here reads a file or asks an environment: what a report needs is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rlregress.gate.passages import Passage
from rlregress.model import differences as model
from rlregress.model.differences import Entry, Judgement
from rlregress.model.verdict import HOLDS, IMPROVED, MOVED
from rlregress.upgrade.coverage import Reach
from rlregress.upgrade.environments import Prepared
from rlregress.upgrade.fingerprints import ChangedDefault, ChangedDetail, Details
from rlregress.upgrade.functions import Changed
from rlregress.upgrade.physics import Moved as MovedEnvironment
from rlregress.upgrade.proof import Proof
from rlregress.upgrade.returns import ReturnsVerdict
from rlregress.upgrade.search import Cause
from rlregress.upgrade.traced import NotTraced, Traced

#: how a changed detail stands to what is documented of side B's version.
DOCUMENTED, VIOLATED, UNDOCUMENTED = model.DOCUMENTED, model.VIOLATED, "not documented"
#: verdicts on returns that settle what differs.
_SETTLED = (HOLDS, IMPROVED, MOVED)
#: what returns settle: not what breaks a user's code.
_OF_TRAINING = (*model.CODE, model.TRAINING, model.DETAIL, model.DEFAULT, model.ENVIRONMENT)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many of how many were compared."""

    asked: int
    all: int

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return self.asked == self.all

    def __str__(self) -> str:
        return f"{self.asked} of {self.all}"


@dataclass(frozen=True, kw_only=True)
class OfFramework:
    """What was found of one framework.

    Attributes:
        name: full name of the framework.
        module: its own package, as it is imported.
        versions: package -> version, on either side.
        entries: of the list of differences, those of this framework.
        details: compared and the same, compared and different, not compared.
        standing: detail and scope -> how the change stands to what is documented of side B.
        documented: detail and scope -> in words, since when it is done so, of those that changed.
        defaults: hyperparameters and parameters whose defaults changed.
        unread: in words, defaults that could not be compared.
        traced: trainings that ran on both sides; not_traced: those that could not be compared.
        same_code: trainings that run no code by which the sides differ, and were not traced.
        reach: how the trainings went through the pieces of code that differ.
        causes: training -> what makes it differ, as far as that could be found.
        differences: function -> lines that differ, of what the changed details and the causes name.
        proof: how many injected faults the traces would have detected; None: not asked for.
        returns: verdict of the trainings on side B; None: not trained.
        stored: algorithms with baseline runs, by which returns are judged.
        passages: function -> its lines of both sides, with those around what differs.
        judgement: of this framework's entries alone.
    """

    name: str
    title: str
    module: str
    versions: tuple[Mapping[str, str], Mapping[str, str]]
    entries: tuple[Entry, ...] = ()
    details: Details = field(default_factory=Details)
    standing: Mapping[tuple[str, str], str] = field(default_factory=dict)
    documented: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    defaults: tuple[ChangedDefault, ...] = ()
    unread: tuple[str, ...] = ()
    traced: tuple[Traced, ...] = ()
    not_traced: tuple[NotTraced, ...] = ()
    same_code: tuple[str, ...] = ()
    reach: tuple[Reach, ...] = ()
    causes: Mapping[str, Cause] = field(default_factory=dict)
    differences: Mapping[Changed, Sequence[str]] = field(default_factory=dict)
    proof: Proof | None = None
    returns: ReturnsVerdict | None = None
    stored: frozenset[str] = frozenset()
    passages: Mapping[Changed, Passage] = field(default_factory=dict)
    judgement: Judgement = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "judgement", model.judge(self.entries))

    @property
    def verdict(self) -> str:
        """Of this framework alone."""
        return self.judgement.verdict

    @property
    def diverged(self) -> list[Traced]:
        """Trainings that do not do the same on both sides, or of which nothing is proved."""
        return [t for t in self.traced if not t.proved]

    @property
    def unexecuted(self) -> list[Entry]:
        """Pieces of code that differ, and that no training has executed."""
        return [each for each in self.entries if each.kind in model.CODE
                and each.state in model.UNCHECKED]  # fmt: skip

    @property
    def to_train(self) -> list[str]:
        """Algorithms whose returns have to be measured.

        Those whose plain training differs, and those that use a function that nothing executed.
        """
        names = {t.algorithm for t in self.diverged if t.plain}
        unexecuted = {each.name for each in self.unexecuted if each.state == model.NEVER}
        for reach in self.reach:
            if f"{reach.function.file} {reach.function.name}" in unexecuted:
                names |= set(reach.algorithms)
        return sorted(names)

    @property
    def moved(self) -> list[ChangedDetail]:
        """Changed details that are not done as is documented of side B."""
        return [d for d in self.details.changed if self._stands(d) != DOCUMENTED]

    def _stands(self, detail: ChangedDetail) -> str:
        return self.standing.get((detail.id, detail.scope), UNDOCUMENTED)

    @property
    def violated(self) -> list[ChangedDetail]:
        """Changed details that are documented otherwise of side B."""
        return [d for d in self.details.changed if self._stands(d) == VIOLATED]

    def with_returns(
        self, verdict: ReturnsVerdict | None, stored: frozenset[str], entry: Entry | None
    ) -> OfFramework:
        """The same with what the trainings of side B came to.

        Args:
            entry: of the list, for the returns; None: nothing was trained.
        """
        if verdict is None or entry is None:
            return replace(self, returns=verdict, stored=stored)
        entries = self.entries
        # a scenario is no baseline cell: its returns were not measured
        open_ = [t for t in self.diverged if not t.plain or t.algorithm not in stored]
        if verdict.verdict in _SETTLED and not open_:
            entries = tuple(
                replace(each, standing=verdict.verdict)
                if each.kind in _OF_TRAINING and each.verdict == model.CHANGED
                else each
                for each in entries
            )
        return replace(self, returns=verdict, stored=stored, entries=(*entries, entry))


@dataclass(frozen=True, kw_only=True)
class OfScript:
    """What was found of a script.

    Attributes:
        held: the script on both sides, or why it could not be compared.
        reach: how it went through the pieces of code that differ and that it executes.
        entries: of the list of differences, the script's own and those of the code it may run.
        causes, differences, proof, passages: as of a framework.
        judgement: of the script's entries alone.
    """

    held: Traced | NotTraced
    entries: tuple[Entry, ...] = ()
    reach: tuple[Reach, ...] = ()
    causes: Mapping[str, Cause] = field(default_factory=dict)
    differences: Mapping[Changed, Sequence[str]] = field(default_factory=dict)
    proof: Proof | None = None
    passages: Mapping[Changed, Passage] = field(default_factory=dict)
    judgement: Judgement = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "judgement", model.judge(self.entries))

    @property
    def verdict(self) -> str:
        """Of the script alone."""
        return self.judgement.verdict


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """Everything that was found of A and B.

    Attributes:
        pinned: packages that are pinned otherwise on the two sides.
        differing: package -> versions on both sides, of all that differ and are on both.
        script: what was traced instead of the built-in trainings.
        beside: entries of no framework and no script: metadata, packages, environments.
        stale: lines of the file of accepted entries that match nothing.
        min_coverage, fail_on: see ``model.judge``.
        judgement: of all entries.
    """

    a: Prepared
    b: Prepared
    frameworks: tuple[OfFramework, ...]
    physics: tuple[MovedEnvironment, ...] = ()
    script: OfScript | None = None
    beside: tuple[Entry, ...] = ()
    pinned: frozenset[str] = frozenset()
    differing: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    stale: tuple[str, ...] = ()
    min_coverage: float = model.MIN_COVERAGE
    fail_on: str = model.FAIL_ON
    judgement: Judgement = field(init=False)

    def __post_init__(self) -> None:
        judgement = model.judge(self.entries, self.min_coverage, self.fail_on)
        object.__setattr__(self, "judgement", judgement)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The list of everything that differs, and of everything that was to be compared."""
        own = self.script.entries if self.script is not None else ()
        return (*(each for of in self.frameworks for each in of.entries), *own, *self.beside)

    @property
    def verdict(self) -> str:
        """The worst of all entries."""
        return self.judgement.verdict

    @property
    def exit_code(self) -> int:
        """0, 1: regressed or the new version fails, 2: could not judge, 3: changed."""
        return self.judgement.exit_code

    @property
    def tallies(self) -> dict[str, Tally]:
        """How much was compared of what there is."""
        checked = self.judgement.coverage
        tallies = {"changed pieces": Tally(asked=checked.checked, all=checked.all)}
        details = [of.details for of in self.frameworks]
        tallies["details"] = Tally(
            asked=sum(each.asked for each in details), all=sum(each.all for each in details)
        )
        for name, kind in (("trainings", model.TRAINING), ("environments", model.ENVIRONMENT)):
            own = [e for e in self.entries if e.kind == kind and e.state != model.NO_EFFECT]
            compared = sum(each.state not in model.UNCHECKED for each in own)
            tallies[name] = Tally(asked=compared, all=len(own))
        return {name: tally for name, tally in tallies.items() if tally.all}

    @property
    def traced(self) -> list[Traced]:
        """Every training that was traced on both sides."""
        own = self.script.held if self.script is not None else None
        every = [traced for of in self.frameworks for traced in of.traced]
        return [*every, own] if isinstance(own, Traced) else every
