"""Traps in policies and networks: actions played and scored, initialisation."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Inputs, make_constant_formula, make_detail

_BOUNDS = {"low": -2.0, "high": 6.0}


def _compute_action_with_centre_in_tanh(inputs: Inputs) -> float:
    centre, half = 0.5 * (inputs["low"] + inputs["high"]), 0.5 * (inputs["high"] - inputs["low"])
    return float(centre + half * np.tanh(centre))


def _make_centre_of_actions_detail(id: str, policy: str, description: str) -> Detail:
    return make_detail(
        id,
        f"Does {policy} play the middle of asymmetric action bounds for an output of 0?",
        f"""One action dimension with bounds [``low``, ``high``]. {description}
        Observed, [1]: the action in the environment's units.""",
        ("thesis, Boxes 4 and 5",),
        _BOUNDS,
        {
            "middle": ("yes", lambda i: 0.5 * (i["low"] + i["high"])),
            "shifted": (
                "no: the middle is added before the tanh, which saturates near a bound",
                _compute_action_with_centre_in_tanh,
            ),
            "zero": ("no: 0, the bounds are not used", lambda i: 0.0),
            "low": ("no: the lower bound", lambda i: i["low"]),
        },
        consequence="""Where the middle is added before the tanh, a policy on asymmetric bounds
        starts close to one of them, where its gradient vanishes.""",
    )


def _make_exploration_draw_detail() -> Detail:
    def compute_probability_of_mixed_steps(inputs: Inputs) -> float:
        n = inputs["environments"]
        return float(1.0 - inputs["epsilon"] ** n - (1.0 - inputs["epsilon"]) ** n)

    return make_detail(
        "dqn.exploration.draw",
        "Does each environment of a vectorised one decide by itself whether it explores?",
        """``environments`` environments side by side, ``actions`` discrete actions, epsilon
        ``epsilon``. Actions are asked for ``calls`` times; an action that is not the greedy one
        counts as random. Observed, [1]: the share of calls in which some environments act greedily
        and others randomly.""",
        ("Mnih et al. 2015, methods",),
        {"environments": 8, "actions": 5000, "epsilon": 0.5, "calls": 200, "seed": 0},
        {
            "each": ("yes", compute_probability_of_mixed_steps),
            "shared": ("no: one draw for all of them", lambda i: 0.0),
        },
        # P(mixed) = 0.992 has a standard deviation of 0.006, P(random = greedy) is 0.0016 a call
        tolerance=0.025,
        consequence="""With one draw for all, the steps of a rollout are all random or all greedy:
        the transitions stored together are far more alike.""",
    )


DETAILS: tuple[Detail, ...] = (
    _make_centre_of_actions_detail(
        "policy.centre.deterministic",
        "a deterministic tanh policy",
        "The last layer of the actor gives 0; where there is a module that maps it to the bounds "
        "as a distribution, that one is used.",
    ),
    _make_centre_of_actions_detail(
        "policy.centre.gaussian",
        "the mode of a tanh Gaussian policy",
        "The location before the tanh is 0; where there is a switch that also bounds the location, "
        "it is on.",
    ),
    make_detail(
        "policy.out_of_bounds",
        "What does the environment receive when a plain Gaussian policy leaves the action bounds?",
        """One action dimension with bounds [``low``, ``high``]; a Gaussian policy without a tanh,
        with mean ``mean`` and a negligible standard deviation. One step of the framework's own
        collection. Observed, [1]: the action that the environment receives.""",
        ("thesis, Box 2", "the 32 details, MuJoCo 8"),
        {"low": -0.5, "high": 0.5, "mean": 0.8},
        {
            "clipped": ("the nearest bound", lambda i: i["high"]),
            "as_sampled": ("the action as it was sampled", lambda i: i["mean"]),
            "squashed": (
                "the tanh of the sample, between the bounds",
                lambda i: i["high"] * np.tanh(i["mean"]),
            ),
        },
        tolerance=1e-3,
        consequence="""What an environment does beyond its bounds is undefined: some clip, some
        fail, some simulate forces that do not exist.""",
    ),
    make_detail(
        "policy.stored_log_prob",
        "Is the ratio of an unchanged policy 1 for actions that were stored at the very bounds?",
        """One action dimension with bounds [-1, 1]; the policy that on-policy training uses on
        bounded actions, a Gaussian with mean ``mean`` and standard deviation 1 (before the tanh,
        if there is one). ``count`` actions are sampled, and stored with the log-probability that
        is reported with them; the policy then scores the stored actions. Observed, [1]: the share
        of actions whose two log-probabilities differ by more than 0.01.""",
        ("thesis, equation 6", "docstring of rsample_and_log_prob"),
        {"mean": 10.0, "count": 128, "seed": 0},
        {
            "exact": ("yes", lambda i: 0.0),
            "differs": ("no: the sample cannot be found again from the action", lambda i: 1.0),
        },
        tolerance=0.04,
        consequence="""The first epoch already clips, or pushes, on ratios that no update has
        caused, as soon as a tanh policy saturates.""",
    ),
    make_detail(
        "policy.exported",
        "Does an exported policy act as the one in the agent?",
        """Policies with each distribution and each memory that there is, and without either, with
        normalised observations; each is trained for a moment and exported in each way. It acts
        for ``steps`` observations, is reset, and acts for the same ones again. Observed, [3]: 1 if
        every exported policy plays the action that the agent's own plays without exploration, else
        0, in the first step, in the steps after it, and after the reset.""",
        ("documentation of each framework",),
        {"steps": 4},
        {
            "same": ("yes", make_constant_formula(1.0, 1.0, 1.0)),
            "never_reset": ("not after a reset", make_constant_formula(1.0, 1.0, 0.0)),
            "forgets": (
                "in the first step of an episode alone",
                make_constant_formula(1.0, 0.0, 1.0),
            ),
            "differs": ("no", make_constant_formula(0.0, 0.0, 0.0)),
        },
        consequence="""What runs on the robot is not what was trained.""",
    ),
    make_detail(
        "networks.single_critic",
        "Does a Q network that is passed once keep its initial weights in every copy?",
        """One Q network with the given ``weights`` is passed to a loss that trains two. Observed,
        [2]: 1 if the first copy has these weights, else 0; the same of the second.""",
        ("docstring of LossModule.convert_to_functional",),
        {"weights": [0.2, -0.7]},
        {
            "kept": ("both copies start with these weights", lambda i: [1.0, 1.0]),
            "first_kept": ("the first does, the second is drawn anew", lambda i: [1.0, 0.0]),
            "resampled": (
                "none: both are drawn anew, uniformly between the least and the largest weight",
                lambda i: [0.0, 0.0],
            ),
        },
        consequence="""An orthogonal or otherwise chosen initialisation, or pretrained weights, are
        lost without a word.""",
    ),
    make_detail(
        "networks.critic_count",
        "How many Q networks do SAC and TD3 train by default?",
        """Observed, [2]: Q networks that SAC, and that TD3, trains with default settings.""",
        ("thesis, sections 3.4.2 and 3.4.3", "docstring of TD3Loss"),
        {},
        {
            "two": ("two each", lambda i: [2.0, 2.0]),
            "ten_in_td3": ("two and ten", lambda i: [2.0, 10.0]),
            "one": ("one each", lambda i: [1.0, 1.0]),
        },
        consequence="The minimum over more networks underestimates more, and training costs more.",
    ),
    _make_exploration_draw_detail(),
)
