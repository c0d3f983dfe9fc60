"""The settings of the toy problems are read with errors that name file and key."""

from __future__ import annotations

import pytest

from rlregress import frameworks, suite
from rlregress.errors import UserError
from tests_behavior.toy_settings import load_setting

BASE = "ppo: {discount: 0.99, hidden_sizes: [64]}\n"
GOOD = "time_limit: {ppo: {total_steps: 9, changes: {discount: 0.98}, stores: [done]}}\n"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes the settings and the hyperparameters of a framework called "some"."""
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)

    def write(behavior: str, hyperparameters: str = BASE) -> None:
        for folder, text in (("behavior", behavior), ("hyperparameters", hyperparameters)):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / "some.yaml").write_text(text)

    return write


def test_changes_are_applied_to_the_frameworks_own_set(written):
    """Unchanged hyperparameters keep the framework's value, and missing settings their default."""
    written(GOOD)
    toy_setting = load_setting("some", "time_limit", "ppo")
    assert toy_setting.hyperparameters == {"discount": 0.98, "hidden_sizes": [64]}
    assert (toy_setting.total_steps, toy_setting.stores) == (9, ("done",))
    assert toy_setting.warm_up_is_stored
    assert not toy_setting.value_in_last_reward


@pytest.mark.parametrize(
    ("behavior", "message"),
    [
        ("segments: {ppo: {}}", "has no topic 'time_limit'; known: segments"),
        ("time_limit: {sac: {}}", "time_limit has no algorithm 'ppo'; known: sac"),
        ("time_limit: {ppo: {changes: {gamma: 0.98}}}", "time_limit.ppo: the hyperparameter set "
         "'some' has no hyperparameter 'gamma'; known: discount, hidden_sizes"),
    ],
)  # fmt: skip
def test_a_damaged_setting_is_one_sentence(written, behavior, message):
    """An empty, damaged or incomplete file, an unknown key and a wrong value are each named."""
    written(behavior)
    with pytest.raises(UserError, match="some.yaml") as error:
        load_setting("some", "time_limit", "ppo")
    assert message in str(error.value)


def test_settings_without_cells_have_their_own_hyperparameters(written):
    """An algorithm of the topic "without_cells" needs no set, and has only the names of that."""
    base = "without_cells: {dqn: {changes: {discount: 0.99, learning_starts: 0}}}\n"
    written(base + "counts: {dqn: {most_environments: 1, changes: {discount: 0.5}}}\n")
    toy_setting = load_setting("some", "counts", "dqn")
    assert toy_setting.hyperparameters == {"discount": 0.5, "learning_starts": 0}
    assert [toy_setting.limit_environments(n) for n in (1, 3)] == [1, 1]
    written(base + "counts: {dqn: {changes: {gamma: 0.5}}}\n")
    with pytest.raises(UserError, match="the topic 'without_cells' has no hyperparameter 'gamma'"):
        load_setting("some", "counts", "dqn")


@pytest.mark.parametrize("topic", ["time_limit", "segments", "minibatches", "determinism"])
def test_every_framework_has_its_settings(topic):
    """Every known framework has a valid setting for each of its algorithms."""
    for name in frameworks.list_framework_names():
        description = frameworks.get_adapter(name).framework
        further_algorithms = () if topic == "time_limit" else description.behavior_only
        for algorithm in (*description.algorithms, *further_algorithms):
            toy_setting = load_setting(name, topic, algorithm)
            assert toy_setting.stores if topic == "segments" else toy_setting.total_steps, name
            assert bool(toy_setting.reads) == (topic == "minibatches"), name
