"""Who may import what: the rules of the house that keep oracle, instrument and subject apart.

The contracts in pyproject.toml (checked by import-linter) say which part of the library may know
which other; the checks here say which external packages a part may know, and what must still run
on the oldest Python.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rlregress.upgrade.versions import state

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = ROOT / "tools" / "rlregress"
PACKAGES = (LIBRARY, ROOT / "tools" / "rlregress_studies", ROOT / "tools" / "rlregress_power")

# The standard library of Python 3.10, as far as it differs from this one's.
STANDARD = (set(sys.stdlib_module_names) - {"tomllib"}) | {"__future__"}
JUDGES = ("formulas", "model", "verdicts")
# Statistics that one study alone needs: they stand on those of verdicts.
STATISTICS = ("rank/adastop.py",)
# What would bring a package in without an import statement.
ROUNDABOUT = {"importlib", "runpy", "pkgutil"}
# What is started inside a foreign or old environment; with it goes all that it imports.
FOREIGN = ("frameworks/**/*.py", "probing/**/*.py", "inside/worker.py", "inside/trace_worker.py")


@cache
def _import_statements(text: str) -> list[ast.Import | ast.ImportFrom]:
    nodes = ast.walk(ast.parse(text))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(path: Path, library: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute name of every import, wherever it stands in the file.

    ``from a import b`` yields ``a.b``: only the file system knows whether ``b`` is a module.
    """
    package = [library.name, *path.relative_to(library).parent.parts]
    for node in _import_statements(path.read_text()):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        else:
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"


def files_of(name: str, library: Path) -> Iterator[Path]:
    """The files that importing the library's module ``name`` runs, packages on the way included."""
    place = library.parent
    for part in name.split("."):
        place = place / part
        if (place / "__init__.py").exists():
            yield place / "__init__.py"
        elif place.with_suffix(".py").exists():
            yield place.with_suffix(".py")


def imports_outside(library: Path, files: list[Path], allowed: set[str]) -> list[str]:
    """Every import of a top-level package that is not among ``allowed``."""
    return [
        f"{path.relative_to(library)}:{line} imports {name}"
        for path in files
        for line, name in imports(path, library)
        if name.split(".")[0] not in allowed
    ]


def judges_that_import_too_much(library: Path) -> list[str]:
    """Imports of judges beyond the standard library, NumPy, SciPy, the model and themselves.

    The statistics of studies are judged as those of verdicts are.
    """
    found = []
    of_studies = [path for path in map(library.joinpath, STATISTICS) if path.exists()]
    for judge in JUDGES:
        files = sorted((library / judge).rglob("*.py"))
        files += of_studies if judge == "verdicts" else []
        allowed = (STANDARD - ROUNDABOUT) | {"numpy", "scipy", "rlregress"}
        found += imports_outside(library, files, allowed)
        found += [
            f"{path.relative_to(library)}:{line} imports {name}"
            for path in files
            for line, name in imports(path, library)
            if name.split(".")[0].startswith("rlregress")
            and name.split(".")[:2]
            not in [["rlregress", known] for known in (judge, "errors", "model")]
        ]
    return found


def foreign_files(library: Path) -> list[Path]:
    """Everything that runs inside a foreign environment: FOREIGN and what it imports of ours."""
    waiting = [path for pattern in FOREIGN for path in library.glob(pattern)]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for _, name in imports(path, library):
            if name.split(".")[0] == library.name:
                waiting += files_of(name, library)
    return sorted(found)


def packages_of_adapter(path: Path, library: Path) -> set[str]:
    """The packages that an adapter's own folder may import: those of the framework itself."""
    parts = path.relative_to(library).parts
    if parts[0] != "frameworks" or len(parts) < 3:
        return set()
    tree = ast.parse((library / "frameworks" / parts[1] / "__init__.py").read_text())
    found = set()
    for node in ast.walk(tree):
        # a package may be imported by another name than it is installed by
        if isinstance(node, ast.keyword) and node.arg in {"packages", "modules"}:
            found |= {name.replace("-", "_") for name in ast.literal_eval(node.value)}
    return found


def foreign_files_that_need_more(library: Path) -> list[str]:
    """Imports and syntax that a foreign environment with Python 3.10 may not have."""
    found = []
    for path in foreign_files(library):
        # cloudpickle comes with gymnasium, which stands on it
        allowed = STANDARD | {"numpy", "torch", "gymnasium", "cloudpickle", library.name}
        try:
            ast.parse(path.read_text(), feature_version=(3, 10))
        except SyntaxError as error:
            found.append(f"{path.relative_to(library)}:{error.lineno} {error.msg}")
            continue
        found += imports_outside(library, [path], allowed | packages_of_adapter(path, library))
    return found


def write(library: Path, files: dict[str, str]) -> Path:
    """A small library with these files, and an ``__init__.py`` in every folder."""
    for name, text in files.items():
        path = library / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for folder in path.relative_to(library).parents:
            (library / folder / "__init__.py").touch()
    return library


def test_formulas_verdicts_and_results_import_numpy_and_scipy_only():
    """They import NumPy, SciPy, the standard library, our errors and the model only."""
    assert [row for package in PACKAGES for row in judges_that_import_too_much(package)] == []


@pytest.mark.parametrize(
    "line",
    ["def late():\n    import pandas", "from ..catalogue import catalogue", "import rlregress",
     "import importlib"],
)  # fmt: skip
def test_an_import_too_much_in_a_formula_is_found(tmp_path, line):
    """Another package, or another part of the library, is found wherever the import stands."""
    clean = "import math\nimport numpy as np\nfrom scipy import stats\n"
    clean += "from rlregress.errors import UserError\nfrom . import td3\n"
    library = write(tmp_path / "rlregress", {"formulas/sac.py": clean, "formulas/td3.py": ""})
    assert judges_that_import_too_much(library) == []
    (library / "formulas" / "sac.py").write_text(clean + line + "\n")
    assert len(judges_that_import_too_much(library)) == 1


def test_what_runs_in_foreign_environments_is_python_310_and_imports_little():
    """Adapters and worker, with all they import of ours, need no more than an old one has."""
    assert foreign_files_that_need_more(LIBRARY) == []


def test_what_runs_in_foreign_environments_voids_what_another_one_left_there():
    """Answers and recordings that are kept depend on all packages that make them."""
    packages = {path.relative_to(LIBRARY).parts[0] for path in foreign_files(LIBRARY)}
    packages = {name for name in packages if (LIBRARY / name).is_dir()}
    # plain data, and where the suite lies
    assert packages - set(state.OWN_PACKAGES) == {"model", "suite"}


@pytest.mark.parametrize(
    ("line", "named"),
    [("import tomllib", "3 imports tomllib"), ("import other", "3 imports other"),
     ("try: pass\nexcept* OSError: pass",
      "4 Exception groups are only supported in Python 3.11")],
)  # fmt: skip
def test_what_the_worker_imports_is_held_to_the_same_rule(tmp_path, line, named):
    """A module that the worker imports may not need more than the worker itself."""
    clean = "import json\nimport torch\n"
    library = write(tmp_path / "rlregress", {
        "inside/worker.py": "from rlregress.training import store\n",
        "training/store.py": clean, "training/pool.py": "import rich\n",
        "frameworks/some/__init__.py": 'Framework(packages=("other", "torch"))\n',
        "frameworks/some/probes.py": "import other.sac\n",
    })  # fmt: skip
    assert foreign_files_that_need_more(library) == []
    (library / "training" / "store.py").write_text(clean + line + "\n")
    [found] = foreign_files_that_need_more(library)
    assert found.startswith(f"training/store.py:{named}")


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
