"""Probes of the loop of TD3: the TD3 program, TD3Trainer, and class defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.torchrl.api import (
    AdditiveGaussianModule,
    ExplorationType,
    TensorDict,
    TensorDictModule,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.compat import with_gaussian_noise
from rlregress.frameworks.torchrl.probes.helpers import (
    off_policy_agents,
    off_policy_programs,
    off_policy_trainers,
    programs,
)
from rlregress.frameworks.torchrl.probes.helpers.known_networks import box
from rlregress.frameworks.torchrl.probes.helpers.quiet import Raw
from rlregress.measurements.spread import log2_spread, spread_between_environments


def _noise(exploring: Any) -> Any:
    return next(m for m in exploring.modules() if isinstance(m, AdditiveGaussianModule))


def _centre(model: Any, _: Any) -> None:
    make_constant(model[0], [0.0])


def _replay_action(i: Inputs) -> list[float]:
    def prepare(model: Any, exploring: Any) -> None:
        make_constant(model[0], [i["pre_tanh"]])
        _noise(exploring).std.zero_()

    size = int(i["batch_size"])
    journal = off_policy_programs.run(
        "td3", size, prepare, playback={"low": i["low"], "high": i["high"]},
        frames_per_batch=size, batch_size=size, utd_ratio=1 / size, lr=0.0,
    )  # fmt: skip
    return [journal.collected()[0, -1], float(journal.buffer[:]["action"][-1])]


def _spread(exploring: Any, samples: int) -> float:
    with set_exploration_type(ExplorationType.RANDOM), torch.no_grad():
        acted = exploring(
            TensorDict(
                {"observation": torch.zeros(samples, 1), "action": torch.zeros(samples, 1)},
                [samples],
            )
        )
    return log2_spread(acted["action"].numpy())


def _script_default(i: Inputs) -> float:
    actor, exploring = off_policy_agents.exploring("td3")
    make_constant(actor, [0.0])
    return _spread(exploring, int(i["samples"]))


def _library_default(i: Inputs) -> float:
    still = TensorDictModule(torch.nn.Identity(), in_keys=["action"], out_keys=["action"])
    exploring, _ = with_gaussian_noise(still, box(-1.0, 1.0, torch.float32))
    return _spread(exploring, int(i["samples"]))


def _exploration_environments(i: Inputs) -> np.ndarray:
    environments, steps = int(i["environments"]), int(i["steps"])
    journal = off_policy_programs.run(
        "td3", steps * environments, _centre, env_per_collector=environments,
        frames_per_batch=steps * environments, batch_size=int(i["batch_size"]),
        utd_ratio=1 / (steps * environments), lr=0.0,
    )  # fmt: skip
    return spread_between_environments(journal.collected())


def _exploration_warmup(i: Inputs) -> float:
    def prepare(model: Any, exploring: Any) -> None:
        noise = _noise(exploring)
        noise.mean, noise.std = torch.tensor(float(i["noise"])), torch.tensor(0.0)

    steps, frames = int(i["steps"]), int(i["collected_at_once"])
    journal = off_policy_programs.run(
        "td3", steps, prepare, frames_per_batch=frames, init_random_frames=steps,
        batch_size=int(i["batch_size"]),
    )  # fmt: skip
    return float(np.mean(np.abs(journal.collected()[:, :steps]) >= 1.0))


def _adam_epsilon(i: Inputs) -> list[float]:
    loss = off_policy_agents.loss("td3", [4])
    settings = off_policy_programs.settings("", adam_eps=i["documented"])
    optimizers = programs.load("td3", "utils").make_optimizer(settings, loss)
    return off_policy_agents.log_epsilons(loss, *optimizers)


PROBES: Mapping[tuple[str, str], Raw] = {
    ("td3.learning_starts", "script"): off_policy_programs.learning_starts("td3"),
    ("td3.update_ratio", "script"): off_policy_programs.update_ratio("td3", ["critic"]),
    ("td3.vectorisation", "script"): off_policy_programs.vectorisation("td3"),
    ("td3.networks", "script"): off_policy_agents.networks("td3"),
    ("td3.gradient_clip", "script"): off_policy_agents.gradient_clip("td3"),
    ("td3.learning_starts", "trainer"): off_policy_trainers.learning_starts("td3"),
    ("td3.gradient_clip", "trainer"): off_policy_trainers.gradient_clip("td3"),
    ("td3.replay.action", "script"): _replay_action,
    ("td3.exploration.default", "script"): _script_default,
    ("td3.exploration.default", "library"): _library_default,
    ("td3.exploration.environments", "script"): _exploration_environments,
    ("td3.exploration.warmup", "script"): _exploration_warmup,
    ("td3.adam.epsilon", "script"): _adam_epsilon,
}
