"""Probes of the advantages of ``ppo_continuous_action.py``, of a rollout that a probe chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.helpers.ppo_trainings import (
    call_before_update,
    remove_wrappers,
    run_ppo,
)
from rlregress.frameworks.cleanrl.running import ScriptRun, StopRun
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import Scripted


def run_rollout_with_values(
    source: Source,
    steps: int,
    environment: Scripted,
    compute_values: Callable[[torch.Tensor], torch.Tensor],
    **flags: float,
) -> ScriptRun:
    """Run one rollout up to its update; return the run, among its variables the advantages.

    Args:
        environment: without the script's wrappers.
        compute_values: observations [n, 1] -> what the value network outputs, [n, 1].
    """

    def stop_script() -> None:
        raise StopRun

    def replace_value_network(run: ScriptRun) -> None:
        remove_wrappers(run)
        run["agent"].critic.forward = compute_values
        call_before_update(run, stop_script)

    return run_ppo(
        source,
        {"total_timesteps": steps, "num_steps": steps, **flags},
        make_env=lambda: environment,
        on_start=replace_value_network,
    )


def read_float64_vector(run: ScriptRun, name: str) -> np.ndarray:
    """Return a tensor of the script as an array [elements], float64."""
    return run[name].detach().numpy().astype(np.float64).reshape(-1)


def _run_rollout_of_inputs(source: Source, inputs: Inputs) -> ScriptRun:
    """Run the script on the steps of ``inputs``; the value of an observation is the observation."""
    # A reset within step t gives values[t + 1]: only the infos show next_values[t]. After the
    # last step the next observation is next_values[-1] in any case.
    environment = Scripted(
        observations=np.append(inputs["values"], inputs["next_values"][-1]),
        next_observations=inputs["next_values"],
        rewards=inputs["rewards"],
        terminated=inputs["terminated"],
        truncated=inputs["truncated"],
    )
    rates = {"gamma": float(inputs["discount"]), "gae_lambda": float(inputs["trace"])}
    return run_rollout_with_values(
        source, len(inputs["rewards"]), environment, lambda observations: observations, **rates
    )


def measure_advantages(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the advantages that the script computes for the steps of ``inputs``."""
    return read_float64_vector(_run_rollout_of_inputs(source, inputs), "advantages")


def measure_value_targets(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the value targets that the script computes for the steps of ``inputs``."""
    return read_float64_vector(_run_rollout_of_inputs(source, inputs), "returns")


PROBES: dict[str, Callable[[Source, Inputs], Any]] = {
    "gae.truncation": measure_advantages,
    "gae.value_target": measure_value_targets,
}
