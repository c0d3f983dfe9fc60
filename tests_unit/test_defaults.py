"""Defaults and names of hyperparameters: Tables 6 to 8 of the thesis.

What is documented stands in ``baselines/defaults``. A default is read from a constructed agent, a
signature or a command line of the installed framework.
"""

from __future__ import annotations

from functools import cache

import pytest

from rlregress import suite
from rlregress.catalogue import documented_defaults, hyperparameter_names
from rlregress.hyperparameters import read_hyperparameters

SETS = sorted(path.stem for path in (suite.locate_baselines() / "hyperparameters").glob("*.yaml"))


@cache
def _read_parameter_names(framework):
    """Return the framework's names of hyperparameters; read once, as it takes a second."""
    return framework.read.map_hyperparameters_to_own_names()


def _assert_documented(framework, observed, field):
    """Assert that the values of every algorithm and scope are the documented ones."""
    __tracebackhide__ = True
    documented = documented_defaults.load_defaults_of_installed_version(framework)
    clauses = [
        f"{algorithm}, scope {scope}: {clause}"
        for algorithm, scope in sorted(set(observed) | set(documented))
        for clause in documented_defaults.list_differences_from_documented(
            observed.get((algorithm, scope), {}),
            getattr(documented.get((algorithm, scope)), field, {}),
        )
    ]
    assert not clauses, (
        f"{framework.full_name} {framework.code.version()}: {'; '.join(clauses)}; if the change is "
        "intended, give the old table an until and add one to "
        f"{documented_defaults.locate_documented_defaults(framework)}"
    )


def _drop_keys(values, keys):
    return {key: value for key, value in values.items() if key not in keys}


def _format_values(values, without=()):
    return {
        key: documented_defaults.format_value(value)
        for key, value in _drop_keys(values, without).items()
    }


@pytest.mark.usefixtures("suite_framework")
def test_defaults_are_documented(framework):
    """A hyperparameter that nobody sets has the documented value (Tables 6 to 8)."""
    _assert_documented(framework, framework.read.read_defaults(), "values")


@pytest.mark.usefixtures("suite_framework")
def test_names_are_documented(framework):
    """A hyperparameter has the documented name (Tables 6 to 8)."""
    _assert_documented(framework, _read_parameter_names(framework), "names")


@pytest.mark.usefixtures("suite_framework")
def test_printed_names_are_right_or_recorded_as_wrong(framework):
    """The names in Tables 6 to 8 are right, unless they are recorded as wrong."""
    names, version = _read_parameter_names(framework), framework.code.version()
    wrong = [
        f"{cell.table}, {cell.row}: '{cell.printed}' is "
        f"{'right' if cell.is_right(names) else 'wrong'}, recorded as the opposite"
        for cell in hyperparameter_names.list_printed_names(framework.name)
        if cell.is_right(names) != cell.is_recorded_as_right(version)
    ]
    assert not wrong, f"{framework.full_name} {version}: {'; '.join(wrong)}"


@pytest.mark.usefixtures("suite_framework")
@pytest.mark.parametrize("name", SETS)
def test_set_goes_there_and_back(framework, name):
    """A hyperparameter set in a framework's own names and numbers, and back, is the same set."""
    entries = documented_defaults.load_defaults_of_installed_version(framework)
    for (algorithm, _), entry in entries.items():
        # of an algorithm without cells there is no set, and its own values take the way
        values = read_hyperparameters(name).get(algorithm, entry.values)
        named = {key: value for key, value in values.items() if key in entry.names}
        shared = {
            key
            for key in named
            if sum(entry.names[key] == own for name_, own in entry.names.items() if name_ in named)
            > 1
        }
        back = entry.convert_to_our_parameters(entry.convert_to_framework_parameters(values))
        # a name that two hyperparameters share says both of them
        assert _format_values(back, {*shared, *(set(back) - set(named))}) == _format_values(
            named, shared
        )


@pytest.mark.usefixtures("suite_framework")
def test_set_of_a_framework_holds_its_defaults(framework):
    """The hyperparameter set of a framework holds its defaults, where its values are documented."""
    defaults = framework.read.read_defaults()
    entries = documented_defaults.load_defaults_of_installed_version(framework)
    for (algorithm, scope), entry in entries.items():
        if entry.set:
            sets = read_hyperparameters(framework.name)
            fixed = set(sets[algorithm]) - set(entry.names)
            assert defaults[algorithm, scope] == _drop_keys(sets[algorithm], fixed)


def test_agent_of_a_set_has_its_values(framework, algorithm):
    """An agent that is built with the framework's set has exactly these hyperparameters."""
    values = read_hyperparameters(framework.name)[algorithm]
    applied = framework.read.read_applied_hyperparameters(algorithm, values)
    assert set(applied) <= set(values)
    assert _format_values(applied) == _format_values({name: values[name] for name in applied})
