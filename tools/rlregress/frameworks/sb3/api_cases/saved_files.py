"""What is in the files of an agent, and what is refused where they are read."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any, Dict

import numpy as np
from torch import nn

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.sb3 import compat, gyms, user_code
from rlregress.frameworks.sb3.api_cases import accepted, answer
from rlregress.frameworks.sb3.scenario_request import library, silent
from rlregress.frameworks.sb3.wrappers import Wrappers

_FILES = "common.save_util"
#: what may be in a file of an agent: networks are not to be there twice.
_PARTS = (
    *("policy", "policy_class", "policy_kwargs", "learning_rate", "gamma", "n_envs", "seed"),
    *("env", "device", "logger", "_logger", "eval_env", "rollout_buffer", "replay_buffer"),
    *("actor", "critic", "critic_target", "q_net", "q_net_target", "log_ent_coef", "ent_coef"),
)


def _look_into(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Which parts of an agent are in its file: as it is, with fewer, with more."""
    del wrappers
    read = library(_FILES, "load_from_zip_file")
    path = os.path.join(folder, "parts.zip")
    cases: Any = [{}, {"exclude": ["gamma", "seed"]}, {"include": ["device"]}]
    for options in [*cases, {"exclude": ["gamma"], "include": ["gamma", "policy"]}]:
        model.save(path, **options)
        data, parameters, variables = read(path, device="cpu")
        user_code.Capture().capture([int(name in data) for name in _PARTS])
        user_code.Capture().capture([*sorted(parameters), *sorted(variables or {})])
        with zipfile.ZipFile(path) as archive:
            user_code.Capture().capture(sorted(archive.namelist()))
    data, parameters, _ = read(path, device="cpu", load_data=False)
    user_code.Capture().capture([int(data is None), len(parameters)])


def _set_parameters(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Parameters of all parts, of some, of none that the agent has; from a file."""
    known = model.get_parameters()
    observation = gyms.reset(wrappers.made(0))
    user_code.Capture().capture(sorted(known))
    halved = {name: 0.5 * value for name, value in known["policy"].items()}
    fewer = dict(list(halved.items())[:-1])
    cases: Any = [known, {"policy": halved}, {"policy": fewer}, {**known, "none": {}}, {}]
    path = os.path.join(folder, "parameters.zip")
    model.save(path)
    for given in [*cases, path]:
        for exact in (True, False):
            user_code.Capture().capture([accepted(model.set_parameters, given, exact_match=exact)])
            user_code.Capture().capture([model.predict(observation, deterministic=True)[0]])


def _load_otherwise(model: Any, wrappers: Wrappers, folder: str) -> None:
    """An agent that is loaded without environment, with other arguments, from memory; refusals."""
    path, kind = os.path.join(folder, "otherwise"), type(model)
    model.save(path)
    user_code.Capture().capture(
        sorted(name for name in os.listdir(folder) if name.startswith("otherwise"))
    )
    observation = gyms.reset(wrappers.made(0))
    options: Any = [
        {},
        {"gamma": 0.5, "policy_kwargs": model.policy_kwargs},
        {"custom_objects": {"gamma": 0.25, "n_envs": 1}},
        {"env": wrappers.made(0)},
    ]
    for given in options:
        loaded = kind.load(path, device="cpu", **given)
        action, _ = loaded.predict(observation, deterministic=True)
        user_code.Capture().capture(
            [loaded.gamma, loaded.n_envs, int(loaded.get_env() is None), action]
        )
        user_code.Capture().capture([loaded.num_timesteps, int(loaded._last_obs is None)])
    memory = io.BytesIO()
    model.save(memory)
    user_code.Capture().capture(
        [kind.load(memory, device="cpu").predict(observation, deterministic=True)[0]]
    )
    wrong: Any = [
        {"policy_kwargs": {"net_arch": [3]}},
        {"env": user_code.UnboundedActions(wrappers.made(0))},
        {"custom_objects": [1]},
    ]
    for given in wrong:
        user_code.Capture().capture([accepted(kind.load, path, device="cpu", **given)])
    untold = os.path.join(folder, "untold.zip")
    model.save(untold, exclude=["observation_space"])
    user_code.Capture().capture([accepted(kind.load, untold), accepted(kind.load, path + "-none")])
    with open(os.path.join(folder, "text.zip"), "w", encoding="utf-8") as file:
        file.write("no archive")
    user_code.Capture().capture([accepted(kind.load, file.name)])


def _load_with_environment(model: Any, wrappers: Wrappers, folder: str) -> None:
    """An agent whose environment is in its file, trained on without another."""
    path, kind = os.path.join(folder, "environment.zip"), type(model)
    model.save(path, include=["env"])
    for given in ({}, {"env": wrappers.made(0)}):
        loaded = silent(kind.load(path, device="cpu", **given))
        user_code.Capture().capture([int(loaded.get_env() is None), int(loaded._last_obs is None)])
        loaded.learn(8, reset_num_timesteps=False)
        user_code.Capture().capture([loaded.num_timesteps, loaded.get_env().num_envs])


def _save_networks(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Networks of a policy that are saved and loaded by themselves."""
    observation = gyms.reset(wrappers.made(0))
    for name in ("actor", "critic", "q_net"):
        part = getattr(model.policy, name, None)
        if part is None or not hasattr(part, "save"):
            continue
        path = os.path.join(folder, name)
        part.save(path)
        loaded = answer(type(part).load, path, device="cpu")
        if not isinstance(loaded, type(part)):
            user_code.Capture().capture([name, loaded])
            continue
        user_code.Capture().capture(
            [name, *(value.sum() for value in loaded.state_dict().values())]
        )
        user_code.Capture().capture([answer(getattr(loaded, "predict", len), observation)])


def _load_sizes(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Layers that were given in a list of one dictionary, as they come back from a file."""
    del wrappers
    path, kind = os.path.join(folder, "sizes.zip"), type(model)
    model.save(path)
    user_code.Capture().capture([repr(kind.load(path, device="cpu").policy_kwargs["net_arch"])])
    sizes = model.policy_kwargs["net_arch"][0]
    given = {**model.policy_kwargs, "net_arch": sizes}
    user_code.Capture().capture([accepted(kind.load, path, device="cpu", policy_kwargs=given)])


def _changed_file(model: Any, folder: str, change: Any) -> str:
    """A file of the agent, whose parameters were changed."""
    path = os.path.join(folder, "older.zip")
    model.save(path)
    data, parameters, variables = library(_FILES, "load_from_zip_file")(path, device="cpu")
    library(_FILES, "save_to_zip_file")(path, data, change(parameters), variables)
    return path


def _load_older(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Files as older versions wrote them: other features, other optimisers, fewer parts."""

    def unshared(parameters: Dict[str, Any]) -> Dict[str, Any]:
        networks = parameters["policy"]
        apart = ("pi_features_extractor", "vf_features_extractor")
        kept = {name: value for name, value in networks.items() if not name.startswith(apart)}
        return {**parameters, "policy": kept}

    def doubled(parameters: Dict[str, Any]) -> Dict[str, Any]:
        group = parameters["policy.optimizer"]["param_groups"][0]
        group["params"] = list(range(2 * len(group["params"])))
        return parameters

    def doubled_alone(parameters: Dict[str, Any]) -> Dict[str, Any]:
        return {"policy.optimizer": doubled(parameters)["policy.optimizer"]}

    def longer(parameters: Dict[str, Any]) -> Dict[str, Any]:
        group = parameters["policy.optimizer"]["param_groups"][0]
        group["params"] = list(range(3 * len(group["params"])))
        return parameters

    def fewer(parameters: Dict[str, Any]) -> Dict[str, Any]:
        networks = dict(parameters["policy"])
        networks.popitem()
        return {**parameters, "policy": networks}

    def unoptimised(parameters: Dict[str, Any]) -> Dict[str, Any]:
        return {"policy": parameters["policy"]}

    observation = gyms.reset(wrappers.made(0))
    for change in (unshared, doubled, doubled_alone, longer, fewer, unoptimised):
        path = _changed_file(model, folder, change)
        loaded = answer(type(model).load, path, device="cpu")
        if not isinstance(loaded, type(model)):
            user_code.Capture().capture([loaded])
            continue
        user_code.Capture().capture([loaded.predict(observation, deterministic=True)[0]])
        groups = loaded.policy.optimizer.param_groups
        user_code.Capture().capture([len(groups[0]["params"])])


def _load_rows(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Rows from a file: going on in an episode, as an older version wrote them, or no rows."""
    del wrappers
    if not hasattr(model, "save_replay_buffer"):
        raise Unsupported("an agent has no rows to save")
    path = os.path.join(folder, "rows.pkl")
    for cut in compat.taken(model.load_replay_buffer, truncate_last_traj=None) and (True, False):
        model.save_replay_buffer(path)
        model.load_replay_buffer(path, truncate_last_traj=cut)
        rows = model.replay_buffer
        user_code.Capture().capture(
            [rows.pos, int(rows.full), rows.dones, getattr(rows, "timeouts", 0)]
        )
        user_code.Capture().capture([str(rows.device), getattr(rows, "ep_length", 0)])
    for name in ("handle_timeout_termination", "timeouts"):
        if name in vars(model.replay_buffer):
            delattr(model.replay_buffer, name)
    model.save_replay_buffer(path)
    model.load_replay_buffer(path)
    known = vars(model.replay_buffer)
    timeouts = known.get("timeouts", "none")
    user_code.Capture().capture([timeouts, int(known.get("handle_timeout_termination", -1))])
    library(_FILES, "save_to_pkl")(path, [1, 2])
    user_code.Capture().capture([accepted(model.load_replay_buffer, path)])
    model.replay_buffer = None
    user_code.Capture().capture([accepted(model.save_replay_buffer, path)])


def _load_odd(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Files that name a device, lack arguments of the policy, or have variables that are none."""
    del wrappers
    path, kind = os.path.join(folder, "odd.zip"), type(model)
    read, write = library(_FILES, "load_from_zip_file"), library(_FILES, "save_to_zip_file")
    model.save(path)
    data, parameters, variables = read(path, device="cpu")
    kept = dict(data)
    named = {**kept, "policy_kwargs": {**kept["policy_kwargs"], "device": "cpu"}}
    nothing = dict.fromkeys(variables or {})
    bare = {name: value for name, value in kept.items() if name != "policy_kwargs"}
    unknown = {name: value for name, value in kept.items() if name != "action_space"}
    cases: Any = [(named, parameters, variables), (kept, parameters, nothing)]
    cases += [(kept, parameters, None), (bare, parameters, variables), (None, parameters, None)]
    cases += [(kept, None, variables), (unknown, parameters, variables)]
    for case in cases:
        write(path, *case)
        loaded = answer(kind.load, path, device="cpu")
        if not isinstance(loaded, kind):
            user_code.Capture().capture([loaded])
            continue
        user_code.Capture().capture([repr(sorted(loaded.policy_kwargs)), loaded.num_timesteps])
        user_code.Capture().capture([value.sum() for value in loaded.policy.state_dict().values()])
        for name in ("log_ent_coef", "ent_coef_tensor"):
            value = getattr(loaded, name, None)
            user_code.Capture().capture(["none" if value is None else value.detach()])


def _open(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Files that are opened: with an ending, in folders that are not there yet, closed, refused."""
    del model, wrappers
    opened, write = library(_FILES, "open_path"), library(_FILES, "save_to_pkl")
    read = library(_FILES, "load_from_pkl")
    inside = os.path.join(folder, "new", "below", "rows")
    write(inside, {"rows": 3})
    user_code.Capture().capture([sorted(os.listdir(os.path.dirname(inside))), read(inside)["rows"]])
    os.makedirs(os.path.join(folder, "taken"))
    user_code.Capture().capture(
        [accepted(lambda: opened(os.path.join(folder, "taken"), "w").close())]
    )
    user_code.Capture().capture(
        sorted(name for name in os.listdir(folder) if name.startswith("taken"))
    )
    closed = io.BytesIO()
    closed.close()
    wrong = [(inside, "a"), (folder + "/none", "r"), (closed, "r"), (io.BytesIO(), "a"), (3, "r")]
    user_code.Capture().capture([accepted(opened, *argument) for argument in wrong])
    memory = io.BytesIO()
    write(memory, [1, 2])
    memory.seek(0)
    user_code.Capture().capture(read(memory))


def _write_words(model: Any, wrappers: Wrappers, folder: str) -> None:
    """What is written in words and read again: numbers, arrays, functions; with own objects."""
    del model, wrappers, folder
    there, back = library(_FILES, "data_to_json"), library(_FILES, "json_to_data")
    data = {"number": 3, "list": [1, 2.5], "array": np.arange(3.0), "none": None, "rate": abs}
    text = there(data)
    for own_objects in (None, {"array": np.zeros(1), "other": 1}):
        again = back(text, custom_objects=own_objects)
        user_code.Capture().capture(
            [*sorted(again), again["number"], again["list"], again["array"]]
        )
    serialised = library(_FILES, "is_json_serializable")
    user_code.Capture().capture([int(serialised(value)) for value in data.values()])
    user_code.Capture().capture([accepted(back, text, custom_objects=[1])])
    _set_deeply()


def _set_deeply() -> None:
    """Attributes of attributes, read and set."""
    read, write = library(_FILES, "recursive_getattr"), library(_FILES, "recursive_setattr")
    policy = user_code.Compiled(user_code.Compiled(nn.Linear(1, 1)))
    write(policy, "_orig_mod._orig_mod.mark", 3)
    user_code.Capture().capture([read(policy, "_orig_mod._orig_mod.mark"), read(policy, "none", 4)])
    user_code.Capture().capture([accepted(read, policy, "_orig_mod.none.none")])


def _keep_policy(model: Any, wrappers: Wrappers, folder: str) -> None:
    """A policy that scales actions, and one that has none to scale."""
    del folder, wrappers
    space = model.action_space
    actions = np.stack([space.sample() * 0, space.sample() * 0 + 1])
    scaled = answer(model.policy.scale_action, actions)
    user_code.Capture().capture([scaled, answer(model.policy.unscale_action, actions)])
    if "deterministic" not in compat.keywords(model.policy.predict):
        raise Unsupported("a policy does not act by itself")


USED = {
    "file-looked-into": _look_into,
    "parameters-set": _set_parameters,
    "loaded-otherwise": _load_otherwise,
    "loaded-with-environment": _load_with_environment,
    "networks-alone": _save_networks,
    "sizes-of-a-file": _load_sizes,
    "file-of-an-older-version": _load_older,
    "rows-loaded": _load_rows,
    "odd-files": _load_odd,
    "files-opened": _open,
    "words-of-a-file": _write_words,
    "actions-scaled": _keep_policy,
}
