"""Changes in the declarations of distributions: requirements, Python, extras, entry points.

What cannot be read is a change of the kind "unread".
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from rlregress.model.differences import GONE
from rlregress.upgrade.versions.declarations import ENTRY_POINTS, EXTRAS, PYTHON, REQUIRES, Declared
from rlregress.upgrade.versions.distribution_metadata import applies_here


@dataclass(frozen=True, kw_only=True)
class RequirementChange:
    """One difference between the declarations of two versions.

    Attributes:
        kind: "requirement", "python", "extra", "entry point" or "unread".
        package: the required one, or the name of the extra or entry point.
        old, new: as declared; empty: not declared.
        summary: one sentence.
        extra: the one that requires the package; empty: it is always required.
    """

    kind: str
    package: str
    old: str
    new: str
    summary: str
    extra: str = ""


def list_requirement_changes(old: Declared, new: Declared) -> list[RequirementChange]:
    """Return everything that differs between two declarations for this interpreter."""
    unread = {**old.unread, **new.unread}
    rows = [
        RequirementChange(
            kind="unread", package=name, old=old.unread.get(name, ""), new=new.unread.get(name, ""),
            summary=f"its declaration of {name} was not read: {why}",
        )
        for name, why in unread.items()
    ]  # fmt: skip
    extras = old.extras & new.extras
    was, now = (_list_declarations(version, extras, unread) for version in (old, new))
    for kind, extra, name in sorted(was.keys() | now.keys()):
        declared_values = [version.get((kind, extra, name), "") for version in (was, now)]
        # packaging treats two spellings of one requirement as equal
        if declared_values[0] == declared_values[1]:
            continue
        before, after = map(str, declared_values)
        sentence = f"extra {extra}: " if extra else ""
        sentence += _describe_change(kind, name, before, after)
        homes = [own for own in sorted(new.extras) if name in _list_requirements(new, own)]
        if kind == "requirement" and homes and not after:
            sentence += f" (an extra now: {', '.join(homes)})"
        rows.append(
            RequirementChange(
                kind=kind, package=name, old=before, new=after, summary=sentence, extra=extra
            )
        )
    return rows


def _list_declarations(
    declared_: Declared, extras: Collection[str], unread_fields: Collection[str]
) -> dict[tuple[str, str, str], str | Requirement | SpecifierSet]:
    """Return (kind, extra, name) -> declaration, without fields that were not read."""
    declarations: dict[tuple[str, str, str], str | Requirement | SpecifierSet] = {}
    if not {REQUIRES, EXTRAS} & {*unread_fields}:
        for extra in ("", *extras):
            for name, row in _list_requirements(declared_, extra).items():
                declarations["requirement", extra, name] = row
    if PYTHON not in unread_fields and declared_.requires_python:
        declarations["python", "", "python"] = declared_.requires_python
    if EXTRAS not in unread_fields:
        declarations |= {("extra", "", name): name for name in declared_.extras}
    if ENTRY_POINTS not in unread_fields:
        declarations |= {
            ("entry point", "", name): to for name, to in declared_.entry_points.items()
        }
    return declarations


def _list_requirements(declared_: Declared, extra: str) -> dict[str, Requirement]:
    """Return name -> requirement that applies here: without extras, or added by one extra."""
    required: dict[str, Requirement] = {}
    for row in declared_.requires:
        if not applies_here(row, extra) or (extra and applies_here(row, "")):
            continue
        merged = Requirement(str(row))
        merged.name, merged.marker = str(canonicalize_name(row.name)), None
        if (before := required.get(merged.name)) is not None:
            # two rows for one distribution both apply
            merged.specifier &= before.specifier
            merged.extras |= before.extras
            urls = {part.url for part in (before, merged) if part.url}
            if urls:
                # a requirement has a URL or versions, not both: the URL then holds the versions
                merged.url = ",".join(sorted(urls) + sorted(map(str, merged.specifier)))
                merged.specifier = SpecifierSet()
        required[merged.name] = merged
    return required


def _describe_change(kind: str, name: str, old: str, new: str) -> str:
    if kind == "python":
        return f"python {new or 'any version'} (was {old or 'any version'})"
    if kind == "requirement":
        if not new:
            return f"{GONE}: {name}"
        return f"needs {new} (was {old})" if old else f"newly installed: {new}"
    if not (old and new):
        return f"{kind} {name} is {'new' if new else 'gone'}"
    return f"{kind} {name} points at {new} (was {old})"
