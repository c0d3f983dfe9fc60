"""Files that skrl saves: an agent with optimizers and preprocessors, and rows of its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from skrl.utils import set_seed

from rlregress.frameworks.skrl.agents import AgentSetup, Layers
from rlregress.frameworks.skrl.train import training
from rlregress.frameworks.skrl.train.builtin_trainings import SETTINGS
from rlregress.probing.file_kinds import FileKind, Item, TrainingWithFiles

_STEPS = 48
_LAYERS = Layers(sizes=(8, 8))


def _make_training(algorithm: str, make_env: Callable[..., Any], seed: int) -> AgentSetup:
    set_seed(seed)
    training = AgentSetup(
        algorithm, make_env(discrete=algorithm == "dqn"), layers=_LAYERS, **SETTINGS[algorithm]()
    )
    training.action_space.seed(seed)
    return training


def _train_new_agent(algorithm: str, make_env: Callable[..., Any], seed: int) -> AgentSetup:
    training = _make_training(algorithm, make_env, seed)
    training.run_steps(_STEPS)
    return training


def _load_agent(algorithm: str, make_env: Callable[..., Any], path: str) -> AgentSetup:
    # of another seed: what is not loaded is another number
    training = _make_training(algorithm, make_env, 7)
    # preprocessors and optimizers may be made with the first step
    training.make_trainer(_STEPS)
    training.agent.load(path)
    return training


def _list_items_of_training(trained: AgentSetup) -> Iterator[Item]:
    load, agent = type(trained.agent).load, training.make_trained_agent(trained, 0, {})
    observations = np.random.default_rng(0).normal(size=(8, 3))
    yield "parameters", dict(agent.parameters), load
    preprocessors = {name: module.state_dict()
                     for name, module in trained.agent.checkpoint_modules.items()
                     if name.endswith("preprocessor") and hasattr(module, "state_dict")
                     }  # fmt: skip
    yield "preprocessors", preprocessors, load
    yield "deterministic actions", agent.policy(observations), load
    yield "values", agent.value(observations), load


def _list_items_of_continued_training(trained: AgentSetup) -> Iterator[Item]:
    set_seed(3)
    trained.run_steps(_STEPS)
    parameters = dict(training.make_trained_agent(trained, 0, {}).parameters)
    yield "continued training", parameters, type(trained.agent).load


def _make_training_with_files(algorithm: str) -> TrainingWithFiles:
    kind = FileKind(
        f"{algorithm} agent", "agent.save and agent.load", partial(_load_agent, algorithm),
        _list_items_of_training, _list_items_of_continued_training,
        lambda trained, path: trained.agent.save(path), file="agent.pt",
    )  # fmt: skip
    return TrainingWithFiles(partial(_train_new_agent, algorithm), [kind])


def list_trainings_with_files() -> Mapping[str, Sequence[TrainingWithFiles]]:
    """Return the files of built-in trainings, by algorithm."""
    return {kind: [_make_training_with_files(kind)] for kind in SETTINGS}
