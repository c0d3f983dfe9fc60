"""The programs of ``sota-implementations``, which TorchRL's wheel installs beside the package.

Their helpers are imported by path and called; two of them (PPO on MuJoCo, TD3) are run as they are,
from collection to update, with settings of a tiny training. They read settings by hydra and
omegaconf and draw a bar by tqdm. While a program is imported, stand-ins that do neither replace
these packages, so that it runs the same whether they are installed or not.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import SourceFileLoader
from importlib.metadata import distribution, version
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import torch

from rlregress import marks
from rlregress.frameworks.torchrl.api import Compose
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.probing.interface import Unsupported
from rlregress.probing.scripted import Scripted

#: modules that the programs import by a bare name, from their own folder.
_SIBLINGS = ("utils", "utils_mujoco")
_MODULES_CHECKING_PACKAGES = ("torchrl.record", "torchrl.trainers.helpers")


class Settings(dict):
    """A dictionary whose keys are attributes too, as in a file of settings."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the program asks for the unknown setting '{name}'") from None


def _make_stand_in_modules() -> dict[str, ModuleType]:
    # settings are dictionaries already
    configuration = SimpleNamespace(to_container=lambda settings, **options: settings)
    contents: dict[str, dict[str, Any]] = {
        "hydra": {"main": lambda **options: lambda program: program},
        "omegaconf": {"DictConfig": dict, "OmegaConf": configuration},
        "tqdm": {"tqdm": mock.Mock()},
    }
    modules = {}
    for name, attributes in contents.items():
        modules[name] = ModuleType(name)
        vars(modules[name]).update(attributes)
    return modules


@functools.lru_cache(maxsize=64)
def _compile_program(text: bytes, path: str) -> CodeType:
    """Compile a module: each program imports it again, without bytecode files."""
    return marks.compile_source(text, path)


@contextlib.contextmanager
def replace_modules(modules: Mapping[str, ModuleType | None]) -> Iterator[None]:
    """Replace imported modules within the block; None: they are not imported yet."""
    before = {name: sys.modules.pop(name, None) for name in modules}
    sys.modules.update({name: module for name, module in modules.items() if module is not None})
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


@contextlib.contextmanager
def _replace_modules_and_search_folder(folder: Path) -> Iterator[None]:
    with (
        replace_modules({**dict.fromkeys(_SIBLINGS), **_make_stand_in_modules()}),
        mock.patch.object(sys, "path", [str(folder), *sys.path]),
        mock.patch.object(sys, "dont_write_bytecode", True),
        mock.patch.object(
            SourceFileLoader,
            "source_to_code",
            lambda self, data, path, **options: _compile_program(bytes(data), str(path)),
        ),
    ):
        yield


def find_folder_of_programs() -> Path:
    """Return the folder of the programs: a changed copy on the path, else the installed one.

    What stands on the path behind the installed package belongs to another version of it.

    Raises:
        Unsupported: this version of the package does not install its programs.
    """
    installed = Path(str(distribution("torchrl").locate_file("")))
    for entry in sys.path:
        folder = Path(entry) / "sota-implementations"
        if folder.is_dir():
            return folder
        if Path(entry) == installed:
            break
    raise Unsupported(f"torchrl {version('torchrl')} does not install sota-implementations")


def load_program(folder: str, name: str) -> Any:
    """Return a fresh copy of ``sota-implementations/<folder>/<name>.py``; undo its imports.

    Raises:
        Unsupported: this version of the package does not install this program.
    """
    # these modules check once, when they are imported, which packages are installed: they must
    # not find the stand-ins
    for module_name in _MODULES_CHECKING_PACKAGES:
        importlib.import_module(module_name)
    path = find_folder_of_programs() / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"torchrl_{folder}_{name}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise Unsupported(f"torchrl {version('torchrl')} has no program {folder}/{name}.py")
    module = importlib.util.module_from_spec(spec)
    with _replace_modules_and_search_folder(path.parent):
        # a program of the framework that is probed
        exec(_compile_with_imports_first(path.read_text(encoding="utf-8"), str(path)), vars(module))  # noqa: S102
    return module


@functools.lru_cache(maxsize=64)
def _compile_with_imports_first(text: str, path: str) -> CodeType:
    """Compile a program with the imports of its ``main`` moved to the top.

    So its names can be replaced as in newer programs, which import before ``main``.
    """
    tree = ast.parse(text, path)
    for place, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name == "main":
            imports = [n for n in node.body if isinstance(n, (ast.Import, ast.ImportFrom))]
            node.body = [n for n in node.body if n not in imports]
            tree.body[place:place] = imports
            break
    return marks.compile_source(tree, path)


def disable_normalisation(program: Any) -> None:
    """Remove the transforms with which the PPO program normalises observations."""
    if "normalize_observation" in inspect.signature(program.make_env).parameters:
        return  # is told so by its settings
    # until 0.13 there is no such setting
    for name in ("VecNorm", "ClipTransform"):
        program.make_env.__globals__[name] = lambda **_: Compose()


def make_ppo_settings(environment: str, frames: int, minibatch: int, **changed: Any) -> Settings:
    """Return settings of a tiny training with the PPO program: one rollout, one epoch, learning
    rate 0.

    ``changed`` by name, whichever section they stand in.
    """
    sections: dict[str, dict[str, Any]] = {
        "env": {
            "env_name": environment, "backend": "gym", "config_overrides": None, "num_envs": 1,
            "batch_mode": "parallel", "normalize_observation": False, "max_episode_steps": None,
        },
        "collector": {"frames_per_batch": frames, "total_frames": frames},
        "optim": {"device": "cpu", "lr": 0.0, "anneal_lr": False},
        "loss": {
            "gamma": 0.99, "gae_lambda": 0.95, "mini_batch_size": minibatch, "ppo_epochs": 1,
            "clip_epsilon": 0.2, "anneal_clip_epsilon": False, "loss_critic_type": "l2",
            # of the entropy and of the value loss, under both of their names
            "entropy_coeff": 0.0, "entropy_coef": 0.0, "critic_coeff": 1.0, "critic_coef": 1.0,
        },
        "logger": {"backend": None, "test_interval": 1_000_000, "num_test_episodes": 1},
        "compile": {"compile": False, "cudagraphs": False},
        "checkpoint": {"path": None, "interval": 0},
    }  # fmt: skip
    return change_settings(sections, changed)


def change_settings(sections: Mapping[str, dict[str, Any]], values: Mapping[str, Any]) -> Settings:
    """Return settings with these values, each set in the section that has its name."""
    for name, value in values.items():
        (section,) = [section for section in sections.values() if name in section]
        section[name] = value
    return Settings({name: Settings(own) for name, own in sections.items()})


def make_ppo_networks(low: Any, high: Any, observation_dimensions: int) -> Any:
    """Return actor and critic as ``make_ppo_models_state`` of the PPO program makes them."""
    environment = wrap_environment(
        Scripted(low, high, observation_dimensions=observation_dimensions)
    )
    make = load_program("ppo", "utils_mujoco").make_ppo_models_state
    return make(environment, device=torch.device("cpu"))
