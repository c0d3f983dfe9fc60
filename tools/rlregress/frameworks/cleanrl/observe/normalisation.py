"""Probes of normalisation: the wrappers that the PPO script puts around its environments."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.helpers.normalised_environments import (
    Walk,
    environments,
    playing,
)
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.slices import run
from rlregress.probing.interface import Inputs

SourceProbe = Callable[[Source, Inputs], Any]

_EVALUATOR = "cleanrl_utils/evals/ppo_eval.py"


def _observations(source: Source, observations: Any) -> np.ndarray:
    wrapped = environments(source, {"observations": observations})
    return Walk(wrapped, len(observations) - 1).observations[:, 0]


def _rewards(source: Source, i: Inputs, **flags: Any) -> np.ndarray:
    ends = {key: i[key] for key in ("terminated", "truncated") if key in i}
    wrapped = environments(source, {"rewards": i["rewards"], **ends}, **flags)
    return Walk(wrapped, len(i["rewards"])).rewards[:, 0]


def _epsilon(source: Source, i: Inputs) -> np.ndarray:
    return _observations(source, np.append(np.zeros(int(i["still"])), i["last"]))[-1:]


def _discount(source: Source, i: Inputs) -> np.ndarray:
    return _rewards(source, i, gamma=i["discount"])[1:]


def _episode_return(source: Source, i: Inputs) -> np.ndarray:
    length = len(i["rewards"])
    ends = np.arange(length) == length - 1
    wrapped = environments(source, {"rewards": i["rewards"], "terminated": ends})
    return np.array(Walk(wrapped, length).returns)


def _default(script: str, steps: list[int]) -> SourceProbe:
    def probe(source: Source, i: Inputs) -> np.ndarray:
        playback = {"observations": np.append(0.0, i["observations"]), "rewards": i["rewards"]}
        walk = Walk(environments(source, playback, script=script), len(i["rewards"]))
        return np.concatenate([walk.observations[1:][steps, 0], walk.rewards[steps, 0]])

    return probe


class _Noting:
    """An agent that records its observations."""

    def __init__(self, envs: Any) -> None:
        self.inputs: list[float] = []
        self._shape = (1, *envs.single_action_space.shape)

    def to(self, device: Any) -> _Noting:
        """Itself, wherever it is to be."""
        del device
        return self

    def load_state_dict(self, state: Any) -> None:
        """Nothing to load."""

    def eval(self) -> None:
        """Nothing to switch."""

    def get_action_and_value(self, observation: torch.Tensor) -> Any:
        """Action 0, and nothing that the evaluator looks at."""
        self.inputs.append(float(observation.reshape(())))
        return torch.zeros(self._shape), None, None, None


def _by_evaluator(source: Source, i: Inputs) -> np.ndarray:
    """Return the observations that the evaluator of a checkout passes to an agent."""
    script = source.script("ppo_continuous_action")
    length = len(i["evaluation"])
    playback = {
        "observations": np.append(i["evaluation"], 0.0),
        "terminated": np.arange(length) == length - 1,
    }
    evaluate = source.module(_EVALUATOR).evaluate
    agents: list[_Noting] = []

    def make_noting(envs: Any) -> _Noting:
        agents.append(_Noting(envs))
        return agents[-1]

    with playing(playback), tempfile.TemporaryDirectory(prefix="rlregress-") as folder:
        make_env = run(script.bound("environment", "make_env"), {})["make_env"]
        path = Path(folder) / "agent.cleanrl_model"
        torch.save({}, path)
        with contextlib.redirect_stdout(io.StringIO()):
            evaluate(
                str(path),
                make_env,
                "Playback-v0",
                eval_episodes=1,
                run_name="run",
                Model=make_noting,
                capture_video=False,
            )
    return np.array(agents[-1].inputs)


def _evaluation(source: Source, i: Inputs) -> np.ndarray:
    if source.has(_EVALUATOR):
        return _by_evaluator(source, i)
    # returns are reported of the environments that train, and of no other
    stream = np.concatenate([i["training"], i["evaluation"]])
    return _observations(source, stream)[-len(i["evaluation"]) :]


def _saved(source: Source, i: Inputs) -> np.ndarray:
    if source.has(_EVALUATOR):
        return _by_evaluator(source, i)
    # nothing is saved: who goes on begins with a new run
    return _observations(source, i["evaluation"])


PROBES: Mapping[str, SourceProbe] = {
    "normalisation.observation": lambda s, i: _observations(s, i["observations"])[1:],
    "normalisation.observation.epsilon": _epsilon,
    "normalisation.observation.clip": lambda s, i: _observations(s, i["observations"])[-2:],
    "normalisation.observation.statistics": (
        lambda s, i: _observations(s, i["observations"])[[0, 1, 2, 50, 199]]
    ),
    "normalisation.order": lambda s, i: _observations(s, i["observations"])[1:],
    "normalisation.reward": lambda s, i: _rewards(s, i)[1:],
    "normalisation.reward.reset": lambda s, i: _rewards(s, i)[1:],
    "normalisation.reward.clip": lambda s, i: _rewards(s, i)[-2:],
    "normalisation.reward.first": lambda s, i: _rewards(s, i)[:1],
    "normalisation.reward.discount": _discount,
    "normalisation.episode_return": _episode_return,
    "normalisation.default": _default("ppo_continuous_action", [3, -1]),
    "normalisation.default.off_policy": _default("sac_continuous_action", [-2, -1]),
    "normalisation.evaluation": _evaluation,
    "normalisation.saved": _saved,
}

ABSENT: Mapping[str, str] = {
    "normalisation.evaluation.same_wrapper": (
        "has no evaluator that is handed a second environment and fits its statistics"
    ),
}
