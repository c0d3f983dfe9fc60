"""PPO scripts, taken apart: their own agent, their own rollout, their own update."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.cleanrl import oldgym, shim
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.slices import Sliced, run_context, run_slice
from rlregress.frameworks.cleanrl.stubs import CPU, make_arguments, make_spaces, replaced
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import make_constant
from rlregress.probing.recorded_update import record_update
from rlregress.probing.scripted import Scripted

SCRIPT = "ppo_continuous_action"
#: log of a standard deviation that nobody sees.
_NEGLIGIBLE = -14.0


class Optimiser:
    """The optimisation of a PPO script: its agent, its optimiser, the loop over its epochs.

    Args:
        source: the copy.
        samples: of the rollout that is used.
        minibatch: samples of a minibatch; all of them if it is 0.
        flags: arguments of the script's command line, the others stay at their defaults.
    """

    def __init__(
        self,
        source: Source,
        samples: int,
        minibatch: int = 0,
        observations: int = 1,
        dimensions: int = 1,
        **flags: Any,
    ) -> None:
        self.script = source.script(SCRIPT)
        sizes = {"batch_size": samples, "minibatch_size": minibatch or samples}
        self.args = make_arguments(self.script, **{"update_epochs": 1, **sizes, **flags})
        bound = np.ones(dimensions)
        self.loop = self.script.find_shape("optimisation", _optimises, "a loop over epochs")
        chosen_samples = np.arange(samples)
        variables: dict[str, Any] = {
            "args": self.args,
            "device": CPU,
            "envs": make_spaces(-bound, bound, observations),
            "mb_inds": chosen_samples,
            "minibatch_ind": chosen_samples,
            "b_obs": torch.zeros(samples, observations),
            "b_actions": torch.zeros(samples, dimensions),
            "b_logprobs": torch.zeros(samples),
            "b_advantages": torch.zeros(samples),
            "b_returns": torch.zeros(samples),
            "b_values": torch.zeros(samples),
        }
        # first of all, or the annealing of its learning rate would count as a part of making it
        executed = run_slice(self.script.find_binding("optimiser", "optimizer"), variables)
        variables.update((name, executed[name]) for name in ("agent", "optimizer"))
        self.names = {**variables, **run_context(self.loop, variables)}

    @property
    def agent(self) -> Any:
        """Policy and value network."""
        return self.names["agent"]

    def feed(self, **batch: Any) -> None:
        """Set numbers of the rollout, by the script's names without ``b_``: [samples] each."""
        for name, numbers in batch.items():
            before = self.names[f"b_{name}"]
            value = torch.as_tensor(np.asarray(numbers, dtype=np.float64), dtype=before.dtype)
            self.names[f"b_{name}"] = value.expand(before.shape[0]).clone()

    def feed_ratio(self, ratios: Any) -> None:
        """Set stored log-probabilities such that the ratios of the samples are these."""
        names = ("newlogprob", "newlogproba")
        now = self.value("log-probability", *names).vector(*names)
        self.feed(logprobs=now - np.log(np.asarray(ratios, dtype=np.float64)))

    def fix_value(self, number: float) -> None:
        """Let the value network give this number for every observation."""
        make_constant(self.agent.critic, number)

    def freeze(self) -> None:
        """Set the learning rate to 0: updates differentiate but move nothing."""
        for group in self.names["optimizer"].param_groups:
            group["lr"] = 0.0

    def value(self, quantity: str, *names: str, **variables: Any) -> Sliced:
        """Run the slice of a quantity of the update on the whole rollout as one minibatch."""
        return run_slice(self.script.find_binding(quantity, *names), {**self.names, **variables})

    def optimise(self) -> tuple[list[float], list[float]]:
        """Run the loop over epochs; (losses, norms of all gradients) at each optimiser step."""
        own = ("mb_inds", "minibatch_ind")
        names = {name: value for name, value in self.names.items() if name not in own}
        with record_update({"agent": names["optimizer"]}) as recorded:
            run_slice(self.loop, names)
        return recorded.losses["agent"], recorded.gradient_norms["agent"]


def _attributes(node: ast.AST) -> list[str]:
    return [n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)]


def _optimises(statement: ast.stmt) -> bool:
    """Return whether a statement is ``for ... in range(args.update_epochs)``. in
    range(args.update_epochs)``.
    """
    return (
        isinstance(statement, ast.For)
        and "update_epochs" in _attributes(statement.iter)
        and "backward" in _attributes(statement)
    )


def _collects(statement: ast.stmt) -> bool:
    """Return whether a statement loops over ``args.num_steps`` around a step of the environments.
    in range(0, args.num_steps)`` around a step of the environments.
    """
    return (
        isinstance(statement, ast.For)
        and "num_steps" in _attributes(statement.iter)
        and any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "step"
            for n in ast.walk(statement)
        )
    )


def constant_rollouts(
    source: Source, inputs: Inputs, means: Iterable[float]
) -> Iterator[tuple[Scripted, Sliced]]:
    """Yield rollouts of one step of policies with these means; no other policy is deterministic.

    The environment, which keeps the action, and what the script has stored.
    """
    args = make_arguments(source.script(SCRIPT), num_steps=1, capture_video=False)
    for mean in means:
        agent: Any = Optimiser(source, 1).agent
        make_constant(agent.actor_mean, mean)
        with torch.no_grad():
            agent.actor_logstd.fill_(_NEGLIGIBLE)
        environment = Scripted(inputs["low"], inputs["high"])
        with environments(source, functools.partial(_itself, environment)) as variables:
            yield environment, collect(source, {**variables, "args": args, "agent": agent})


def _itself(environment: Scripted) -> Scripted:
    return environment


def collect(source: Source, variables: Mapping[str, Any]) -> Sliced:
    """Run the script's rollout, and return its variables."""
    script = source.script(SCRIPT)
    place = script.find_shape("rollout", _collects, "a loop over the steps of a rollout")
    return run_slice(place, {"device": CPU, "writer": None, **variables})


@contextmanager
def environments(source: Source, make: Callable[[], Any]) -> Iterator[dict[str, Any]]:
    """Return the variables with which a PPO script puts its own wrappers around ``make()``.

    For a script of Gymnasium its interface is what the script expects; for an older one the names
    that it imports are given.
    """
    script = source.script(SCRIPT)
    variables: dict[str, Any] = {"run_name": "probe", "experiment_name": "probe"}
    with ExitStack() as around:
        if "gymnasium" in script.imports:
            for owner, name, value in shim.list_patches():
                around.enter_context(replaced(owner, name, value))
            around.enter_context(replaced(gymnasium, "make", lambda *_, **__: make()))
        else:
            old = oldgym.make_modules(lambda _: make(), lambda *_: None)
            vectorised = next(module for name, module in old.items() if name.endswith("vec_env"))
            variables["gym"] = old["gym"]
            variables["Monitor"] = old["gym.wrappers"].Monitor
            for name in ("DummyVecEnv", "SubprocVecEnv", "VecEnvWrapper"):
                variables[name] = getattr(vectorised, name)
        yield variables
