"""Episodes of trained policies in environments of two versions."""

from __future__ import annotations

import json
import sys
from unittest.mock import Mock

import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.error import DependencyNotInstalled

from rlregress.inside import physics_worker
from rlregress.model import differences
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.evidence import physics_comparison
from rlregress.upgrade.verdict.entries import make_environment_entries

POLICIES = {path.stem: path for path in physics_comparison.list_stored_policies()}


def test_every_stored_policy_says_where_it_comes_from():
    """Small files, of numbers and one text alone."""
    assert POLICIES
    assert sum(path.stat().st_size for path in POLICIES.values()) < 200_000
    for name, path in POLICIES.items():
        stored = np.load(path, allow_pickle=False)
        about = json.loads(str(stored["about"]))
        assert about["environment"] == name
        assert about["versions"]["gymnasium"]


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
def test_a_policy_is_the_one_that_was_trained(name):
    """It earns the stored mean return."""
    played = physics_worker.record_policy_episodes(str(POLICIES[name]), 3)
    trained = json.loads(str(np.load(POLICIES[name])["about"]))["mean_return"]
    assert played["begins"][0] == 0
    assert len(played["returns"]) == 3
    spread = np.std(played["returns"]) / np.sqrt(3)
    assert np.mean(played["returns"]) == pytest.approx(trained, abs=6 * spread + 1)


def test_an_environment_that_is_not_installed_is_no_error_of_the_machine(monkeypatch):
    """Neither an id that is unknown, nor a package that is missing; anything else is one."""
    assert physics_worker.record_random_steps("NoSuchEnvironment-v0", 1)["is_lacking"]
    for error, is_lacking in ((DependencyNotInstalled("x"), True), (MemoryError("x"), False)):
        monkeypatch.setattr(CartPoleEnv, "reset", Mock(side_effect=error))
        assert physics_worker.record_random_steps("CartPole-v1", 1)["is_lacking"] is is_lacking


def test_another_physics_is_the_step_at_which_episodes_part(monkeypatch):
    """With the episode, and the returns of both."""
    name, reset = "CartPole-v1", CartPoleEnv.reset
    before, repeated = (
        physics_worker.record_policy_episodes(str(POLICIES[name]), 2) for _ in range(2)
    )

    def reset_with_gravity(self, **given):
        self.gravity = 9.9
        return reset(self, **given)

    monkeypatch.setattr(CartPoleEnv, "reset", reset_with_gravity)
    after = physics_worker.record_policy_episodes(str(POLICIES[name]), 2)
    same, changed = (
        physics_comparison.compare_played_actions({name: before}, {name: x})[0]
        for x in (repeated, after)
    )
    assert (same.differs, same.returns) == (False, "")
    assert changed.differs
    assert changed.at_first > 0
    assert changed.returns.startswith("episode 1 of 2; mean returns ")
    (entry,) = make_environment_entries([changed])
    assert entry.state == "differs"
    assert changed.returns in entry.reason


LACKING = {"error": "gone", "is_lacking": True}
BROKEN = {"error": "no memory", "is_lacking": False}
ROW = {"rows": [[0.0, 1.0]]}


@pytest.mark.parametrize(
    ("old", "new", "state", "reason"),
    [
        (ROW, ROW, differences.SAME, ""),
        (ROW, {"rows": [[0.5, 1.0]]}, differences.DIFFERS, "step 0"),
        (ROW, {"rows": [[0.0, 1.0, 2.0]]}, differences.DIFFERS, "the observations have 1 and 2"),
        (ROW, {"rows": ROW["rows"] * 2}, differences.DIFFERS, "episodes end elsewhere"),
        (LACKING, ROW, differences.CANNOT, "old: gone"),
        (ROW, BROKEN, differences.CANNOT, "new: no memory"),
        (LACKING, LACKING, differences.NO_EFFECT, "neither version has it: gone"),
        (LACKING, BROKEN, differences.CANNOT, "both versions: gone; no memory"),
        (BROKEN, BROKEN, differences.CANNOT, "both versions: no memory"),
    ],
)
def test_an_environment_has_one_state_and_its_reason(old, new, state, reason):
    """One that a version cannot play was not checked; an error of the machine hides no gap."""
    (entry,) = make_environment_entries(
        physics_comparison.compare_played_actions({"x": old}, {"x": new})
    )
    assert entry.state == state
    assert reason in entry.reason


def test_a_later_episode_is_named():
    """Rows are numbered over all episodes, and the report names the episode."""
    rows = [[0.0, float(n)] for n in range(6)]
    old = {"rows": [*rows, rows[0]], "begins": [0, 3, 6], "returns": [1.0, 2.0, 1.5]}
    moved_rows = [*rows[:4], [0.0, 9.0], rows[5], [0.0, 99.0]]
    new = {**old, "rows": moved_rows, "returns": [1.0, 3.0, 2.0]}
    (difference,) = physics_comparison.compare_played_actions({"x": old}, {"x": new})
    assert (difference.step, difference.largest) == (4, 5.0)
    assert difference.returns.startswith("episode 2 of 3; mean returns 1.5 and 2, difference ")


@pytest.mark.nightly
def test_both_versions_play_every_policy(tmp_path):
    """In a process of theirs, with the installed versions."""
    runtime = Runtime("old", python=sys.executable)
    played = physics_comparison.play_actions_and_policies(
        runtime, tmp_path / "physics.json", ["CartPole-v1"]
    )
    named = {f"{name} under a trained policy" for name in POLICIES}
    assert played.keys() == {"CartPole-v1", *named}
    assert not any("error" in rows for rows in played.values())


@pytest.mark.parametrize(
    ("change_types", "words"),
    [
        (lambda observation, reward: (observation.astype(np.float64), reward),
         "observation: float64 array 4 where the old version has f"),
        (lambda observation, reward: (observation, np.float64(reward)),
         "reward: float64 scalar where the old version has float"),
    ],
)  # fmt: skip
def test_observations_and_rewards_of_another_type_differ(monkeypatch, change_types, words):
    """The numbers are the same; the type is named, and the environment counts as different."""
    old, step = physics_worker.record_random_steps("CartPole-v1", 30), CartPoleEnv.step

    def step_with_types(self, action):
        observation, reward, *rest = step(self, action)
        return *change_types(observation, reward), *rest

    monkeypatch.setattr(CartPoleEnv, "step", step_with_types)
    new = physics_worker.record_random_steps("CartPole-v1", 30)
    assert old["rows"] == new["rows"]
    (difference,) = physics_comparison.compare_played_actions({"x": old}, {"x": new})
    assert difference.types.startswith(words)
    (entry,) = make_environment_entries([difference])
    assert entry.state == "differs"
    assert words in entry.reason
