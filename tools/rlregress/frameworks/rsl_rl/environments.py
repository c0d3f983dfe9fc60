"""Scripted environments side by side, as RSL-RL vectorises those of a simulator."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np
import torch
from rsl_rl.env import VecEnv

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.scripted import Scripted

#: sets of observations that an agent can ask for; here they are all the same.
GROUPS = ("policy", "rnd_state", "teacher")


class Vectorised(VecEnv):
    """An environment that ended begins anew in the same step, whose observation is the new one's.

    Attributes:
        step_dt: the duration of a step, by which a weight of curiosity is multiplied.
    """

    def __init__(self, *environments: Scripted, step_dt: float = 1.0) -> None:
        self.environments = environments
        self.num_envs = len(environments)
        self.num_actions = int(np.prod(environments[0].action_space.shape))
        self.num_obs = len(environments[0].observation)
        self.max_episode_length = 1000
        self.episode_length_buf = torch.zeros(self.num_envs, dtype=torch.long)
        self.device = "cpu"
        self.cfg: Dict[str, Any] = {}
        self.step_dt = step_dt
        self._observations = [environment.reset()[0] for environment in environments]

    @property
    def unwrapped(self) -> Vectorised:
        """Itself: there is no wrapper."""
        return self

    def groups(self) -> Dict[str, torch.Tensor]:
        """The observations before the next step, by the name of their group."""
        return dict.fromkeys(GROUPS, torch.as_tensor(np.stack(self._observations)))

    def get_observations(self) -> Any:
        """The observations before the next step."""
        return compat.observed(self.groups())

    def reset(self) -> Any:
        """Begin all episodes anew."""
        self._observations = [environment.reset()[0] for environment in self.environments]
        return self.get_observations()

    def step(self, actions: torch.Tensor) -> Tuple[Any, torch.Tensor, torch.Tensor, Dict[str, Any]]:
        """What the scripts say of the step of each."""
        rewards: List[float] = []
        ends: List[Tuple[bool, bool]] = []
        for number, environment in enumerate(self.environments):
            observation, reward, *ended, _ = environment.step(actions[number].detach().numpy())
            rewards.append(reward)
            ends.append((ended[0], ended[1]))
            self._observations[number] = environment.reset()[0] if any(ended) else observation
        terminated, truncated = torch.tensor(ends).T
        extras = {"time_outs": truncated.float(), "observations": self.groups()}
        observed = compat.observed(self.groups(), stepped=True)
        return observed, torch.tensor(rewards), (terminated | truncated).long(), extras
