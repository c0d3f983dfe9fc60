"""SAC and TD3 scripts, taken apart: their own agent, their own storing step, their own update."""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.cleanrl.probes.helpers.playing import Playing
from rlregress.frameworks.cleanrl.script import Anchor, Script, SliceFailed
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.slices import Sliced, context, run
from rlregress.frameworks.cleanrl.stubs import CPU, Bag, arguments, spaces
from rlregress.frameworks.layers import make_constant, make_pinned
from rlregress.frameworks.recorded_update import RecordedUpdate, recorded_update

_BUFFER = "ReplayBuffer"


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
        self._fixed = False
        self.script = source.script(script)
        self.args = arguments(self.script, **{"buffer_size": 64, **chosen})
        box = spaces(low, high, observations)
        self.spaces = Bag(unpacked=_unpacked(self.script), **vars(box))
        given: dict[str, Any] = {
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
        given.update(_buffer_class(source, self.script))
        self.block = self.script.shaped("training", _trains, "an 'if' that trains", "innermost")
        self.store = self.script.shaped("storing", _stores, "a call that stores a transition")
        # first of all, or the step that stores would count as a part of making the buffer
        given["rb"] = run(self.script.bound("replay buffer", "rb"), given)["rb"]
        self.names = {**given, **context(self.block, given)}
        self.optimizers = self._optimizers()

    def part(self, *candidates: str) -> Any:
        """What the script calls by the first of these names that it has."""
        for name in candidates:
            if name in self.names:
                return self.names[name]
        raise self.script.lost("a part of the agent", *candidates)

    @property
    def actor(self) -> Any:
        return self.part("actor", "pg")

    def _optimizers(self) -> dict[str, torch.optim.Optimizer]:
        owners = {"critic": self.part("qf1").parameters(), "actor": self.actor.parameters()}
        if "log_alpha" in self.names:
            owners["temperature"] = iter([self.names["log_alpha"]])
        optimizers = {}
        for owner, parameters in owners.items():
            wanted = next(parameters)
            held_by = [
                value
                for value in self.names.values()
                if isinstance(value, torch.optim.Optimizer)
                and any(p is wanted for group in value.param_groups for p in group["params"])
            ]
            if not held_by:
                raise self.script.lost(f"optimiser of the {owner}", f"{owner}_optimizer")
            optimizers[owner] = held_by[0]
        return optimizers

    def freeze(self) -> None:
        """Learning rates 0: updates differentiate but move nothing."""
        for optimizer in self.optimizers.values():
            for group in optimizer.param_groups:
                group["lr"] = 0.0

    def set_critics(
        self,
        numbers: Sequence[float],
        target: bool = False,
        at: tuple[float, float] | None = None,
    ) -> None:
        """Let Q network i give numbers[i] for every input, trained ones or targets.

        Args:
            at: for this observation and this action, and other numbers for others.
        """
        for i, number in enumerate(numbers, start=1):
            network = self.part(f"qf{i}_target" if target else f"qf{i}")
            if at is None:
                make_constant(network, number)
            else:
                given = (torch.full((1, 1), given) for given in at)
                make_pinned(network, functools.partial(_called, network, *given), number)

    def action(self, observation: float, target: bool = False) -> float:
        """What the policy does, or the one of targets; 0 where its log-probability is fixed."""
        if self._fixed:
            return 0.0
        actor = self.part("target_actor") if target else self.actor
        with torch.no_grad():
            return float(_called(actor, torch.full((1, 1), observation)))

    def set_rows(self, observation: float, action: float, following: float) -> None:
        """Let all stored transitions have these observations and this action."""
        buffer = self.part("rb")
        if hasattr(buffer, "actions"):
            buffer.observations[:], buffer.actions[:] = observation, action
            buffer.next_observations[:] = following
            return
        rows = [
            (
                np.full_like(o, observation),
                np.full_like(a, action),
                r,
                np.full_like(n, following),
                d,
            )
            for o, a, r, n, d in buffer.buffer
        ]
        buffer.buffer.clear()
        buffer.buffer.extend(rows)

    def fix_log_prob(self, log_prob: float) -> None:
        """Let the policy sample action 0 with this log-probability; its gradients are 0."""
        self._fixed = True
        sample = self.actor.get_action

        def get_action(*arguments: Any) -> Any:
            action, log_probs, mean = sample(*arguments)
            return 0.0 * action, 0.0 * log_probs + log_prob, mean

        self.actor.get_action = get_action

    # -- the script's statements -------------------------------------------------------------

    def value(self, quantity: str, *names: str, **given: Any) -> Sliced:
        """Run the slice of a quantity of the training block on this agent."""
        return run(self.script.bound(quantity, *names), {**self.names, **given})

    def collect(self, steps: int, playing: Playing | None = None, **given: Any) -> Playing:
        """Run the script's own steps from action to storing, past the random warm-up."""
        playing = Playing(self.spaces) if playing is None else playing
        names = {**self.names, **playing.names, "global_step": self.first_update}
        for name in _assigned_before(self.store):
            names.pop(name, None)
        names.update(given)
        names["obs"] = playing.observation[None] if self.vectorised else playing.observation
        for _ in range(steps):
            run(self.store, names)
        return playing

    @property
    def vectorised(self) -> bool:
        """The loop steps a vector of environments."""
        return "envs" in _names_in(_loop_of(self.store))

    @property
    def first_update(self) -> int:
        """The first step past the random warm-up."""
        return int(self.args.learning_starts) + 1

    def update(self, global_step: int | None = None) -> RecordedUpdate:
        """Run the training block once, at a step that also updates what is delayed."""
        if global_step is None:
            period = int(self.args.policy_frequency)
            global_step = -(-self.first_update // period) * period
        with recorded_update(self.optimizers) as recorded:
            after = run(self.block, {**self.names, "global_step": global_step})
        if not recorded.losses["critic"]:
            raise SliceFailed(
                f"{self.script}: training: nothing was updated at step {global_step} with "
                f"{int(self.args.batch_size)} samples a batch",
                self.script.known,
            )
        self.names.update((name, after[name]) for name in self.names if name in after)
        return recorded


def _called(module: Any, *given: torch.Tensor) -> torch.Tensor:
    """What a network outputs, whether or not it asks for the device."""
    takes_device = module.forward.__code__.co_argcount > 1 + len(given)
    return module(*given, CPU) if takes_device else module(*given)


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


def _unpacked(script: Script) -> int:
    """How many values of a step the script takes: the targets of ``... = env.step(...)``."""
    place = script.shaped("step", _steps, "an assignment of a step's values")
    target = place.statement.targets[0]  # type: ignore[attr-defined]
    return len(target.elts)


def _steps(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return False
    called = statement.value.func
    unpacks = isinstance(statement.targets[0], ast.Tuple)
    return unpacks and isinstance(called, ast.Attribute) and called.attr == "step"


def _buffer_class(source: Source, script: Script) -> dict[str, Any]:
    """The replay buffer that the script imports, from its checkout or from a package."""
    module = script.origins.get(_BUFFER)
    if module is None:
        return {}
    file = module.replace(".", "/") + ".py"
    if source.has(file):
        return {_BUFFER: getattr(source.module(file), _BUFFER)}
    try:
        return {_BUFFER: getattr(importlib.import_module(module), _BUFFER)}
    except ImportError:
        return {}


def _assigned_before(place: Anchor) -> set[str]:
    """Names that the same list of statements assigns above a place, each round anew."""
    above = place.block.statements[: place.index]
    nodes = (node for statement in above for node in ast.walk(statement))
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


@functools.lru_cache(maxsize=16)
def _names_in(loop: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(loop) if isinstance(n, ast.Name)}


def _loop_of(place: Anchor) -> ast.stmt:
    block = place.block
    while not isinstance(block.owner, ast.For):
        assert block.outer is not None
        block = block.outer
    return block.owner
