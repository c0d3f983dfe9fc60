"""What an upgrade gate has found, and the verdict that it comes to."""

from __future__ import annotations

from dataclasses import dataclass, field

from rlregress.frameworks.base import Adapter
from rlregress.upgrade import fingerprints, physics, returns, state
from rlregress.upgrade.environments import Prepared
from rlregress.upgrade.traced import Traced

UNCHANGED, CHANGED = "unchanged", "changed"
HOLDS, IMPROVED, REGRESSED, INCONCLUSIVE = "holds", "improved", "regressed", "inconclusive"
COULD_NOT_JUDGE = returns.COULD_NOT_JUDGE
_CODES = {UNCHANGED: 0, HOLDS: 0, IMPROVED: 0, REGRESSED: 1, COULD_NOT_JUDGE: 2}


@dataclass(frozen=True)
class OfFramework:
    """What was found of one framework.

    Attributes:
        details: those that are not done alike.
        alone: those that only one side could be asked.
        defaults: hyperparameters whose defaults changed; ``unread``: in words, why not compared.
        asked: how many details each side was asked.
        traced: by algorithm.
        returns: verdict of the trainings of diverged algorithms on side B; None: not trained.
    """

    adapter: Adapter
    versions: tuple[dict[str, str], dict[str, str]]
    details: list[fingerprints.ChangedDetail]
    alone: list[fingerprints.OneSided]
    asked: tuple[int, int]
    traced: list[Traced]
    defaults: list[fingerprints.ChangedDefault] = field(default_factory=list)
    unread: tuple[str, ...] = ()
    returns: returns.Verdict | None = None

    @property
    def diverged(self) -> list[str]:
        """Algorithms that do not do the same on both sides, or of which nothing is proved."""
        return [t.name for t in self.traced if not t.proved]

    @property
    def moved(self) -> bool:
        """Whether a detail or a default is another one, or can no longer be asked.

        What cannot be asked for an outer reason, such as a missing package, does not count.
        """
        return bool(self.details or self.defaults) or any(one.counts for one in self.alone)

    @property
    def verdict(self) -> str:
        """Of this framework alone; see ``Upgrade.verdict``."""
        if self.returns is not None and self.returns.verdict == REGRESSED:
            return REGRESSED
        if any(traced.failures for traced in self.traced):
            return COULD_NOT_JUDGE
        if not self.diverged:
            return CHANGED if self.moved else UNCHANGED
        if self.returns is None:
            return CHANGED
        untrained = set(self.diverged) - returns.stored(self.adapter)
        if untrained and self.returns.verdict in (HOLDS, IMPROVED):
            return CHANGED
        return self.returns.verdict


@dataclass(frozen=True)
class Upgrade:
    """Everything that was found of A and B.

    Attributes:
        script: what was traced instead of the built-in trainings.
    """

    a: Prepared
    b: Prepared
    frameworks: list[OfFramework]
    physics: list[physics.Moved]
    script: Traced | None = None

    @property
    def verdict(self) -> str:
        """The worst of all frameworks; physics that moved is a change that no training judged.

        "unchanged", "changed", "could not judge", or what the trainings say: holds, improved,
        regressed, inconclusive.
        """
        found = [of.verdict for of in self.frameworks]
        if self.script is not None and self.script.failures:
            found.append(COULD_NOT_JUDGE)
        elif self.script is not None and not self.script.proved:
            found.append(CHANGED)
        # physics that moved has been judged where returns have
        judged = any(of.returns is not None for of in self.frameworks)
        if any(m.moves for m in self.physics) and not judged:
            found.append(CHANGED)
        order = (REGRESSED, COULD_NOT_JUDGE, INCONCLUSIVE, CHANGED, HOLDS, IMPROVED)
        return next((verdict for verdict in order if verdict in found), UNCHANGED)

    @property
    def traced(self) -> list[Traced]:
        """Every training that was traced."""
        own = [self.script] if self.script is not None else []
        return [traced for of in self.frameworks for traced in of.traced] + own

    @property
    def failed(self) -> list[str]:
        """In a sentence each, trainings that ended in an error."""
        return [sentence for traced in self.traced for sentence in traced.failed]

    @property
    def exit_code(self) -> int:
        """0: unchanged or holds; 1: regressed; 2: could not judge; 3: changed, undecided."""
        return _CODES.get(self.verdict, 3)

    @property
    def differing(self) -> dict[str, tuple[str, str]]:
        """Package -> versions on both sides, of all that differ and are on both."""
        one, other = state.versions(self.a), state.versions(self.b)
        return {n: (v, other[n]) for n, v in sorted(one.items()) if other.get(n, v) != v}
