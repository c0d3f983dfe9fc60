"""skrl (https://skrl.readthedocs.io) for rlregress: an adapter and its expectations.

It probes skrl's own ``SAC.update`` and ``compute_gae`` for eight details of the catalogue. What
each probe is fed and returns is defined there (``rlregress.details.catalogue.get(id).observed``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlregress.frameworks.base import Adapter


def _space():
    from gymnasium.spaces import Box

    return Box(-1.0, 1.0, (1,), np.float32)


def _model(kind: str, **numbers: float) -> Any:
    """A model of skrl whose outputs are trained numbers, whatever comes in.

    ``critic`` gives ``value``; ``policy`` samples the action 0 with log-probability ``log_prob``.
    """
    import torch
    from skrl.models.torch import DeterministicMixin, Model

    class Constant(DeterministicMixin, Model):
        def __init__(self) -> None:
            Model.__init__(self, observation_space=_space(), action_space=_space(), device="cpu")
            DeterministicMixin.__init__(self)
            for name, number in numbers.items():
                setattr(self, name, torch.nn.Parameter(torch.tensor([float(number)])))

        def compute(self, inputs: Mapping[str, Any], role: str = ""):
            column = torch.zeros_like(inputs["observations"][:, :1])
            if kind == "policy":
                return column, {"log_prob": column + self.log_prob}
            return column + self.value, {}

    return Constant()


def _agent(inputs: Mapping[str, Any], critics: Sequence[float], targets: Sequence[float]):
    """A SAC agent with constant networks and a memory of equal transitions."""
    from skrl.agents.torch.sac import SAC, SAC_CFG
    from skrl.memories.torch import RandomMemory

    batch = int(inputs.get("batch_size", 8))
    configuration = SAC_CFG(
        batch_size=batch,
        discount_factor=float(inputs.get("discount", 0.99)),
        learning_rate=1e-12,
        initial_entropy_value=float(inputs.get("temperature", 1.0)),
        learn_entropy="target_entropy" in inputs,
        target_entropy=inputs.get("target_entropy"),
    )
    models = {"policy": _model("policy", log_prob=inputs.get("log_prob", 0.0))}
    for number, value in enumerate(critics, start=1):
        models[f"critic_{number}"] = _model("critic", value=value)
        models[f"target_critic_{number}"] = _model("critic", value=0.0)
    agent = SAC(
        models=models,
        memory=RandomMemory(memory_size=batch, num_envs=1, device="cpu"),
        observation_space=_space(),
        action_space=_space(),
        device="cpu",
        cfg=configuration,
    )
    agent.init()
    for number, target in enumerate(targets, start=1):
        models[f"target_critic_{number}"].value.data.fill_(float(target))
    return agent, models


def _fill(agent: Any, rewards: Sequence[float], terminated: bool) -> None:
    import torch

    for reward in rewards:
        agent.memory.add_samples(
            observations=torch.zeros(1, 1),
            next_observations=torch.zeros(1, 1),
            actions=torch.zeros(1, 1),
            rewards=torch.full((1, 1), float(reward)),
            terminated=torch.full((1, 1), terminated),
        )


def _losses(agent: Any) -> list[Any]:
    """One update; the losses in the order in which skrl differentiates them."""
    import torch

    found: list[Any] = []
    scale = agent.scaler.scale
    agent.scaler.scale = lambda loss: found.append(loss) or scale(loss)
    # the seed decides which rows the memory draws, and these are all equal
    with torch.random.fork_rng(devices=[]):
        agent.update(timestep=0, timesteps=1)
    return found


def _critic_loss(inputs: Mapping[str, Any], critics: Sequence[float]) -> float:
    agent, _ = _agent(inputs, critics, [0.0, 0.0])
    _fill(agent, [inputs["reward"]] * int(inputs["batch_size"]), terminated=True)
    return float(_losses(agent)[0].detach())


def _scale(inputs: Mapping[str, Any]) -> np.ndarray:
    return np.array([_critic_loss(inputs, inputs["q_values"])])


def _distance(inputs: Mapping[str, Any]) -> np.ndarray:
    losses = [_critic_loss(inputs, [inputs["reward"] + error] * 2) for error in inputs["errors"]]
    return np.array(losses[1:]) / losses[0]


def _target(inputs: Mapping[str, Any], targets: Sequence[float]) -> float:
    """y, as skrl hands it to its distance function."""
    import torch.nn.functional as functional

    agent, _ = _agent(inputs, [0.0, 0.0], targets)
    _fill(agent, [inputs["reward"]] * int(inputs["batch_size"]), terminated=False)
    values: list[float] = []
    mse_loss = functional.mse_loss
    try:
        functional.mse_loss = lambda q, y: values.append(float(y.mean())) or mse_loss(q, y)
        _losses(agent)
    finally:
        functional.mse_loss = mse_loss
    return values[0]


def _minimum(inputs: Mapping[str, Any]) -> np.ndarray:
    return np.array([_target(inputs, case) for case in inputs["target_q"]])


def _entropy(inputs: Mapping[str, Any]) -> np.ndarray:
    return np.array([_target(inputs, [inputs["target_q"]] * 2)])


def _actor_loss(inputs: Mapping[str, Any]) -> np.ndarray:
    found = []
    for case in inputs["q_values"]:
        agent, _ = _agent({**inputs, "reward": 0.0}, case, [0.0, 0.0])
        _fill(agent, [0.0] * int(inputs["batch_size"]), terminated=True)
        found.append(float(_losses(agent)[1].detach()))
    return np.array(found)


def _temperature(inputs: Mapping[str, Any]) -> np.ndarray:
    agent, _ = _agent(inputs, [0.0, 0.0], [0.0, 0.0])
    _fill(agent, [0.0] * 8, terminated=True)
    loss = _losses(agent)[2]
    return np.array([float(loss.detach()), float(agent.log_entropy_coefficient.grad)])


def _polyak(inputs: Mapping[str, Any]) -> np.ndarray:
    found = []
    for source, target in zip(inputs["source"], inputs["target"], strict=True):
        agent, models = _agent({}, [source] * 2, [target] * 2)
        _fill(agent, [0.0] * 8, terminated=True)
        _losses(agent)
        found.append(float(models["target_critic_1"].value))
    return np.array(found)


def _gae(inputs: Mapping[str, Any]) -> np.ndarray:
    """Advantages before their normalisation: returns minus values."""
    import torch
    from skrl.agents.torch.ppo.ppo import compute_gae

    def column(key: str, kind: Any = torch.float64):
        return torch.tensor(np.asarray(inputs[key]), dtype=kind).reshape(-1, 1, 1)

    values = column("values")
    returns, _ = compute_gae(
        rewards=column("rewards"),
        terminated=column("terminated", torch.bool),
        truncated=column("truncated", torch.bool),
        values=values,
        last_values=column("next_values")[-1],
        discount_factor=inputs["discount"],
        lambda_coefficient=inputs["trace"],
    )
    return (returns - values).reshape(-1).numpy()


_PROBES: dict[str, Any] = {
    "sac.critic_loss.scale": _scale,
    "sac.critic_loss.distance": _distance,
    "sac.target.minimum": _minimum,
    "sac.target.entropy": _entropy,
    "sac.actor_loss": _actor_loss,
    "sac.temperature.loss": _temperature,
    "sac.target_update.polyak": _polyak,
    "gae.truncation": _gae,
}


class Skrl(Adapter):
    """skrl's PyTorch agents."""

    name = "skrl"
    title = "skrl"
    packages = ("skrl", "torch")
    modules = ("skrl",)

    def probes(self):
        """Eight details, as class defaults."""
        return {(id, "library"): probe for id, probe in _PROBES.items()}

    def absent(self):
        """Nothing is said of what is not checked."""
        return {}

    def expectations(self):
        """The file beside this one."""
        return Path(__file__).with_name("skrl.toml")
