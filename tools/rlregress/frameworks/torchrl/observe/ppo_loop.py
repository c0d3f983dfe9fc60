"""Probes of PPO's loop: the trainer and the program on environments that count their steps."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from rlregress.frameworks.torchrl.observe.helpers import ppo_trainings
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.measurements import ppo_loop as loop
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Inputs
from rlregress.probing.parallel_updates import count_processes_and_passes
from rlregress.probing.scripted import Scripted, end_after, make_counting_environment

#: a bound on the norm of the gradient that none of them reaches
_NO_CLIP = 1e9


def _to_zero(rollouts: int) -> Any:
    """Return PyTorch's linear scheduler: the trainer steps it once per rollout."""
    return lambda optimizer: torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, rollouts)


def _run(
    scope: str,
    make: ppo_trainings.Make,
    total_steps: int,
    frames: int,
    minibatch: int,
    environments: int = 1,
    **options: Any,
) -> ppo_trainings.LossTraining:
    """Run a training by the trainer, or by the program, which has one environment."""
    if scope == "trainer":
        created = [make() for _ in range(environments)]
        return ppo_trainings.trainer(created, total_steps, frames, minibatch, **options)
    return ppo_trainings.program(make, total_steps, frames, minibatch, **options)


def _train(scope: str, settings: loop.Settings) -> ppo_trainings.LossTraining:
    """See ``measurements.ppo_loop.Train``; there is no threshold to set."""
    environments: list[Scripted] = []
    training = ppo_trainings.LossTraining(environments=environments)

    def make(**options: Any) -> Scripted:
        environments.append(
            make_counting_environment(settings.total, **settings.script(), **options)
        )
        return environments[-1]

    names = {"trainer": ("gamma", "lmbda"), "script": ("gamma", "gae_lambda")}[scope]
    options: dict[str, Any] = dict.fromkeys(names, 1.0) if settings.monte_carlo else {}
    if settings.falls("learning_rate"):
        rollouts = settings.total // settings.steps
        fall = {"trainer": {"schedule": _to_zero(rollouts)}, "script": {"anneal_lr": True}}
        options.update(fall[scope])
    if settings.advantage is not None:
        options["clip_norm"] = _NO_CLIP
    options.update(settings.named(entropy_coefficient="entropy"))
    ratios = iter(settings.ratios)

    def change_ratio(batch: Any) -> None:
        # each of these rollouts is one minibatch
        ratio = next(ratios, 1.0) if settings.ratios else settings.ratio
        ppo_trainings.lower_log_prob(ratio)(batch)
        if settings.advantage is not None:
            batch["advantage"] = torch.full_like(batch["advantage"], settings.advantage)

    # the program keeps its losses in a table that has no row for what does not fill a minibatch
    try:
        _run(
            scope,
            make,
            settings.total,
            settings.steps * settings.environments,
            settings.minibatch_size,
            settings.environments,
            epochs=settings.epochs,
            learning_rate=settings.learning_rate,
            change=change_ratio,
            recorded=training,
            **options,
        )
    except IndexError as error:
        if not was_raised_in(error, "tensordict"):
            raise
    return training


def _segments(scope: str, i: Inputs) -> list[float]:
    limit = int(i["time_limit"])
    make = ppo_trainings.counting_maker(limit, truncated=end_after(limit), restarts=True)
    rollouts = _run(scope, make, 15, 5, 5).rollouts
    observed = torch.cat([rollout["observation"].reshape(-1) for rollout in rollouts])
    tensors = [x for rollout in rollouts for x in rollout.values(True, True)]
    terminal = any(bool((x == limit).any()) for x in tensors if x.dtype == observed.dtype)
    return [*observed.tolist(), terminal]


_TRAINER, _SCRIPT = (partial(_train, scope) for scope in ("trainer", "script"))

PROBES: dict[tuple[str, str], Raw] = {
    **{
        (id, "trainer"): partial(measure, _TRAINER)
        for id, measure in loop.MEASUREMENTS.items()
        # whoever writes the schedule of a trainer decides how low it gets
        if id != "ppo.learning_rate.negative"
    },
    ("ppo.segments", "trainer"): partial(_segments, "trainer"),
    ("ppo.parallel_gradient", "trainer"): partial(count_processes_and_passes, _TRAINER),
    # the program stops at the last, smaller minibatch: see ppo.minibatches.remainder
    ("ppo.minibatches.remainder", "script"): partial(loop.remainder, _SCRIPT),
    ("ppo.epochs.shuffle", "script"): partial(loop.shuffle, _SCRIPT),
    ("ppo.advantages.recomputed", "script"): partial(loop.recomputed, _SCRIPT),
    ("ppo.advantage.granularity", "script"): partial(loop.granularity, _SCRIPT),
    ("ppo.iterations", "script"): partial(loop.iterations, _SCRIPT),
    ("ppo.segments", "script"): partial(_segments, "script"),
    ("ppo.learning_rate.schedule.asked", "script"): partial(loop.requested_learning_rates, _SCRIPT),
    ("ppo.learning_rate.negative", "script"): partial(loop.lowest_learning_rate, _SCRIPT),
}

#: detail id -> what TorchRL does not have.
ABSENT: dict[str, str] = {
    "ppo.adam.epsilon.custom": "has no optimiser of its own whose options could be set: the user, "
    "or the program, makes it",
}
