"""Probes of behaviour that no source states: losses, modules, and what trainers store and log."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.torchrl.api import (
    Categorical,
    EGreedyModule,
    HardUpdate,
    LazyTensorStorage,
    OptimizerHook,
    SACLoss,
    TanhDelta,
    TanhNormal,
    TD3Loss,
    TensorDict,
    TensorDictModule,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.compat import (
    call_with_newest_keywords,
    make_sac_loss,
    read_renamed,
)
from rlregress.frameworks.torchrl.known_networks import (
    ConcatSequential,
    Constant,
    FixedLocScale,
    make_action_box,
    make_q_network,
    make_stochastic_policy,
)
from rlregress.frameworks.torchrl.observe.drivers import ppo_trainings
from rlregress.frameworks.torchrl.observe.drivers.twin_loops import TrainerDriver
from rlregress.frameworks.torchrl.scripted_environments import collect_batch, wrap_environment
from rlregress.measurements.twin_agents import Settings
from rlregress.measurements.twin_details import make_loop_settings
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Inputs, Probe, Unsupported
from rlregress.probing.isolation import shift_seed
from rlregress.probing.scripted import Scripted, make_env_truncated_then_terminated

_ROWS = 2


def _measure_mode_of_tanh_delta(inputs: Inputs) -> float:
    low, high = torch.tensor([inputs["low"]]), torch.tensor([inputs["high"]])
    return float(call_with_newest_keywords(TanhDelta, torch.zeros(1), low=low, high=high).mode)


def _measure_mode_of_tanh_normal(inputs: Inputs) -> float:
    low, high = torch.tensor([inputs["low"]]), torch.tensor([inputs["high"]])
    distribution = call_with_newest_keywords(
        TanhNormal, torch.zeros(1), torch.ones(1), low=low, high=high, tanh_loc=True
    )
    return float(read_renamed(distribution, "deterministic_sample"))


def _make_standard_policy() -> Any:
    """Return a standard Gaussian that a tanh squashes, the same in all states."""
    return make_stochastic_policy(
        FixedLocScale([0.0], [1.0]), make_action_box(-1.0, 1.0), TanhNormal
    )


def _flag_critics_with_equal_weights(inputs: Inputs) -> list[float]:
    weights = torch.as_tensor(inputs["weights"]).reshape(1, -1)
    layer = torch.nn.Linear(2, 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(weights)
    network = make_q_network(ConcatSequential(layer))
    loss = SACLoss(_make_standard_policy(), network, num_qvalue_nets=2)
    (copies,) = [p.data for p in loss.qvalue_network_params.values(True, True)]
    return [float(torch.equal(copy, weights)) for copy in copies]


def _measure_critic_count(inputs: Inputs) -> list[float]:
    del inputs
    sac = SACLoss(_make_standard_policy(), make_q_network(Constant(0.0)))
    deterministic = TensorDictModule(Constant(0.0), in_keys=["observation"], out_keys=["action"])
    td3 = TD3Loss(
        deterministic, make_q_network(Constant(0.0)), action_spec=make_action_box(-1.0, 1.0)
    )
    copies = [next(iter(m.qvalue_network_params.values(True, True))) for m in (sac, td3)]
    return [float(len(parameter)) for parameter in copies]


def _measure_share_of_mixed_exploration(inputs: Inputs) -> float:
    environments = int(inputs["environments"])
    explore = EGreedyModule(Categorical(int(inputs["actions"])), eps_init=inputs["epsilon"])
    torch.manual_seed(shift_seed(int(inputs["seed"])))
    mixed = []
    for _ in range(int(inputs["calls"])):
        greedy = torch.zeros(environments, dtype=torch.long)
        same = explore(TensorDict({"action": greedy.clone()}, [environments]))["action"] == greedy
        mixed.append(bool(same.any()) and not bool(same.all()))
    return float(np.mean(mixed))


def _measure_gaps_between_hard_updates(inputs: Inputs) -> Any:
    critics = [make_q_network(Constant(0.0)) for _ in range(2)]
    loss = make_sac_loss(_make_standard_policy(), critics)
    updater = HardUpdate(loss, value_network_update_interval=int(inputs["interval"]))
    copies = []
    for step in range(1, int(inputs["steps"]) + 1):
        # the trained networks move at every step, so that a copy shows
        for parameter in loss.qvalue_network_params.values(True, True):
            parameter.data.fill_(float(step))
        updater.step()
        targets = loss.target_qvalue_network_params.values(True, True)
        if all(bool((p == step).all()) for p in targets):
            copies.append(step)
    return np.diff(copies[:3])


def _measure_share_of_reset_steps(inputs: Inputs) -> list[float]:
    ends = [0.0] * (int(inputs["episode"]) - 1) + [1.0]
    steps = int(inputs["steps"])
    vectorised: Any = gymnasium.vector.SyncVectorEnv(
        [lambda: Scripted(rewards=[1.0], terminated=ends)]
    )
    try:
        environment = wrap_environment(vectorised)
    except RuntimeError:
        return [1.0, 0.0]
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(steps))
    buffer.extend(collect_batch(environment, steps).reshape(-1))
    return [0.0, float((buffer[:]["next", "reward"] == 0.0).double().mean())]


def _measure_truncated_flags(inputs: Inputs) -> Any:
    trained = TrainerDriver(
        "sac", make_loop_settings(inputs, collected_at_once=int(inputs["steps"]))
    )
    trained.run_loop()
    return trained.buffer[:]["next", "truncated"].double().numpy().reshape(-1)


def _measure_next_observation(inputs: Inputs) -> Any:
    trained = TrainerDriver("sac", make_loop_settings(inputs), make_env_truncated_then_terminated())
    trained.run_loop()
    return trained.buffer[:]["next", "observation"].reshape(-1)[[2, 4]].numpy()


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
    with mock.patch.dict(sys.modules, {_CONFIGS: package, "omegaconf": settings}):
        for name in [name for name in sys.modules if name.startswith(f"{_CONFIGS}.")]:
            del sys.modules[name]
        yield


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
    log_prob = torch.distributions.Normal(0.0, 1.0).log_prob(torch.zeros(()))

    def set_actions_to_zero(batch: Any) -> None:
        # with action 0, a location l lowers the log-probability by l^2 / 2
        batch["action"] = torch.zeros_like(batch["action"])
        batch["action_log_prob"] = log_prob.expand_as(batch["action_log_prob"]).clone()

    training = ppo_trainings.train(
        "trainer", partial(Scripted, rewards=[1.0]), rows * updates, rows, _ROWS, epochs=epochs,
        models=ppo_trainings.make_gaussian_models(_ScriptedLocation(locations)),
        change=set_actions_to_zero, auto_log_optim_steps=True,
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
    trained = TrainerDriver("td3", Settings(terminated=1.0, delay=int(inputs["delay"])))
    try:
        trained.run_loop()
    except (IndexError, KeyError, NameError, ValueError) as error:
        if not was_raised_in(error, "torchrl"):
            raise
        return 1.0
    return 0.0


PROBES: dict[tuple[str, str], Probe] = {
    ("policy.centre.deterministic", "library"): _measure_mode_of_tanh_delta,
    ("policy.centre.gaussian", "library"): _measure_mode_of_tanh_normal,
    ("networks.single_critic", "library"): _flag_critics_with_equal_weights,
    ("networks.critic_count", "library"): _measure_critic_count,
    ("dqn.exploration.draw", "library"): _measure_share_of_mixed_exploration,
    ("target.hard_update_period", "library"): _measure_gaps_between_hard_updates,
    ("collection.autoreset", "library"): _measure_share_of_reset_steps,
    ("replay.next_observation", "trainer"): _measure_next_observation,
    ("collection.truncated_flags", "trainer"): _measure_truncated_flags,
    ("optimizer.gradient_clip.switch", "trainer"): _measure_clip_switch,
    ("optimizer.config_epsilon", "trainer"): _measure_log_adam_epsilon,
    ("logging.approx_kl", "trainer"): _measure_ratios_of_logged_kl,
    ("logging.update_count", "trainer"): _measure_update_count,
    ("logging.before_policy_update", "trainer"): _flag_failure_before_policy_update,
}
