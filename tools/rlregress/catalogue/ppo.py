"""Proximal policy optimisation: thesis, section 3.4.1 and Boxes 1 to 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rlregress.catalogue import ppo_value
from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import action_transforms, loops, ppo

_NO_NORMALISATION = "Advantages are not normalised (the option is switched off). "


def _make_policy_loss_detail() -> Detail:
    def make_loss_formula(compute_loss: Callable[..., Any], sign: float = 1.0) -> Formula:
        return lambda i: sign * compute_loss(i["ratios"], i["advantages"], i["clip_range"])

    return make_detail(
        "ppo.policy_loss.clip",
        "How is the probability ratio clipped in the policy loss?",
        """One minibatch of 8 samples: sample j has advantage advantages[j] and its stored
        log-probability is the current policy's log-probability of the stored action minus
        log(ratios[j]), so that its ratio is ratios[j]. Clip range ``clip_range``. """
        + _NO_NORMALISATION
        + "Observed, [1]: the policy loss that is minimised, without entropy and value terms.",
        ("thesis, equations 7 to 9", "Schulman et al. 2017, equation 7"),
        {
            "ratios": [0.5, 0.9, 1.1, 1.5, 0.5, 0.9, 1.1, 2.0],
            "advantages": [1.0, 2.0, -1.0, 3.0, -2.0, 0.5, 1.0, -1.0],
            "clip_range": 0.2,
        },
        {
            "pessimistic": (
                "-mean of min(r A, clip(r) A)",
                make_loss_formula(ppo.compute_pessimistic_loss),
            ),
            "no_clip": ("-mean of r A", make_loss_formula(ppo.compute_loss_without_clip)),
            "clip_without_minimum": (
                "-mean of clip(r) A",
                make_loss_formula(ppo.compute_loss_without_minimum),
            ),
            "mean_ratio": (
                "ratio averaged first (equations 8, 9)",
                make_loss_formula(ppo.compute_loss_of_mean_ratio),
            ),
            "optimistic": (
                "-mean of max(r A, clip(r) A)",
                make_loss_formula(ppo.compute_optimistic_loss),
            ),
            "ascent": (
                "the pessimistic loss with the sign flipped",
                make_loss_formula(ppo.compute_pessimistic_loss, -1),
            ),
        },
        consequence="""Without the pessimistic clip the policy can leave the trust region in one
        update.""",
    )


def _make_advantage_normalisation_details() -> list[Detail]:
    def compute_pessimistic_loss(inputs: Inputs, advantages: np.ndarray) -> float:
        return ppo.compute_pessimistic_loss(
            np.full(len(advantages), inputs["ratio"]), advantages, 0.2
        )

    def make_per_minibatch_formula(**options: Any) -> Formula:
        # Any two distinct numbers normalise to the same pair, so one split stands for all.
        return lambda i: compute_pessimistic_loss(
            i, ppo.normalise_advantages(i["advantages"][:2], **options)
        )

    def make_per_batch_formula(**options: Any) -> Formula:
        return lambda i: compute_pessimistic_loss(
            i, ppo.normalise_advantages(i["advantages"], **options)
        )

    feed = """Every stored log-probability is the current one minus log(``ratio``), so that every
        ratio is ``ratio``; clip range 0.2; learning rate 0 or no step between minibatches. """
    return [
        make_detail(
            "ppo.advantage_normalisation",
            "Are advantages normalised, over which samples and with which standard deviation?",
            """A rollout of 4 samples with ``advantages`` is used for one epoch in two
            minibatches of 2 (the result does not depend on how they are drawn), normalisation as
            it is by default in this scope. """
            + feed
            + "Observed, [1]: the mean over the two minibatches of the policy loss.",
            ("thesis, equation 3", "thesis, section 5.1", "The 32 details of PPO, general, 3"),
            {"advantages": [1.0, 2.0, 3.0, 10.0], "ratio": 2.0, "minibatch_size": 2},
            {
                "minibatch_ddof1": (
                    "per minibatch, divisor n - 1",
                    make_per_minibatch_formula(ddof=1),
                ),
                "minibatch_ddof0": ("per minibatch, divisor n", make_per_minibatch_formula(ddof=0)),
                "batch_ddof1": (
                    "over the whole rollout, divisor n - 1",
                    make_per_batch_formula(ddof=1),
                ),
                "batch_ddof0": (
                    "over the whole rollout, divisor n",
                    make_per_batch_formula(ddof=0),
                ),
                "off": ("not normalised", lambda i: compute_pessimistic_loss(i, i["advantages"])),
            },
            consequence="""Gradients scale with the reward where it is off; over the whole batch
            instead of the minibatch the same sample gets another weight.""",
        ),
        make_detail(
            "ppo.advantage_normalisation.epsilon",
            "What keeps the normalisation of advantages from a division by zero?",
            """One minibatch of 2 samples with the nearly equal ``advantages``; normalisation is
            switched on, in the place where this scope does it. """
            + feed
            + "Observed, [1]: the policy loss.",
            ("thesis, equation 3",),
            {"advantages": [-1e-8, 1e-8], "ratio": 2.0},
            {
                "added_1e-8": ("std + 1e-8", make_per_batch_formula(std_epsilon=1e-8)),
                "added_1e-5": ("std + 1e-5", make_per_batch_formula(std_epsilon=1e-5)),
                "clamped_1e-6": ("max(std, 1e-6)", make_per_batch_formula(minimum=1e-6)),
                "clamped_1e-4": ("max(std, 1e-4)", make_per_batch_formula(minimum=1e-4)),
                "none": ("std alone", make_per_batch_formula()),
            },
            tolerance=1e-6,
            consequence="""Matters where advantages are nearly equal: sparse rewards are amplified
            more or less.""",
        ),
    ]


def _make_initialisation_detail() -> Detail:
    root2 = float(np.sqrt(2.0))

    def make_orthogonal_formula(policy_gains: list[float], value_gains: list[float]) -> Formula:
        return lambda i: loops.compute_orthogonal_singular_values(
            np.array(policy_gains + value_gains)
        )

    return make_detail(
        "ppo.initialisation",
        "With which gains are the layers of policy and value networks initialised?",
        """Fresh networks with two hidden layers of ``hidden`` units each for policy and value, the
        initialisation of this scope, an observation space of ``observation_dimensions`` and an
        action space of ``action_dimensions`` dimensions. Observed, [13]: smallest and largest
        singular value of the weight of policy layer 1, policy layer 2, the policy's last layer (the
        one that gives the mean), value layer 1, value layer 2, the value's last layer; then the
        largest absolute bias over these six layers. If the largest singular
        value of any layer is more than 1 % above its smallest, the layers are no multiples of
        orthogonal ones: then in the place of both stands, for every layer, minus its largest
        absolute weight times the square root of its number of inputs, rounded to a tenth. If the
        biases of a layer differ, the last component is -1.""",
        ("thesis, Box 1", "The 32 details of PPO, general, 9"),
        {"hidden": 64, "observation_dimensions": 3, "action_dimensions": 2},
        {
            "policy_0.01_value_1": (
                "orthogonal: hidden sqrt 2, policy last 0.01, value last 1",
                make_orthogonal_formula([root2, root2, 0.01], [root2, root2, 1.0]),
            ),
            "policy_1_value_0.01": (
                "orthogonal: hidden sqrt 2, policy last 1, value last 0.01 (Box 1 as printed)",
                make_orthogonal_formula([root2, root2, 1.0], [root2, root2, 0.01]),
            ),
            "all_policy_1_all_value_0.01": (
                "orthogonal: every policy layer 1, every value layer 0.01",
                make_orthogonal_formula([1.0] * 3, [0.01] * 3),
            ),
            "torch_default": (
                "no layer orthogonal: uniform up to 1 / sqrt(inputs), biases too (PyTorch's own)",
                lambda i: -np.ones(13),
            ),
            "all_sqrt2": (
                "orthogonal: sqrt 2 everywhere",
                make_orthogonal_formula([root2] * 3, [root2] * 3),
            ),
            "all_1": ("orthogonal: 1 everywhere", make_orthogonal_formula([1.0] * 3, [1.0] * 3)),
        },
        consequence="""First actions are nearly the mean or spread out, and first values nearly zero
        or not: early learning differs.""",
    )


def _make_action_bounding_detail() -> Detail:
    def make_actions_formula(executed: Formula, stored: Formula) -> Formula:
        return lambda i: np.concatenate([executed(i), stored(i)])

    def get_samples(inputs: Inputs) -> np.ndarray:
        return np.asarray(inputs["samples"])

    def clip_samples(inputs: Inputs) -> np.ndarray:
        return action_transforms.clip_to_bounds(inputs["samples"], inputs["low"], inputs["high"])

    def squash_samples(inputs: Inputs) -> np.ndarray:
        return action_transforms.squash_and_unscale(
            inputs["samples"], inputs["low"], inputs["high"]
        )

    return make_detail(
        "ppo.action.bounding",
        "How is a sampled action bounded during a rollout, and which one is stored?",
        """One action dimension with bounds [``low``, ``high``]. For each x of ``samples``: the
        Gaussian of the policy has mean x before any squashing and a negligible standard
        deviation (below 1e-5), and one step of the framework's rollout is made. Observed, [6]:
        the action that the environment received per x, then the action that is stored for the
        update per x.""",
        ("thesis, Box 2", "The 32 details of PPO, MuJoCo, 8"),
        {"low": -2.0, "high": 6.0, "samples": [9.0, -5.0, 0.5]},
        {
            "clip_stored_raw": (
                "hard clip, stored unclipped",
                make_actions_formula(clip_samples, get_samples),
            ),
            "clip_stored_clipped": (
                "hard clip, stored clipped",
                make_actions_formula(clip_samples, clip_samples),
            ),
            "tanh_unscale": (
                "unscale(tanh(x)), stored as executed",
                make_actions_formula(squash_samples, squash_samples),
            ),
            "tanh_unscale_stored_raw": (
                "unscale(tanh(x)), stored as x",
                make_actions_formula(squash_samples, get_samples),
            ),
            "none": ("not bounded", make_actions_formula(get_samples, get_samples)),
        },
        tolerance=1e-4,
        margin=10.0,
        consequence="""Clipped and squashed policies explore differently near the bounds, and their
        weights cannot be exchanged.""",
    )


def _make_entropy_details() -> list[Detail]:
    def make_gradient_formula(sign: float) -> Formula:
        return lambda i: sign * i["coefficient"]

    return [
        make_detail(
            "ppo.entropy.bonus",
            "Does the entropy term reward entropy?",
            """A Gaussian policy of one dimension, without squashing, whose log standard
            deviation is one state-independent number; 8 samples with advantage 0, ratio 1,
            values equal to returns; normalisation of advantages off, gradients not clipped;
            entropy coefficient ``coefficient``. Observed, [1]: the derivative of the total loss
            that is minimised with respect to the log standard deviation (the entropy's own
            derivative is 1).""",
            ("thesis, section 3.4.1", "The 32 details of PPO, general, 5"),
            {"coefficient": 0.25},
            {
                "bonus": ("-coefficient * entropy in the loss", make_gradient_formula(-1.0)),
                "penalty": ("+coefficient * entropy in the loss", make_gradient_formula(1.0)),
                "none": ("no entropy term", make_gradient_formula(0.0)),
            },
            consequence="A penalty in place of a bonus makes the policy deterministic at once.",
        ),
        make_detail(
            "ppo.entropy.coefficient",
            "Which coefficient has the entropy bonus by default?",
            "Observed, [1]: the default entropy coefficient in this scope.",
            ("thesis, Table 6", "The 32 details of PPO, general, 5"),
            {},
            {
                "zero": ("0", lambda i: 0.0),
                "0.01": ("0.01", lambda i: 0.01),
                "0.001": ("0.001", lambda i: 0.001),
            },
            consequence="The policy keeps more or less exploration.",
        ),
    ]


def _make_optimiser_details() -> list[Detail]:
    def make_clipped_norm_formula(max_norm: float, is_separate: bool) -> Formula:
        def compute_clipped_norm(inputs: Inputs) -> float:
            gradient = [np.full(1, inputs["raw_norm"])]
            once = ppo.clip_gradients_by_joint_norm(gradient, max_norm)
            clipped = (
                once * 2
                if is_separate
                else ppo.clip_gradients_by_joint_norm(gradient * 2, max_norm)
            )
            return min(float(np.sqrt(sum(np.sum(g**2) for g in clipped))), float(inputs["cap"]))

        return compute_clipped_norm

    return [
        make_detail(
            "ppo.gradient_clip",
            "Is the gradient norm clipped by default, and over which parameters?",
            """One update on a minibatch that gives both the policy parameters and the value
            parameters a gradient norm above ``raw_norm``, the clip as it is by default in this
            scope. Observed, [1]: the Euclidean norm of all gradients together as the optimiser
            step receives them, or ``cap`` if it is greater.""",
            ("thesis, section 5.1, Gradient clipping", "The 32 details of PPO, general, 8"),
            {"raw_norm": 100.0, "cap": 3.0},
            {
                "joint_0.5": (
                    "one norm over all parameters, 0.5",
                    make_clipped_norm_formula(0.5, False),
                ),
                "separate_0.5": (
                    "policy and value apart, 0.5 each",
                    make_clipped_norm_formula(0.5, True),
                ),
                "joint_1": (
                    "one norm over all parameters, 1",
                    make_clipped_norm_formula(1.0, False),
                ),
                "separate_1": (
                    "policy and value apart, 1 each",
                    make_clipped_norm_formula(1.0, True),
                ),
                "none": ("not clipped", make_clipped_norm_formula(np.inf, False)),
            },
            consequence="One bad minibatch can move the networks far, or not.",
        ),
        make_detail(
            "ppo.adam.epsilon",
            "Which epsilon does Adam use by default?",
            """Observed, [1]: log10 of the epsilon of the optimiser (an Adam) of this scope; 0.0
            where it does not hold all parameters of policy and value, or holds others.""",
            ("The 32 details of PPO, general, 11",),
            {},
            {
                "1e-5": ("1e-5", lambda i: -5.0),
                "1e-8": ("1e-8, the library's default", lambda i: -8.0),
                "1e-4": ("1e-4", lambda i: -4.0),
            },
            consequence="Steps of parameters with tiny gradients are larger or smaller.",
        ),
    ]


DETAILS: tuple[Detail, ...] = (
    _make_policy_loss_detail(),
    *_make_advantage_normalisation_details(),
    *ppo_value.make_value_loss_details(),
    _make_initialisation_detail(),
    _make_action_bounding_detail(),
    *_make_entropy_details(),
    *_make_optimiser_details(),
)
