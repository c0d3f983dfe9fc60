"""Every hyperparameter set in every framework: it is taken as it is, or it is said what is not."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import re

import pytest

from rlregress import frameworks
from rlregress.catalogue import documented_defaults
from rlregress.errors import UserError
from rlregress.frameworks.cleanrl.script_sources import find_source
from rlregress.hyperparameters import list_hyperparameter_sets, read_hyperparameters
from rlregress.probing.isolation import isolate_random_generators
from rlregress.training import job_plan
from rlregress.training.budgets import load_budget, resolve_hyperparameters_of_cell
from rlregress.training.cell import Cell

ENVIRONMENT = "InvertedPendulum-v4"
ALGORITHMS = ("ppo", "sac", "td3")
FRAMEWORKS = ("cleanrl", "rsl_rl", "sb3", "torchrl")

#: (framework, algorithm, set) -> the hyperparameters that the framework cannot take
REFUSED = {
    ("cleanrl", "sac", "skrl"): {"initial_temperature"},
    ("cleanrl", "sac", "torchrl"): {"steps_per_collection", "updates_per_collection"},
    ("cleanrl", "td3", "sb3"): {"hidden_sizes"},
    ("cleanrl", "td3", "skrl"): {"hidden_sizes"},
    ("cleanrl", "td3", "torchrl"): {"steps_per_collection", "updates_per_collection"},
    ("rsl_rl", "ppo", "cleanrl"): {"anneal_learning_rate"},
    ("sb3", "sac", "cleanrl"): {
        "policy_delay", "critic_learning_rate", "temperature_learning_rate",
    },
    ("torchrl", "sac", "cleanrl"): {
        "policy_delay", "critic_learning_rate", "temperature_learning_rate",
    },
}  # fmt: skip
EVERY = [
    (f, a, s)
    for f in FRAMEWORKS
    for a in ALGORITHMS
    for s in list_hyperparameter_sets()
    if a in read_hyperparameters(s)
]
#: what a tuned temperature makes meaningless
WITHOUT_EFFECT = {"fixed_temperature"}
#: another value that a set could have
OTHER = {
    "anneal_learning_rate": True,
    "critic_loss": "smooth_l1",
    "hidden_sizes": [32],
    "minibatch_size": 128,
    "normalize_advantage": "other",
    "target_entropy": -7.0,
    "tune_temperature": False,
    "value_loss": "smooth_l1",
}


def cell_of(framework: str, algorithm: str, name: str, budget_name: str = "full") -> Cell:
    """A cell of the study; skipped where the framework cannot be trained here."""
    try:
        trains = frameworks.get_adapter(framework).framework.algorithms
        frameworks.get_adapter(framework).code.map_package_versions()
    except UserError as error:
        pytest.skip(str(error))
    if algorithm not in trains:
        pytest.skip(f"{framework}: the copy that is here cannot be trained")
    return Cell(framework, algorithm, ENVIRONMENT, name, budget_name)


def given_to(cell: Cell) -> dict:
    """The hyperparameters of its runs."""
    return resolve_hyperparameters_of_cell(cell, load_budget(cell.budget))


@pytest.mark.parametrize("combination", EVERY, ids="-".join)
def test_a_set_is_taken_or_it_is_said_what_is_not(combination):
    """A framework takes a set, or one sentence names exactly the hyperparameters that it cannot."""
    cell = cell_of(*combination)
    reason = job_plan.explain_rejected_hyperparameters(cell)
    error = REFUSED.get(combination, set())
    assert bool(reason) == bool(error), reason
    assert "\n" not in reason
    clauses = reason.partition(" hyperparameters: ")[2].replace("differs from learning_rate", "")
    named = {key for key in given_to(cell) if re.search(rf"\b{key}\b", clauses)}
    assert named == error, reason


def _as_built(value):
    return 0.0 if value is None else value


@pytest.mark.parametrize("combination", [e for e in EVERY if e not in REFUSED], ids="-".join)
def test_an_agent_of_any_set_has_its_values(combination):
    """An agent that is built with a set has its values, as far as they can be read back."""
    cell = cell_of(*combination)
    given = given_to(cell)
    with isolate_random_generators():
        applied = frameworks.get_adapter(cell.framework).read.read_applied_hyperparameters(
            cell.algorithm, given
        )
    assert len(applied) >= 9
    for key, value in applied.items():
        known = given.get(key, False if key == "anneal_learning_rate" else None)
        # no noise and noise of deviation 0 are the same
        assert documented_defaults.format_value(
            _as_built(value)
        ) == documented_defaults.format_value(_as_built(known)), key


def _differently(given: dict, key: str) -> dict:
    value = OTHER.get(key)
    if value is None:
        value = given[key] * 2 if given[key] else 0.75
    return {**given, key: value}


def _convert(framework: str, algorithm: str, given: dict) -> str:
    """The arguments of the framework for a set, as text."""
    training = importlib.import_module(f"rlregress.frameworks.{framework}.train.training")
    if framework == "rsl_rl":
        return repr(training.make_arguments_of_hyperparameters(given, 1))
    if framework == "sb3":
        return repr(training.convert_hyperparameters_to_arguments(algorithm, given, (2,)))
    return repr(training.make_arguments_of_hyperparameters(algorithm, given, find_source()))


@pytest.mark.parametrize(
    "combination", [*itertools.product(["cleanrl", "rsl_rl", "sb3"], ALGORITHMS)], ids="-".join
)
def test_no_hyperparameter_is_dropped(combination):
    """Whatever is changed, of this set or another, changes an argument, or is refused."""
    framework, algorithm = combination
    own = given_to(cell_of(framework, algorithm, framework))
    if algorithm == "ppo":
        own["anneal_learning_rate"] = False
    sets = [read_hyperparameters(name).get(algorithm, {}) for name in list_hyperparameter_sets()]
    dropped = []
    for key, value in {k: value for given in (*sets, own) for k, value in given.items()}.items():
        usual = {**own, key: value}
        with contextlib.suppress(UserError):
            before, after = (
                _convert(framework, algorithm, given) for given in (usual, _differently(usual, key))
            )
            if before == after and key not in WITHOUT_EFFECT:
                dropped.append(key)
    assert dropped == []


class _Read(dict):
    """Notes which of its keys are read."""

    def __init__(self, given) -> None:
        super().__init__(given)
        self.seen: set[str] = set()

    def __getitem__(self, key):
        self.seen.add(key)
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.seen.add(key)
        return super().get(key, default)


@pytest.mark.parametrize("of", ALGORITHMS)
def test_what_torchrl_is_given_is_read(of, monkeypatch):
    """The trainers are built from every hyperparameter that is not refused."""
    algorithm = of
    from rlregress.frameworks.torchrl import read as torchrl_read
    from rlregress.frameworks.torchrl.train import trainers

    own = read_hyperparameters("torchrl")[algorithm]
    given = {**own, "anneal_learning_rate": True} if algorithm == "ppo" else own
    read = _Read(trainers.check_and_select_hyperparameters(algorithm, given))
    monkeypatch.setattr(torchrl_read, "check_and_select_hyperparameters", lambda *_: read)
    torchrl_read.read_applied_hyperparameters(algorithm, given)
    assert set(read) == set(given)
    assert read.seen >= set(given)
    for (other, key), value in trainers._FIXED.items():
        if other == algorithm:
            with pytest.raises(UserError, match=f"{key} is {value} and no argument sets it"):
                trainers.check_and_select_hyperparameters(algorithm, {**given, key: 0.75})
