"""CleanRL (https://docs.cleanrl.dev): scripts, each an algorithm in one file.

The scripts are not a library. They are read from a user's checkout or from an installed
distribution, and asked by running their own statements (``slices``), their own classes, or all of
one script (``running``).
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.frameworks.cleanrl.script_sources import VARIABLE, Source, all_sources, find_source
from rlregress.model.extra_packages import not_installed
from rlregress.probing import installed_metadata
from rlregress.probing.interface import PLAIN, Probe, TrainingVariant, Unsupported

ALGORITHMS = ("ppo", "sac", "td3")
WITHOUT_CELLS = ("dqn", "ddpg")


class CleanRL(Adapter):
    """CleanRL: PPO, SAC and TD3 for continuous actions, of one copy of the scripts.

    Args:
        source: the copy; without it the first one that is found whenever it is asked for.
    """

    name = "cleanrl"
    title = "CleanRL"
    packages = ("cleanrl", "torch")
    scopes = ("script",)
    logged = ("rlregress.frameworks.cleanrl.running:Writer.add_scalar",)
    checkout = VARIABLE
    no_resume_reason = (
        "a script is one program, and nothing from outside can set its variables amid it"
    )

    def __init__(self, source: Source | None = None) -> None:
        self._bound = source
        self.label = "" if source is None else source.label

    @property
    def source(self) -> Source:
        """The copy of the scripts that is asked: one that can be trained if none was chosen."""
        if self._bound is not None:
            return self._bound
        copies = all_sources()
        can_be_trained = (copy for copy in copies if not copy.for_gym)
        return next(can_be_trained, copies[0]) if copies else find_source()

    @property
    def algorithms(self) -> tuple[str, ...]:  # type: ignore[override]
        """What can be trained: nothing of scripts that were written for gym."""
        try:
            return () if self.source.for_gym else ALGORITHMS
        except UserError:
            return ALGORITHMS

    @property
    def behavior_only(self) -> tuple[str, ...]:  # type: ignore[override]
        """As ``algorithms``: nothing of scripts that were written for gym."""
        return WITHOUT_CELLS if self.algorithms else ()

    def available(self) -> Sequence[str]:
        """Labels of all copies: "HEAD" of a checkout, the version of a distribution."""
        return [copy.label for copy in all_sources()]

    def at(self, label: str) -> CleanRL:
        """The adapter of one copy; UserError if there is none of that label."""
        return CleanRL(find_source(label))

    def versions(self) -> Mapping[str, str]:
        """Versions of the scripts and of torch."""
        versions = {"cleanrl": self.source.version}
        try:
            versions.update(installed_metadata.versions(("torch",)))
        except importlib.metadata.PackageNotFoundError:
            raise UserError(f"CleanRL cannot be tested: {not_installed('torch')}") from None
        return versions

    def probes(self) -> Mapping[tuple[str, str], Probe]:
        """The probes by (detail id, scope), of this copy of the scripts."""
        return self._sibling("probes").bound_to(self.source)

    def absent(self) -> Mapping[str, str]:
        """What this copy of the scripts does not have, or cannot be asked."""
        return self._sibling("probes").absent(self.source)

    def defaults(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """Defaults of the command lines of this copy of the scripts."""
        return self._sibling("defaults").values(self.source)

    def applied(self, algorithm: str, hyperparameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Hyperparameters of this copy's script with a set on its command line."""
        return self._sibling("defaults").applied(algorithm, hyperparameters, self.source)

    def parameter_names(self) -> Mapping[tuple[str, str], Mapping[str, str]]:
        """Flags of this copy of the scripts."""
        return self._sibling("defaults").names(self.source)

    def digests(self) -> Mapping[str, str]:
        """Digests of the scripts that are trained and of what they import from their checkout."""
        return self.source.digests(f"{name}_continuous_action" for name in ALGORITHMS)

    def locate(self, file: str) -> Path | None:
        """Where a file of this copy is, given below its root."""
        path = self.source.root / file
        return path if path.is_file() else None

    def is_checkout(self, folder: Path) -> bool:
        """Whether the folder holds the scripts."""
        return (folder / "cleanrl" / "ppo_continuous_action.py").is_file()

    def code_folders(self) -> Sequence[str]:
        """The folders of the scripts, and of what they import beside them."""
        return [str(folder) for folder in self.source.root.glob("cleanrl*") if folder.is_dir()]

    def copy_to_change(self, file: str, folder: Path) -> Mapping[str, str]:
        """Lay a copy of the scripts, and of what they need beside them, into ``folder``."""
        return {VARIABLE: str(self.source.copy_into(folder))}

    def train(self, request: Any) -> Any:
        """Train with the script's own loop."""
        return self._sibling("training").train(request, self.source)

    def train_seeded(self, request: Any) -> Any:
        """Train with the loop of ``dqn.py``, ``dqn_atari.py`` or ``ddpg_continuous_action.py``."""
        return self._sibling("seeded").train_seeded(request, self.source)

    def train_and_resume(self, request: Any, restored: bool = False) -> Any:
        """A script is started once and trains to its end."""
        raise Unsupported("a script trains once, from the beginning to its end")

    def trace_trainings(self) -> Mapping[str, Any]:
        """Built-in trainings for traces with this copy's scripts, by title."""
        return (
            {} if self.source.for_gym else self._sibling("builtin_trainings").trainings(self.source)
        )

    def saved_files(self) -> Mapping[str, Any]:
        """What the scripts of this copy save; nothing of scripts that were written for gym."""
        return {} if self.source.for_gym else self._sibling("saved_weights").savings(self.source)

    def transitions(self, request: Any, environments: int = 1) -> Any:
        """Train with the script's own loop and return what it stored."""
        return self._sibling("collection").transitions(request, environments, self.source)

    def minibatches(
        self, request: Any, environments: int = 1, around: TrainingVariant = PLAIN
    ) -> Any:
        """Train with the script's own loop and return the minibatches that its updates read."""
        return self._sibling("minibatches").minibatches(request, environments, self.source, around)

    def running_statistics(self, request: Any, environments: int = 1) -> Any:
        """A script ends with its training, and evaluates what it has saved in one of its own."""
        raise Unsupported("of a script's normalisation only details are asked")

    def play_atari(self, make_env: Any) -> Any:
        """A game of ``make_env`` through what the Atari script puts around it."""
        return self._sibling("probes.atari").player(make_env, self.source)


ADAPTER = CleanRL()
