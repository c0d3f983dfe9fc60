"""Defaults and names of hyperparameters: Tables 6 to 8 of the thesis.

What is documented stands in ``baselines/defaults``. A default is read from a constructed agent, a
signature or a command line of the installed framework.
"""

from __future__ import annotations

from functools import cache

import pytest

from rlregress import suite
from rlregress.details import documented_defaults, hyperparameter_names
from rlregress.hyperparameters import read_hyperparameters

SETS = sorted(path.stem for path in (suite.baselines() / "hyperparameters").glob("*.yaml"))


@cache
def _names(framework):
    """What the framework calls its hyperparameters: read once, as it takes a second."""
    return framework.read.parameter_names()


def _check(framework, found, part):
    """What was found of every algorithm and scope is what is documented."""
    __tracebackhide__ = True
    documented = documented_defaults.load_documented(framework)
    clauses = [
        f"{algorithm}, scope {scope}: {clause}"
        for algorithm, scope in sorted(set(found) | set(documented))
        for clause in documented_defaults.list_differences(
            found.get((algorithm, scope), {}), part(documented.get((algorithm, scope)))
        )
    ]
    assert not clauses, (
        f"{framework.full_name} {framework.code.version()}: {'; '.join(clauses)}; if the change is "
        "intended, give the old table an until and add one to "
        f"{documented_defaults.defaults_path(framework)}"
    )


def _without(given, keys):
    return {key: value for key, value in given.items() if key not in keys}


def _spelled(given, without=()):
    return {
        key: documented_defaults.format_value(value)
        for key, value in _without(given, without).items()
    }


@pytest.mark.usefixtures("of_this_suite")
def test_defaults_are_documented(framework):
    """A hyperparameter that nobody sets has the documented value (Tables 6 to 8)."""
    _check(framework, framework.read.defaults(), lambda entry: entry.values if entry else {})


@pytest.mark.usefixtures("of_this_suite")
def test_names_are_documented(framework):
    """A hyperparameter has the documented name (Tables 6 to 8)."""
    _check(framework, _names(framework), lambda entry: entry.names if entry else {})


@pytest.mark.usefixtures("of_this_suite")
def test_printed_names_are_right_or_recorded_as_wrong(framework):
    """What Tables 6 to 8 call a hyperparameter is its name, unless it is recorded as wrong."""
    names, version = _names(framework), framework.code.version()
    wrong = [
        f"{cell.table}, {cell.row}: '{cell.printed}' is "
        f"{'right' if cell.is_right(names) else 'wrong'}, recorded as the opposite"
        for cell in hyperparameter_names.list_cells(framework.name)
        if cell.is_right(names) != cell.is_recorded_as_right(version)
    ]
    assert not wrong, f"{framework.full_name} {version}: {'; '.join(wrong)}"


@pytest.mark.usefixtures("of_this_suite")
@pytest.mark.parametrize("name", SETS)
def test_set_goes_there_and_back(framework, name):
    """A hyperparameter set in a framework's own names and numbers, and back, is the same set."""
    for (algorithm, _), entry in documented_defaults.load_documented(framework).items():
        # of an algorithm without cells there is no set, and its own values take the way
        given = read_hyperparameters(name).get(algorithm, entry.values)
        kept = {key: value for key, value in given.items() if key in entry.names}
        shared = {
            key
            for key in kept
            if sum(entry.names[key] == own for other, own in entry.names.items() if other in kept)
            > 1
        }
        back = entry.to_our_names(entry.to_framework(given))
        # a name that two hyperparameters share says both of them
        assert _spelled(back, {*shared, *(set(back) - set(kept))}) == _spelled(kept, shared)


@pytest.mark.usefixtures("of_this_suite")
def test_set_of_a_framework_holds_its_defaults(framework):
    """The hyperparameter set of a framework holds its defaults, where its values are documented."""
    found = framework.read.defaults()
    for (algorithm, scope), entry in documented_defaults.load_documented(framework).items():
        if entry.set:
            given = read_hyperparameters(framework.name)
            fixed = set(given[algorithm]) - set(entry.names)
            assert found[algorithm, scope] == _without(given[algorithm], fixed)


def test_agent_of_a_set_has_its_values(framework, algorithm):
    """An agent that is built with the framework's set has exactly these hyperparameters."""
    given = read_hyperparameters(framework.name)[algorithm]
    found = framework.read.applied(algorithm, given)
    assert set(found) <= set(given)
    assert _spelled(found) == _spelled({name: given[name] for name in found})
