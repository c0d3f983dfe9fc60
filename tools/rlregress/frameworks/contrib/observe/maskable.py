"""Probes of MaskablePPO: its own policy, ``learn``, ``predict`` and evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.distributions import make_masked_proba_distribution
from sb3_contrib.common.maskable.evaluation import evaluate_policy

from rlregress.frameworks.contrib.observe.helpers.on_policy_classes import MaskedEnvironment
from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.observe.drivers import probe_agents
from rlregress.measurements.loss_minimum import require_one_number
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.journal import run_and_record_steps
from rlregress.probing.layers import make_output_constant

_ROWS = 64
#: beyond what rounding leaves of a gradient that is none
_NONE = 1e-4


def _make_agent(logits: Sequence[float], allowed: Sequence[float]) -> Any:
    agent = probe_agents.make_agent(
        MaskablePPO, MaskedEnvironment(allowed), n_steps=_ROWS, batch_size=_ROWS, n_epochs=1
    )
    make_output_constant(agent.policy.action_net, logits)
    return agent


def _make_agent_with_masked_logits(inputs: Inputs) -> Any:
    return _make_agent(inputs["logits"], inputs["allowed"])


def _measure_probabilities(inputs: Inputs) -> np.ndarray:
    mask = inputs["allowed"].astype(bool)
    with torch.no_grad():
        law = _make_agent_with_masked_logits(inputs).policy.get_distribution(
            torch.zeros(1, 1), action_masks=mask
        )
    logits = torch.as_tensor(np.tile(inputs["logits"], 2)[None])
    space = gyms.spaces.MultiDiscrete([len(mask)] * 2)
    both = make_masked_proba_distribution(space).proba_distribution(logits)
    probabilities = [law.distribution.probs[0].numpy()]
    for masks in (np.concatenate([np.ones_like(mask), mask]), None):
        both.apply_masking(masks)
        probabilities.append(both.distributions[1].probs[0].numpy())
    return np.concatenate(probabilities)


def _measure_entropy(inputs: Inputs) -> np.ndarray:
    mask = torch.as_tensor(inputs["allowed"][None] > 0.0)
    first = torch.zeros(1, dtype=torch.long)
    with torch.no_grad():
        _, _, entropy = _make_agent_with_masked_logits(inputs).policy.evaluate_actions(
            torch.zeros(1, 1), first, mask
        )
    return entropy.numpy()


def _measure_use_of_masks_in_update(inputs: Inputs) -> list[float]:
    agent = _make_agent([0.0, 0.0, inputs["logit"]], [1.0, 1.0, 0.0])
    gradients: list[float] = []

    def note_gradient_at_step(_: str) -> None:
        gradients.append(float(agent.policy.action_net.bias.grad[2]))

    optimizers = {"policy": agent.policy.optimizer}
    run_and_record_steps(partial(agent.learn, _ROWS), optimizers, note_gradient_at_step)
    is_chosen = bool(np.any(agent.rollout_buffer.actions == 2))
    return [is_chosen, abs(require_one_number(gradients)) > _NONE]


def _measure_use_of_masks_in_predict(inputs: Inputs) -> list[float]:
    agent = _make_agent_with_masked_logits(inputs)
    observation, mask = np.zeros(1, dtype=np.float32), inputs["allowed"].astype(bool)
    actions = [
        float(agent.predict(observation, deterministic=True, **options)[0])
        for options in ({"action_masks": mask}, {})
    ]
    environment = MaskedEnvironment(inputs["allowed"], terminated=1.0)
    evaluate_policy(agent, environment, n_eval_episodes=1, warn=False)
    return [*actions, float(environment.received[0])]


PROBES: Mapping[str, Probe] = {
    "maskable.probabilities": _measure_probabilities,
    "maskable.entropy": _measure_entropy,
    "maskable.update": _measure_use_of_masks_in_update,
    "maskable.predict": _measure_use_of_masks_in_predict,
}
