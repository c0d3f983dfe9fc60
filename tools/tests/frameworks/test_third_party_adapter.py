"""A framework of another party, whose adapter is found by an entry point."""

from __future__ import annotations

import importlib.metadata
import sys

import pytest

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.probing import families
from tools.tests.small_files import write_files

FRAMEWORK = 'Framework("Mine", ("numpy",), modules=("numpy",))'
ENTRY = f"""from rlregress.frameworks.base import Adapter, Framework
ADAPTER = Adapter('mine', __name__, {FRAMEWORK})
"""
OBSERVE = "def list_probes():\n    return {}\n"
#: what is wrong in an adapter's package: file, text in place of another, words of the message.
BROKEN = {
    "it ends the process": (
        "__init__", "ADAPTER =", "raise SystemExit(3)\nADAPTER =", ":2: SystemExit: 3"),
    "it has another name": ("__init__", "'mine'", "'yours'", "the adapter's name is 'yours'"),
    "it has no name": ("__init__", "ADAPTER", "OTHER", "has no attribute 'ADAPTER'"),
    "packages are none": ("__init__", '("numpy",), ', "(), ", ":2: ValueError: packages is ()"),
    "packages is text": ("__init__", '("numpy",), ', '"numpy", ', "expected tuple[str, ...]"),
    "a syntax error": ("observe", "return {}", "return {", "observe.py:2: SyntaxError"),
    "a missing module": (
        "observe", "def", "import nowhere\nnowhere.there()\ndef", "observe.py:2: Unsupported"),
    "probes are None": (
        "observe", "return {}", "pass", "observe.py: list_probes() returned None; "),
    "probes are named": (
        "observe", "{}", "{'dqn.loss.kind': 1}", "expected Mapping[tuple[str, str], Callable"),
    "probes fail": (
        "observe", "{}", "{}['a']", "observe.py:2: KeyError: 'a'; expected list_probes()"),
}  # fmt: skip


def forget_adapter():
    """Have the modules of the adapter imported anew."""
    families.import_families.cache_clear()
    for name in [name for name in sys.modules if name.startswith("rlregress_mine")]:
        del sys.modules[name]


@pytest.fixture
def make_adapter(monkeypatch, tmp_path):
    """Write the package of an adapter with one text replaced, and make it a known framework."""

    def make(file: str = "", old: str = "", new: str = "") -> None:
        files = {"__init__": ENTRY, "observe": OBSERVE}
        if file:
            assert old in files[file]
            files[file] = files[file].replace(old, new, 1)
        write_files(tmp_path, {f"rlregress_mine/{name}.py": text for name, text in files.items()})
        point = importlib.metadata.EntryPoint(
            "mine", "rlregress_mine:ADAPTER", frameworks.ENTRY_POINT_GROUP
        )
        table = {"mine": point}
        monkeypatch.setattr(frameworks.installed_metadata, "map_entry_points", lambda _: table)
        monkeypatch.syspath_prepend(tmp_path)

    yield make
    forget_adapter()


def test_an_adapter_without_a_fault_is_read(make_adapter):
    """The package that the other tests break has a table of probes, and no trainings."""
    make_adapter()
    adapter = frameworks.get_adapter("mine")
    assert (adapter.observe.list_probes(), adapter.list_trace_trainings()) == ({}, {})


@pytest.mark.parametrize("fault", BROKEN)
def test_a_fault_of_an_adapter_is_one_sentence_that_names_its_file(make_adapter, tmp_path, fault):
    """The sentence has what was found, what was expected and what to do."""
    file, old, new, words = BROKEN[fault]
    make_adapter(file, old, new)
    with pytest.raises(UserError) as raised:
        frameworks.get_adapter("mine").observe.list_probes()
    message = str(raised.value)
    assert message.startswith(str(tmp_path / "rlregress_mine" / f"{file}.py"))
    assert words in message
    assert "expected" in message
    assert message.endswith("mend the adapter, or uninstall its package")


def test_tables_of_a_package_are_found_and_checked(make_adapter, tmp_path):
    """A package without functions has the tables of its modules; a faulty one is named."""
    make_adapter()
    package = tmp_path / "rlregress_mine"
    (package / "observe.py").unlink()
    family = "PROBES = {'dqn.loss.kind': print}\nABSENT = {'td3': 'has no TD3'}\n"
    files = {"__init__.py": "ABSENT = {'sac': 'has no SAC'}\n", "family.py": family}
    write_files(package / "observe", files)
    observe = frameworks.get_adapter("mine").observe
    assert observe.list_probes() == {("dqn.loss.kind", "library"): print}
    assert observe.list_absent_details() == {"sac": "has no SAC", "td3": "has no TD3"}
    write_files(package / "observe", {"family.py": "PROBES = {'dqn.loss.kind': 1}\n"})
    forget_adapter()
    with pytest.raises(UserError, match="expected Mapping") as raised:
        frameworks.get_adapter("mine").observe.list_probes()
    assert str(package) in str(raised.value)


@pytest.mark.parametrize("target", ["rlregress_nowhere:ADAPTER", "no name"])
def test_an_entry_point_that_names_no_module_is_one_sentence(monkeypatch, target):
    """There is no file to name: the entry point is named."""
    point = importlib.metadata.EntryPoint("mine", target, frameworks.ENTRY_POINT_GROUP)
    monkeypatch.setattr(
        frameworks.installed_metadata, "map_entry_points", lambda _: {"mine": point}
    )
    with pytest.raises(UserError, match=f"expected '{target}' to be the adapter of the framework"):
        frameworks.get_adapter("mine")
