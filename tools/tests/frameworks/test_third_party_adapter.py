"""Adapters of this library and of others: all kinds of functions, and gaps."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import sys
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.catalogue import implementation, registry
from rlregress.catalogue.fingerprint import run_and_judge_probe
from rlregress.errors import UserError
from rlregress.frameworks import kinds
from rlregress.probing import families
from rlregress.probing.interface import Unsupported
from rlregress.trace.recording_processes import Runtime
from tools.tests import processes
from tools.tests.small_adapters import SmallAdapter
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


def test_an_environment_in_which_it_is_not_installed_has_the_adapter(make_adapter, tmp_path):
    """Nothing else that lies beside its package is imported there."""
    make_adapter()
    (tmp_path / "beside.py").write_text("")
    code = "from rlregress import frameworks; print(frameworks.get_adapter('mine')); import beside"
    variables = Runtime("old", python="another").make_environment_variables()
    process = processes.run_python("-c", code, code=1, env=variables, cwd="/")
    assert (process.stdout, "No module named 'beside'" in process.stderr) == ("Mine\n", True)


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


def test_mistakes_in_a_table_are_named(make_adapter):
    """An unknown id would never be measured, or excuse nothing; an error has its line."""
    probe = "{('dqn.loss.kin', 'library'): lambda inputs: inputs['nothing']}"
    absent = "def list_absent_details():\n    return {'dqm': 'has none'}\n"
    make_adapter("observe", OBSERVE, absent + OBSERVE.replace("{}", probe))
    adapter = frameworks.get_adapter("mine")
    with pytest.raises(UserError, match=r"list_probes.*'dqn.loss.kin'; did you mean"):
        implementation.list_implementations(adapter)
    with pytest.raises(UserError, match=r"list_absent_details.*'dqm'"):
        implementation.load_reasons_of_absent_details(adapter)
    (run,) = adapter.observe.list_probes().values()
    judgement = run_and_judge_probe(registry.get_detail("dqn.loss.kind"), run, adapter.code)
    assert judgement.reason.endswith("KeyError: 'nothing' at rlregress_mine/observe.py:4")


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


@pytest.mark.parametrize("text", ["{mine", '["mine"]', '{"mine": 5}'])
def test_a_variable_that_names_no_adapters_is_one_sentence(monkeypatch, text):
    """It says what the variable has to hold."""
    monkeypatch.setenv(frameworks.ADAPTERS_VARIABLE, text)
    with pytest.raises(UserError, match="expected names and objects of adapters as JSON"):
        frameworks.list_framework_names()


@pytest.mark.parametrize("target", ["rlregress_nowhere:ADAPTER", "no name"])
def test_an_entry_point_that_names_no_module_is_one_sentence(monkeypatch, target):
    """There is no file to name: the entry point is named."""
    point = importlib.metadata.EntryPoint("mine", target, frameworks.ENTRY_POINT_GROUP)
    monkeypatch.setattr(
        frameworks.installed_metadata, "map_entry_points", lambda _: {"mine": point}
    )
    with pytest.raises(UserError, match=f"expected '{target}' to be the adapter of the framework"):
        frameworks.get_adapter("mine")


KINDS = {kind.__name__.lower(): kind for kind in kinds.Kind.__subclasses__()}
INSTALLED = {adapter.name: adapter for adapter in frameworks.list_installed_adapters()}


def functions(kind):
    """What a kind describes."""
    return {name: of for name, of in vars(kind).items() if inspect.isfunction(of)}


def test_there_are_five_kinds_and_an_adapter_has_them_all():
    """Functions that it leaves out are unsupported or empty."""
    assert set(KINDS) == {"observe", "train", "call", "read", "load"}
    adapter = SmallAdapter()
    assert all(type(getattr(adapter, name)) is kind for name, kind in KINDS.items())
    adapter = SmallAdapter()
    empty = (
        adapter.observe.list_probes, adapter.observe.list_absent_details,
        adapter.train.list_builtin_trainings, adapter.call.list_generated_calls,
        adapter.read.read_defaults_of_all_arguments, adapter.load.list_trainings_with_files,
    )  # fmt: skip
    assert [of() for of in empty] == [{}] * len(empty)
    assert adapter.list_trace_trainings() == {}
    with pytest.raises(Unsupported, match="the adapter of Some has no collect_transitions"):
        adapter.train.collect_transitions(None, 1)
    with pytest.raises(Unsupported, match="the adapter of Some has no read_defaults"):
        adapter.read.read_defaults()
    with pytest.raises(UserError, match="files of Some do not say how they are loaded"):
        adapter.load.load_user_agent("agent")
    assert adapter.train.explain_why_not_resumable()
    assert not adapter.load
    assert SmallAdapter({"list_trainings_with_files": dict}).load


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", INSTALLED)
def test_functions_take_what_their_kind_describes(name, kind):
    """Whoever calls a function by its description is not turned away by an adapter."""
    made = getattr(INSTALLED[name], kind)
    for function, described in functions(KINDS[kind]).items():
        defined = getattr(made._module, function, None)
        if defined is not None:
            count = len(inspect.signature(described).parameters) - 1
            inspect.signature(defined).bind(*range(count), **made._arguments)


@pytest.mark.parametrize(
    "name", [name for name in frameworks.list_framework_names() if name in INSTALLED]
)
def test_a_package_of_a_kind_finds_no_function_that_its_kind_does_not_describe(name):
    """A function of another name would never be called; a module of its name would hide it."""
    package = importlib.import_module(frameworks.get_adapter(name).package)
    for kind, described in KINDS.items():
        path = Path(package.__file__).parent / kind / "__init__.py"
        modules = {module.stem for module in path.parent.glob("*.py")}
        assert modules & functions(described).keys() == set(), f"{name}: {kind}"
        tree = ast.parse(path.read_text() if path.exists() else "")
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("make_lazy_getattr"):
                found = {
                    word for module in node.keywords for word in ast.literal_eval(module.value)
                }
                assert found - functions(described).keys() == set(), f"{name}: {kind}"


@pytest.mark.parametrize("name", INSTALLED)
def test_trainings_are_listed_with_settings_that_exist(name):
    """A setting of another name would end the training on both versions, and show no difference."""
    assert all(map(callable, INSTALLED[name].list_trace_trainings().values()))


@pytest.mark.skipif("contrib" not in INSTALLED, reason="it is not installed")
@pytest.mark.parametrize(
    "function", sorted(functions(kinds.Load).keys() - {"list_trainings_with_files"})
)
def test_agents_of_contrib_are_loaded_as_those_of_stable_baselines3(function):
    """Their files say alike which agent they hold."""
    modules = [
        importlib.import_module(f"rlregress.frameworks.{n}.load") for n in ("contrib", "sb3")
    ]
    assert getattr(modules[0], function) is getattr(modules[1], function)
