"""Schedules of PPO over a training: learning rate, clip range, entropy coefficient."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import schedules

_TRAINING = """A training of ``rollouts`` rollouts of ``rollout_steps`` steps in one environment,
    asked for exactly that many steps; after each rollout one epoch of ``minibatches``
    minibatches. """
_SHAPE = {"rollouts": 3, "rollout_steps": 4, "minibatches": 2}
_EACH = "at each step of the optimiser, in order, divided by the value asked for."


def _make_schedule_formula(make_schedule: Callable[..., np.ndarray], *options: float) -> Formula:
    return lambda i: make_schedule(int(i["rollouts"]), int(i["minibatches"]), *options)


def _make_linear_variants() -> dict[str, tuple[str, Formula]]:
    return {
        "by_rollout": (
            "1 - k/K at rollout k = 0, 1, .. of K: from the full value to 1/K of it",
            _make_schedule_formula(schedules.make_linear_schedule_by_rollout),
        ),
        "by_rollout_after_collection": (
            "1 - (k+1)/K: the rollout just collected counts as done, so that the first update "
            "is below the full value and the last one is at 0",
            _make_schedule_formula(schedules.make_linear_schedule_by_rollout, 1.0),
        ),
        "by_rollout_to_zero": (
            "from the full value at the first rollout to 0 at the last",
            _make_schedule_formula(schedules.make_linear_schedule_to_zero),
        ),
        "by_update": (
            "1 - u/U at step u of the optimiser, of U: it falls within a rollout too",
            _make_schedule_formula(schedules.make_linear_schedule_by_update),
        ),
    }


_CONSTANT = _make_schedule_formula(schedules.make_constant_schedule)


def _make_learning_rate_details() -> list[Detail]:
    sources = ("The 32 details of PPO, General 6", "thesis, section 5.1, Hyperparameter annealing")
    return [
        make_detail(
            "ppo.learning_rate.schedule",
            "Does the learning rate fall over a training by default?",
            _TRAINING
            + """Learning rate ``learning_rate``, schedule as it is by default in this scope.
            Observed, [6]: the learning rate """
            + _EACH,
            sources,
            _SHAPE | {"learning_rate": 1e-3},
            {"constant": ("no schedule", _CONSTANT)} | _make_linear_variants(),
            consequence="""With the same initial learning rate one implementation takes steps half
            as large on average, and ends with a policy that no longer moves.""",
        ),
        make_detail(
            "ppo.learning_rate.schedule.asked",
            "Which learning rates does a linear schedule give, if one is asked for?",
            _TRAINING
            + """Learning rate ``learning_rate``, a linear schedule from it to 0 asked for in the
            way that this scope offers. Observed, [6]: the learning rate """
            + _EACH,
            sources + ("Bag of tricks, Learning Rate Scheduling",),
            _SHAPE | {"learning_rate": 1e-3},
            {"absent": ("there is no schedule to ask for", _CONSTANT)} | _make_linear_variants(),
            consequence="""Equal settings give different learning rates at every update; where the
            schedule ends at 0 the last rollout is collected in vain.""",
        ),
        make_detail(
            "ppo.learning_rate.negative",
            "How low gets a linear schedule if the steps asked for are no multiple of the rollout?",
            """A training asked for ``total_steps`` steps with rollouts of ``rollout_steps``, one
            update after each, learning rate ``learning_rate`` and a linear schedule to 0 asked
            for in the way that this scope offers. Observed, [1]: the lowest learning rate of any
            update, divided by ``learning_rate``.""",
            ("The 32 details of PPO, General 6", "Bag of tricks, Learning Rate Scheduling"),
            {"total_steps": 10, "rollout_steps": 4, "learning_rate": 1e-3},
            {
                "remainder_dropped": (
                    "1/K of K whole rollouts",
                    lambda i: 1.0 / _count_whole_rollouts(i),
                ),
                "stops_at_zero": ("0", lambda i: 0.0),
                "negative": (
                    "below 0 by what was collected beyond the steps asked for",
                    lambda i: (
                        1.0 - (_count_whole_rollouts(i) + 1) * i["rollout_steps"] / i["total_steps"]
                    ),
                ),
                "constant": ("there is no schedule", lambda i: 1.0),
            },
            consequence="""With a negative learning rate the last update climbs up the loss: the
            policy that is kept at the end of the training is the spoiled one.""",
        ),
        _make_adaptive_learning_rate_detail(),
    ]


def _count_whole_rollouts(inputs: Inputs) -> float:
    return float(inputs["total_steps"] // inputs["rollout_steps"])


def _make_adaptive_learning_rate_detail() -> Detail:
    def make_rate_factors(factor: float, tolerated_ratio: float, can_rise: bool = True) -> Formula:
        return lambda i: schedules.compute_adaptive_learning_rate_factors(
            i["divergences"], i["target"], factor, tolerated_ratio, can_rise
        )

    return make_detail(
        "ppo.learning_rate.adaptive",
        "Does the learning rate follow the divergence between old and new policy?",
        """Four updates in a row; in update k the divergence KL(old policy, new policy) is
        divergences[k]: a minibatch of two samples with ratios 1 - d and 1 + d, for which the
        estimates -log r and r - 1 - log r have the same mean. Where an adaptive learning rate
        can be asked for, it is, with target ``target``. Observed, [4]: the learning rate after
        each update, divided by ``learning_rate``.""",
        ("Bag of tricks, Learning Rate Scheduling",),
        {"divergences": [0.1, 0.015, 0.001, 0.0075], "target": 0.01, "learning_rate": 1e-3},
        {
            "absent": ("the divergence has no influence", lambda i: np.ones(4)),
            "factor_1.5_band_2": (
                "divided by 1.5 above twice the target, multiplied below half of it",
                make_rate_factors(1.5, 2.0),
            ),
            "factor_1.5_no_band": (
                "by 1.5 above or below the target",
                make_rate_factors(1.5, 1.0),
            ),
            "factor_2_band_2": (
                "by 2 outside half and twice the target",
                make_rate_factors(2.0, 2.0),
            ),
            "only_down": ("never multiplied", make_rate_factors(1.5, 2.0, False)),
            "inverted": ("multiplied where it should be divided", make_rate_factors(1 / 1.5, 2.0)),
        },
        consequence="""An adaptive learning rate makes the initial one nearly meaningless; without
        it a policy that moves too far in one update goes on at the same pace.""",
    )


def _make_clip_range_details() -> list[Detail]:
    feed = """Every sample has advantage 1 and ratio 2, advantages are not normalised, value loss
        and entropy have no weight, so that the policy loss is -(1 + clip range). """
    sources = (
        "The 32 details of PPO, Auxiliary 1",
        "thesis, section 5.1, Hyperparameter annealing",
    )

    def repeat_values_twice(formula: Formula) -> Formula:
        return lambda i: np.tile(np.asarray(formula(i)), 2)

    linear = _make_linear_variants()
    return [
        make_detail(
            "ppo.clip_range.schedule",
            "Does the clip range fall over a training by default?",
            _TRAINING
            + feed
            + """Clip range ``clip_range``, schedule as it is by default in this scope. Observed,
            [6]: the clip range """
            + _EACH,
            sources,
            _SHAPE | {"clip_range": 0.2},
            {"constant": ("no schedule", _CONSTANT)} | linear,
            consequence="""Where the clip range falls, late updates may move the policy less than
            the same setting allows elsewhere.""",
        ),
        make_detail(
            "ppo.clip_range.schedule.asked",
            "Can the clip range be made to fall linearly, and how?",
            """Two trainings, in both of which a linear schedule of the clip range to 0 is asked
            for in the way that this scope offers: the first with a constant learning rate, the
            second with a linear schedule of the learning rate too. Each: """
            + _TRAINING
            + feed
            + "Observed, [12]: of the first training, then of the second, the clip range "
            + _EACH,
            sources,
            _SHAPE | {"clip_range": 0.2},
            {"absent": ("there is no schedule to ask for", repeat_values_twice(_CONSTANT))}
            | {
                name: (meaning, repeat_values_twice(formula))
                for name, (meaning, formula) in linear.items()
            }
            | {
                "by_update_if_learning_rate_too": (
                    "1 - u/U, but only where the learning rate has a schedule too",
                    lambda i: np.concatenate([_CONSTANT(i), linear["by_update"][1](i)]),
                ),
                "by_rollout_if_learning_rate_too": (
                    "1 - k/K, but only where the learning rate has a schedule too",
                    lambda i: np.concatenate([_CONSTANT(i), linear["by_rollout"][1](i)]),
                ),
            },
            consequence="""A published setting with a falling clip range cannot be carried over, or
            is carried over without effect.""",
        ),
    ]


def _make_entropy_detail() -> Detail:
    return make_detail(
        "ppo.entropy.schedule",
        "Can the entropy coefficient be made to fall linearly?",
        _TRAINING
        + """Entropy coefficient ``coefficient``, a linear schedule from it to 0 asked for in the
        way that this scope offers; where that is refused or nothing is offered, no schedule. The
        effective coefficient is minus the derivative of the loss with respect to the
        state-independent log standard deviation of a Gaussian of one dimension, all advantages
        being 0 and no gradient clipped. Observed, [6]: the effective coefficient """
        + _EACH,
        ("Bag of tricks, Entropy Decay",),
        _SHAPE | {"coefficient": 0.25},
        {"absent": ("there is no schedule to ask for", _CONSTANT)} | _make_linear_variants(),
        consequence="""Exploration cannot be bought for the beginning of a training only: the
        policy is pushed towards randomness to the end, or not at all.""",
    )


def _make_adam_epsilon_detail() -> Detail:
    return make_detail(
        "ppo.adam.epsilon.custom",
        "Does Adam's epsilon stay what it is by default if another option of Adam is set?",
        """The optimiser's options are given, with one entry that changes nothing: weight decay 0.
        Observed, [1]: log10 of the epsilon of the optimiser.""",
        ("The 32 details of PPO, General 11",),
        {},
        {
            "kept": ("1e-5, as without options", lambda i: -5.0),
            "dropped": ("1e-8, PyTorch's own default", lambda i: -8.0),
        },
        consequence="""Who sets weight decay also makes Adam's epsilon a thousand times smaller,
        which changes every update where gradients are small.""",
    )


DETAILS: tuple[Detail, ...] = (
    *_make_learning_rate_details(),
    *_make_clip_range_details(),
    _make_entropy_detail(),
    _make_adam_epsilon_detail(),
)
