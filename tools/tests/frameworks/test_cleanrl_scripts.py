"""Asking CleanRL's own scripts by their statements, where they are present."""

from __future__ import annotations

import dataclasses
import re

import gymnasium
import numpy as np
import pytest

from rlregress.catalogue import registry
from rlregress.errors import UserError
from rlregress.frameworks import cleanrl
from rlregress.frameworks.cleanrl import script_sources
from rlregress.frameworks.cleanrl.observe.helpers.normalised_environments import (
    walk_through_environments,
)
from rlregress.frameworks.cleanrl.script import AnchorLost
from rlregress.probing.scripted import make_counting_environment


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


@pytest.mark.parametrize("label", HERE)
@pytest.mark.parametrize("name", ["agent", "envs"])
def test_a_renamed_part_of_the_script_is_named_by_what_is_asked_of_its_rollout(
    label, name, tmp_path
):
    """No numbers of a network or an environment that the probe did not choose."""
    source = script_sources.find_source(label)
    copy = dataclasses.replace(source, root=source.copy_source_into(tmp_path))
    path = copy.folder / "ppo_continuous_action.py"
    text = path.read_text()
    path.unlink()
    path.write_text(re.sub(rf"\b{name}\b", "renamed", text))
    for id in ("gae.truncation", "gae.value_target", "gae.lambda_zero", "gae.stored_values"):
        probe = cleanrl.CleanRL(copy).observe.list_probes()[id, "script"]
        with pytest.raises(AnchorLost, match=f"returns: nothing is assigned to {name}; nearest"):
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
