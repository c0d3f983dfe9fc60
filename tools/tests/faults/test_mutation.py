"""Single-line faults of a function, those that are injected, and the line at fault."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rlregress import frameworks
from rlregress.catalogue import registry
from rlregress.catalogue.implementation import list_implementations
from rlregress.check.stored_throughput import QUANTITIES
from rlregress.errors import UserError
from rlregress.faults import fault_tables, injection, mutation, places
from rlregress.frameworks.framework_code import Code
from rlregress.model import fault_results
from rlregress.model.detail_answers import describe_variant
from rlregress.model.fault_results import DETAILS, OPTIONS, RETURNS, THROUGHPUT
from tools.tests.small_adapters import SmallAdapter


def mutants_of(text):
    """Return all mutants of a file, in the order of its lines."""
    built = [
        mutation.build_mutant("m.py", *edit, text) for edit in mutation.list_edits_of_file(text)
    ]
    return [mutant for mutant in built if mutant is not None]


def faults(*body, head="def f(self, x, y=1):"):
    """(operator, new line) of all faults of a function."""
    rows = ["rate = 1", "", head, *(f"    {row}" for row in body), "", "other = 2", ""]
    text = "\n".join(rows)
    mutants = mutants_of(text)
    for fault in mutants:
        after = fault.text.split("\n")
        (line,) = [n for n, pair in enumerate(zip(rows, after, strict=True)) if len(set(pair)) > 1]
        assert (line + 1, after[line].strip()) == (fault.line, fault.new)
        assert fault.old == rows[line].strip()
    return {(fault.operator, fault.new) for fault in mutants}


OPERATORS = {
    "a sign": ("return -x", {("sign", "return (x)")}),
    "a sum": ("return x + y", {("operator", "return x - y"), ("operand", "return (x)")}),
    "a difference": ("return x - y", {("operator", "return x + y"), ("operand", "return (x)")}),
    "a product": ("return x * y", {("operator", "return x / y"), ("operand", "return (x)")}),
    "a quotient": ("return x / y", {("operator", "return x * y"), ("operand", "return (x)")}),
    "a rest": ("return x % y", {("operator", "return x * y"), ("operand", "return (x)")}),
    "a whole number": ("return 3", {("constant", "return 4")}),
    "a factor": ("return 0.5", {("constant", "return 1.0")}),
    "nothing": ("return 0.0", {("constant", "return 1.0")}),
    "a truth": ("return True", {("constant", "return False")}),
    "less": ("return x < y", {("comparison", "return x <= y")}),
    "at least": ("return x >= y", {("comparison", "return x > y")}),
    "equal": ("return x == y", {("comparison", "return x != y")}),
    "other": ("return x != y", {("comparison", "return x == y")}),
    "none": ("return x is None", {("comparison", "return x is not None")}),
    "some": ("return x is not None", {("comparison", "return x is None")}),
    "within": ("return x in y", {("comparison", "return x not in y")}),
    "not within": ("return x not in y", {("comparison", "return x in y")}),
    "either": ("return x or y", {("condition", "return x and y")}),
    "both": ("return x and y", {("condition", "return x or y")}),
    "not": ("return not x", {("condition", "return (x)")}),
    "a smallest": ("return min(x)", {("bound", "return max(x)")}),
    "a largest of a library": ("return th.maximum(x)", {("bound", "return th.minimum(x)")}),
    "arguments": ("return f(x, y)", {("swapped argument", "return f(y, x)")}),
    "three arguments": (
        "return f(x, y, z)",
        {("swapped argument", "return f(y, x, z)"), ("swapped argument", "return f(x, z, y)")},
    ),
    "an update": ("self.n += x", {("dropped statement", "pass")}),
    "a call": ("x.step()", {("dropped statement", "pass")}),
    "an attribute": ("self.x = y", {("dropped statement", "pass")}),
    "an entry": ("x[y] = y", {("dropped statement", "pass")}),
    "a chain": (
        "return x < y <= z", {("comparison", "return x <= y <= z"),
                              ("comparison", "return x < y < z")}),
    "a letter of two bytes": ("return 'ä', x + y", {
        ("operator", "return 'ä', x - y"), ("operand", "return 'ä', (x)")}),
}  # fmt: skip


UNTOUCHED = {
    "a docstring": ['"""Adds 1 to x."""'],
    "an error": ["raise ValueError(x + 1)"],
    "a condition of an error": ["if x > y:", "    raise ValueError(x)"],
    "a check of a type": ["if isinstance(x, int):", "    raise TypeError(x)"],
    "an assertion": ["assert x > 1"],
    "a message with values": ["return f'{x + 1}'"],
    "a warning": ["warnings.warn('x', y)"],
    "a condition of a warning": ["if x > y:", "    warnings.warn('x')"],
    "what is logged": ["self.logger.record('x', x + 1)"],
    "what is printed": ["print(x + 1)"],
    "a question of a type": ["return isinstance(x, int)"],
    "what is collected to be told": ["losses.append(loss.item())"],
    "a type of a variable": ["z: Literal[1] = x"],
    "a local name": ["z = x"],
    "a name and a word": ["return x.a['b']"],
    "starred arguments": ["return f(*x, y)"],
    "an import": ["import one.two as three"],
}


def test_each_operator_changes_its_part_of_one_line():
    """Neither heads of functions, nor what trains nothing, nor a condition that does something."""
    for case, (row, expected) in OPERATORS.items():
        assert faults(row) == expected, case
    assert {case: faults(*rows) for case, rows in UNTOUCHED.items() if faults(*rows)} == {}
    head = "def f(self, x: Literal[1], y=1 + 2) -> Literal[3]:"
    assert faults("return x", head=head) == set()
    text = (
        "@scaled(2)\ndef f(x):\n    @scaled(3)\n    def g(y=4):\n        return y\n    return g\n"
    )
    assert mutants_of(text) == []
    mutants = faults("if x > y:", "    raise ValueError(1)", "else:", "    self.x = y")
    assert mutants == {("comparison", "if x >= y:"), ("dropped statement", "pass")}


def test_a_mutant_changes_one_line_of_its_function():
    """A fault of an inner function belongs to it; one that comes about twice is one."""
    assert [str(fault) for fault in mutants_of("def f():\n    def g(z):\n        return -z\n")] == [
        "m.py:3 f.g (sign): return -z -> return (z)"
    ]
    mutants = faults("return (", "    x", "    < y", ")")
    assert mutants == set()
    assert faults("return f(", "    x,", "    y + z,", ")") == {
        ("operator", "y - z,"), ("operand", "(y),")
    }  # fmt: skip
    assert mutants_of("def f(x):\n    return f(x, x)\n") == []


FILE, LINE = "stable_baselines3/sac/sac.py", "critic_loss = 0.5 * sum(F.mse_loss("


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """The critic loss of Stable-Baselines3's SAC, decided by an edited file; and its line."""
    adapter = frameworks.get_adapter("sb3")
    [implementation] = list_implementations(adapter, "sac.critic_loss.scale")
    text = adapter.code.find_installed_path(FILE).read_text("utf-8")
    assert text.count(LINE) == 1

    def edit(new):
        (tmp_path / "sac.py").write_text(text.replace(LINE, new), "utf-8")
        monkeypatch.setattr(Code, "find_installed_path", lambda self, file: tmp_path / "sac.py")
        return implementation, text.partition(LINE)[0].count("\n") + 1

    return edit


@pytest.mark.parametrize(
    ("new", "variant", "words"),
    [
        ("critic_loss = sum(F.mse_loss(", "none", "decided by"),
        ("critic_loss = 0.25 * sum(F.mse_loss(", "quarter", "decided by"),
        ("critic_loss = 1.0 * sum(F.mse_loss(", "none", "decided by"),
        ("critic_loss = 0.7 * sum(F.mse_loss(", None, "probably decided by"),
        ("critic_loss = 0.5*sum(F.mse_loss(", "half", "probably decided by"),
    ],
)
def test_the_changed_line_is_named_with_the_recorded_code(edited, new, variant, words):
    """The line of a known fault, or the most similar line, is named."""
    implementation, number = edited(new)
    first, second = places.describe_lines_at_fault(implementation, variant)
    assert first.startswith(f"{words} {FILE}:{number}: {new}")
    assert second == "recorded for this line: 0.5 * sum("
    assert places.locate_line_at_fault(implementation, variant).endswith(first.partition(FILE)[2])


def test_a_line_that_did_not_change_is_named_as_recorded(edited):
    """The fault is elsewhere, and this is where to begin."""
    implementation, number = edited(LINE)
    [line] = places.describe_lines_at_fault(implementation, "none")
    assert line.startswith(f"decided by {FILE}:{number}, as recorded: {LINE}")


@pytest.mark.parametrize(
    "new",
    ["critic_loss = halved(", "a = 1.0 * sum(\n        b = 1.0 * sum(F.mse_loss("],
    ids=["nothing like it", "two lines like it"],
)
def test_no_line_is_named_where_none_is_most_like_it(edited, new):
    """Without one most similar line, only the file and the recorded code are named."""
    implementation, _ = edited(new)
    assert places.describe_lines_at_fault(implementation, None) == []
    text = places.locate_line_at_fault(implementation, None)
    assert text.endswith(" no longer has the line that decided it: 0.5 * sum(")


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
    """A framework without any is named."""
    (fault,) = load(_table())
    assert (fault.name, fault.turns, fault.finds) == ("whole", ("sac.critic_loss.scale",), "none")
    assert load("") == []
    with pytest.raises(UserError, match="no faults of other to inject; .* in .*some.toml"):
        fault_tables.select_faults(DETAILS, ["other"], [])


def test_a_fault_that_does_not_fit_says_so():
    """An unknown one is named."""
    faults = fault_tables.select_faults(DETAILS, INSTALLED, [])
    fault = next(x for x in faults if injection.find_fault_line(x) is not None)
    unfitting = replace(fault, old="no such text", occurrence=0)
    text = "does not fit this version: it replaces .* of 'no such text' in .*, found 0"
    with pytest.raises(UserError, match=text), injection.inject_fault(unfitting):
        pass
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
