"""``rlregress study claims`` and its page: claims of sources, and the answers of the code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.table import Table

from rlregress.model.detail_answers import Item, describe_variant
from rlregress.report import tables
from rlregress_studies.claims.claim_files import (
    NOT_CHECKABLE,
    UNPROBED,
    VERDICTS,
    Answers,
    Framework,
    SettledClaim,
)

_VERDICTS = (*VERDICTS, NOT_CHECKABLE, UNPROBED)
_WIDTH_OF_FILES = 130
_HEAD = """\
# What the sources say, and what the code does

Written by `rlregress study claims --markdown`, from the sentences in `baselines/claims/` and from
probes of {versions}. Do not edit.

*confirmed*: the code does what the sentence says (in the named scope; if none is named, in any).
*refuted*: it does something else. *outdated*: it does something else, and another version does, or
did, what the sentence says. *not checkable*: the reason is given instead of a result.
*Said of*: the sentence is about something else; it is checked against the framework all the same.
"""


def describe_claim_not_as_recorded(settled: SettledClaim) -> str:
    """Return the failure text of a claim whose verdict is not the recorded one.

    First line: ``thesis.box6.sb3: refuted (recorded: confirmed)``. Then the sentence, the answers,
    and the verdict to record if the change is intended.
    """
    claim = settled.claim
    answers_text = "; ".join(
        f"{scope}: {_format_answer(answer, claim.detail)}"
        for scope, answer in settled.answers.items()
    )
    record = f'verdict = "{settled.verdict}"'
    before = settled.recorded
    if claim.verdicts and "" not in claim.verdicts:
        record = f'"{settled.version}" = "{settled.verdict}" in its table of verdicts'
    elif before:
        # so far one verdict applies to every version; older versions keep it
        record = f'verdict = {{ "<first>" = "{before}", "<changed>" = "{settled.verdict}" }}'
        record += ", with the first version that it holds for and the one that changed"
    lines = [
        f"{claim.id}: {settled.verdict} (recorded: {before or 'nothing'})",
        f"  {claim.place}: {claim.quote}",
        f"  {claim.framework} {settled.version}, {claim.subject}: says "
        f"{' or '.join(_format_answer(str(statement), claim.detail) for statement in claim.says)}; "
        f"found {answers_text or 'nothing'}",
    ]
    if settled.reason:
        lines.append(f"  {settled.reason}")
    if settled.verdict != UNPROBED:
        lines.append(
            f"If the change is intended, give the detail its new entry first, then record {record} "
            f"({claim.where})."
        )
    return "\n".join(lines)


def describe_claims_not_as_recorded(settled: Sequence[SettledClaim]) -> list[str]:
    """Return a failure text for each claim whose verdict is not the recorded one."""
    return [
        describe_claim_not_as_recorded(settled_claim)
        for settled_claim in settled
        if not settled_claim.is_as_recorded
    ]


@dataclass(frozen=True)
class Counts:
    """Numbers of claims by verdict, for one document, framework and subject.

    Attributes:
        said_of: "it" for sentences about the framework, "something else" for sentences about
            another library or an algorithm, which are checked on the framework.
    """

    document: str
    framework: str
    said_of: str
    verdicts: Mapping[str, int]


def count_claims_by_verdict(settled: Sequence[SettledClaim]) -> list[Counts]:
    """Count verdicts by document, framework with version, and subject of the sentence.

    Claims that cannot be checked have a line without a version.
    """
    count_text: dict[tuple[str, str, str], Counter[str]] = {}
    for settled_claim in settled:
        said_of = "something else" if settled_claim.claim.said_of else "it"
        key = (settled_claim.claim.document, _name_subject_of_claim(settled_claim), said_of)
        count_text.setdefault(key, Counter())[settled_claim.verdict] += 1
    largest = _list_documents(settled)
    ordered = sorted(count_text.items(), key=lambda pair: (largest.index(pair[0][0]), *pair[0][1:]))
    return [Counts(*key, verdicts) for key, verdicts in ordered]


def _list_documents(settled: Sequence[SettledClaim]) -> list[str]:
    """Return the documents, the one with most claims first."""
    return [
        name
        for name, _ in Counter(
            settled_claim.claim.document for settled_claim in settled
        ).most_common()
    ]


def _name_subject_of_claim(settled_claim: SettledClaim) -> str:
    return f"{settled_claim.claim.framework} {settled_claim.version}".strip()


def format_claims(settled: Sequence[SettledClaim], frameworks: Sequence[Framework]) -> str:
    """Return all claims with their verdicts as Markdown."""
    versions = ", ".join(f"{framework.title} {framework.version}" for framework in frameworks)
    lines = [_HEAD.format(versions=versions), *_format_count_rows(settled), ""]
    for document in _list_documents(settled):
        document_rows = [
            settled_claim for settled_claim in settled if settled_claim.claim.document == document
        ]
        lines += [f"## {document}", ""]
        for place, place_rows in groupby(
            document_rows, key=lambda settled_claim: settled_claim.claim.place
        ):
            lines += [f"### {place}", ""]
            for quote, quote_rows in groupby(
                place_rows, key=lambda settled_claim: settled_claim.claim.quote
            ):
                lines += [_format_code(quote), "", *_format_answer_table(list(quote_rows)), ""]
    return "\n".join(lines)


def make_claims_page(
    settled: Sequence[SettledClaim],
    items: Sequence[Item],
    answers: Answers,
    frameworks: Sequence[Framework],
) -> str:
    """Return the page of all claims, as Markdown."""
    rows = format_index_rows(items, answers, frameworks)
    return "\n".join([format_claims(settled, frameworks), *rows, ""])


def format_index_rows(
    items: Sequence[Item], answers: Answers, frameworks: Sequence[Framework]
) -> Iterator[str]:
    """Yield the rows of an index: items of the sources, their checks, and the answers."""
    yield "## Index of what the sources name"
    yield ""
    titles = [f"{framework.name} {framework.version}" for framework in frameworks]
    yield from tables.format_markdown_head("where", "what", "checked by", *titles)
    for item in items:
        checks = [(f"`{detail}`", ("detail", detail)) for detail in item.details]
        checks += [(f"default `{default}`", ("default", default)) for default in item.defaults]
        where = (item.place, item.title)
        for words, subject in checks:
            detail = subject[1] if subject[0] == "detail" else ""
            answered = [
                _format_answers(answers_found, detail) or "-" for answers_found in answers[subject]
            ]
            yield tables.format_markdown_row(*where, words, *answered)
            where = ("", "")
        if item.not_code:
            yield tables.format_markdown_row(
                *where, f"*no code*: {item.not_code}", *[""] * len(frameworks)
            )


def _format_count_rows(settled: Sequence[SettledClaim]) -> Iterator[str]:
    total = Counter(settled_claim.verdict for settled_claim in settled)
    claims = len({settled_claim.claim.id for settled_claim in settled})
    yield f"{claims} claims, {len(settled)} verdicts (one for each copy of a framework)."
    yield ""
    heads = ("source", "framework", "said of", *_VERDICTS)
    yield from tables.format_markdown_head(*heads, numeric=len(_VERDICTS))
    for count in count_claims_by_verdict(settled):
        numbers = [count.verdicts.get(verdict, 0) for verdict in _VERDICTS]
        yield tables.format_markdown_row(count.document, count.framework, count.said_of, *numbers)
    yield tables.format_markdown_row("**all**", "", "", *(total[verdict] for verdict in _VERDICTS))


def _format_code(text: str) -> str:
    """Format a text as code that may contain backticks."""
    return f"`` {text} ``"


def _format_answer_table(settled: Sequence[SettledClaim]) -> Iterator[str]:
    yield from tables.format_markdown_head("framework", "checked", "says", "found", "verdict")
    yield from dict.fromkeys(_format_claim_row(settled_claim) for settled_claim in settled)
    notes = list(_format_notes_on_answers(settled))
    if notes:
        yield ""
        yield " ".join(notes)


def _format_claim_row(settled_claim: SettledClaim) -> str:
    claim = settled_claim.claim
    scope = f", {claim.scope}" if claim.scope else ""
    subject = f"`{claim.subject}`" if claim.subject else ""
    says = " or ".join(
        _format_answer(_format_claimed_value(value), claim.detail) for value in claim.says
    )
    answered = _format_answers(settled_claim.answers, claim.detail) or ("-" if claim.says else "")
    verdict = f"**{settled_claim.verdict}**" + (
        f" ({settled_claim.reason})" if settled_claim.reason else ""
    )
    return tables.format_markdown_row(
        _name_subject_of_claim(settled_claim) + scope, subject, says, answered, verdict
    )


def _format_notes_on_answers(settled: Sequence[SettledClaim]) -> Iterator[str]:
    """Yield notes on the answers to a sentence, once each, with the framework if needed."""
    yield from dict.fromkeys(
        f"Said of {settled_claim.claim.said_of}."
        for settled_claim in settled
        if settled_claim.claim.said_of
    )
    everyone = {settled_claim.claim.framework for settled_claim in settled}
    about: dict[str, set[str]] = {}
    for claim in (settled_claim.claim for settled_claim in settled):
        if claim.note:
            about.setdefault(claim.note, set()).add(claim.framework)
    for note, noted in about.items():
        yield note if noted == everyone else f"({', '.join(sorted(noted))}) {note}"


def _format_claimed_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _format_answer(value: str, detail: str) -> str:
    """Return a variant in words; values of defaults stay unchanged."""
    return describe_variant(value) if detail else value


def _format_answers(answers: Mapping[str, str], detail: str) -> str:
    by_answer: dict[str, list[str]] = {}
    for scope, answer in answers.items():
        by_answer.setdefault(_format_answer(answer, detail), []).append(scope)
    return "; ".join(f"{answer} ({', '.join(scopes)})" for answer, scopes in by_answer.items())


def print_claims(settled: Sequence[SettledClaim]) -> None:
    """Print the counts, then every claim whose verdict is not the recorded one."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_OF_FILES)
    table = Table("source", "framework", "said of", *_VERDICTS)
    for count in count_claims_by_verdict(settled):
        numbers = [str(count.verdicts.get(verdict, 0)) for verdict in _VERDICTS]
        table.add_row(count.document.partition(",")[0], count.framework, count.said_of, *numbers)
    console.print(table)
    texts = describe_claims_not_as_recorded(settled)
    for text in texts:
        console.print(text, markup=False, highlight=False)
    console.print(f"{len(settled)} verdicts, {len(texts)} not as recorded.")
