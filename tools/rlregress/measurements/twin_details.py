"""The details that SAC, TD3 and DDPG share, measured on any agent with a driver.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlregress.measurements.loop_journal import Journal
from rlregress.measurements.loss_minimum import count_steps_to_last
from rlregress.measurements.named_settings import Inputs, select_inputs
from rlregress.measurements.twin_agents import MakeTwinDriver, Settings

#: (class of a driver, inputs) -> what is observed
Measurement = Callable[[MakeTwinDriver, Inputs], np.ndarray]

#: learning rates with which updates move nothing
FROZEN = (0.0, 0.0)
#: what a policy is at the upper bound with, but for less than 0.001
SATURATED = 5.0
#: a norm that no clip lets through
_UNCLIPPED = 1e3
#: inputs of agents with an entropy
_ENTROPY = ("log_prob", "temperature")


def make_loop_settings(inputs: Inputs, **options: Any) -> Settings:
    """Return settings of a run of the framework's own loop."""
    names = ("steps", "batch_size", "starts", "collected_at_once")
    return Settings(**{"starts": 0, **select_inputs(inputs, *names), **options})


def _measure_critic_loss(
    make_driver: MakeTwinDriver, inputs: Inputs, values: Sequence[float], squared: bool = True
) -> float:
    """Measure the critic loss of Q networks that output ``values``; the target is the reward."""
    settings = Settings(
        terminated=1.0,
        rates=FROZEN,
        networks=len(values),
        squared=squared,
        # entropy may enter the target of a termination
        log_prob=0.0,
        **select_inputs(inputs, "reward", "batch_size", "discount"),
    )
    return make_driver(settings).compute_critic_loss(values)


def measure_critic_loss_scale(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the critic loss of two Q networks that output ``q_values``."""
    return np.array([_measure_critic_loss(make_driver, inputs, inputs["q_values"])])


def measure_critic_loss_reduction(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the critic loss of three Q networks, divided by that of the first two."""
    both, two = (
        _measure_critic_loss(make_driver, inputs, inputs["q_values"][:count]) for count in (3, 2)
    )
    return np.array([both / two])


def measure_critic_losses_of_errors(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the critic loss at each error of both Q networks."""
    values = [[inputs["reward"] + error] * 2 for error in inputs["errors"]]
    return np.array(
        [_measure_critic_loss(make_driver, inputs, pair, squared=False) for pair in values]
    )


def measure_critic_loss_distance(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the critic loss at each further error, divided by that at the first."""
    losses = measure_critic_losses_of_errors(make_driver, inputs)
    return losses[1:] / losses[0]


def _measure_targets(make_driver: MakeTwinDriver, inputs: Inputs, cases: Any) -> np.ndarray:
    """Measure the target of each case (target networks' outputs, terminated, truncated)."""
    targets = []
    for values, terminated, truncated in cases:
        settings = Settings(
            terminated=float(terminated),
            truncated=float(truncated),
            squared=True,
            # two settings that each turn target noise off, as a framework may ignore one of them
            smoothing=0.0,
            smoothing_bound=0.0,
            **select_inputs(inputs, "reward", "batch_size", "discount", *_ENTROPY),
        )
        targets.append(make_driver(settings).compute_target(values))
    return np.array(targets)


def measure_target(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the target for each pair of outputs of the two target networks."""
    pairs = np.atleast_2d(inputs["target_q"]) * np.ones((1, 2))
    return _measure_targets(make_driver, inputs, [(pair, 0.0, 0.0) for pair in pairs])


def measure_target_bootstrap(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the target for each pair of flags, terminated and truncated."""
    flags = zip(inputs["terminated"], inputs["truncated"], strict=False)
    return _measure_targets(
        make_driver, inputs, [([inputs["target_q"]] * 2, *pair) for pair in flags]
    )


def measure_actor_loss(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the loss of the policy for each pair of outputs of the two Q networks."""
    settings = Settings(rates=FROZEN, delay=1, **select_inputs(inputs, "batch_size", *_ENTROPY))
    return np.array(
        [make_driver(settings).compute_actor_loss(values) for values in inputs["q_values"]]
    )


def measure_target_update(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure a parameter of each target network after one update."""
    settings = Settings(rates=FROZEN, delay=1, **select_inputs(inputs, "coefficient", "tau"))
    return np.asarray(
        make_driver(settings).update_and_read_targets(inputs["source"], inputs["target"])
    )


def measure_received_and_stored_action(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the last action that the environment received, and the one that is stored."""
    steps = int(inputs.get("batch_size", 1))
    bounds = {"low": inputs["low"], "high": inputs["high"], "pre_tanh": inputs["pre_tanh"]}
    journal = make_driver(
        make_loop_settings(inputs, steps=steps, learns=False, noise=0.0, **bounds)
    ).run_loop()
    return np.array([journal.list_collected_actions()[0, -1], journal.stored_action])


def run_with_saturated_policy(
    make_driver: MakeTwinDriver, inputs: Inputs
) -> tuple[np.ndarray, Journal]:
    """Run a loop whose policy is at the upper bound; return the actions, [steps], and its events.

    An action that is less than 0.999 is a random one.
    """
    journal = make_driver(
        make_loop_settings(inputs, pre_tanh=SATURATED, noise=0.0, rates=FROZEN)
    ).run_loop()
    (actions,) = journal.list_collected_actions()
    return actions, journal


def measure_random_steps_and_first_update(
    make_driver: MakeTwinDriver, inputs: Inputs
) -> np.ndarray:
    """Measure the steps with random actions, and the steps taken at the first update."""
    actions, journal = run_with_saturated_policy(make_driver, inputs)
    first = next(steps for part, steps in journal.updates if part == "critic")
    return np.array([count_steps_to_last(actions < 0.999), first])


def measure_update_ratio(
    parts: Sequence[str], make_driver: MakeTwinDriver, inputs: Inputs
) -> np.ndarray:
    """Measure the updates of each part per step in three runs: default, fewer, more updates."""
    past = inputs["steps"] - inputs["counted"]
    runs = [
        make_driver(make_loop_settings(inputs, updates=updates)).run_loop()
        for updates in ("default", "fewer", "more")
    ]
    counts = [run.count_updates(part, after_steps=past) for run in runs for part in parts]
    return np.array(counts) / inputs["counted"]


def measure_steps_and_updates_of_several_environments(
    make_driver: MakeTwinDriver, inputs: Inputs
) -> np.ndarray:
    """Measure transitions per requested step, updates per transition, and environments."""
    journal = make_driver(
        make_loop_settings(inputs, environments=inputs["environments"])
    ).run_loop()
    half = journal.steps // 2
    updates = journal.count_updates("critic", after_steps=half) / half
    return np.array([journal.steps / inputs["steps"], updates, journal.environments])


def measure_network_architecture(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure widths of the hidden layers, number of Q networks, activation, sharing."""
    bound = np.ones(inputs["dimensions"])
    hidden = (inputs["first"], inputs["second"])
    shape: dict[str, Any] = {"hidden": hidden, "activation": inputs["activation"]}
    return make_driver(
        Settings(low=-bound, high=bound, observations=len(bound), **shape)
    ).describe_architecture()


def measure_inverse_clipped_norms(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure one over the first gradient norms of Q networks and policy; 0.0 beyond 1e3."""
    steps = inputs["batch_size"] + 3
    journal = make_driver(
        make_loop_settings(inputs, steps=steps, weight=inputs["factor"])
    ).run_loop()
    norms = [journal.gradient_norms[part][0] for part in ("critic", "actor")]
    return np.array([0.0 if norm > _UNCLIPPED else 1.0 / norm for norm in norms])


def measure_adam_epsilon(make_driver: MakeTwinDriver, inputs: Inputs) -> np.ndarray:
    """Measure the logarithm to base 10 of the epsilon of each optimiser."""
    return np.array(make_driver(Settings(epsilon=inputs["documented"])).read_log10_adam_eps())
