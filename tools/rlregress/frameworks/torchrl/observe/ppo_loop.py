"""Probes of PPO's loop: the trainer and the program, and their schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import KLAdaptiveLR
from rlregress.frameworks.torchrl.known_networks import FixedLocScale
from rlregress.frameworks.torchrl.observe.drivers import ppo_trainings
from rlregress.measurements import ppo_loop as loop
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import read_log10_adam_eps
from rlregress.probing.parallel_updates import count_processes_and_backward_passes_per_step
from rlregress.probing.scripted import Scripted, make_counting_environment, make_script_of_end_after

#: a bound on the norm of the gradient that none of them reaches
_NO_CLIP = 1e9
#: gradients are this many times larger than those of a plain Gaussian policy and critic.
_STEEP = 1e6


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

    options: dict[str, Any] = {"gamma": 1.0, "lmbda": 1.0} if settings.monte_carlo else {}
    if settings.environments > 1:
        options["environments"] = settings.environments
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
        ppo_trainings.train(
            scope,
            make_environment,
            settings.total,
            settings.steps * settings.environments,
            settings.minibatch_size,
            epochs=settings.epochs,
            learning_rate=settings.learning_rate,
            is_annealed=settings.is_annealed("learning_rate"),
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
    ends = make_script_of_end_after(limit)
    make = partial(
        make_counting_environment, limit, rewards=[1.0, -1.0], truncated=ends, restarts=True
    )
    rollouts = ppo_trainings.train(scope, make, 15, 5, 5).estimated
    observed = torch.cat([rollout["observation"].reshape(-1) for rollout in rollouts])
    tensors = [x for rollout in rollouts for x in rollout.values(True, True)]
    terminal = any(bool((x == limit).any()) for x in tensors if x.dtype == observed.dtype)
    return [*observed.tolist(), terminal]


class _SteepNetwork(torch.nn.Module):
    """A network of a Gaussian, or of a value, with an enormous derivative by its parameter."""

    def __init__(self, *scale: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self._scale = scale

    def forward(self, observation: torch.Tensor) -> Any:
        output = (_STEEP * self.weight).expand(*observation.shape[:-1], 1)
        if not self._scale:
            return output
        return output, torch.full_like(output, self._scale[0])


def _make_plain_models() -> ppo_trainings.Models:
    return ppo_trainings.make_gaussian_models(FixedLocScale([0.0], [0.1], torch.float32))


def _train_on_rewards(
    scope: str, rewards: Sequence[float], minibatch: int, **options: Any
) -> ppo_trainings.LossTraining:
    """Run one rollout of episodes of one step; with values of 0, rewards are advantages."""
    make = partial(Scripted, rewards=list(rewards), terminated=[1.0] * len(rewards))
    return ppo_trainings.train(scope, make, len(rewards), len(rewards), minibatch, **options)


def _measure_loss_with_normalised_advantages(scope: str, inputs: Inputs) -> Any:
    rewards = inputs["advantages"]
    minibatch = int(inputs.get("minibatch_size", len(rewards)))
    change = ppo_trainings.make_change_of_ratios(inputs["ratio"])
    training = _train_on_rewards(
        scope, rewards, minibatch, models=_make_plain_models(), change=change
    )
    return np.mean(training.losses)


def _measure_capped_gradient_norm(scope: str, inputs: Inputs) -> float:
    models = ppo_trainings.make_gaussian_models(_SteepNetwork(1.0), _SteepNetwork())
    norms = _train_on_rewards(scope, [1.0, -3.0], 2, models=models).gradient_norms
    return min(norms[0], inputs["cap"])


def _measure_adam_epsilon_of_script(inputs: Inputs) -> float:
    models = _make_plain_models()
    optimizer = _train_on_rewards("script", [1.0, -3.0], 2, models=models).optimizer
    return read_log10_adam_eps(optimizer, [p for model in models[:2] for p in model.parameters()])


def _measure_adaptive_rates(inputs: Inputs) -> list[float]:
    start = inputs["learning_rate"]
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=start)
    scheduler = KLAdaptiveLR(optimizer, target_kl=inputs["target"])
    rates = []
    for divergence in inputs["divergences"]:
        scheduler.step(float(divergence))
        rates.append(optimizer.param_groups[0]["lr"] / start)
    return rates


def _measure_clip_ranges_of_program(inputs: Inputs) -> np.ndarray:
    frames = int(inputs["rollout_steps"])
    minibatch = frames // int(inputs["minibatches"])

    def change_batch(batch: Any) -> None:
        ppo_trainings.make_change_of_ratios(2.0)(batch)
        # the program normalises advantages: pairs of +1 and -1 stay so
        signs = torch.tensor([1.0, -1.0]).repeat(len(batch) // 2)
        batch["advantage"] = signs.reshape(batch["advantage"].shape)

    losses: list[float] = []
    for anneal_lr in (False, True):
        losses += ppo_trainings.train(
            "script", partial(Scripted, rewards=[1.0, -1.0]), frames * int(inputs["rollouts"]),
            frames, minibatch, change=change_batch, is_annealed=anneal_lr, anneal_clip_epsilon=True,
        ).losses  # fmt: skip
    # by the divisor n - 1; a sample of ratio 2 and negative advantage is not clipped
    deviation = np.sqrt(minibatch / (minibatch - 1))
    return (1.0 - 2.0 * deviation * np.array(losses)) / inputs["clip_range"]


_TRAINER, _SCRIPT = (partial(_train_with_settings, scope) for scope in ("trainer", "script"))
#: the program stops at the last, smaller minibatch: see ppo.minibatches.remainder
_OF_PROGRAM = (
    "ppo.minibatches.remainder", "ppo.epochs.shuffle", "ppo.advantages.recomputed",
    "ppo.advantage.granularity", "ppo.iterations", "ppo.learning_rate.schedule.asked",
    "ppo.learning_rate.negative",
)  # fmt: skip
#: detail -> what measures it, of trainer and program
_OF_BOTH: dict[str, Callable[[str, Inputs], Any]] = {
    "ppo.segments": _list_stored_observations_of_rollouts,
    "ppo.advantage_normalisation": _measure_loss_with_normalised_advantages,
    "ppo.gradient_clip": _measure_capped_gradient_norm,
}
PROBES: dict[tuple[str, str], Probe] = {
    **{
        (id, "trainer"): partial(measure, _TRAINER)
        for id, measure in loop.MEASUREMENTS.items()
        # whoever writes the schedule of a trainer decides how low it gets
        if id != "ppo.learning_rate.negative"
    },
    **{(id, "script"): partial(loop.MEASUREMENTS[id], _SCRIPT) for id in _OF_PROGRAM},
    **{
        (id, scope): partial(measure, scope)
        for id, measure in _OF_BOTH.items()
        for scope in ("trainer", "script")
    },
    ("ppo.parallel_gradient", "trainer"): partial(
        count_processes_and_backward_passes_per_step, _TRAINER
    ),
    ("ppo.advantage_normalisation.epsilon", "trainer"): partial(
        _measure_loss_with_normalised_advantages, "trainer"
    ),
    ("ppo.adam.epsilon", "script"): _measure_adam_epsilon_of_script,
    ("ppo.learning_rate.adaptive", "library"): _measure_adaptive_rates,
    ("ppo.clip_range.schedule.asked", "script"): _measure_clip_ranges_of_program,
}

#: detail id -> what TorchRL does not have.
ABSENT: dict[str, str] = {
    "ppo.adam.epsilon.custom": "has no optimiser of its own whose options could be set: the user, "
    "or the program, makes it",
}
