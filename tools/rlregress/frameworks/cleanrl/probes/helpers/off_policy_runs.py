"""The programs of SAC and TD3, run as they are on a small environment, and watched."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from rlregress.frameworks import journal as journals
from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.running import ScriptRun, run_script
from rlregress.frameworks.cleanrl.script import Script
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import defaults
from rlregress.frameworks.journal import Journal
from rlregress.frameworks.layers import make_constant
from rlregress.frameworks.scripted import Scripted

#: the script's global names, once its networks are made
Prepare = Callable[[Inputs], Any]

_OPTIMIZERS = {
    "critic": ("q_optimizer", "values_optimizer"),
    "actor": ("actor_optimizer", "policy_optimizer"),
    "temperature": ("a_optimizer",),
}
_POLICIES = ("actor", "pg")
TARGETS = ("qf1_target", "qf2_target")


def _leave(*_: Any) -> None:
    """Nothing."""


def policy(names: Mapping[str, Any]) -> Any:
    """The policy network of a script, whatever it is called."""
    return part(names, "policy network", *_POLICIES)


def part(names: Mapping[str, Any], quantity: str, *candidates: str) -> Any:
    """What a script calls by the first of these names that it has."""
    for name in candidates:
        if name in names:
            return names[name]
    raise Script(Path(names["__file__"])).lost(quantity, *candidates)


def q_networks(names: Mapping[str, Any]) -> list[nn.Module]:
    """The networks whose parameters the optimiser of the critics holds."""
    held = _held(names, "critic")
    modules = [m for m in names.values() if isinstance(m, nn.Module)]
    return [m for m in modules if any(id(p) in held for p in m.parameters())]


def optimizer(names: Mapping[str, Any], role: str) -> Any:
    """The optimiser of a part; None if the script has no temperature to train."""
    candidates = _OPTIMIZERS[role]
    if role == "temperature" and not {*candidates, "log_alpha"} & names.keys():
        return None
    return part(names, f"optimiser of the {role}", *candidates)


def parts() -> Sequence[str]:
    """The parts that may have an optimiser, in the order in which scripts make them."""
    return tuple(_OPTIMIZERS)


def _held(names: Mapping[str, Any], role: str) -> dict[int, Any]:
    groups = optimizer(names, role).param_groups
    return {id(p): p for group in groups for p in group["params"]}


class RecordedEnv(Scripted):
    """When it is reset for the first time, the script has made its networks: it prepares them."""

    def __init__(self, prepare: Prepare, **script: Any) -> None:
        super().__init__(**script)
        self._prepare: Prepare | None = prepare

    def reset(self, **options: Any) -> Any:
        if self._prepare is not None:
            # while it runs, the script is the main module
            self._prepare(vars(sys.modules["__main__"]))
            self._prepare = None
        return super().reset(**options)


def run(
    source: Source,
    script: str,
    steps: int,
    prepare: Prepare = _leave,
    look: Callable[[str, Any], Any] = _leave,
    environment: Mapping[str, Any] | None = None,
    patches: Sequence[Any] = (),
    **settings: Any,
) -> tuple[Journal, ScriptRun]:
    """Run a script for ``steps`` of its steps, updating as soon as it holds one batch.

    ``prepare(names)`` is called before the first step, ``look(part, optimiser)`` before each step
    of an optimiser; ``environment`` holds arguments of ``Scripted``, ``settings`` of the script.
    """
    journal = Journal()

    def make() -> RecordedEnv:
        made = RecordedEnv(_leave if journal.actions else prepare, **(environment or {}))
        journal.actions.append(made.received)
        return made

    def note(stepping: Any, *_: Any) -> None:
        names = vars(sys.modules["__main__"])
        role = next((r for r in _OPTIMIZERS if optimizer(names, r) is stepping), None)
        if role is None:
            every = [name for tried in _OPTIMIZERS.values() for name in tried]
            raise Script(Path(names["__file__"])).lost("optimisers", *every)
        journal.note(role, stepping, lambda: _targets(names))
        look(role, stepping)

    # one version cannot draw more transitions than it has
    starts = max(int(settings["batch_size"]) - 2, 0)
    overrides = {
        "total_timesteps": steps, "buffer_size": 256, "learning_starts": starts, **settings,
    }  # fmt: skip
    handle = register_optimizer_step_pre_hook(note)
    try:
        path = source.script(script).path
        ended = run_script(path, overrides, make_env=make, patches=patches)
    finally:
        handle.remove()
    journal.look_at(_targets(ended.globals))
    return journal, ended


def _targets(names: Mapping[str, Any]) -> Iterator[Any]:
    """The parameters of the target critics."""
    for name in TARGETS:
        yield from part(names, "target network", name).parameters()


def head(names: Mapping[str, Any]) -> nn.Linear:
    """The layer that gives the policy's mean, or its action before the tanh."""
    actor = policy(names)
    layers = [getattr(actor, n) for n in ("fc_mean", "mean", "fc_mu") if hasattr(actor, n)]
    return layers[0]


def saturate(names: Mapping[str, Any]) -> None:
    """Let the policy be at the upper bound of the actions, but for less than 0.001."""
    make_constant(head(names), 5.0)
    for name in ("fc_logstd", "logstd"):
        if hasattr(policy(names), name):
            make_constant(getattr(policy(names), name), -20.0)


def cold_start(source: Source, script: str, inputs: Inputs, **settings: Any) -> Journal:
    """A run with a warm-up of random actions, then a policy at the upper bound."""
    journal, _ = run(
        source, script, int(inputs["steps"]), saturate, learning_starts=int(inputs["starts"]),
        batch_size=int(inputs["batch_size"]), **settings,
    )  # fmt: skip
    return journal


def learning_starts(source: Source, inputs: Inputs, script: str, **settings: Any) -> np.ndarray:
    """Steps with random actions; steps at the first update."""
    return cold_start(source, script, inputs, **settings).learning_starts()


def _requested(run_: ScriptRun, name: str) -> int:
    given = run_["args"]
    if not hasattr(given, name):
        raise Script(run_.path).lost("arguments of the script", name)
    return int(getattr(given, name))


def update_ratio(source: Source, inputs: Inputs, script: str, roles: Sequence[str]) -> np.ndarray:
    """Updates per step: by default, with twice the frequency of the policy, with 1."""
    steps, size = int(inputs["steps"]), int(inputs["batch_size"])
    default, ended = run(source, script, steps, batch_size=size)
    runs = [default]
    for frequency in (2 * _requested(ended, "policy_frequency"), 1):
        journal, _ = run(source, script, steps, batch_size=size, policy_frequency=frequency)
        runs.append(journal)
    return journals.update_ratio(inputs, roles, runs)


def has_several_environments(source: Source, script: str) -> bool:
    """Whether a script has a setting for the number of its environments."""
    return "num_envs" in defaults(source.script(script))


def several(source: Source, script: str, environments: int) -> dict[str, Any]:
    """The setting for so many environments, where there is one."""
    return {"num_envs": environments} if has_several_environments(source, script) else {}


def vectorisation(source: Source, inputs: Inputs, script: str) -> np.ndarray:
    """Transitions per step asked for; updates per transition; environments."""
    journal, _ = run(
        source, script, int(inputs["steps"]), batch_size=int(inputs["batch_size"]),
        **several(source, script, int(inputs["environments"])),
    )  # fmt: skip
    return journal.vectorisation(inputs)


def regression_targets(functional: Any, targets: list[float]) -> Any:
    """A patch for ``run``: the targets that predictions are compared with, in order."""
    original = functional.mse_loss

    def recording(input: torch.Tensor, target: torch.Tensor, *rest: Any, **keywords: Any) -> Any:
        targets.append(float(target.detach().reshape(-1)[0]))
        return original(input, target, *rest, **keywords)

    return (functional, "mse_loss", recording)
