"""When PPO stops an update early: the divergence between old and new policy."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_constant_formula, make_detail
from rlregress.formulas import schedules


def make_early_stop_details() -> list[Detail]:
    """Build the details on early stopping: the KL threshold, its effect, the estimator of KL."""

    def make_counts_formula(estimator: str, factor: float, stopping_point: str) -> Formula:
        def count_steps_and_evaluations(inputs: Inputs) -> np.ndarray:
            counts: list[int] = []
            for ratio in np.asarray(inputs["ratios"]):
                estimate = schedules.estimate_kl(np.array([ratio]), estimator)
                exceeded = estimate > factor * inputs["target"]
                shape = int(inputs["epochs"]), int(inputs["minibatches"])
                counts += schedules.count_steps_and_minibatches(exceeded, *shape, stopping_point)
            return np.array(counts)

        return count_steps_and_evaluations

    feed = """A rollout of 4 samples, ``epochs`` epochs of ``minibatches`` minibatches, nothing
        moves (learning rate 0), and every sample has the same ratio of new to old probability, """
    shape = {"epochs": 2, "minibatches": 2}
    sources = ("The 32 details of PPO, Auxiliary 3", "thesis, Table 6")
    return [
        make_detail(
            "ppo.early_stop.default",
            "Does a large divergence between old and new policy stop the epochs by default?",
            feed
            + """``ratio``. Observed, [1]: steps of the optimiser, the threshold being as it is by
            default in this scope.""",
            sources,
            shape | {"ratio": 0.01},
            {
                "off": ("all epochs are done", make_constant_formula(4)),
                "before_step": ("stopped before the first step", make_constant_formula(0)),
                "after_step": ("stopped after the first step", make_constant_formula(1)),
                "after_epoch": ("stopped after the first epoch", make_constant_formula(2)),
            },
            consequence="""Where early stopping is on, the number of epochs is an upper limit, and
            a training may make far fewer steps of the optimiser than its settings say.""",
        ),
        make_detail(
            "ppo.early_stop",
            "When does a threshold for the divergence stop an update, and what is stopped?",
            "For each of ``ratios`` in turn: "
            + feed
            + """that one; the threshold is set to ``target`` where there is one. Observed, [16]:
            for each ratio, steps of the optimiser, and minibatches for which the policy was
            evaluated.""",
            sources,
            # of 1.5 times the target one is closely below, and one closely above
            shape | {"ratios": [0.88, 0.8, 0.6, 0.56, 0.52, 0.4, 1.6, 2.5], "target": 0.1},
            {
                "absent": (
                    "there is no threshold to set",
                    make_counts_formula("k3", 1.0, "never"),
                ),
                "k3_1.5_before_step": (
                    "before the step, mean of r - 1 - log r above 1.5 times the target; all "
                    "remaining epochs are skipped",
                    make_counts_formula("k3", 1.5, "before_step"),
                ),
                "k3_1.5_before_step_this_epoch": (
                    "the same, but the next epoch begins as usual",
                    make_counts_formula("k3", 1.5, "before_step_this_epoch"),
                ),
                "k3_1.5_after_step": (
                    "the same after the step",
                    make_counts_formula("k3", 1.5, "after_step"),
                ),
                "k3_before_step": (
                    "before the step, mean of r - 1 - log r above the target",
                    make_counts_formula("k3", 1.0, "before_step"),
                ),
                "k3_before_step_this_epoch": (
                    "the same, but the next epoch begins as usual",
                    make_counts_formula("k3", 1.0, "before_step_this_epoch"),
                ),
                "k3_after_epoch": (
                    "after an epoch, mean of r - 1 - log r of its last minibatch above the target",
                    make_counts_formula("k3", 1.0, "after_epoch"),
                ),
                "k3_1.5_after_epoch": (
                    "after an epoch, above 1.5 times the target",
                    make_counts_formula("k3", 1.5, "after_epoch"),
                ),
                "k1_after_epoch": (
                    "after an epoch, mean of -log r of its last minibatch above the target",
                    make_counts_formula("k1", 1.0, "after_epoch"),
                ),
                "k1_1.5_before_step": (
                    "before the step, mean of -log r above 1.5 times the target (spinningup)",
                    make_counts_formula("k1", 1.5, "before_step"),
                ),
            },
            consequence="""The same threshold stops at other divergences and keeps other steps: an
            estimate that can be negative misses a policy that grew more certain.""",
        ),
        make_detail(
            "ppo.kl_estimator",
            "How is the divergence between old and new policy estimated?",
            """One minibatch of samples with ``ratios`` of new to old probability. Observed, [1]:
            the estimate that the implementation reports or compares with its threshold.""",
            ("The 32 details of PPO, Auxiliary 3", "Schulman 2020, Approximating KL divergence"),
            {"ratios": [0.5, 0.9, 1.6, 2.5]},
            {
                "k1": ("mean of -log r", lambda i: schedules.estimate_kl(i["ratios"], "k1")),
                "k2": ("mean of log(r)^2 / 2", lambda i: schedules.estimate_kl(i["ratios"], "k2")),
                "k3": ("mean of r - 1 - log r", lambda i: schedules.estimate_kl(i["ratios"], "k3")),
            },
            consequence="""Reported divergences cannot be compared: one estimate is noisy and may
            be negative, the other is never.""",
        ),
    ]
