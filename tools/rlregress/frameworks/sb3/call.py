"""Calls of Stable-Baselines3's classes and functions, generated from trainings and signatures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rlregress.frameworks.sb3.train.builtin_trainings import TRAININGS
from rlregress.probing.interface import TraceTraining
from rlregress.probing.option_trainings import OptionTrainings
from rlregress.probing.trace_trainings import GeneratedCalls

_CASES = "rlregress.frameworks.sb3.generated_cases"


def _make_option_trainings(titles: str, *packages: str) -> OptionTrainings:
    """Return short trainings, and each again with its options changed.

    Args:
        titles: titles of the trainings, separated by commas.
        packages: names below ``stable_baselines3``, with a dot, whose options are changed.
    """
    named: dict[str, Any] = {title: TRAININGS[title] for title in titles.split(", ")}
    short = {title: replace(training, steps=24) for title, training in named.items()}
    return OptionTrainings(short, [f"stable_baselines3{package}" for package in packages])


def list_generated_calls() -> Mapping[str, TraceTraining]:
    """Return title -> trainings with each option, and calls of code that no training executes."""
    parts = ("spaces", "numbers", "files", "layers", "distributions", "buffers")
    return {
        "ppo calls-options": _make_option_trainings(
            "ppo normalised, ppo callbacks, ppo monitored, ppo gsde, "
                                      "ppo transposed, ppo made-by-name", ""),
        "a2c calls-options": _make_option_trainings("a2c rmsprop, a2c gsde", ".a2c",
        ".common.sb2_compat"),
        "sac calls-options": _make_option_trainings("sac saved, sac gsde, sac goals", ".sac",
        ".her",
                                      ".common.off_policy_algorithm", ".common.buffers",
                                      ".common.distributions", ".common.monitor"),
        "td3 calls-options": _make_option_trainings("td3 one-environment, td3 vectorised-noise",
        ".td3",
                                      ".common.noise"),
        "ddpg calls-options": _make_option_trainings("ddpg vectorised-noise", ".ddpg"),
        "dqn calls-options": _make_option_trainings("dqn one-environment", ".dqn"),
        **{f"ppo calls-{part}": GeneratedCalls(_CASES, part) for part in parts},
    }  # fmt: skip
