"""Environments of gymnasium side by side, as users vectorise those of a simulator; runners."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from rsl_rl import runners
from rsl_rl.env import VecEnv

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks

#: sets of observations that an agent can ask for; here they are all the same.
GROUPS = ("policy", "rnd_state", "teacher")
#: small networks, where their size does not matter
SMALL = Networks(hidden=[16])


class Vectorised(VecEnv):
    """A vector environment that starts the next episode within the step that ends one.

    That step returns the first observation of the next episode; the last one of the old episode is
    not returned. ``time_outs`` are all truncations, also of a step that terminates, as in the
    wrapper of Isaac Lab. Observations are float32 [environments, dimensions], rewards float32
    [environments].

    Args:
        environments: their observations and actions are boxes.
        step_dt: the duration of a step in seconds, by which a weight of curiosity is multiplied.
        seed: of the first environment; the others have the numbers after it.
        groups: names of observation groups that are the environments' own observations.
        further: name of another group -> function that makes it of these observations.
        clips: actions are clipped to their bounds, which RSL-RL leaves to its environments.
    """

    def __init__(
        self,
        *environments: Any,
        step_dt: float = 1.0,
        seed: int | None = None,
        clips: bool = False,
        groups: Sequence[str] = GROUPS,
        further: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {},  # noqa: B006 - read only
    ) -> None:
        self.environments = environments
        self.num_envs = len(environments)
        self.num_actions = int(np.prod(environments[0].action_space.shape))
        self.max_episode_length = 1000
        self.episode_length_buf = torch.zeros(self.num_envs, dtype=torch.long)
        self.device = "cpu"
        self.cfg: dict[str, Any] = {}
        # until 2.2 it had the other name
        self.step_dt = self.dt = step_dt
        self._clipped = clips
        self._plain, self.further = groups, further
        seeds = [None if seed is None else seed + number for number in range(self.num_envs)]
        pairs = zip(environments, seeds, strict=False)
        self._observations = [environment.reset(seed=own)[0] for environment, own in pairs]
        self.num_obs = self._observations[0].size

    @property
    def unwrapped(self) -> Vectorised:
        """Itself: there is no wrapper."""
        return self

    def group_observations(self) -> dict[str, torch.Tensor]:
        """Return the observations before the next step, by the name of their group."""
        observations = torch.as_tensor(np.stack(self._observations)).float()
        groups = {name: make(observations) for name, make in self.further.items()}
        return {**dict.fromkeys(self._plain, observations), **groups}

    def observe(self) -> Any:
        """Return the observations before the next step, as a step returns them."""
        return compat.arrange_observations(self.group_observations())

    def get_observations(self) -> Any:
        """Return the observations before the next step."""
        observed = self.observe()
        return (
            observed if compat.GROUPED else (observed, {"observations": self.group_observations()})
        )

    def reset(self) -> Any:
        """Start new episodes in all environments."""
        self._observations = [environment.reset()[0] for environment in self.environments]
        return self.get_observations()

    def clip_actions(self, actions: torch.Tensor) -> np.ndarray:
        """Return actions as they are executed, float32 [environments, dimensions]."""
        numbers = actions.detach().numpy()
        space = self.environments[0].action_space
        return np.clip(numbers, space.low, space.high) if self._clipped else numbers

    def step(self, actions: torch.Tensor) -> tuple[Any, torch.Tensor, torch.Tensor, dict[str, Any]]:
        rewards: list[float] = []
        ends: list[tuple[bool, bool]] = []
        for number, action in enumerate(self.clip_actions(actions)):
            environment = self.environments[number]
            observation, reward, *flags, _ = environment.step(action)
            rewards.append(float(reward))
            ends.append((flags[0], flags[1]))
            self._observations[number] = environment.reset()[0] if any(flags) else observation
        terminated, truncated = torch.tensor(ends).T
        extras = {"time_outs": truncated.float(), "observations": self.group_observations()}
        return self.observe(), torch.tensor(rewards), (terminated | truncated).long(), extras


def make_runner(
    environment: Any, steps: int, networks: Networks = SMALL, logs: str = "", **algorithm: Any
) -> Any:
    """Return a runner that prints nothing.

    Args:
        environment: ``Vectorised``, or the only one of these.
        steps: of a rollout, in each environment.
        logs: the folder that it logs to; empty: it writes no file.
        algorithm: its configuration; PPO has the name by default.

    Raises:
        Unsupported: this version lacks a setting.
    """
    if not isinstance(environment, Vectorised):
        environment = Vectorised(environment)
    algorithm.setdefault("class_name", "PPO")
    compat.raise_if_configuration_unsupported(algorithm, networks)
    distils = algorithm["class_name"] == "Distillation"
    sets = ("policy", "critic", "actor", "rnd_state", "student", "teacher")
    groups = {name: list(networks.groups) for name in sets}
    if "critic" in environment.further:
        groups["critic"] = ["critic"]
    configuration = {
        "num_steps_per_env": steps,
        "save_interval": 1_000_000,
        "obs_groups": groups,
        # a runner writes into it
        "algorithm": copy.deepcopy(algorithm),
        **networks.make_configuration_of_networks(distils),
    }
    # until 2.3 all algorithms have the same runner
    name = "DistillationRunner" if distils else "OnPolicyRunner"
    runner_class = getattr(runners, name, runners.OnPolicyRunner)
    with compat.silence_runner_output():
        return runner_class(environment, configuration, log_dir=logs or None, device="cpu")
