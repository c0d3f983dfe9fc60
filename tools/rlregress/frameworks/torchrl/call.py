"""Calls of TorchRL's classes and functions, generated from trainings and signatures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from rlregress.frameworks.torchrl import module_trainings, short_trainings
from rlregress.frameworks.torchrl.train.builtin_trainings import TRAININGS
from rlregress.probing.interface import TraceTraining
from rlregress.probing.option_trainings import OptionTrainings
from rlregress.probing.trace_trainings import GeneratedCalls

_CASES = "rlregress.frameworks.torchrl.generated_cases"
#: the algorithm with which they are made -> parts of the library that no training reaches
_PARTS = {
    "ppo": ("PPOLoss", "ClipPPOLoss", "KLPENPPOLoss", "A2CLoss", "ReinforceLoss", "LossModule",
            "GAE", "MultiAgentGAE", "TD0Estimator", "TD1Estimator", "TDLambdaEstimator", "VTrace",
            "returns", "recurrent"),
    "sac": ("SACLoss", "DiscreteSACLoss", "TD3Loss", "DDPGLoss", "DQNLoss", "DistributionalDQNLoss",
            "distributions", "helpers"),
}  # fmt: skip


def _make_option_trainings(
    trainings: Mapping[str, TraceTraining], *torchrl_subpackages: str
) -> OptionTrainings:
    return OptionTrainings(trainings, [f"torchrl.{name}" for name in torchrl_subpackages])


def _shorten_builtin_trainings(comma_separated_titles: str) -> dict[str, TraceTraining]:
    """Return the built-in trainings of these titles, cut to 72 steps."""
    trainings: Mapping[str, Any] = TRAININGS
    return {
        title: partial(trainings[title], steps=72) for title in comma_separated_titles.split(", ")
    }


def list_generated_calls() -> Mapping[str, TraceTraining]:
    """Return title -> trainings with each option, and calls of code that no training executes."""
    return {
        "ppo calls-environments": _make_option_trainings(
            short_trainings.make_environment_trainings(), "envs"),
        "ppo calls-transforms": _make_option_trainings(
            short_trainings.make_transform_trainings(), "envs.transforms"),
        "ppo calls-collectors": _make_option_trainings(
            short_trainings.make_collector_trainings(), "collectors"),
        "ppo calls-hooks": _make_option_trainings(
            short_trainings.make_hook_trainings(), "trainers.trainers"),
        "ppo calls-trainers": _make_option_trainings(
            short_trainings.make_algorithm_trainings(), "trainers.algorithms"),
        # without options: each would start processes again
        "dqn calls-processes": _make_option_trainings(short_trainings.make_process_trainings()),
        "sac calls-buffers": _make_option_trainings(
            {**_shorten_builtin_trainings(
                "sac slices, sac delayed-actor, dqn prioritised, td3 n-step-of-two"),
             **module_trainings.make_buffer_trainings()}, "data"),
        "sac calls-noise": _make_option_trainings(
            {**_shorten_builtin_trainings(
                "sac vectorised-noise, td3 one-environment, dqn one-environment"),
             **module_trainings.make_noise_trainings()}, "modules.tensordict_module.exploration"),
        "dqn calls-networks": _make_option_trainings(
            {**_shorten_builtin_trainings(
                "dqn dueling, dqn distributional, ddpg one-point, a2c v-trace"),
             **module_trainings.make_network_trainings()}, "modules.models",
             "modules.tensordict_module"),
        **{
            f"{algorithm} calls-{part.lower()}": GeneratedCalls(_CASES, part)
            for algorithm, parts in _PARTS.items()
            for part in parts
        },
    }  # fmt: skip
