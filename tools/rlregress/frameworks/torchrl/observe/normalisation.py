"""Probes of normalisation.

library: VecNorm, which the programs use, and the reward hook of the trainers; script: what the
PPO program's ``make_env`` puts around an environment, and the SAC program's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import RewardNormalizer, TensorDict, VecNorm
from rlregress.frameworks.torchrl.observe.helpers.normalised_environments import (
    Trained,
    make_script_environment,
    rewards,
    showing,
    through,
    transformed,
    walk,
)
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.frameworks.torchrl.scripted_environments import registered
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import Scripted


def _library(observations: Any) -> np.ndarray:
    environment = transformed(showing(observations), VecNorm(in_keys=["observation"]))
    return walk(environment, len(observations) - 1)


def _script(observations: Any) -> np.ndarray:
    return walk(make_script_environment(showing(observations)), len(observations) - 1)


def _stream(observations: Any) -> np.ndarray:
    return through([VecNorm(in_keys=["observation"])], "observation", observations)


def _script_stream(observations: Any) -> np.ndarray:
    environment = make_script_environment(showing([0.0, 0.0]))
    ours = [t for t in environment.transform if "observation" in t.in_keys]
    return through(ours, "observation", observations)


def _still(i: Inputs) -> np.ndarray:
    return np.append(np.zeros(int(i["still"])), i["last"])


def _paying(i: Inputs) -> dict[str, Any]:
    ends = {key: i[key] for key in ("terminated", "truncated") if key in i}
    return {"rewards": i["rewards"], **ends}


def _rewards(i: Inputs) -> np.ndarray:
    environment = transformed(_paying(i), VecNorm(in_keys=["reward"]))
    return rewards(environment, len(i["rewards"]))


def _script_rewards(i: Inputs) -> np.ndarray:
    return rewards(make_script_environment(_paying(i)), len(i["rewards"]))


def _trainer_rewards(i: Inputs) -> np.ndarray:
    normaliser = RewardNormalizer()
    normalised = []
    for reward in i["rewards"]:
        batch = TensorDict({"next": {"reward": torch.tensor([[reward]])}}, [1])
        normaliser.update_reward_stats(batch)
        normalised.append(float(normaliser.normalize_reward(batch)["next", "reward"]))
    return np.array(normalised)


def _long(i: Inputs) -> dict[str, Any]:
    """Only the end of a long list of rewards, for an environment that scales none."""
    return {"rewards": i["rewards"][-4:]}


def _episode_return(i: Inputs) -> float:
    length = len(i["rewards"])
    ends = np.arange(length) == length - 1
    environment = make_script_environment({"rewards": i["rewards"], "terminated": ends})
    return float(environment.rollout(length)["next", "episode_reward"][-1])


def _default(i: Inputs) -> np.ndarray:
    x = np.append(0.0, i["observations"])
    rollout = make_script_environment(showing(x, rewards=i["rewards"])).rollout(len(x) - 1)["next"]
    observed = [rollout[key][[3, -1], 0] for key in ("observation", "reward")]
    return torch.cat(observed).double().numpy()


def _default_off_policy(i: Inputs) -> np.ndarray:
    program = programs.load("sac", "utils")
    x = np.append(0.0, i["observations"])
    with registered(partial(Scripted, **showing(x, rewards=i["rewards"]))) as name:
        settings = SimpleNamespace(env=SimpleNamespace(library="gymnasium", name=name))
        environment = program.apply_env_transforms(program.env_maker(settings))
        rollout = environment.rollout(len(x) - 1)["next"]
    observed = [rollout[key][[-2, -1], 0] for key in ("observation", "reward")]
    return torch.cat(observed).double().numpy()


def _evaluation(i: Inputs) -> np.ndarray:
    training, evaluation = i["training"], i["evaluation"]
    x = np.concatenate([training[1:], evaluation[1:]])
    before = np.concatenate([training[:-1], evaluation[:-1]])
    playback = {"observations": before, "next_observations": x}
    environment = transformed(playback, VecNorm(in_keys=["observation"]))
    # a transform of an environment is in the mode of evaluation from the start
    environment.train()
    walk(environment, len(training) - 1)
    environment.eval()
    return walk(environment, len(evaluation) - 1)


def _trained(i: Inputs) -> Trained:
    length = len(i["evaluation"])
    ends = np.arange(length) == length - 1
    return Trained(i["training"], showing(np.append(i["evaluation"], 0.0), terminated=ends))


def _saved(i: Inputs) -> np.ndarray:
    program = programs.load("ppo", "utils_mujoco")
    programs.part(program, "make_render_env")
    checkpoint: Any = _trained(i).checkpoint
    make = partial(Scripted, **showing(i["evaluation"]), dtype=np.float64)
    with registered(make) as name:
        checkpoint["env_name"] = name
        spec = SimpleNamespace(
            checkpoint=checkpoint, env_kwargs={}, device="cpu", from_pixels=False
        )
        return walk(program.make_render_env(spec), len(i["evaluation"]) - 1)


PROBES: Mapping[tuple[str, str], Raw] = {
    ("normalisation.observation", "library"): lambda i: _library(i["observations"])[1:],
    ("normalisation.observation", "script"): lambda i: _script(i["observations"])[1:],
    ("normalisation.observation.epsilon", "library"): lambda i: _stream(_still(i))[-1],
    ("normalisation.observation.epsilon", "script"): lambda i: _script_stream(_still(i))[-1],
    ("normalisation.observation.clip", "library"): (lambda i: _stream(i["observations"])[-2:]),
    ("normalisation.observation.clip", "script"): (
        lambda i: _script_stream(i["observations"])[-2:]
    ),
    ("normalisation.observation.statistics", "library"): (
        lambda i: _stream(i["observations"])[[0, 1, 2, 50, 199]]
    ),
    ("normalisation.observation.statistics", "script"): (
        lambda i: _script_stream(i["observations"])[[0, 1, 2, 50, 199]]
    ),
    ("normalisation.order", "script"): lambda i: _script(i["observations"])[1:],
    ("normalisation.reward", "library"): lambda i: _rewards(i)[1:],
    ("normalisation.reward", "trainer"): lambda i: _trainer_rewards(i)[1:],
    ("normalisation.reward", "script"): lambda i: _script_rewards(i)[1:],
    ("normalisation.reward.reset", "library"): lambda i: _rewards(i)[1:],
    ("normalisation.reward.reset", "script"): lambda i: _script_rewards(i)[1:],
    ("normalisation.reward.clip", "library"): (
        lambda i: through([VecNorm(in_keys=["reward"])], "reward", i["rewards"])[-2:]
    ),
    ("normalisation.reward.clip", "script"): lambda i: _script_rewards(_long(i))[-2:],
    ("normalisation.reward.first", "library"): lambda i: _rewards(i)[:1],
    ("normalisation.reward.first", "script"): lambda i: _script_rewards(i)[:1],
    ("normalisation.reward.discount", "library"): lambda i: _rewards(i)[1:],
    ("normalisation.reward.discount", "script"): lambda i: _script_rewards(i)[1:],
    ("normalisation.episode_return", "script"): _episode_return,
    ("normalisation.default", "script"): _default,
    ("normalisation.default.off_policy", "script"): _default_off_policy,
    ("normalisation.evaluation", "library"): _evaluation,
    ("normalisation.evaluation", "script"): lambda i: _trained(i).evaluated,
    ("normalisation.saved", "script"): _saved,
}

ABSENT: Mapping[str, str] = {
    "normalisation.evaluation.same_wrapper": (
        "has no evaluator that is handed a second environment and fits its statistics"
    ),
}
