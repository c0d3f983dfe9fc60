"""Probes of normalisation.

library: VecNorm, which the programs use, and the reward hook of the trainers; script: what the
PPO program's ``make_env`` puts around an environment, and the SAC program's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import RewardNormalizer, TensorDict, VecNorm
from rlregress.frameworks.torchrl.observe.helpers.normalised_environments import (
    EvaluatedProgramRun,
    make_program_environment,
    make_transformed_environment,
    pass_numbers_through_transforms,
    walk_through_environment,
    walk_through_normalised,
)
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.frameworks.torchrl.scripted_environments import register_environment
from rlregress.measurements import normalisation
from rlregress.measurements.normalisation import (
    Script,
    Walked,
    count_steps_of_script,
    make_script_of_observations,
)
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import Scripted

#: of a walk that reads observations, or rewards, alone
_NONE = np.zeros((0, 1))


def _walk_through_ppo_program(scripts: Sequence[Script]) -> Walked:
    (script,) = scripts
    return walk_through_environment(make_program_environment(script), count_steps_of_script(script))


def _pass_stream_through_transforms(transforms: Sequence[Any], scripts: Sequence[Script]) -> Walked:
    """Pass the observations of a long script through transforms alone."""
    (script,) = scripts
    numbers = [script["observations"][0], *script["next_observations"]]
    return Walked(
        pass_numbers_through_transforms(transforms, "observation", numbers)[:, None], _NONE
    )


def _pass_stream_through_vecnorm(scripts: Sequence[Script]) -> Walked:
    return _pass_stream_through_transforms([VecNorm(in_keys=["observation"])], scripts)


def _pass_stream_through_ppo_program(scripts: Sequence[Script]) -> Walked:
    environment = make_program_environment(make_script_of_observations([0.0, 0.0]))
    return _pass_stream_through_transforms(
        [t for t in environment.transform if "observation" in t.in_keys], scripts
    )


def _normalise_rewards_by_trainer_hook(scripts: Sequence[Script]) -> Walked:
    normaliser, normalised = RewardNormalizer(), []
    for reward in scripts[0]["rewards"]:
        batch = TensorDict({"next": {"reward": torch.tensor([[reward]])}}, [1])
        normaliser.update_reward_stats(batch)
        normalised.append([float(normaliser.normalize_reward(batch)["next", "reward"])])
    return Walked(_NONE, np.array(normalised))


def _measure_episode_return(inputs: Inputs) -> float:
    length = len(inputs["rewards"])
    ends = np.arange(length) == length - 1
    environment = make_program_environment({"rewards": inputs["rewards"], "terminated": ends})
    return float(environment.rollout(length)["next", "episode_reward"][-1])


def _walk_through_sac_program(scripts: Sequence[Script]) -> Walked:
    program, (script,) = programs.load_program("sac", "utils"), scripts
    with register_environment(partial(Scripted, **script)) as name:
        settings = SimpleNamespace(env=SimpleNamespace(library="gymnasium", name=name))
        environment = program.apply_env_transforms(program.env_maker(settings))
        return walk_through_environment(environment, count_steps_of_script(script))


def _normalise_observations_in_evaluation(inputs: Inputs) -> np.ndarray:
    training, evaluation = inputs["training"], inputs["evaluation"]
    x = np.concatenate([training[1:], evaluation[1:]])
    before = np.concatenate([training[:-1], evaluation[:-1]])
    playback = {"observations": before, "next_observations": x}
    environment = make_transformed_environment(playback, VecNorm(in_keys=["observation"]))
    # a transform of an environment is in the mode of evaluation from the start
    environment.train()
    walk_through_environment(environment, len(training) - 1)
    environment.eval()
    return walk_through_environment(environment, len(evaluation) - 1).observations[:, 0]


def _run_ppo_program_with_evaluation(inputs: Inputs) -> EvaluatedProgramRun:
    length = len(inputs["evaluation"])
    ends = np.arange(length) == length - 1
    return EvaluatedProgramRun(
        inputs["training"],
        make_script_of_observations(np.append(inputs["evaluation"], 0.0), terminated=ends),
    )


def _normalise_observations_after_loading(inputs: Inputs) -> np.ndarray:
    program = programs.load_program("ppo", "utils_mujoco")
    programs.find_first_name_in_program(program, "make_render_env")
    checkpoint: Any = _run_ppo_program_with_evaluation(inputs).checkpoint
    make = partial(Scripted, **make_script_of_observations(inputs["evaluation"]), dtype=np.float64)
    with register_environment(make) as name:
        checkpoint["env_name"] = name
        spec = SimpleNamespace(
            checkpoint=checkpoint, env_kwargs={}, device="cpu", from_pixels=False
        )
        walked = walk_through_environment(
            program.make_render_env(spec), len(inputs["evaluation"]) - 1
        )
        return walked.observations[:, 0]


_MEASUREMENTS = normalisation.MEASUREMENTS
_DEFAULTS = ("normalisation.default", "normalisation.default.off_policy")
#: too long for an environment
_STREAMS = (
    "normalisation.observation.epsilon",
    "normalisation.observation.clip",
    "normalisation.observation.statistics",
)
PROBES: Mapping[tuple[str, str], Raw] = {
    **{
        (id, "library"): partial(measure, walk_through_normalised)
        for id, measure in normalisation.MEASUREMENTS.items()
        if id not in ("normalisation.order", *_DEFAULTS)
    },
    **{
        (id, "script"): partial(measure, _walk_through_ppo_program)
        for id, measure in normalisation.MEASUREMENTS.items()
    },
    **{
        (id, "library"): partial(_MEASUREMENTS[id], _pass_stream_through_vecnorm) for id in _STREAMS
    },
    **{
        (id, "script"): partial(_MEASUREMENTS[id], _pass_stream_through_ppo_program)
        for id in _STREAMS
    },
    ("normalisation.reward", "trainer"): partial(
        normalisation.measure_normalised_rewards, _normalise_rewards_by_trainer_hook
    ),
    ("normalisation.reward.clip", "library"): (
        lambda i: pass_numbers_through_transforms(
            [VecNorm(in_keys=["reward"])], "reward", i["rewards"]
        )[-2:]
    ),
    # the end alone: the environment scales no rewards
    ("normalisation.reward.clip", "script"): (
        lambda i: normalisation.measure_last_rewards(
            _walk_through_ppo_program, {"rewards": i["rewards"][-4:]}
        )
    ),
    ("normalisation.reward.discount", "library"): partial(
        normalisation.measure_normalised_rewards, walk_through_normalised
    ),
    ("normalisation.reward.discount", "script"): partial(
        normalisation.measure_normalised_rewards, _walk_through_ppo_program
    ),
    ("normalisation.episode_return", "script"): _measure_episode_return,
    ("normalisation.default.off_policy", "script"): partial(
        normalisation.measure_default_off_policy_normalisation, _walk_through_sac_program
    ),
    ("normalisation.evaluation", "library"): _normalise_observations_in_evaluation,
    ("normalisation.evaluation", "script"): lambda i: _run_ppo_program_with_evaluation(i).evaluated,
    ("normalisation.saved", "script"): _normalise_observations_after_loading,
}

ABSENT: Mapping[str, str] = {
    "normalisation.evaluation.same_wrapper": (
        "has no evaluator that is handed a second environment and fits its statistics"
    ),
}
