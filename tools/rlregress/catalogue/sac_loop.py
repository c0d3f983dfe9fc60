"""Loop of soft actor-critic: order and number of updates, optimisers, data collection."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue import off_policy, off_policy_agent
from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail
from rlregress.formulas import loops

_DELAY = "thesis, section 5.3, Updating delay"
_MODEL = "Haarnoja et al. 2019, appendix D"


def _make_temperature_rate_detail() -> Detail:
    def make_rate_formula(rate: str | float, remaining_share: float = 1.0) -> Formula:
        return lambda i: [
            np.log10(i[rate] if isinstance(rate, str) else rate),
            remaining_share,
            1.0,
            1.0,
        ]

    return make_detail(
        "sac.temperature.learning_rate",
        "Which learning rate does the temperature have, and is it annealed?",
        """The learning rate of the policy is set to ``policy_rate``, that of the Q networks to
        ``critic_rate`` (where they share one setting: to ``policy_rate``), nothing else; the
        policy's log-probability is ``log_prob`` in all states, so that the gradient of log alpha is
        constant and Adam moves log alpha by its learning rate. A run of the framework's own loop
        with ``steps`` steps, an update after each. Observed, [4]: the logarithm to base 10 of the
        first change of log alpha; its last change over its first; the learning rate with which the
        Q networks are stepped at last, over the one that was set for them; the same of the
        policy.""",
        ("thesis, section 5.3, Learning rate hyperparameter", "thesis, section 6.1, Table 8"),
        {
            "policy_rate": 0.002,
            "critic_rate": 0.005,
            "log_prob": -1.7,
            "steps": 8,
            "batch_size": 2,
            "collected_at_once": 4,
        },
        {
            "policy_rate": ("the policy's, constant", make_rate_formula("policy_rate")),
            "critic_rate": ("that of the Q networks, constant", make_rate_formula("critic_rate")),
            "own_3e-4": ("its own, 3e-4, constant", make_rate_formula(3e-4)),
            "own_1e-3": ("its own, 1e-3, constant", make_rate_formula(1e-3)),
            "annealed_from_1": ("annealed linearly from 1.0", make_rate_formula(1.0, 0.0)),
            "constant_1": ("1.0, constant", make_rate_formula(1.0)),
            "policy_rate_annealed": (
                "the policy's, annealed to 0",
                make_rate_formula("policy_rate", 0.0),
            ),
            "critic_rate_annealed": (
                "that of the Q networks, annealed",
                make_rate_formula("critic_rate", 0.0),
            ),
            "own_3e-4_annealed": ("3e-4, annealed to 0", make_rate_formula(3e-4, 0.0)),
        },
        # the first update of an annealed rate may come a step after the start
        tolerance=0.06,
        margin=4.0,
        scales=(1.0, 1.0, 1.0, 1.0),
        consequence="""The temperature sets how much noise the policy keeps: with another rate
        exploration ends earlier or later, at the same settings.""",
    )


def _make_update_schedule_detail() -> Detail:
    def make_counts_formula(
        critic: float, policy: float, temperature: float, target: float, burst: float
    ) -> Formula:
        return lambda i: [*(i["counted"] * np.array([critic, policy, temperature, target])), burst]

    return make_detail(
        "sac.update_schedule",
        "How many updates of which part fall on the environment steps past the warm-up?",
        off_policy.LOOP
        + """One environment, learning starts after ``starts`` steps, ``steps`` steps in all, of
        which the last ``counted`` are looked at. Observed, [5]: updates of the Q networks, of the
        policy, of the temperature, changes of the target networks (looked at before each update of
        the Q networks and at the end); the largest number of policy updates without an update of
        the Q networks between them.""",
        (_DELAY, "Haarnoja et al. 2019, algorithm 1"),
        {"starts": 10, "steps": 20, "counted": 8} | off_policy.COUNTS,
        {
            "one_of_each": ("one of each per step", make_counts_formula(1, 1, 1, 1, 1)),
            "pairs": (
                "one of each per step on average: after every second update of the Q networks two "
                "of policy and temperature on the same batch",
                make_counts_formula(1, 1, 1, 1, 2),
            ),
            "policy_delayed": (
                "policy and temperature every second step",
                make_counts_formula(1, 0.5, 0.5, 1, 1),
            ),
            "policy_and_target_delayed": (
                "policy, temperature and target networks every second step",
                make_counts_formula(1, 0.5, 0.5, 0.5, 1),
            ),
            "all_every_second_step": (
                "one of each every second step",
                make_counts_formula(0.5, 0.5, 0.5, 0.5, 1),
            ),
            "target_delayed": (
                "target networks every second step",
                make_counts_formula(1, 1, 1, 0.5, 1),
            ),
            "temperature_delayed": (
                "temperature every second step",
                make_counts_formula(1, 1, 0.5, 1, 1),
            ),
            "temperature_fixed": (
                "the temperature is not trained",
                make_counts_formula(1, 1, 0, 1, 1),
            ),
            "pairs_temperature_once": (
                "as pairs, the temperature once per pair",
                make_counts_formula(1, 1, 0.5, 1, 2),
            ),
        },
        consequence="""Fewer updates of the policy per update of the Q networks make a slower and
        steadier policy; pairs on one batch follow that batch twice.""",
    )


def _make_reward_scaling_detail() -> Detail:
    def make_stored_and_target_formula(stored: float, target: float) -> Formula:
        return lambda i: [stored * i["reward"], target * i["reward"]]

    return make_detail(
        "sac.reward_scaling",
        "Is the reward scaled before the Q networks see it?",
        """Every step of the environment earns ``reward`` and terminates. The framework's own loop
        collects and stores some steps, and updates. Observed, [2]: the reward in the replay buffer;
        the regression target of the Q networks.""",
        ("thesis, section 6.1, Table 8", "Haarnoja et al. 2018, section 5"),
        {"reward": 3.0, "batch_size": 5},
        {
            "none": ("no", make_stored_and_target_formula(1.0, 1.0)),
            "five": ("by 5, when it is used", make_stored_and_target_formula(1.0, 5.0)),
            "five_stored": ("by 5, when it is stored", make_stored_and_target_formula(5.0, 5.0)),
            "tenth": ("by 0.1, when it is used", make_stored_and_target_formula(1.0, 0.1)),
            "tenth_stored": ("by 0.1, when it is stored", make_stored_and_target_formula(0.1, 0.1)),
            "sign_stored": ("only its sign is stored", lambda i: [1.0, 1.0]),
            "centred": (
                "the mean is subtracted when it is used",
                make_stored_and_target_formula(1.0, 0.0),
            ),
        },
        consequence="""With a fixed temperature the scale of the rewards decides between exploring
        and exploiting; with a trained one it shifts the balance at the start.""",
    )


def _make_target_interval_detail() -> Detail:
    def make_target_changes_formula(offset: int = 0, interval: int | None = None) -> Formula:
        def mark_target_changes(inputs: Inputs) -> np.ndarray:
            return loops.mark_multiples_of_interval(
                int(inputs["updates"]), interval or int(inputs["interval"]), offset
            )

        return mark_target_changes

    return make_detail(
        "sac.target_update.interval",
        "Does the setting for the interval between updates of the target networks have an effect?",
        off_policy.LOOP
        + """One environment, learning starts at once. The framework's setting for the number of
        updates between two updates of the target networks is ``interval`` (where there is none,
        nothing is set). Observed, [6]: for the first ``updates`` updates of the Q networks
        1.0 if the target networks changed after it and before the next one, else 0.0.""",
        ("thesis, Table 8, Target network update interval",),
        # 0.4.8 of CleanRL updates from the step after the third: a multiple of the interval
        {"interval": 3, "updates": 6, "batch_size": 3, "collected_at_once": 6},
        {
            "every_update": (
                "no: they move at every update",
                make_target_changes_formula(interval=1),
            ),
            "at_multiples": ("they move at the updates 3 and 6", make_target_changes_formula()),
            "from_first": ("they move at the updates 1 and 4", make_target_changes_formula(2)),
            "from_second": ("they move at the updates 2 and 5", make_target_changes_formula(1)),
            "never": ("they do not move in that time", lambda i: np.zeros(int(i["updates"]))),
        },
        consequence="""Whoever slows the target networks down to stabilise training gets the same
        training as before.""",
    )


DETAILS: tuple[Detail, ...] = (
    make_detail(
        "sac.update_order",
        "Does the policy's loss see the updated Q networks, and who sees the updated temperature?",
        """One update of the framework's own loop (the policy's first one, where an update holds
        several), all learning rates ``learning_rate``, the temperature is trained. Before it, the Q
        networks are 0 everywhere and the target networks ``target_q``; the policy's log-probability
        is the same in all states. Observed, [3]: 1.0 if the policy's loss is computed with the Q
        networks as they are after their step in this update, and 0.0 if with those before it; the
        same of the temperature in the target of the Q networks; the same of the temperature in the
        policy's loss.""",
        ("thesis, section 3.4.3, algorithm 3", "Haarnoja et al. 2019, algorithm 1"),
        {
            "learning_rate": 0.1,
            "target_q": 5.0,
            "reward": 1.0,
            "discount": 0.5,
            "log_prob": -1.7,
            "batch_size": 5,
        },
        {
            "critic_first": (
                "the policy's loss sees the updated Q networks, both losses the old temperature",
                make_constant_formula(1.0, 0.0, 0.0),
            ),
            "joint": (
                "all losses are computed with the parameters of before the update",
                make_constant_formula(0.0, 0.0, 0.0),
            ),
            "critic_temperature_policy": (
                "Q networks, then temperature, then policy, each with what has been updated",
                make_constant_formula(1.0, 0.0, 1.0),
            ),
            "temperature_critic_policy": (
                "temperature, then Q networks, then policy, each with what has been updated",
                make_constant_formula(1.0, 1.0, 1.0),
            ),
            "temperature_first": (
                "the temperature first, Q networks and policy with the old Q networks",
                make_constant_formula(0.0, 1.0, 1.0),
            ),
            "fresh_temperature_in_target": (
                "the new temperature in the target only, the policy sees the updated Q networks",
                make_constant_formula(1.0, 1.0, 0.0),
            ),
        },
        consequence="""In a joint step the policy follows Q networks that are one update old; a
        temperature that is one update old only matters while it changes fast.""",
    ),
    _make_update_schedule_detail(),
    off_policy.make_update_ratio_detail(
        "sac.update_ratio",
        "updates of the Q networks, then of the policy,",
        2,
        (_DELAY, "thesis, Table 8"),
        {"policy_every_second_step": lambda i: [1.0, 0.5, 1.0, 0.25, 1.0, 1.0]},
    ),
    off_policy.make_learning_starts_detail("sac.learning_starts", (_DELAY, "thesis, Table 8")),
    off_policy.make_vectorisation_detail(
        "sac.vectorisation", ("thesis, section 5.3, Vectorization", "thesis, appendix C.2")
    ),
    _make_temperature_rate_detail(),
    make_detail(
        "sac.temperature.initial",
        "From which temperature does automatic tuning start, and can that be set?",
        """The temperature is trained. Observed, [2]: alpha before any update by default; alpha
        before any update where the user asks for ``asked`` by the setting that the framework has
        for the temperature's value.""",
        ("thesis, Table 8", "thesis, section 5.3, Learning rate hyperparameter"),
        {"asked": 0.2},
        {
            "one_or_asked": ("1.0, or what is asked for", lambda i: [1.0, i["asked"]]),
            "one_always": ("1.0, whatever is asked for", lambda i: [1.0, 1.0]),
            "asked_is_logarithm": (
                "1.0; what is asked for is taken for log alpha",
                lambda i: [1.0, np.exp(i["asked"])],
            ),
            "one_tenth_or_asked": ("0.1, or what is asked for", lambda i: [0.1, i["asked"]]),
            "asked_value_by_default": ("0.2 by default as well", lambda i: [0.2, i["asked"]]),
            "half_or_asked": ("0.5, or what is asked for", lambda i: [0.5, i["asked"]]),
        },
        consequence="""A start that is ignored makes a sweep over the temperature a sweep over
        nothing; a start five times higher explores longer.""",
    ),
    _make_target_interval_detail(),
    _make_reward_scaling_detail(),
    off_policy_agent.make_networks_detail("sac.networks", ("thesis, Table 8", _MODEL)),
    off_policy_agent.make_initialisation_detail(),
    off_policy_agent.make_gradient_clip_detail(
        "sac.gradient_clip", ("001, general detail 8", "thesis, section 5.3")
    ),
    off_policy_agent.make_adam_epsilon_detail(
        "sac.adam.epsilon",
        "of the Q networks, of the policy, of the temperature",
        3,
        ("001, general detail 11", "thesis, Table 8"),
    ),
)
