"""Probes that SAC and TD3 share: losses, targets and their update, and the loop around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks import journal as journals
from rlregress.frameworks import watched_updates
from rlregress.frameworks.base import Inputs
from rlregress.frameworks.driven import fill, moved
from rlregress.frameworks.journal import Journal
from rlregress.frameworks.layers import (
    activation,
    architecture,
    last_linear,
    linear_layers,
    log_epsilon,
    make_constant,
    make_pinned,
)
from rlregress.frameworks.scripted import Scripted
from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import NEVER, Training, report
from rlregress.frameworks.skrl.probes.helpers import instantiated

CRITICS = ("critic_1", "critic_2")
_TARGETS = tuple(f"target_{name}" for name in CRITICS)
#: what is in every row of a memory that an update reads
_STORED = {"observations": 0.5, "next_observations": -0.5, "actions": 0.25}


def fed(
    kind: str,
    rows: int,
    *,
    values: Sequence[float] = (),
    targets: Sequence[float] = (),
    log_prob: float | None = None,
    environment: Scripted | None = None,
    of_policy: bool = False,
    **settings: Any,
) -> Training:
    """A training that has stored ``rows`` transitions, with networks that say these numbers.

    They say them where an update has to evaluate them: of the stored observation and action (with
    ``of_policy``: and the policy's action there), targets of the next observation and what the
    target policy, or SAC's, does then.
    """
    settings = {"learning_rate": 0.0, "learning_starts": NEVER, "batch_size": rows, **settings}
    training = Training(kind, *filter(None, [environment]), **settings)
    training.run(rows)
    models = training.models
    if log_prob is not None:
        report(models["policy"], float(log_prob))
    if not (len(values) or len(targets)):
        return training
    for name, number in _STORED.items():
        fill([training.stored(name)], number)

    def action(name: str, observation: float) -> float:
        given = {compat.OBSERVATIONS: torch.full((1, 1), observation)}
        # the policy that reports a log-probability does 0
        return 0.0 if log_prob is not None else float(models[name].outputs(given)[0].detach())

    now, then = _STORED["observations"], _STORED["next_observations"]
    taken = action("policy", now) if of_policy else _STORED["actions"]
    for name, number in zip(CRITICS, values, strict=False):
        _pin(models[name], now, taken, number)
    acting = "target_policy" if "target_policy" in models else "policy"
    for name, number in zip(_TARGETS, targets, strict=False):
        _pin(models[name], then, action(acting, then), number)
    return training


def _pin(model: Any, observation: float, action: float, number: float) -> None:
    given = torch.tensor([[observation, action]])
    make_pinned(model.net, lambda: model.net(given), number)


def _losses(training: Training, role: str) -> float:
    losses = watched_updates.losses_of_update(training.update, training.optimizers)
    return watched_updates.only(losses[role])


def critic_loss(kind: str, inputs: Inputs, values: Sequence[float]) -> float:
    """The loss of terminations with networks that return these values."""
    ends = Scripted(rewards=float(inputs["reward"]), terminated=1.0)
    return _losses(fed(kind, int(inputs["batch_size"]), values=values, environment=ends), "critic")


def target(kind: str, inputs: Inputs, targets: Any, script: Any = None, **settings: Any) -> float:
    """The regression target of transitions with the reward of the inputs."""
    training = fed(
        kind,
        int(inputs["batch_size"]),
        targets=targets,
        log_prob=inputs.get("log_prob"),
        environment=Scripted(rewards=float(inputs["reward"]), **(script or {})),
        discount_factor=float(inputs["discount"]),
        **settings,
    )
    return watched_updates.regression_target(training.update)


def bootstrap(kind: str, inputs: Inputs, **settings: Any) -> np.ndarray:
    """The regression target per case of the flags that end a step."""
    cases = zip(inputs["terminated"], inputs["truncated"], strict=False)
    scripts = [{"terminated": ended, "truncated": cut} for ended, cut in cases]
    return np.array(
        [target(kind, inputs, [inputs["target_q"]] * 2, script, **settings) for script in scripts]
    )


def actor_loss(kind: str, inputs: Inputs, **settings: Any) -> np.ndarray:
    """The loss of the policy per case of what the two networks say."""
    size, log_prob = int(inputs["batch_size"]), inputs.get("log_prob")
    made = partial(fed, kind, size, log_prob=log_prob, of_policy=True)
    cases = inputs["q_values"]
    return np.array([_losses(made(values=values, **settings), "actor") for values in cases])


def polyak(kind: str, inputs: Inputs, **settings: Any) -> np.ndarray:
    """A parameter of each target network after one update: see ``driven.moved``."""
    if "coefficient" in inputs:
        settings["polyak"] = float(inputs["coefficient"])
    training = fed(kind, 8, **settings)
    models = training.models
    pairs = [
        (models[name], models[f"target_{name}"])
        for name in (*CRITICS, "policy")
        if f"target_{name}" in models
    ]
    return moved(inputs, pairs, training.update)


def loop(
    kind: str,
    steps: int,
    environments: int = 1,
    prepare: Callable[[Training], Any] = lambda training: None,
    **settings: Any,
) -> tuple[Journal, Training]:
    """A training of ``steps`` steps of all environments, noted."""
    made = [Scripted() for _ in range(environments)]
    training = Training(kind, *made, **settings)
    journal = Journal()
    journal.actions += [one.received for one in made]
    prepare(training)
    with ExitStack() as stack:
        for role, optimizer in training.optimizers.items():
            note = partial(journal.note, role, optimizer, training.targets)
            stack.enter_context(watched_updates.before_steps(optimizer, note))
        training.run(steps)
    journal.look_at(training.targets())
    return journal, training


def _saturate(training: Training) -> None:
    policy = training.models["policy"]
    make_constant(policy, 5.0)
    if hasattr(policy, "log_std"):
        fill([policy.log_std], -20.0)


def learning_starts(kind: str, inputs: Inputs) -> np.ndarray:
    """Steps with random actions; steps at the first update."""
    starts = int(inputs["starts"])
    journal, _ = loop(
        kind,
        int(inputs["steps"]),
        prepare=_saturate,
        batch_size=3,
        random_timesteps=starts,
        learning_starts=starts,
        learning_rate=0.0,
    )
    return journal.learning_starts()


def update_ratio(kind: str, roles: Sequence[str], inputs: Inputs, **fewer: Any) -> np.ndarray:
    """Updates per step: by default, for half of them, for twice as many."""
    runs = [
        loop(kind, int(inputs["steps"]), batch_size=3, **settings)[0]
        for settings in ({}, fewer, {"gradient_steps": 2})
    ]
    return journals.update_ratio(inputs, roles, runs)


def vectorisation(kind: str, inputs: Inputs) -> np.ndarray:
    """Transitions per step asked for; updates per transition; environments."""
    journal, _ = loop(kind, int(inputs["steps"]), int(inputs["environments"]), batch_size=3)
    return journal.vectorisation(inputs)


def gradient_clip(kind: str, inputs: Inputs) -> np.ndarray:
    """One over the norms of the gradients that the optimisers find."""

    def prepare(training: Training) -> None:
        for name in CRITICS:
            fill([last_linear(training.models[name]).weight], float(inputs["factor"]))

    return loop(kind, 8, prepare=prepare, batch_size=5)[0].gradient_clip()


def adam_epsilon(kind: str, inputs: Inputs) -> np.ndarray:
    """Logarithm of the epsilon of each optimiser, in the order critic, actor, temperature."""
    del inputs
    made = Training(kind)
    critics = [p for name in CRITICS for p in made.models[name].parameters()]
    held = {"critic": critics, "actor": [*made.models["policy"].parameters()]}
    if "temperature" in made.optimizers:
        held["temperature"] = [made.agent.log_entropy_coefficient]
    return np.array([log_epsilon(made.optimizers[role], own) for role, own in held.items()])


def executed_and_stored(training: Training) -> np.ndarray:
    """The action of one step, as the environment received it and as it is stored."""
    training.run(1)
    received = training.environments[0].received[-1].item()
    return np.array([received, float(training.stored("actions")[0])])


def count(training: Training) -> int:
    """How many Q networks its optimiser trains."""
    held = {id(p) for group in training.optimizers["critic"].param_groups for p in group["params"]}
    names = [name for name in training.models if name in CRITICS]
    return sum(id(next(training.models[name].parameters())) in held for name in names)


def networks(kind: str, inputs: Inputs) -> np.ndarray:
    """Widths of the networks that settings ask for, activation, sharing."""
    sizes = [int(inputs["first"]), int(inputs["second"])]
    made = instantiated.Settings(sizes, str(inputs["activation"]), 1, int(inputs["dimensions"]))
    policy, values = made.policy(stochastic=kind == "sac"), made.values()
    hidden = [[layer.out_features for layer in linear_layers(own)[:-1]] for own in (policy, values)]
    outputs = activation(policy, instantiated.called(policy))
    return architecture(hidden, count(Training(kind)), outputs, False)
