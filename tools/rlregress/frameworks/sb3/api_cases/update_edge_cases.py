"""Updates and first steps at the edge of a condition, of agents that a user makes for it."""

from __future__ import annotations

from typing import Any, Dict, List

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback

from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.sb3 import compat, gyms, user_code
from rlregress.frameworks.sb3.scenario_request import library, silent
from rlregress.frameworks.sb3.wrappers import Wrappers

#: how small advantages are, against those of the training.
_TRIFLES = (1e-6, 1e-8)
#: rows of a buffer that a few steps fill.
_ROWS = 6
#: what an agent keeps of its arguments.
_SETTINGS = (
    *("learning_rate", "gamma", "batch_size", "n_steps", "n_epochs", "gae_lambda", "ent_coef"),
    *("vf_coef", "max_grad_norm", "normalize_advantage", "target_kl", "tau", "learning_starts"),
    *("gradient_steps", "optimize_memory_usage", "policy_delay", "target_policy_noise"),
    *("target_noise_clip", "target_update_interval", "target_entropy", "use_sde"),
    *("sde_sample_freq", "use_sde_at_warmup", "exploration_initial_eps", "exploration_final_eps"),
    *("exploration_fraction", "seed", "_stats_window_size"),
)


def _agent(model: Any, wrappers: Wrappers, copies: int = 1, **options: Any) -> Any:
    """A new agent of the same kind; Unsupported where its class lacks an argument."""
    kind = type(model)
    check_arguments(kind, options)
    smaller = compat.taken(kind, buffer_size=_ROWS, batch_size=4, learning_starts=100)
    if hasattr(model, "rollout_buffer"):
        smaller["n_steps"] = 4
    environment = gyms.side_by_side(*(wrappers.made(k) for k in range(copies)))
    # drawn, so that one that has drawn more than before leaves its mark on those after it
    seed = int(np.random.randint(1000)) + int(torch.randint(1000, ()))
    given = {**smaller, "device": "cpu", "seed": seed, **options}
    return silent(kind(wrappers.policy, environment, **given))


def _show_networks(model: Any) -> None:
    user_code.Capture().capture([value.sum() for value in model.policy.state_dict().values()])


def _update_by_trifles(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Updates by advantages next to nothing, by two rows, and by all but two."""
    del wrappers, folder
    rows = model.rollout_buffer
    model.normalize_advantage = True
    known = rows.advantages
    for share in _TRIFLES:
        rows.advantages = known * np.float32(share)
        model.train()
        _show_networks(model)
    rows.advantages = known
    for size in (2, len(known) - 2):
        model.batch_size = size
        model.train()
        _show_networks(model)


def _meet_divergence(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Updates that stop where the policies diverge, by none at all and by just so much."""
    del wrappers, folder
    callback = user_code.CountingCallback(10**6)
    callback.init_callback(model)
    rows = model.rollout_buffer
    model.collect_rollouts(model.get_env(), callback, rows, rows.buffer_size)
    next(rows.get())
    with torch.no_grad():
        given = torch.as_tensor(rows.observations), torch.as_tensor(rows.actions)
        _, chances, _ = model.policy.evaluate_actions(*given)
    known = chances.numpy().reshape(rows.log_probs.shape)
    model.batch_size, model.n_epochs = len(known), 2
    for away, limit in ((0.0, 0.0), (0.2, 0.01), (0.2, 0.015), (0.2, 0.03)):
        rows.log_probs = known - np.float32(away)
        model.target_kl = limit
        model.train()
        user_code.Capture().capture([model._n_updates])
        _show_networks(model)


def _cut_rows(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Rows that hold what follows as well, cut off where a training begins anew."""
    del folder
    for steps in (0, 1, 4, _ROWS, _ROWS + 2):
        agent = _agent(
            model,
            wrappers,
            train_freq=1,
            optimize_memory_usage=True,
            replay_buffer_kwargs={"handle_timeout_termination": False},
        )
        agent.learn(steps)
        rows = agent.replay_buffer
        for anew in (False, True):
            agent.learn(0, reset_num_timesteps=anew)
            user_code.Capture().capture([steps, rows.pos, int(rows.full), rows.dones])


def _add_noise(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Noise of an agent with one environment and two, when its trainings begin."""
    del folder
    kind = library("common.noise", "OrnsteinUhlenbeckActionNoise")
    size = model.action_space.shape
    for copies in (1, 2):
        noise = kind(np.zeros(size), 3.0 * np.ones(size), initial_noise=np.full(size, 0.4))
        agent = _agent(model, wrappers, copies, action_noise=noise)
        for steps in (3 * copies, 0):
            agent.learn(steps, reset_num_timesteps=False)
            np.random.seed(2)
            user_code.Capture().capture([type(agent.action_noise).__name__, agent.action_noise()])
        user_code.Capture().capture([agent.replay_buffer.actions])


def _begin_at_once(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Updates from the first step on, from the second, and from none."""
    del folder
    for begin in (0, 1, 2):
        options = {"learning_starts": begin, "train_freq": 1, "gradient_steps": 1}
        agent = _agent(model, wrappers, batch_size=2, **options)
        for _ in range(3):
            agent.learn(1, reset_num_timesteps=False)
            user_code.Capture().capture([agent.num_timesteps, agent._n_updates])
            _show_networks(agent)


class _Exploring(BaseCallback):
    """A callback that looks at the matrix by which an agent explores."""

    def _on_step(self) -> bool:
        part = self.model.policy if hasattr(self.model, "rollout_buffer") else self.model.actor
        made: Any = part.action_dist
        matrices = [made.exploration_mat, made.exploration_matrices]
        user_code.Capture().capture([matrix.detach() for matrix in matrices])
        return True


def _explore(model: Any, wrappers: Wrappers, folder: str) -> None:
    """State-dependent exploration that is drawn anew never, at every step and at some."""
    del folder
    for frequency in (-1, 0, 1, 3):
        agent = _agent(model, wrappers, 2, use_sde=True, sde_sample_freq=frequency)
        agent.learn(16, callback=_Exploring())


def _plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str, list, tuple))


def _set(model: Any, wrappers: Wrappers, folder: str) -> None:
    """What an agent that is given nothing keeps as its settings, and so do its networks."""
    del folder
    kind = type(model)
    smaller = compat.taken(kind, buffer_size=_ROWS)
    agent = kind(wrappers.policy, wrappers.made(0), device="cpu", **smaller)
    for name in _SETTINGS:
        value = getattr(agent, name, "none")
        # words that differ weigh less than numbers
        user_code.Capture().capture(
            [name, value if isinstance(value, (bool, int, float)) else repr(value)]
        )
    for part in (agent.policy, *agent.policy.children()):
        kept: Dict[str, Any] = getattr(part, "_get_constructor_parameters", dict)()
        plain: List[Any] = [(name, kept[name]) for name in sorted(kept) if _plain(kept[name])]
        user_code.Capture().capture([type(part).__name__, *plain])


USED = {
    "updates-by-trifles": _update_by_trifles,
    "divergences-met": _meet_divergence,
    "rows-cut-off": _cut_rows,
    "noise-of-an-agent": _add_noise,
    "updates-at-once": _begin_at_once,
    "exploration-drawn": _explore,
    "settings-kept": _set,
}
