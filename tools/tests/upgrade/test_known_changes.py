"""The records of the frameworks' histories are sound, and damage is named."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rlregress import suite
from rlregress.catalogue import registry
from rlregress.errors import UserError
from rlregress.hyperparameters import read_hyperparameters
from rlregress.upgrade.differences import known_changes

HISTORIES = pytest.mark.parametrize("history", known_changes.list_frameworks_with_history())

#: a whole file of one change that is in order; the tests damage it.
SOUND = """\
releases = ["1.0", "1.1", "1.2"]

[[change]]
id = "x-1.1-halved"
release = "1.1"
before = "1.0"
algorithms = ["ppo", "dqn"]
what = "The loss is halved"
kind = "fix"
scope = "in"
why_out = ""
condition = "halve=True"
source = "changelog 1.1"
details = []
defaults = []
functions = ["x/ppo.py PPO.train"]
note = "A factor."
"""
SECOND = SOUND.partition("\n\n")[2].replace("x-1.1-halved", "x-1.1-doubled")


def read(folder, text):
    """The changes of a file with this text."""
    path = folder / "x.toml"
    path.write_text(text, encoding="utf-8")
    return known_changes.read_history(path).change


@HISTORIES
def test_committed_history_is_sound(history):
    """Ids begin with framework and release, functions have files, details and defaults are ours."""
    ids = {detail.id for detail in registry.list_details()}
    file = suite.locate_baselines() / "hyperparameters" / f"{history}.yaml"
    sets = ["original", history] if file.is_file() else ["original"]
    names = {n for name in sets for values in read_hyperparameters(name).values() for n in values}
    for change in known_changes.load_changes(history):
        assert change.id.startswith(f"{history}-{change.release}-"), change.id
        assert change.functions or change.scope == "out", change.id
        for function in change.functions:
            file, _, name = function.partition(" ")
            assert (file.endswith(".py"), bool(name)) == (True, True), (change.id, function)
        assert set(change.details) <= ids, change.id
        for default in change.defaults:
            algorithm, _, name = default.partition(" ")
            assert algorithm in change.algorithms, (change.id, default)
            assert name in names, (change.id, default)


def test_pairs_of_stable_baselines_hold_changes_and_healthy_neighbours():
    """Neighbours, oldest first, with each change once; one with none in scope has to pass."""
    pairs = {pair.release: pair for pair in known_changes.list_release_pairs("sb3")}
    history = known_changes.read_history(known_changes.locate_history_file("sb3"))
    neighbours = [(pair.before, pair.release) for pair in pairs.values()]
    assert neighbours == list(pairwise(history.releases))
    ids = [change.id for pair in pairs.values() for change in pair.changes]
    assert sorted(ids) == sorted(change.id for change in history.change)
    target = "sb3-2.4.0-dqn-target-optimizer"
    assert target in {change.id for change in pairs["2.4.0"].changes_to_flag}
    assert pairs["2.7.0"].changes
    assert not pairs["2.7.0"].changes_to_flag
    assert not pairs["2.4.1"].changes


def test_change_concerns_its_algorithms(tmp_path):
    """All, or those that it names; an id that occurs twice is named with both places."""
    (change,) = read(tmp_path, SOUND)
    assert change.concerns_training("dqn episodes")
    assert change.concerns_training("recurrent_dqn")
    assert not change.concerns_training("dqnx")
    assert not change.concerns_training("sac")
    (change,) = read(tmp_path, SOUND.replace('["ppo", "dqn"]', '["all"]'))
    assert change.concerns_training("sac")
    assert len(read(tmp_path, SOUND + SECOND)) == 2
    with pytest.raises(UserError, match=r"line 18: key 'id' is 'x-1.1-halved'.*line 3 has it"):
        read(tmp_path, SOUND + SECOND.replace("doubled", "halved"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('scope = "in"', 'scope = "out"', "line 3: key 'why_out' is missing; expected a"),
        ('why_out = ""', 'why_out = "no"', "line 3: key 'why_out' is 'no', expected nothing, as"),
        ('before = "1.0"', 'before = "1.1"', "are '1.1' and '1.1', expected two releases that"),
        ('release = "1.1"', 'release = "1.2"', "are '1.0' and '1.2', expected two releases"),
        ('before = "1.0"', 'before = "0.9"', "are '0.9' and '1.1', expected two releases"),
        ('"1.1", "1.2"]', '"1.2", "1.1"]', "key 'releases': 1.1 follows 1.2, expected oldest"),
    ],
)
def test_damage_is_named(tmp_path, old, new, message):
    """The one sentence has the file, the entry, the key and the expected value."""
    assert old in SOUND
    with pytest.raises(UserError) as raised:
        read(tmp_path, SOUND.replace(old, new, 1))
    assert message in str(raised.value)
    assert str(tmp_path / "x.toml") in str(raised.value)


def test_unknown_framework_is_named():
    """A framework without a history gets the nearest one that has one."""
    with pytest.raises(UserError, match=r"no history of 'sb33'.*sb3"):
        known_changes.load_changes("sb33")
