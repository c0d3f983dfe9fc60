"""The details of PPO, each measured by small trainings of any framework that can be configured so.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from rlregress.measurements import ppo, ppo_loop
from rlregress.measurements.loss_minimum import require_one_number
from rlregress.measurements.named_settings import Inputs, NamedSettings, select_inputs
from rlregress.measurements.ppo_loop import RecordedTraining

#: log of a standard deviation that does not matter beside a mean
_NARROW = -20.0
#: log-probabilities that differ by less are the same
_NEGLIGIBLE = 0.01


@dataclass(frozen=True)
class Settings(NamedSettings):
    """A training of PPO, by default of one rollout, with one update that moves nothing.

    Where nothing else is said, None stands for the framework's default.

    Attributes:
        scripts: of each environment, what ``probing.scripted.Scripted`` is made with.
        steps: of a rollout, in each environment.
        rollouts: their number.
        total: steps that are requested, as the framework counts them; None: those of the rollouts.
        minibatches: of each epoch, where a framework is configured with their number.
        minibatch_size: where it is configured with that; None: it follows from their number.
        epochs: of each rollout.
        target: divergence at which an update stops early.
        normalize_advantage: whether an update normalises the advantages of its minibatches.
        gradients_clipped: as by default, or not at all.
        value_clip: the range within which values are clipped; 0: none.
        falling: the settings that are annealed linearly to 0, as far as the framework offers it.
        value: V(s) of every state; None: as it is initialised.
        value_is_observation: V(s) = s, in the place of ``value``.
        estimated_value: V(s) of every state as soon as a rollout is complete; None: it stays.
        mean, log_deviation: of the policy in every state; None: as they are initialised.
        stored: numbers in the place of what is stored before an update, by "advantages", "returns"
            or "values": one number, [steps] or [steps, environments].
        ratios: of new to old probability, of each rollout, in the same form; 1 in those after them.
        forgets: the rollout after which recurrent layers of the policy output zeros; 0: from the
            start; None: never.
    """

    scripts: Sequence[Mapping[str, Any]] = field(default_factory=lambda: [{}])
    steps: int = 8
    rollouts: int = 1
    total: int | None = None
    minibatches: int = 1
    minibatch_size: int | None = None
    epochs: int = 1
    learning_rate: float = 0.0
    discount: float | None = None
    gae_lambda: float | None = None
    clip_range: float | None = None
    value_clip: float | None = None
    value_coefficient: float | None = None
    entropy_coefficient: float | None = None
    target: float | None = None
    normalize_advantage: bool | None = None
    gradients_clipped: bool = True
    falling: Collection[str] = ()
    value: float | None = None
    value_is_observation: bool = False
    estimated_value: float | None = None
    mean: float | None = None
    log_deviation: float | None = None
    stored: Mapping[str, Any] = field(default_factory=dict)
    ratios: Sequence[Any] = ()
    forgets: int | None = None

    def replace_stored(
        self, rollout: int, arrays: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return new arrays for all that an update gets in the place of what is stored.

        Args:
            rollout: its number, from 0 on.
            arrays: "advantages", "returns", "values" and "log_probs", [steps, environments] each.
        """
        ratios = self.ratios[rollout] if rollout < len(self.ratios) else 1.0
        log_ratios = np.log(_make_table(ratios)).astype(np.float32)
        new = {name: _make_table(numbers) for name, numbers in self.stored.items()}
        new["log_probs"] = arrays["log_probs"] - log_ratios
        return {
            name: np.array(np.broadcast_to(array, arrays[name].shape), arrays[name].dtype)
            for name, array in new.items()
        }


def _make_table(numbers: Any) -> np.ndarray:
    """Return numbers that broadcast to [steps, environments]."""
    return np.reshape(numbers, (len(np.atleast_1d(numbers)), -1))


#: makes an agent of PPO and runs the framework's own loop
Train = Callable[[Settings], RecordedTraining]
Measurement = Callable[[Train, Inputs], np.ndarray]


def _make_counting_script(steps: int) -> dict[str, Any]:
    """Return a script whose observations are the numbers of steps done, up to ``steps``."""
    counted = np.arange(steps, dtype=np.float64)
    return {"observations": counted, "next_observations": counted + 1.0}


def run_update(train: Train, settings: ppo.Settings) -> ppo.Effects:
    """Return the effects of one update on stored numbers."""
    names = (
        "value", "log_deviation", "clip_range", "value_clip", "value_coefficient",
        "entropy_coefficient", "gradients_clipped",
    )  # fmt: skip
    training = train(
        Settings(
            # actions stay within them, so that it does not matter which are executed or stored
            [{"low": -99.0, "high": 99.0}],
            settings.count,
            stored={
                "advantages": settings.advantages,
                "returns": settings.returns,
                "values": settings.old_values,
            },
            ratios=[settings.ratios],
            normalize_advantage=False,
            **{name: getattr(settings, name) for name in names},
        )
    )
    effects = (
        training.losses, training.gradient_norms, training.value_gradients,
        training.log_std_gradients,
    )  # fmt: skip
    return ppo.Effects(*map(require_one_number, effects))


def run_loop(train: Train, settings: ppo_loop.Settings) -> RecordedTraining:
    """Return the record of a training in environments that count their steps."""
    script = {**_make_counting_script(settings.total), **settings.make_environment_script()}
    names = ("steps", "total", "minibatches", "minibatch_size", "epochs", "learning_rate")
    options: dict[str, Any] = {name: getattr(settings, name) for name in (*names, "target")}
    if settings.monte_carlo:
        options.update(value=0.0, discount=1.0, gae_lambda=1.0)
    if settings.advantage is not None:
        options.update(
            stored={"advantages": settings.advantage},
            normalize_advantage=False,
            gradients_clipped=False,
            value_coefficient=0.0,
            entropy_coefficient=0.0,
        )
    rollouts = settings.total // (settings.steps * settings.environments)
    ratios = [settings.select_ratios_of_rollout(count) for count in range(rollouts)]
    options.update(
        settings.map_to_framework_names(
            clip_range="clip_range", entropy_coefficient="entropy_coefficient", falling="falling"
        )
    )
    return train(
        Settings([script] * settings.environments, rollouts=rollouts, ratios=ratios, **options)
    )


def _measure_estimates(train: Train, inputs: Inputs, **settings: Any) -> Any:
    """Return the first rollout of a scripted segment, where V(s) = s."""
    script = {
        "observations": inputs["values"],
        "next_observations": inputs["next_values"],
        **select_inputs(inputs, "rewards", "terminated", "truncated"),
    }
    options = {"value_is_observation": True, "discount": inputs["discount"], **settings}
    return train(Settings([script], len(inputs["rewards"]), **options)).rollouts[0]


def measure_advantages(train: Train, inputs: Inputs) -> np.ndarray:
    """Measure the advantages of a segment, in the order of its steps."""
    return _measure_estimates(train, inputs, gae_lambda=inputs["trace"]).advantages.flatten()


def measure_value_targets(train: Train, inputs: Inputs) -> np.ndarray:
    """Measure the value targets of a segment, in the order of its steps."""
    return _measure_estimates(train, inputs, gae_lambda=inputs["trace"]).returns.flatten()


def measure_advantages_at_lambda_zero(train: Train, inputs: Inputs) -> np.ndarray:
    """Return 0, as lambda = 0 is no error, and the advantages with it."""
    return np.array([0.0, *_measure_estimates(train, inputs, gae_lambda=0.0).advantages.flat])


def measure_advantage_after_value_change(train: Train, inputs: Inputs) -> np.ndarray:
    """Measure the advantage of a step whose value is another when advantages are estimated."""
    script = {
        "values": inputs["value"],
        "next_values": inputs["value"],
        "rewards": [0.0, inputs["reward"]],
        "terminated": [0.0, 1.0],
    }
    rollout = _measure_estimates(train, {**inputs, **script}, estimated_value=inputs["next_value"])
    return rollout.advantages.flatten()[-1:]


def _measure_executed_and_stored_action(train: Train, inputs: Inputs, mean: float) -> list[float]:
    """Return the first action of a policy with this mean, as executed and as stored."""
    bounds = select_inputs(inputs, "low", "high")
    training = train(Settings([bounds], 2, mean=mean, log_deviation=_NARROW))
    return [training.environments[0].received[0].item(), training.rollouts[0].actions.flat[0]]


def measure_executed_and_stored_actions(train: Train, inputs: Inputs) -> np.ndarray:
    """Measure the executed actions of policies with these means, then the stored ones."""
    actions = [_measure_executed_and_stored_action(train, inputs, x) for x in inputs["samples"]]
    return np.transpose(actions).ravel()


def measure_executed_action_beyond_bounds(train: Train, inputs: Inputs) -> np.ndarray:
    """Measure the executed action of a policy whose mean is beyond the bounds."""
    return np.array(_measure_executed_and_stored_action(train, inputs, inputs["mean"])[:1])


def measure_share_of_wrong_log_probs(train: Train, inputs: Inputs) -> np.ndarray:
    """Measure the share of actions whose stored log-probability an update does not find again."""
    training = train(Settings(steps=inputs["count"], mean=inputs["mean"]))
    return np.array([np.mean(np.abs(np.concatenate(training.log_ratios)) > _NEGLIGIBLE)])


def _list_policy_losses(train: Train, inputs: Inputs, **settings: Any) -> list[float]:
    """Return the policy losses of a rollout in which each reward equals the step's advantage."""
    rewards = inputs["advantages"]
    return train(
        Settings(
            [{"rewards": rewards, "terminated": 1.0}],
            len(rewards),
            # nothing of later steps enters, whether or not ends are detected
            value=0.0,
            gae_lambda=0.0,
            ratios=[inputs["ratio"]],
            clip_range=0.2,
            value_coefficient=0.0,
            entropy_coefficient=0.0,
            **settings,
        )
    ).losses


def measure_loss_with_normalised_advantages(train: Train, inputs: Inputs) -> np.ndarray:
    """Measure the mean policy loss of several minibatches."""
    minibatches = len(inputs["advantages"]) // inputs["minibatch_size"]
    return np.array([np.mean(_list_policy_losses(train, inputs, minibatches=minibatches))])


def measure_loss_of_similar_advantages(
    train: Train, inputs: Inputs, normalize_advantage: bool | None = None
) -> np.ndarray:
    """Measure the policy loss of advantages whose deviation an epsilon changes."""
    losses = _list_policy_losses(train, inputs, normalize_advantage=normalize_advantage)
    return np.array([require_one_number(losses)])


def measure_loss_of_single_sample(
    train: Train, inputs: Inputs, steps: int = 1, minibatch_size: int = 1
) -> np.ndarray:
    """Return whether the policy loss of a minibatch of one sample is finite, and the loss.

    Args:
        steps: of the rollout, whose last minibatch has one sample.
        minibatch_size: of those before it.
    """
    *_, loss = _list_policy_losses(
        train,
        {"advantages": [inputs["advantage"]] * steps, "ratio": 1.0},
        minibatches=steps,
        minibatch_size=minibatch_size,
        normalize_advantage=True,
    )
    return np.array([1.0, loss] if np.isfinite(loss) else [0.0, 0.0])


def list_stored_observations_of_rollouts(train: Train, inputs: Inputs) -> np.ndarray:
    """Return the observations of three rollouts, and whether a terminal observation is stored."""
    limit = int(inputs["time_limit"])
    ends = {"truncated": [0.0] * (limit - 1) + [1.0], "restarts": True}
    training = train(Settings([{**_make_counting_script(limit), **ends}], 5, rollouts=3))
    arrays = [array for rollout in training.rollouts for array in vars(rollout).values()]
    return np.array([*np.concatenate(training.stored), any((a == limit).any() for a in arrays)])


def measure_ratios_of_reported_losses(train: Train, inputs: Inputs) -> np.ndarray:
    """Return least and greatest ratio of losses reported of several minibatches to those of one."""
    settings = partial(
        Settings,
        [_make_counting_script(inputs["steps"])],
        inputs["steps"],
        value=0.0,
        stored={"advantages": inputs["advantages"], "returns": inputs["targets"]},
        normalize_advantage=False,
    )
    several = settings(epochs=inputs["epochs"], minibatches=inputs["minibatches"])
    ratios = train(several).reported[0] / train(settings()).reported[0]
    return np.array([ratios.min(), ratios.max()])


def measure_ratio_after_normalisation(train: Train, inputs: Inputs) -> np.ndarray:
    """Return whether the first ratios of two rollouts are not 1, where inputs are normalised."""
    steps = int(inputs["steps"])
    settings = Settings([_make_counting_script(2 * steps)], steps, rollouts=2)
    return train(settings).flag_policy_changes_at_start(2)


def _apply_to(run: Callable[[Train, Any], Any], measure: Callable[..., np.ndarray]) -> Measurement:
    return lambda train, inputs: measure(partial(run, train), inputs)


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Measurement] = {
    **{id: _apply_to(run_update, measure) for id, measure in ppo.MEASUREMENTS.items()},
    **{id: _apply_to(run_loop, measure) for id, measure in ppo_loop.MEASUREMENTS.items()},
    "ppo.advantage_normalisation": measure_loss_with_normalised_advantages,
    "ppo.advantage_normalisation.epsilon": measure_loss_of_similar_advantages,
    "ppo.advantage_normalisation.single": measure_loss_of_single_sample,
    "ppo.action.bounding": measure_executed_and_stored_actions,
    "ppo.segments": list_stored_observations_of_rollouts,
    "policy.out_of_bounds": measure_executed_action_beyond_bounds,
    "policy.stored_log_prob": measure_share_of_wrong_log_probs,
    "gae.truncation": measure_advantages,
    "gae.value_target": measure_value_targets,
    "gae.lambda_zero": measure_advantages_at_lambda_zero,
    "gae.stored_values": measure_advantage_after_value_change,
}
