"""What an upgrade concerns: which frameworks, and whether physics can move."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.utils import canonicalize_name

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.upgrade.wanted import Wanted

#: packages that can change what an environment answers.
PHYSICS = frozenset({"gymnasium", "mujoco", "numpy"})
#: packages that every framework stands on.
_BELOW = PHYSICS | {"torch"}


def _has(adapter: Adapter, wanted: Wanted) -> bool:
    if wanted.tree is not None:
        if adapter.checkout:
            return adapter.is_checkout(wanted.tree)
        roots = (wanted.tree, wanted.tree / "src")
        return any((root / m / "__init__.py").is_file() for root in roots for m in adapter.modules)
    own = {canonicalize_name(p) for p in adapter.packages if p != "torch"} | {
        canonicalize_name(m) for m in adapter.modules
    }
    return bool(own & wanted.packages)


def adapters(sides: Sequence[Wanted], named: Sequence[str] = ()) -> list[Adapter]:
    """The frameworks that an upgrade is about: those of its packages, or all that are installed.

    Raises:
        UserError: none of the packages is a framework or below one.
    """
    if named:
        return [frameworks.get(name) for name in named]
    known = [frameworks.get(name) for name in frameworks.names()]
    concerned = [a for a in known if any(_has(a, side) for side in sides)]
    if concerned:
        return concerned
    packages = {package for side in sides for package in side.packages}
    if packages & _BELOW:
        return frameworks.installed()
    raise UserError(
        f"'{' '.join(sorted(packages)) or sides[0].text}' concerns no framework known here; "
        f"expected one of {', '.join(a.packages[0] for a in known)}, or name it with --framework"
    )


def physics(a: Wanted, b: Wanted) -> bool:
    """Whether a package that can change environments is pinned on a side."""
    return bool((a.packages | b.packages) & PHYSICS)
