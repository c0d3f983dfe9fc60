"""What differs between two versions, found before anything runs: from files and metadata alone."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlregress.frameworks.base import Adapter
from rlregress.model.code import WORDING, Changed
from rlregress.model.differences import GONE
from rlregress.source import below
from rlregress.tracing import child_processes
from rlregress.upgrade import (
    affected,
    changed_functions,
    closures,
    distribution_metadata,
    installed,
    interpreters,
    package_users,
    public_names,
    requirements,
    training_selection,
    working_tree,
)
from rlregress.upgrade.closures import Distributions
from rlregress.upgrade.public_names import PublicChange
from rlregress.upgrade.requirements import RequirementChange
from rlregress.upgrade.resolved import Pair
from rlregress.upgrade.side_environments import Prepared

#: compiled code.
COMPILED = frozenset({".so", ".pyd", ".dylib"})


@dataclass(frozen=True, kw_only=True)
class Package:
    """An importable package, or a module, where the two versions have it.

    Attributes:
        old, new: its folder, or its file; None: that version has none.
    """

    name: str
    old: Path | None
    new: Path | None


@dataclass(frozen=True, kw_only=True)
class OtherFile:
    """A file that differs and has no piece of code that does.

    Attributes:
        how: "changed", "added" or "removed".
        without_effect: why it can have no effect; empty: it may have one.
        content: a digest of both versions.
    """

    file: str
    how: str
    without_effect: str = ""
    content: str = ""


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """Everything that differs.

    Attributes:
        packages: whose files were compared.
        pieces: of code; files: the other ones.
        public: names and signatures of these packages.
        requirements: what their distributions declare.
        versions: name -> versions on both sides of every other distribution; "" where it is not.
        lost: distributions that the new version no longer installs: those that its packages
            required, then what only these required.
        needed: distributions that the packages no longer require -> the public functions of the new
            version that use them.
        installed: name -> version of everything on the new side, "python" included.
        extras: of distributions that the user asked for.
        parts: top folder, or file, of a package -> its distribution, of those that were pinned.
        unrelated: of ``versions``, what neither requires a framework or what one stands on, nor is
            required by one.
        users: folders and files of other distributions that require what was compared, in the old
            version.
    """

    packages: tuple[Package, ...] = ()
    pieces: tuple[Changed, ...] = ()
    files: tuple[OtherFile, ...] = ()
    public: tuple[PublicChange, ...] = ()
    requirements: tuple[RequirementChange, ...] = ()
    versions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    needed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unrelated: frozenset[str] = frozenset()
    installed: Mapping[str, str] = field(default_factory=dict)
    extras: frozenset[str] = frozenset()
    parts: Mapping[str, str] = field(default_factory=dict)
    users: tuple[str, ...] = ()

    @property
    def broken(self) -> set[str]:
        """Public names that are gone or incompatible."""
        return {change.name for change in self.public if change.breaks}

    @property
    def summary(self) -> str:
        """In words, how much differs."""
        wording = sum(piece.how == WORDING for piece in self.pieces)
        return (
            f"differences found in the files and metadata of both versions: {len(self.pieces)} "
            f"pieces of code ({wording} in wording only), {len(self.files)} other files, "
            f"{len(self.public)} public names, {len(self.requirements)} requirements, "
            f"{len(self.versions)} other packages"
        )

    def others(self, modules: Collection[str]) -> list[str]:
        """Packages that differ beside some modules."""
        return [p.name for p in self.packages if p.name not in modules and p.old != p.new]

    def folders(self, side: str) -> list[str]:
        """Of the packages on side "old" or "new"."""
        return [str(f) for package in self.packages if (f := getattr(package, side)) is not None]


def inventory(pair: Pair, a: Prepared, b: Prepared, until: float | None = None) -> Inventory:
    """Compare the files and the metadata of both sides.

    Code is compared of the packages that were to move; of everything else the version.

    Args:
        until: the time at which the comparison of public names ends.

    Raises:
        OutOfTime: the time of the command was over before the code was compared.
    """
    there = closures.on_path(a.side), closures.on_path(b.side)
    own = {
        name: [_modules(side[name]) if name in side else {} for side in there]
        for name in pair.pinned
    }
    packages = _packages(pair, a, b, own)
    moved = [package for package in packages if package.old != package.new]
    folders = [[str(f) for p in moved if (f := getattr(p, side))] for side in ("old", "new")]
    pieces = changed_functions.find_changed(*folders)
    public: list[PublicChange] = []
    for line in moved:
        # scripts, and what only one version has, offer no names to compare
        places = [f for f in (line.old, line.new) if f and (f / "__init__.py").is_file()]
        concerned = [p for p in pieces if line.new and p.file.startswith(f"{line.new.name}/")]
        if line.old and line.new and len(places) == 2 and public_names.can_differ(concerned):
            try:
                public += public_names.changes(line.old, line.new, until)
            except child_processes.OutOfTime:
                why = child_processes.note_cut(f"public names of {line.name}")
                public.append(public_names.not_compared(line.name, why))
    names = _distributions(pair, moved, own)
    files = _other_files(folders[0], folders[1], {piece.file for piece in pieces})
    declared: list[RequirementChange] = []
    if not _same_project(a, b):
        for name in sorted(names):
            sides = zip((a, b), there, strict=True)
            old, new = (_declared(side, name, names[name], of) for side, of in sides)
            if old is not None and new is not None:
                declared += requirements.changes(old, new)
    differing = {
        file.partition("/")[0] for file in [x.file for x in pieces] + [x.file for x in files]
    }
    compared = {
        name
        for name, modules in names.items()
        if _is_compared(name, modules, there, moved, differing)
    }
    versions = _versions(a, b, there, compared)
    # of what is not installed nothing is a user
    required = names.keys() & there[0].keys()
    return Inventory(
        packages=tuple(packages),
        pieces=tuple(pieces),
        files=tuple(files),
        public=tuple(public),
        requirements=tuple(declared),
        versions=versions,
        lost=tuple(n for n in (*b.hidden, *b.hidden_below) if n in versions),
        needed=_needed([*_undeclared(declared), *b.hidden], there[0], folders[1]),
        unrelated=frozenset(affected.unrelated(versions, there)),
        installed={
            "python": interpreters.python_of(b.side),
            **{
                name: installed.public(distribution_metadata.version_of(d))
                for name, d in there[1].items()
                if name not in (*b.hidden, *b.hidden_below)
            },
        },
        parts={
            path.name: name for name, sides in own.items() for of in sides for path in of.values()
        },
        users=tuple(
            str(place)
            for name, distribution in there[0].items()
            if required and closures.requirements_of([name], there[0]).keys() & required - {name}
            for place in _modules(distribution).values()
        ),
        extras=frozenset(
            str(canonicalize_name(extra))
            for side in (a, b)
            for row in side.requested.requirements
            for extra in Requirement(row).extras
        ),
    )


# -- where packages are ----------------------------------------------------------------------------


#: distribution -> dotted name -> folder or file, of either side.
_Own = Mapping[str, Sequence[Mapping[str, Path]]]


def _packages(pair: Pair, a: Prepared, b: Prepared, own: _Own) -> list[Package]:
    names = {m for adapter in pair.adapters for m in adapter.framework.modules if m != "torch"}
    names |= {str(name) for name in pair.imports.get("trees", ())}
    # one that does not say what belongs to it may be called as its package is
    names |= {name.replace("-", "_") for name, sides in own.items() if not all(sides)}
    names |= {module for sides in own.values() for side in sides for module in side}
    known: list[dict[str, Path]] = [{}, {}]
    for sides in own.values():
        for every, of in zip(known, sides, strict=True):
            every.update(of)
    packages = [
        # a folder in front of the path wins over what is installed
        Package(name=n, old=place(a, n) or known[0].get(n), new=place(b, n) or known[1].get(n))
        for n in sorted(names)
    ]
    for adapter in pair.adapters:
        if adapter.framework.checkout:
            old, new = (_of_checkout(side, adapter) for side in (a, b))
            packages += [
                Package(name=n, old=old.get(n), new=new.get(n)) for n in sorted({*old, *new})
            ]
    return [package for package in packages if package.old is not None or package.new is not None]


def _of_checkout(side: Prepared, adapter: Adapter) -> dict[str, Path]:
    """Folders of the scripts of a framework, by name."""
    root = side.side.variables.get(adapter.framework.checkout)
    if root:
        return {f.name: f for f in Path(root).glob(f"{adapter.name}*") if f.is_dir()}
    return {Path(folder).name: Path(folder) for folder in adapter.code.folders()}


def place(side: Prepared, module: str) -> Path | None:
    """The folder of a package, or the file of a module; nothing is imported."""
    for root in _roots(side):
        place = root.joinpath(*module.split("."))
        for path in (place, place.with_name(f"{place.name}.py")):
            if path.is_file() or (path / "__init__.py").is_file():
                return path
    # to find one below another, that one would be imported
    if side.side.python == sys.executable and "." not in module:
        spec = importlib.util.find_spec(module)
        places = list(spec.submodule_search_locations or ()) if spec else []
        if places:
            return Path(places[0])
        if spec is not None and spec.origin and spec.origin.endswith(".py"):
            return Path(spec.origin)
    return None


def _roots(side: Prepared) -> list[Path]:
    """Folders in which packages lie, those that come first in front."""
    roots = [Path(path) for path in side.side.paths]
    if side.side.python != sys.executable:
        environment = Path(side.side.python).parent.parent
        roots += sorted(environment.glob("lib*/python*/site-packages"))
    return roots


def _modules(distribution: importlib.metadata.Distribution) -> dict[str, Path]:
    """Dotted names and places of a distribution's highest packages, and of modules in none."""
    files = [
        path
        for path in map(PurePosixPath, distribution.files or ())
        if path.suffix in (".py", *COMPILED) and ".." not in path.parts
    ]
    packages = {path.parent for path in files if path.name.partition(".")[0] == "__init__"}
    found = {}
    for path in files:
        place = next((parent for parent in reversed(path.parents) if parent in packages), path)
        parts = [*place.parts[:-1], place.name.partition(".")[0] if place == path else place.name]
        there = Path(str(distribution.locate_file(place)))
        if all(map(str.isidentifier, parts)) and not parts[0].startswith("__") and there.exists():
            found[".".join(parts)] = there
    return found


# -- metadata --------------------------------------------------------------------------------------


def _distributions(pair: Pair, moved: Iterable[Package], own: _Own) -> dict[str, set[str]]:
    """Canonical names of the distributions whose code is to be compared -> its packages."""
    packages = {
        m: p
        for x in pair.adapters
        for m, p in zip(x.framework.modules, x.framework.packages, strict=False)
    }
    names = {name: {m for side in sides for m in side} for name, sides in own.items()}
    for row in moved:
        name = str(canonicalize_name(packages.get(row.name, row.name)))
        names.setdefault(name, set()).add(row.name)
    return names


def _is_compared(
    name: str,
    modules: Collection[str],
    there: Sequence[Distributions],
    moved: Sequence[Package],
    differing: Collection[str],
) -> bool:
    """Whether the code of a distribution was found wherever it is, and files of it differ.

    Any other one has to be listed by its version.

    Args:
        differing: folders and files of packages in which something differs.
    """
    named = Counter(path.name for row in moved if (path := row.new or row.old))
    places = [(row.old, row.new) for row in moved if row.name in modules]
    found = [{place.name for place in side if place} for side in zip(*places, strict=True)]
    return len(found) == 2 and all(
        # of two packages of one name the files cannot be told apart
        name not in of
        or (here & set(differing) and max(named[file_path] for file_path in here) == 1)
        for of, here in zip(there, found, strict=True)
    )


def _undeclared(declared: Iterable[RequirementChange]) -> list[str]:
    """What a plain installation of the new version no longer brings."""
    return [row.package for row in declared if row.summary.startswith(GONE)]


def _needed(
    names: Iterable[str], there: Distributions, folders: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    needed = {}
    for name in names:
        modules = {m.partition(".")[0] for m in _modules(there[name])} if name in there else set()
        users = [u for f in folders for u in package_users.functions_using(modules, Path(f))]
        if users:
            needed[name] = tuple(users)
    return needed


def _declared(
    side: Prepared, name: str, modules: Collection[str], there: Distributions
) -> requirements.Declared | None:
    """What a distribution declares on a side; a working tree what its files do."""
    tree = side.requested.tree
    root = working_tree.root_of(sorted(modules), tree) if tree is not None else None
    if tree is not None and root is not None:
        project = working_tree.project_of(tree, root)
        return None if project is None else requirements.declared_by_tree(project)
    return requirements.declared(there[name]) if name in there else None


def _same_project(a: Prepared, b: Prepared) -> bool:
    """Whether both sides are working trees that declare the same, or both declare nothing."""
    trees = [side.requested.tree for side in (a, b)]
    files = [
        [
            path.read_bytes() if (path := tree / name).is_file() else b""
            for name in working_tree.PROJECT
        ]
        for tree in trees
        if tree is not None
    ]
    return len(files) == 2 and files[0] == files[1]


def _versions(
    a: Prepared, b: Prepared, there: tuple[Distributions, Distributions], compared: set[str]
) -> dict[str, tuple[str, str]]:
    one, other = (
        {
            name: distribution_metadata.version_of(distribution)
            for name, distribution in of.items()
            if name not in (*side.hidden, *side.hidden_below)
        }
        for side, of in zip((a, b), there, strict=True)
    )
    names = (set(one) | set(other)) - compared - {"rlregress"}
    pairs = {name: (one.get(name, ""), other.get(name, "")) for name in sorted(names)}
    return {name: versions for name, versions in pairs.items() if versions[0] != versions[1]}


# -- files that are not code -----------------------------------------------------------------------


def _other_files(old: Sequence[str], new: Sequence[str], with_pieces: set[str]) -> list[OtherFile]:
    """Files that differ, without those that have a piece of code that does."""
    one, other = _all_files(old), _all_files(new)
    found = []
    for file in sorted(set(one) | set(other)):
        if file in with_pieces:
            continue
        texts = [side[file].read_bytes() if file in side else b"" for side in (one, other)]
        if texts[0] == texts[1] and (file in one) == (file in other):
            continue
        how = (
            "changed" if file in one and file in other else "added" if file in other else "removed"
        )
        found.append(
            OtherFile(
                file=file,
                how=how,
                without_effect=_harmless(file, texts),
                content=" ".join(hashlib.sha256(text).hexdigest() for text in texts),
            )
        )
    return found


def _all_files(folders: Sequence[str]) -> dict[str, Path]:
    files = {}
    for folder in map(Path, folders):
        for path in below(folder):
            files[str(path.relative_to(folder.parent))] = path
    return files


def _harmless(file: str, texts: Sequence[bytes]) -> str:
    """Why a file that differs can have no effect; empty: it may have one."""
    if Path(file).suffix == ".py":
        return "comments or formatting only, or no statement"
    return training_selection.without_effect(file, texts)
