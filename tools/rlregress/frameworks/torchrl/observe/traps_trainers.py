"""Probes of numbers that TorchRL's trainers store, clip and log."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import IndependentNormal, OptimizerHook
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    make_action_box,
    make_stochastic_policy,
    make_v_network,
)
from rlregress.frameworks.torchrl.observe.drivers.twin_trainers import Driver
from rlregress.frameworks.torchrl.observe.helpers import ppo_trainings, tiny_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.measurements.twin_agents import Settings
from rlregress.measurements.twin_details import make_loop_settings
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Inputs, Unsupported
from rlregress.probing.scripted import Scripted

_ROWS = 2


def _measure_truncated_flags(inputs: Inputs) -> Any:
    trained = Driver("sac", make_loop_settings(inputs, collected_at_once=int(inputs["steps"])))
    trained.run_loop()
    return trained.buffer[:]["next", "truncated"].double().numpy().reshape(-1)


def _clip_gradient_by_trainer(gradient: Any, switch: bool, bound: Any) -> list[float]:
    """Return the gradient as the optimiser finds it, after the trainer's hook has clipped it."""
    weights = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    optimizer = torch.optim.SGD([weights], lr=0.0)
    recorded: list[Any] = []
    optimizer.register_step_pre_hook(lambda *_: recorded.append(weights.grad))
    OptimizerHook(optimizer)({"loss": (weights * gradient).sum()}, switch, bound, 0)
    return recorded[0].tolist()


def _measure_clip_switch(inputs: Inputs) -> list[float]:
    gradient = torch.as_tensor(inputs["gradient"])
    cases = ((True, None), (True, inputs["bound"]), (False, inputs["bound"]))
    return [component for case in cases for component in _clip_gradient_by_trainer(gradient, *case)]


_CONFIGS = "torchrl.trainers.algorithms.configs"


@contextlib.contextmanager
def _import_without_hydra() -> Iterator[None]:
    """Make the modules of TorchRL's configurations importable without hydra.

    They are data classes and use neither hydra nor omegaconf.
    """
    try:
        algorithms: Any = importlib.import_module("torchrl.trainers.algorithms")
    except ModuleNotFoundError as error:
        raise Unsupported(str(error)) from error
    folder = Path(algorithms.__file__).parent
    package, settings = ModuleType(_CONFIGS), ModuleType("omegaconf")
    package.__path__ = [str(folder / "configs")]
    vars(settings).update(DictConfig=dict, ListConfig=list)
    before: dict[str, Any] = {n: m for n, m in sys.modules.items() if n.startswith(_CONFIGS)}
    before["omegaconf"] = sys.modules.get("omegaconf")
    for name in before:
        sys.modules.pop(name, None)
    sys.modules.update({_CONFIGS: package, "omegaconf": settings})
    try:
        yield
    finally:
        for name in [n for n in sys.modules if n.startswith(_CONFIGS) or n == "omegaconf"]:
            del sys.modules[name]
        sys.modules.update({n: module for n, module in before.items() if module is not None})


def _measure_log_adam_epsilon(inputs: Inputs) -> float:
    del inputs
    with _import_without_hydra():
        module = importlib.import_module(f"{_CONFIGS}.utils")
        return float(np.log10(module.AdamConfig().eps))


class _ScriptedLocation(torch.nn.Module):
    """A Gaussian's parameters; the location of the calls with gradients follows a script."""

    def __init__(self, locations: list[float]) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self._locations, self._calls = locations, 0

    def forward(self, observation: torch.Tensor) -> Any:
        location = 0.0
        if torch.is_grad_enabled():
            location = self._locations[self._calls]
            self._calls += 1
        output = (self.weight + location).expand(*observation.shape[:-1], 1)
        return output, torch.ones_like(output)


def _train_ppo_and_get_log(inputs: Inputs, locations: list[float]) -> dict[str, Any]:
    """Train PPO with a policy of mean locations[k] in minibatch k; return the trainer's log."""
    epochs, minibatches = int(inputs["epochs"]), int(inputs["minibatches"])
    rows = minibatches * _ROWS
    updates = len(locations) // (epochs * minibatches)
    actor = make_stochastic_policy(
        _ScriptedLocation(locations),
        make_action_box(-1.0, 1.0, tiny_trainers.SINGLE),
        IndependentNormal,
    )
    critic = make_v_network(Constant(0.0, dtype=tiny_trainers.SINGLE))
    log_prob = torch.distributions.Normal(0.0, 1.0).log_prob(torch.zeros(()))

    def set_actions_to_zero(batch: Any) -> None:
        # with action 0, a location l lowers the log-probability by l^2 / 2
        batch["action"] = torch.zeros_like(batch["action"])
        batch["action_log_prob"] = log_prob.expand_as(batch["action_log_prob"]).clone()

    training = ppo_trainings.run_trainer(
        [Scripted(rewards=[1.0])], rows * updates, rows, _ROWS, epochs=epochs,
        models=ppo_trainings.Models(actor, critic), change=set_actions_to_zero, logs_updates=True,
    )  # fmt: skip
    return training.trainer._log_dict


def _measure_ratios_of_logged_kl(inputs: Inputs) -> Any:
    steps = int(inputs["epochs"]) * int(inputs["minibatches"])
    shifted = float(np.sqrt(-2.0 * inputs["log_ratio"]))
    locations = [
        shifted if step == update else 0.0 for update in range(steps) for step in range(steps)
    ]
    log = _train_ppo_and_get_log(inputs, locations + [shifted] * steps)
    logged = [float(number) for number in log["kl_approx"]]
    return np.array(logged[:-1]) / logged[-1]


def _measure_update_count(inputs: Inputs) -> float:
    steps = int(inputs["epochs"]) * int(inputs["minibatches"])
    return float(_train_ppo_and_get_log(inputs, [0.0] * steps)["optim_steps"][-1])


def _flag_failure_before_policy_update(inputs: Inputs) -> float:
    trained = Driver("td3", Settings(terminated=1.0, delay=int(inputs["delay"])))
    try:
        trained.run_loop()
    except (IndexError, KeyError, NameError, ValueError) as error:
        if not was_raised_in(error, "torchrl"):
            raise
        return 1.0
    return 0.0


PROBES: dict[tuple[str, str], Raw] = {
    ("collection.truncated_flags", "trainer"): _measure_truncated_flags,
    ("optimizer.gradient_clip.switch", "trainer"): _measure_clip_switch,
    ("optimizer.config_epsilon", "trainer"): _measure_log_adam_epsilon,
    ("logging.approx_kl", "trainer"): _measure_ratios_of_logged_kl,
    ("logging.update_count", "trainer"): _measure_update_count,
    ("logging.before_policy_update", "trainer"): _flag_failure_before_policy_update,
}
