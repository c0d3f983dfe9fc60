"""Slices of PPO scripts: their own agent, rollout and update, each run alone."""

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
from rlregress.frameworks.cleanrl.slices import (
    SliceResult,
    run_slice_before_anchor,
    run_slice_up_to_anchor,
)
from rlregress.frameworks.cleanrl.stubs import (
    CPU,
    make_arguments_of_script,
    make_spaces_of_environments,
    replaced,
)
from rlregress.probing.interface import Inputs
from rlregress.probing.layers import make_output_constant
from rlregress.probing.recorded_update import record_losses_and_steps
from rlregress.probing.scripted import Scripted

SCRIPT = "ppo_continuous_action"
#: log of a standard deviation that nobody sees.
_NEGLIGIBLE = -14.0


class ScriptUpdate:
    """The update of a PPO script, run in slices: its agent, optimiser and loop over epochs.

    Args:
        source: the copy of the scripts.
        samples: number of samples in the rollout.
        minibatch_size: samples of a minibatch; 0: all of the rollout.
        flags: arguments of the script's command line; others have their defaults.
    """

    def __init__(
        self,
        source: Source,
        samples: int,
        minibatch_size: int = 0,
        observations: int = 1,
        dimensions: int = 1,
        **flags: Any,
    ) -> None:
        self.script = source.parse_script(SCRIPT)
        sizes = {"batch_size": samples, "minibatch_size": minibatch_size or samples}
        self.args = make_arguments_of_script(self.script, **{"update_epochs": 1, **sizes, **flags})
        bound = np.ones(dimensions)
        self.loop = self.script.find_statement_of_shape(
            "optimisation", _is_loop_over_epochs, "a loop over epochs"
        )
        chosen_samples = np.arange(samples)
        variables: dict[str, Any] = {
            "args": self.args,
            "device": CPU,
            "envs": make_spaces_of_environments(-bound, bound, observations),
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
        executed = run_slice_up_to_anchor(
            self.script.find_statement_binding("optimiser", "optimizer"), variables
        )
        variables.update((name, executed[name]) for name in ("agent", "optimizer"))
        self.names = {**variables, **run_slice_before_anchor(self.loop, variables)}

    @property
    def agent(self) -> Any:
        """Policy and value network."""
        return self.names["agent"]

    def set_batch(self, **batch: Any) -> None:
        """Set the script's arrays [samples] of the rollout: ``returns`` sets its ``b_returns``."""
        for name, numbers in batch.items():
            before = self.names[f"b_{name}"]
            value = torch.as_tensor(np.asarray(numbers, dtype=np.float64), dtype=before.dtype)
            self.names[f"b_{name}"] = value.expand(before.shape[0]).clone()

    def set_ratios(self, ratios: Any) -> None:
        """Set stored log-probabilities such that the ratios of the samples are these."""
        names = ("newlogprob", "newlogproba")
        now = self.run_slice_of_quantity("log-probability", *names).get_vector(*names)
        self.set_batch(logprobs=now - np.log(np.asarray(ratios, dtype=np.float64)))

    def fix_output_of_value_network(self, number: float) -> None:
        """Make the value network output this number for every observation."""
        make_output_constant(self.agent.critic, number)

    def set_learning_rate_to_zero(self) -> None:
        """Set the learning rate to 0, so that updates compute gradients but change nothing."""
        for group in self.names["optimizer"].param_groups:
            group["lr"] = 0.0

    def run_slice_of_quantity(self, quantity: str, *names: str, **variables: Any) -> SliceResult:
        """Run the statements that compute a quantity; the whole rollout is the minibatch."""
        return run_slice_up_to_anchor(
            self.script.find_statement_binding(quantity, *names), {**self.names, **variables}
        )

    def record_losses_and_gradient_norms(self) -> tuple[list[float], list[float]]:
        """Run the loop over epochs; return (losses, gradient norms) of the optimizer steps."""
        own = ("mb_inds", "minibatch_ind")
        names = {name: value for name, value in self.names.items() if name not in own}
        with record_losses_and_steps({"agent": names["optimizer"]}) as recorded:
            run_slice_up_to_anchor(self.loop, names)
        return recorded.losses["agent"], recorded.gradient_norms["agent"]


def _list_attributes_in_node(node: ast.AST) -> list[str]:
    return [n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)]


def _is_loop_over_epochs(statement: ast.stmt) -> bool:
    """Return whether a statement is a loop over ``args.update_epochs`` that calls ``backward``."""
    return (
        isinstance(statement, ast.For)
        and "update_epochs" in _list_attributes_in_node(statement.iter)
        and "backward" in _list_attributes_in_node(statement)
    )


def _is_loop_over_steps(statement: ast.stmt) -> bool:
    """Return whether a statement is a loop over ``args.num_steps`` that steps the environments."""
    return (
        isinstance(statement, ast.For)
        and "num_steps" in _list_attributes_in_node(statement.iter)
        and any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "step"
            for n in ast.walk(statement)
        )
    )


def run_rollouts_of_constant_policies(
    source: Source, inputs: Inputs, means: Iterable[float]
) -> Iterator[tuple[Scripted, SliceResult]]:
    """Run one step of a policy with each mean; yield environment and script variables after it.

    The environment keeps the action that it received. Policies have a negligible deviation, as
    PPO's script has no deterministic one.
    """
    args = make_arguments_of_script(source.parse_script(SCRIPT), num_steps=1, capture_video=False)
    for mean in means:
        agent: Any = ScriptUpdate(source, 1).agent
        make_output_constant(agent.actor_mean, mean)
        with torch.no_grad():
            agent.actor_logstd.fill_(_NEGLIGIBLE)
        environment = Scripted(inputs["low"], inputs["high"])
        with provide_variables_to_wrap_environments(
            source, functools.partial(_return_environment, environment)
        ) as variables:
            yield environment, run_rollout(source, {**variables, "args": args, "agent": agent})


def _return_environment(environment: Scripted) -> Scripted:
    return environment


def run_rollout(source: Source, variables: Mapping[str, Any]) -> SliceResult:
    """Run the script's rollout, and return its variables."""
    script = source.parse_script(SCRIPT)
    place = script.find_statement_of_shape(
        "rollout", _is_loop_over_steps, "a loop over the steps of a rollout"
    )
    return run_slice_up_to_anchor(place, {"device": CPU, "writer": None, **variables})


@contextmanager
def provide_variables_to_wrap_environments(
    source: Source, make_env: Callable[[], Any]
) -> Iterator[dict[str, Any]]:
    """Yield variables with which a PPO script wraps the environments of ``make_env``.

    For a script for Gymnasium, newer versions of that are patched. An older script gets stubs of
    the modules that it imports.
    """
    script = source.parse_script(SCRIPT)
    variables: dict[str, Any] = {"run_name": "probe", "experiment_name": "probe"}
    with ExitStack() as around:
        if "gymnasium" in script.imports:
            for owner, name, value in shim.list_patches_of_gymnasium():
                around.enter_context(replaced(owner, name, value))
            around.enter_context(replaced(gymnasium, "make", lambda *_, **__: make_env()))
        else:
            old = oldgym.make_stub_modules(lambda _: make_env(), lambda *_: None)
            vectorised = next(module for name, module in old.items() if name.endswith("vec_env"))
            variables["gym"] = old["gym"]
            variables["Monitor"] = old["gym.wrappers"].Monitor
            for name in ("DummyVecEnv", "SubprocVecEnv", "VecEnvWrapper"):
                variables[name] = getattr(vectorised, name)
        yield variables
