"""Train the policies of ``baselines/policies``: ``python -m tools.record_policies [ID ...]``.

They act in upgrades that move gymnasium, mujoco or NumPy, without the framework that trained them:
a policy is a few layers, tanh between them, and an action is the last one, clipped. Each is
trained by Stable-Baselines3's PPO, and says so in its file.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy

STEPS = {
    "CartPole-v1": 30_000, "Pendulum-v1": 100_000, "InvertedPendulum-v4": 40_000,
    "InvertedDoublePendulum-v4": 60_000, "Reacher-v4": 100_000, "Swimmer-v4": 60_000,
    "Hopper-v4": 100_000, "HalfCheetah-v4": 60_000, "Walker2d-v4": 100_000, "Hopper-v5": 100_000,
}  # fmt: skip
HIDDEN, SEED = (32, 32), 0


def recorded(environment: str, steps: int) -> dict[str, Any]:
    """The arrays of a file: weights [out, in] and biases [out] of every layer, and ``about``."""
    discount = 0.9 if environment == "Pendulum-v1" else 0.99
    agent = PPO(
        "MlpPolicy", environment, seed=SEED, gamma=discount, device="cpu",
        policy_kwargs={"net_arch": list(HIDDEN)},
    )  # fmt: skip
    agent.learn(steps)
    mean, _ = evaluate_policy(agent, gymnasium.make(environment), 20)
    network = [*agent.policy.mlp_extractor.policy_net, agent.policy.action_net]
    layers = [part for part in network if isinstance(part, torch.nn.Linear)]
    arrays: dict[str, Any] = {}
    for number, layer in enumerate(layers):
        arrays[f"weight_{number}"] = layer.weight.detach().numpy()
        arrays[f"bias_{number}"] = layer.bias.detach().numpy()
    packages = ("stable-baselines3", "gymnasium", "mujoco", "torch", "numpy")
    about = {
        "environment": environment, "algorithm": "PPO", "steps": steps, "seed": SEED,
        "discount": discount, "mean_return": float(mean),
        "versions": {name: version(name) for name in packages},
    }  # fmt: skip
    return {**arrays, "about": np.array(json.dumps(about))}


def main(names: list[str]) -> None:
    """Write the files."""
    torch.set_num_threads(1)
    folder = Path(__file__).resolve().parents[1] / "baselines" / "policies"
    folder.mkdir(exist_ok=True)
    for name in names or STEPS:
        arrays = recorded(name, STEPS[name])
        np.savez_compressed(folder / f"{name}.npz", **arrays)
        print(name, arrays["about"], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
