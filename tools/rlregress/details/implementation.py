"""One detail, on one framework, in one scope, with what is documented for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rlregress import suite
from rlregress.details import catalogue, expectations
from rlregress.details.expectations import Expectation
from rlregress.details.fingerprint import run_probe
from rlregress.details.judge import Judgement, report

if TYPE_CHECKING:
    from rlregress.frameworks.base import Adapter


#: what tells the code of an adapter from any other that this process may ask.
Asked = tuple[type, str, str, str | None]

_JUDGED: dict[tuple[Asked, str, str], Judgement] = {}


def asked(adapter: Adapter) -> Asked:
    """Kind, copy and version of what an adapter asks, and the checkout if one is named."""
    checkout = os.environ.get(adapter.checkout)
    return type(adapter), adapter.full_name, adapter.version(), checkout


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
        key = (asked(adapter), self.detail.id, self.scope)
        if key not in _JUDGED:
            _JUDGED[key] = run_probe(self.detail, adapter.probes()[self.detail.id, self.scope])
        return _JUDGED[key]


@cache
def _loaded(path: Path) -> tuple[Expectation, ...]:
    return expectations.load(path)


@cache
def _of_version(path: Path, version: str) -> Mapping[expectations.Cell, Expectation]:
    return MappingProxyType(expectations.for_version(_loaded(path), version))


def expectations_path(adapter: Adapter) -> Path:
    """The file or folder of what is documented of a framework."""
    return adapter.expectations() or suite.baselines() / "details" / adapter.name


def stated(adapter: Adapter) -> tuple[Expectation, ...]:
    """Everything that is documented of a framework, at whatever version."""
    return _loaded(expectations_path(adapter))


def documented(adapter: Adapter) -> Mapping[expectations.Cell, Expectation]:
    """What is documented of the installed version; UserError if the file does not fit."""
    return _of_version(expectations_path(adapter), adapter.version())


def implementations(adapter: Adapter, detail_id: str) -> list[Implementation]:
    """The implementations of a detail that ``adapter`` probes, one per scope."""
    detail = catalogue.get(detail_id)
    known = documented(adapter)
    return [
        Implementation(adapter, detail, scope, known.get((detail_id, scope)))
        for scope in sorted(scope for id, scope in adapter.probes() if id == detail_id)
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
