"""Calls of TorchRL's classes and functions, generated from trainings and signatures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

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


def _vary_options(trainings: Mapping[str, TraceTraining], *packages: str) -> OptionTrainings:
    return OptionTrainings(trainings, [f"torchrl.{package}" for package in packages])


def _select(titles: str) -> dict[str, TraceTraining]:
    """Return short trainings by title; the titles are separated by commas."""
    return {title: partial(TRAININGS[title], steps=72) for title in titles.split(", ")}


def generated_calls() -> Mapping[str, TraceTraining]:
    """Return title -> trainings with each option, and calls of code that no training executes."""
    return {
        "ppo calls-environments": _vary_options(short_trainings.environments(), "envs"),
        "ppo calls-transforms": _vary_options(short_trainings.transforms(), "envs.transforms"),
        "ppo calls-collectors": _vary_options(short_trainings.collectors(), "collectors"),
        "ppo calls-hooks": _vary_options(short_trainings.hooks(), "trainers.trainers"),
        "ppo calls-trainers": _vary_options(short_trainings.algorithms(), "trainers.algorithms"),
        # without options: each would start processes again
        "dqn calls-processes": _vary_options(short_trainings.processes()),
        "sac calls-buffers": _vary_options(
            {**_select("sac slices, sac delayed-actor, dqn prioritised, td3 n-step-of-two"),
             **module_trainings.buffers()}, "data"),
        "sac calls-noise": _vary_options(
            {**_select("sac vectorised-noise, td3 one-environment, dqn one-environment"),
             **module_trainings.noise()}, "modules.tensordict_module.exploration"),
        "dqn calls-networks": _vary_options(
            {**_select("dqn dueling, dqn distributional, ddpg one-point, a2c v-trace"),
             **module_trainings.networks()}, "modules.models", "modules.tensordict_module"),
        **{
            f"{algorithm} calls-{part.lower()}": GeneratedCalls(_CASES, part)
            for algorithm, parts in _PARTS.items()
            for part in parts
        },
    }  # fmt: skip
