"""The programs of SAC and TD3, run as they are on a small environment, and watched."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

import numpy as np
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.cleanrl.running import ScriptRun, run_script
from rlregress.frameworks.cleanrl.script import Script
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.stubs import defaults
from rlregress.frameworks.journal import Updates
from rlregress.frameworks.scripted import Scripted

#: the script's global names, once its networks are made
Prepare = Callable[[Inputs], Any]

_OPTIMIZERS = {
    "critic": ("q_optimizer", "values_optimizer"),
    "actor": ("actor_optimizer", "policy_optimizer"),
    "temperature": ("a_optimizer",),
}
_POLICIES = ("actor", "pg")


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


def q_networks(names: Mapping[str, Any]) -> List[nn.Module]:
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


def _held(names: Mapping[str, Any], role: str) -> Dict[int, Any]:
    groups = optimizer(names, role).param_groups
    return {id(p): p for group in groups for p in group["params"]}


class RecordedEnv(Scripted):
    """When it is reset for the first time, the script has made its networks: it prepares them."""

    def __init__(self, prepare: Prepare, **script: Any) -> None:
        super().__init__(**script)
        self._prepare: Optional[Prepare] = prepare

    def reset(self, **options: Any) -> Any:
        """As scripted."""
        if self._prepare is not None:
            # while it runs, the script is the main module
            self._prepare(vars(sys.modules["__main__"]))
            self._prepare = None
        return super().reset(**options)


class Journal(Updates):
    """What a run did, in its order.

    Attributes:
        environments: those that were made, with the actions that they received.
        run: the script after its end.
    """

    def __init__(self) -> None:
        super().__init__()
        self.environments: List[RecordedEnv] = []
        self.run: Any = None

    @property
    def steps(self) -> int:
        """Steps taken, over all environments."""
        return sum(len(environment.received) for environment in self.environments)

    def note(self, stepping: Any, look: Callable[[str, Any], Any]) -> None:
        """An optimiser is about to step."""
        names = vars(sys.modules["__main__"])
        role = next((r for r in _OPTIMIZERS if optimizer(names, r) is stepping), None)
        if role is None:
            every = [name for tried in _OPTIMIZERS.values() for name in tried]
            raise Script(Path(names["__file__"])).lost("optimisers", *every)
        if role == "critic":
            self.look_at_targets(names)
        self.updates.append((role, self.steps))
        look(role, stepping)

    def look_at_targets(self, names: Mapping[str, Any]) -> None:
        """Note whether the target critics moved since the last look."""
        targets = [part(names, "target network", name) for name in ("qf1_target", "qf2_target")]
        self.look_at([p for target in targets for p in target.parameters()])


def run(
    source: Source,
    script: str,
    steps: int,
    prepare: Prepare = _leave,
    look: Callable[[str, Any], Any] = _leave,
    environment: Optional[Mapping[str, Any]] = None,
    patches: Sequence[Any] = (),
    **settings: Any,
) -> Journal:
    """Run a script for ``steps`` of its steps, updating as soon as it holds one batch.

    ``prepare(names)`` is called before the first step, ``look(part, optimiser)`` before each step
    of an optimiser; ``environment`` holds arguments of ``Watched``, ``settings`` of the script.
    """
    journal = Journal()

    def make() -> RecordedEnv:
        first = prepare if not journal.environments else _leave
        journal.environments.append(RecordedEnv(first, **(environment or {})))
        return journal.environments[-1]

    # one version cannot draw more transitions than it has
    starts = max(int(settings["batch_size"]) - 2, 0)
    overrides = {
        "total_timesteps": steps, "buffer_size": 256, "learning_starts": starts, **settings,
    }  # fmt: skip
    handle = register_optimizer_step_pre_hook(lambda o, *_: journal.note(o, look))
    try:
        path = source.script(script).path
        journal.run = run_script(path, overrides, make_env=make, patches=patches)
    finally:
        handle.remove()
    journal.look_at_targets(journal.run.globals)
    return journal


def head(names: Mapping[str, Any]) -> nn.Linear:
    """The layer that gives the policy's mean, or its action before the tanh."""
    actor = policy(names)
    layers = [getattr(actor, n) for n in ("fc_mean", "mean", "fc_mu") if hasattr(actor, n)]
    return layers[0]


def make_constant(layer: nn.Linear, number: float) -> None:
    """Let a layer output ``number`` for every input, still trainable."""
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.fill_(number)


def saturate(names: Mapping[str, Any]) -> None:
    """Let the policy be at the upper bound of the actions, but for less than 0.001."""
    make_constant(head(names), 5.0)
    for name in ("fc_logstd", "logstd"):
        if hasattr(policy(names), name):
            make_constant(getattr(policy(names), name), -20.0)


def cold_start(source: Source, script: str, inputs: Inputs, **settings: Any) -> Journal:
    """A run with a warm-up of random actions, then a policy at the upper bound."""
    return run(
        source, script, int(inputs["steps"]), saturate, learning_starts=int(inputs["starts"]),
        batch_size=int(inputs["batch_size"]), **settings,
    )  # fmt: skip


def learning_starts(source: Source, inputs: Inputs, script: str, **settings: Any) -> np.ndarray:
    """Steps with random actions; steps at the first update."""
    journal = cold_start(source, script, inputs, **settings)
    below = np.flatnonzero(np.array(journal.environments[0].received) < 0.999)
    random = below[-1] + 1 if len(below) else 0
    return np.array([random, journal.first("critic")], dtype=np.float64)


def _requested(run_: ScriptRun, name: str) -> int:
    given = run_["args"]
    if not hasattr(given, name):
        raise Script(run_.path).lost("arguments of the script", name)
    return int(getattr(given, name))


def update_ratio(source: Source, inputs: Inputs, script: str, roles: Sequence[str]) -> np.ndarray:
    """Updates per step: by default, with twice the frequency of the policy, with 1."""
    steps, counted = int(inputs["steps"]), int(inputs["counted"])
    settings: Dict[str, Any] = {"batch_size": int(inputs["batch_size"])}
    default = run(source, script, steps, **settings)
    frequency = _requested(default.run, "policy_frequency")
    runs = [
        default,
        run(source, script, steps, policy_frequency=2 * frequency, **settings),
        run(source, script, steps, policy_frequency=1, **settings),
    ]
    rates = [[run_.count(r, after=steps - counted) / counted for r in roles] for run_ in runs]
    return np.array(rates).flatten()


def has_several_environments(source: Source, script: str) -> bool:
    """Whether a script has a setting for the number of its environments."""
    return "num_envs" in defaults(source.script(script))


def several(source: Source, script: str, environments: int) -> Dict[str, Any]:
    """The setting for so many environments, where there is one."""
    return {"num_envs": environments} if has_several_environments(source, script) else {}


def vectorisation(source: Source, inputs: Inputs, script: str) -> np.ndarray:
    """Transitions per step asked for; updates per transition; environments."""
    steps = int(inputs["steps"])
    journal = run(
        source, script, steps, batch_size=int(inputs["batch_size"]),
        **several(source, script, int(inputs["environments"])),
    )  # fmt: skip
    half = journal.steps // 2
    stepped = sum(1 for environment in journal.environments if environment.received)
    return np.array(
        [journal.steps / steps, journal.count("critic", after=half) / half, float(stepped)]
    )


def regression_targets(functional: Any, targets: List[float]) -> Any:
    """A patch for ``run``: the targets that predictions are compared with, in order."""
    original = functional.mse_loss

    def recording(input: torch.Tensor, target: torch.Tensor, *rest: Any, **keywords: Any) -> Any:
        targets.append(float(target.detach().reshape(-1)[0]))
        return original(input, target, *rest, **keywords)

    return (functional, "mse_loss", recording)
