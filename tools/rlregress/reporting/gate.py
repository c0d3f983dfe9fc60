"""``rlregress gate``: check, run, judge, report."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

from rlregress import __version__
from rlregress.details.implementation import documented
from rlregress.gate import outcome, run, selection
from rlregress.gate.session import open_session
from rlregress.reporting import evidence, summary
from rlregress.training import identity
from rlregress.training.record import check_writable, write_atomically

SCHEMA = 1


def judge(options: run.GateOptions) -> int:
    """Run the gate; writes the report and prints the summary; returns the exit code."""
    started = time.monotonic()
    # everything that can be wrong with the request is said before anything is started
    frameworks = selection.names("--framework", options.frameworks)
    session = open_session(
        selection.Selection(
            options.budget,
            frameworks,
            selection.names("--algorithm", options.algorithms),
            selection.names("--environment", options.environments),
            options.cells,
        ),
        options.seeds,
        options.store,
        options.alpha,
        options.first_seed,
    )
    adapters = selection.adapters(frameworks)
    versions = {adapter.full_name: identity.versions(adapter) for adapter in adapters}
    sources = {adapter.full_name: identity.sources(adapter) for adapter in adapters}
    copies = {adapter.full_name: identity.changed_copies(adapter) for adapter in adapters}
    for adapter in adapters:
        documented(adapter)
    check_writable(session.store.folder, "run records")
    run.clear(options)
    print(f"gate: {session.describe()}", flush=True)
    run.run(options)
    entries = evidence.read(options.evidence)
    trained = {cell.framework for cell in session.cells}
    found = outcome.outcomes(entries, trained)
    missing = outcome.unjudged(session.verdict_names(), entries)
    missing += [f"tests of {name}" for name in outcome.untested(found, versions, trained)]
    code = outcome.exit_code(found, entries, missing)
    text = summary.markdown(
        found, outcome.broken(entries), missing, versions, copies, options.alpha
    )
    write_atomically(options.report / "summary.md", text)
    verdict = {
        "schema": SCHEMA,
        "rlregress": __version__,
        "exit_code": code,
        "unjudged": missing,
        "alpha": options.alpha,
        "budget": options.budget,
        "seconds": round(time.monotonic() - started, 1),
        "versions": versions,
        "sources": sources,
        "changed_copies": copies,
        "frameworks": {item.framework: asdict(item) for item in found},
    }
    write_atomically(
        options.report / "verdict.json", json.dumps(evidence.plain(verdict), indent=1) + "\n"
    )
    print("\n" + text)
    print(f"report: {options.report} (summary.md, verdict.json, evidence.json, junit.xml)")
    for item in found:
        print(f"verdict {item.framework}: {item.verdict}")
    return code
