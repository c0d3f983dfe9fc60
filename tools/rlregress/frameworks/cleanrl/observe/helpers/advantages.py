"""The advantages of ``ppo_continuous_action.py``, of a rollout that a probe chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.helpers.rollouts import SCRIPT
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.slices import SliceResult, run_slice_up_to_anchor
from rlregress.frameworks.cleanrl.stubs import (
    CPU,
    Stub,
    make_arguments_of_script,
    make_spaces_of_environments,
)
from rlregress.probing.interface import Inputs


class _ScriptedValues:
    """One environment whose observation before step t is the number values[t].

    It is reset within the last step of an episode, so that this step shows the observation of the
    next one; the true last observation, next_values[t], is in the infos alone.
    """

    def __init__(self, inputs: Inputs, four_values: bool) -> None:
        self._inputs = inputs
        self._four_values = four_values
        self._t = 0

    def reset(self, **_: Any) -> Any:
        """Return the observation before step 0."""
        first = np.full((1, 1), self._inputs["values"][0], dtype=np.float32)
        return torch.as_tensor(first) if self._four_values else (first, {})

    def step(self, _: Any) -> Any:
        """Return the result of step t, with the reward and the ends that the inputs have for it."""
        i, t = self._inputs, self._t
        self._t += 1
        terminated, truncated = bool(i["terminated"][t]), bool(i["truncated"][t])
        is_over = terminated or truncated
        last = np.array([i["next_values"][t]], dtype=np.float32)
        following = i["values"][t + 1] if t + 1 < len(i["values"]) else i["next_values"][t]
        observation = np.full((1, 1), following, dtype=np.float32)
        reward = float(i["rewards"][t])
        if self._four_values:
            info = {"TimeLimit.truncated": truncated, "terminal_observation": last}
            infos = [info if is_over else {}]
            return (
                torch.as_tensor(observation),
                torch.tensor([[reward]]),
                np.array([is_over]),
                infos,
            )
        finals = np.empty(1, dtype=object)
        finals[0] = last
        about = {"final_observation": finals, "_final_observation": np.array([True])}
        flags = np.array([terminated]), np.array([truncated])
        return (observation, np.array([reward]), *flags, about if is_over else {})


def _run_rollout_and_advantages(source: Source, inputs: Inputs) -> SliceResult:
    """Run the script's rollout on the steps of ``inputs``, then its computation of advantages."""
    script = source.parse_script(SCRIPT)
    box = make_spaces_of_environments(-1.0, 1.0, 1)
    four_values = "gymnasium" not in script.imports
    showing = _ScriptedValues(inputs, four_values)
    envs = Stub(step=showing.step, reset=showing.reset, **vars(box))
    zero = torch.zeros(1)
    agent = Stub(
        get_value=lambda x: x,
        get_action=lambda x, action=None: (torch.zeros(1, 1), zero, zero),
        get_action_and_value=lambda x, action=None: (torch.zeros(1, 1), zero, zero, x),
    )
    args = make_arguments_of_script(
        script,
        num_steps=len(inputs["rewards"]),
        gamma=float(inputs["discount"]),
        gae_lambda=float(inputs["trace"]),
    )
    variables = {"args": args, "device": CPU, "envs": envs, "agent": agent, "writer": None}
    return run_slice_up_to_anchor(
        script.find_statement_binding("returns", "returns"), variables, used=("envs", "agent")
    )


def measure_advantages(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the advantages that the script computes for the steps of ``inputs``."""
    return _run_rollout_and_advantages(source, inputs).get_vector("advantages").reshape(-1)


def measure_value_targets(source: Source, inputs: Inputs) -> np.ndarray:
    """Return the value targets that the script computes for the steps of ``inputs``."""
    return _run_rollout_and_advantages(source, inputs).get_vector("returns").reshape(-1)
