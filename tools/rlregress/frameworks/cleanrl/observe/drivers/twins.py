"""Driver of the scripts of SAC, TD3 and DDPG: runs them as they are, with other environments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.cleanrl.observe.drivers.parts import (
    OPTIMIZERS,
    DrivenScript,
    call_network,
    find_layer_of_policy,
    find_optimizer_by_role,
    find_policy,
    list_q_networks,
    sample_action,
)
from rlregress.frameworks.cleanrl.observe.helpers.small_runs import read_stored_columns
from rlregress.frameworks.cleanrl.running import ScriptRun, StopRun, run_script
from rlregress.measurements.twin_details import FROZEN
from rlregress.probing import layers
from rlregress.probing.driven import (
    fill_networks_and_targets,
    fill_parameters,
    fix_log_prob_of_samples,
    read_parameter_of_each_target,
)
from rlregress.probing.heads import fix_draws_of_normal_distributions
from rlregress.probing.isolation import shift_seed
from rlregress.probing.journal import StepJournal
from rlregress.probing.layers import (
    find_last_linear_layer,
    list_linear_layers,
    list_optimized_parameters,
    make_output_constant,
)
from rlregress.probing.scripted import Scripted
from rlregress.probing.single_updates import ACTION, NOW, THEN, UpdateDriver

_SETTINGS = {
    "discount": "gamma",
    "delay": "policy_frequency",
    "target_every": "target_network_frequency",
    "coefficient": "tau",
}
_OF_TD3 = {"smoothing": "policy_noise", "smoothing_bound": "noise_clip"}
#: (the script's variables) -> changes them, once its networks are made
Prepare = Callable[[Any], Any]


class SACDriver(UpdateDriver, DrivenScript):
    """The script of SAC (see ``twin_agents.TwinDriver``)."""

    name = "sac_continuous_action"
    shares_rate = False
    _is_sac, _is_td3 = True, False
    _critics: Sequence[str] = ("qf1", "qf2")
    _targets: Sequence[str] = ("qf1_target", "qf2_target")

    def _find_policy(self) -> Any:
        return find_policy(self._variables)

    # -- a run -------------------------------------------------------------------------------

    def _make_arguments(self) -> dict[str, Any]:
        s = self._settings
        critic, policy = s.rates or FROZEN
        settings = s.map_to_framework_names(**_SETTINGS, **(_OF_TD3 if self._is_td3 else {}))
        if s.rates is not None:
            both = {"policy_lr": policy, "q_lr": critic}
            settings.update(both if self._is_sac else {"learning_rate": policy})
        if s.temperature is not None and self._is_sac:
            settings["alpha"] = s.temperature
            if not s.trained_temperature:
                settings["autotune"] = False
        if not self._is_sac and s.deviation is not None:
            settings["exploration_noise"] = s.deviation
        if not self._is_sac and s.noise is not None:
            # in units of the draw that is made this number
            settings["exploration_noise"] = 1.0 if s.noise else 0.0
        if s.environments > 1 and "num_envs" in self._script.defaults:
            settings["num_envs"] = s.environments
        return {"buffer_size": 256, "batch_size": s.batch_size, **settings}

    def _record_run(
        self,
        steps: int,
        on_start: Prepare = lambda variables: None,
        on_step: Callable[[str], None] = lambda part: None,
        **arguments: Any,
    ) -> StepJournal:
        """Run the script; return the record of its actions and optimiser steps.

        Args:
            on_start: called before the first step.
            on_step: called with each part that an optimiser is about to step; it may end the run.
            arguments: further arguments of the script's command line.
        """
        s, journal = self._settings, StepJournal()

        def prepare_first_step(run: ScriptRun) -> None:
            self._variables = run.globals
            self._apply_settings_to_agent()
            on_start(run.globals)

        def make_environment() -> Scripted:
            flags = {"terminated": s.terminated, "truncated": s.truncated}
            dimensions = s.observations
            environment = Scripted(
                s.low, s.high, rewards=s.reward, observation_dimensions=dimensions, **flags
            )
            journal.actions.append(environment.received)
            return environment

        def find_stepped_parts(optimizer: Any) -> dict[str, Any]:
            for role in OPTIMIZERS:
                if find_optimizer_by_role(self._variables, role) is optimizer:
                    return {role: list_optimized_parameters(optimizer)}
            candidates = [name for tried in OPTIMIZERS.values() for name in tried]
            raise self._script.make_variable_lost_error(*candidates)

        settings = {"total_timesteps": steps, **self._make_arguments(), **arguments}
        with (
            self._fix_draws(),
            journal.record_optimizer_steps(
                find_stepped_parts,
                lambda: self._find_policy().parameters(),
                lambda: self.list_target_parameters(self._variables),
                on_step,
            ),
        ):
            run_script(
                self._script.path,
                settings,
                make_env=make_environment,
                on_start=prepare_first_step,
            )
        return journal

    def _apply_settings_to_agent(self) -> None:
        s = self._settings
        if s.log_prob is not None and self._is_sac:
            fix_log_prob_of_samples(self._find_policy(), "get_action", s.log_prob)
        if s.pre_tanh is not None:
            make_output_constant(find_layer_of_policy(self._variables, "mean", "mu"), s.pre_tanh)
        if s.weight is not None:
            for network in list_q_networks(self._variables):
                fill_parameters([find_last_linear_layer(network).weight], s.weight)

    @contextmanager
    def _fix_draws(self) -> Iterator[None]:
        s = self._settings
        with ExitStack() as around:
            if s.pre_tanh is not None and self._is_sac:
                around.enter_context(fix_draws_of_normal_distributions(0.0))
            if s.noise and not self._is_sac:
                around.enter_context(_fix_normal_noise(s.noise))
            yield

    def run_loop(self) -> StepJournal:
        """Run the script for the number of steps in the settings."""
        s = self._settings
        # a minibatch can only be drawn from enough rows; SAC's scripts ensure that themselves
        starts = s.starts or (0 if self._is_sac else max(s.batch_size - 2, 0))
        settings: dict[str, Any] = {}
        if s.updates in ("fewer", "more"):
            frequency = 2 * int(self._script.defaults.get("policy_frequency", 1))
            settings["policy_frequency"] = frequency if s.updates == "fewer" else 1
        if not s.learns:
            # updates cannot be switched off
            starts, settings = s.starts or 0, {"batch_size": 2, "policy_frequency": 10 * s.steps}
            frozen = ("policy_lr", "q_lr") if self._is_sac else ("learning_rate",)
            settings.update(dict.fromkeys(frozen, 0.0))
        journal = self._record_run(s.steps, learning_starts=starts, **settings)
        stored = read_stored_columns(self._find_variable("rb"))
        last = len(journal.actions[0]) - 1
        journal.stored_rows = len(stored["rewards"])
        # a buffer that lost rows, or never got them, is measured where rows are counted
        if journal.stored_rows > last:
            journal.stored_action, journal.stored_reward = (
                float(np.ravel(stored[name][last])[0]) for name in ("actions", "rewards")
            )
        return journal

    def _run_one_step_and_get_variables(self) -> Any:
        """Run one step, and return the script's variables, among them its untrained agent."""
        self._record_run(1, batch_size=4)
        return self._variables

    # -- one update --------------------------------------------------------------------------

    def run_update(self, prepare: Prepare, part: str, step_number: int = 1) -> StepJournal:
        """Run until an optimizer step of ``part``, on equal observations and actions.

        Args:
            step_number: the run stops before the part's step of this number.
        """
        size = self._settings.batch_size
        steps: list[str] = []

        def patch_sample_and_prepare(variables: Any) -> None:
            sample = variables["rb"].sample

            def equalise_rows_and_sample(*arguments: Any) -> Any:
                _equalise_stored_rows(variables["rb"])
                return sample(*arguments)

            variables["rb"].sample = equalise_rows_and_sample
            prepare(variables)

        def stop_at_step(stepped_part: str) -> None:
            steps.append(stepped_part)
            if steps.count(part) == step_number:
                raise StopRun

        # One version updates from the step on at which the buffer holds more than a batch, the
        # other past the start of learning: there the policy has its turn at even steps, and the
        # step before the first of them must not update.
        starts = size - 1 + size % 2
        return self._record_run(
            starts + 2, patch_sample_and_prepare, stop_at_step, learning_starts=starts
        )

    def list_q_networks(self, agent: Any, are_targets: bool = False) -> Sequence[nn.Module]:
        names = self._targets if are_targets else self._critics
        return [self._find_variable(name) for name in names]

    def evaluate(self, network: Any, observation: float, action: float) -> torch.Tensor:
        return call_network(network, torch.full((1, 1), observation), torch.full((1, 1), action))

    def act(self, agent: Any, observation: float, by_target: bool = False) -> float:
        # the policy that reports a log-probability does 0
        if self._is_sac:
            return 0.0
        policy = self._find_variable("target_actor" if by_target else "actor")
        with torch.no_grad():
            return float(call_network(policy, torch.full((1, 1), observation)))

    def fix_q_values(
        self, agent: Any, q_values: Sequence[float], action: float, are_targets: bool = False
    ) -> None:
        super().fix_q_values(agent, q_values, action, are_targets)
        if len(q_values) > 2:

            def third(observations: torch.Tensor, _: Any) -> torch.Tensor:
                return 0.0 * observations[:, :1] + float(q_values[2])

            agent.update(qf3=third, qf3_target=third)

    def compute_temperature_loss_and_gradient(self) -> tuple[float, float]:
        s = self._settings

        def prepare_script(variables: Any) -> None:
            fill_parameters([variables["log_alpha"]], float(np.log(s.temperature or 1.0)))
            variables["target_entropy"] = s.target_entropy

        journal = self.run_update(prepare_script, "temperature")
        return journal.losses["temperature"][0], float(self._variables["log_alpha"].grad)

    def update_and_read_targets(
        self, source: Sequence[float], target: Sequence[float]
    ) -> np.ndarray:
        pairs: list[tuple[Any, Any]] = []

        def prepare_script(variables: Any) -> None:
            names_of_pairs = list(zip(self._critics, self._targets, strict=True))
            names_of_pairs += [] if self._is_sac else [("actor", "target_actor")]
            for pair in names_of_pairs:
                online, followed = (self._find_variable(name) for name in pair)
                pairs.append((online, followed))
            fill_networks_and_targets(pairs, source, target)

        self.run_update(prepare_script, "critic", step_number=2)
        return read_parameter_of_each_target(pairs)

    def compute_smoothed_actions(
        self, squashed: float, samples: int, draw_per_sample: bool
    ) -> np.ndarray:
        """Return the noisy target actions that the first target critic receives, one per sample.

        The target policy's output is replaced by the requested action, because one version of the
        script does not scale that output to the bounds. Where the noise has the shape of the
        script's last action, a whole batch shares it: ``draw_per_sample`` gives that action one row
        for each sample.
        """
        s = self._settings
        low, high = (np.atleast_1d(bound) for bound in (s.low, s.high))
        meant = 0.5 * (low + high) + squashed * 0.5 * (high - low)
        answer = torch.as_tensor(meant, dtype=torch.float32).expand(samples, len(low))
        recorded: list[torch.Tensor] = []

        def note_received_actions(_: Any, actions: torch.Tensor, *further: Any) -> None:
            recorded.append(actions)
            raise StopRun

        def prepare_script(variables: Any) -> None:
            self._find_variable("target_actor").forward = lambda *_: answer
            self._find_variable("qf1_target").forward = note_received_actions

            buffer, sample = variables["rb"], variables["rb"].sample

            def sample_many(_: int) -> Any:
                if draw_per_sample:
                    variables["action"] = np.zeros((samples, len(low)))
                if hasattr(buffer, "buffer"):
                    # it draws no row twice
                    buffer.buffer.extend([buffer.buffer[0]] * samples)
                torch.manual_seed(shift_seed(s.seed))
                return sample(samples)

            buffer.sample = sample_many

        self._record_run(2, prepare_script, learning_starts=0, buffer_size=samples)
        (actions,) = recorded
        return actions.double().numpy()

    # -- what the script makes ---------------------------------------------------------------

    def read_temperature(self) -> float:
        return float(self._run_one_step_and_get_variables()["alpha"])

    def read_target_entropy(self) -> float:
        return float(self._run_one_step_and_get_variables()["target_entropy"])

    def compute_log_deviation(self, outputs: Sequence[float]) -> np.ndarray:
        self._run_one_step_and_get_variables()
        with fix_draws_of_normal_distributions(0.0) as deviations:
            for output in outputs:
                make_output_constant(find_layer_of_policy(self._variables, "std"), output)
                sample_action(self._find_policy(), torch.zeros(1, 1))
        return np.array([float(torch.log(deviation)) for deviation in deviations])

    def compute_log_prob(self, draw: Sequence[float]) -> float:
        self._run_one_step_and_get_variables()
        # the policy's forward gives mean and log standard deviation, before anything is sampled
        zeros = torch.zeros(1, len(draw), dtype=torch.float64)
        policy = self._find_policy()
        policy.forward = lambda *_: (zeros, zeros)
        with fix_draws_of_normal_distributions(draw):
            return float(sample_action(policy, torch.zeros(1, 1))[1].detach())

    def count_q_networks_and_targets(self) -> tuple[int, int]:
        variables = self._run_one_step_and_get_variables()
        trained = list_q_networks(variables)
        kinds = {type(network) for network in trained}
        all_of_them = [network for network in variables.values() if type(network) in kinds]
        return len(trained), len(all_of_them) - len(trained)

    def describe_architecture(self) -> np.ndarray:
        variables = self._run_one_step_and_get_variables()
        policy, critics = self._find_policy(), list_q_networks(variables)
        hidden = [
            [layer.out_features for layer in list_linear_layers(network) if layer.out_features > 1]
            for network in (policy, critics[0])
        ]
        own = {id(p) for p in policy.parameters()}
        shared = any(id(p) in own for critic in critics for p in critic.parameters())
        received = layers.measure_activation(policy, partial(call_network, policy))
        return layers.describe_networks_as_numbers(hidden, len(critics), received, shared)

    def measure_initialisation(self) -> np.ndarray:
        first = self._run_one_step_and_get_variables()["qf1"].fc1
        return layers.measure_initialisation(first.weight, first.bias)

    def read_log10_adam_eps(self) -> list[float]:
        variables = self._run_one_step_and_get_variables()
        critics = [self._find_variable(name) for name in self._critics]
        parameters = {
            "critic": [p for critic in critics for p in critic.parameters()],
            "actor": list(self._find_policy().parameters()),
        }
        if "log_alpha" in variables:
            parameters["temperature"] = [variables["log_alpha"]]
        return [
            layers.read_log10_adam_eps(find_optimizer_by_role(variables, role), own)
            for role, own in parameters.items()
        ]


class TD3Driver(SACDriver):
    """The script of TD3."""

    name = "td3_continuous_action"
    _is_sac, _is_td3 = False, True


class DDPGDriver(SACDriver):
    """The script of DDPG, which has one Q network."""

    name = "ddpg_continuous_action"
    _is_sac = False
    _critics, _targets = ("qf1",), ("qf1_target",)


@contextmanager
def _fix_normal_noise(number: float) -> Iterator[None]:
    """Make a draw from N(mean, sigma^2) return mean + sigma * number, in torch and in NumPy."""

    def draw_with_torch(mean: Any, std: Any, *_: Any, **__: Any) -> torch.Tensor:
        return torch.as_tensor(mean + std * number)

    def draw_with_numpy(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> np.ndarray:
        return np.full(() if size is None else size, loc + scale * number)

    with (
        mock.patch.object(torch, "normal", draw_with_torch),
        mock.patch.object(np.random, "normal", draw_with_numpy),
    ):
        yield


def _equalise_stored_rows(buffer: Any) -> None:
    """Overwrite all stored transitions with the same observations and action."""
    if hasattr(buffer, "actions"):
        buffer.observations[:], buffer.actions[:] = NOW, ACTION
        buffer.next_observations[:] = THEN
        return
    numbers = {0: NOW, 1: ACTION, 3: THEN}
    rows = [
        tuple(
            np.full_like(np.asarray(entry), numbers[place]) if place in numbers else entry
            for place, entry in enumerate(row)
        )
        for row in buffer.buffer
    ]
    buffer.buffer.clear()
    buffer.buffer.extend(rows)
