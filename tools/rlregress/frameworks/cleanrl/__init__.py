"""CleanRL (https://docs.cleanrl.dev): scripts, each an algorithm in one file.

The scripts are not a library. They are read from a user's checkout or from an installed
distribution, and probed by running one of them (``running``), to its end or to its first step.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter, Framework
from rlregress.frameworks.cleanrl.script_sources import (
    VARIABLE,
    Source,
    find_source,
    list_distinct_sources,
)
from rlregress.frameworks.framework_code import Code
from rlregress.model.extra_packages import explain_installation
from rlregress.probing import installed_metadata

#: PPO, SAC and TD3 for continuous actions.
FRAMEWORK = Framework(
    title="CleanRL",
    packages=("cleanrl", "torch"),
    algorithms=("ppo", "sac", "td3"),
    behavior_only=("dqn", "ddpg"),
    scopes=("script",),
    logged=("rlregress.frameworks.cleanrl.running:Writer.add_scalar",),
    checkout=VARIABLE,
)


def _list_copies_trainable_first() -> list[Source]:
    """Return all copies, those that can be trained first."""
    return sorted(list_distinct_sources(), key=lambda copy: copy.for_gym)


class CleanRL(Adapter):
    """The adapter of one copy of CleanRL's scripts, which all its functions get as ``source``.

    Args:
        source: the copy; None: at each use, the first one that is found.
    """

    def __init__(self, source: Source | None = None) -> None:
        super().__init__("cleanrl", __name__, FRAMEWORK)
        self._bound = source
        self.label = "" if source is None else source.label

    @property
    def _source(self) -> Source:
        """The copy of the scripts that is used: by default the first that can be trained."""
        if self._bound is not None:
            return self._bound
        copies = _list_copies_trainable_first()
        return copies[0] if copies else find_source()

    @property
    def framework(self) -> Framework:
        """The description; without algorithms if the scripts are for gym and cannot be trained."""
        try:
            for_gym = self._source.for_gym
        except UserError:
            return FRAMEWORK
        return replace(FRAMEWORK, algorithms=(), behavior_only=()) if for_gym else FRAMEWORK

    @property
    def code(self) -> Code:
        """The location of this copy of the scripts."""
        return ScriptCode(self)

    def list_copy_labels(self) -> Sequence[str]:
        """Return labels of all copies: "HEAD" of a checkout, the version of a distribution."""
        return [copy.label for copy in _list_copies_trainable_first()]

    def get_adapter_of_copy(self, label: str) -> CleanRL:
        """Return the adapter of one copy; UserError if there is none of that label."""
        return CleanRL(find_source(label))

    def _make_kind(self, kind: Any, **arguments: Any) -> Any:
        return super()._make_kind(kind, source=self._source, **arguments)


class ScriptCode(Code):
    """A copy of the scripts."""

    def __init__(self, adapter: CleanRL) -> None:
        super().__init__(FRAMEWORK, adapter.name)
        self._adapter = adapter

    @property
    def _source(self) -> Source:
        return self._adapter._source

    def map_package_versions(self) -> Mapping[str, str]:
        """Return versions of the scripts and of torch."""
        versions = {"cleanrl": self._source.version}
        try:
            versions.update(installed_metadata.map_installed_versions(("torch",)))
        except importlib.metadata.PackageNotFoundError:
            raise UserError(f"CleanRL cannot be tested: {explain_installation('torch')}") from None
        return versions

    def digest_unpackaged_sources(self) -> Mapping[str, str]:
        """Return digests of the scripts that are trained, and of modules in their checkout."""
        trained = FRAMEWORK.algorithms
        return self._source.digest_scripts(f"{name}_continuous_action" for name in trained)

    def find_installed_path(self, file: str) -> Path | None:
        """Return the path of a file of this copy, given below its root."""
        path = self._source.root / file
        return path if path.is_file() else None

    def is_checkout_of_framework(self, folder: Path) -> bool:
        """Return whether the folder holds the scripts."""
        return (folder / "cleanrl" / "ppo_continuous_action.py").is_file()

    def list_code_folders(self) -> Sequence[str]:
        """Return the folders of the scripts, and of modules that they import beside them."""
        return [str(folder) for folder in self._source.root.glob("cleanrl*") if folder.is_dir()]

    def copy_package_to_change(self, file: str, folder: Path) -> Mapping[str, str]:
        """Copy the scripts, and the modules beside them that they need, into ``folder``."""
        return {VARIABLE: str(self._source.copy_as_links_into(folder))}


ADAPTER = CleanRL()
