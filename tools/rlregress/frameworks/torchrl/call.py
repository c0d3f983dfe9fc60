"""Calls of TorchRL's classes and functions, generated from their signatures."""

from __future__ import annotations

from collections.abc import Mapping

from rlregress.probing.trace_trainings import GeneratedCalls

_CASES = "rlregress.frameworks.torchrl.generated_cases"
#: the algorithm with which they are made -> parts of the library
_PARTS = {
    "ppo": ("PPOLoss", "ClipPPOLoss", "KLPENPPOLoss", "A2CLoss", "ReinforceLoss", "LossModule",
            "GAE", "MultiAgentGAE", "TD0Estimator", "TD1Estimator", "TDLambdaEstimator", "VTrace",
            "returns", "recurrent"),
    "sac": ("SACLoss", "DiscreteSACLoss", "TD3Loss", "DDPGLoss", "DQNLoss", "DistributionalDQNLoss",
            "distributions", "noise", "helpers", "networks"),
    "dqn": ("buffers", "samplers", "environments", "transforms", "collectors", "processes"),
    "td3": ("trainers", "hooks", "steppers", "algorithms", "configurations"),
}  # fmt: skip


def generated_calls() -> Mapping[str, GeneratedCalls]:
    """Title -> calls of a part of the library."""
    return {
        f"{algorithm} calls-{part.lower()}": GeneratedCalls(_CASES, part)
        for algorithm, parts in _PARTS.items()
        for part in parts
    }
