"""Probes of policies with memory: their own rollouts and updates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import Vectorised
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.measurements import recurrent
from rlregress.measurements.recurrent import Record, Rollout, Settings
from rlregress.probing.interface import Probe
from rlregress.probing.scripted import Scripted


def _zero_recurrent_parameters(agent: Any, name: str) -> None:
    """Set the parameters of the recurrent layers of "actor" or "critic" to 0."""
    with torch.no_grad():
        for parameter in compat.find_recurrent_layers(agent, name).parameters():
            parameter.zero_()


def _train_with_settings(memory: str, settings: Settings) -> Record:
    """Train PPO with a "gru" or "lstm" and these settings; return the record."""
    record = Record()
    agents = []

    def prepare_agent(agent: Any) -> None:
        agents.append(agent)
        trainings.magnify_last_layers(agent)
        if settings.constant:
            compat.fix_network_output(agent, "critic", 0.0)
            _zero_recurrent_parameters(agent, "actor")

    def change_storage(storage: Any) -> None:
        stored = [compat.read_stored_distribution(storage)[0], storage.values]
        stored += [storage.rewards, storage.returns]
        # [steps, environments, 1] each
        record.rollouts.append(Rollout(*(numbers.numpy()[..., 0].copy() for numbers in stored)))
        if len(record.rollouts) == settings.forgets:
            _zero_recurrent_parameters(agents[0], "actor")
        if settings.advantage is not None:
            trainings.fill_storage(storage, advantages=0.0)
            storage.advantages[0, 0] = settings.advantage
        storage.actions_log_prob[0, 0] -= float(np.log(settings.ratio))

    discount = {} if settings.discount is None else {"gamma": settings.discount}
    training = trainings.train_and_record(
        Vectorised(*(Scripted(**script) for script in settings.scripts)),
        settings.rollouts,
        steps=settings.steps,
        networks=Networks(hidden=[16], memory=memory),
        learning_rate=trainings.FROZEN,
        num_mini_batches=settings.minibatches,
        num_learning_epochs=settings.epochs,
        prepare=prepare_agent,
        change=change_storage,
        **settings.map_to_framework_names(
            value_coefficient="value_loss_coef", entropy_coefficient="entropy_coef"
        ),
        **discount,
    )
    # [steps, sequences] each
    record.minibatches = [evaluated.T.flatten() for evaluated in training.evaluated]
    if settings.minibatches == 1:
        last = training.log_ratios[-1], training.value_changes[-1]
        record.changes = np.reshape(last, (2, settings.steps, -1))
    record.losses, record.entropies = training.losses, training.entropies
    return record


_AGENTS = [partial(_train_with_settings, kind) for kind in ("gru", "lstm")]
#: what is measured for agents with GRU alone
_OF_ONE_AGENT = ("recurrent.minibatches", "recurrent.padding")
PROBES: Mapping[str, Probe] = {
    **{
        id: recurrent.make_probe_averaged_over_agents(
            measure, *(_AGENTS[:1] if id in _OF_ONE_AGENT else _AGENTS)
        )
        for id, measure in recurrent.MEASUREMENTS.items()
    },
}
ABSENT: Mapping[str, str] = {
    "recurrent.padding.divergence": "reports neither divergence nor clipped ratios",
    "recurrent.predict": "has no evaluation, and leaves the memory to who asks for actions",
}
