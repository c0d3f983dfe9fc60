"""Probes of normalisation: RunningStandardScaler, which agents put before their models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from skrl.resources.preprocessors.torch import RunningStandardScaler

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import (
    NEVER,
    AgentSetup,
    Layers,
    call_after_model,
    make_scaler_settings,
)
from rlregress.frameworks.skrl.observe.helpers.ppo_trainings import train
from rlregress.measurements import normalisation
from rlregress.measurements.normalisation import (
    Script,
    Walked,
    count_steps_of_script,
    make_script_of_observations,
)
from rlregress.measurements.ppo_trainings import Settings, measure_ratio_after_normalisation
from rlregress.probing.driven import fill_parameters
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.scripted import Scripted, make_script_of_end_after


def _make_scaler(deviation: float = 1.0, **options: Any) -> Any:
    scaler = RunningStandardScaler(1, device="cpu", **options)
    scaler.running_mean[:], scaler.running_variance[:] = 0.0, deviation**2
    return scaler


def _scale(scaler: Any, numbers: Any, **mode: bool) -> np.ndarray:
    """Pass rows of one number through a scaler; return its outputs, [n]."""
    rows = torch.as_tensor(np.asarray(numbers, dtype=np.float32)).reshape(-1, 1)
    return scaler(rows, **mode).flatten().double().numpy()


def _measure_scaling_after_each_batch(inputs: Inputs) -> list[float]:
    scaler = _make_scaler()
    statistics: list[float] = []
    for name in ("first", "second"):
        _scale(scaler, inputs[name], train=True)
        statistics += list(_scale(scaler, inputs["number"]))
    return statistics


def _measure_finiteness_after_one_row(inputs: Inputs) -> np.ndarray:
    scaler = _make_scaler()
    _scale(scaler, inputs["number"], train=True)
    return np.isfinite(_scale(scaler, 0.0))


def _measure_clip(inputs: Inputs) -> np.ndarray:
    scaler = _make_scaler()
    _scale(scaler, inputs["observations"][:-2], train=True)
    return _scale(scaler, inputs["observations"][-2:])


def _measure_inverse_scaling(inputs: Inputs) -> np.ndarray:
    scaler = _make_scaler(deviation=float(inputs["deviation"]))
    return _scale(scaler, inputs["numbers"], inverse=True)


def _measure_epsilon_with_fixed_statistics(inputs: Inputs) -> np.ndarray:
    scaler = _make_scaler(deviation=float(inputs["deviation"]), clip_threshold=float("inf"))
    return np.log10(_scale(scaler, inputs["distance"]))


def _measure_scaled_value_and_returns(inputs: Inputs) -> np.ndarray:
    script = {"rewards": inputs["rewards"], "terminated": 1.0}
    settings = Settings([script], len(inputs["rewards"]), value=inputs["value"])
    (rollout,) = train(settings, **make_scaler_settings("value")).rollouts
    return np.array([rollout.values.flat[0], *rollout.returns.flat])


_train_linear_policy = partial(
    train,
    prepare=lambda training: fill_parameters(training.models["policy"].net.parameters(), 1.0),
    layers=Layers(sizes=()),
    **make_scaler_settings("observation"),
)


def _make_sac_training_with_steps(steps: int, *environment: Scripted) -> AgentSetup:
    """Return a training of SAC that has stored ``steps`` steps and made no update."""
    settings = {"batch_size": steps, **make_scaler_settings("observation")}
    training = AgentSetup("sac", *environment, learning_rate=0.0, learning_starts=NEVER, **settings)
    training.run_steps(steps)
    return training


def _count_scaler_updates(inputs: Inputs) -> float:
    size = int(inputs["batch_size"])
    training = _make_sac_training_with_steps(size)
    scaler = training.agent.checkpoint_modules.get("observation_preprocessor")
    scaler = scaler or training.agent.checkpoint_modules["state_preprocessor"]
    before = float(scaler.current_count)
    training.update_once()
    return (float(scaler.current_count) - before) / size


def _measure_stored_terminal_observation(inputs: Inputs) -> np.ndarray:
    x = inputs["observations"]
    steps = len(x) - 1
    training = _make_sac_training_with_steps(
        steps,
        Scripted(**make_script_of_observations(x, terminated=make_script_of_end_after(steps))),
    )
    return training.read_stored_tensor("next_observations")[steps - 1, 0].double().numpy()


def _walk_with_default_agent(algorithm: str, scripts: Sequence[Script]) -> Walked:
    """Return the inputs of a default agent's policy, and the rewards that it stores."""
    numbers: list[np.ndarray] = []
    (script,) = scripts
    rows = count_steps_of_script(script)
    never: dict[str, Any] = (
        {"rollouts": NEVER} if algorithm == "ppo" else {"learning_starts": NEVER}
    )
    training = AgentSetup(algorithm, Scripted(**script), rows=rows + 1, **never)
    policy = training.models["policy"]
    call_after_model(
        policy, lambda acted, _: numbers.append(acted[compat.OBSERVATIONS][0].double().numpy())
    )
    # one step more, so that the last observation is acted on
    training.run_steps(rows + 1)
    return Walked(
        np.array(numbers), training.read_stored_tensor("rewards")[:rows, 0].double().numpy()
    )


PROBES: Mapping[str, Probe] = {
    "normaliser.statistics": _measure_scaling_after_each_batch,
    "normaliser.one_row": _measure_finiteness_after_one_row,
    "normaliser.inverse": _measure_inverse_scaling,
    "normaliser.ppo.targets": _measure_scaled_value_and_returns,
    "normaliser.ppo.ratio": partial(measure_ratio_after_normalisation, _train_linear_policy),
    "normaliser.sac.rows": _count_scaler_updates,
    "normalisation.observation.clip": _measure_clip,
    "normalisation.fixed.epsilon": _measure_epsilon_with_fixed_statistics,
    "normalisation.terminal_observation": _measure_stored_terminal_observation,
    "normalisation.default": partial(
        normalisation.measure_default_normalisation, partial(_walk_with_default_agent, "ppo")
    ),
    "normalisation.default.off_policy": partial(
        normalisation.measure_default_off_policy_normalisation,
        partial(_walk_with_default_agent, "sac"),
    ),
}
_BY_BATCHES = "updates statistics from the minibatches of updates (normaliser.statistics)"
ABSENT: Mapping[str, str] = {
    "normaliser.ppo.critic": "has states beside observations, which no probe covers yet",
    "normaliser.until": "learns statistics without a limit",
    "normalisation.observation": _BY_BATCHES,
    "normalisation.observation.epsilon": _BY_BATCHES,
    "normalisation.observation.statistics": _BY_BATCHES,
    "normalisation.observation.early_scale": _BY_BATCHES,
    "normalisation.observation.large_offset": _BY_BATCHES,
    "normalisation.order": _BY_BATCHES,
    "normalisation.terminal_observation.statistics": _BY_BATCHES,
    "normalisation.environments": _BY_BATCHES,
    "normalisation.replay": _BY_BATCHES,
    "normalisation.evaluation": _BY_BATCHES,
    "normalisation.evaluation.same_wrapper": _BY_BATCHES,
    "normalisation.saved": _BY_BATCHES,
    "normalisation": "scales no rewards by itself",
}
