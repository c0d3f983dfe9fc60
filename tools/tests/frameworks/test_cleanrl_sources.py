"""CleanRL's scripts are found wherever they lie, and read without being run."""

from __future__ import annotations

import dataclasses
import os
import re

import gymnasium
import numpy as np
import pytest

from rlregress import frameworks, suite
from rlregress.catalogue import registry
from rlregress.errors import UserError
from rlregress.frameworks import cleanrl
from rlregress.frameworks.cleanrl import script_sources
from rlregress.frameworks.cleanrl.observe.normalisation import walk_through_environments
from rlregress.frameworks.cleanrl.script import VariableLost, load_digests_of_known_scripts
from rlregress.probing.interface import Unprobed
from rlregress.probing.scripted import make_counting_environment
from tools.tests.small_files import write_files, write_metadata

PPO = "cleanrl/ppo_continuous_action.py"


@pytest.fixture
def checkout(tmp_path):
    """A folder that looks like a checkout."""
    files = {PPO: "import gymnasium as gym\n", "pyproject.toml": '[project]\nversion = "2.0.0b1"\n'}
    return write_files(tmp_path / "checkout", files)


def test_a_checkout_is_found_by_the_environment_variable(checkout, monkeypatch):
    """Its label is HEAD, its version the one that it states."""
    monkeypatch.setenv(script_sources.VARIABLE, str(checkout))
    adapter = cleanrl.CleanRL()
    assert adapter.list_copy_labels()[0] == "HEAD"
    assert adapter.code.map_package_versions()["cleanrl"] == "2.0.0b1"
    assert adapter.get_adapter_of_copy("HEAD").full_name == "cleanrl@HEAD"


def test_a_folder_without_scripts_is_refused(tmp_path, monkeypatch):
    """The message names the variable, the folder and what was expected in it."""
    monkeypatch.setenv(script_sources.VARIABLE, str(tmp_path))
    with pytest.raises(UserError, match=r"CLEANRL_HOME names .* expected a checkout"):
        script_sources.find_source()


def test_no_scripts_at_all_is_an_error_that_says_how_to_get_some(monkeypatch):
    """Neither a checkout nor an installed distribution."""
    monkeypatch.delenv(script_sources.VARIABLE, raising=False)
    monkeypatch.setattr(script_sources, "_find_installed_source", lambda: None)
    with pytest.raises(UserError, match=r"there are no scripts; set CLEANRL_HOME .* pip install"):
        cleanrl.CleanRL().code.map_package_versions()


def test_a_copy_to_be_changed_is_found_as_the_original_is(checkout, monkeypatch, tmp_path):
    """Its files can be replaced without touching the original."""
    monkeypatch.setenv(script_sources.VARIABLE, str(checkout))
    folder = tmp_path / "copy"
    folder.mkdir()
    variables = cleanrl.CleanRL().code.copy_package_to_change(PPO, folder)
    (folder / PPO).unlink()
    write_files(folder, {PPO: "import gymnasium as gym  # changed\n"})
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    source = script_sources.find_source()
    assert source.label == "HEAD"
    assert "changed" in source.parse_script("ppo_continuous_action").path.read_text()
    assert "changed" not in (checkout / PPO).read_text()


@pytest.mark.parametrize(
    ("listed", "sentence"),
    [
        (None, "cannot read .*cleanrl.sha256"),
        ("# nothing\n", "lists no script"),
        ("0" * 63 + "  one.py\n", "line 1: found .* expected 64 hexadecimal digits"),
    ],
)
def test_a_damaged_list_of_scripts_is_an_error(tmp_path, monkeypatch, listed, sentence):
    """Without the list every script would count as unknown, and lost probes would be excused."""
    if listed is not None:
        write_files(tmp_path, {"scripts/cleanrl.sha256": listed})
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)
    with pytest.raises(UserError, match=sentence):
        load_digests_of_known_scripts.__wrapped__()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"import gym\nfor i in (1,\n", r"SyntaxError at line 2"),
        (b"\xff\xfe\x00\x80", "UnicodeDecodeError"),
        (None, "has no script"),
    ],
)
def test_a_script_that_is_no_python_is_an_error_that_names_its_path(
    checkout, monkeypatch, content, found
):
    """A truncated, binary or missing file is one sentence, for the command line and for a probe."""
    monkeypatch.setenv(script_sources.VARIABLE, str(checkout))
    source = script_sources.find_source()
    path = source.folder / "ppo_continuous_action.py"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises(UserError, match=found) as caught:
        source.parse_script("ppo_continuous_action")
    assert isinstance(caught.value, Unprobed)
    assert not caught.value.known
    assert "ppo_continuous_action.py" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_copy_that_is_trained_has_the_name_of_its_trainings(checkout, monkeypatch):
    """It comes first wherever it lies, has no label, and every other copy has one."""
    # what pip install --target makes of scripts that were written for gym
    old_copy = write_files(checkout.parent / "target", {PPO: "import gym\n"})
    write_metadata(old_copy, "cleanrl", "0.4.8")
    monkeypatch.setenv(script_sources.VARIABLE, f"{old_copy}{os.pathsep}{checkout}")
    copies = [
        adapter for adapter in frameworks.list_installed_adapters() if adapter.name == "cleanrl"
    ]
    assert [adapter.full_name for adapter in copies][:2] == ["cleanrl", "cleanrl@0.4.8"]
    assert copies[0].code.map_package_versions()["cleanrl"] == "2.0.0b1"
    assert copies[0].framework.algorithms
    assert not copies[1].framework.algorithms


def test_a_copy_of_another_label_is_not_taken_instead(checkout, monkeypatch):
    """The labels that are here are listed."""
    monkeypatch.setenv(script_sources.VARIABLE, str(checkout))
    with pytest.raises(UserError, match=r"cleanrl@1\.0\.0 is not installed, only HEAD"):
        script_sources.find_source("1.0.0")


def _labels() -> list[str]:
    try:
        return [found.label for found in script_sources.list_distinct_sources()]
    except UserError:
        return []


HERE = [
    pytest.param(
        label,
        marks=pytest.mark.skipif(
            label not in _labels(),
            reason=f"CleanRL {label} is neither in CLEANRL_HOME nor installed",
        ),
    )
    for label in ("HEAD", "0.4.8")
]


@pytest.mark.parametrize("label", HERE)
@pytest.mark.parametrize("name", ["ppo", "sac", "td3"])
def test_the_scripts_are_those_that_the_suite_was_written_for(label, name):
    """Their digests are in the list, so that an anchor that is lost in them is a failure."""
    if label == "HEAD" and script_sources.find_source(label).version != "2.0.0b1":
        pytest.skip("a checkout of another version: its scripts are new to the suite")
    assert script_sources.find_source(label).parse_script(f"{name}_continuous_action").known


def _copy_changed(label, folder, pattern, replacement):
    """Return a copy of the scripts whose PPO script is changed."""
    source = script_sources.find_source(label)
    copy = dataclasses.replace(source, root=source.copy_as_links_into(folder))
    path = copy.folder / "ppo_continuous_action.py"
    text = path.read_text()
    path.unlink()
    path.write_text(re.sub(pattern, replacement, text))
    return copy


@pytest.mark.parametrize("label", HERE)
@pytest.mark.parametrize("name", ["agent", "envs"])
def test_a_renamed_part_of_the_script_is_named_by_what_is_asked_of_its_rollout(
    label, name, tmp_path
):
    """No numbers of a network or an environment that the probe did not choose."""
    copy = _copy_changed(label, tmp_path, rf"(?<!-)\b{name}\b", "renamed")
    for id in ("gae.truncation", "gae.value_target", "gae.lambda_zero", "gae.stored_values"):
        probe = cleanrl.CleanRL(copy).observe.list_probes()[id, "script"]
        with pytest.raises(VariableLost, match=f"nothing is assigned to {name}; nearest"):
            probe(registry.get_detail(id).copy_inputs())


@pytest.mark.parametrize("label", HERE)
@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        (r"args\.update_epochs", "2", "the update does not read args.update_epochs"),
        (r"\bb_advantages\b", "renamed", "nothing is assigned to b_advantages; nearest"),
    ],
)
def test_an_update_whose_rows_cannot_be_chosen_is_not_asked(
    label, pattern, replacement, message, tmp_path
):
    """No loss of rows that the script has collected itself."""
    copy = _copy_changed(label, tmp_path, pattern, replacement)
    for id in ("ppo.policy_loss.clip", "ppo.advantage_normalisation", "ppo.kl_estimator"):
        probe = cleanrl.CleanRL(copy).observe.list_probes()[id, "script"]
        with pytest.raises(VariableLost, match=message):
            probe(registry.get_detail(id).copy_inputs())


@pytest.mark.parametrize("with_info", [True, False], ids=["gymnasium", "gym"])
def test_a_walk_reads_the_observation_of_a_reset(monkeypatch, with_info):
    """Gymnasium returns it with an info, and gym alone."""
    two = gymnasium.vector.SyncVectorEnv(
        [lambda: make_counting_environment(3), lambda: make_counting_environment(3, rewards=2.0)]
    )
    if not with_info:
        reset = two.reset
        monkeypatch.setattr(two, "reset", lambda: reset()[0])
    walked = walk_through_environments(two, 2)
    assert np.array_equal(walked.observations, [[0, 0], [1, 1], [2, 2]])
    assert np.array_equal(walked.rewards, [[1, 2], [1, 2]])
