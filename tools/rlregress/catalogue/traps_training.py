"""Traps in training loops: collection, target copies, clipping switches, logs."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, make_constant_formula, make_detail

DETAILS: tuple[Detail, ...] = (
    make_detail(
        "target.hard_update_period",
        "Is a target network that is copied every k updates copied every k updates?",
        """The parameter for the period of hard target updates is ``interval``; whatever counts
        towards it (steps of the environment or updates) happens one by one. Observed, [2]: from
        the first copy to the second, and from the second to the third, counted in these.""",
        ("Mnih et al. 2015, algorithm 1", "thesis, equation 12"),
        {"interval": 3, "steps": 16},
        {
            "interval": ("yes", lambda i: [i["interval"]] * 2),
            "interval_plus_one": ("every k + 1", lambda i: [i["interval"] + 1.0] * 2),
            "interval_minus_one": ("every k - 1", lambda i: [i["interval"] - 1.0] * 2),
            "always": ("at every one", lambda i: [1.0, 1.0]),
        },
        consequence="""One more than the period hardly matters at 10000, doubles it at 1, and shifts
        every comparison with another framework.""",
    ),
    make_detail(
        "collection.truncated_flags",
        "Which of the steps of a batch inside an episode are stored as truncated?",
        """One batch of ``steps`` steps of one environment is collected and stored by the
        framework's own training; no episode ends. Observed, [4]: the truncation flag of every
        step in the replay buffer, in order; -1 where the buffer has no such flag.""",
        ("Pardo et al. 2018",),
        {"steps": 4},
        {
            "none": ("none", lambda i: np.zeros(4)),
            "last": ("the last one, where the batch is cut", lambda i: [0.0, 0.0, 0.0, 1.0]),
            "all": ("all of them", lambda i: np.ones(4)),
            "no_flag": ("the buffer has no flag of truncation", lambda i: -np.ones(4)),
        },
        consequence="""Whatever reads the flag of truncation (n-step returns, GAE, statistics of
        episodes) sees an end after every step.""",
    ),
    make_detail(
        "collection.autoreset",
        "Are transitions stored that never happened, from the end of one episode to the next?",
        """One environment in which every step earns reward 1 and every ``episode``-th terminates;
        ``steps`` calls of its vectorised form: the framework's own, or that of the installed
        Gymnasium as it is by default. Observed, [2]: 1 if this vectorised form is refused with an
        error, else 0; the share of transitions in the replay buffer that have reward 0 (0 after an
        error).""",
        ("Gymnasium, autoreset modes of vector environments",),
        {"episode": 4, "steps": 40},
        {
            "none": ("none", lambda i: [0.0, 0.0]),
            "one_per_episode": (
                "one for each episode: from the last observation to the first of the next, with "
                "reward 0 and an action that nothing received",
                lambda i: [0.0, 1.0 / (i["episode"] + 1.0)],
            ),
            "refused": (
                "none: vector environments that would give them are refused",
                lambda i: [1.0, 0.0],
            ),
        },
        tolerance=1e-3,
        consequence="""The critic learns that falling over leads, at no cost and with full value, to
        the beginning of an episode.""",
    ),
    make_detail(
        "optimizer.gradient_clip.switch",
        "What do the switch and the bound of gradient clipping do together?",
        """A gradient of norm 20, ``gradient``, passes the trainer's clipping with the switch
        clip_grad_norm on and no bound; on and a bound of ``bound``; off and a bound of ``bound``.
        Observed, [6]: the two components of the gradient afterwards, in the three cases.""",
        ("docstring of Trainer (clip_grad_norm, clip_norm)",),
        {"gradient": [12.0, 16.0], "bound": 0.5},
        {
            "off_clips_values": (
                "on without a bound does nothing; off with a bound clips every component",
                lambda i: [*i["gradient"], 0.3, 0.4, i["bound"], i["bound"]],
            ),
            "off_is_off": (
                "on without a bound does nothing, and so does off",
                lambda i: [*i["gradient"], 0.3, 0.4, *i["gradient"]],
            ),
            "on_has_a_bound": (
                "on without a bound clips at 1; off with a bound clips every component",
                lambda i: [0.6, 0.8, 0.3, 0.4, i["bound"], i["bound"]],
            ),
        },
        tolerance=1e-4,
        consequence="""Who leaves the switch on without a bound trains without clipping; who turns
        it off to get none gets clipping by value.""",
    ),
    make_detail(
        "optimizer.config_epsilon",
        "Which epsilon does the framework's own configuration of Adam pass on by default?",
        """Observed, [1]: log10 of the default epsilon of the class that configures Adam.""",
        ("the 32 details, general 11", "Kingma and Ba 2015"),
        {"torch": 1e-8},
        {
            "1e-4": ("1e-4", lambda i: -4.0),
            "1e-5": ("1e-5, as in the 32 details", lambda i: -5.0),
            "1e-7": ("1e-7", lambda i: -7.0),
            "1e-8": ("1e-8, the default of PyTorch", lambda i: -8.0),
        },
        tolerance=1e-3,
        consequence="""A larger epsilon shrinks the steps of parameters with small gradients: the
        same learning rate trains more slowly.""",
    ),
    make_detail(
        "logging.approx_kl",
        "Of which minibatches is the logged KL divergence of a PPO update?",
        """Updates of ``epochs`` epochs of ``minibatches`` minibatches each, without any target KL.
        In update k (from 0) the new policy reports log-probabilities that differ from the stored
        ones by ``log_ratio`` in minibatch k of the update, and not at all in the others; in the
        last update (k = epochs * minibatches) they differ in all of them. Observed, [4]: the KL
        divergence that is logged after each of the first updates, over that of the last one.""",
        ("the 32 details, auxiliary 3", "thesis, Table 6"),
        {"epochs": 2, "minibatches": 2, "log_ratio": -0.1},
        {
            "last_epoch": ("of the last epoch, averaged", lambda i: [0.0, 0.0, 0.5, 0.5]),
            "last_minibatch": ("of the last minibatch", lambda i: [0.0, 0.0, 0.0, 1.0]),
            "all": ("of all of them, averaged", lambda i: [0.25] * 4),
            "first_epoch": ("of the first epoch, averaged", lambda i: [0.5, 0.5, 0.0, 0.0]),
        },
        tolerance=1e-3,
        consequence="""The logged number is not the one that early stopping compared in earlier
        epochs, and cannot be compared between frameworks.""",
    ),
    make_detail(
        "logging.losses",
        "Over what are the losses averaged that an update of PPO reports?",
        """One rollout of ``steps`` steps with ``advantages`` and ``targets`` of the value, which is
        0; nothing moves. It is used in ``epochs`` epochs of ``minibatches`` minibatches, and, once
        more, in one of one. Observed, [2]: the least and the greatest of the ratios of the losses
        that are reported for the first to those for the second: of policy, value, entropy, and
        what else is reported beside these.""",
        ("the 32 details, auxiliary 3", "documentation of each framework"),
        {
            "steps": 8,
            "epochs": 3,
            "minibatches": 4,
            "advantages": [3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0, 5.0],
            "targets": [2.0, 7.0, 1.0, 8.0, 3.0, 18.0, 28.0, 5.0],
        },
        {
            "all": ("over all minibatches of all epochs", make_constant_formula(1.0, 1.0)),
            "summed": ("they are summed", lambda i: [i["epochs"] * i["minibatches"]] * 2),
            "some_summed": (
                "some of them are summed",
                lambda i: [1.0, i["epochs"] * i["minibatches"]],
            ),
            "by_epoch": (
                "over the minibatches of an epoch, then summed",
                lambda i: [i["epochs"]] * 2,
            ),
            "some_by_epoch": ("some of them so", lambda i: [1.0, i["epochs"]]),
        },
        tolerance=1e-4,
        consequence="Curves of losses cannot be compared between settings, or between frameworks.",
    ),
    make_detail(
        "logging.update_count",
        "What does the logged number of updates of PPO count?",
        """One rollout, ``epochs`` epochs of ``minibatches`` minibatches each. Observed, [1]: the
        number of updates that is logged afterwards.""",
        ("documentation of the logger, n_updates",),
        {"epochs": 2, "minibatches": 2},
        {
            "gradient_steps": ("steps of the optimiser", lambda i: i["epochs"] * i["minibatches"]),
            "epochs": ("epochs", lambda i: i["epochs"]),
            "one_more_per_epoch": (
                "steps of the optimiser, and one more for every epoch",
                lambda i: i["epochs"] * (i["minibatches"] + 1.0),
            ),
            "rollouts": ("rollouts", lambda i: 1.0),
        },
        consequence="Curves over the number of updates cannot be laid over each other.",
    ),
    make_detail(
        "logging.before_policy_update",
        "Does a training go on whose first log comes before the first delayed policy update?",
        """The policy is updated every ``delay`` critic updates (the framework's own parameter), and
        losses are logged when there has been one critic update and no policy update. Observed,
        [1]: 1 if the training ends with an error, else 0.""",
        ("Fujimoto et al. 2018, section 5.2",),
        {"delay": 3},
        {
            "goes_on": ("yes", lambda i: 0.0),
            "error": ("no: it asks for a loss that there is not yet", lambda i: 1.0),
        },
        consequence="A training can end with an error for no other reason than its settings.",
    ),
)
