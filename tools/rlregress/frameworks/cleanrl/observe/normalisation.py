"""Probes of normalisation: the wrappers that the PPO script puts around its environments."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.drivers import measured_by
from rlregress.frameworks.cleanrl.observe.helpers.normalised_environments import (
    provide_variables,
    walk_normalised,
)
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.slices import run_slice
from rlregress.measurements import normalisation, normalisation_traps
from rlregress.measurements.normalisation import showing
from rlregress.probing.interface import Inputs

SourceProbe = Callable[[Source, Inputs], Any]

_EVALUATOR = "cleanrl_utils/evals/ppo_eval.py"


def _discount(source: Source, i: Inputs) -> np.ndarray:
    return normalisation.reward(partial(walk_normalised, source, gamma=i["discount"]), i)


def _episode_return(source: Source, i: Inputs) -> np.ndarray:
    length = len(i["rewards"])
    ends = np.arange(length) == length - 1
    walked = walk_normalised(source, [{"rewards": i["rewards"], "terminated": ends}])
    return np.array(walked.returns)


class _Noting:
    """An agent that records its observations."""

    def __init__(self, envs: Any) -> None:
        self.inputs: list[float] = []
        self._shape = (1, *envs.single_action_space.shape)

    def to(self, device: Any) -> _Noting:
        """Return itself, on whatever device."""
        del device
        return self

    def load_state_dict(self, state: Any) -> None:
        """Load nothing."""

    def eval(self) -> None:
        """Switch nothing."""

    def get_action_and_value(self, observation: torch.Tensor) -> Any:
        """Return action 0, and nothing that the evaluator uses."""
        self.inputs.append(float(observation.reshape(())))
        return torch.zeros(self._shape), None, None, None


def _by_evaluator(source: Source, i: Inputs) -> np.ndarray:
    """Return the observations that the evaluator of a checkout passes to an agent."""
    script = source.script("ppo_continuous_action")
    length = len(i["evaluation"])
    ends = np.arange(length) == length - 1
    playback = showing(np.append(i["evaluation"], 0.0), terminated=ends)
    evaluate = source.module(_EVALUATOR).evaluate
    agents: list[_Noting] = []

    def make_noting(envs: Any) -> _Noting:
        agents.append(_Noting(envs))
        return agents[-1]

    with provide_variables([playback]), tempfile.TemporaryDirectory(prefix="rlregress-") as folder:
        make_env = run_slice(script.find_binding("environment", "make_env"), {})["make_env"]
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


def _observe(source: Source, observations: Any) -> np.ndarray:
    return walk_normalised(source, [showing(observations)]).observations[:, 0]


def _evaluation(source: Source, i: Inputs) -> np.ndarray:
    if source.has(_EVALUATOR):
        return _by_evaluator(source, i)
    # returns are reported of the environments that train, and of no other
    stream = np.concatenate([i["training"], i["evaluation"]])
    return _observe(source, stream)[-len(i["evaluation"]) :]


def _saved(source: Source, i: Inputs) -> np.ndarray:
    if source.has(_EVALUATOR):
        return _by_evaluator(source, i)
    # nothing is saved: who goes on begins with a new run
    return _observe(source, i["evaluation"])


_MEASUREMENTS = {**normalisation.MEASUREMENTS, **normalisation_traps.MEASUREMENTS}
PROBES: Mapping[str, SourceProbe] = {
    **{id: measured_by(walk_normalised)(measure) for id, measure in _MEASUREMENTS.items()},
    "normalisation.reward.discount": _discount,
    "normalisation.episode_return": _episode_return,
    "normalisation.default.off_policy": measured_by(
        partial(walk_normalised, script="sac_continuous_action")
    )(normalisation.default_off_policy),
    "normalisation.evaluation": _evaluation,
    "normalisation.saved": _saved,
}

ABSENT: Mapping[str, str] = {
    "normalisation.evaluation.same_wrapper": (
        "has no evaluator that is handed a second environment and fits its statistics"
    ),
    "normalisation.terminal_observation": "its off-policy scripts normalise nothing",
    "normalisation.replay": "its off-policy scripts normalise nothing",
    "normalisation.fixed.epsilon": "has no normalisation with statistics that are handed over",
    "normalisation.reward_clip.one_sided": (
        "clips rewards in the script itself, with both limits written there"
    ),
}
