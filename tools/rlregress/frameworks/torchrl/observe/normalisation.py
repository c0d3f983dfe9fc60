"""Probes of normalisation.

library: VecNorm, which the programs use, and the reward hook of the trainers; script: what the
PPO program's ``make_env`` puts around an environment, and the SAC program's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import (
    Compose,
    LazyTensorStorage,
    ObservationNorm,
    RewardClipping,
    RewardNormalizer,
    TensorDict,
    TensorDictReplayBuffer,
    TransformedEnv,
    VecNorm,
    VecNormV2,
)
from rlregress.frameworks.torchrl.known_networks import FixedLocScale
from rlregress.frameworks.torchrl.observe.drivers.ppo_trainings import make_gaussian_models
from rlregress.frameworks.torchrl.scripted_environments import (
    REGISTERED,
    put_side_by_side,
    register_environment,
    wrap_environment,
)
from rlregress.measurements import normalisation, normalisation_traps
from rlregress.measurements.normalisation import (
    Script,
    Walked,
    count_steps_of_script,
    make_script_of_observations,
)
from rlregress.probing.interface import Inputs, Probe, Unsupported
from rlregress.probing.scripted import Scripted, make_script_of_end_after

#: of a walk that reads observations, or rewards, alone
_NONE = np.zeros((0, 1))


def _make_transformed_environment(script: Script, *transforms: Any) -> TransformedEnv:
    """Return an environment that plays a script, wrapped in these transforms."""
    return TransformedEnv(wrap_environment(Scripted(**script)), Compose(*transforms))


def _walk_through_environment(environment: Any, steps: int) -> Walked:
    """Roll out one environment, or several side by side; return observations and rewards."""
    rollout = environment.rollout(steps, break_when_any_done=False)
    last = rollout["next", "observation"][..., -1:, :]
    observations = torch.cat([rollout["observation"], last], -2)
    tables = (observations, rollout["next", "reward"])
    # environments are the first dimension, where there are several
    shown, paid = (own.movedim(-2, 0).reshape(own.shape[-2], -1).double().numpy() for own in tables)
    return Walked(shown, paid)


def _walk_through_normalised(
    scripts: Sequence[Script], norm: Any = VecNorm, **options: Any
) -> Walked:
    """Return observations and rewards of scripted environments that ``norm`` normalises."""
    makers = [lambda own=script: wrap_environment(Scripted(**own)) for script in scripts]
    norms = [norm(in_keys=[key], **options) for key in ("observation", "reward")]
    normalised = TransformedEnv(put_side_by_side(makers), Compose(*norms))
    return _walk_through_environment(normalised, count_steps_of_script(scripts[0]))


def _pass_numbers_through_transforms(
    transforms: Sequence[Any], key: str, numbers: Any
) -> np.ndarray:
    """Return the results of transforms for a long stream of numbers, without environment."""
    passed: list[float] = []
    for number in np.asarray(numbers, dtype=np.float32):
        row = TensorDict({key: torch.tensor([number])}, [])
        for transform in transforms:
            row = transform(row)
        passed.append(float(row[key]))
    return np.array(passed)


def _make_program_environment(script: Script) -> Any:
    """Return an environment that plays a script, in the transforms of the PPO program."""
    with register_environment(partial(Scripted, **script, dtype=np.float64)) as name:
        return programs.load_program("ppo", "utils_mujoco").make_env(name)


class _RecordedGaussian(FixedLocScale):
    """A Gaussian around 0 that records the observations that it receives."""

    def __init__(self) -> None:
        super().__init__([0.0], [0.1], torch.float32)
        self.inputs: list[np.ndarray] = []

    def forward(self, observation: torch.Tensor) -> Any:
        self.inputs.append(observation.detach().double().numpy().reshape(-1))
        return super().forward(observation)


def _walk_through_ppo_program(scripts: Sequence[Script]) -> Walked:
    (script,) = scripts
    return _walk_through_environment(
        _make_program_environment(script), count_steps_of_script(script)
    )


def _pass_stream_through_transforms(transforms: Sequence[Any], scripts: Sequence[Script]) -> Walked:
    """Pass the observations of a long script through transforms alone."""
    (script,) = scripts
    numbers = [script["observations"][0], *script["next_observations"]]
    return Walked(
        _pass_numbers_through_transforms(transforms, "observation", numbers)[:, None], _NONE
    )


def _pass_stream_through_vecnorm(scripts: Sequence[Script]) -> Walked:
    return _pass_stream_through_transforms([VecNorm(in_keys=["observation"])], scripts)


def _pass_stream_through_ppo_program(scripts: Sequence[Script]) -> Walked:
    environment = _make_program_environment(make_script_of_observations([0.0, 0.0]))
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
    ends = make_script_of_end_after(length)
    environment = _make_program_environment({"rewards": inputs["rewards"], "terminated": ends})
    return float(environment.rollout(length)["next", "episode_reward"][-1])


def _walk_through_sac_program(scripts: Sequence[Script]) -> Walked:
    program, (script,) = programs.load_program("sac", "utils"), scripts
    with register_environment(partial(Scripted, **script)) as name:
        settings = SimpleNamespace(env=SimpleNamespace(library="gymnasium", name=name))
        environment = program.apply_env_transforms(program.env_maker(settings))
        return _walk_through_environment(environment, count_steps_of_script(script))


def _normalise_observations_in_evaluation(inputs: Inputs) -> np.ndarray:
    training, evaluation = inputs["training"], inputs["evaluation"]
    x = np.concatenate([training[1:], evaluation[1:]])
    before = np.concatenate([training[:-1], evaluation[:-1]])
    playback = {"observations": before, "next_observations": x}
    environment = _make_transformed_environment(playback, VecNorm(in_keys=["observation"]))
    # a transform of an environment is in the mode of evaluation from the start
    environment.train()
    _walk_through_environment(environment, len(training) - 1)
    environment.eval()
    return _walk_through_environment(environment, len(evaluation) - 1).observations[:, 0]


def _run_ppo_program_with_evaluation(inputs: Inputs) -> tuple[np.ndarray, Any]:
    """Run the PPO program with one rollout as its training, and an evaluation at its end.

    Returns:
        The observations that the actor was given in the evaluation, in order; the checkpoint that
        the program saved, or None.
    """
    ends = make_script_of_end_after(len(inputs["evaluation"]))
    playbacks = [
        make_script_of_observations(inputs["training"]),
        make_script_of_observations(np.append(inputs["evaluation"], 0.0), terminated=ends),
    ]
    program = programs.load_program("ppo", "ppo_mujoco")
    network = _RecordedGaussian()
    models = make_gaussian_models(network)
    program.make_ppo_models = lambda *arguments, **options: models[:2]
    evaluate, make = program.eval_model, program.make_env
    evaluated: list[np.ndarray] = []

    def record_evaluation(*arguments: Any, **options: Any) -> Any:
        before = len(network.inputs)
        result = evaluate(*arguments, **options)
        evaluated[:] = network.inputs[before:]
        return result

    def make_next_environment(*arguments: Any, **options: Any) -> Any:
        # the environment of the training is made first, then that of the evaluation
        with register_environment(partial(Scripted, **playbacks.pop(0), dtype=np.float64)):
            return make(*arguments, **options)

    program.eval_model, program.make_env = record_evaluation, make_next_environment
    frames = len(inputs["training"]) - 1
    with tempfile.TemporaryDirectory(prefix="rlregress-") as folder:
        path = Path(folder) / "agent.pt"
        program.main(
            programs.make_ppo_settings(
                REGISTERED, frames, frames, normalize_observation=True, path=str(path)
            )
        )
        # none until 0.13
        checkpoint = torch.load(path, weights_only=False) if path.exists() else None
    return np.concatenate(evaluated), checkpoint


def _normalise_observations_after_loading(inputs: Inputs) -> np.ndarray:
    program = programs.load_program("ppo", "utils_mujoco")
    if not hasattr(program, "make_render_env"):
        raise Unsupported("the PPO program of this version has no make_render_env")
    _, checkpoint = _run_ppo_program_with_evaluation(inputs)
    make = partial(Scripted, **make_script_of_observations(inputs["evaluation"]), dtype=np.float64)
    with register_environment(make) as name:
        checkpoint["env_name"] = name
        settings = {"checkpoint": checkpoint, "env_kwargs": {}, "from_pixels": False}
        environment = program.make_render_env(SimpleNamespace(**settings, device="cpu"))
        steps = len(inputs["evaluation"]) - 1
        return _walk_through_environment(environment, steps).observations[:, 0]


def _measure_replayed_observations(inputs: Inputs) -> torch.Tensor:
    environment = _make_transformed_environment(
        make_script_of_observations(inputs["observations"]), VecNorm(in_keys=["observation"])
    )
    steps = len(inputs["observations"]) - 1
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(steps), batch_size=2)
    buffer.extend(environment.rollout(steps))
    return buffer[torch.tensor([1, 2])]["observation"][:, 0]


def _measure_epsilon_with_fixed_statistics(inputs: Inputs) -> torch.Tensor:
    fixed = ObservationNorm(
        loc=torch.tensor([0.0]),
        scale=torch.tensor([inputs["deviation"]], dtype=torch.float32),
        in_keys=["observation"],
        standard_normal=True,
    )
    environment = _make_transformed_environment(
        make_script_of_observations([inputs["distance"], 0.0]), fixed
    )
    return environment.reset()["observation"].log10()


def _measure_one_sided_reward_clipping(inputs: Inputs) -> np.ndarray:
    try:
        clip = RewardClipping(clamp_min=inputs["low"])
    except (RuntimeError, TypeError, ValueError):
        return np.array([1.0, 0.0, 0.0])
    rewards = torch.tensor(inputs["rewards"], dtype=torch.float32)[:, None]
    clipped = clip(TensorDict({"reward": rewards}, [len(rewards)]))["reward"]
    return np.append(0.0, clipped[:, 0].numpy())


_MEASUREMENTS = normalisation.MEASUREMENTS
_DEFAULTS = ("normalisation.default", "normalisation.default.off_policy")
#: too long for an environment
_STREAMS = (
    "normalisation.observation.epsilon",
    "normalisation.observation.clip",
    "normalisation.observation.statistics",
)
#: how VecNormV2 normalises, which a warning of VecNorm recommends in its place, where a detail asks
#: for the recommended component
_RECOMMENDED: Mapping[str, Mapping[str, Any]] = {
    "normalisation.observation.early_scale": {"norm": VecNormV2},
    "normalisation.observation.large_offset": {"norm": VecNormV2, "decay": 1.0},
    "normalisation.environments": {"norm": VecNormV2, "decay": 1.0},
}
PROBES: Mapping[tuple[str, str], Probe] = {
    **{
        (id, "library"): partial(measure, _walk_through_normalised)
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
        lambda i: _pass_numbers_through_transforms(
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
        normalisation.measure_normalised_rewards, _walk_through_normalised
    ),
    ("normalisation.reward.discount", "script"): partial(
        normalisation.measure_normalised_rewards, _walk_through_ppo_program
    ),
    ("normalisation.episode_return", "script"): _measure_episode_return,
    ("normalisation.default.off_policy", "script"): partial(
        normalisation.measure_default_off_policy_normalisation, _walk_through_sac_program
    ),
    ("normalisation.evaluation", "library"): _normalise_observations_in_evaluation,
    ("normalisation.evaluation", "script"): lambda i: _run_ppo_program_with_evaluation(i)[0],
    ("normalisation.saved", "script"): _normalise_observations_after_loading,
    **{
        (id, "library"): partial(
            measure, partial(_walk_through_normalised, **_RECOMMENDED.get(id, {}))
        )
        for id, measure in normalisation_traps.MEASUREMENTS.items()
    },
    ("normalisation.replay", "library"): _measure_replayed_observations,
    ("normalisation.fixed.epsilon", "library"): _measure_epsilon_with_fixed_statistics,
    ("normalisation.reward_clip.one_sided", "library"): _measure_one_sided_reward_clipping,
}

ABSENT: Mapping[str, str] = {
    "normalisation.terminal_observation": (
        "stores observations as the agent was given them and brings none back to the "
        "environment's units"
    ),
    "normalisation.evaluation.same_wrapper": (
        "has no evaluator that is handed a second environment and fits its statistics"
    ),
}
