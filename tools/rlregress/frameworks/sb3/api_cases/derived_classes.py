"""What a user derives from the library's bases, and what the bases leave to others or refuse."""

from __future__ import annotations

import os
from typing import Any, List
from unittest import mock

import numpy as np

from rlregress.frameworks.sb3 import compat, gyms, user_code
from rlregress.frameworks.sb3.api_cases import accepted, answer
from rlregress.frameworks.sb3.scenario_request import library, silent
from rlregress.frameworks.sb3.wrappers import Wrappers

#: the variable that says where the library leaves its logs.
_LOGS = "SB3_LOGDIR"


def _of_base(policy: Any) -> Any:
    """An algorithm of a user's own, as far as the library's base asks for it."""
    base = library("common.base_class", "BaseAlgorithm")

    class Own(base):  # type: ignore[misc, valid-type]
        """It has no networks, and learns nothing."""

        def __init__(self, env: Any, **options: Any) -> None:
            super().__init__(
                policy=policy, env=env, **compat.taken(base, policy_base=policy), **options
            )

        def _setup_model(self) -> None:
            user_code.Capture().capture(["set up"])

        def learn(self, total_timesteps: int, **options: Any) -> Any:
            del options
            self._setup_learn(**compat.taken(self._setup_learn, total_timesteps=total_timesteps))
            return self

    return Own


def _derive(model: Any, wrappers: Wrappers, folder: str) -> None:
    """An algorithm for one environment, for several, without any; successes without ends."""
    del folder
    kind, base = _of_base(type(model.policy)), library("common.base_class", "BaseAlgorithm")
    two = gyms.side_by_side(*(wrappers.made(k) for k in range(2)))
    options = {"learning_rate": 0.5, "device": "cpu"}
    for given in ({}, {"support_multi_env": True}, {"supported_action_spaces": None}):
        for environment in (wrappers.made(0), two, None):
            made = answer(kind, environment, **compat.taken(base, **given), **options)
            if not isinstance(made, kind):
                user_code.Capture().capture([repr(given), made])
                continue
            user_code.Capture().capture(
                [repr(given), int(made.env is None), getattr(made, "n_envs", 0)]
            )
            user_code.Capture().capture(
                [made.num_timesteps, int(made.use_sde), made._current_progress_remaining]
            )
    agent = silent(kind(wrappers.made(0), **options))
    agent.learn(7)
    user_code.Capture().capture(
        [agent._total_timesteps, agent.num_timesteps, agent._last_episode_starts]
    )
    agent._update_info_buffer([{"is_success": True, "episode": {"r": 1.0, "l": 2}}, {}])
    agent._update_info_buffer(
        [{"is_success": True}, {"is_success": False}], np.array([True, False])
    )
    user_code.Capture().capture([len(agent.ep_info_buffer), *map(int, agent.ep_success_buffer)])
    for name in ("dump_logs", "_dump_logs", "_get_torch_save_params"):
        user_code.Capture().capture([name, accepted(getattr(agent, name, len))])


def _left_to_others(model: Any, wrappers: Wrappers, folder: str) -> None:
    """What bases leave to the algorithms; an agent that is set up twice, or has no environment."""
    del folder
    for base in type(model).__mro__[1:3]:
        train = getattr(base, "train", None)
        if train is not None:
            options = compat.taken(train, gradient_steps=1, batch_size=2)
            user_code.Capture().capture([base.__name__, accepted(train, model, **options)])
    smaller = compat.taken(type(model), buffer_size=20, learning_starts=4, n_steps=8, batch_size=8)
    agent = type(model)(wrappers.policy, wrappers.made(0), device="cpu", **smaller)
    silent(agent).learn(12)
    rows = getattr(agent, "replay_buffer", None)
    agent._setup_model()
    user_code.Capture().capture(
        [agent.num_timesteps, int(rows is getattr(agent, "replay_buffer", None))]
    )
    for anew in (False, True):
        other = gyms.side_by_side(wrappers.made(1))
        # it is not reset once more where that is not asked for
        other.reset()
        agent.set_env(other, **compat.taken(agent.set_env, force_reset=anew))
        user_code.Capture().capture([int(agent._last_obs is None)])
        agent.learn(8, reset_num_timesteps=False)
        user_code.Capture().capture([agent.num_timesteps, agent._last_obs])
    agent.env = None
    user_code.Capture().capture([accepted(agent.learn, 1), int(agent.get_env() is None)])


def _log(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Which numbers an agent notes by itself that was given no logger, and what they count."""
    kind = type(model)
    smaller = compat.taken(kind, buffer_size=20, learning_starts=4, n_steps=8, batch_size=8)
    agent = kind(wrappers.policy, wrappers.made(0), device="cpu", seed=3, **smaller)
    with mock.patch.dict(os.environ, {_LOGS: folder}):
        agent.learn(30, log_interval=10**6)
    noted = getattr(agent.logger, "name_to_value", {})
    user_code.Capture().capture([int(agent._custom_logger), len(agent.logger.output_formats)])
    # times are not the same twice
    user_code.Capture().capture(
        [*noted, *(noted[name] for name in noted if not name.startswith("time/"))]
    )


class _Pictured(user_code.Changed):
    """An environment that shows a picture of itself."""

    render_mode = "rgb_array"
    metadata = {"render_modes": ["rgb_array"], "render_fps": 7}

    def render(self, *given: Any, **named: Any) -> Any:
        """One row of grey."""
        del given, named
        return np.full((1, 2, 3), 7, np.uint8)


def _picture(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Pictures of environments side by side, of those that have some and those that have none."""
    del model, folder
    bare = [wrappers.made(k) for k in range(2)]
    for copies in (bare, [_Pictured(picture) for picture in bare]):
        environment = gyms.side_by_side(*copies)
        images: List[Any] = list(environment.get_images())
        user_code.Capture().capture([image if image is not None else "none" for image in images])
        together = answer(environment.render)
        user_code.Capture().capture([together if together is not None else "none"])
        user_code.Capture().capture([repr(getattr(environment, "render_mode", None))])
        user_code.Capture().capture([repr(environment.metadata.get("render_fps"))])


USED = {
    "algorithms-derived": _derive,
    "left-to-others": _left_to_others,
    "numbers-noted": _log,
    "pictures": _picture,
}
