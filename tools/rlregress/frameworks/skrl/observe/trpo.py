"""Probes of TRPO: its own ``update`` on a rollout of known actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import AgentSetup, Layers
from rlregress.frameworks.skrl.observe.drivers import instantiated
from rlregress.measurements import trpo
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.journal import run_and_record_steps
from rlregress.probing.layers import find_last_linear_layer
from rlregress.probing.scripted import Scripted


def _run_update_and_read_policy(
    actions: Sequence[float],
    advantages: Sequence[float],
    bound: float | None = None,
    damping: float | None = None,
) -> tuple[float, float]:
    """Update a policy of mean 0 and deviation 1; return its new mean and log deviation."""
    count = len(actions)
    settings: dict[str, Any] = {"max_kl_divergence": bound, "damping": damping}
    training = AgentSetup(
        "trpo",
        # observations of 0: of the layer of the mean the bias alone counts
        Scripted(observations=0.0, next_observations=0.0),
        rows=count,
        layers=Layers(sizes=()),
        rollouts=count,
        learning_epochs=1,
        mini_batches=1,
        **{name: value for name, value in settings.items() if value is not None},
    )
    policy = training.models["policy"]
    fill_parameters(policy.parameters(), 0.0)
    sampling = compat.name_method_that_samples(training.agent)
    sample = getattr(training.memory, sampling)
    numbers = torch.tensor(np.array(actions), dtype=torch.float32)[:, None]

    def change_and_sample(*arguments: Any, **keywords: Any) -> Any:
        called = instantiated.make_act_function(policy, numbers)
        with torch.no_grad():
            training.read_stored_tensor("log_prob")[:, 0] = compat.read_log_prob(
                called(torch.zeros(count, 1))
            )
        training.read_stored_tensor("actions")[:, 0] = numbers
        training.read_stored_tensor("advantages")[:, 0, 0] = torch.as_tensor(
            advantages, dtype=torch.float32
        )
        return sample(*arguments, **keywords)

    setattr(training.memory, sampling, change_and_sample)
    training.run_steps(count)
    return float(find_last_linear_layer(policy).bias.detach()), float(policy.log_std.detach())


def _measure_critic_updates(inputs: Inputs) -> float:
    rows = 2 * int(inputs["batch_size"])
    training = AgentSetup("trpo", rows=rows, rollouts=rows)
    journal = run_and_record_steps(partial(training.run_steps, rows), training.optimizers)
    return len(journal.losses["critic"]) / 2


PROBES: Mapping[str, Probe] = {
    **{
        id: partial(measure, _run_update_and_read_policy)
        for id, measure in trpo.MEASUREMENTS.items()
    },
    "trpo.critic_updates": _measure_critic_updates,
}
