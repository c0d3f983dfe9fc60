"""Measures which lines of a framework each probe executes.

A fault in the body of a function can only change details whose probes execute its statement; the
others run the same code as before. So only a few probes run for each of hundreds of faults.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from rlregress.catalogue import registry
from rlregress.catalogue.fingerprint import run_and_judge_probe
from rlregress.frameworks.base import Adapter

#: (detail id, scope) of a probe
Probe = tuple[str, str]
#: real path of a file -> probe -> executed lines
ExecutedLines = Mapping[str, Mapping[Probe, frozenset[int]]]


def measure_lines_of_probes(adapter: Adapter) -> ExecutedLines:
    """Run every probe once with its lines counted."""
    import coverage

    folders = [f"{folder}/*" for folder in adapter.code.list_code_and_base_folders()]
    lines_counted = coverage.Coverage(data_file=None, include=folders, config_file=False)
    lines_counted.start()
    try:
        for (id, scope), probe in adapter.observe.list_probes().items():
            lines_counted.switch_context(f"{id} {scope}")
            run_and_judge_probe(registry.get_detail(id), probe)
    finally:
        lines_counted.stop()
    data = lines_counted.get_data()
    executed: dict[str, dict[Probe, frozenset[int]]] = {}
    for file in data.measured_files():
        lines: dict[Probe, set[int]] = {}
        for line, contexts in data.contexts_by_lineno(file).items():
            for context in filter(None, contexts):
                id, _, scope = context.partition(" ")
                lines.setdefault((id, scope), set()).add(line)
        real = str(Path(file).resolve())
        executed[real] = {probed: frozenset(numbers) for probed, numbers in lines.items()}
    return executed


def find_lines_of_statement(text: str, line: int, script: bool = False) -> range | None:
    """Return the lines of the innermost statement at ``line`` in the body of a function.

    None for other statements: the bodies of modules and classes, and defaults of arguments, run at
    import. Statements of a script run one by one, so those of its module count as well.
    """
    best: ast.stmt | None = None
    tree = ast.parse(text)
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, functions)]
    for body in [*bodies, *([tree.body] if script else [])]:
        for node in _walk_statements(body):
            if node.lineno <= line <= (node.end_lineno or node.lineno):
                inner = best is None or node.lineno >= best.lineno
                best = node if inner else best
    if best is None or isinstance(best, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return None
    return range(best.lineno, (best.end_lineno or best.lineno) + 1)


def _walk_statements(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.ClassDef):
            continue
        for _, value in ast.iter_fields(node):
            if isinstance(value, list):
                yield from _walk_statements(v for v in value if isinstance(v, ast.stmt))
                for handler in value:
                    if isinstance(handler, ast.ExceptHandler | ast.match_case):
                        yield from _walk_statements(handler.body)


def find_probes_of_line(
    executed: ExecutedLines, path: Path, line: int, script: bool = False
) -> set[Probe] | None:
    """Return the probes that execute the statement at a line; None if all must run.

    The set is empty for a statement in the body of a function that no probe executes.
    """
    file_lines = executed.get(str(path.resolve()))
    lines = find_lines_of_statement(path.read_text(encoding="utf-8"), line, script)
    # a script that was not counted at all may run under another name
    if lines is None or (script and file_lines is None):
        return None
    statement_lines = set(lines)
    return {
        probe
        for probe, executed_lines in (file_lines or {}).items()
        if executed_lines & statement_lines
    }


def list_foreign_modules(adapter: Adapter) -> list[str]:
    """Return imported top-level modules that are neither under test nor of this library."""
    own = {*adapter.framework.modules, *adapter.framework.beneath, "rlregress", "__main__"}
    roots = {name.partition(".")[0] for name in sys.modules}
    return sorted(name for name in roots - own if not name.startswith("_"))
