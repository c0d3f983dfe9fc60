"""Driver of ``ddpg_continuous_action.py``: runs the script in other environments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from unittest import mock

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.drivers.parts import DrivenScript, list_q_networks
from rlregress.measurements.driven_agents import Look, LoopRecord, do_nothing
from rlregress.probing.driven import ScriptedEnvs, fill_parameters
from rlregress.probing.layers import make_output_constant
from rlregress.probing.recorded_update import record_differentiated_losses


class DDPGDriver(DrivenScript):
    """The script of DDPG (see ``driven_agents.ContinuousAgent``)."""

    name = "ddpg_continuous_action"
    _policies: tuple[float, float] | None = None
    _runs = False

    def set_values(self, online: float, target: float) -> None:
        for name, number in (("qf1", online), ("qf1_target", target)):
            make_output_constant(self._find_variable(name), [number])

    def set_policy(self, online: float, target: float) -> None:
        """Fix the policies' outputs before tanh, now or once the script has made its networks."""
        self._policies = (online, target)
        if self._runs:
            self._fix_requested_policy_outputs()

    def _fix_requested_policy_outputs(self) -> None:
        if self._policies is not None:
            for name, number in zip(("actor", "target_actor"), self._policies, strict=False):
                make_output_constant(self._find_variable(name), [number])

    def fill_parameters(self, online: float, target: float) -> None:
        for name in ("qf1", "actor"):
            fill_parameters(self._find_variable(name).parameters(), online)
        for name in ("qf1_target", "target_actor"):
            fill_parameters(self._find_variable(name).parameters(), target)

    def read_target_parameters(self) -> tuple[float, float | None]:
        networks = (self._find_variable("qf1_target"), self._find_variable("target_actor"))
        values, policy = (float(next(n.parameters()).detach().flatten()[0]) for n in networks)
        return values, policy

    def count_q_networks_and_targets(self) -> tuple[int, int]:
        """Return how many Q networks are trained, and how many target networks they have."""
        counts: list[tuple[int, int]] = []

        def count_networks_of_optimiser(_: int) -> None:
            variables = vars(sys.modules["__main__"])
            trained = list_q_networks(variables)
            kinds = {type(network) for network in trained}
            all_of_them = [network for network in variables.values() if type(network) in kinds]
            counts.append((len(trained), len(all_of_them) - len(trained)))

        self._run_in_environments(
            self._make_scripted_environments(), count_networks_of_optimiser, total_timesteps=1
        )
        return counts[0]

    def compute_critic_and_policy_loss(self, online: float, target: float) -> tuple[float, float]:
        """Return the losses of Q network and policy in an update on one full minibatch."""
        with record_differentiated_losses() as losses:
            self._run_until_update(lambda: self.set_values(online, target))
        values, policy = losses[-2:]
        return values, policy

    def read_target_actions(self) -> np.ndarray:
        """Return the actions that the target Q network receives in the last update."""
        recorded: list[np.ndarray] = []

        def hook_target_network() -> None:
            self._find_variable("qf1_target").register_forward_pre_hook(
                lambda _, given: recorded.append(given[1].detach().double().numpy().flatten())
            )

        self._run_until_update(hook_target_network)
        return np.concatenate(recorded)

    def _run_until_update(self, callback: Callable[[], None]) -> None:
        """Run until the first update of values and policy; call ``callback`` just ahead of it."""
        size = self._settings.batch_size
        envs = self._make_scripted_environments()
        envs.between = lambda steps: callback() if steps == size - 1 else None
        self._run_in_environments(
            envs, total_timesteps=size, learning_starts=size - 2, policy_frequency=1
        )

    def run_loop(self, on_start: Look = do_nothing, on_step: Look = do_nothing) -> LoopRecord:
        envs = self._make_scripted_environments()
        envs.between = on_step
        with envs.record_gradient_norms(self._name_role_of_optimizer):
            self._run_in_environments(envs, on_start)
        return envs.make_record()

    def _name_role_of_optimizer(self, optimizer: Any) -> str:
        return "values" if optimizer is self._find_variable("q_optimizer") else "policy"

    def _make_scripted_environments(self) -> ScriptedEnvs:
        return ScriptedEnvs(self._settings, low=self._settings.low, high=self._settings.high)

    def _run_in_environments(
        self, envs: ScriptedEnvs, on_start: Look = do_nothing, **arguments: Any
    ) -> None:
        def fix_policies_and_start(steps: int) -> None:
            self._runs = True
            self._fix_requested_policy_outputs()
            on_start(steps)

        envs.begin = fix_policies_and_start
        noise = self._settings.noise
        if noise is not None:
            arguments["exploration_noise"] = noise
        try:
            with nullcontext() if noise is None else _fix_draws_to_one_deviation():
                self._run_script(envs, **arguments)
        finally:
            self._runs = False


def _fix_draws_to_one_deviation() -> Any:
    """Make every normal number one standard deviation above its mean."""
    return mock.patch.object(torch, "normal", lambda mean, std: mean + std)
