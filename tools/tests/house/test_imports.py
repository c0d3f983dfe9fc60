"""Who may import what: the rules of the house that keep oracle, instrument and subject apart.

The contracts in pyproject.toml (checked by import-linter) say which part of the library may know
which other; the checks here say which external packages a part may know, and what must still run
on the oldest Python.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlregress import frameworks
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
# What reads files of data, beside json, which also reads what processes say to each other.
PARSERS = ("tomllib", "tomli", "yaml", "csv", "configparser", "pandas", "pydantic.TypeAdapter")
CODE = ("conftest.py", "tools", "tests_unit", "tests_behavior", "tests_performance", "docs")
# What is needed although no line imports it.
NOT_IMPORTED = {
    "pytest-xdist": "pytest loads it: -n 2",
    "pytest-benchmark": "pytest loads it: the fixture of tests_performance/test_throughput.py",
    "opencv-python-headless": "gymnasium and the frameworks resize the pictures of Atari with it",
    "hatchling": "builds the wheel that tools/tests/test_wheel.py installs, and lists its files",
    "tensorboard": "torch.utils.tensorboard writes with it what traced trainings log",
    "mkdocs-material": "mkdocs finds it: the look of the site",
    "ruff": "a command: make lint",
    "mypy": "a command: make lint",
    "import-linter": "a command: make lint",
    "types-pyyaml": "mypy reads it",
}
# What is started inside a foreign or old environment; with it goes all that it imports.
FOREIGN = ("frameworks/**/*.py", "probing/**/*.py", "inside/worker.py", "inside/trace_worker.py")


@cache
def _import_statements(text: str) -> list[ast.Import | ast.ImportFrom]:
    # statements stand in blocks alone: expressions, which are many, are not looked into
    found, waiting = [], [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, block, ())
    return sorted(found, key=lambda node: node.lineno)


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
    ["import torch", "def late():\n    import pandas",
     "from rlregress.frameworks import get_adapter",
     "from ..catalogue import catalogue", "from rlregress import verdicts", "import rlregress",
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
    [*((f"import {name}", f"3 imports {name}") for name in ("rich", "tomllib", "other")),
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


#: module, a line of it that breaks a contract, the contract, and how it is named
BROKEN = [
    ("errors.py", "import rlregress.formulas", "Imports go down", "errors -> rlregress.formulas"),
    ("verdicts/__init__.py", "import rlregress.report", "Imports go down",
     "verdicts -> rlregress.report"),
    ("rogue.py", "", "Imports go down", "rogue"),
    ("frameworks/base.py", "import rlregress.formulas", "The oracle and the measured thing",
     "frameworks.base -> rlregress.formulas"),
    ("formulas/__init__.py", "import torch", "References and statistics know no framework",
     "formulas -> torch"),
    ("report/words.py", "from rlregress.check import check_run", "Reports turn data into text",
     "report.words -> rlregress.check.check_run"),
    ("report/words.py", "import subprocess", "Reports turn data into text",
     "report.words -> subprocess"),
    ("model/verdict.py", "import subprocess", "Results are plain data",
     "model.verdict -> subprocess"),
    ("cli/check.py", "import rlregress_studies.rank", "The core knows neither",
     "cli.check -> rlregress_studies.rank"),
    ("bisect/search.py", "import rlregress_power", "The core knows neither",
     "bisect.search -> rlregress_power"),
]  # fmt: skip


@pytest.mark.nightly
def test_broken_contracts_are_named(tmp_path):
    """``make lint`` names each import against the contracts of pyproject.toml."""
    pytest.importorskip("importlinter", reason="import-linter comes with: pip install -e .[dev]")
    copy = tmp_path / "rlregress"
    shutil.copytree(LIBRARY, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for module, line, _, _ in BROKEN:
        with (copy / module).open("a") as file:
            file.write(f"\n{line}\n")
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"]
    checked = subprocess.run(
        [*command, "--config", ROOT / "pyproject.toml"], cwd=tmp_path, check=False, text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True,
    )  # fmt: skip
    assert checked.returncode == 1
    # a contract's name, underlined, and what breaks it
    report = checked.stdout.partition("Broken contracts\n")[2]
    sections = re.findall(r"^(\S.*)\n-{9,}\n((?:(?!.*\n-{9}).*\n)*)", report, re.MULTILINE)
    for _, _, contract, name in BROKEN:
        texts = [text for title, text in sections if title.startswith(contract)]
        assert any(re.search(rf"- +rlregress\.{re.escape(name)}\b", text) for text in texts), name


def parsers_beside_the_reader(library: Path) -> list[str]:
    """Imports of what parses files, in any module but ``datafiles``.

    Of json only where a module also looks for the folder of data.
    """
    files = [p for p in sorted(library.rglob("*.py")) if p != library / "datafiles.py"]
    # tests write what they read
    files = [path for path in files if "tests" not in path.relative_to(library).parts]
    # pyproject.toml is no data file, what a session or a process answers is none either, nor is
    # what is only written
    others = ("upgrade/versions/dependencies.py", "upgrade/versions/declarations.py",
              "training/throughput_measurement.py")  # fmt: skip
    files = [path for path in files if path.relative_to(library).as_posix() not in others]
    found = [
        f"{path.relative_to(library)}:{line} imports {name}"
        for path in files
        for line, name in imports(path, library)
        if name in PARSERS or name.split(".")[0] in PARSERS
    ]
    reads = re.compile(r"\bjson\.loads?\(")
    found += [
        f"{path.relative_to(library)} reads JSON and looks for baselines()"
        for path in files
        if reads.search(text := path.read_text()) and "baselines()" in text
    ]
    return found


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


@pytest.mark.nightly
def test_one_module_reads_the_data_files():
    """Files of data are parsed in one place, so that all damage is told in the same words."""
    assert [row for package in PACKAGES for row in parsers_beside_the_reader(package)] == []


@pytest.mark.parametrize(
    "line",
    ["import tomllib", "from yaml import safe_load", "import csv",
     "from pydantic import TypeAdapter",
     "import json\njson.loads((suite.locate_baselines() / 'x.json').read_text())"],
)  # fmt: skip
def test_a_parser_beside_the_reader_is_found(tmp_path, line):
    """Another module that parses for itself is named."""
    clean = "import json\njson.loads('1')\nfrom pydantic import Field\n"
    library = write(tmp_path / "rlregress", {"datafiles.py": line, "check/own.py": clean})
    assert parsers_beside_the_reader(library) == []
    (library / "check" / "own.py").write_text(line)
    assert len(parsers_beside_the_reader(library)) == 1


def dependencies(root: Path) -> list[str]:
    """The packages that pyproject.toml declares, those of extras included."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = project["dependencies"] + sum(project["optional-dependencies"].values(), [])
    names = [str(canonicalize_name(Requirement(row).name)) for row in rows]
    # an extra may be that of another
    return [name for name in dict.fromkeys(names) if name != "rlregress"]


def imported_packages(root: Path) -> set[str]:
    """The packages whose modules some file imports; of one that is not installed, its name."""
    files = [path for name in CODE for path in [root / name, *sorted((root / name).rglob("*.py"))]]
    modules = {
        name.split(".")[0]
        for path in files
        if path.suffix == ".py"
        for _, name in imports(path, root)
    }
    adapters = [frameworks.get_adapter(name) for name in frameworks.list_framework_names()]
    known = {
        module: [adapter.framework.packages[0]]
        for adapter in adapters for module in adapter.framework.modules
    } | packages_distributions()  # fmt: skip
    return {str(canonicalize_name(of)) for name in modules for of in known.get(name, (name,))}


def dependencies_without_use(root: Path) -> list[str]:
    """Dependencies that nothing imports and no reason keeps, and reasons that keep nothing."""
    declared, used = dependencies(root), imported_packages(root)
    found = [
        f"{name} is declared, and nothing imports it"
        for name in declared
        if name not in used and name not in NOT_IMPORTED
    ]
    for name in NOT_IMPORTED:
        if name not in declared:
            found.append(f"{name} is listed as not imported, and not declared")
        elif name in used:
            found.append(f"{name} is listed as not imported, and is imported")
    return found


@pytest.mark.nightly
def test_every_dependency_is_imported_or_has_a_reason():
    """What is declared in pyproject.toml is imported by some file, or it is said what it is for."""
    assert dependencies_without_use(ROOT) == []


def test_a_dependency_without_use_is_found(tmp_path, monkeypatch):
    """One that nothing imports is named; so is a reason that has become wrong."""
    rows = "dependencies = ['numpy>=1', 'Jinja2', 'uv']\noptional-dependencies.dev = ['Mypy']\n"
    (tmp_path / "pyproject.toml").write_text(f"[project]\n{rows}")
    (tmp_path / "conftest.py").write_text("import json, numpy.linalg\nfrom packaging import x\n")
    reasons = {"mypy": "a command", "uv": "a command", "packaging": "x", "numpy": "x"}
    monkeypatch.setattr(f"{__name__}.NOT_IMPORTED", reasons)
    assert dependencies_without_use(tmp_path) == [
        "jinja2 is declared, and nothing imports it",
        "packaging is listed as not imported, and not declared",
        "numpy is listed as not imported, and is imported",
    ]
