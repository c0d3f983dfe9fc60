"""SAC and TD3 scripts, taken apart: their own agent, their own storing step, their own update."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

import gymnasium
import numpy as np
import torch
from torch.distributions import Normal

from rlregress.frameworks.cleanrl.script import Place
from rlregress.frameworks.cleanrl.slices import Sliced, context, run
from rlregress.frameworks.cleanrl.sources import Source
from rlregress.frameworks.cleanrl.stubs import (
    CPU,
    Bag,
    arguments,
    differentiated,
    last_linear,
    make_constant,
    replaced,
    spaces,
)

_BUFFERS = "cleanrl_utils/buffers.py"


class Playing:
    """One environment that every step of which is the same, and that keeps the actions received.

    As ``envs`` it answers in vectors of one with five values and resets within the last step; as
    ``env`` it is the scalar environment of four values that 0.4.8 was written for.
    """

    def __init__(
        self, asked: Bag, reward: float = 1.0, terminated: bool = False, truncated: bool = False
    ) -> None:
        self._dimensions = asked.observation_space.shape[0]
        self._reward = float(reward)
        self._flags = bool(terminated), bool(truncated)
        self.received: List[np.ndarray] = []
        one = Bag(**vars(asked))
        one.step, one.reset = self._step_one, lambda: self.observation
        many = Bag(**vars(asked))
        many.step, many.reset = self._step_many, lambda seed=None: (self.observation[None], {})
        self.names = {"env": one, "envs": many}

    @property
    def observation(self) -> np.ndarray:
        """What it shows, always."""
        return np.full(self._dimensions, 0.5, dtype=np.float32)

    def _step_one(self, action: Any) -> Any:
        self.received.append(np.array(action, dtype=np.float64))
        terminated, truncated = self._flags
        info = {"TimeLimit.truncated": True} if truncated and not terminated else {}
        return self.observation, self._reward, terminated or truncated, info

    def _step_many(self, actions: Any) -> Any:
        self.received.append(np.array(actions[0], dtype=np.float64))
        terminated, truncated = (np.array([flag]) for flag in self._flags)
        infos: Dict[str, Any] = {}
        if any(self._flags):
            last = np.empty(1, dtype=object)
            last[0] = self.observation
            infos["final_observation"] = last
        return self.observation[None], np.array([self._reward]), terminated, truncated, infos


class Update(NamedTuple):
    """What the training block did at one step.

    Attributes:
        losses: per optimiser ("critic", "actor", "temperature") the loss before each of its steps:
            what was differentiated since the last step of any of them, summed.
        gradient_norms: the norm of all its gradients at each of its steps.
        order: the optimisers in the order of their steps.
    """

    losses: Mapping[str, List[float]]
    gradient_norms: Mapping[str, List[float]]
    order: List[str]


class Learner:
    """The agent of a SAC or TD3 script, made by the script's own statements.

    Args:
        source, script: the copy and the name of the script.
        low, high: action bounds.
        chosen: arguments of the script's command line, the others stay at their defaults.
    """

    def __init__(
        self,
        source: Source,
        script: str,
        low: Any = -1.0,
        high: Any = 1.0,
        observations: int = 1,
        **chosen: Any,
    ) -> None:
        self.script = source.script(script)
        self.args = arguments(self.script, **{"buffer_size": 64, **chosen})
        self.spaces = spaces(low, high, observations)
        given: Dict[str, Any] = {
            **Playing(self.spaces).names,
            "args": self.args,
            "device": CPU,
            "obs": np.full((1, observations), 0.5, dtype=np.float32),
            "action": np.zeros(self.spaces.action_space.shape),
            "gym": gymnasium,
            "global_step": 0,
            "writer": None,
            "start_time": 0.0,
        }
        if source.has(_BUFFERS):
            given["ReplayBuffer"] = source.module(_BUFFERS).ReplayBuffer
        self.block = self.script.shaped("training", _trains, "an 'if' that trains", "innermost")
        self.store = self.script.shaped("storing", _stores, "a call that stores a transition")
        # first of all, or the step that stores would count as a part of making the buffer
        given["rb"] = run(self.script.bound("replay buffer", "rb"), given)["rb"]
        self.names = {**given, **context(self.block, given)}
        self.optimizers = self._optimizers()

    def part(self, *candidates: str) -> Any:
        """What the script calls by the first of these names that it has."""
        return next(self.names[name] for name in candidates if name in self.names)

    @property
    def actor(self) -> torch.nn.Module:
        """The policy."""
        return self.part("actor", "pg")

    def _optimizers(self) -> Dict[str, torch.optim.Optimizer]:
        owners = {"critic": self.names["qf1"].parameters(), "actor": self.actor.parameters()}
        if "log_alpha" in self.names:
            owners["temperature"] = iter([self.names["log_alpha"]])
        found = {}
        for owner, parameters in owners.items():
            wanted = next(parameters)
            found[owner] = next(
                value
                for value in self.names.values()
                if isinstance(value, torch.optim.Optimizer)
                and any(p is wanted for group in value.param_groups for p in group["params"])
            )
        return found

    def freeze(self) -> None:
        """Learning rates 0: updates differentiate but move nothing."""
        for optimizer in self.optimizers.values():
            for group in optimizer.param_groups:
                group["lr"] = 0.0

    def set_critics(self, numbers: Sequence[float], target: bool = False) -> None:
        """Let Q network i give numbers[i] for every input, trained ones or targets."""
        for i, number in enumerate(numbers, start=1):
            network = self.names[f"qf{i}_target" if target else f"qf{i}"]
            make_constant(last_linear(network), number)

    def fix_log_prob(self, log_prob: float) -> None:
        """Let the policy sample action 0 with this log-probability; its gradients are 0."""
        sample = self.actor.get_action

        def get_action(*arguments: Any) -> Any:
            action, log_probs, mean = sample(*arguments)
            return 0.0 * action, 0.0 * log_probs + log_prob, mean

        self.actor.get_action = get_action

    # -- the script's statements -------------------------------------------------------------

    def value(self, quantity: str, *names: str, **given: Any) -> Sliced:
        """Run the slice of a quantity of the training block on this agent."""
        return run(self.script.bound(quantity, *names), {**self.names, **given})

    def collect(self, steps: int, playing: Optional[Playing] = None, **given: Any) -> Playing:
        """Run the script's own steps from action to storing, past the random warm-up."""
        playing = Playing(self.spaces) if playing is None else playing
        names = {**self.names, **playing.names, "global_step": self.first_update, **given}
        names.pop("action", None)
        names["obs"] = playing.observation[None] if self.vectorised else playing.observation
        for _ in range(steps):
            run(self.store, names)
        return playing

    @property
    def vectorised(self) -> bool:
        """The loop steps a vector of environments."""
        loads = {n.id for n in ast.walk(_loop_of(self.store)) if isinstance(n, ast.Name)}
        return "envs" in loads

    @property
    def first_update(self) -> int:
        """The first step past the random warm-up."""
        return int(self.args.learning_starts) + 1

    def update(self, global_step: Optional[int] = None) -> Update:
        """Run the training block once, at a step that also updates what is delayed."""
        if global_step is None:
            period = int(self.args.policy_frequency)
            global_step = -(-self.first_update // period) * period
        seen = Update({n: [] for n in self.optimizers}, {n: [] for n in self.optimizers}, [])
        with differentiated() as parts, _hooked(self.optimizers, parts, seen):
            after = run(self.block, {**self.names, "global_step": global_step})
        self.names.update((name, after[name]) for name in self.names if name in after)
        return seen


@contextmanager
def _hooked(
    optimizers: Mapping[str, torch.optim.Optimizer], parts: List[float], seen: Update
) -> Iterator[None]:
    def hook(name: str) -> Any:
        def look(optimizer: torch.optim.Optimizer, *_: Any) -> None:
            seen.losses[name].append(sum(parts))
            parts.clear()
            squares = [
                float(p.grad.double().pow(2).sum())
                for group in optimizer.param_groups
                for p in group["params"]
                if p.grad is not None
            ]
            seen.gradient_norms[name].append(float(np.sqrt(sum(squares))))
            seen.order.append(name)

        return look

    handles = [o.register_step_pre_hook(hook(name)) for name, o in optimizers.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _trains(statement: ast.stmt) -> bool:
    """An ``if`` around the updates: the innermost that samples and differentiates.

    What it asks differs: whether the warm-up is over, or whether the buffer holds a batch.
    """
    if not isinstance(statement, ast.If):
        return False
    inside = {n.attr for n in ast.walk(statement) if isinstance(n, ast.Attribute)}
    return {"backward", "sample"} <= inside


def _stores(statement: ast.stmt) -> bool:
    """``rb.add(...)`` or ``rb.put(...)``."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    called = statement.value.func
    return isinstance(called, ast.Attribute) and called.attr in ("add", "put")


def _loop_of(place: Place) -> ast.stmt:
    block = place.block
    while not isinstance(block.owner, ast.For):
        assert block.outer is not None
        block = block.outer
    return block.owner


@contextmanager
def sampled(pre_tanh: Any = None) -> Iterator[List[torch.Tensor]]:
    """Gaussians give this sample, or their mean; yields the standard deviations of each, in order.

    ``pre_tanh`` is a number or one for each action dimension.
    """
    found: List[torch.Tensor] = []

    def rsample(law: Normal, sample_shape: Any = ()) -> torch.Tensor:
        del sample_shape
        found.append(law.scale.detach())
        if pre_tanh is None:
            return law.mean
        chosen = torch.as_tensor(np.asarray(pre_tanh, dtype=np.float64), dtype=law.loc.dtype)
        return 0.0 * law.mean + chosen

    with replaced(Normal, "rsample", rsample):
        yield found
