"""The suite can turn red: a seeded fault fails the test of its detail, with a readable message."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rlregress import frameworks
from rlregress.catalogue import registry
from rlregress.check.stored_throughput import QUANTITIES
from rlregress.errors import UserError
from rlregress.faults import fault_tables, injection
from rlregress.model import fault_results
from rlregress.model.detail_answers import describe_variant
from rlregress.model.fault_results import DETAILS, OPTIONS, RETURNS, THROUGHPUT
from tools.tests.small_adapters import SmallAdapter

pytestmark = pytest.mark.usefixtures("warm_python")

INSTALLED = sorted(
    {x.name for x in frameworks.list_installed_adapters() if x.framework.expectations is None}
)
ESSENTIAL = [x for x in fault_tables.select_faults(DETAILS, INSTALLED, []) if x.essential]


# at every commit test_pytest_plugin injects one of them
@pytest.mark.nightly
@pytest.mark.parametrize("fault", ESSENTIAL, ids=lambda x: f"{x.framework}-{x.name}")
def test_a_seeded_fault_turns_its_test_red(fault, tmp_path):
    """``pytest tests_unit`` fails for the fault's details and names detail, variants, numbers."""
    name = fault.framework
    if injection.find_fault_line(fault) is None:
        pytest.skip(f"the faults of {name} were chosen on another version than the installed one")
    evidence = tmp_path / "evidence.json"
    # the details that the fault moves, and their beginnings: sac.critic_loss
    ids = {id.rpartition(".")[0] for id in fault.turns} | {*fault.turns, *fault.also}
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--evidence", str(evidence)]
    options += ["--framework", name, "--detail", ",".join(sorted(ids))]
    process = injection.run_python_with_fault(fault, ["-m", "pytest", "tests_unit", *options])
    assert process.returncode == 1, process.stdout[-2000:]
    entries = [e for e in json.loads(evidence.read_text())["tests"] if "detail" in e]
    failed = [entry for entry in entries if entry["outcome"] == "failed"]
    assert {entry["detail"] for entry in failed} == set(fault.turns) | set(fault.also)
    for id in fault.turns:
        messages = [entry["message"] for entry in failed if entry["detail"] == id]
        assert messages
        for first, *lines in map(str.splitlines, messages):
            variant = describe_variant(fault.finds) if fault.finds else "no variant matches"
            assert first.startswith(f"{id}: {variant} (documented: ")
            assert any(line.startswith(f"  decided by {fault.file}:") for line in lines)
            assert any(line.strip().startswith("observed: [") for line in lines)
            if fault.finds:
                assert any(line.strip().startswith(f"expected of {variant}: [") for line in lines)


@pytest.mark.parametrize("name", INSTALLED)
def test_every_detail_has_a_seeded_fault(name):
    """A fault moves each detail that a framework is probed for."""
    faults = fault_tables.load_faults(DETAILS, [name])
    covered = {id for fault in faults for id in fault.turns + fault.also}
    probed = {id for id, _ in frameworks.get_adapter(name).observe.list_probes()}
    assert probed - covered == set(fault_tables.load_details_without_fault(name))


@pytest.mark.parametrize("name", INSTALLED)
def test_faults_name_known_variants(name):
    """The variant that a fault causes is in the catalogue."""
    for fault in fault_tables.load_faults(DETAILS, [name]):
        for id in fault.turns:
            assert not fault.finds or fault.finds in registry.get_detail(id).variants, fault.name


GOOD = {"name": "whole", "file": "package/sac.py", "old": "0.5 * ", "new": "",
        "turns": ["sac.critic_loss.scale"], "finds": "none"}  # fmt: skip


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Writes a file of data and loads its faults."""

    def loaded(text: str):
        path = tmp_path / "some.toml"
        path.write_text(text)
        monkeypatch.setattr(frameworks, "get_adapter", lambda name: SmallAdapter(expectations=path))
        return fault_tables.load_faults(DETAILS, ["other"])

    return loaded


def _table(**changed):
    rows = [f"{key} = {json.dumps(value)}" for key, value in {**GOOD, **changed}.items()]
    return "\n".join(['[[detail]]\nid = "x"\n\n[[fault]]', *rows, ""])


def test_faults_are_read_from_the_file_of_the_expectations(load):
    """A framework of a third party keeps them there too; the expectations are left alone."""
    (fault,) = load(_table())
    assert (fault.name, fault.turns, fault.finds) == ("whole", ("sac.critic_loss.scale",), "none")


def test_a_framework_without_faults_is_named(load):
    """There is nothing to seed, and the file that would hold it is named."""
    assert load("") == []
    with pytest.raises(UserError, match="no faults of other to inject; .* in .*some.toml"):
        fault_tables.select_faults(DETAILS, ["other"], [])


def test_a_fault_that_does_not_fit_says_so():
    """A fault whose text is not in this version's code names file, text and number of matches."""
    faults = fault_tables.select_faults(DETAILS, INSTALLED, [])
    fault = next(x for x in faults if injection.find_fault_line(x) is not None)
    unfitting = replace(fault, old="no such text", occurrence=0)
    text = "does not fit this version: it replaces .* of 'no such text' in .*, found 0"
    with pytest.raises(UserError, match=text), injection.inject_fault(unfitting):
        pass


def test_an_unknown_fault_is_named():
    """A name that no fault has is answered with the nearest one."""
    name = fault_tables.select_faults(DETAILS, INSTALLED, [])[0].name
    with pytest.raises(UserError, match=f"did you mean .*{name}"):
        fault_tables.select_faults(DETAILS, INSTALLED, [name[:-1]])


@pytest.mark.parametrize(
    "name", [fault_results.TRACES, OPTIONS, fault_results.BEHAVIOR, RETURNS, THROUGHPUT]
)
def test_every_table_is_read_in_the_one_format(name):
    """Every fault has a title, a change, and an instrument that detects it."""
    faults = fault_tables.load_faults(name, frameworks.list_framework_names())
    titles = [fault.title for fault in faults]
    assert len(titles) == len(set(titles)) > 0
    for fault in faults:
        assert fault.file, "the change of a detail's fault is filled in"
        assert fault.old != fault.new, fault.title
        assert bool(fault.turns) or name in (OPTIONS, RETURNS), fault.title
        assert set(fault.turns) <= set(QUANTITIES) or name != THROUGHPUT, fault.title
