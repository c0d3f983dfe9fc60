"""Files that CleanRL's scripts save with ``--save-model``, and how they are loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from rlregress.frameworks.cleanrl.running import ScriptRun, run_script, start_script
from rlregress.frameworks.cleanrl.script import read_script_text
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.train.builtin_trainings import SETTINGS
from rlregress.probing.file_kinds import FileKind, Item, TrainingWithFiles
from rlregress.probing.interface import Unsupported

#: algorithm -> what a script calls the networks that it saves, in this order.
_NETWORKS = {"ppo": ("agent",), "td3": ("actor", "qf1", "qf2")}


def _run_script_of_algorithm(
    run: Callable[..., ScriptRun], source: Source, algorithm: str, make_env: Any, seed: int
) -> ScriptRun:
    path = source.parse_script(f"{algorithm}_continuous_action").path
    if "torch.save(" not in read_script_text(path):
        raise Unsupported(f"{path.name} saves nothing")
    return run(path, {**SETTINGS[algorithm], "seed": seed}, make_env=make_env)


def _make_training_with_files(source: Source, algorithm: str) -> TrainingWithFiles:
    names = _NETWORKS[algorithm]

    def run_training(make_env: Callable[..., Any], seed: int) -> ScriptRun:
        return _run_script_of_algorithm(run_script, source, algorithm, make_env, seed)

    def save_states(run: ScriptRun, path: str) -> None:
        states = tuple(run[name].state_dict() for name in names)
        torch.save(states if len(states) > 1 else states[0], path)

    def load_states(make_env: Callable[..., Any], path: str) -> ScriptRun:
        run = _run_script_of_algorithm(start_script, source, algorithm, make_env, 7)
        states = torch.load(path, map_location="cpu")
        for name, state in zip(names, states if len(names) > 1 else (states,), strict=False):
            run[name].load_state_dict(state)
        return run

    def list_items_of_run(run: ScriptRun) -> Iterator[Item]:
        for name in names:
            yield f"parameters of {name}", run[name].state_dict(), type(run[name]).load_state_dict
        yield from _list_actions_as_items(algorithm, run)

    kind = FileKind(
        f"{algorithm} weights", "torch.save of state_dict, as with --save-model",
        save=save_states, load=load_states, state=list_items_of_run, file="script.cleanrl_model",
    )  # fmt: skip
    return TrainingWithFiles(run_training, [kind])


def _list_actions_as_items(algorithm: str, run: ScriptRun) -> Iterator[Item]:
    torch.manual_seed(0)
    observed = torch.rand(8, 3)
    with torch.no_grad():
        if algorithm == "ppo":
            act = run["agent"].get_action_and_value
            yield "deterministic actions", run["agent"].actor_mean(observed), act
            yield "sampled actions and values", list(act(observed)), act
            return
        actions = run["actor"](observed)
        yield "deterministic actions", actions, type(run["actor"]).forward
        for name in ("qf1", "qf2"):
            yield f"values of {name}", run[name](observed, actions), type(run[name]).forward


def list_trainings_with_files(source: Source) -> Mapping[str, tuple[TrainingWithFiles, ...]]:
    """Return algorithm -> its script's training and the files saved after it; none if for gym."""
    if source.for_gym:
        return {}
    return {algorithm: (_make_training_with_files(source, algorithm),) for algorithm in _NETWORKS}
