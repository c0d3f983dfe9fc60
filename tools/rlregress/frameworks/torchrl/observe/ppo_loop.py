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
from rlregress.probing.parallel_updates import count_processes_and_backward_passes_per_step
from rlregress.probing.scripted import Scripted, make_counting_environment, make_script_of_end_after

#: a bound on the norm of the gradient that none of them reaches
_NO_CLIP = 1e9


def _make_scheduler_to_zero(rollouts: int) -> Any:
    """Return a maker of PyTorch's linear scheduler, which is stepped once per rollout."""
    return lambda optimizer: torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, rollouts)


def _run_training_in_scope(
    scope: str,
    make_environment: ppo_trainings.EnvironmentMaker,
    total_steps: int,
    frames: int,
    minibatch: int,
    environments: int = 1,
    **options: Any,
) -> ppo_trainings.LossTraining:
    """Run a training by the trainer, or by the program, which has one environment."""
    if scope == "trainer":
        created = [make_environment() for _ in range(environments)]
        return ppo_trainings.run_trainer(created, total_steps, frames, minibatch, **options)
    return ppo_trainings.run_ppo_program(
        make_environment, total_steps, frames, minibatch, **options
    )


def _train_with_settings(scope: str, settings: loop.Settings) -> ppo_trainings.LossTraining:
    """Train PPO with these settings but no KL threshold, and return the record."""
    environments: list[Scripted] = []
    training = ppo_trainings.LossTraining(environments=environments)

    def make_environment(**options: Any) -> Scripted:
        environments.append(
            make_counting_environment(
                settings.total, **settings.make_environment_script(), **options
            )
        )
        return environments[-1]

    names = {"trainer": ("gamma", "lmbda"), "script": ("gamma", "gae_lambda")}[scope]
    options: dict[str, Any] = dict.fromkeys(names, 1.0) if settings.monte_carlo else {}
    if settings.is_annealed("learning_rate"):
        rollouts = settings.total // settings.steps
        fall = {
            "trainer": {"schedule": _make_scheduler_to_zero(rollouts)},
            "script": {"anneal_lr": True},
        }
        options.update(fall[scope])
    if settings.advantage is not None:
        options["clip_norm"] = _NO_CLIP
    options.update(settings.map_to_framework_names(entropy_coefficient="entropy"))
    ratios = iter(settings.ratios)

    def change_ratio_of_batch(batch: Any) -> None:
        # each of these rollouts is one minibatch
        ratio = next(ratios, 1.0) if settings.ratios else settings.ratio
        ppo_trainings.make_change_of_ratios(ratio)(batch)
        if settings.advantage is not None:
            batch["advantage"] = torch.full_like(batch["advantage"], settings.advantage)

    # the program keeps its losses in a table that has no row for what does not fill a minibatch
    try:
        _run_training_in_scope(
            scope,
            make_environment,
            settings.total,
            settings.steps * settings.environments,
            settings.minibatch_size,
            settings.environments,
            epochs=settings.epochs,
            learning_rate=settings.learning_rate,
            change=change_ratio_of_batch,
            recorded=training,
            **options,
        )
    except IndexError as error:
        if not was_raised_in(error, "tensordict"):
            raise
    return training


def _list_stored_observations_of_rollouts(scope: str, inputs: Inputs) -> list[float]:
    limit = int(inputs["time_limit"])
    make = ppo_trainings.make_counting_environment_maker(
        limit, truncated=make_script_of_end_after(limit), restarts=True
    )
    rollouts = _run_training_in_scope(scope, make, 15, 5, 5).rollouts
    observed = torch.cat([rollout["observation"].reshape(-1) for rollout in rollouts])
    tensors = [x for rollout in rollouts for x in rollout.values(True, True)]
    terminal = any(bool((x == limit).any()) for x in tensors if x.dtype == observed.dtype)
    return [*observed.tolist(), terminal]


_TRAINER, _SCRIPT = (partial(_train_with_settings, scope) for scope in ("trainer", "script"))

PROBES: dict[tuple[str, str], Raw] = {
    **{
        (id, "trainer"): partial(measure, _TRAINER)
        for id, measure in loop.MEASUREMENTS.items()
        # whoever writes the schedule of a trainer decides how low it gets
        if id != "ppo.learning_rate.negative"
    },
    ("ppo.segments", "trainer"): partial(_list_stored_observations_of_rollouts, "trainer"),
    ("ppo.parallel_gradient", "trainer"): partial(
        count_processes_and_backward_passes_per_step, _TRAINER
    ),
    # the program stops at the last, smaller minibatch: see ppo.minibatches.remainder
    ("ppo.minibatches.remainder", "script"): partial(
        loop.measure_optimizer_steps_of_two_rollouts, _SCRIPT
    ),
    ("ppo.epochs.shuffle", "script"): partial(loop.flag_sorted_and_repeated_epochs, _SCRIPT),
    ("ppo.advantages.recomputed", "script"): partial(loop.flag_recomputed_advantages, _SCRIPT),
    ("ppo.advantage.granularity", "script"): partial(
        loop.measure_advantages_and_policy_changes, _SCRIPT
    ),
    ("ppo.iterations", "script"): partial(loop.measure_steps_and_updates, _SCRIPT),
    ("ppo.segments", "script"): partial(_list_stored_observations_of_rollouts, "script"),
    ("ppo.learning_rate.schedule.asked", "script"): partial(
        loop.measure_falling_learning_rates, _SCRIPT
    ),
    ("ppo.learning_rate.negative", "script"): partial(loop.measure_lowest_learning_rate, _SCRIPT),
}

#: detail id -> what TorchRL does not have.
ABSENT: dict[str, str] = {
    "ppo.adam.epsilon.custom": "has no optimiser of its own whose options could be set: the user, "
    "or the program, makes it",
}
