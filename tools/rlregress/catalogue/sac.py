"""Soft actor-critic: thesis, section 3.4.3 and Boxes 5 to 7."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlregress.catalogue import critics, off_policy, sac_policy
from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import sac

_POLICY = """The policy reports log-probability ``log_prob`` for every action that it samples, in
    every state (replace its sampling by a constant action 0 with that log-probability); the
    temperature is fixed at ``temperature``. """
_SOFT = {"log_prob": -1.7, "temperature": 0.3}


def _make_formula_of_soft_target(compute_target: Callable[..., float]) -> Formula:
    return lambda i: compute_target(
        i["reward"], i["target_q"], i["log_prob"], i["temperature"], i["discount"]
    )


def _compute_soft_value(inputs: Inputs) -> float:
    return inputs["target_q"] - inputs["temperature"] * inputs["log_prob"]


def _make_target_bootstrap_detail() -> Detail:
    def make_masked_targets_formula(mask: str) -> Formula:
        return lambda i: critics.compute_masked_targets(i, _compute_soft_value(i), mask)

    variants = {
        name: (meaning, make_masked_targets_formula(mask))
        for name, (meaning, mask) in critics.BOOTSTRAP_MASKS.items()
    }
    variants["entropy_not_masked"] = (
        "a termination stops the value but not the entropy term",
        lambda i: (
            critics.compute_masked_targets(i, i["target_q"], "terminated")
            - i["discount"] * i["temperature"] * i["log_prob"]
        ),
    )
    return make_detail(
        "sac.target.bootstrap",
        "Does a truncated step bootstrap from the next value, and a terminated one not?",
        critics.BOOTSTRAP_OBSERVED + _POLICY + "Observed, [3]: y of the three cases.",
        ("thesis, equation 23", "thesis, section 5.2, Truncation", "Pardo et al. 2018"),
        critics.BOOTSTRAP_INPUTS | _SOFT,
        variants,
        consequence="""Values near a time limit are wrong by everything that would have followed,
        entropy included: the agent learns to fear the limit.""",
    )


def _make_temperature_loss_detail() -> Detail:
    def make_loss_and_gradient_formula(
        form: str, sign: float = 1.0, entropy_sign: float = 1.0
    ) -> Formula:
        def compute_loss_and_gradient(inputs: Inputs) -> np.ndarray:
            arguments = (
                float(np.log(inputs["temperature"])),
                np.array([inputs["log_prob"]]),
                entropy_sign * float(inputs["target_entropy"]),
                form,
            )
            return sign * np.array(
                [
                    sac.compute_temperature_loss(*arguments),
                    sac.compute_temperature_gradient(*arguments),
                ]
            )

        return compute_loss_and_gradient

    return make_detail(
        "sac.temperature.loss",
        "Is the temperature trained through log alpha or through alpha?",
        """The temperature starts at alpha = ``temperature`` and is trained; the target entropy is
        ``target_entropy``; the policy reports log-probability ``log_prob`` for every action that
        it samples. One update. Observed, [2]: the temperature loss, and its gradient with respect
        to the trained parameter log alpha (the derivative with respect to log alpha where the
        parameter is alpha itself).""",
        ("thesis, Box 7", "Haarnoja et al. 2019, equation 18"),
        {"temperature": 0.1, "target_entropy": -1.0, "log_prob": 2.5},
        {
            "log_alpha": (
                "mean of -log alpha (log pi + H)",
                make_loss_and_gradient_formula("log_alpha"),
            ),
            "alpha": ("mean of -alpha (log pi + H)", make_loss_and_gradient_formula("alpha")),
            "log_alpha_ascent": (
                "log alpha with the sign flipped",
                make_loss_and_gradient_formula("log_alpha", -1),
            ),
            "alpha_ascent": (
                "alpha with the sign flipped",
                make_loss_and_gradient_formula("alpha", -1),
            ),
            "log_alpha_entropy_flipped": (
                "log alpha with H subtracted",
                make_loss_and_gradient_formula("log_alpha", 1, -1),
            ),
            "alpha_entropy_flipped": (
                "alpha with H subtracted",
                make_loss_and_gradient_formula("alpha", 1, -1),
            ),
        },
        consequence="""The gradient of the temperature differs by the factor alpha: small
        temperatures adapt more slowly, large ones faster.""",
    )


def _make_actor_loss_detail() -> Detail:
    def make_loss_formula(reduction: str, temperature_sign: float = 1.0) -> Formula:
        return lambda i: [
            sac.compute_actor_loss(
                np.asarray(q)[:, None],
                np.array([i["log_prob"]]),
                temperature_sign * float(i["temperature"]),
                reduction,
            )
            for q in np.asarray(i["q_values"])
        ]

    return make_detail(
        "sac.actor_loss",
        "What does the policy maximise?",
        """Two cases. In case k the trained Q network i outputs q_values[k, i] for the stored
        observation and the policy's action there; for others it may output other numbers. It has
        learning rate 0 where an update would move it first. """
        + _POLICY
        + "Observed, [2]: the actor loss of case 0 and of case 1.",
        ("thesis, equation 25", "Haarnoja et al. 2019, equation 7"),
        {"q_values": [[4.0, 1.0], [1.0, 4.0]], "batch_size": 8} | _SOFT,
        {
            "min": ("alpha log pi - min over networks", make_loss_formula("min")),
            "first": ("alpha log pi - first network", make_loss_formula("first")),
            "second": ("alpha log pi - second network", make_loss_formula("second")),
            "mean": ("alpha log pi - mean over networks", make_loss_formula("mean")),
            "max": ("alpha log pi - max over networks", make_loss_formula("max")),
            "no_entropy": ("-min over networks, no entropy term", make_loss_formula("min", 0.0)),
            "entropy_flipped": (
                "-alpha log pi - min over networks",
                make_loss_formula("min", -1.0),
            ),
        },
        consequence="""The policy climbs a different estimate of the value: any other than the
        minimum follows overestimation.""",
    )


def _make_replay_action_detail() -> Detail:
    return off_policy.make_replay_action_detail(
        "sac.replay.action",
        """The environment has one action dimension with bounds [``low``, ``high``]. The policy's
        pre-tanh mean is ``pre_tanh`` in every state and its standard deviation is negligible
        (below 1e-5), or its draw is made 0. One step of the framework's own collection, past any
        random warm-up.
        Observed, [2]: the action that the environment received, the action in the buffer.""",
        ("thesis, Box 5", "thesis, section 5.3, Action selection"),
        {"low": -2.0, "high": 6.0, "pre_tanh": 0.5},
        """Critics see other units: stored transitions and weights cannot be exchanged,
        and wide action ranges enter unscaled.""",
    )


_CRITIC_LOSS = ("thesis, Box 6", "thesis, equation 24")

DETAILS: tuple[Detail, ...] = (
    critics.make_scale_detail("sac.critic_loss.scale", _CRITIC_LOSS),
    critics.make_reduction_detail("sac.critic_loss.reduction", _CRITIC_LOSS),
    critics.make_distance_detail("sac.critic_loss.distance", _CRITIC_LOSS),
    make_detail(
        "sac.target.entropy",
        "Is the entropy term of the target inside the discount?",
        """All target Q networks are constant at ``target_q``; ``batch_size`` equal transitions with
        reward ``reward`` that neither terminate nor truncate; discount ``discount``. """
        + _POLICY
        + critics.TARGET_OBSERVED
        + "Observed, [1]: y.",
        ("thesis, equation 23", "Haarnoja et al. 2019, equations 2 and 3"),
        {"target_q": 2.0, "reward": 0.25, "discount": 0.5, "batch_size": 8} | _SOFT,
        {
            "inside_discount": (
                "r + gamma (Q - alpha log pi)",
                _make_formula_of_soft_target(sac.compute_target_with_entropy_inside),
            ),
            "outside_discount": (
                "r + gamma Q - alpha log pi",
                _make_formula_of_soft_target(sac.compute_target_with_entropy_outside),
            ),
            "none": ("r + gamma Q", lambda i: i["reward"] + i["discount"] * i["target_q"]),
            "flipped": (
                "r + gamma (Q + alpha log pi)",
                lambda i: sac.compute_target_with_entropy_inside(
                    i["reward"], i["target_q"], -i["log_prob"], i["temperature"], i["discount"]
                ),
            ),
        },
        consequence="""Entropy outside the discount adds a bonus of the wrong size to every value,
        also where an episode terminates.""",
    ),
    critics.make_target_minimum_detail(
        "sac.target.minimum",
        ("thesis, equation 23", "Fujimoto et al. 2018"),
        "The policy reports log-probability 0 for every action, so that no entropy enters. ",
        {"log_prob": 0.0},
    ),
    _make_target_bootstrap_detail(),
    _make_temperature_loss_detail(),
    make_detail(
        "sac.temperature.target_entropy",
        "Which target entropy is the default?",
        """Observed, [2]: the target entropy H that the agent uses by default for an action space
        of dimensions[0], and of dimensions[1], dimensions (shape (d,)).""",
        ("thesis, section 3.4.3", "thesis, Table 8", "Haarnoja et al. 2019, appendix D"),
        {"dimensions": [1.0, 3.0]},
        {
            "minus_dimension": ("-dim A", lambda i: -i["dimensions"]),
            "dimension": ("dim A", lambda i: i["dimensions"]),
            "minus_half_dimension": ("-dim A / 2", lambda i: -0.5 * i["dimensions"]),
            "minus_one": ("-1 whatever the dimension", lambda i: np.array([-1.0, -1.0])),
            "zero": ("0", lambda i: np.zeros(2)),
        },
        consequence="The policy settles at another randomness, in returns and in exploration.",
    ),
    sac_policy.make_log_std_detail(),
    *sac_policy.make_log_prob_details(),
    _make_replay_action_detail(),
    _make_actor_loss_detail(),
    critics.make_soft_update_detail(
        "sac.target_update.polyak",
        ("thesis, section 3.2", "thesis, section 5.3, Target network updating"),
        critics.FILLED_CRITICS,
        critics.TARGETS_OF_CRITICS,
        2,
    ),
)
