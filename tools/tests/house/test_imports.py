"""Who may import what: the rules of the house that keep oracle, instrument and subject apart.

The contracts in pyproject.toml (checked by import-linter) say which part of the library may know
which other; the checks here say which external packages a part may know, and what must still run
on the oldest Python.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from rlregress import frameworks
from rlregress.upgrade.versions import state

TOOLS = Path(__file__).resolve().parents[2]
# The standard library of Python 3.10, as far as it differs from this one's.
STANDARD = (set(sys.stdlib_module_names) - {"tomllib"}) | {"__future__"}
JUDGES = ("rlregress.formulas", "rlregress.model", "rlregress.verdicts")
# Statistics that one study alone needs: they are judged as those of verdicts are.
STATISTICS = "rlregress_studies.rank.adastop"
# What would bring a package in without an import statement.
ROUNDABOUT = {"importlib", "runpy", "pkgutil"}
# What is started inside a foreign or old environment; with it goes all that it imports.
FOREIGN = ("rlregress.frameworks", "rlregress.probing",
           "rlregress.inside.worker", "rlregress.inside.trace_worker")  # fmt: skip


@pytest.fixture(scope="module")
def graph():
    """Return which module imports which, wherever in a file the import stands."""
    packages = ("rlregress", "rlregress_studies", "rlregress_power")
    return grimp.build_graph(*packages, include_external_packages=True, cache_dir=None)


def list_imports(graph, modules, is_allowed):
    """List the imports of some modules that are not allowed."""
    return [
        f"{module} imports {name}"
        for module in sorted(modules)
        for name in sorted(graph.find_modules_directly_imported_by(module))
        if not is_allowed(module, name)
    ]


def list_imports_of_judges(graph):
    """List imports beyond the standard library, NumPy, SciPy, errors, the model and themselves."""

    def is_allowed(module, name):
        if not name.startswith("rlregress"):
            return name in (STANDARD - ROUNDABOUT) | {"numpy", "scipy"}
        own = "rlregress.verdicts" if module == STATISTICS else ".".join(module.split(".")[:2])
        return ".".join(name.split(".")[:2]) in (own, "rlregress.errors", "rlregress.model")

    modules = {module for judge in JUDGES for module in (judge, *graph.find_descendants(judge))}
    return list_imports(graph, modules | {STATISTICS}, is_allowed)


def list_foreign_modules(graph):
    """Return FOREIGN and what it imports of ours, packages on the way included."""
    waiting = {module for name in FOREIGN for module in (name, *graph.find_descendants(name))}
    found = set()
    while waiting:
        module = waiting.pop()
        found.add(module)
        names = {module.rpartition(".")[0], *graph.find_modules_directly_imported_by(module)}
        waiting |= {name for name in names if name.partition(".")[0] == "rlregress"} - found
    return found


def list_foreign_imports(graph):
    """List imports that a foreign environment may not have: an adapter has its framework."""
    # cloudpickle comes with gymnasium, which stands on it
    allowed = STANDARD | {"numpy", "torch", "gymnasium", "cloudpickle", "rlregress"}
    packages = {}
    for name in frameworks.list_framework_names():
        framework = frameworks.get_adapter(name).framework
        words = (*framework.packages, *framework.modules)
        packages[f"rlregress.frameworks.{name}"] = {word.replace("-", "_") for word in words}

    def is_allowed(module, name):
        adapter = ".".join(module.split(".")[:3])
        return name.partition(".")[0] in allowed | packages.get(adapter, set())

    return list_imports(graph, list_foreign_modules(graph), is_allowed)


def test_formulas_verdicts_and_results_import_numpy_and_scipy_only(graph):
    """They import NumPy, SciPy, the standard library, our errors and the model only."""
    assert list_imports_of_judges(graph) == []


def test_what_runs_in_foreign_environments_is_python_310_and_imports_little(graph):
    """Adapters and worker, with all they import of ours, need no more than an old one has."""
    assert list_foreign_imports(graph) == []
    for module in list_foreign_modules(graph):
        place = TOOLS / module.replace(".", "/")
        path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 10))


@pytest.mark.parametrize(
    ("list_wrong", "importer", "imported"),
    [
        (list_imports_of_judges, "rlregress.formulas.sac", "pandas"),
        (list_imports_of_judges, "rlregress.verdicts.power", "rlregress.catalogue.registry"),
        (list_imports_of_judges, STATISTICS, "importlib"),
        # the worker imports it
        (list_foreign_imports, "rlregress.marks", "tomllib"),
        (list_foreign_imports, "rlregress.frameworks.sb3", "torchrl"),
    ],
)
def test_an_import_too_much_is_found(graph, list_wrong, importer, imported):
    """Another package, another part of the library, or what an old environment lacks."""
    graph.add_import(importer=importer, imported=imported)
    assert list_wrong(graph) == [f"{importer} imports {imported}"]
    graph.remove_import(importer=importer, imported=imported)


def test_what_runs_in_foreign_environments_voids_what_another_one_left_there(graph):
    """Answers and recordings that are kept depend on all packages that make them."""
    packages = {module.split(".")[1] for module in list_foreign_modules(graph) - {"rlregress"}}
    packages = {name for name in packages if (TOOLS / "rlregress" / name).is_dir()}
    # plain data, and where the suite lies
    assert packages - set(state.OWN_PACKAGES) == {"model", "suite"}


@pytest.mark.nightly
def test_what_asks_other_processes_imports_neither_torch_nor_statistics():
    """A gate, a command and the plugin start without what takes seconds to import.

    All details that have to be asked are known without it, too.
    """
    program = """
import sys, rlregress.pytest_plugin, rlregress.cli.upgrade, rlregress.cli.check
print(*sorted({'torch', 'scipy.stats', 'scipy.optimize'} & set(sys.modules)))
from rlregress import frameworks
from rlregress.catalogue import requested_names
assert all(map(requested_names.list_details_to_probe, frameworks.list_installed_adapters()))
print(*sorted({'torch'} & set(sys.modules)))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout.split()) == (0, []), ended.stderr
