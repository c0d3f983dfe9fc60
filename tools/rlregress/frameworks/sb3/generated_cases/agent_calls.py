"""What is done with agents: trainings that go on, rollouts, evaluations, callbacks and files."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnvWrapper

from rlregress.frameworks.sb3 import compat, gyms, user_code
from rlregress.frameworks.sb3.generated_cases.agent_tables import (
    STEPS,
    Looks,
    agents,
    arguments,
    learnt,
    matrices,
    networks,
    other,
    rows_of,
    state,
    walk,
)
from rlregress.frameworks.sb3.generated_cases.call_sequences import (
    Named,
    done,
    environment,
    several,
)
from rlregress.frameworks.sb3.generated_cases.wrapper_tables import vectorised
from rlregress.frameworks.sb3.library import library, silent
from rlregress.probing.interface import Unsupported
from rlregress.probing.option_variants import Subject, recorded

_FILES, _CALLBACKS = "common.save_util", "common.callbacks"
#: what may be in a file of an agent: networks are not to be there twice.
_PARTS = (
    *("policy", "policy_class", "policy_kwargs", "learning_rate", "gamma", "n_envs", "seed"),
    *("env", "device", "logger", "_logger", "eval_env", "rollout_buffer", "replay_buffer"),
    *("actor", "critic", "critic_target", "q_net", "q_net_target", "log_ent_coef", "ent_coef"),
)


def _like(agent: Any, count: int = 1, around: Any = None) -> Any:
    """Fresh environments with the spaces of an agent's."""
    spaces = getattr(agent.observation_space, "spaces", {})
    image = len(agent.observation_space.shape or ()) == 3
    kind = "goal" if "desired_goal" in spaces else "dict" if spaces else "image" if image else "box"
    return several(count, kind, _actions(agent), around=around)


def _actions(agent: Any) -> str:
    return "discrete" if hasattr(agent.action_space, "n") else "box"


def _acted(agent: Any) -> Any:
    """What an agent does for sure, and its weights."""
    agent.observation_space.seed(5)
    action, _ = agent.predict(agent.observation_space.sample(), deterministic=True)
    return [action, *(value.sum() for value in agent.policy.state_dict().values())]


def _off_policy(agent: Any) -> Any:
    if not hasattr(agent, "replay_buffer"):
        raise Unsupported("an agent keeps no rows")
    return agent


# -- trainings ----------------------------------------------------------------------------------


def _goes_on(agent: Any, folder: str) -> Any:
    """Trainings that go on, begin anew, in other environments; set up again; without any."""
    del folder

    def switched(made: Any) -> Any:
        results = []
        for mode in (True, False):
            made.policy.set_training_mode(mode)
            results.append(state(made))
        made.policy.train()
        return [*results, made.predict(made.get_env().reset())[0].shape, state(made)]

    def elsewhere(anew: bool, made: Any) -> Any:
        envs = _like(made, made.n_envs)
        # it is not reset once more where that is not asked for
        envs.reset()
        made.set_env(envs, **compat.taken(made.set_env, force_reset=anew))
        return made._last_obs is None

    def alone(made: Any) -> Any:
        made.env = None
        return done(made, ("learn", 1), lambda a: a.get_env() is None)

    def again(made: Any) -> Any:
        rows = [kept for _, kept in rows_of(made)]
        made._setup_model()
        return [kept is new for kept, (_, new) in zip(rows, rows_of(made), strict=False)], state(
            made
        )

    on = partial(learnt, steps=8, reset_num_timesteps=False)
    elsewhere_, anew = partial(elsewhere, False), partial(elsewhere, True)
    return done(agent, learnt, switched, on, learnt, again, elsewhere_, on, anew, on,
                lambda a: accepted(a.set_env, several(1, around=user_code.UnboundedActions)),
                lambda a: accepted(a.set_env, _like(a, a.n_envs + 1)),
                lambda a: accepted(a.set_env, vectorised("VecFrameStack")(_like(a), 2)),
                alone)  # fmt: skip


def accepted(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Whether a call ends without an error, or the name of it."""
    call(*given, **named)
    return "accepted"


def _logged(agent: Any, folder: str) -> Any:
    """Which numbers an agent notes by itself that was given no logger, but for times."""
    made = type(agent)(**arguments(type(agent).__name__))
    with mock.patch.dict(os.environ, {"SB3_LOGDIR": folder}):
        made.learn(30, log_interval=10**6)
    noted = made.logger.name_to_value
    numbers = {name: value for name, value in noted.items() if not name.startswith("time/")}
    return [made._custom_logger, len(made.logger.output_formats), sorted(noted), numbers]


class _Lacking(VecEnvWrapper):
    """Environments whose informations lack some words about the end of an episode."""

    def __init__(self, venv: Any, *words: str) -> None:
        super().__init__(venv)
        self._words, self.drawn = words, 0

    def render(self, *given: Any, **named: Any) -> Any:
        """Nothing to see."""
        del given, named
        self.drawn += 1

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        """A step without these words."""
        *results, infos = self.venv.step_wait()
        return (*results, [{k: v for k, v in i.items() if k not in self._words} for i in infos])


def _lacking(agent: Any, folder: str) -> Any:
    """Ends of episodes of which environments tell less, in a normaliser too."""
    del folder

    def trained(around: Any, words: tuple[str, ...], made: Any) -> Any:
        made.set_env(around(_Lacking(_like(made, made.n_envs), *words)))
        names = ("rewards", "returns", "dones", "timeouts", "next_observations")
        made.learn(32 * made.n_envs)
        return [getattr(rows, name, "none") for _, rows in rows_of(made) for name in names]

    normaliser = vectorised("VecNormalize")
    return done(agent, partial(trained, lambda e: e, ("TimeLimit.truncated",)),
                partial(trained, normaliser, ("terminal_observation",)),
                lambda a: type(a.get_vec_normalize_env()).__name__,
                lambda a: a.get_vec_normalize_env().ret_rms.count)  # fmt: skip


def _collected(agent: Any, folder: str) -> Any:
    """Rollouts that end, that a callback ends, and of episodes; what is no frequency."""
    del folder

    def rollout(most: int, how: Any, made: Any) -> Any:
        callback = Looks(most)
        callback.init_callback(made)
        _, rows = next(rows_of(made))
        if hasattr(made, "rollout_buffer"):
            named: dict[str, Any] = {"rollout_buffer": rows, "n_rollout_steps": 5}
        else:
            named = {"replay_buffer": rows, "train_freq": how or made.train_freq}
        ended = made.collect_rollouts(env=made.get_env(), callback=callback, **named)
        counts = [*map(int, np.ravel(ended)), made.num_timesteps]
        return [*counts, made._episode_num if how else rows.pos, callback.results]

    def of(word: str, count: int, made: Any) -> Any:
        unit = getattr(library("common.type_aliases", "TrainFrequencyUnit"), word)
        how = library("common.type_aliases", "TrainFreq")(count, unit)
        return rollout(10**6, how, _off_policy(made))

    episodes = (partial(of, "EPISODE", n) for n in (1, 2, 3, -1))
    return done(agent, learnt, partial(rollout, 10**6, None), partial(rollout, 2, None), *episodes,
                partial(of, "STEP", 0))  # fmt: skip


def _called_back(agent: Any, folder: str) -> Any:
    """Callbacks in lists, every few steps, as functions; each can end the training."""
    del folder
    every, listed = (library(_CALLBACKS, name) for name in ("EveryNTimesteps", "CallbackList"))
    several_ = [[Looks(), Looks(2)], [Looks(3), Looks()], [Looks(2)]]
    results: list[Any] = []

    def function(known: dict[str, Any], others: dict[str, Any]) -> bool:
        results.append([len(known.get("rewards", ())), "np" in others])
        return True

    nested = listed([several_[1][0], listed([several_[1][1]])])
    for given in (several_[0], nested, every(3, several_[2][0]), function, None):
        agent.learn(4 * agent.n_envs, callback=given)
        results.append(agent.num_timesteps)
    return [results, [looks.results for some in several_ for looks in some]]


# -- evaluations --------------------------------------------------------------------------------


class _Remembering:
    """An agent that notes what it is given beside the observation, and has a state."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self.results: list[Any] = []

    def predict(self, observation: Any, **named: Any) -> Any:
        """The action of the library's agent; the state counts."""
        self.results.append(recorded(named))
        action, _ = self._agent.predict(observation, deterministic=named["deterministic"])
        return action, np.array(named.get("state") or 0) + 1


def _evaluated(agent: Any, folder: str) -> Any:
    """Evaluations of one and several, in a monitor or not, with a callback, under a threshold."""
    del folder
    judge = library("common.evaluation", "evaluate_policy")
    monitor = library("common.monitor", "Monitor")
    noted: list[Any] = []

    def look(known: dict[str, Any], _: dict[str, Any]) -> None:
        noted.append([float(known["reward"]), int(known["done"])])

    def judged(model: Any, count: int, around: Any, named: dict[str, Any], by: Any) -> Any:
        return by(model, _like(agent, count, around), 3, **named)

    both = {"callback": look, "return_episode_rewards": True}
    remembering, drawn = _Remembering(agent), _Lacking(_like(agent, 2))
    ways: list[Any] = [(agent, n, around, named) for n in (1, 2) for around in (None, monitor)
            for named in (both, {"deterministic": False})]  # fmt: skip
    ways += [(remembering, 2, None, {"deterministic": best}) for best in (True, False)]
    ways += [(agent, 1, None, {"reward_threshold": least}) for least in (-1e9, 1e9)]
    return done(judge, *(partial(judged, *way) for way in ways), lambda _: noted,
                lambda by: by(agent, drawn, 3, render=True), lambda _: drawn.drawn,
                lambda _: remembering.results)  # fmt: skip


def _files_of(place: str) -> Any:
    with np.load(os.path.join(place, "evaluations.npz")) as kept:
        return [sorted(os.listdir(place)), {name: kept[name] for name in kept.files}]


def _evaluated_between(agent: Any, folder: str) -> Any:
    """Evaluations in between that keep files, call others, count successes and end the training."""
    kind, stop, stuck = (library(_CALLBACKS, name) for name in (
        "EvalCallback", "StopTrainingOnRewardThreshold", "StopTrainingOnNoModelImprovement"
    ))  # fmt: skip
    cases: list[dict[str, Any]] = [
        {"callback_on_new_best": stop(-1e9)},
        {"callback_on_new_best": stop(1e9), "callback_after_eval": Looks(3)},
        {"callback_after_eval": stuck(1, min_evals=1)},
        {"callback_after_eval": stuck(0, min_evals=2), "deterministic": False},
    ]

    def between(given: dict[str, Any], made: Any) -> Any:
        place = os.path.join(folder, str(cases.index(given)))
        best = os.path.join(place, "best")
        callback = kind(_like(made, 1, user_code.Successes), n_eval_episodes=2, eval_freq=3,
                        verbose=0, log_path=place, best_model_save_path=best, **given)  # fmt: skip
        made.set_env(_like(made, made.n_envs, user_code.Successes))
        made.learn(24 * made.n_envs, callback=callback)
        counts = [made.num_timesteps, callback.n_calls, callback.best_mean_reward]
        successes = list(map(int, made.ep_success_buffer))
        return [counts, callback.last_mean_reward, successes, _files_of(place)]

    def outside(callback: Any, made: Any) -> Any:
        callback.init_callback(made)
        return callback.on_step()

    return done(agent, *(partial(between, given) for given in cases),
                *(partial(outside, callback) for callback in (stop(1.0), stuck(1))))  # fmt: skip


def _kept_between(agent: Any, folder: str) -> Any:
    """Files of the agent, its rows and its statistics every few calls."""
    kind = library(_CALLBACKS, "CheckpointCallback")

    def kept(given: dict[str, Any], made: Any) -> Any:
        place = os.path.join(folder, f"kept-{len(given)}")
        made.learn(7 * made.n_envs, callback=kind(3, place, name_prefix="agent", **given))
        return sorted(os.listdir(place))

    all_ = {"save_replay_buffer": True, "save_vecnormalize": True}
    return done(agent, partial(kept, {}), partial(kept, all_))


# -- files --------------------------------------------------------------------------------------


def _looked_into(agent: Any, folder: str) -> Any:
    """Which parts of an agent are in its file: as it is, with fewer, with more; set again."""
    path, read = os.path.join(folder, "parts.zip"), library(_FILES, "load_from_zip_file")
    agent.learn(STEPS)

    def parts(options: dict[str, Any], made: Any) -> Any:
        made.save(path, **options)
        data, parameters, variables = read(path, device="cpu")
        with zipfile.ZipFile(path) as archive:
            names = sorted(archive.namelist())
        known = [name in data for name in _PARTS]
        return [known, sorted(parameters), sorted(variables or {}), names]

    known = agent.get_parameters()
    halved = {name: 0.5 * value for name, value in known["policy"].items()}
    fewer = dict(list(halved.items())[:-1])
    given: Any = [known, {"policy": halved}, {"policy": fewer}, {**known, "none": {}}, {}, path]
    return done(agent, *(partial(parts, options) for options in (
                    {}, {"exclude": ["gamma", "seed"]}, {"include": ["device"]},
                    {"exclude": ["gamma"], "include": ["gamma", "policy"]})),
                lambda _: read(path, load_data=False)[0] is None, lambda _: sorted(known), *(
                    step for one in given for exact in (True, False)
                    for step in (("set_parameters", one, Named(exact_match=exact)), _acted)
                ))  # fmt: skip


def _loaded(agent: Any, folder: str) -> Any:
    """An agent that is loaded with other arguments, from memory, with its environment; refusals."""
    path, kind = os.path.join(folder, "otherwise"), type(agent)
    agent.learn(STEPS)
    agent.save(path)
    names = sorted(os.listdir(folder))
    whole, untold, text = (os.path.join(folder, f"{n}.zip") for n in ("whole", "untold", "text"))
    agent.save(whole, include=["env"])
    agent.save(untold, exclude=["observation_space"])
    memory = io.BytesIO()
    agent.save(memory)
    with open(text, "w", encoding="utf-8") as file:
        file.write("no archive")

    def load(where: Any, options: dict[str, Any], _: Any) -> Any:
        made = silent(kind.load(where, device="cpu", **options))
        facts = [made.gamma, made.n_envs, made.get_env() is None, made.num_timesteps]
        facts += [made._last_obs is None, repr(made.policy_kwargs), _acted(made)]
        if made.get_env() is not None:
            made.learn(8, reset_num_timesteps=False)
            facts += [made.num_timesteps, made.get_env().num_envs]
        return facts

    cases: list[tuple[Any, dict[str, Any]]] = [(whole, {}), (memory, {}), (untold, {}), (text, {})]
    cases += [(path + "-none", {}), (whole, {"env": _like(agent)})]
    options: list[dict[str, Any]] = [{}, {"gamma": 0.5, "policy_kwargs": agent.policy_kwargs}]
    options += [{"custom_objects": {"gamma": 0.25, "n_envs": 1}}, {"env": _like(agent)}]
    options += [{"policy_kwargs": {"net_arch": [3]}}, {"custom_objects": [1]}]
    options += [{"env": several(1, around=user_code.UnboundedActions)}]
    options += [{"env": _like(agent), "force_reset": anew} for anew in (True, False)]
    cases += [(path, given) for given in options]
    return done(agent, lambda _: names, *(partial(load, *case) for case in cases))


def _networks_alone(agent: Any, folder: str) -> Any:
    """Networks of a policy that are saved and loaded by themselves; actions that are scaled."""

    def alone(name: str, made: Any) -> Any:
        part, path = getattr(made.policy, name), os.path.join(folder, name)
        part.save(path)
        loaded = type(part).load(path, device="cpu")
        return [value.sum() for value in loaded.state_dict().values()]

    space = agent.action_space
    actions = np.stack([space.sample() * 0, space.sample() * 0 + 1])
    return done(agent, *(partial(alone, name) for name in ("actor", "critic", "q_net")),
                lambda a: a.policy.scale_action(actions),
                lambda a: a.policy.unscale_action(actions))  # fmt: skip


def _made_alone(agent: Any, folder: str) -> Any:
    """A critic or Q network that a user makes alone, with as few arguments as it takes."""
    del folder
    network: Any = type(getattr(agent.policy, "q_net", None) or agent.policy.critic)
    features = library("common.torch_layers", "FlattenExtractor")(agent.observation_space)
    given = {"features_extractor": features, "features_dim": features.features_dim}
    needed = compat.keywords(network)["net_arch"].default is not None
    made = network(agent.observation_space, agent.action_space, **given,
                   **({"net_arch": [5]} if needed else {}))  # fmt: skip
    rows = torch.ones(2, *agent.observation_space.shape)
    actions = torch.zeros(2, *(agent.action_space.shape or ()))
    both = (rows,) if hasattr(made, "_predict") else (rows, actions)
    return done(made, ("forward", *both), ("q1_forward", rows, actions), ("_predict", rows),
                lambda m: [type(part).__name__ for part in m.modules()])  # fmt: skip


def _changed(agent: Any, folder: str) -> Any:
    """Files as older versions wrote them, and files that lack parts or have others."""
    path, kind = os.path.join(folder, "changed.zip"), type(agent)
    agent.learn(STEPS)
    agent.save(path)
    read, write = library(_FILES, "load_from_zip_file"), library(_FILES, "save_to_zip_file")

    other_path = os.path.join(folder, "other.zip")

    def changed(change: Any, _: Any) -> Any:
        write(other_path, *change(*read(path, device="cpu")))
        made = kind.load(other_path, device="cpu")
        results = [_acted(made), networks(made), sorted(made.policy_kwargs), made.num_timesteps]
        groups = [len(g["params"]) for o in user_code.optimizers(made) for g in o.param_groups]
        return [*results, groups]

    def unshared(d: Any, p: Any, v: Any) -> Any:
        apart = ("pi_features_extractor", "vf_features_extractor")
        policy = {k: x for k, x in p["policy"].items() if not k.startswith(apart)}
        return d, {**p, "policy": policy}, v

    def longer(times: int, d: Any, p: Any, v: Any) -> Any:
        if "policy.optimizer" not in p:
            raise Unsupported("a policy has no optimiser of all parts")
        group = p["policy.optimizer"]["param_groups"][0]
        group["params"] = list(range(times * len(group["params"])))
        return d, p, v

    def only(part: str, d: Any, p: Any, v: Any) -> Any:
        if part == "policy.optimizer":
            longer(2, d, p, v)
        return d, {part: p[part]}, v

    def fewer(d: Any, p: Any, v: Any) -> Any:
        return d, {**p, "policy": dict(list(p["policy"].items())[:-1])}, v

    def without(name: str, d: Any, p: Any, v: Any) -> Any:
        return {k: x for k, x in d.items() if k != name}, p, v

    def named(d: Any, p: Any, v: Any) -> Any:
        return {**d, "policy_kwargs": {**d["policy_kwargs"], "device": "cpu"}}, p, v

    def listed(d: Any, p: Any, v: Any) -> Any:
        sizes = {"net_arch": [{"pi": [4], "vf": [3]}]}
        return {**d, "policy_kwargs": {**d["policy_kwargs"], **sizes}}, p, v

    changes = [unshared, partial(longer, 2), partial(longer, 3), partial(only, "policy.optimizer"),
               partial(only, "policy"), fewer, named, listed, partial(without, "policy_kwargs"),
               partial(without, "action_space"), lambda d, p, v: (d, p, dict.fromkeys(v or {})),
               lambda d, p, v: (d, p, None), lambda d, p, v: (None, p, None),
               lambda d, p, v: (d, None, v)]  # fmt: skip
    return done(agent, *(partial(changed, change) for change in changes))


def _rows_loaded(agent: Any, folder: str) -> Any:
    """Rows from a file: going on in an episode, as an older version wrote them, or no rows."""
    path = os.path.join(folder, "rows.pkl")
    _off_policy(agent).learn(STEPS)

    def load(made: Any, **named: Any) -> Any:
        made.save_replay_buffer(path)
        made.load_replay_buffer(path, **named)
        known = vars(made.replay_buffer)
        names = ("pos", "full", "dones", "timeouts", "ep_length", "handle_timeout_termination")
        return [str(made.replay_buffer.device), *(known.get(name, "none") for name in names)]

    def older(made: Any) -> Any:
        for name in ("handle_timeout_termination", "timeouts"):
            vars(made.replay_buffer).pop(name, None)
        return load(made)

    def wrong(made: Any) -> Any:
        library(_FILES, "save_to_pkl")(path, [1, 2])
        made.load_replay_buffer(path)

    def nothing(made: Any) -> Any:
        made.replay_buffer = None
        made.save_replay_buffer(path)

    cut = (partial(load, truncate_last_traj=last) for last in (True, False))
    return done(agent, *cut, older, wrong, nothing)


# -- conditions at their edges ------------------------------------------------------------------


def _trifles(agent: Any, folder: str) -> Any:
    """Updates by advantages next to nothing, by few rows, and where policies hardly diverge."""
    del folder
    if not hasattr(agent, "rollout_buffer"):
        raise Unsupported("an agent has no advantages")
    agent.learn(STEPS)
    rows = agent.rollout_buffer
    agent.normalize_advantage, known = True, rows.advantages

    def trained(share: float, size: int, made: Any) -> Any:
        rows.advantages, made.batch_size = known * np.float32(share), size
        made.train()
        return _acted(made)

    def diverged(away: float, limit: float, made: Any) -> Any:
        with torch.no_grad():
            given = torch.as_tensor(rows.observations), torch.as_tensor(rows.actions)
            _, chances, _ = made.policy.evaluate_actions(*given)
        rows.log_probs = chances.numpy().reshape(rows.log_probs.shape) - np.float32(away)
        made.batch_size, made.n_epochs, made.target_kl = len(known), 2, limit
        made.train()
        return [made._n_updates, _acted(made)]

    sizes = ((1e-6, 4), (1e-8, 4), (1.0, 2), (1.0, len(known) - 2))
    limits = ((0.0, 0.0), (0.2, 0.01), (0.2, 0.015), (0.2, 0.03))
    return done(agent, *(partial(trained, *one) for one in sizes),
                *(partial(diverged, *one) for one in limits))  # fmt: skip


def _edges(agent: Any, folder: str) -> Any:
    """Rows cut off where a training begins anew, noise, exploration and updates from the start."""
    del folder

    def cut(steps: int, made: Any) -> Any:
        kept = {"handle_timeout_termination": False}
        another = other(_off_policy(made), optimize_memory_usage=True, replay_buffer_kwargs=kept,
                        train_freq=1, learning_starts=100)  # fmt: skip
        another.learn(steps)
        results = []
        for anew in (False, True):
            another.learn(0, reset_num_timesteps=anew)
            rows = another.replay_buffer
            results.append([rows.pos, int(rows.full), rows.dones])
        return results

    def explored(frequency: int, made: Any) -> Any:
        another = other(made, use_sde=True, sde_sample_freq=frequency, env=_like(made, 2))
        return learnt(another, look=matrices)

    def noisy(count: int, made: Any) -> Any:
        another = other(made, action_noise=walk(), env=_like(made, count))
        results = []
        for steps in (3 * count, 0):
            another.learn(steps, reset_num_timesteps=False)
            np.random.seed(2)
            results.append([type(another.action_noise).__name__, another.action_noise()])
        return [*results, another.replay_buffer.actions]

    def at_once(begin: int, made: Any) -> Any:
        another = other(_off_policy(made), learning_starts=begin, train_freq=1, batch_size=2)
        return [learnt(another, 1, reset_num_timesteps=False) for _ in range(3)]

    def met(made: Any) -> Any:
        """Actions where the number that is drawn is epsilon itself, or beside it."""
        np.random.seed(11)
        drawn, results = np.random.rand(), []
        for epsilon in (drawn, np.nextafter(drawn, 1.0), np.nextafter(drawn, 0.0)):
            made.exploration_rate = epsilon
            for seed in range(4):
                made.action_space.seed(seed)
                np.random.seed(11)
                results.append(made.predict(np.zeros(3, np.float32))[0])
        return results

    return done(agent, *(partial(cut, n) for n in (0, 1, 4, 20, 22)),
                *(partial(explored, n) for n in (-1, 0, 1, 3)), partial(noisy, 1),
                partial(noisy, 2), *(partial(at_once, n) for n in (0, 1, 2)), met)  # fmt: skip


# -- bases, names and refusals ------------------------------------------------------------------


def _of_base(policy: Any, **given: Any) -> Any:
    """An algorithm of a user's own, as far as the library's base asks for it."""
    base = library("common.base_class", "BaseAlgorithm")

    class Own(base):  # type: ignore[misc, valid-type]
        """It has no networks, and learns nothing."""

        def __init__(self, env: Any) -> None:
            more = compat.taken(base, policy_base=policy, **given)
            super().__init__(policy=policy, env=env, learning_rate=0.5, device="cpu", **more)

        def _setup_model(self) -> None:
            """Nothing."""

        def learn(self, total_timesteps: int, **options: Any) -> Any:
            given = {"total_timesteps": total_timesteps, "eval_env": None, "callback": None}
            self._setup_learn(**compat.taken(self._setup_learn, **given))
            return self

    return Own


def _derived(agent: Any, folder: str) -> Any:
    """What bases leave to the algorithms; one of a user's own, for one environment or several."""
    del folder
    bits = ([{"is_success": True, "episode": {"r": 1.0, "l": 2}}, {}],)
    ends = ([{"is_success": True}, {"is_success": False}], np.array([True, False]))

    def own(given: dict[str, Any], count: int, _: Any) -> Any:
        made = _of_base(type(agent.policy), **given)(several(count) if count else None)
        return done(silent(made), lambda a: a.env is None, "n_envs", "num_timesteps", "use_sde",
                    "_current_progress_remaining", lambda a: accepted(a.learn, 7),
                    "_total_timesteps", "num_timesteps", "_last_episode_starts",
                    ("_update_info_buffer", *bits), ("_update_info_buffer", *ends),
                    lambda a: len(a.ep_info_buffer), lambda a: list(map(int, a.ep_success_buffer)),
                    ("dump_logs",), ("_dump_logs",), ("_get_torch_save_params",))  # fmt: skip

    def left(base: Any, made: Any) -> Any:
        base.train(made, **compat.taken(base.train, gradient_steps=1, batch_size=2))

    given: Any = ({}, {"support_multi_env": True}, {"supported_action_spaces": None})
    return done(agent, *(partial(own, one, count) for one in given for count in (1, 2, 0)),
                *(partial(left, base) for base in type(agent).__mro__[1:3]))  # fmt: skip


def _named(agent: Any, folder: str) -> Any:
    """Agents in environments that are made by name; one that has none; other seeds; no actor."""
    del folder
    known: list[Any] = []

    def make(whole: bool, **given: Any) -> Any:
        known.append(sorted(given))
        if not whole:
            # as most environments that were not asked to show themselves
            given.pop("render_mode", None)
        if given:
            raise TypeError("no such argument")
        return environment("box", _actions(agent))

    def by_name(whole: bool, made: Any) -> Any:
        with gyms.registered("RlregressAlone-v0", partial(make, whole)):
            another = other(made, env="RlregressAlone-v0")
        another.learn(10)
        return [another.get_env().num_envs, another.num_timesteps, *known]

    def without(made: Any) -> Any:
        return other(made, env=None, _init_setup_model=False).learn(1)

    def seeded(made: Any) -> Any:
        flags = torch.backends.cudnn
        before = flags.deterministic, flags.benchmark
        flags.deterministic, flags.benchmark = False, True
        try:
            made.set_random_seed(5)
            return [flags.deterministic, flags.benchmark, made.action_space.sample()]
        finally:
            flags.deterministic, flags.benchmark = before

    def undistributed(made: Any) -> Any:
        made.policy.action_dist = None
        return made.predict(np.zeros(3, np.float32))

    def vector(made: Any) -> Any:
        made.policy.load_from_vector(0.5 * made.policy.parameters_to_vector())
        return _acted(made)

    return done(agent, partial(by_name, False), partial(by_name, True), without, seeded, vector,
                undistributed)  # fmt: skip


CALLS = {
    "goes on": _goes_on, "logs": _logged, "ends untold": _lacking, "collects": _collected,
    "calls back": _called_back, "is evaluated": _evaluated, "keeps files": _kept_between,
    "is evaluated between": _evaluated_between, "is looked into": _looked_into,
    "is loaded": _loaded, "is changed": _changed, "loads rows": _rows_loaded,
    "saves networks": _networks_alone, "makes networks": _made_alone, "updates": _trifles,
    "begins": _edges, "is derived": _derived, "is named": _named,
}  # fmt: skip


def subjects() -> dict[str, list[Subject]]:
    """One part for each algorithm."""
    gsde = dict.fromkeys(("PPO", "A2C", "SAC"), [{"use_sde": True, "sde_sample_freq": 3}])
    two = ("two goes on", "two collects", "two calls back", "two is loaded")
    thorough = {"PPO": ("image is changed", "image is evaluated", "image ends untold", *two),
                "SAC": ("goal begins", "goal loads rows", "goal ends untold"),
                "DQN": (*two, "two loads rows")}  # fmt: skip
    return {
        name.lower(): [agents(name, CALLS, *thorough.get(name, ()), together=gsde.get(name, []))]
        for name in ("PPO", "A2C", "SAC", "TD3", "DDPG", "DQN")
    }
