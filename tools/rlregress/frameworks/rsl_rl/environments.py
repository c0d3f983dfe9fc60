"""Environments of gymnasium side by side, as RSL-RL's users vectorise those of a simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from rsl_rl.env import VecEnv

from rlregress.frameworks.rsl_rl import compat

#: sets of observations that an agent can ask for; here they are all the same.
GROUPS = ("policy", "rnd_state", "teacher")


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

    def get_observations(self) -> Any:
        """Return the observations before the next step."""
        return compat.arrange_returned_observations(self.group_observations())

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
        observed = compat.arrange_returned_observations(self.group_observations(), is_step=True)
        return observed, torch.tensor(rewards), (terminated | truncated).long(), extras
