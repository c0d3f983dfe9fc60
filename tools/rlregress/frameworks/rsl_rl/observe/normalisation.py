"""Probes of normalisation: the component that models, or runners before 3.0, have inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import GROUPS, SMALL, Vectorised, make_runner
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.measurements import normalisation, normalisation_traps
from rlregress.measurements.normalisation import Script, Walked
from rlregress.measurements.ppo_trainings import measure_ratio_after_normalisation
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.scripted import Scripted

_NORMALISED = Networks(hidden=[16], normalised=True)


def _train_on_observations(
    observations: Any, networks: Networks = _NORMALISED, privileged: Any = None, **script: Any
) -> trainings.AgentTraining:
    """Train with rollouts of one step, so that each changes the statistics; return the record.

    Args:
        privileged: makes the observations of the critic; None: it gets the same.
        script: of the environments, beside their observations.
    """
    script = normalisation.make_script_of_observations(observations, **script)
    further = {} if privileged is None else {"critic": privileged}
    # advantages of one environment alone would have no deviation
    environment = Vectorised(Scripted(**script), Scripted(**script), further=further)
    return trainings.train_and_record(environment, len(observations), steps=1, networks=networks)


def _walk(scripts: Sequence[Script], networks: Networks = _NORMALISED) -> Walked:
    (script,) = map(dict, scripts)
    observations = np.append(script.pop("observations")[0], script.pop("next_observations"))
    training = _train_on_observations(observations, networks, **script)
    # the last step is beyond the script: it shows the last observation
    rewards = [rollout.rewards[0, :, 0] for rollout in training.rollouts[:-1]]
    return Walked(np.array(training.inputs["actor"]), np.array(rewards))


def _list_policy_inputs_in_play(runner: Any, observations: Any) -> np.ndarray:
    """Return the inputs of the policy's first layer when a trained agent acts on observations."""
    play, recorded = runner.get_inference_policy(), trainings.collect_inputs(runner.alg, "actor")
    for number in np.asarray(observations, dtype=np.float32):
        groups = dict.fromkeys(GROUPS, torch.full((1, 1), number))
        with torch.no_grad():
            play(compat.arrange_observations(groups))
    return np.concatenate(recorded)


def _normalise_observations_in_evaluation(inputs: Inputs) -> np.ndarray:
    runner = _train_on_observations(inputs["training"]).runner
    return _list_policy_inputs_in_play(runner, inputs["evaluation"])


def _normalise_observations_after_loading(inputs: Inputs) -> np.ndarray:
    loaded = make_runner(Scripted(), 1, _NORMALISED)
    compat.copy_through_file(_train_on_observations(inputs["training"]).runner, loaded)
    return _list_policy_inputs_in_play(loaded, inputs["evaluation"])


def _make_normaliser(*batches: Any, **options: Any) -> Any:
    component = compat.EmpiricalNormalization(1, **options)
    component.train()
    for batch in batches:
        component.update(torch.as_tensor(batch, dtype=torch.float32).reshape(-1, 1))
    return component.eval()


def _normalise_number(component: Any, number: float) -> float:
    return float(component(torch.full((1, 1), number)))


def _measure_number_after_each_batch(inputs: Inputs) -> list[float]:
    batches = [inputs["first"], inputs["second"]]
    components = [_make_normaliser(*batches[:count], eps=1e-8) for count in (1, 2)]
    return [_normalise_number(own, inputs["number"]) for own in components]


def _measure_epsilon_with_fixed_statistics(inputs: Inputs) -> np.ndarray:
    component = _make_normaliser()
    component._std.fill_(inputs["deviation"])
    return np.log10([_normalise_number(component, inputs["distance"])])


def _measure_mean_after_update_limit(inputs: Inputs) -> np.ndarray:
    batches = [[float(number)] * inputs["size"] for number in range(3)]
    return _make_normaliser(*batches, until=inputs["limit"]).mean.numpy()


def _classify_critic_inputs(inputs: Inputs) -> np.ndarray:
    factor, offset = inputs["factor"], inputs["offset"]
    training = _train_on_observations(
        inputs["observations"], privileged=lambda numbers: factor * numbers + offset
    )
    # the value network gets the observation after each step, too
    scaled, own = training.inputs["critic"][-2][0], training.inputs["actor"][-1][0]
    observed = factor * inputs["observations"][-1] + offset
    return np.isclose(scaled, [own, observed], rtol=[1e-2, 2e-2], atol=0.0)


PROBES: Mapping[str, Probe] = {
    "normalisation.observation": partial(normalisation.measure_normalised_observations, _walk),
    "normalisation.observation.clip": partial(normalisation.measure_last_observations, _walk),
    "normalisation.observation.large_offset": partial(
        normalisation_traps.flag_failures_at_large_offset, _walk
    ),
    "normalisation.default": partial(
        normalisation.measure_default_normalisation,
        partial(_walk, networks=SMALL),
    ),
    "normalisation.evaluation": _normalise_observations_in_evaluation,
    "normalisation.saved": _normalise_observations_after_loading,
    "normalisation.fixed.epsilon": _measure_epsilon_with_fixed_statistics,
    "normaliser.statistics": _measure_number_after_each_batch,
    "normaliser.one_row": lambda i: np.isfinite(
        [_normalise_number(_make_normaliser([i["number"]]), 0.0)]
    ),
    "normaliser.until": _measure_mean_after_update_limit,
    "normaliser.ppo.critic": _classify_critic_inputs,
    "normaliser.ppo.ratio": partial(
        measure_ratio_after_normalisation, partial(trainings.train, networks=_NORMALISED)
    ),
}
ABSENT: Mapping[str, str] = {
    "normaliser": "normalises observations alone, and has no replay buffer",
}
