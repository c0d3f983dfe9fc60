"""A detail that an installed version lacks is unsupported; other details are probed."""

from __future__ import annotations

import csv
import textwrap
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.inside import probe_worker
from rlregress.measurements import dqn
from rlregress.probing import families
from rlregress.probing.interface import Unsupported
from tools.tests.processes import run_python
from tools.tests.small_adapters import SmallAdapter

ADAPTER = {
    "__init__.py": "",
    "probes/__init__.py": "",
    "probes/losses.py": """
        from {name}_framework import Gone, Kept
        from {name}_framework.gone import also

        class Derived(Gone):
            pass

        PROBES = {{
            "a.kept": lambda inputs: Kept(),
            "a.gone": lambda inputs: Gone(),
            "a.derived": lambda inputs: Derived(1),
            "a.also": lambda inputs: also.deeper(1),
        }}
    """,
    "probes/careful.py": """
        try:
            from {name}_framework import Gone as made
        except ImportError:
            from {name}_framework import Kept as made

        PROBES = {{"b.made": lambda inputs: made()}}
    """,
    "probes/hasty.py": """
        import {name}_framework
        from {name}_framework.gone import also

        MADE = also()
        PROBES = {{"c.one": MADE, ("c.two", "trainer"): MADE}}
        ABSENT = {{"c.three": "has none"}}
    """,
    "probes/driven.py": """
        from {name}_framework.gone import also
        from rlregress.measurements import dqn as measured

        MADE = also()
        PROBES = {{
            **{{id: MADE for id in measured.MEASUREMENTS}},
            **{{(id, "trainer"): MADE for id, measure in measured.MEASUREMENTS.items()}},
        }}
    """,
}
COUNT = iter(range(1_000))


@pytest.fixture
def adapter(tmp_path, monkeypatch):
    """Return the name of an adapter's package, whose framework has lost some of what it imports."""
    name = f"lossy{next(COUNT)}"
    files = {f"{name}/{file}": text.format(name=name) for file, text in ADAPTER.items()}
    files[f"{name}_framework/__init__.py"] = "def Kept():\n    return 1.0\n"
    for file, text in files.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    return name


def _load(adapter, family):
    loaded = families.import_families(f"{adapter}.probes")
    (probes,) = (module.PROBES for module in loaded if module.__name__.endswith(f".{family}"))
    return probes


def test_only_what_needs_something_absent_does_not_answer(adapter):
    """A module that can do without decides itself; only adapters are imported leniently."""
    assert _load(adapter, "losses")["a.kept"]({}) == 1.0
    # something absent beside it makes all of the package be imported anew, leniently
    with families.import_absent_for_missing_names(adapter):
        assert _load(adapter, "careful")["b.made"]({}) == 1.0
    with families.import_absent_for_missing_names(adapter), pytest.raises(ImportError):
        exec("from os import nothing_of_that_name", {"__name__": f"{adapter}_framework"})
    gone = families.AbsentName("some.thing", ImportError("lost"))
    assert families.is_absent_name(gone)
    assert not families.is_absent_name(1)
    for use in (lambda: isinstance(1, gone), lambda: list(gone), lambda: 1 in gone):
        with pytest.raises(Unsupported, match="some.thing is not available: lost"):
            use()


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("a.gone", "_framework.Gone is not available: cannot import 'Gone'"),
        ("a.derived", "_framework.Gone is not available"),
        ("a.also", "_framework.gone.also.deeper is not available: No module named"),
    ],
)
def test_a_probe_names_the_missing_object(adapter, id, words):
    """The error names a missing object that is called, derived from, or read."""
    with pytest.raises(Unsupported, match=words):
        _load(adapter, "losses")[id]({})


def test_a_family_that_cannot_be_imported_has_the_probes_that_it_names(adapter):
    """One of measurements has those of its table."""
    probes = _load(adapter, "hasty")
    assert set(probes) == {"c.one", ("c.two", "trainer")}
    for probe in [*probes.values()] * 2:
        with pytest.raises(Unsupported, match="gone.also is not available"):
            probe({})
    in_trainer = {(id, "trainer") for id in dqn.MEASUREMENTS}
    assert set(_load(adapter, "driven")) == {*dqn.MEASUREMENTS, *in_trainer}


def test_a_family_that_is_no_python_is_named_with_its_line(adapter, tmp_path):
    """It names no probes: what is reported is where its text ends."""
    (tmp_path / adapter / "probes" / "broken.py").write_text('PROBES = {"d.one": 1}\nreturn {\n')
    with pytest.raises(SyntaxError) as raised:
        families.import_families(f"{adapter}.probes")
    file = str(tmp_path / adapter / "probes" / "broken.py")
    assert (raised.value.filename, raised.value.lineno) == (file, 2)


def test_unreadable_values_hide_no_others():
    """Each key has its values, or the error that its reader ended with."""
    values_read = families.read_each_or_mark_unread(
        {"a": lambda: {"x": 1}, "b": lambda: {"x": [][1]}}
    )
    assert values_read["a"] == {"x": 1}
    assert isinstance(values_read["b"], families.Unread)
    assert values_read["b"].reason == "IndexError: list index out of range"


def _make_adapter(probe):
    """Return an adapter of one probe, whose trainings cannot be listed."""
    defaults = {("ppo", "library"): {"x": 0.5}, ("sac", "library"): families.Unread("gone")}
    functions = {
        "list_probes": lambda: {("some.detail", "library"): probe},
        "list_builtin_trainings": _raise_nothing_is_built_in,
        "read_defaults": lambda: defaults,
    }
    return SmallAdapter(functions, version="1.0", modules=("stable_baselines3",))


def _raise_nothing_is_built_in():
    raise RuntimeError("no trainings")


def _raise_in_framework(inputs):
    from stable_baselines3.common.utils import get_schedule_fn

    return get_schedule_fn("nothing")


def _raise_below_framework(inputs):
    from stable_baselines3.common.torch_layers import create_mlp

    return create_mlp(-1, 1, [])


def _raise_here(inputs):
    raise ValueError("here")


@pytest.mark.parametrize(
    ("probe", "error_origin", "file"),
    [
        (_raise_in_framework, "framework", "stable_baselines3/common/utils.py"),
        (_raise_below_framework, "framework", "torch/nn/modules/linear.py"),
        (_raise_here, "suite", "test_families.py"),
    ],
)
def test_an_error_says_where_it_was_raised(monkeypatch, probe, error_origin, file):
    """The innermost frame is named, below the folder of its package; its caller owns the error."""
    monkeypatch.setattr(probe_worker.frameworks, "get_adapter", lambda name: _make_adapter(probe))
    reply = probe_worker.probe_adapter("some", {"some.detail": {}})["observed"][
        "some.detail library"
    ]
    assert reply["whose"] == error_origin
    assert reply["place"]["file"].endswith(file)
    assert reply["place"]["line"] > 0
    assert reply["place"]["function"]


def test_unreadable_parts_of_an_adapter_are_reported(monkeypatch):
    """Defaults are read cell by cell; trainings that cannot be listed keep nothing else back."""
    monkeypatch.setattr(
        probe_worker.frameworks, "get_adapter", lambda name: _make_adapter(_raise_here)
    )
    reply = probe_worker.probe_adapter("some", {})
    assert reply["defaults"] == {"ppo library": {"x": "0.5"}}
    assert reply["defaults_unread"] == {"sac library": "gone"}
    assert (reply["algorithms"], reply["algorithms_unread"]) == ([], "RuntimeError: no trainings")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ImportError("lost"), False),
        (ModuleNotFoundError("No module named 'some'", name="some"), False),
        (ModuleNotFoundError("No module named 'some.thing'", name="some.thing"), False),
        (ImportError("cannot import name 'x' from 'torch'", name="torch"), True),
        (ModuleNotFoundError("No module named 'some.other'", name="some.other"), True),
        (SyntaxError("invalid syntax"), True),
        (NameError("name 'th' is not defined"), True),
    ],
)
def test_a_broken_module_differs_from_a_missing_one(error, expected):
    """A framework whose import fails has an error; its details are not reported as missing."""
    assert families.is_error_of_existing_module(error, "some.thing") == expected
    gone = families.AbsentName("some.thing", error)
    with pytest.raises(type(error) if expected else Unsupported):
        gone()


TRAININGS_WITHOUT = """
import sys
from rlregress import frameworks

ROOTS = {
    module
    for name in frameworks.list_framework_names()
    for module in frameworks.get_adapter(name).framework.modules
}

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ROOTS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Gone())
for name in frameworks.list_framework_names():
    print(name, *sorted(frameworks.get_adapter(name).list_trace_trainings()), sep=";")
"""


@pytest.mark.usefixtures("warm_python")
def test_which_trainings_a_framework_has_is_read_without_it() -> None:
    """An upgrade makes both versions itself; none of them has to be installed here."""
    rows = run_python("-c", TRAININGS_WITHOUT).stdout.splitlines()
    without = {name: names for name, *names in csv.reader(rows, delimiter=";")}
    for name, adapter in ((row, frameworks.get_adapter(row)) for row in without):
        # which scripts there are, a copy of them says
        if not adapter.framework.checkout:
            assert without[name] == sorted(adapter.list_trace_trainings()) != []


@pytest.mark.parametrize("text", ["class Old: pass\nLIMIT = Old.limit\n", "def training(): pass\n"])
def test_a_listed_function_that_a_module_does_not_give_is_an_error(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An adapter whose module fails, or misspells a function, has not left the function out."""
    name = f"listed{next(COUNT)}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    (tmp_path / name / "loop.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    find = families.make_lazy_getattr(name, loop=["trainings"])
    with pytest.raises(
        UserError, match=f"cannot import trainings from {name}.loop: .* has no attribute"
    ):
        find("trainings")
    with pytest.raises(AttributeError):
        find("no_function")
