"""CleanRL (https://docs.cleanrl.dev): scripts, each an algorithm in one file.

The scripts are not a library. They are read from a user's checkout or from an installed
distribution, and asked by running their own statements (``slices``), their own classes, or all of
one script (``running``).
"""

from __future__ import annotations

import importlib.metadata
from typing import Any, Mapping, Optional, Sequence, Tuple

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter, Probe
from rlregress.frameworks.cleanrl.sources import Source, source, sources


class CleanRL(Adapter):
    """CleanRL: PPO, SAC and TD3 for continuous actions, of one copy of the scripts.

    Args:
        source: the copy; without it the first one that is found whenever it is asked for.
    """

    name = "cleanrl"
    title = "CleanRL"
    packages = ("cleanrl", "torch")
    algorithms = ("ppo", "sac", "td3")
    scopes = ("script",)

    def __init__(self, source: Optional[Source] = None) -> None:
        self._bound = source
        self.label = "" if source is None else source.label

    @property
    def source(self) -> Source:
        """The copy of the scripts that is asked."""
        return source() if self._bound is None else self._bound

    def available(self) -> Sequence[str]:
        """Labels of all copies: "HEAD" of a checkout, the version of a distribution."""
        return [found.label for found in sources()]

    def at(self, label: str) -> CleanRL:
        """The adapter of one copy; UserError if there is none of that label."""
        return CleanRL(source(label))

    def versions(self) -> Mapping[str, str]:
        """Versions of the scripts and of torch."""
        found = {"cleanrl": self.source.version}
        try:
            found["torch"] = importlib.metadata.version("torch")
        except importlib.metadata.PackageNotFoundError:
            raise UserError(
                "CleanRL cannot be tested: the package 'torch' is not installed; "
                "install it with: pip install torch"
            ) from None
        return found

    def probes(self) -> Mapping[Tuple[str, str], Probe]:
        """The probes by (detail id, scope), of this copy of the scripts."""
        return self._beside("probes").bound_to(self.source)

    def train(self, request: Any) -> Any:
        """Train with the script's own loop."""
        return self._beside("training").train(request, self.source)

    def transitions(self, request: Any, environments: int = 1) -> Any:
        """Train with the script's own loop and return what it stored."""
        return self._beside("collection").transitions(request, environments, self.source)


ADAPTER = CleanRL()
