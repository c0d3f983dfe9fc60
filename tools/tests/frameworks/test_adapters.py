"""An adapter is small, and its modules have the functions that the kinds describe."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.frameworks import kinds
from rlregress.probing.interface import Unsupported
from tools.tests.small_adapters import SmallAdapter

KINDS = {kind.__name__.lower(): kind for kind in kinds.Kind.__subclasses__()}
INSTALLED = {adapter.name: adapter for adapter in frameworks.list_installed_adapters()}


def functions(kind):
    """What a kind describes."""
    return {name: of for name, of in vars(kind).items() if inspect.isfunction(of)}


def test_there_are_five_kinds_and_an_adapter_has_them_all():
    """No way to measure a framework is beside them."""
    assert set(KINDS) == {"observe", "train", "call", "read", "load"}
    adapter = SmallAdapter()
    assert all(type(getattr(adapter, name)) is kind for name, kind in KINDS.items())


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
    "function", sorted(functions(kinds.Load).keys() - {"list_kinds_of_saved_files"})
)
def test_agents_of_contrib_are_loaded_as_those_of_stable_baselines3(function):
    """Their files say alike which agent they hold."""
    modules = [
        importlib.import_module(f"rlregress.frameworks.{n}.load") for n in ("contrib", "sb3")
    ]
    assert getattr(modules[0], function) is getattr(modules[1], function)


def test_what_an_adapter_leaves_out_is_unsupported_or_empty():
    """Tables are empty; what has to return something says that the adapter has none."""
    adapter = SmallAdapter()
    empty = (
        adapter.observe.list_probes, adapter.observe.list_absent_details,
        adapter.train.list_builtin_trainings, adapter.call.list_generated_calls,
        adapter.read.read_defaults_of_all_arguments, adapter.load.list_kinds_of_saved_files,
    )  # fmt: skip
    assert [of() for of in empty] == [{}] * len(empty)
    assert adapter.list_trace_trainings() == {}
    with pytest.raises(Unsupported, match="the adapter of Some has no collect_transitions"):
        adapter.train.collect_transitions(None, 1)
    with pytest.raises(Unsupported, match="the adapter of Some has no read_defaults"):
        adapter.read.read_defaults()
    with pytest.raises(UserError, match="files of Some do not say how they are loaded"):
        adapter.load.load_user_agent("agent")
    assert adapter.train.explain_no_resume()
    assert not adapter.load
    assert SmallAdapter({"list_kinds_of_saved_files": dict}).load
