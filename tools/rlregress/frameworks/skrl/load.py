"""What skrl saves: an agent with its optimizers and preprocessors, and the rows of its memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from skrl.utils import set_seed

from rlregress.frameworks.skrl.agents import Layers, Training
from rlregress.frameworks.skrl.train import training
from rlregress.frameworks.skrl.train.builtin_trainings import SETTINGS
from rlregress.probing.file_kinds import FileKind, Item, Saving

_STEPS, _FILE = 48, "agent.pt"
_LAYERS = Layers(sizes=(8, 8))


def _made(kind: str, make_env: Callable[..., Any], seed: int) -> Training:
    set_seed(seed)
    made = Training(kind, make_env(discrete=kind == "dqn"), layers=_LAYERS, **SETTINGS[kind]())
    made.action_space.seed(seed)
    return made


def _trained(kind: str, make_env: Callable[..., Any], seed: int) -> Training:
    made = _made(kind, make_env, seed)
    made.run(_STEPS)
    return made


def _save(made: Training, folder: str) -> None:
    made.agent.save(os.path.join(folder, _FILE))


def _load(kind: str, make_env: Callable[..., Any], folder: str) -> Training:
    # of another seed: what is not loaded is another number
    made = _made(kind, make_env, 7)
    # preprocessors and optimizers may be made with the first step
    made.trainer(_STEPS)
    made.agent.load(os.path.join(folder, _FILE))
    return made


def _state(made: Training) -> Iterator[Item]:
    load, agent = type(made.agent).load, training.trained(made, 0, {})
    observations = np.random.default_rng(0).normal(size=(8, 3))
    yield "parameters", dict(agent.parameters), load
    yield "preprocessors", _preprocessors(made), load
    yield "deterministic actions", agent.policy(observations), load
    yield "values", agent.value(observations), load


def _preprocessors(made: Training) -> dict[str, Any]:
    modules = made.agent.checkpoint_modules
    return {name: module.state_dict() for name, module in modules.items()
            if name.endswith("preprocessor") and hasattr(module, "state_dict")}  # fmt: skip


def _go_on(made: Training) -> Iterator[Item]:
    set_seed(3)
    made.run(_STEPS)
    parameters = dict(training.trained(made, 0, {}).parameters)
    yield "continued training", parameters, type(made.agent).load


def _saving(kind: str) -> tuple[Saving]:
    way = "agent.save and agent.load"
    file = FileKind(f"{kind} agent", way, _save, partial(_load, kind), _state, _go_on)
    return (Saving(partial(_trained, kind), (file,)),)


def saved_files() -> Mapping[str, Sequence[Saving]]:
    """What is saved of built-in trainings, by algorithm."""
    return {kind: _saving(kind) for kind in SETTINGS}
