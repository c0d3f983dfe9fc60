"""Calls of Stable-Baselines3's classes and functions, generated from their signatures."""

from __future__ import annotations

from collections.abc import Mapping

from rlregress.probing.trace_trainings import GeneratedCalls

_CASES = "rlregress.frameworks.sb3.generated_cases"


def generated_calls() -> Mapping[str, GeneratedCalls]:
    """Title -> calls of a part of the library; of agents with every option, those of each."""
    parts = ("spaces", "numbers", "files", "layers", "distributions", "buffers", "wrappers")
    agents = ("ppo", "a2c", "sac", "td3", "ddpg", "dqn")
    return {
        **{f"ppo calls-{part}": GeneratedCalls(_CASES, part) for part in parts},
        **{f"{name} calls-agents": GeneratedCalls(_CASES, name) for name in agents},
    }
