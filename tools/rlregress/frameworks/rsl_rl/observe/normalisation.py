"""Probes of normalisation: the component that models, or runners before 3.0, have inside."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import Vectorised
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.measurements import normalisation, normalisation_traps
from rlregress.measurements.normalisation import Script, Walked, make_script_of_observations
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.layers import list_linear_layers
from rlregress.probing.scripted import Scripted, make_counting_environment

_NORMALISED = Networks(hidden=[16], normalised=True)


def _make_environments(observations: Any, privileged: Any = None, **script: Any) -> Vectorised:
    """Return two equal environments, because advantages of one alone would have no deviation."""
    playback = make_script_of_observations(observations, **script)
    further = {} if privileged is None else {"critic": privileged}
    return Vectorised(Scripted(**playback), Scripted(**playback), further=further)


def _train_agent(observations: Any, privileged: Any = None) -> trainings.AgentTraining:
    """Train with rollouts of one step, so that each changes the statistics; return the record."""
    return trainings.train_and_record(
        _make_environments(observations, privileged),
        len(observations),
        steps=1,
        networks=_NORMALISED,
        learning_rate=trainings.FROZEN,
    )


def _walk_scripts_by_training(scripts: Sequence[Script]) -> Walked:
    (script,) = scripts
    observations = np.append(script["observations"][0], script["next_observations"])
    return Walked(np.array(_train_agent(observations).policy_inputs), np.zeros((0, 1)))


def _list_default_observations_and_rewards(inputs: Inputs) -> np.ndarray:
    observations = np.append(0.0, inputs["observations"])
    rewards: list[np.ndarray] = []
    training = trainings.train_and_record(
        _make_environments(observations, rewards=inputs["rewards"]),
        1,
        steps=len(observations),
        networks=Networks(hidden=[16]),
        change=lambda storage: rewards.append(storage.rewards[:-1, 0, 0].numpy().copy()),
    )
    numbers = np.array(training.policy_inputs)[1:, 0]
    return np.concatenate([numbers[[3, -1]], rewards[0][[3, -1]]])


def _list_policy_inputs_in_play(runner: Any, observations: Any) -> np.ndarray:
    """Return the inputs of the policy's first layer when a trained agent acts on observations."""
    play, recorded = runner.get_inference_policy(), []
    first = list_linear_layers(compat.find_layers_of_network(runner.alg, "actor"))[0]
    handle = first.register_forward_pre_hook(lambda _, inputs: recorded.append(inputs[0].item()))
    for number in observations:
        groups = dict.fromkeys(("policy", "teacher", "rnd_state"), torch.full((1, 1), number))
        with torch.no_grad():
            play(compat.arrange_returned_observations(groups, is_step=True))
    handle.remove()
    return np.array(recorded)


def _normalise_observations_in_evaluation(inputs: Inputs) -> np.ndarray:
    return _list_policy_inputs_in_play(
        _train_agent(inputs["training"]).runner, np.float32(inputs["evaluation"])
    )


def _normalise_observations_after_loading(inputs: Inputs) -> np.ndarray:
    trained = _train_agent(inputs["training"]).runner
    loaded = trainings.make_runner(Scripted(), 1, _NORMALISED)
    with tempfile.TemporaryDirectory() as folder, compat.silence_runner_output():
        path = Path(folder) / "agent.pt"
        trained.logger_type = "tensorboard"
        trained.save(str(path))
        loaded.load(str(path))
    return _list_policy_inputs_in_play(loaded, np.float32(inputs["evaluation"]))


def _make_normaliser(*batches: Any, **options: Any) -> Any:
    component = compat.EmpiricalNormalization(1, **options)
    component.train()
    for batch in batches:
        component.update(torch.as_tensor(batch, dtype=torch.float32).reshape(-1, 1))
    return component.eval()


def _normalise_number(component: Any, number: float) -> float:
    return float(component(torch.full((1, 1), number)))


def _measure_number_after_each_batch(inputs: Inputs) -> np.ndarray:
    batches = [inputs["first"], inputs["second"]]
    components = [_make_normaliser(*batches[:count], eps=1e-8) for count in (1, 2)]
    return np.array([_normalise_number(own, inputs["number"]) for own in components])


def _measure_epsilon_with_fixed_statistics(inputs: Inputs) -> np.ndarray:
    component = _make_normaliser()
    component._std.fill_(inputs["deviation"])
    return np.log10([_normalise_number(component, inputs["distance"])])


def _measure_mean_after_update_limit(inputs: Inputs) -> np.ndarray:
    batches = [[float(number)] * int(inputs["size"]) for number in range(3)]
    return _make_normaliser(*batches, until=int(inputs["limit"])).mean.numpy()


def _classify_critic_inputs(inputs: Inputs) -> np.ndarray:
    factor, offset = float(inputs["factor"]), float(inputs["offset"])
    training = _train_agent(inputs["observations"], lambda numbers: factor * numbers + offset)
    # the value network gets the observation after each step, too
    scaled, own = training.critic_inputs[-2][0], training.policy_inputs[-1][0]
    observed = factor * inputs["observations"][-1] + offset
    return np.isclose(scaled, [own, observed], rtol=[1e-2, 2e-2], atol=0.0).astype(np.float64)


def _measure_ratio_after_normalisation(inputs: Inputs) -> np.ndarray:
    steps = int(inputs["steps"])
    training = trainings.train_and_record(
        make_counting_environment(2 * steps),
        2,
        steps=steps,
        networks=_NORMALISED,
        learning_rate=trainings.FROZEN,
    )
    return training.flag_policy_changes_at_start(2)


PROBES: Mapping[str, Probe] = {
    "normalisation.observation": partial(
        normalisation.measure_normalised_observations, _walk_scripts_by_training
    ),
    "normalisation.observation.clip": partial(
        normalisation.measure_last_observations, _walk_scripts_by_training
    ),
    "normalisation.observation.large_offset": partial(
        normalisation_traps.flag_failures_at_large_offset, _walk_scripts_by_training
    ),
    "normalisation.default": _list_default_observations_and_rewards,
    "normalisation.evaluation": _normalise_observations_in_evaluation,
    "normalisation.saved": _normalise_observations_after_loading,
    "normalisation.fixed.epsilon": _measure_epsilon_with_fixed_statistics,
    "normaliser.statistics": _measure_number_after_each_batch,
    "normaliser.one_row": lambda i: np.isfinite(
        [_normalise_number(_make_normaliser([i["number"]]), 0.0)]
    ),
    "normaliser.until": _measure_mean_after_update_limit,
    "normaliser.ppo.critic": _classify_critic_inputs,
    "normaliser.ppo.ratio": _measure_ratio_after_normalisation,
}
ABSENT: Mapping[str, str] = {
    "normaliser": "normalises observations alone, and has no replay buffer",
}
