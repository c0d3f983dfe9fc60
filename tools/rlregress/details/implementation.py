"""One detail, on one framework, in one scope, with what is documented for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rlregress import suite
from rlregress.details import catalogue, expectations
from rlregress.details.expectations import Expectation
from rlregress.details.fingerprint import run_probe
from rlregress.details.judge import Judgement, report

if TYPE_CHECKING:
    from rlregress.frameworks.base import Adapter


_JUDGED: dict[tuple[type, str, str, str, str], Judgement] = {}


@dataclass(frozen=True)
class Implementation:
    """A probe of ``adapter`` and the expectation it is held against.

    Attributes:
        documented: the entry that holds for the installed version, or None if there is none.
    """

    adapter: Adapter
    detail: catalogue.Detail
    scope: str
    documented: Expectation | None

    @property
    def name(self) -> str:
        """Framework and scope, for test ids."""
        return f"{self.adapter.full_name}-{self.scope}"

    @property
    def version(self) -> str:
        """Of the package under test."""
        return self.adapter.version()

    @property
    def judgement(self) -> Judgement:
        """What the framework's real code answers to the inputs, and which variant that is.

        Asked once per process: details, claims and comparisons rest on the same answer.
        """
        adapter = self.adapter
        key = (type(adapter), adapter.full_name, self.version, self.detail.id, self.scope)
        if key not in _JUDGED:
            _JUDGED[key] = run_probe(self.detail, adapter.probes()[self.detail.id, self.scope])
        return _JUDGED[key]


@cache
def _loaded(path: Path) -> tuple[Expectation, ...]:
    return expectations.load(path)


def stated(adapter: Adapter) -> tuple[Expectation, ...]:
    """Everything that is documented of a framework, at whatever version."""
    return _loaded(adapter.expectations() or suite.baselines() / "details" / adapter.name)


def documented(adapter: Adapter) -> dict[tuple[str, str], Expectation]:
    """What is documented of the installed version; UserError if the file does not fit."""
    return expectations.for_version(stated(adapter), adapter.version())


def implementations(adapter: Adapter, detail_id: str) -> list[Implementation]:
    """The implementations of a detail that ``adapter`` probes, one per scope."""
    detail = catalogue.get(detail_id)
    known = documented(adapter)
    return [
        Implementation(adapter, detail, scope, known.get((detail_id, scope)))
        for id, scope in sorted(adapter.probes())
        if id == detail_id
    ]


def assert_documented(implementation: Implementation) -> None:
    """Exactly the documented variant was observed, and no other one.

    Raises:
        AssertionError: names the detail, what was found, what is documented, and the numbers.
    """
    __tracebackhide__ = True
    judgement = implementation.judgement
    documented = implementation.documented
    if documented is None:
        raise AssertionError(
            f"{implementation.detail.id}: {judgement.found} (documented: nothing for "
            f"{implementation.adapter.name} {implementation.version}, scope "
            f"{implementation.scope}); add an entry to "
            f"baselines/details/{implementation.adapter.name}/"
        )
    if judgement.variant != documented.variant:
        raise AssertionError(
            report(
                implementation.detail,
                judgement,
                documented,
                implementation.adapter.name,
                implementation.version,
            )
        )
