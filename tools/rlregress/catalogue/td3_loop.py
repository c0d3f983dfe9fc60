"""Loop of twin delayed deep deterministic policy gradient: counts, exploration, optimisers."""

from __future__ import annotations

import math

from rlregress.catalogue import off_policy, off_policy_agent
from rlregress.catalogue.registry import Detail, Formula, make_detail
from rlregress.measurements.spread import SILENT

_DELAY = "thesis, section 5.2, Update delay"
_ACTION = "thesis, section 5.2, Action selection"
_MODEL = "thesis, section 5.2, Model definition"


def _make_replay_action_detail() -> Detail:
    return off_policy.make_replay_action_detail(
        "td3.replay.action",
        """The environment has one action dimension with bounds [``low``, ``high``]. The last layer
        of the policy outputs ``pre_tanh`` in every state; exploration noise is set to zero. One
        step of the framework's own collection, past any random warm-up. Observed, [2]: the action
        that the environment received, the action in the buffer.""",
        ("thesis, Box 4", _ACTION),
        {"low": -2.0, "high": 6.0, "pre_tanh": 0.5, "batch_size": 5},
        """Q networks that see actions in wide units have a steeper surface: the same
        noise and learning rate then mean something else per environment.""",
    )


def _make_exploration_default_detail() -> Detail:
    def make_log2_deviation_formula(deviation: float) -> Formula:
        return lambda i: math.log2(deviation)

    return make_detail(
        "td3.exploration.default",
        "Is exploration noise on by default, and how large is it?",
        """One action dimension with bounds -1 and 1; the policy's action is 0 in every state;
        nothing is set for the noise. ``samples`` actions of the framework's own exploring policy,
        past any random warm-up. Observed, [1]: the base-2 logarithm of the root of their mean
        square, -10 at least.""",
        ("thesis, Table 7", _ACTION, "Fujimoto et al. 2018, section 6.1"),
        {"samples": 60, "batch_size": 5},
        {
            "none": ("there is none", lambda i: SILENT),
            "tenth": ("a standard deviation of 0.1", make_log2_deviation_formula(0.1)),
            "fifth": ("a standard deviation of 0.2", make_log2_deviation_formula(0.2)),
            "unit": (
                "a standard deviation of 1, clipped to the bounds",
                # E[min(z^2, 1)] for a standard normal z is 0.5161
                make_log2_deviation_formula(0.7184),
            ),
        },
        # the logarithm of 60 normal numbers' spread has a standard error of 0.13: 3.4 of them
        tolerance=0.45,
        margin=1.2,
        scales=(1.0,),
        consequence="""Without noise a deterministic policy never tries anything else after the
        warm-up, and learns from its own habits alone.""",
    )


DETAILS: tuple[Detail, ...] = (
    off_policy.make_update_ratio_detail(
        "td3.update_ratio", "updates of the Q networks", 1, (_DELAY, "thesis, Table 7"), {}
    ),
    off_policy.make_learning_starts_detail("td3.learning_starts", (_DELAY, "thesis, Table 7")),
    off_policy.make_vectorisation_detail(
        "td3.vectorisation", ("thesis, section 5.2, Vectorization", "thesis, appendix C.2")
    ),
    _make_replay_action_detail(),
    _make_exploration_default_detail(),
    make_detail(
        "td3.exploration.environments",
        "Does every parallel environment get exploration noise of its own?",
        """``environments`` parallel environments (one, where a program has no setting for more)
        with one action dimension, a policy that is 0 in every state, Gaussian exploration noise of
        standard deviation 0.1. ``steps`` vectorised steps of the framework's own collection, past
        the warm-up. Observed, [2]: environments stepped; the root of the mean over steps of the
        variance over environments (divisor n - 1; 0 for one environment), over the root mean square
        of all actions, -1 where that is 0.""",
        ("001, note on vectorised environments", "thesis, section 5.2, Vectorization"),
        {"environments": 4, "steps": 15, "batch_size": 5},
        {
            "own_noise": ("a draw per environment", lambda i: [i["environments"], 1.0]),
            "shared_noise": ("one draw for all of them", lambda i: [i["environments"], 0.0]),
            "no_noise": ("there is no noise", lambda i: [i["environments"], -1.0]),
            "one_environment": ("there can be one environment only", lambda i: [1.0, 0.0]),
        },
        # a ratio of two spreads of 60 and 15 x 3 numbers: a standard error of 5 %. Of 50 seeds one
        # was 18 % away.
        tolerance=0.3,
        margin=2.0,
        scales=(1.0, 1.0),
        consequence="""Environments that share their noise explore the same way at the same time: n
        environments then bring less than n times the variety.""",
    ),
    make_detail(
        "td3.exploration.warmup",
        "Is exploration noise added to the random actions of the warm-up too?",
        """One action dimension with bounds -1 and 1. Exploration noise is switched on and so large
        (``noise``, or a standard deviation of 1000 times that where its draw cannot be fixed) that
        every action with noise is clipped to a bound. ``steps`` steps of the warm-up. Observed,
        [1]: the fraction of its actions that lie on a bound.""",
        ("Fujimoto et al. 2018, section 6.1",),
        {"noise": 5.0, "steps": 10, "collected_at_once": 5, "batch_size": 5},
        {
            "uniform": ("no: they are uniform", lambda i: 0.0),
            "noisy": ("yes, and clipped to the bounds", lambda i: 1.0),
        },
        # some may lie on a bound by chance only with probability 0
        tolerance=0.02,
        consequence="""Clipped noise on uniform actions heaps the first transitions on the bounds,
        and correlated noise makes the warm-up correlated.""",
    ),
    off_policy_agent.make_networks_detail("td3.networks", (_MODEL, "thesis, Table 7")),
    off_policy_agent.make_gradient_clip_detail(
        "td3.gradient_clip", ("001, general detail 8", "Fujimoto et al. 2018")
    ),
    off_policy_agent.make_adam_epsilon_detail(
        "td3.adam.epsilon",
        "of the Q networks, of the policy",
        2,
        ("001, general detail 11", "thesis, Table 7"),
    ),
)
