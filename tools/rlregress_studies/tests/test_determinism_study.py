"""``study determinism``: one source of chance varied, the others held; table and figure."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.probing.interface import Trained
from rlregress.probing.seeded_training import Seeds
from rlregress_studies.cli import determinism as study
from rlregress_studies.determinism import chance, determinism_study, discrete
from rlregress_studies.determinism.chance import Spread
from rlregress_studies.determinism.determinism_study import Checkpoint, DeterminismPlan, Member
from rlregress_studies.determinism.discrete import Protocol, Starts

SMALL = DeterminismPlan(
    environment="CartPole-v1", sticky=0.0, steps=100, checkpoints=2, runs=2,
    groups=("deterministic", "initialisation", "exploration", "environment", "sampling"),
    protocol=Protocol(starts=2, shortest=1, longest=4, cap=5, states=8),
)  # fmt: skip


CASES = [
    ("sb3", ("deterministic", "sampling")),
    *(
        pytest.param(name, SMALL.groups, marks=pytest.mark.nightly)
        for name in ("sb3", "torchrl", "cleanrl")
        if name in frameworks.list_framework_names()
    ),
]


@pytest.mark.parametrize(("name", "groups"), CASES)
def test_what_is_held_stays_and_what_is_varied_moves(name, groups, tmp_path, capsys):
    """With all held, weights are the same at every checkpoint; each varied source changes them.

    The second call of the command trains nothing: it reads the trainings in the report's folder.
    """
    adapter, plan = _trainable_adapter(name), replace(SMALL, groups=groups)
    assert study.train_and_report([adapter.full_name], plan, tmp_path) == 0
    written = json.loads((tmp_path / "determinism.json").read_text())
    (spread,) = written["frameworks"].values()
    assert set(spread["sources"]) == set(SMALL.groups) - {"deterministic"}
    for group, group_result in spread["groups"].items():
        assert (group_result["parted"] is None) == (group == "deterministic"), group
        assert len(group_result["value_mean"]) == 2
        assert (max(group_result["value_deviation"]) == 0.0) == (group == "deterministic"), group
    assert "deterministic: 2 of 2 in" in capsys.readouterr().out
    (figure,) = tmp_path.glob("*.svg")
    ElementTree.fromstring(figure.read_text())
    assert study.train_and_report([adapter.full_name], plan, tmp_path) == 0
    assert " of 2 in" not in capsys.readouterr().out
    damaged = sorted((tmp_path / "runs").iterdir())[0]
    damaged.write_text('[{"steps": 10')
    with pytest.raises(UserError, match=f"{damaged.name}.*remove the file"):
        study.train_and_report([adapter.full_name], plan, tmp_path)


def _trainable_adapter(name):
    adapter = frameworks.get_adapter(name)
    for copy in [adapter.get_adapter_of_copy(label) for label in adapter.list_copy_labels()] or [
        adapter
    ]:
        if copy.framework.algorithms:
            return copy
    pytest.skip("CleanRL HEAD is not here: set CLEANRL_HOME")


def checkpoints(*weights, value=1.0):
    """Return the checkpoints of one training."""
    return [Checkpoint(10 * n, weight, 2.0, value) for n, weight in enumerate(weights, 1)]


def test_a_spread_says_when_trainings_part_and_by_how_much():
    """A difference in a held source is a fault, and so is none in a varied one."""
    pair = [checkpoints("a", "b", value=1.0), checkpoints("a", "c", value=3.0)]
    assert chance.compute_spread_of_runs(pair) == Spread(
        runs=2, parted=20, distinct=2, steps=[10, 20], score_mean=[2.0, 2.0],
        score_deviation=[0.0, 0.0], value_mean=[2.0, 2.0], value_deviation=[1.0, 1.0],
    )  # fmt: skip
    # three times 0.4 has a mean of another number
    same = chance.compute_spread_of_runs([checkpoints("a", value=0.4)] * 3)
    assert same.value_deviation == [0.0]
    different = chance.compute_spread_of_runs([checkpoints("a"), checkpoints("b")])
    same = chance.compute_spread_of_runs([checkpoints("a"), checkpoints("a")])
    good = {"deterministic": same, "sampling": different, "environment": same, "threads": same}
    assert chance.describe_unexpected_spreads("One", good) == []
    assert chance.describe_unexpected_spreads(
        "One", {"deterministic": different, "sampling": same}
    ) == [
        "One: with everything held, 2 trainings have 2 different weights, first after 10 steps; "
        "expected the same weights in all",
        "One: another seed of sampling does not change the weights; expected other weights: this "
        "suite does not seed the generator that the framework draws from",
    ]


def test_groups_vary_one_thing_each():
    """Every group begins with the same training; each of its others varies one thing."""
    for group in determinism_study.GROUPS:
        first, second = determinism_study.list_trainings_of_group(group, 2)
        assert first == Member()
        assert second != first
    assert determinism_study.list_trainings_of_group("sampling", 2)[1].seeds == Seeds(sampling=1)
    assert determinism_study.list_trainings_of_group("threads", 3)[2] == Member(threads=3)
    with pytest.raises(UserError, match="--vary names 'smapling'; did you mean 'sampling'"):
        determinism_study.parse_groups(["smapling"])
    assert determinism_study.parse_groups(["sampling"]) == ("deterministic", "sampling")


def test_starts_are_the_same_in_every_process():
    """Scores and held-out states follow from the protocol alone, and agents are told apart."""
    make = partial(discrete.make_environment, "CartPole-v1", training=False)
    pushing_left = Trained(lambda rows: np.zeros(len(rows), int), lambda rows: rows[:, 0], {}, 0)
    upright = replace(pushing_left, policy=lambda rows: (rows[:, 2] + rows[:, 3] > 0).astype(int))
    protocol = Protocol(starts=3, shortest=1, longest=4, cap=30, states=8)
    first, second = Starts(make, protocol), Starts(make, protocol)
    assert first.compute_maximum_q(pushing_left) == second.compute_maximum_q(pushing_left) != 0.0
    assert (
        first.compute_mean_return(pushing_left)
        == first.compute_mean_return(pushing_left)
        == second.compute_mean_return(pushing_left)
        < 12.0
    )
    assert first.compute_mean_return(upright) == 30.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--environment", "Nothing-v0"], "'Nothing-v0', which Gymnasium cannot make"),
        (["--environment", "Pendulum-v1"], "expected discrete ones, as DQN needs them"),
        (["--environment", "FrozenLake-v1"], "whose observations are Discrete(16); expected"),
        (["--steps", "50"], "--steps is 50; expected at least 100"),
    ],
)
def test_what_cannot_be_trained_is_one_sentence(command, arguments, message, tmp_path):
    """The error names the value and what was expected."""
    code, _, error = command("study", "determinism", *arguments, "--report", str(tmp_path))
    assert code == 2
    assert message in error
