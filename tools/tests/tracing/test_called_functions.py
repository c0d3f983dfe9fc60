"""Functions of a framework that are entered while something runs."""

from __future__ import annotations

import sys

import pytest

from rlregress.inside.called_functions import CalledFunctions

CODE = """
class Agent:
    @property
    def rate(self):
        return 1

    def step(self):
        def inner():
            return self.rate
        return inner()

    def idle(self):
        return 0


def values():
    return [i for i in steps()]


def steps():
    yield 1
"""


@pytest.fixture
def module(tmp_path):
    """Names of a module, compiled as of a file in a folder."""

    def made(package):
        path = tmp_path / package / "module.py"
        path.parent.mkdir()
        path.write_text(CODE)
        names = {"__name__": "module"}
        exec(compile(CODE, str(path), "exec"), names)
        return names

    return made


def test_functions_are_noted_with_their_file(tmp_path, module):
    """By qualified names, below the folder of the package; others are not there."""
    names = module("package")
    with CalledFunctions([str(tmp_path / "package")]) as called:
        names["Agent"]().step()
    file = "package/module.py"
    assert called.found == {
        (file, "Agent.rate"), (file, "Agent.step"), (file, "Agent.step.inner")
    }  # fmt: skip


def test_functions_of_other_folders_do_not_count(tmp_path, module):
    """A folder whose name only begins alike is another one."""
    names = module("package_more")
    with CalledFunctions([str(tmp_path / "package")]) as called:
        names["Agent"]().step()
    assert called.found == set()


def test_generators_and_comprehensions_are_of_their_functions(tmp_path, module):
    """A comprehension is no function of its own; a generator is entered when it is run."""
    names = module("package")
    with CalledFunctions([str(tmp_path / "package")]) as called:
        made = names["steps"]()
    assert called.found == set()
    with called:
        list(made)
        names["values"]()
    assert {name for _, name in called.found} == {"values", "steps"}


def test_every_time_begins_anew(tmp_path, module):
    """What was entered before is not there, and is noted again when it is entered again."""
    names = module("package")
    called = CalledFunctions([str(tmp_path / "package")])
    for call, expected in (("idle", "Agent.idle"), ("step", "Agent.step"), ("idle", "Agent.idle")):
        with called:
            getattr(names["Agent"](), call)()
        assert expected in {name for _, name in called.found}
    assert len(called.found) == 1


def test_nothing_is_left_in_place(tmp_path):
    """Another tracer is there again afterwards, also after an error."""
    before, within = sys.gettrace(), []

    def other(*_):
        return None

    def fails():
        within.append(sys.gettrace())
        raise ZeroDivisionError

    try:
        for tracer in (None, other):
            sys.settrace(tracer)
            with pytest.raises(ZeroDivisionError), CalledFunctions([str(tmp_path)]):
                fails()
            found = sys.gettrace()
            assert found is tracer
    finally:
        sys.settrace(before)
    assert not {None, other} & set(within)
