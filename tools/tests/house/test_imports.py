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

import rlregress
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


def test_judges_and_foreign_environments_import_little(graph):
    """Judges take NumPy, SciPy and our errors; foreign code is Python 3.10."""
    assert list_imports_of_judges(graph) == []
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


_PACKAGE = Path(rlregress.__file__).parent
#: calls that start a process, with the position of the environment among the arguments.
_STARTS = {
    "child_processes.Worker": 1, "child_processes.run_command": 1,
    "os.execv": None, "os.execve": 2, "os.execvp": None, "os.execvpe": 2, "os.posix_spawn": 2,
    "os.popen": None, "os.system": None,
    "process_tree.run_supervised": None, "subprocess.Popen": None, "subprocess.call": None,
    "subprocess.check_call": None, "subprocess.check_output": None, "subprocess.run": None,
}  # fmt: skip
#: functions that start a process otherwise, and why.
_OTHERWISE = {
    "bisect/symptoms.py:run_command": "the user's own command, as the user runs it",
    "cli/with_versions.py:restart_with_versions": "this command again, in place of this process",
    "cluster/run_one.py:_requeue_stopped_run": "scontrol",
    "cluster/slurm_arrays.py:_run_slurm_command": "programs of Slurm",
    "inside/child_environment.py:make_environment_variables": "the function",
    "inside/repeat.py:": "starts nothing: the variables are read, and those of before come back",
    "inside/repeat.py:_set_environment_variables": "starts nothing: those of before come back",
    "inside/process_tree.py:_replace_by_command": "a supervisor has the environment of its command",
    "inside/process_tree.py:run_supervised": "its callers give the environment",
    "training/lease.py:explain_ended_attempt": "starts nothing: Slurm's variables are read",
    "upgrade/versions/installer.py:_translate_pip_configuration_to_uv": "pip",
    "upgrade/versions/installer.py:_call_uv": "uv",
    "upgrade/versions/installer.py:_make_uv_variables_from_pip_configuration": "variables of uv",
    "upgrade/versions/installer.py:list_published_versions": "uv",
    "upgrade/versions/interpreters.py:_query_interpreter": "an interpreter that tells its version",
    "upgrade/versions/revisions.py:_run_git": "git",
    "upgrade/versions/prepared_versions.py:install": "venv",
}
_READS = ("get", "pop", "setdefault", "update")


def _departures(text: str) -> list[tuple[str, str]]:
    """Return (function, code) of what starts a process otherwise, or copies all variables."""
    departures = []
    if not any(name in text for name in (*_STARTS, "os.environ")):
        return departures
    tree = ast.parse(text)
    for parent in ast.walk(tree):
        for child in ast.iter_child_nodes(parent):
            child.parent = parent  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _STARTS:
            keywords = {keyword.arg: keyword.value for keyword in node.keywords}
            position = _STARTS[ast.unparse(node.func)]
            variables = keywords.get("env") if position is None else node.args[position]
            departs = variables is None or "environment" not in ast.unparse(variables)
        else:
            departs = _copies_variables(node)
        if departs:
            departures.append((_function(node), ast.unparse(node)))
    return departures


def _copies_variables(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or ast.unparse(node) != "os.environ":
        return False
    parent = node.parent  # type: ignore[attr-defined]
    reads_one = isinstance(parent, (ast.Subscript, ast.Compare))
    reads_one |= isinstance(parent, ast.Attribute) and parent.attr in _READS
    patched = isinstance(parent, ast.Call) and ast.unparse(parent.func) == "mock.patch.dict"
    return not reads_one and not patched


def _function(node: ast.AST) -> str:
    while not isinstance(node, (ast.FunctionDef, ast.Module)):
        node = node.parent  # type: ignore[attr-defined]
    return getattr(node, "name", "")


def test_child_processes_have_the_environment_that_one_function_makes():
    """Every process gets it, but for those that are listed with a reason, and no reason is old."""
    departures = {
        f"{file.relative_to(_PACKAGE).as_posix()}:{function}": code
        for file in sorted(_PACKAGE.rglob("*.py"))
        for function, code in _departures(file.read_text("utf-8"))
    }
    assert _departures("subprocess.run(command, env={'A': 'b'})")
    assert _departures("os.execve(path, command, {**os.environ, 'A': 'b'})")
    unlisted = {name: code for name, code in departures.items() if name not in _OTHERWISE}
    assert not unlisted, "use inside.child_environment, or state why not in _OTHERWISE"
    assert sorted(_OTHERWISE) == sorted(departures)
