"""``rlregress claims`` and ``docs/claims.md``: what the sources say, and what the code does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from rlregress import suite
from rlregress.claims.names import settle_names
from rlregress.claims.settle import UNPROBED, Settled, report, settle
from rlregress.claims.statements import NOT_CHECKABLE, VERDICTS, load
from rlregress.frameworks.base import Adapter

_VERDICTS = (*VERDICTS, NOT_CHECKABLE, UNPROBED)
_HEAD = """\
# What the sources say, and what the code does

Written by `rlregress claims --write`, from the sentences in `baselines/claims/` and from probes of
{versions}. Do not edit.

*confirmed*: the code does what the sentence says (of the scope that is named; without one, of any).
*refuted*: it does something else. *outdated*: it does something else, and another version does, or
did, what the sentence says. *not checkable*: the reason stands in the place of the answer.
*Said of*: the sentence does not name the framework; what it says of something else is asked of it.
"""


def collect(adapters: Sequence[Adapter]) -> list[Settled]:
    """Every claim about one of the frameworks, settled, and those that cannot be checked.

    In the order of the files; a claim about a framework of which there are several copies comes
    once for each.
    """
    found = []
    for claim in load(suite.baselines() / "claims"):
        if claim.not_checkable:
            found.append(Settled(claim, "", NOT_CHECKABLE, {}, claim.not_checkable))
        found += [
            settle(claim, adapter)
            for adapter in adapters
            if adapter.name == claim.framework and not claim.not_checkable
        ]
    names = [one for adapter in adapters for one in settle_names(adapter)]
    return found + sorted(names, key=lambda one: one.claim.place)


def differing(found: Sequence[Settled]) -> list[str]:
    """One text for each claim whose verdict is not the recorded one."""
    return [report(one) for one in found if not one.as_recorded]


def counts(found: Sequence[Settled]) -> dict[tuple[str, str], Counter[str]]:
    """(document, framework with version) -> verdict -> number of claims."""
    counted: dict[tuple[str, str], Counter[str]] = {}
    for one in found:
        counted.setdefault((one.claim.document, _about(one)), Counter())[one.verdict] += 1
    return counted


def _about(one: Settled) -> str:
    return f"{one.claim.framework} {one.version}".strip()


def claims_markdown(found: Sequence[Settled], adapters: Sequence[Adapter]) -> str:
    """The whole document; the same text for the same data, probes and versions."""
    versions = ", ".join(f"{adapter.title} {adapter.version()}" for adapter in adapters)
    lines = [_HEAD.format(versions=versions), *_count_rows(found), ""]
    for document, of_document in groupby(
        sorted(found, key=lambda one: _first(found, one)), key=lambda one: one.claim.document
    ):
        lines += [f"## {document}", ""]
        for place, of_place in groupby(of_document, key=lambda one: one.claim.place):
            lines += [f"### {place}", ""]
            for quote, of_quote in groupby(of_place, key=lambda one: one.claim.quote):
                lines += [_code(quote), "", *_answers(list(of_quote)), ""]
    return "\n".join(lines)


def _first(found: Sequence[Settled], one: Settled) -> int:
    """Documents in the order of their first claim; sorting keeps the order within one."""
    return next(n for n, other in enumerate(found) if other.claim.document == one.claim.document)


def _count_rows(found: Sequence[Settled]) -> Iterator[str]:
    yield f"{len(found)} claims:"
    yield ""
    yield f"| source | framework | {' | '.join(_VERDICTS)} |"
    yield "|---|---|" + "---:|" * len(_VERDICTS)
    total: Counter[str] = Counter()
    for (document, framework), counted in counts(found).items():
        total += counted
        numbers = " | ".join(str(counted[verdict]) for verdict in _VERDICTS)
        yield f"| {document} | {framework} | {numbers} |"
    yield f"| **all** | | {' | '.join(str(total[verdict]) for verdict in _VERDICTS)} |"


def _code(text: str) -> str:
    """Text as it stands, whatever signs it holds."""
    return f"`` {text} ``"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _answers(settled: list[Settled]) -> Iterator[str]:
    yield "| framework | asks | says | found | verdict |"
    yield "|---|---|---|---|---|"
    notes: dict[str, None] = {}
    for one in settled:
        claim = one.claim
        says = " or ".join(_one(value) for value in claim.says)
        found = _found(one.found)
        verdict = f"**{one.verdict}**" + (f" ({one.reason})" if one.reason else "")
        scope = f", {claim.scope}" if claim.scope else ""
        subject = f"`{claim.subject}`" if claim.subject else ""
        yield (
            "| "
            + " | ".join(
                _cell(text) for text in (_about(one) + scope, subject, says, found, verdict)
            )
            + " |"
        )
        if claim.said_of:
            notes[f"Said of {claim.said_of}."] = None
        if claim.note:
            notes[claim.note] = None
    if notes:
        yield ""
        yield " ".join(notes)


def _one(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _found(found: Mapping[str, str]) -> str:
    by_answer: dict[str, list[str]] = {}
    for scope, answer in found.items():
        by_answer.setdefault(answer, []).append(scope)
    if len(by_answer) == 1:
        return next(iter(by_answer))
    return "; ".join(f"{answer} ({', '.join(scopes)})" for answer, scopes in by_answer.items())


def show(found: Sequence[Settled]) -> None:
    """Print the counts, then every claim whose verdict is not the recorded one."""
    table = Table("source", "framework", *_VERDICTS)
    for (document, framework), counted in counts(found).items():
        table.add_row(document, framework, *(str(counted[verdict]) for verdict in _VERDICTS))
    console = Console()
    console.print(table)
    texts = differing(found)
    for text in texts:
        console.print(text, markup=False, highlight=False)
    console.print(f"{len(found)} claims, {len(texts)} not as recorded.")
