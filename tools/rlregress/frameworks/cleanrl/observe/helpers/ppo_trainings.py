"""A whole small training by a PPO script, watched from outside.

The wrappers of the script normalise observations and rewards, which these probes do not test. So
the results of the vectorised environment are overwritten with those of the bare environments before
the script gets them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from rlregress.frameworks.cleanrl.observe.helpers.rollouts import SCRIPT
from rlregress.frameworks.cleanrl.running import ScriptRun, run_script
from rlregress.frameworks.cleanrl.script import Script
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import read_defaults_of_script
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.probing.scripted import Scripted, make_counting_environment

#: the same argument has had several names, the first of HEAD.
_SPELLINGS = {"num_minibatches": ("num_minibatches", "n_minibatch")}


def make_restarting_counting_environment(steps: int = 1000, **script: Any) -> Scripted:
    """Return an environment that observes the number of steps since its reset, up to ``steps``."""
    return make_counting_environment(steps, **{"rewards": [1.0, -1.0], "restarts": True, **script})


@dataclass
class ScriptTraining(RecordedTraining):
    """The record of a training.

    Advantages and policy losses are recorded at each step of the optimiser.

    Attributes:
        environments: those that the script stepped.
    """

    environments: list[Scripted] = field(default_factory=list)


def _find_first_variable(run: ScriptRun, *names: str) -> Any:
    for name in names:
        if name in run:
            return run[name]
    raise Script(run.path).make_anchor_lost_error("a run of the script", *names)


def rename_arguments_for_script(script: Script, flags: dict[str, Any]) -> dict[str, Any]:
    """Return the same arguments, by the names that this version of the script has for them."""
    known_flags = read_defaults_of_script(script)
    return {
        next((n for n in _SPELLINGS.get(name, ()) if n in known_flags), name): value
        for name, value in flags.items()
    }


class _TrainingRecorder:
    def __init__(
        self, training: ScriptTraining, steps: int, at_end: Callable[..., None] | None
    ) -> None:
        self._training, self._steps, self._at_end = training, steps, at_end
        self._run: Any = None
        self._vector_steps = 0
        self._handles: list[Any] = []

    def note_step(self, run: ScriptRun) -> None:
        """Count a step; replace observations and rewards by those of the unwrapped environments."""
        if self._run is None:
            self._run = run
            self._handles = [
                run["agent"].actor_mean.register_forward_hook(self._note_evaluated_minibatch),
                register_optimizer_step_pre_hook(self._note_optimizer_step),
            ]
        observations, rewards = run.outcome[:2]
        for row, environment in enumerate(self._training.environments):
            observations[row] = environment.observation[0]
            rewards[row] = environment.reward
        self._vector_steps += 1
        if self._vector_steps % self._steps == 0:
            self._training.stored.append(run["obs"][:, 0].reshape(-1).numpy().copy())
            if self._at_end is not None:
                self._at_end(run, len(self._training.stored) - 1)

    def _find_minibatch_indices(self) -> Any:
        return _find_first_variable(self._run, "mb_inds", "minibatch_ind")

    def _note_evaluated_minibatch(self, *_: Any) -> None:
        # a rollout is collected without gradients
        if torch.is_grad_enabled():
            training = self._training
            training.evaluated.append(
                self._run["b_obs"][self._find_minibatch_indices()].reshape(-1).numpy().copy()
            )

    def _note_optimizer_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        training, run = self._training, self._run
        training.rates.append(float(optimizer.param_groups[0]["lr"]))
        training.advantages.append(run["mb_advantages"].reshape(-1).numpy().copy())
        training.losses.append(float(run["pg_loss"].detach()))
        training.log_ratios.append(run["ratio"].detach().log().numpy().copy())
        training.log_std_gradients.append(float(run["agent"].actor_logstd.grad.sum()))

    def remove_hooks(self) -> None:
        """Take all hooks away."""
        for handle in self._handles:
            handle.remove()


def run_ppo_script(
    source: Source,
    total_steps: int,
    num_steps: int,
    num_minibatches: int,
    *,
    make_env: Callable[[], Scripted] = make_restarting_counting_environment,
    at_end: Callable[[ScriptRun, int], None] | None = None,
    **flags: Any,
) -> ScriptTraining:
    """Train with the PPO script, by default one epoch for each rollout; return the record.

    Args:
        at_end: called with the run and the number of the rollout after its last step and before the
            advantages are computed, so that it can change stored numbers.
        flags: further arguments of the script.
    """
    script = source.parse_script(SCRIPT)
    training = ScriptTraining()

    def make_environment() -> Scripted:
        training.environments.append(make_env())
        return training.environments[-1]

    watch = _TrainingRecorder(training, num_steps, at_end)
    arguments = {
        "total_timesteps": total_steps,
        "num_steps": num_steps,
        "num_minibatches": num_minibatches,
        "update_epochs": 1,
        **flags,
    }
    try:
        run_script(
            script.path,
            rename_arguments_for_script(script, arguments),
            make_env=make_environment,
            on_step=watch.note_step,
        )
    finally:
        watch.remove_hooks()
    return training


def multiply_ratios(run: ScriptRun, ratios: Any) -> None:
    """Multiply probability ratios of the first environment: change its stored log-probabilities."""
    logs = torch.as_tensor(np.log(np.atleast_1d(ratios)), dtype=run["logprobs"].dtype)
    run["logprobs"][:, 0] -= logs


def zero_stored_and_predicted_values(run: ScriptRun) -> None:
    """Set the stored values of a rollout to 0, and the last layer of the value network, too."""
    run["values"].zero_()
    last = [m for m in run["agent"].critic.modules() if isinstance(m, torch.nn.Linear)][-1]
    with torch.no_grad():
        last.weight.zero_()
        last.bias.zero_()
