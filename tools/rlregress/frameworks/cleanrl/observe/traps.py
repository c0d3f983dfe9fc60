"""Probes of behaviour of the scripts that no source states."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.cleanrl.observe.drivers.parts import (
    call_network,
    find_layer_of_policy,
    find_policy,
    sample_action,
)
from rlregress.frameworks.cleanrl.observe.gae import (
    measure_advantages,
    read_float64_vector,
    run_rollout_with_values,
)
from rlregress.frameworks.cleanrl.observe.helpers import small_runs
from rlregress.frameworks.cleanrl.observe.helpers.ppo_trainings import (
    act_with_mean,
    find_acting_method,
    run_ppo,
    start_ppo,
)
from rlregress.frameworks.cleanrl.running import ScriptRun, start_script
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.interface import Inputs
from rlregress.probing.isolation import shift_seed
from rlregress.probing.layers import make_output_constant
from rlregress.probing.scripted import Scripted, make_script_of_end_after

_PPO = "ppo_continuous_action"
_SAC = "sac_continuous_action"
_TD3 = "td3_continuous_action"
_ROWS = 2
#: the loss of the policy as the scripts of SAC call and log it.
_POLICY_LOSS = ("actor_loss", "policy_loss")


def _measure_failure_at_lambda_zero(source: Source, inputs: Inputs) -> list[float]:
    none = np.zeros(len(inputs["rewards"]))
    segment = {**inputs, "trace": 0.0, "terminated": none, "truncated": none}
    try:
        estimated = measure_advantages(source, segment)
    except (IndexError, ValueError, ZeroDivisionError) as error:
        # an error of the environment says nothing about the script
        if traceback.extract_tb(error.__traceback__)[-1].filename != str(
            source.parse_script(_PPO).path
        ):
            raise
        return [1.0, *none]
    return [0.0, *estimated]


def _measure_advantage_after_value_change(source: Source, inputs: Inputs) -> np.ndarray:
    environment = Scripted(rewards=inputs["reward"], terminated=1.0)

    def compute_values(observations: torch.Tensor) -> torch.Tensor:
        number = inputs["next_value"] if environment.received else inputs["value"]
        return torch.full((len(observations), 1), float(number))

    run = run_rollout_with_values(
        source, 1, environment, compute_values, gamma=float(inputs["discount"])
    )
    return read_float64_vector(run, "advantages")


def _start_within_bounds(source: Source, name: str, inputs: Inputs) -> ScriptRun:
    path = source.parse_script(name).path
    return start_script(path, {}, lambda: Scripted(inputs["low"], inputs["high"]))


def _measure_deterministic_centre(source: Source, inputs: Inputs) -> np.ndarray:
    actor = _start_within_bounds(source, _TD3, inputs)["actor"]
    make_output_constant(actor, 0.0)
    return call_network(actor, torch.zeros(1, 1)).detach().numpy().reshape(-1)


def _measure_gaussian_centre(source: Source, inputs: Inputs) -> np.ndarray:
    variables = _start_within_bounds(source, _SAC, inputs).globals
    make_output_constant(find_layer_of_policy(variables, "mean"), 0.0)
    _, _, mode = sample_action(find_policy(variables), torch.zeros(1, 1))
    return mode.detach().numpy().reshape(-1)


def _measure_executed_action_beyond_bounds(source: Source, inputs: Inputs) -> np.ndarray:
    environment = Scripted(inputs["low"], inputs["high"])
    return np.array(act_with_mean(source, environment, inputs["mean"])[:1])


def _measure_share_of_wrong_log_probs(source: Source, inputs: Inputs) -> float:
    """Return the share of actions whose stored log probability is not that of the stored action."""
    agent = start_ppo(source)["agent"]
    make_output_constant(agent.actor_mean, inputs["mean"])
    act = find_acting_method(agent)
    observations = torch.zeros(int(inputs["count"]), 1)
    torch.manual_seed(shift_seed(int(inputs["seed"])))
    with torch.no_grad():
        actions, stored, *_ = act(observations)
        _, now, *_ = act(observations, actions)
    return float((torch.abs(now - stored) > 0.01).double().mean())


def _measure_truncated_flags(source: Source, inputs: Inputs) -> np.ndarray:
    steps = int(inputs["steps"])
    buffer = small_runs.run_off_policy_script(source, _TD3, steps)["rb"]
    if hasattr(buffer, "timeouts"):
        return np.array(buffer.timeouts[:steps], dtype=np.float64).reshape(-1)
    # rows are tuples: observation, action, reward, next observation, end
    return np.array([-1.0 if len(row) == 5 else float(row[5]) for row in buffer.buffer])


def _measure_share_of_rewardless_rows(source: Source, inputs: Inputs) -> list[float]:
    environment = Scripted(terminated=make_script_of_end_after(int(inputs["episode"])))
    script_run = small_runs.run_off_policy_script(
        source, _TD3, int(inputs["steps"]), environment, shimmed=False
    )
    return [0.0, float(np.mean(small_runs.read_stored_rewards(script_run["rb"]) == 0.0))]


def _measure_ratios_of_logged_kl(source: Source, inputs: Inputs) -> np.ndarray:
    epochs, minibatches = int(inputs["epochs"]), int(inputs["minibatches"])
    steps, rows = epochs * minibatches, minibatches * _ROWS
    log_prob = torch.distributions.Normal.log_prob
    calls = 0

    def compute_shifted_log_prob(distribution: Any, action: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        log_probability = log_prob(distribution, action)
        # a rollout asks for one action at a time, an update for a minibatch
        if len(action) != _ROWS:
            return log_probability
        update, step = divmod(calls, steps)
        calls += 1
        return log_probability + (inputs["log_ratio"] if step == update or update == steps else 0.0)

    script_run = run_ppo(
        source,
        {
            "total_timesteps": rows * (steps + 1),
            "num_steps": rows,
            "num_minibatches": minibatches,
            "update_epochs": epochs,
            "learning_rate": 0.0,
        },
        patches=[(torch.distributions.Normal, "log_prob", compute_shifted_log_prob)],
    )
    logged = [value for tag, value, _ in script_run.scalars if tag == "losses/approx_kl"]
    return np.array(logged[:-1]) / logged[-1]


def _measure_whether_early_logging_fails(source: Source, inputs: Inputs) -> float:
    # losses are logged at every hundredth step; 100 is no multiple of the delay
    settings: dict[str, Any] = {"learning_starts": 99, "policy_frequency": int(inputs["delay"])}
    script = source.parse_script(_SAC)
    try:
        small_runs.run_off_policy_script(source, _SAC, 102, batch_size=99, **settings)
    except NameError as error:
        # the attribute "name" is newer than the oldest Python that runs this
        match = re.search(r"'(\w+)'", str(error))
        if match is None or match.group(1) not in _POLICY_LOSS:
            problem = f"logging before the first update of the policy: {error}"
            raise script.make_lost_error(problem) from error
        return 1.0
    return 0.0


PROBES: dict[str, Callable[[Source, Inputs], Any]] = {
    "gae.lambda_zero": _measure_failure_at_lambda_zero,
    "gae.stored_values": _measure_advantage_after_value_change,
    "policy.centre.deterministic": _measure_deterministic_centre,
    "policy.centre.gaussian": _measure_gaussian_centre,
    "policy.out_of_bounds": _measure_executed_action_beyond_bounds,
    "policy.stored_log_prob": _measure_share_of_wrong_log_probs,
    "collection.truncated_flags": _measure_truncated_flags,
    "collection.autoreset": _measure_share_of_rewardless_rows,
    "logging.approx_kl": _measure_ratios_of_logged_kl,
    "logging.before_policy_update": _measure_whether_early_logging_fails,
}
_ONE_ESTIMATOR = "the script estimates advantages in one place, without switches"
ABSENT: Mapping[str, str] = {
    "gae.reset_env": _ONE_ESTIMATOR,
    "gae.truncation.asked": _ONE_ESTIMATOR,
    "gae.kernel": _ONE_ESTIMATOR,
    "advantage.masked_normalisation": "minibatches have no mask of valid steps",
    "networks.single_critic": "the scripts make their Q networks themselves",
    "dqn.exploration.draw": "the DQN scripts run one environment",
    "optimizer.gradient_clip.switch": "there is one number, max_grad_norm, and no switch",
    "optimizer.config_epsilon": "there are no classes that configure optimisers",
    "logging.update_count": "no number of updates is logged",
    "logging.losses": "losses of the last minibatch are logged, and no average",
}
