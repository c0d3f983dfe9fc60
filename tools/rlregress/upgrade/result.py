"""The result of an upgrade gate: plain data, with the verdict that the data come to.

Nothing here reads a file or asks an environment: what a report needs is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rlregress.gate.passages import Passage
from rlregress.model.verdict import COULD_NOT_JUDGE, HOLDS, IMPROVED, INCONCLUSIVE, MOVED, REGRESSED
from rlregress.upgrade import physics, returns
from rlregress.upgrade.coverage import UNREACHED, Reach
from rlregress.upgrade.environments import Prepared
from rlregress.upgrade.fingerprints import ChangedDefault, ChangedDetail, Details
from rlregress.upgrade.functions import Changed
from rlregress.upgrade.proof import Proof
from rlregress.upgrade.search import Cause
from rlregress.upgrade.traced import NotTraced, Traced

UNCHANGED, AS_FAR, CHANGED = "unchanged", "unchanged as far as asked", "changed"
AS_DOCUMENTED = "changed as documented"
#: the worst first: the verdict of several is the worst of them.
ORDER = (
    REGRESSED, INCONCLUSIVE, CHANGED, COULD_NOT_JUDGE, HOLDS, IMPROVED, MOVED, AS_DOCUMENTED,
    AS_FAR, UNCHANGED,
)  # fmt: skip
EXIT_CODES = {REGRESSED: 1, COULD_NOT_JUDGE: 2, CHANGED: 3, INCONCLUSIVE: 3}

#: how a changed detail stands to what is documented of side B's version.
DOCUMENTED, VIOLATED, UNDOCUMENTED = "as documented", "documented otherwise", "not documented"


@dataclass(frozen=True)
class Tally:
    """How many of how many were asked."""

    asked: int
    all: int

    @property
    def share(self) -> float:
        """1 where there is nothing to ask."""
        return self.asked / self.all if self.all else 1.0

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return self.asked == self.all

    def __str__(self) -> str:
        return f"{self.asked} of {self.all}"


@dataclass(frozen=True)
class OfFramework:
    """What was found of one framework.

    Attributes:
        name: full name of the framework.
        module: its own package, as it is imported.
        versions: package -> version, on either side.
        details: asked and alike, asked and different, not asked.
        standing: detail and scope -> how the change stands to what is documented of side B.
        documented: detail and scope -> in words, since when it is done so, of those that changed.
        defaults: hyperparameters and parameters whose defaults changed.
        unread: in words, defaults that could not be compared.
        traced: trainings that were held against each other; not_traced: those that could not be.
        same_code: trainings that run no code by which the sides differ, and were not traced.
        reach: how the trainings went through the functions whose code differs.
        beside: functions that differ, and that none of the suite's algorithms uses.
        new: functions that one side alone has, and that only what has changed can reach.
        causes: training -> what makes it part, as far as that could be found.
        differences: function -> lines that differ, of what the changed details and the causes name.
        proof: how many seeded faults the traces would have seen; None: not asked for.
        returns: verdict of the trainings on side B; None: not trained.
        stored: algorithms with stored runs, by which returns are judged.
        threshold: share that has to be asked for a verdict.
        passages: function -> its lines of both sides, with those around what differs.
        verdict: of this framework alone.
    """

    name: str
    title: str
    module: str
    versions: tuple[Mapping[str, str], Mapping[str, str]]
    details: Details = field(default_factory=Details)
    standing: Mapping[tuple[str, str], str] = field(default_factory=dict)
    documented: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    defaults: tuple[ChangedDefault, ...] = ()
    unread: tuple[str, ...] = ()
    traced: tuple[Traced, ...] = ()
    not_traced: tuple[NotTraced, ...] = ()
    same_code: tuple[str, ...] = ()
    reach: tuple[Reach, ...] = ()
    beside: int = 0
    new: int = 0
    causes: Mapping[str, Cause] = field(default_factory=dict)
    differences: Mapping[Changed, Sequence[str]] = field(default_factory=dict)
    proof: Proof | None = None
    returns: returns.ReturnsVerdict | None = None
    stored: frozenset[str] = frozenset()
    threshold: float = 0.0
    passages: Mapping[Changed, Passage] = field(default_factory=dict)
    verdict: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", _of_framework(self))

    @property
    def diverged(self) -> list[Traced]:
        """Trainings that do not do the same on both sides, or of which nothing is proved."""
        return [t for t in self.traced if not t.proved]

    @property
    def unreached(self) -> list[Reach]:
        """Functions that differ, and that neither a training nor a probe has entered."""
        return [reach for reach in self.reach if reach.state == UNREACHED]

    @property
    def to_train(self) -> list[str]:
        """Algorithms whose returns have to be asked.

        Those whose plain training parts, and those that use a function that nothing has reached.
        """
        names = {t.algorithm for t in self.diverged if t.plain}
        names |= {algorithm for reach in self.unreached for algorithm in reach.algorithms}
        return sorted(names)

    @property
    def tallies(self) -> dict[str, Tally]:
        """What was asked of what there is: details, trainings, changed functions."""
        gaps = sum(each.counts for each in self.not_traced)
        trained = len(self.traced) + len(self.same_code)
        reached = len(self.reach) - len(self.unreached)
        tallies = {
            "details": Tally(self.details.asked, self.details.all),
            "trainings": Tally(trained, trained + gaps),
            "changed functions": Tally(reached, len(self.reach)),
        }
        return {name: tally for name, tally in tallies.items() if tally.all}

    @property
    def one_sided(self) -> list[NotTraced]:
        """Trainings that end in an error on one side and not on the other."""
        return [each for each in self.not_traced if each.counts and len(each.sides) == 1]

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


def _of_framework(of: OfFramework) -> str:
    judged = of.returns.verdict if of.returns is not None else None
    if judged == REGRESSED or of.violated:
        return REGRESSED
    if of.diverged:
        return CHANGED if judged is None else _of_diverged(of, judged)
    if of.defaults or of.moved:
        return CHANGED
    tallies = of.tallies
    short = [tallies[name] for name in ("details", "trainings") if name in tallies]
    if of.one_sided or not tallies or min(tally.share for tally in short) < of.threshold:
        return COULD_NOT_JUDGE
    if of.details.changed:
        return AS_DOCUMENTED
    # what was not reached and holds all the same was asked by its returns
    whole = all(tally.whole for tally in tallies.values()) and not of.unread
    return UNCHANGED if whole else AS_FAR


def _of_diverged(of: OfFramework, judged: str) -> str:
    # a scenario is no stored cell: its returns were not asked
    open_ = [t for t in of.diverged if not t.plain or t.algorithm not in of.stored]
    return CHANGED if open_ and judged in (HOLDS, IMPROVED, MOVED) else judged


@dataclass(frozen=True)
class OfScript:
    """What was found of a script.

    Attributes:
        held: the script on both sides, or why it could not be held against the other side.
        reach: how it went through the functions that differ and that it enters.
        beside: functions that differ and that it does not enter: they do nothing in it.
        causes, differences, proof, passages: as of a framework.
        verdict: of the script alone.
    """

    held: Traced | NotTraced
    reach: tuple[Reach, ...] = ()
    beside: int = 0
    causes: Mapping[str, Cause] = field(default_factory=dict)
    differences: Mapping[Changed, Sequence[str]] = field(default_factory=dict)
    proof: Proof | None = None
    passages: Mapping[Changed, Passage] = field(default_factory=dict)
    verdict: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", _of_script(self))


def _of_script(of: OfScript) -> str:
    if isinstance(of.held, NotTraced):
        return COULD_NOT_JUDGE
    return UNCHANGED if of.held.proved else CHANGED


@dataclass(frozen=True)
class Upgrade:
    """Everything that was found of A and B.

    Attributes:
        pinned: packages that are pinned otherwise on the two sides.
        differing: package -> versions on both sides, of all that differ and are on both.
        script: what was traced instead of the built-in trainings.
        verdict: the worst of all frameworks; physics that moved is a change that no training
            judged.
    """

    a: Prepared
    b: Prepared
    frameworks: tuple[OfFramework, ...]
    physics: tuple[physics.Moved, ...] = ()
    script: OfScript | None = None
    pinned: frozenset[str] = frozenset()
    differing: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    verdict: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", _of_upgrade(self))

    @property
    def tallies(self) -> dict[str, Tally]:
        """What was asked of what there is, of all frameworks together."""
        tallies: dict[str, Tally] = {}
        for of in self.frameworks:
            for name, tally in of.tallies.items():
                known = tallies.get(name, Tally(0, 0))
                tallies[name] = Tally(known.asked + tally.asked, known.all + tally.all)
        if self.physics:
            played = [m for m in self.physics if not m.note or m.step is not None]
            asked = [m for m in self.physics if m.missing or m in played]
            tallies["environments"] = Tally(len(played), len(asked))
        return tallies

    @property
    def traced(self) -> list[Traced]:
        """Every training that was traced on both sides."""
        own = self.script.held if self.script is not None else None
        every = [traced for of in self.frameworks for traced in of.traced]
        return [*every, own] if isinstance(own, Traced) else every

    @property
    def exit_code(self) -> int:
        """0, 1: regressed, 2: could not judge, 3: changed or inconclusive."""
        return EXIT_CODES.get(self.verdict, 0)


def _of_upgrade(upgrade: Upgrade) -> str:
    verdicts = [of.verdict for of in upgrade.frameworks]
    if upgrade.script is not None:
        verdicts.append(upgrade.script.verdict)
    # physics that moved has been judged where returns have
    judged = any(of.returns is not None for of in upgrade.frameworks)
    if any(m.moves for m in upgrade.physics) and not judged:
        verdicts.append(CHANGED)
    if any(m.missing for m in upgrade.physics):
        verdicts.append(AS_FAR)
    return next((verdict for verdict in ORDER if verdict in verdicts), UNCHANGED)
