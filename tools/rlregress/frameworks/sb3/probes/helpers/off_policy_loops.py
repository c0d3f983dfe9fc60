"""The loop of the off-policy algorithms, watched: ``learn`` on a small environment."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.journal import Updates
from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.probes.helpers import constant_agents, watched_updates
from rlregress.frameworks.scripted import Scripted

#: pre-tanh output of a policy that is at the upper bound, but for less than 0.001
_SATURATED = 5.0
_SMALL = {"net_arch": [4]}


class Journal(Updates):
    """What a run did, in its order.

    Attributes:
        environments: the environments, with the actions that they received.
    """

    def __init__(self, environments: List[Scripted]) -> None:
        super().__init__()
        self.environments = environments

    @property
    def steps(self) -> int:
        """Steps taken, over all environments."""
        return sum(len(environment.received) for environment in self.environments)

    def note(self, role: str) -> None:
        """An optimiser is about to step."""
        self.updates.append((role, self.steps))

    def look_at_targets(self, agent: Any) -> None:
        """Note whether the target critics moved since the last look."""
        self.look_at(agent.critic_target.parameters())


def run(
    algorithm: Any,
    steps: int,
    environments: int = 1,
    prepare: Callable[[Any], Any] = lambda agent: None,
    environment: Optional[Mapping[str, Any]] = None,
    frequency: Optional[Mapping[str, Any]] = None,
    **arguments: Any,
) -> Tuple[Journal, Any]:
    """``learn(steps)`` of an agent with its own defaults but for small networks and memory.

    ``prepare(agent)`` is called before it; ``environment`` holds arguments of ``Scripted``,
    ``frequency`` those about the number of updates (default: one a step).
    """
    made = [Scripted(**(environment or {})) for _ in range(environments)]
    journal = Journal(made)
    vectorised = gyms.side_by_side(*made) if environments > 1 else made[0]
    arguments.setdefault("policy_kwargs", dict(_SMALL))
    # In older versions the default of TD3 waits for the end of an episode, which may not come.
    arguments.update({"train_freq": 1, "gradient_steps": 1} if frequency is None else frequency)
    agent = constant_agents.make(algorithm, vectorised, buffer_size=256, **arguments)
    prepare(agent)

    def looks(role: str) -> Callable[[], None]:
        def look() -> None:
            if role == "critic":
                journal.look_at_targets(agent)
            journal.note(role)

        return look

    with ExitStack() as stack:
        for role, optimizer in constant_agents.optimizers(agent).items():
            stack.enter_context(watched_updates.before_steps(optimizer, looks(role)))
        agent.learn(steps)
    journal.look_at_targets(agent)
    return journal, agent


def saturate(agent: Any) -> None:
    """Let the policy be at the upper bound of the actions."""
    constant_agents.make_constant(agent.actor.mu, _SATURATED)
    if hasattr(agent.actor, "log_std"):
        constant_agents.make_constant(agent.actor.log_std, -5.0)


def learning_starts(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """Steps with random actions; steps at the first update."""
    journal, _ = run(
        algorithm,
        int(inputs["steps"]),
        prepare=saturate,
        learning_starts=int(inputs["starts"]),
        batch_size=int(inputs["batch_size"]),
        learning_rate=constant_agents.FROZEN,
    )
    below = np.flatnonzero(np.array(journal.environments[0].received)[:, 0] < 0.999)
    random = below[-1] + 1 if len(below) else 0
    return np.array([random, journal.first("critic")], dtype=np.float64)


def update_ratio(algorithm: Any, roles: List[str], inputs: Inputs) -> np.ndarray:
    """Updates per step: by default, for half of them, for twice as many."""
    steps, counted = int(inputs["steps"]), int(inputs["counted"])
    variants: List[Dict[str, Any]] = [
        {},
        {"train_freq": 2, "gradient_steps": 1},
        {"train_freq": 1, "gradient_steps": 2},
    ]
    measured = []
    for settings in variants:
        # In older versions the default is a round of updates an episode: episodes have to end.
        ends = {"truncated": np.eye(int(inputs["collected_at_once"]))[-1]}
        journal, _ = run(
            algorithm,
            steps,
            environment=ends,
            learning_starts=0,
            batch_size=int(inputs["batch_size"]),
            frequency=settings,
        )
        measured.append([journal.count(role, after=steps - counted) / counted for role in roles])
    return np.array(measured).flatten()


def vectorisation(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """Transitions per step asked for; updates per transition; environments."""
    steps = int(inputs["steps"])
    journal, _ = run(
        algorithm,
        steps,
        environments=int(inputs["environments"]),
        learning_starts=0,
        batch_size=int(inputs["batch_size"]),
    )
    stepped = sum(1 for environment in journal.environments if environment.received)
    half = journal.steps // 2
    return np.array(
        [journal.steps / steps, journal.count("critic", after=half) / half, float(stepped)]
    )


def gradient_clip(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """One over the norms of the gradients that the optimisers find."""
    norms: Dict[str, List[float]] = {"critic": [], "actor": []}

    def prepare(agent: Any) -> None:
        for network in agent.critic.q_networks:
            with torch.no_grad():
                constant_agents.last_linear(network).weight.fill_(float(inputs["factor"]))
        for role, own in norms.items():
            optimizer = constant_agents.optimizers(agent)[role]
            optimizer.register_step_pre_hook(lambda o, *_, own=own: own.append(_norm(o)))

    run(
        algorithm, 4, prepare=prepare, learning_starts=0, batch_size=int(inputs["batch_size"]),
        # of 4 rectified units all may be 0, and with them the gradient
        policy_kwargs={"net_arch": [64]},
    )  # fmt: skip
    return np.array([_inverse(own[0]) for own in norms.values()])


def _norm(optimizer: torch.optim.Optimizer) -> float:
    gradients = [p.grad for group in optimizer.param_groups for p in group["params"]]
    return float(torch.cat([g.double().flatten() for g in gradients if g is not None]).norm())


def _inverse(norm: float) -> float:
    return 0.0 if norm > 1e3 else 1.0 / norm


def networks(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """Widths of the default networks, activation, sharing."""
    bound = np.ones(int(inputs["dimensions"]))
    agent = constant_agents.make(algorithm, Scripted(-bound, bound), buffer_size=8)
    architecture: List[float] = []
    # The trunk of SAC's actor has no output layer in it: its heads stand beside it.
    for network in (agent.actor, agent.critic.q_networks[0]):
        widths = [layer.out_features for layer in _linear(network) if layer.out_features > 1]
        architecture += [len(widths), widths[0], widths[-1]]
    architecture.append(len(agent.critic.q_networks))
    architecture += _activation(agent.actor)
    policy = {id(p) for p in agent.actor.parameters()}
    architecture.append(float(any(id(p) in policy for p in agent.critic.parameters())))
    return np.array(architecture, dtype=np.float64)


def _linear(network: nn.Module) -> List[nn.Linear]:
    return [layer for layer in network.modules() if isinstance(layer, nn.Linear)]


def _activation(actor: Any) -> List[float]:
    """What the second layer receives where the first one outputs -0.5, and 0.5."""
    first, second = _linear(actor)[:2]
    recorded: List[float] = []
    handle = second.register_forward_pre_hook(
        lambda _, given: recorded.append(given[0][0, 0].item())
    )
    with torch.no_grad():
        for number in (-0.5, 0.5):
            first.weight.zero_()
            first.bias.fill_(number)
            actor(torch.zeros(1, first.in_features))
    handle.remove()
    return recorded


def adam_epsilon(algorithm: Any, inputs: Inputs) -> np.ndarray:
    """Logarithm of the epsilon of each optimiser, in the order critic, actor, temperature."""
    agent = constant_agents.make(algorithm, Scripted(), buffer_size=8)
    optimizers = constant_agents.optimizers(agent)
    return np.log10([group["eps"] for o in optimizers.values() for group in o.param_groups])
