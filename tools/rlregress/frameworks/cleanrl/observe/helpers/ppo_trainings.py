"""Small runs of a PPO script, watched from outside: trainings, rollouts and single updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.running import ScriptRun, run_script, start_script
from rlregress.frameworks.cleanrl.script import find_first_variable
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.probing.driven import fill_parameters
from rlregress.probing.journal import StepJournal, find_critic
from rlregress.probing.layers import find_last_linear_layer, make_output_constant
from rlregress.probing.scripted import Scripted, make_counting_environment

SCRIPT = "ppo_continuous_action"
#: log of a standard deviation that is lost in rounding beside every mean.
_NEGLIGIBLE = -80.0


def make_restarting_counting_environment(steps: int = 1000, **script: Any) -> Scripted:
    """Return an environment that observes the number of steps since its reset, up to ``steps``."""
    return make_counting_environment(steps, **{"rewards": [1.0, -1.0], "restarts": True, **script})


def start_ppo(source: Source, make_env: Callable[[], Any] = Scripted) -> ScriptRun:
    """Run the PPO script until it resets its environment; return its variables of that moment."""
    return start_script(source.parse_script(SCRIPT).path, {}, make_env)


def run_ppo(
    source: Source, flags: dict[str, Any], *, make_env: Callable[[], Any] = Scripted, **options: Any
) -> ScriptRun:
    """Run the PPO script with these arguments, by their names in HEAD."""
    script = source.parse_script(SCRIPT)
    arguments = {script.spell_argument(name): value for name, value in flags.items()}
    return run_script(script.path, arguments, make_env=make_env, **options)


def remove_wrappers(run: ScriptRun) -> None:
    """Take away the script's wrappers, which normalise observations and rewards."""
    environments = run["envs"].envs
    environments[:] = [environment.unwrapped for environment in environments]


def find_acting_method(agent: Any) -> Callable[..., Any]:
    """Return the method of an agent that returns actions, log-probabilities and entropies."""
    return getattr(agent, "get_action_and_value", None) or agent.get_action


def act_with_mean(source: Source, environment: Scripted, mean: float) -> tuple[float, float]:
    """Return the action that the environment receives and the one that is stored, in one step.

    The policy has this mean and no deviation.
    """

    def fix_policy(run: ScriptRun) -> None:
        make_output_constant(run["agent"].actor_mean, mean)
        fill_parameters([run["agent"].actor_logstd], _NEGLIGIBLE)

    flags = {"total_timesteps": 1, "num_steps": 1}
    run = run_ppo(source, flags, make_env=lambda: environment, on_start=fix_policy, stop=1)
    return environment.received[-1].item(), run["actions"].item()


def call_before_update(run: ScriptRun, callback: Callable[[], None]) -> None:
    """Call ``callback`` when an update reads the number of its epochs, with the rows made."""
    args = run["args"]
    epochs = args.update_epochs

    def call_and_return_epochs(_: Any) -> int:
        callback()
        return epochs

    watched = {"update_epochs": property(call_and_return_epochs)}
    args.__class__ = type("Args", (type(args),), watched)


def update_on_rows(
    source: Source,
    samples: int,
    prepare: Callable[[ScriptRun], Any],
    minibatch_size: int = 0,
    **flags: Any,
) -> tuple[ScriptRun, list[float], list[float]]:
    """Run a rollout and an update; return the run, and loss and gradient norm of each step.

    There is one epoch, with a learning rate of 0.

    Args:
        samples: steps of the rollout.
        prepare: called with the run before the update; see ``overwrite_rows``.
        minibatch_size: 0: the whole rollout, in its order.

    Raises:
        VariableLost: the update does not read the number of epochs, so that nothing was prepared.
    """
    prepared: list[None] = []
    journal = StepJournal()
    sizes = {
        "total_timesteps": samples,
        "num_steps": samples,
        "num_minibatches": samples // (minibatch_size or samples),
        "update_epochs": 1,
        "learning_rate": 0.0,
    }
    with journal.record_optimizer_steps(find_critic):
        run = run_ppo(
            source,
            {**sizes, **flags},
            on_start=lambda run: call_before_update(run, lambda: prepared.append(prepare(run))),
            patches=[] if minibatch_size else [(np.random, "shuffle", lambda rows: None)],
        )
    if not prepared:
        problem = "the update does not read args.update_epochs"
        raise source.parse_script(SCRIPT).make_lost_error(problem)
    return run, journal.losses["critic"], journal.gradient_norms["critic"]


def overwrite_rows(run: ScriptRun, ratios: Any = 1.0, **rows: Any) -> None:
    """Overwrite the rollout that an update is about to read; observations and actions are 0.

    Args:
        ratios: of new to old probability, one number or [samples].
        rows: ``advantages``, ``returns`` or ``values``, one number or [samples]; 0 without it.
    """
    dtype = run["agent"].actor_logstd.dtype
    observations, actions = (
        torch.zeros_like(run[name], dtype=dtype) for name in ("b_obs", "b_actions")
    )
    run.globals.update(b_obs=observations, b_actions=actions)
    with torch.no_grad():
        now = find_acting_method(run["agent"])(observations, actions)[1].double().numpy()
    old = now - np.log(np.asarray(ratios, dtype=np.float64))
    numbers = {"advantages": 0.0, "returns": 0.0, "values": 0.0, **rows, "logprobs": old}
    for name, column in numbers.items():
        value = torch.as_tensor(np.asarray(column, dtype=np.float64), dtype=dtype)
        run.globals[f"b_{name}"] = value.expand(len(run[f"b_{name}"])).clone()


def _note_evaluated_minibatch(training: RecordedTraining, run: ScriptRun) -> None:
    # a rollout is collected without gradients
    if torch.is_grad_enabled():
        rows = find_first_variable(run.globals, "mb_inds", "minibatch_ind")
        training.evaluated.append(run["b_obs"][rows].reshape(-1).numpy().copy())


def _note_optimizer_step(training: RecordedTraining, run: ScriptRun) -> None:
    training.rates.append(float(run["optimizer"].param_groups[0]["lr"]))
    training.advantages.append(run["mb_advantages"].reshape(-1).numpy().copy())
    training.losses.append(float(run["pg_loss"].detach()))
    training.log_ratios.append(run["ratio"].detach().log().numpy().copy())
    training.log_std_gradients.append(float(run["agent"].actor_logstd.grad.sum()))


def train_ppo(
    source: Source,
    total_steps: int,
    num_steps: int,
    num_minibatches: int,
    *,
    make_env: Callable[[], Scripted] = make_restarting_counting_environment,
    at_end: Callable[[ScriptRun, int], None] | None = None,
    **flags: Any,
) -> RecordedTraining:
    """Train with the PPO script, by default one epoch for each rollout; return the record.

    Args:
        at_end: called with the run and the number of the rollout after its last step and before the
            advantages are computed, so that it can change stored numbers.
        flags: further arguments of the script.
    """
    training = RecordedTraining([])

    def make_environment() -> Scripted:
        training.environments = [*training.environments, make_env()]
        return training.environments[-1]

    def watch_updates(run: ScriptRun) -> None:
        remove_wrappers(run)
        run["agent"].actor_mean.register_forward_hook(
            lambda *_: _note_evaluated_minibatch(training, run)
        )
        run["optimizer"].register_step_pre_hook(lambda *_: _note_optimizer_step(training, run))

    def note_step(run: ScriptRun) -> None:
        if run.steps % run["obs"][..., 0].numel() == 0:
            training.stored.append(run["obs"][:, 0].reshape(-1).numpy().copy())
            if at_end is not None:
                at_end(run, len(training.stored) - 1)

    arguments = {
        "total_timesteps": total_steps,
        "num_steps": num_steps,
        "num_minibatches": num_minibatches,
        "update_epochs": 1,
        **flags,
    }
    run_ppo(source, arguments, make_env=make_environment, on_start=watch_updates, on_step=note_step)
    return training


def multiply_ratios(run: ScriptRun, ratios: Any) -> None:
    """Multiply probability ratios of the first environment: change its stored log-probabilities."""
    logs = torch.as_tensor(np.log(np.atleast_1d(ratios)), dtype=run["logprobs"].dtype)
    run["logprobs"][:, 0] -= logs


def zero_stored_and_predicted_values(run: ScriptRun) -> None:
    """Set the stored values of a rollout to 0, and the last layer of the value network, too."""
    run["values"].zero_()
    fill_parameters(find_last_linear_layer(run["agent"].critic).parameters(), 0.0)
