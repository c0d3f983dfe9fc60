"""Files that SB3-Contrib saves, by the code of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import sb3_contrib

from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.load import (
    OFF_POLICY,
    ON_POLICY,
    AgentRecipe,
    load_user_agent,
    make_trainings_with_files,
    read_settings_of_agent,
)
from rlregress.probing.file_kinds import TrainingWithFiles

__all__ = ["list_trainings_with_files", "load_user_agent", "read_settings_of_agent"]


class _FirstActionForbidden(gyms.Wrapper):
    """An environment whose mask forbids action 0."""

    def action_masks(self) -> np.ndarray:
        """Return which actions are allowed, bool [actions]."""
        return np.arange(self.action_space.n) > 0


_make_agent_recipe = partial(AgentRecipe, library=sb3_contrib)
_ON_POLICY = {**ON_POLICY, "batch_size": 16, "n_epochs": 2}
_SMALL = {"net_arch": [8, 8]}
_RECIPES = (
    _make_agent_recipe(
        "QRDQN", {**OFF_POLICY, "exploration_fraction": 0.9, "target_update_interval": 20},
        discrete=True, networks={**_SMALL, "n_quantiles": 5}),
    _make_agent_recipe(
        "TQC", {**OFF_POLICY, "ent_coef": "auto_0.5", "top_quantiles_to_drop_per_net": 1},
        networks={**_SMALL, "n_quantiles": 5}),
    _make_agent_recipe(
        "TRPO", {"n_steps": 16, "batch_size": 16, "gamma": 0.97, "gae_lambda": 0.9,
                 "cg_max_steps": 7, "target_kl": 0.02}, several=True),
    _make_agent_recipe(
        "MaskablePPO", {**_ON_POLICY, "clip_range_vf": 0.2},
        discrete=True, several=True, around=_FirstActionForbidden),
    _make_agent_recipe(
        "RecurrentPPO", {**_ON_POLICY, "clip_range_vf": 0.2},
        several=True, policy="MlpLstmPolicy", networks={**_SMALL, "lstm_hidden_size": 8}),
    _make_agent_recipe(
        "CrossQ", {**{k: v for k, v in OFF_POLICY.items() if k != "tau"}, "ent_coef": "auto_0.5",
                   "policy_delay": 2}),
    _make_agent_recipe(
        "ARS", {"n_delta": 3, "n_top": 2, "learning_rate": 0.03, "delta_std": 0.04},
        policy="LinearPolicy", networks={"with_bias": True}),
)  # fmt: skip

#: an agent of each algorithm, and what two of them read by a function of their own.
_STORED_KINDS = (
    "qrdqn model", "qrdqn parameters", "tqc model", "trpo model", "maskableppo model",
    "recurrentppo model", "crossq model", "ars model", "ars parameters",
)  # fmt: skip


def list_trainings_with_files() -> Mapping[str, Sequence[TrainingWithFiles]]:
    """Return algorithm -> built-in trainings, each with the kinds of files saved after it."""
    return make_trainings_with_files(_RECIPES, _STORED_KINDS)
