"""Probes of normalisation: the wrappers that the PPO script puts around its environments."""

from __future__ import annotations

import contextlib
import importlib
import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.drivers import make_probe
from rlregress.frameworks.cleanrl.running import GIVEN, ScriptRun, StopRun, run_script, start_script
from rlregress.frameworks.cleanrl.script import find_first_variable
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.measurements import normalisation, normalisation_traps
from rlregress.measurements.normalisation import (
    Script,
    Walked,
    count_steps_of_script,
    make_script_of_observations,
)
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import Scripted

SourceProbe = Callable[[Source, Inputs], Any]

_EVALUATOR = "cleanrl_utils.evals.ppo_eval"


def walk_through_environments(environments: Any, steps: int) -> Walked:
    """Reset a script's environments and step them with actions of 0."""
    count = getattr(environments, "num_envs", 1)
    observations: list[Any] = [_reset_environments(environments)]
    rewards: list[Any] = []
    returns: list[float] = []
    for _ in range(steps):
        action = np.zeros((count, 1), dtype=np.float32)
        # 0.4.8 hands tensors to its vectorised environments
        is_old = hasattr(environments, "step_async") and hasattr(environments, "device")
        outcome = environments.step(torch.as_tensor(action) if is_old else action)
        observations.append(outcome[0])
        rewards.append(outcome[1])
        returns += _read_episode_returns(outcome[-1])
    return Walked(
        _make_table_of_columns(observations, count), _make_table_of_columns(rewards, count), returns
    )


def _walk_through_normalised(
    source: Source, scripts: Sequence[Script], script: str = "ppo_continuous_action", **flags: Any
) -> Walked:
    """Return the observations and rewards of scripted environments in a script's wrappers.

    Environment i that the script makes plays ``scripts[i]``.
    """
    scripts_left = list(scripts)
    if len(scripts) > 1:
        flags["num_envs"] = len(scripts)
    run = start_script(
        source.parse_script(script).path, flags, lambda: Scripted(**scripts_left.pop(0))
    )
    environments = find_first_variable(run.globals, "envs", "env")
    return walk_through_environments(environments, count_steps_of_script(scripts[0]))


def _reset_environments(environments: Any) -> Any:
    returned = environments.reset()
    return returned[0] if isinstance(returned, tuple) else returned


def _make_table_of_columns(rows: list[Any], columns: int) -> np.ndarray:
    return np.array([np.asarray(row, dtype=np.float64).reshape(columns) for row in rows])


def _read_episode_returns(infos: Any) -> list[float]:
    """Return the episode returns in the infos of a step, in any of the forms that they have had."""
    if isinstance(infos, dict):
        infos = infos.get("final_info", [infos])
    episode_infos = [info for info in infos if info and "episode" in info]
    return [float(np.asarray(info["episode"]["r"]).reshape(())) for info in episode_infos]


def _normalise_rewards_with_discount(source: Source, inputs: Inputs) -> np.ndarray:
    return normalisation.measure_normalised_rewards(
        partial(_walk_through_normalised, source, gamma=inputs["discount"]), inputs
    )


def _measure_episode_return(source: Source, inputs: Inputs) -> np.ndarray:
    length = len(inputs["rewards"])
    ends = np.arange(length) == length - 1
    walked = _walk_through_normalised(source, [{"rewards": inputs["rewards"], "terminated": ends}])
    return np.array(walked.returns)


class _RecordingAgent(torch.nn.Module):
    """An agent without parameters that records its observations."""

    def __init__(self, envs: Any) -> None:
        super().__init__()
        self.inputs: list[float] = []
        self._shape = (1, *envs.single_action_space.shape)

    def get_action_and_value(self, observation: torch.Tensor) -> Any:
        """Record the observation; return action 0 and None for all other results."""
        self.inputs.append(float(observation.reshape(())))
        return torch.zeros(self._shape), None, None, None


def _has_evaluator(source: Source) -> bool:
    return (source.root / f"{_EVALUATOR.replace('.', '/')}.py").is_file()


def _list_observations_of_evaluator(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the observations that the evaluator of a checkout passes to an agent."""
    length = len(inputs["evaluation"])
    ends = np.arange(length) == length - 1
    playback = make_script_of_observations(np.append(inputs["evaluation"], 0.0), terminated=ends)
    agents: list[_RecordingAgent] = []

    def make_recording_agent(envs: Any) -> _RecordingAgent:
        agents.append(_RecordingAgent(envs))
        return agents[-1]

    def evaluate_and_stop(run: ScriptRun) -> None:
        evaluate = importlib.import_module(_EVALUATOR).evaluate
        with (
            tempfile.TemporaryDirectory(prefix="rlregress-") as folder,
            contextlib.redirect_stdout(io.StringIO()),
        ):
            path = Path(folder) / "agent.cleanrl_model"
            torch.save({}, path)
            evaluate(
                str(path),
                run["make_env"],
                GIVEN,
                eval_episodes=1,
                run_name="run",
                Model=make_recording_agent,
                capture_video=False,
            )
        raise StopRun

    run_script(
        source.parse_script("ppo_continuous_action").path,
        make_env=lambda: Scripted(**playback),
        on_start=evaluate_and_stop,
    )
    return np.array(agents[-1].inputs)


def _normalise_observations(source: Source, observations: Any) -> np.ndarray:
    return _walk_through_normalised(
        source, [make_script_of_observations(observations)]
    ).observations[:, 0]


def _normalise_observations_in_evaluation(source: Source, inputs: Inputs) -> np.ndarray:
    if _has_evaluator(source):
        return _list_observations_of_evaluator(source, inputs)
    # there is no evaluation: returns of the training's own environments are reported
    stream = np.concatenate([inputs["training"], inputs["evaluation"]])
    return _normalise_observations(source, stream)[-len(inputs["evaluation"]) :]


def _normalise_observations_after_loading(source: Source, inputs: Inputs) -> np.ndarray:
    if _has_evaluator(source):
        return _list_observations_of_evaluator(source, inputs)
    # nothing is saved, so a user continues with a new run
    return _normalise_observations(source, inputs["evaluation"])


_MEASUREMENTS = {**normalisation.MEASUREMENTS, **normalisation_traps.MEASUREMENTS}
PROBES: Mapping[str, SourceProbe] = {
    **{id: make_probe(_walk_through_normalised, measure) for id, measure in _MEASUREMENTS.items()},
    "normalisation.reward.discount": _normalise_rewards_with_discount,
    "normalisation.episode_return": _measure_episode_return,
    "normalisation.default.off_policy": make_probe(
        partial(_walk_through_normalised, script="sac_continuous_action"),
        normalisation.measure_default_off_policy_normalisation,
    ),
    "normalisation.evaluation": _normalise_observations_in_evaluation,
    "normalisation.saved": _normalise_observations_after_loading,
}

ABSENT: Mapping[str, str] = {
    "normalisation.evaluation.same_wrapper": (
        "has no evaluator that takes a second environment and copies the statistics into it"
    ),
    "normalisation.terminal_observation": "its off-policy scripts normalise nothing",
    "normalisation.replay": "its off-policy scripts normalise nothing",
    "normalisation.fixed.epsilon": "has no normalisation with statistics that a user provides",
    "normalisation.reward_clip.one_sided": (
        "clips rewards in the script itself, with both limits written there"
    ),
}
