"""What an agent is like before, during and after a training: modes, counters, rows, generators."""

from __future__ import annotations

import copy
from typing import Any, Iterator, List

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnvWrapper

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.sb3 import compat, gyms, user_code
from rlregress.frameworks.sb3.api_cases import accepted, answer
from rlregress.frameworks.sb3.scenario_request import library, silent
from rlregress.frameworks.sb3.wrappers import Wrappers

#: numbers that an agent counts with.
_COUNTERS = (
    *("num_timesteps", "_total_timesteps", "_num_timesteps_at_start", "_episode_num"),
    *("_n_updates", "_n_calls", "_current_progress_remaining", "exploration_rate", "n_envs"),
)
_BUFFERS = ("rollout_buffer", "replay_buffer")
#: the word for the observation that ended an episode.
_NEXT = "terminal_observation"
#: a device on which tensors have shapes and no numbers; every machine has it.
_SHAPES_ONLY = "meta"


def _steps(optimizer: Any) -> Iterator[float]:
    """How often each parameter was moved."""
    for kept in optimizer.state_dict()["state"].values():
        yield float(kept.get("step", -1))


def _show(model: Any, when: str) -> None:
    """Modes of all networks, counters, how full the rows are, optimisers, what is drawn next."""
    training = [name for name, part in model.policy.named_modules() if part.training]
    user_code.Capture().capture([when, len(training), *training])
    user_code.Capture().capture([getattr(model, name, None) for name in _COUNTERS])
    for name in _BUFFERS:
        rows = getattr(model, name, None)
        if rows is not None:
            ready = getattr(rows, "generator_ready", None)
            user_code.Capture().capture([name, rows.pos, int(rows.full), rows.size(), ready])
    for optimizer in user_code.optimizers(model):
        steps = list(_steps(optimizer))
        rates = [group["lr"] for group in optimizer.param_groups]
        user_code.Capture().capture(
            [len(steps), max(steps, default=0.0), min(steps, default=0.0), *rates]
        )
    moved = [int(value.requires_grad) for value in model.policy.parameters()]
    user_code.Capture().capture([sum(moved), len(moved)])
    user_code.Capture().capture([copy.deepcopy(model.action_space).sample()])
    state = [getattr(model, name, None) for name in ("_last_obs", "_last_episode_starts")]
    user_code.Capture().capture([value if value is not None else "none" for value in state])
    user_code.Capture().capture([len(getattr(model, "ep_info_buffer", None) or ())])


class _Looking(BaseCallback):
    """A callback that looks at the agent whenever it is called."""

    def _on_training_start(self) -> None:
        _show(self.model, "training starts")

    def _on_rollout_start(self) -> None:
        _show(self.model, "rollout starts")

    def _on_rollout_end(self) -> None:
        _show(self.model, "rollout ends")

    def _on_training_end(self) -> None:
        _show(self.model, "training ends")

    def _on_step(self) -> bool:
        _show(self.model, "step")
        return True


def _look(model: Any, wrappers: Wrappers, folder: str) -> None:
    """An agent as it was trained, switched, asked, trained on and anew, and a new one."""
    del folder
    _show(model, "trained")
    for mode in (True, False):
        if not hasattr(model.policy, "set_training_mode"):
            break
        model.policy.set_training_mode(mode)
        _show(model, "switched")
    steps = 20 * model.n_envs
    model.learn(steps, callback=_Looking(), reset_num_timesteps=False)
    model.learn(steps, callback=_Looking())
    model.policy.train()
    model.predict(model.get_env().reset())
    _show(model, "asked")
    smaller = compat.taken(type(model), buffer_size=20, learning_starts=10, n_steps=8, batch_size=8)
    fresh = type(model)(wrappers.policy, model.get_env(), device="cpu", seed=2, **smaller)
    _show(fresh, "new")
    silent(fresh).learn(steps, callback=_Looking())


def _episodes(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Episodes that are collected between updates: two at a time, and by hand."""
    del folder
    frequency = library("common.type_aliases", "TrainFreq")
    unit = library("common.type_aliases", "TrainFrequencyUnit")
    kind = type(model)
    options = compat.taken(kind, buffer_size=60, learning_starts=5, batch_size=4)
    agent = kind(
        "MlpPolicy",
        wrappers.made(0),
        train_freq=(2, "episode"),
        device="cpu",
        seed=4,
        **options,
    )
    silent(agent).learn(40, callback=_Looking())
    callback = _Looking()
    callback.init_callback(agent)
    for count in (1, 2, 3):
        found = agent.collect_rollouts(
            agent.get_env(), callback, frequency(count, unit.EPISODE), agent.replay_buffer
        )
        user_code.Capture().capture([*map(int, found), agent.num_timesteps, agent._episode_num])
    for wrong in (frequency(0, unit.STEP), frequency(-1, unit.EPISODE)):
        rows = agent.replay_buffer
        user_code.Capture().capture(
            [accepted(agent.collect_rollouts, agent.get_env(), callback, wrong, rows)]
        )


class _Untold(VecEnvWrapper):
    """Environments that do not say whether an episode was cut off, or what was seen last."""

    def __init__(self, venv: Any, *words: str) -> None:
        super().__init__(venv)
        self._words = words

    def reset(self) -> Any:
        """As it is."""
        return self.venv.reset()

    def step_wait(self) -> Any:
        """A step without these words."""
        observations, rewards, dones, infos = self.venv.step_wait()
        left = [{k: v for k, v in info.items() if k not in self._words} for info in infos]
        return observations, rewards, dones, left


def _ends_untold(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Environments of a user's whose informations lack words about the end of an episode."""
    del folder
    for words in (("TimeLimit.truncated",), (_NEXT,)):
        copies = gyms.side_by_side(*(wrappers.made(k) for k in range(model.n_envs)))
        untold = _Untold(copies, *words)
        if _NEXT in words:
            # it has to do without it, too
            untold = library("common.vec_env", "VecNormalize")(untold)
        model.set_env(untold)
        model.learn(32 * model.n_envs)
        for name in _BUFFERS:
            rows = getattr(model, name, None)
            if rows is not None:
                names = ("rewards", "returns", "dones", "timeouts", "next_observations")
                kept = [
                    getattr(rows, known_name) for known_name in names if hasattr(rows, known_name)
                ]
                user_code.Capture().capture([np.array(value) for value in kept])


def _name_devices(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Where an agent puts its networks, rows and temperature that was told of another device."""
    del folder
    kind = type(model)
    smaller = compat.taken(kind, buffer_size=20, n_steps=8, batch_size=8)
    agent = answer(kind, "MlpPolicy", wrappers.made(0), device=_SHAPES_ONLY, **smaller)
    if not isinstance(agent, kind):
        user_code.Capture().capture([agent])
        return
    user_code.Capture().capture([str(agent.device), str(agent.policy.device)])
    user_code.Capture().capture([str(value.device) for value in agent.policy.state_dict().values()])
    for name in _BUFFERS:
        rows = getattr(agent, name, None)
        if rows is not None:
            user_code.Capture().capture([str(rows.device), str(rows.to_torch(np.ones(2)).device)])
    for name in ("log_ent_coef", "ent_coef_tensor"):
        value = getattr(agent, name, None)
        user_code.Capture().capture([name, str(getattr(value, "device", None))])


def _set_entropies(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Target entropies and temperatures as numbers, in words, and what is neither."""
    del folder
    kind = type(model)
    if "target_entropy" not in compat.keywords(kind):
        raise Unsupported("an agent has no temperature")
    cases: List[Any] = [{"target_entropy": target} for target in ("auto", "-1.5", -2, "low", None)]
    words = ("auto", "auto_0.5", "auto_0", "auto_none", "0.25", 0.25, "low")
    cases += [{"ent_coef": word} for word in words]
    for given in cases:
        agent = answer(kind, "MlpPolicy", wrappers.made(0), buffer_size=10, device="cpu", **given)
        if not isinstance(agent, kind):
            user_code.Capture().capture([repr(given), agent])
            continue
        user_code.Capture().capture([repr(given), repr(agent.target_entropy)])
        for name in ("log_ent_coef", "ent_coef_tensor"):
            value = getattr(agent, name, None)
            numbers = "none" if value is None else torch.as_tensor(value).detach()
            user_code.Capture().capture(
                [name, numbers, int(getattr(value, "requires_grad", False))]
            )
            user_code.Capture().capture([int(name in vars(agent))])


USED = {
    "states": _look,
    "episodes-collected": _episodes,
    "ends-untold": _ends_untold,
    "devices-named": _name_devices,
    "entropies-set": _set_entropies,
}
