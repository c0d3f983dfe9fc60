"""Build pages from the data of the suite: the catalogue, real releases, injected faults."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from split_pages import Pages

from rlregress import frameworks, suite
from rlregress.catalogue import expectations, registry
from rlregress.catalogue.expectations import Expectation
from rlregress.catalogue.implementation import locate_expectations
from rlregress.catalogue.registry import Detail
from rlregress.check.comparison import list_documented_variants
from rlregress.errors import UserError
from rlregress.faults import fault_tables
from rlregress.frameworks.base import Adapter
from rlregress.model.fault_results import (
    BEHAVIOR,
    DETAILS,
    OPTIONS,
    RETURNS,
    THROUGHPUT,
    TRACES,
    Fault,
)
from rlregress.report import harmless, markdown_page, tables
from rlregress.report.html import comparison_page
from rlregress.report.html.page import PageInfo
from rlregress.upgrade.differences import known_changes
from rlregress_power import histories_text, release_histories


def _list_adapters() -> list[Adapter]:
    """List the adapters that this repository has expectations of."""
    adapters = frameworks.list_adapters()
    return [adapter for adapter in adapters if adapter.framework.expectations is None]


def _mark_code(text: str) -> str:
    """Format source code for one cell of a table."""
    escaped = html.escape(text, quote=False)
    for special in "|`*_[]\\":
        escaped = escaped.replace(special, f"&#{ord(special)};")
    return f"<code>{'<br>'.join(escaped.splitlines())}</code>" if text else ""


def _escape(text: str) -> str:
    """Format prose for one cell of a table, or a paragraph."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    # ``name`` of docstrings
    escaped = re.sub(r"``(.+?)``", r"<code>\1</code>", escaped)
    for special in "|*_[]":
        escaped = escaped.replace(special, f"&#{ord(special)};")
    return escaped


def _tabulate(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield from (
        *tables.format_markdown_head(*head),
        *(tables.format_markdown_row(*row) for row in rows),
        "",
    )


def _to_anchor(id: str) -> str:
    return id.replace(".", "")


def build_comparison() -> str:
    """Compare all installed frameworks by their documented variants."""
    names = {adapter.name for adapter in _list_adapters()}
    installed = [
        adapter for adapter in frameworks.list_installed_adapters() if adapter.name in names
    ]
    documented = list_documented_variants({a.full_name: a.code.version() for a in installed})
    facts = PageInfo(comparison_page.format_comparison_title(documented), "", 0.0, "", "")
    basis = "What is documented of these versions; `pytest tests_unit` asserts it."
    return harmless.escape_markdown(
        markdown_page.format_page_as_markdown(
            comparison_page.make_page_of_comparison(documented, facts, basis)
        )
    )


def build_claims() -> str:
    """Return the page of ``rlregress study claims``: claims of sources, each probed."""
    command = [sys.executable, "-m", "rlregress", "study", "claims", "--markdown"]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if not process.stdout.startswith("# "):
        raise UserError(f"'{' '.join(command[1:])}' printed no page; run it to see why")
    return process.stdout


def build_behavior() -> str:
    """Return the answers to the questions of ``tests_behavior``."""
    sys.path.insert(0, str(suite.find_suite_root()))
    from tests_behavior import questions

    return questions.format_page()


def build_details() -> Pages:
    """Return a page for each family of details: questions, and the variants that are documented."""
    documented = {
        adapter.name: [
            e
            for e in expectations.load_expectations(locate_expectations(adapter))
            if e.until is None
        ]
        for adapter in _list_adapters()
    }
    families = list(dict.fromkeys(detail.family for detail in registry.list_details()))
    pages: Pages = {}
    rows = []
    for family in families:
        members = registry.list_details_of_family(family)
        variants = sum(len(detail.variants) for detail in members)
        rows.append((f"[{family}](details/{family}.md)", len(members), variants))
        text = "\n".join(_format_family(family, members, documented))
        pages[f"details/{family}.md"] = (family, text)
    lines = [
        "# Details",
        "",
        "The questions of the catalogue, and what each framework is documented to do. Deviations "
        "are known and pinned, because they may hurt somebody.",
        "",
        *_tabulate(("family", "details", "variants"), rows),
        "## Known deviations",
        "",
        *_list_deviations(documented),
    ]
    return {"details.md": ("All families", "\n".join(lines)), **pages}


def _list_deviations(documented: dict[str, list[Expectation]]) -> Iterator[str]:
    rows = [
        (
            f"[{entry.id}](details/{entry.id.partition('.')[0]}.md#{_to_anchor(entry.id)})",
            name,
            entry.scope,
            _escape(entry.deviation),
            f"[known]({entry.upstream})" if entry.upstream else "",
        )
        for name, entries in documented.items()
        for entry in entries
        if entry.deviation
    ]
    yield from _tabulate(("detail", "framework", "scope", "whom it hurts", "upstream"), rows)


def _format_family(
    family: str, members: Sequence[Detail], documented: dict[str, list[Expectation]]
) -> Iterator[str]:
    def list_variants(name: str, id: str) -> str:
        scopes: dict[str, list[str]] = {}
        for entry in documented[name]:
            if entry.id == id:
                scopes.setdefault(entry.variant, []).append(entry.scope)
        return "; ".join(f"{_mark_code(variant)} ({', '.join(s)})" for variant, s in scopes.items())

    yield from (f"# Details: {family}", "")
    rows = (
        (f"[{d.id}](#{_to_anchor(d.id)})", *(list_variants(n, d.id) for n in documented))
        for d in members
    )
    yield from _tabulate(("detail", *documented), rows)
    for detail in members:
        yield from (f"## `{detail.id}`", "", f"{_escape(detail.question)} ", "")
        yield from (_escape(detail.consequence), "")
        yield from (f"Described in: {_escape('; '.join(detail.sources))}", "")
        yield from _tabulate(
            ("variant", "meaning", "documented of"),
            (
                (_mark_code(name), _escape(v.meaning), _list_sources(detail.id, name, documented))
                for name, v in detail.variants.items()
            ),
        )
        for name, entries in documented.items():
            for entry in entries:
                if entry.id == detail.id and (remark := entry.deviation or entry.note):
                    kind = "deviates" if entry.deviation else "note"
                    yield f"- **{name}** ({entry.scope}), {kind}: {_escape(remark)}"
        yield ""


def _list_sources(id: str, variant: str, documented: dict[str, list[Expectation]]) -> str:
    return "; ".join(
        f"{name} ({entry.scope}) since {entry.since}: {_escape(entry.source)}"
        for name, entries in documented.items()
        for entry in entries
        if entry.id == id and entry.variant == variant
    )


def build_histories() -> Pages:
    """Return a page for each framework: upgrade checks of its releases, a row for each change."""
    pages: Pages = {}
    for name in known_changes.list_frameworks_with_history():
        title, pairs, judged = (
            frameworks.get_adapter(name).framework.title,
            known_changes.list_release_pairs(name),
            release_histories.load_judged_pairs(name),
        )
        lines = histories_text.make_history_table(title, len(pairs), judged)
        outcomes = {change.id: change for row in judged for change in row.changes}
        counts = lines[1 : next(i for i, line in enumerate(lines) if line.startswith("- "))]
        text = [
            f"# {title}: every release against the one before",
            "",
            f"`rlregress selftest histories --show --framework {name}` prints the counts and the "
            "pairs; how it works: [upgrades](../evidence.md#real-histories).",
            *counts,
            "## Pairs",
            "",
            *_tabulate(
                ("from", "to", "verdict", "s"),
                ((r.before, r.release, _escape(r.headline), round(r.seconds)) for r in judged),
            ),
            "## Changes",
            "",
            *_tabulate(
                ("release", "algorithms", "what changed", "only with", "outcome", "named by"),
                (
                    (
                        change.release,
                        ", ".join(change.algorithms),
                        _escape(change.what),
                        _escape(change.condition),
                        outcomes[change.id].outcome if change.id in outcomes else "out of scope",
                        _mark_code(outcomes[change.id].by) if change.id in outcomes else "",
                    )
                    for change in known_changes.load_changes(name)
                ),
            ),
        ]
        pages[f"histories/{name}.md"] = (title, "\n".join(text))
    return pages


def build_faults() -> Pages:
    """Return the pages of all faults that are injected to test whether they are detected."""
    titles = {adapter.name: adapter.framework.title for adapter in _list_adapters()}
    injected = {
        DETAILS: ("details", "`rlregress selftest faults`"),
        TRACES: ("traces", "`rlregress selftest faults --traced`"),
        OPTIONS: ("options", "`rlregress selftest faults --optional`"),
        BEHAVIOR: ("behaviour", "`rlregress selftest faults --behavior`"),
        RETURNS: ("returns", "`rlregress selftest faults --returns`"),
        THROUGHPUT: ("throughput", "`rlregress selftest faults --throughput`"),
    }
    lines = [
        "# Injected faults",
        "",
        "A test that has never failed proves nothing. These mistakes are made in copies of the "
        "frameworks, one line at a time, to test whether they are detected. How many are: "
        "[by returns](statistics.md#what-the-default-check-detects), "
        "[under options](evidence.md#injected-faults), "
        "[of real releases](evidence.md#real-histories). "
        "To add one, see [faults that somebody chose](power.md#faults-that-somebody-chose).",
        "",
        *_tabulate(
            ("detected by", *titles, "command"),
            (
                (kind, *(len(fault_tables.load_faults(name, [n])) for n in titles), command)
                for name, (kind, command) in injected.items()
            ),
        ),
    ]
    pages: Pages = {"faults.md": ("All frameworks", "\n".join(lines))}
    for name, title in titles.items():
        text = "\n".join([f"# Faults injected into {title}", "", *_format_faults(name)])
        pages[f"faults/{name}.md"] = (title, text)
    return pages


def _show_change(fault: Fault) -> str:
    """Format the changed fragment of a line, and its replacement."""
    return f"{_mark_code(fault.old)}<br>becomes {_mark_code(fault.new) or 'nothing'}"


_Columns = Mapping[str, Callable[[Fault], str]]
#: instrument -> heading, and the columns of its table.
_FAULT_TABLES: Mapping[str, tuple[str, _Columns]] = {
    DETAILS: (
        "Detected by details",
        {
            "fault, in file": lambda f: f"{f.name}<br>{f.file}",
            "change": _show_change,
            "fails": lambda f: "<br>".join(f.turns),
            "variant found": lambda f: _mark_code(f.finds),
        },
    ),
    TRACES: (
        "Detected by traces",
        {
            "fault": lambda f: f.name,
            "algorithm": lambda f: f.algorithm,
            "change": _show_change,
            "diverges at": lambda f: f.finds,
            "in": lambda f: "<br>".join(f.turns),
        },
    ),
    OPTIONS: (
        "Under options",
        {
            "fault": lambda f: f.name,
            "option": lambda f: _mark_code(f.option),
            "function": lambda f: _mark_code(f.function),
            "change": _show_change,
        },
    ),
    BEHAVIOR: (
        "Detected by behaviour",
        {
            "fault": lambda f: f.name,
            "algorithm": lambda f: f.algorithm,
            "change": _show_change,
            "fails": lambda f: "<br>".join(map(_mark_code, f.turns)),
        },
    ),
    RETURNS: (
        "Detected by returns",
        {"fault": lambda f: f.name, "algorithm": lambda f: f.algorithm, "change": _show_change},
    ),
}


def _format_faults(name: str) -> Iterator[str]:
    for instrument, (heading, columns) in _FAULT_TABLES.items():
        yield from (f"## {heading}", "")
        yield from _tabulate(
            tuple(columns),
            (
                tuple(column(fault) for column in columns.values())
                for fault in fault_tables.load_faults(instrument, [name])
            ),
        )
