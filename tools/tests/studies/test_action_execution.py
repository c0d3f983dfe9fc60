"""``study actions``: executed actions of a Gaussian policy, in numbers and as the figure."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from rlregress import frameworks
from rlregress.cli import actions as command
from rlregress.errors import UserError
from rlregress.studies import action_execution
from rlregress.studies.action_execution import Actions


def test_clipped_actions_are_at_the_bounds_and_squashed_ones_are_not(tmp_path, capsys):
    """Of a mean of -0.6 and a variance of 0.1, a tenth is at the bound of who clips: Phi(-1.26).

    Of 512 draws the share is further than 0.08 away with a probability below 1e-8.
    """
    names = [name for name in ("sb3", "torchrl") if name in frameworks.names()]
    assert command.show(names, [-0.6], 0.1, 512, tmp_path) == 0
    written = json.loads((tmp_path / "actions.json").read_text())
    by_name = {each["framework"]: each for each in written}
    clipped, squashed = by_name["Stable-Baselines3"], by_name["TorchRL"]
    assert clipped["share_at_bounds"] == pytest.approx(0.103, abs=0.08)
    assert clipped["deterministic"] == pytest.approx(-0.6, abs=1e-5)
    assert squashed["share_at_bounds"] == 0.0
    assert squashed["deterministic"] == pytest.approx(np.tanh(-0.6), abs=1e-5)
    assert sum(clipped["histogram"]) == clipped["actions"] == 512
    text = capsys.readouterr().out
    assert "Stable-Baselines3, mean -0.6, variance 0.1: 512 actions of mean" in text
    assert "(actions.json, actions.svg)" in text
    ElementTree.fromstring((tmp_path / "actions.svg").read_text())


def test_the_figure_has_a_row_for_each_framework_and_a_column_for_each_mean():
    """Each cell is titled by what it shows."""
    pytest.importorskip("matplotlib")
    import matplotlib

    found = [
        Actions(
            framework=name,
            mean=mean,
            variance=0.1,
            executed=np.linspace(-1.0, 1.0, 50),
            deterministic=mean,
        )
        for name in ("One", "Two")
        for mean in (0.0, -0.6)
    ]
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        drawn = action_execution.figure(found)
    for name in ("One", "Two"):
        assert f"{name}: mean 0, variance 0.1" in drawn
        assert f"{name}: mean -0.6, variance 0.1" in drawn


def test_a_variance_of_nothing_is_one_sentence(tmp_path):
    """A Gaussian without spread is no distribution to look at."""
    with pytest.raises(UserError, match="--variance is 0; expected a number above 0"):
        command.show([], [0.0], 0.0, 16, tmp_path)
