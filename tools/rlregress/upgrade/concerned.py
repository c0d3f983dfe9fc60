"""What an upgrade concerns: which frameworks, and whether physics can move."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.upgrade import environments, interpreters, needs
from rlregress.upgrade.wanted import Wanted

#: packages that can change what an environment answers.
PHYSICS = frozenset({"gymnasium", "mujoco", "numpy"})
#: packages that every framework stands on.
_BELOW = PHYSICS | {"torch"}


def _pins(side: Wanted) -> dict[str, str]:
    return {str(canonicalize_name(Requirement(row).name)): row for row in side.requirements}


def changed(a: Wanted, b: Wanted) -> frozenset[str]:
    """Packages that are pinned otherwise on the two sides.

    All that are pinned if none is, except of two lock files. What a side does not pin is on it as
    it is installed.
    """
    one, other = _pins(a), _pins(b)
    names = frozenset(one) | frozenset(other)
    if any(side.tree or side.environment for side in (a, b)):
        return names

    def pin(pins: dict[str, str], name: str) -> str:
        (here,) = needs.current([name]) or [""]
        row = pins.get(name, here)
        return here if row and here and needs.installed(row) else row

    found = frozenset(name for name in names if pin(one, name) != pin(other, name))
    return found if found or (a.lock and b.lock) else names


def _own(adapter: Adapter) -> set[str]:
    named = {*adapter.packages, *adapter.modules} - {"torch"}
    return {str(canonicalize_name(name)) for name in named}


def _has(adapter: Adapter, side: Wanted) -> bool:
    if side.tree is not None:
        if adapter.checkout:
            return adapter.is_checkout(side.tree)
        return environments.root_of(adapter, side.tree) is not None
    if side.environment is not None:
        python = side.environment / "bin" / "python"
        there = interpreters.distributions(str(python)) if python.exists() else {}
        return str(canonicalize_name(adapter.packages[0])) in there
    return False


def adapters(
    sides: Sequence[Wanted], named: Sequence[str] = (), script: bool = False
) -> list[Adapter]:
    """The frameworks that an upgrade is about: those of its packages, or all that are installed.

    None where two lock files differ in nothing that a framework stands on.

    Args:
        script: a script is traced: only its packages count, and they may be none of a framework.

    Raises:
        UserError: none of the packages is a framework or below one.
    """
    if named:
        return [frameworks.get(name) for name in named]
    a, b = sides
    moved = changed(a, b)
    known = [frameworks.get(name) for name in frameworks.names()]
    concerned = [
        adapter
        for adapter in known
        if _own(adapter) & moved or any(_has(adapter, side) for side in sides)
    ]
    same = not moved and not any(side.tree or side.environment for side in sides)
    if script and not same:
        return concerned
    if moved & _BELOW:
        pinned = [adapter for adapter in known if _own(adapter) & (a.packages | b.packages)]
        return pinned or frameworks.installed()
    if concerned or (a.lock and b.lock):
        return concerned
    if same:
        raise UserError(
            "both sides are what is installed; expected another version on one side, such as "
            f"--from {known[0].packages[0]}==<version>"
        )
    raise UserError(
        f"'{' '.join(sorted(moved)) or sides[0].text}' concerns no framework known here; "
        f"expected one of {', '.join(x.packages[0] for x in known)}; name it with "
        "--framework, or a script that uses it with --script"
    )


def traced(a: Wanted, b: Wanted) -> dict[str, list[str]]:
    """What differs of what a script imports: ``distributions``, and packages in ``trees``."""
    folders = [side.tree for side in (a, b) if side.tree is not None]
    roots = [root for tree in folders for root in environments.roots(tree)]
    found = {module for root in roots for module in environments.modules(root)}
    return {"distributions": sorted(changed(a, b) - _BELOW), "trees": sorted(found)}


def physics(a: Wanted, b: Wanted) -> bool:
    """Whether a package that can change environments is pinned otherwise on the two sides."""
    return bool(changed(a, b) & PHYSICS)
