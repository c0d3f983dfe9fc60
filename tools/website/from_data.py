"""Pages made of the data of the suite: the catalogue, real releases, injected faults."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from written import Pages

from rlregress import frameworks, suite
from rlregress.details import catalogue, expectations
from rlregress.details.catalogue import Detail
from rlregress.details.expectations import Expectation
from rlregress.details.implementation import expectations_path
from rlregress.errors import UserError
from rlregress.faults import fault_tables
from rlregress.frameworks.base import Adapter
from rlregress.gate.comparison import compare_documented
from rlregress.model.fault_results import (
    BEHAVIOR,
    DETAILS,
    OPTIONS,
    RETURNS,
    THROUGHPUT,
    TRACES,
    Fault,
)
from rlregress.reporting import harmless, markdown_page, tables
from rlregress.reporting.html import comparison_page
from rlregress.reporting.html.page import Facts
from rlregress.upgrade import known_changes
from rlregress_power import histories_text, release_histories


def _adapters() -> list[Adapter]:
    """The frameworks that this repository has expectations of."""
    every = map(frameworks.get, frameworks.names())
    return [adapter for adapter in every if adapter.framework.expectations is None]


def _code(text: str) -> str:
    """Source in one cell of a table."""
    shown = html.escape(text, quote=False)
    for special in "|`*_[]\\":
        shown = shown.replace(special, f"&#{ord(special)};")
    return f"<code>{'<br>'.join(shown.splitlines())}</code>" if text else ""


def _words(text: str) -> str:
    """Prose in one cell of a table, or in a paragraph."""
    shown = html.escape(" ".join(text.split()), quote=False)
    # ``name`` of docstrings
    shown = re.sub(r"``(.+?)``", r"<code>\1</code>", shown)
    for special in "|*_[]":
        shown = shown.replace(special, f"&#{ord(special)};")
    return shown


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield from (*tables.head(*head), *(tables.row(*row) for row in rows), "")


def _anchor(id: str) -> str:
    return id.replace(".", "")


def comparison() -> str:
    """The comparison of all frameworks that are installed, by what is documented of them."""
    own = {adapter.name for adapter in _adapters()}
    installed = [adapter for adapter in frameworks.installed() if adapter.name in own]
    documented = compare_documented({each.full_name: each.code.version() for each in installed})
    facts = Facts(comparison_page.title(documented), "", 0.0, "", "")
    basis = "What is documented of these versions; `pytest tests_unit` asserts it."
    return harmless.markdown(markdown_page.text(comparison_page.page(documented, facts, basis)))


def claims() -> str:
    """What sources say, each claim probed, as ``rlregress study claims`` prints it."""
    command = [sys.executable, "-m", "rlregress", "study", "claims", "--markdown"]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if not ended.stdout.startswith("# "):
        raise UserError(f"'{' '.join(command[1:])}' printed no page; run it to see why")
    return ended.stdout


def behavior() -> str:
    """The answers to the questions of ``tests_behavior``."""
    sys.path.insert(0, str(suite.root()))
    from tests_behavior import questions

    return questions.page()


def details() -> Pages:
    """The catalogue, one page for each family: the questions, and what each framework documents."""
    known = {
        adapter.name: [
            e for e in expectations.load_expectations(expectations_path(adapter)) if e.until is None
        ]
        for adapter in _adapters()
    }
    families = list(dict.fromkeys(detail.family for detail in catalogue.all_details()))
    pages: Pages = {}
    rows = []
    for family in families:
        inside = catalogue.family_details(family)
        variants = sum(len(detail.variants) for detail in inside)
        rows.append((f"[{family}](details/{family}.md)", len(inside), variants))
        pages[f"details/{family}.md"] = (family, "\n".join(_family(family, inside, known)))
    start = [
        "# Details",
        "",
        "The questions of the catalogue, and what each framework is documented to do. Deviations "
        "are known and pinned, because they may hurt somebody.",
        "",
        *_table(("family", "details", "variants"), rows),
        "## Known deviations",
        "",
        *_deviations(known),
    ]
    return {"details.md": ("All families", "\n".join(start)), **pages}


def _deviations(known: dict[str, list[Expectation]]) -> Iterator[str]:
    rows = [
        (
            f"[{entry.id}](details/{entry.id.partition('.')[0]}.md#{_anchor(entry.id)})",
            name,
            entry.scope,
            _words(entry.deviation),
            f"[known]({entry.upstream})" if entry.upstream else "",
        )
        for name, entries in known.items()
        for entry in entries
        if entry.deviation
    ]
    yield from _table(("detail", "framework", "scope", "whom it hurts", "upstream"), rows)


def _family(
    family: str, inside: Sequence[Detail], known: dict[str, list[Expectation]]
) -> Iterator[str]:
    def documented(name: str, id: str) -> str:
        of: dict[str, list[str]] = {}
        for entry in known[name]:
            if entry.id == id:
                of.setdefault(entry.variant, []).append(entry.scope)
        return "; ".join(f"{_code(variant)} ({', '.join(s)})" for variant, s in of.items())

    yield from (f"# Details: {family}", "")
    yield from _table(
        ("detail", *known),
        ((f"[{d.id}](#{_anchor(d.id)})", *(documented(n, d.id) for n in known)) for d in inside),
    )
    for detail in inside:
        yield from (f"## `{detail.id}`", "", f"{_words(detail.question)} ", "")
        yield from (_words(detail.consequence), "")
        yield from (f"Described in: {_words('; '.join(detail.sources))}", "")
        yield from _table(
            ("variant", "meaning", "documented of"),
            (
                (_code(name), _words(variant.meaning), _documented_of(detail.id, name, known))
                for name, variant in detail.variants.items()
            ),
        )
        for name, entries in known.items():
            for entry in entries:
                if entry.id == detail.id and (said := entry.deviation or entry.note):
                    how = "deviates" if entry.deviation else "note"
                    yield f"- **{name}** ({entry.scope}), {how}: {_words(said)}"
        yield ""


def _documented_of(id: str, variant: str, known: dict[str, list[Expectation]]) -> str:
    return "; ".join(
        f"{name} ({entry.scope}) since {entry.since}: {_words(entry.source)}"
        for name, entries in known.items()
        for entry in entries
        if entry.id == id and entry.variant == variant
    )


def histories() -> Pages:
    """Upgrade checks of real releases: a page for each framework, a row for each change."""
    pages: Pages = {}
    for name in known_changes.list_frameworks():
        title, pairs, judged = (
            frameworks.get(name).framework.title,
            known_changes.pairs(name),
            release_histories.load(name),
        )
        shown = histories_text.lines(title, len(pairs), judged)
        outcome = {seen.id: seen for row in judged for seen in row.changes}
        counts = shown[1 : next(i for i, line in enumerate(shown) if line.startswith("- "))]
        text = [
            f"# {title}: every release against the one before",
            "",
            f"`rlregress selftest histories --show --framework {name}` prints the counts and the "
            "pairs; how it works: [upgrades](../evidence.md#real-histories).",
            *counts,
            "## Pairs",
            "",
            *_table(
                ("from", "to", "verdict", "s"),
                ((r.before, r.release, _words(r.headline), round(r.seconds)) for r in judged),
            ),
            "## Changes",
            "",
            *_table(
                ("release", "algorithms", "what changed", "only with", "outcome", "named by"),
                (
                    (
                        change.release,
                        ", ".join(change.algorithms),
                        _words(change.what),
                        _words(change.condition),
                        outcome[change.id].outcome if change.id in outcome else "out of scope",
                        _code(outcome[change.id].by) if change.id in outcome else "",
                    )
                    for change in known_changes.load(name)
                ),
            ),
        ]
        pages[f"histories/{name}.md"] = (title, "\n".join(text))
    return pages


def faults() -> Pages:
    """The suite's own power: every fault that is injected to test whether it is detected."""
    by_name = {adapter.name: adapter.framework.title for adapter in _adapters()}
    injected = {
        DETAILS: ("details", "`rlregress selftest faults`"),
        TRACES: ("traces", "`rlregress selftest faults --traced`"),
        OPTIONS: ("options", "`rlregress selftest faults --optional`"),
        BEHAVIOR: ("behaviour", "`rlregress selftest faults --behavior`"),
        RETURNS: ("returns", "`rlregress selftest faults --returns`"),
        THROUGHPUT: ("throughput", "`rlregress selftest faults --throughput`"),
    }
    start = [
        "# Injected faults",
        "",
        "A test that has never failed proves nothing. These mistakes are made in copies of the "
        "frameworks, one line at a time, to test whether they are detected. How many are: "
        "[by returns](statistics.md#what-the-default-check-detects), "
        "[under options](evidence.md#injected-faults), "
        "[of real releases](evidence.md#real-histories). "
        "To add one, see [faults that somebody chose](power.md#faults-that-somebody-chose).",
        "",
        *_table(
            ("detected by", *by_name, "command"),
            (
                (kind, *(len(fault_tables.load(name, [of])) for of in by_name), command)
                for name, (kind, command) in injected.items()
            ),
        ),
    ]
    pages: Pages = {"faults.md": ("All frameworks", "\n".join(start))}
    for name, title in by_name.items():
        text = "\n".join([f"# Faults injected into {title}", "", *_faults_of(name)])
        pages[f"faults/{name}.md"] = (title, text)
    return pages


def _change(fault: Fault) -> str:
    """The fragment of a line and what takes its place."""
    return f"{_code(fault.old)}<br>becomes {_code(fault.new) or 'nothing'}"


_Columns = Mapping[str, Callable[[Fault], str]]
#: instrument -> heading, and the columns of its table.
_OF_INSTRUMENTS: Mapping[str, tuple[str, _Columns]] = {
    DETAILS: (
        "Detected by details",
        {
            "fault, in file": lambda f: f"{f.name}<br>{f.file}",
            "change": _change,
            "fails": lambda f: "<br>".join(f.turns),
            "variant found": lambda f: _code(f.finds),
        },
    ),
    TRACES: (
        "Detected by traces",
        {
            "fault": lambda f: f.name,
            "algorithm": lambda f: f.algorithm,
            "change": _change,
            "diverges at": lambda f: f.finds,
            "in": lambda f: "<br>".join(f.turns),
        },
    ),
    OPTIONS: (
        "Under options",
        {
            "fault": lambda f: f.name,
            "option": lambda f: _code(f.option),
            "function": lambda f: _code(f.function),
            "change": _change,
        },
    ),
    BEHAVIOR: (
        "Detected by behaviour",
        {
            "fault": lambda f: f.name,
            "algorithm": lambda f: f.algorithm,
            "change": _change,
            "fails": lambda f: "<br>".join(map(_code, f.turns)),
        },
    ),
    RETURNS: (
        "Detected by returns",
        {"fault": lambda f: f.name, "algorithm": lambda f: f.algorithm, "change": _change},
    ),
}


def _faults_of(name: str) -> Iterator[str]:
    for instrument, (below, columns) in _OF_INSTRUMENTS.items():
        yield from (f"## {below}", "")
        yield from _table(
            tuple(columns),
            (
                tuple(column(fault) for column in columns.values())
                for fault in fault_tables.load(instrument, [name])
            ),
        )
