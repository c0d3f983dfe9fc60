"""What changed in the public names of one package between two folders, read without importing it.

Every difference that a caller can notice in names, signatures, base classes and constants is one
entry. What changed inside functions is not: their code is compared elsewhere.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import griffe

from rlregress.source import UNREADABLE, below
from rlregress.tracing import child_processes
from rlregress.upgrade import public_tree
from rlregress.upgrade.public_tree import Name, Package

_ERRORS = (griffe.GriffeError, KeyError, ValueError, AttributeError)
#: labels of a function that say how it is called, or who has to define it.
_CALLED = {"async", "staticmethod", "classmethod", "abstractmethod"}
_VARIADIC = {"variadic positional", "variadic keyword"}
#: what stands for a type where it is subscripted or called.
_TYPES = {
    *("Union", "Optional", "Callable", "Literal", "Type", "Dict", "List", "Tuple", "Set"),
    *("dict", "list", "tuple", "set", "type", "TypeVar", "ParamSpec", "NewType", "Annotated"),
    *("Sequence", "Mapping", "Iterable", "Iterator", "ClassVar", "Final", "Any"),
}


@dataclass(frozen=True, kw_only=True)
class PublicChange:
    """One difference in what a package offers.

    Attributes:
        kind: "gone", "new", "moved", "signature", "base class", "value", "kind", "deprecated" or
            "unread".
        name: the shortest dotted path that a caller writes.
        file, line: below the folder that holds the package; of the old version for what is gone.
        summary: one sentence.
        old, new: what it was and what it is; empty: not there.
        breaks: a caller written for the old version can fail or get another value. What is unread
            counts as breaking.
        incidental: a module had the name only because it used it; nobody documented the path.
    """

    kind: str
    name: str
    file: str
    line: int
    summary: str
    old: str = ""
    new: str = ""
    breaks: bool = False
    incidental: bool = False


def changes(old: Path, new: Path, until: float | None = None) -> list[PublicChange]:
    """Everything that differs in the public names of a package, what breaks a caller first.

    Args:
        old, new: folders of the package.
        until: the time at which the comparison ends; None: with that of the command.

    Raises:
        OutOfTime: they were not compared by then.
        UserError: one of the folders is no package.
    """
    if (old / "__init__.py").is_file() and _same_declarations(old, new, until):
        # most edits are of this kind, and to read a large package takes many seconds
        return []
    return between(public_tree.read(old, until), public_tree.read(new, until), until)


def not_compared(package: str, why: str) -> PublicChange:
    """Return the entry of a package whose names were not compared."""
    summary = f"the public names of {package} were not compared: {why}"
    return PublicChange(
        kind="unread", name=package, file=f"{package}/__init__.py", line=1, summary=summary,
        breaks=True,
    )  # fmt: skip


def _same_declarations(old: Path, new: Path, until: float | None) -> bool:
    """Whether nothing differs but what functions compute: names, signatures, warnings stay."""
    files, others = ({path.relative_to(f): path for path in below(f)} for f in (old, new))
    for name in files.keys() | others.keys():
        child_processes.check_time(until)
        paths = files.get(name), others.get(name)
        texts = [path.read_bytes() if path is not None else None for path in paths]
        if texts[0] == texts[1] or name.suffix not in (".py", ".so", ".pyd"):
            continue
        if name.suffix != ".py" or None in texts:
            return False
        try:
            outlines = [_outline(text) for text in texts if text is not None]
        except UNREADABLE:
            return False
        if outlines[0] != outlines[1]:
            return False
    return True


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _outline(text: bytes) -> str:
    """A file without the bodies of functions, but for those that set attributes or warn."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        # what a module's own __getattr__ computes are names
        if (
            isinstance(node, _FUNCTIONS)
            and node.name != "__getattr__"
            and not any(
                isinstance(part, ast.Attribute)
                and isinstance(part.ctx, ast.Store)
                or isinstance(part, ast.Name | ast.Attribute)
                and "warn" in ast.dump(part)
                for part in ast.walk(node)
            )
        ):
            node.body = [ast.Pass()]
    return ast.dump(tree)


def between(old: Package, new: Package, until: float | None = None) -> list[PublicChange]:
    """As ``changes``, of packages that were read."""
    found = _Comparison(old, new, until).found()
    return sorted(set(found), key=lambda c: (not c.breaks, c.kind, c.name, c.summary))


class _Comparison:
    """Compare two versions of a package."""

    def __init__(self, old: Package, new: Package, until: float | None) -> None:
        self._old = old
        self._new = new
        self._until = until
        self._changes: list[PublicChange] = []
        #: pairs of definitions that were compared, so that no alias repeats a difference.
        self._compared: set[tuple[str, str]] = set()
        #: where something was defined -> where it is defined now.
        self._renamed: dict[str, str] = {}
        #: where something has moved to.
        self._homes: set[str] = set()
        #: definitions of members that were reported as gone, where they were defined.
        self._gone: set[str] = set()

    def found(self) -> list[PublicChange]:
        self._files()
        both = self._old.names.keys() & self._new.names.keys()
        pairs: dict[
            tuple[str, str], tuple[tuple[bool, int, str], griffe.Object, griffe.Object]
        ] = {}
        for path in both:
            one, other = self._old.names[path], self._new.names[path]
            a, b = one.object, other.object
            if a is None or b is None:
                self._not_defined(path, one, other)
                continue
            rank = (not (one.explicit and other.explicit), path.count("."), path)
            key = (a.path, b.path)
            if key not in pairs or rank < pairs[key][0]:
                pairs[key] = (rank, a, b)
        moved = self._lost({a for a, _ in pairs})
        self._added({b for _, b in pairs} | {b.path for _, b in moved.values()})
        shared = [(path, a, b) for (_, _, path), a, b in pairs.values()]
        shared += [(path, a, b) for path, (a, b) in moved.items()]
        self._renamed = {a.path: b.path for _, a, b in shared}
        members: list[_Task] = []
        for path, a, b in sorted(shared, key=lambda x: (x[0].count("."), x[0])):
            self._compare(path, a, b)
            if isinstance(a, griffe.Class) and isinstance(b, griffe.Class):
                members += self._members(path, a, b)
        # what a class defines is reported there; what it inherits from a private class, here
        for _, path, was, now in sorted(members, key=lambda x: x[0]):
            self._member(path, was, now)
        return self._changes

    # -- names -------------------------------------------------------------------------------------

    def _files(self) -> None:
        """Files that were not read on a side and are not the same on both."""
        for file in sorted(self._old.unread.keys() | self._new.unread.keys()):
            paths = [side.folder.parent / file for side in (self._old, self._new)]
            contents = [path.read_bytes() if path.is_file() else None for path in paths]
            compiled = not file.endswith(".py")
            # what is compiled may be imported under a public name
            if contents[0] == contents[1] or (public_tree.is_private(file) and not compiled):
                continue
            why = self._new.unread.get(file) or self._old.unread[file]
            at = Name(object=None, explicit=True, file=file, line=1)
            self._add("unread", file, at, f"{file} was not read: {why}", True)

    def _not_defined(self, path: str, old: Name, new: Name) -> None:
        """A name that has no definition in the package on at least one side."""
        if old.why or new.why:
            same = (old.why, old.target) == (new.why, new.target)
            if not (same and self._same_source(old, new)):
                sentence = f"{path} was not read: {new.why or old.why}"
                self._add("unread", path, new, sentence, True)
        elif old.target != new.target:
            where = f"imported from {new.target}" if new.target else "defined in the package"
            was = f"imported from {old.target}" if old.target else "defined in the package"
            self._add("moved", path, new, f"{path} is {where} (was {was})")

    def _same_source(self, old: Name, new: Name) -> bool:
        """Whether what may define an unread name is the same on both sides, or compiled.

        What is compiled has an entry of its own.
        """
        parts = old.target.split(".")
        for n in range(len(parts), 0, -1):
            stem = "/".join(parts[:n])
            if any(x.startswith(f"{stem}.") for x in self._old.unread if not x.endswith(".py")):
                return True
        files = [old.file, *("/".join(parts[:n]) + ".py" for n in range(1, len(parts) + 1))]
        contents = [
            [path.read_bytes() for x in files if (path := side.folder.parent / x).is_file()]
            for side in (self._old, self._new)
        ]
        return contents[0] == contents[1]

    def _lost(self, kept: set[str]) -> dict[str, tuple[griffe.Object, griffe.Object]]:
        """Report paths that are gone; what has moved: its new path -> both definitions.

        Args:
            kept: old definitions that can still be reached by some path.
        """
        moved = {}
        new = {
            path: name.object
            for path, name in self._new.names.items()
            if name.object is not None and path not in self._old.names
        }
        for path in sorted(self._old.names.keys() - self._new.names.keys()):
            child_processes.check_time(self._until)
            name = self._old.names[path]
            if name.object is None:
                self._add("gone", path, name, f"{path} is gone", True, old=name.target)
                continue
            shortest = self._old.paths[name.object.path]
            if name.object.path in kept:
                still = self._still(name.object)
                sentence = f"{path} is gone; it is still {still}"
                self._add("moved", path, name, sentence, True, old=path, new=still)
            elif path == shortest:
                target = _same_elsewhere(name.object, new)
                if target is None:
                    kind = _kind(name.object)
                    self._add("gone", path, name, f"{kind} {path} is gone", True, old=kind)
                    continue
                home = self._new.paths[target.path]
                sentence = f"{path} has moved to {home}"
                self._add("moved", path, name, sentence, True, old=path, new=home)
                moved[home] = (name.object, target)
                self._homes.add(home)
        return moved

    def _still(self, definition: griffe.Object) -> str:
        """The shortest path by which an old definition is still reached."""
        paths = [
            (not name.explicit, path.count("."), path)
            for path, name in self._old.names.items()
            if name.object is not None
            and name.object.path == definition.path
            and path in self._new.names
        ]
        return min(paths)[2]

    def _added(self, known: set[str]) -> None:
        """Report paths that are new.

        Args:
            known: new definitions that were there before, or have moved.
        """
        for path in sorted(self._new.names.keys() - self._old.names.keys()):
            name = self._new.names[path]
            if name.object is None or not name.explicit:
                if name.why and name.explicit:
                    self._add("unread", path, name, f"{path} was not read: {name.why}", True)
                elif name.explicit:
                    self._add("new", path, name, f"{path} is new", new=name.target)
                continue
            if name.object.path in known:
                if path == self._new.paths[name.object.path] and path not in self._homes:
                    sentence = f"{path} is another path to what was there before"
                    self._add("new", path, name, sentence, new=name.target)
            elif path == self._new.paths[name.object.path]:
                kind = _kind(name.object)
                self._add("new", path, name, f"{kind} {path} is new", new=kind)

    # -- definitions -------------------------------------------------------------------------------

    def _compare(self, path: str, a: griffe.Object, b: griffe.Object) -> None:
        """Compare two definitions of one name, once."""
        child_processes.check_time(self._until)
        if (a.path, b.path) in self._compared:
            return
        self._compared.add((a.path, b.path))
        if a.name != b.name and not isinstance(a, griffe.Module) and self._is_defined(a.path):
            sentence = f"{path} stands for {b.path} (was {a.path})"
            self._change("value", path, b, sentence, a.path, b.path, True)
            return
        kinds = _kind(a), _kind(b)
        if kinds[0] != kinds[1]:
            # an attribute can be read where a property could, and be set as well
            breaks = kinds != ("property", "attribute")
            sentence = f"{path} is {_a(kinds[1])} (was {_a(kinds[0])})"
            self._change("kind", path, b, sentence, *kinds, breaks)
        elif isinstance(a, griffe.Class) and isinstance(b, griffe.Class):
            self._bases(path, a, b)
            if _is_tuple(a) and _is_tuple(b):
                self._parameters(path, _fields(a), _fields(b), b)
        elif isinstance(a, griffe.Function) and isinstance(b, griffe.Function):
            self._labels(path, a, b)
            self._parameters(path, _parameters(a), _parameters(b), b)
        elif isinstance(a, griffe.Attribute) and isinstance(b, griffe.Attribute):
            self._attribute(path, a, b)
        self._deprecations(path, a, b)

    def _is_defined(self, path: str) -> bool:
        """Whether an old definition is still where it was."""
        return path in self._new.paths or path in self._new.names

    def _bases(self, path: str, a: griffe.Class, b: griffe.Class) -> None:
        one = {self._renamed.get(base, base) for base in _ancestors(a)}
        other = _ancestors(b)
        direct = [self._renamed.get(base, base) for base in _bases(a)], _bases(b)
        # an internal base class that has moved keeps its name
        names = [{base.rpartition(".")[2] for base in side} for side in (one, other)]
        for base in direct[0]:
            internal = public_tree.is_private(base) and base.rpartition(".")[2] in names[1]
            if base not in other and not internal:
                sentence = f"{path} is no longer a subclass of {base}"
                self._change("base class", path, b, sentence, base, "", True)
        for base in direct[1]:
            internal = public_tree.is_private(base) and base.rpartition(".")[2] in names[0]
            if base not in one and not internal:
                sentence = f"{path} is a subclass of {base} now"
                self._change("base class", path, b, sentence, "", base, False)

    def _labels(self, path: str, a: griffe.Function, b: griffe.Function) -> None:
        one, other = a.labels & _CALLED, b.labels & _CALLED
        if one != other:
            words = [" ".join(sorted(labels)) or "plain" for labels in (one, other)]
            sentence = f"{path} is {words[1]} (was {words[0]})"
            # a method that need no longer be overridden can be all the same
            breaks = other != one - {"abstractmethod"}
            self._change("kind", path, b, sentence, words[0], words[1], breaks)

    def _parameters(
        self, path: str, old: Sequence[_Parameter], new: Sequence[_Parameter], b: griffe.Object
    ) -> None:
        where = _short(path, b)

        def change(
            text: str, before: _Parameter | None, after: _Parameter | None, breaks: bool
        ) -> None:
            texts = [str(p or "") for p in (before, after)]
            self._change("signature", path, b, text, texts[0], texts[1], breaks)

        one, other = ({p.name: p for p in side} for side in (old, new))
        absorbs = any(p.kind == "variadic keyword" for p in new)
        for name, p in one.items():
            if name not in other:
                still = " (**kwargs takes it now)" if absorbs and p.kind not in _VARIADIC else ""
                change(f"parameter `{name}` of {where} was removed{still}", p, None, True)
        for name, p in other.items():
            if name in one:
                continue
            if p.required:
                change(f"parameter `{name}` of {where} is new and required", None, p, True)
            else:
                change(f"parameter `{name}` of {where} is new", None, p, False)
        for name in one.keys() & other.keys():
            p, q = one[name], other[name]
            if p.kind != q.kind:
                # either way of passing it still works if both are admitted now
                breaks = q.kind != "positional or keyword"
                sentence = f"parameter `{name}` of {where} is {q.kind} (was {p.kind})"
                change(sentence, p, q, breaks)
            if p.default != q.default:
                if q.required:
                    change(f"parameter `{name}` of {where} is required now", p, q, True)
                elif p.required:
                    sentence = f"parameter `{name}` of {where} has a default now: {q.default}"
                    change(sentence, p, q, False)
                else:
                    sentence = (
                        f"the default of `{name}` of {where} is {q.default} (was {p.default})"
                    )
                    change(sentence, p, q, True)
        places = [[p.name for p in side if p.kind.startswith("positional")] for side in (old, new)]
        for number, (was, now) in enumerate(zip(*places, strict=False), 1):
            if was != now:
                sentence = f"positional argument {number} of {where} is `{now}` (was `{was}`)"
                one_, other_ = (", ".join(side) for side in places)
                self._change("signature", path, b, sentence, one_, other_, True)
                break

    def _attribute(self, path: str, a: griffe.Attribute, b: griffe.Attribute) -> None:
        if "property" in a.labels:
            if "writable" in a.labels and "writable" not in b.labels:
                sentence = f"property {path} can no longer be set"
                self._change("kind", path, b, sentence, "writable", "read-only", True)
            return
        levels = ["class" if _on_class(x) else "instance" for x in (a, b)]
        if levels[0] != levels[1]:
            sentence = f"{path} is an attribute of the {levels[1]} (was of the {levels[0]})"
            self._change("kind", path, b, sentence, levels[0], levels[1], levels[1] == "instance")
        elif levels[0] == "class":
            one, other = _value(a.value), _value(b.value)
            if one != other:
                types = _is_type(a.value) and _is_type(b.value)
                sentence = f"{'type alias ' if types else ''}{path} is {other} (was {one})"
                self._change("value", path, b, sentence, one, other, not types)

    def _deprecations(self, path: str, a: griffe.Object, b: griffe.Object) -> None:
        if isinstance(a, griffe.Function | griffe.Class) and a.source == b.source:
            return
        one, other = _warnings(a), _warnings(b)
        for message in sorted(other - one):
            self._change("deprecated", path, b, f"{path}: {message}", "", message, False)
        if one and not other:
            sentence = f"{path} no longer gives its warning: {'; '.join(sorted(one))}"
            self._change("deprecated", path, b, sentence, "; ".join(sorted(one)), "", False)

    # -- members of classes ------------------------------------------------------------------------

    def _members(self, path: str, a: griffe.Class, b: griffe.Class) -> Iterator[_Task]:
        """Members of a class on both sides; those that it defines itself rank first."""
        one, other = _members(a), _members(b)
        for name in one.keys() | other.keys():
            p, q = one.get(name), other.get(name)
            own = (p is not None and p.parent is a) or (q is not None and q.parent is b)
            yield (not own, path.count("."), f"{path}.{name}"), f"{path}.{name}", p, q

    def _member(self, path: str, old: _Member | None, after: _Member | None) -> None:
        if old is not None and after is not None:
            self._compare(path, old, after)
        elif old is not None:
            if old.path in self._gone:
                return
            owner, _, name = path.rpartition(".")
            new = self._new.names.get(owner)
            definition = new.object if new is not None else None
            if isinstance(definition, griffe.Class) and _assigns(definition, name):
                return
            self._gone.add(old.path)
            kind = _kind(old)
            outside = _outside(definition) if isinstance(definition, griffe.Class) else []
            unless = f"; {', '.join(outside)} may still define it" if outside else ""
            sentence = f"{kind} {path} is gone{unless}"
            self._change("gone", path, old, sentence, kind, "", True)
        elif after is not None:
            # a public base class has its own entry
            if ("", after.path) in self._compared or (
                after.parent is not None and self._reported_at(after.parent.path, path)
            ):
                return
            self._compared.add(("", after.path))
            kind = _kind(after)
            abstract = "abstractmethod" in after.labels
            sentence = f"{kind} {path} is new" + (", and a subclass has to define it" * abstract)
            self._change("new", path, after, sentence, "", kind, abstract)

    def _reported_at(self, owner: str, path: str) -> bool:
        home = self._new.paths.get(owner)
        return home is not None and home != path.rpartition(".")[0]

    # -- entries -----------------------------------------------------------------------------------

    def _add(
        self, kind: str, path: str, at: Name, sentence: str, breaks: bool = False,
        *, old: str = "", new: str = "",
    ) -> None:  # fmt: skip
        self._changes.append(
            PublicChange(
                kind=kind, name=path, file=at.file, line=at.line, summary=sentence, old=old,
                new=new,
                breaks=breaks, incidental=not at.explicit,
            )
        )  # fmt: skip

    def _change(
        self,
        kind: str,
        path: str,
        at: griffe.Object,
        sentence: str,
        old: str,
        new: str,
        breaks: bool,
    ) -> None:
        # a constructor that is generated has no line of its own
        above = at.parent.lineno if at.parent is not None else None
        name = Name(
            object=at, explicit=True, file=public_tree.file_of(at), line=at.lineno or above or 1
        )
        self._add(kind, path, name, sentence, breaks, old=old, new=new)


_Member = griffe.Object
#: rank, path, and what it is on both sides.
_Task = tuple[tuple[bool, int, str], str, _Member | None, _Member | None]


@dataclass(frozen=True)
class _Parameter:
    name: str
    kind: str
    default: str | None

    @property
    def required(self) -> bool:
        return self.default is None and self.kind not in _VARIADIC

    def __str__(self) -> str:
        star = {"variadic positional": "*", "variadic keyword": "**"}.get(self.kind, "")
        return f"{star}{self.name}" + ("" if self.default is None else f"={self.default}")


def _kind(of: griffe.Object) -> str:
    if isinstance(of, griffe.Attribute):
        return "property" if "property" in of.labels else "attribute"
    return of.kind.value


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _short(path: str, of: griffe.Object) -> str:
    """The name of a function, with that of its class."""
    in_class = isinstance(of.parent, griffe.Class)
    return ".".join(path.split(".")[-2 if in_class else -1 :])


# -- functions -------------------------------------------------------------------------------------


def _parameters(function: griffe.Function) -> list[_Parameter]:
    """Without the instance or class that a method is bound to."""
    parameters = [
        _Parameter(
            p.name,
            p.kind.value if p.kind else "",
            None
            if p.default is None or (p.kind and p.kind.value in _VARIADIC)
            else _value(p.default),
        )
        for p in function.parameters
    ]
    bound = isinstance(function.parent, griffe.Class) and "staticmethod" not in function.labels
    return parameters[1:] if bound else parameters


def _is_tuple(of: griffe.Class) -> bool:
    return any(base.endswith("NamedTuple") for base in _bases(of))


def _fields(of: griffe.Class) -> list[_Parameter]:
    """The fields of a named tuple: how it is made, and by which index they are read."""
    return [
        _Parameter(m.name, "positional or keyword", None if m.value is None else _value(m.value))
        for m in of.members.values()
        if isinstance(m, griffe.Attribute) and m.annotation is not None
    ]


# -- classes ---------------------------------------------------------------------------------------


def _bases(of: griffe.Class) -> list[str]:
    """The base classes as they are imported, without what stands in brackets behind them."""
    found = []
    for base in of.bases:
        value = base.left if isinstance(base, griffe.ExprSubscript) else base
        path = value if isinstance(value, str) else value.canonical_path
        with suppress(*_ERRORS):
            # of the same package: where it is defined
            path = of.modules_collection[path].path
            path = of.modules_collection[path].final_target.path
        found.append(path)
    return [base for base in found if base not in ("object", "typing.Generic")]


def _lineage(of: griffe.Class) -> list[griffe.Class]:
    """The class and what it inherits from in the package."""
    try:
        return [of, *of.mro()]
    except _ERRORS:
        return [of, *(b for b in of.resolved_bases if isinstance(b, griffe.Class))]


def _ancestors(of: griffe.Class) -> set[str]:
    return {name for ancestor in _lineage(of) for name in (ancestor.path, *_bases(ancestor))} - {
        of.path
    }


#: modules whose base classes bring no attributes of their own.
_EMPTY = ("abc", "typing", "typing_extensions", "enum", "collections")


def _outside(of: griffe.Class) -> list[str]:
    """The base classes from other packages."""
    package = of.path.partition(".")[0]
    return sorted(x for x in _ancestors(of) if x.partition(".")[0] not in (package, *_EMPTY))


def _members(of: griffe.Class) -> dict[str, _Member]:
    """Public members, own and inherited."""
    found: dict[str, _Member] = {}
    for ancestor in _lineage(of):
        for name, member in ancestor.members.items():
            special = name.startswith("__") and name.endswith("__")
            if name in found or (name.startswith("_") and not special):
                continue
            definition: griffe.Object | griffe.Alias = member
            if isinstance(member, griffe.Alias):
                try:
                    definition = member.final_target
                except _ERRORS:
                    continue
            if isinstance(definition, griffe.Attribute):
                annotated = definition.value is None and "property" not in definition.labels
                fields = _is_tuple(ancestor) or "dataclass" in ancestor.labels
                if special or annotated or (fields and definition.annotation is not None):
                    # an annotation alone is no attribute; fields are parameters of the constructor
                    continue
            if isinstance(definition, griffe.Object):
                found[name] = definition
    return found


def _assigns(of: griffe.Class, name: str) -> bool:
    """Whether some method sets an attribute of this name on the instance, or registers it."""
    for ancestor in _lineage(of):
        for node in ast.walk(_parsed(ancestor)) if name in ancestor.source else ():
            if isinstance(node, ast.Attribute) and node.attr == name:
                if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
                    return True
            elif isinstance(node, ast.Call):
                called = ast.unparse(node.func).rpartition(".")[2]
                given = [x.value for x in node.args if isinstance(x, ast.Constant)]
                if called.startswith(_SETTERS) and name in given:
                    return True
    return False


_SETTERS = ("setattr", "__setattr__", "add_module", "register_")


def _on_class(of: griffe.Attribute) -> bool:
    """Whether it is set in the body of a module or class, and not by a constructor."""
    if not isinstance(of.parent, griffe.Class):
        return True
    init = of.parent.members.get("__init__")
    within = (
        isinstance(init, griffe.Function)
        and init.lineno is not None
        and init.endlineno is not None
        and init.lineno <= (of.lineno or 0) <= init.endlineno
    )
    return of.value is not None and not within


# -- values ----------------------------------------------------------------------------------------


def _value(value: str | griffe.Expr | None, depth: int = 3) -> str:
    """The text of a value, with those of the constants in it that are not public."""
    if value is None:
        return ""
    text = str(value)
    with suppress(ValueError, SyntaxError, TypeError, MemoryError):
        return repr(ast.literal_eval(text))
    if not isinstance(value, griffe.Expr) or not depth:
        return text
    behind = {}
    for part in value.iterate(flat=True):
        if isinstance(part, griffe.ExprName) and isinstance(part.parent, griffe.Object):
            with suppress(*_ERRORS):
                constant = part.parent.modules_collection[part.canonical_path]
                if isinstance(constant, griffe.Alias):
                    constant = constant.final_target
                if isinstance(constant, griffe.Attribute) and constant.value is not None:
                    behind[part.name] = _value(constant.value, depth - 1)
    more = ", ".join(f"{name} = {x}" for name, x in sorted(behind.items()))
    return f"{text} with {more}" if more else text


def _is_type(value: str | griffe.Expr | None) -> bool:
    """Whether a value is there for annotations alone."""
    if isinstance(value, griffe.ExprBinOp):
        return value.operator == "|"
    if isinstance(value, griffe.ExprSubscript):
        return str(value.left).rpartition(".")[2] in _TYPES
    if isinstance(value, griffe.ExprCall):
        return str(value.function).rpartition(".")[2] in _TYPES
    return False


# -- code ------------------------------------------------------------------------------------------


def _parsed(of: griffe.Object) -> ast.Module:
    try:
        return ast.parse(textwrap.dedent(of.source))
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


def _same_elsewhere(lost: griffe.Object, new: Mapping[str, griffe.Object]) -> griffe.Object | None:
    """The same object at a new path: with the same code, or the only one of its name and kind."""
    found = {
        member.path: member
        for path, member in new.items()
        if member.name == lost.name and _kind(member) == _kind(lost)
    }
    same = [
        candidate for candidate in found.values() if candidate.source.split() == lost.source.split()
    ]
    candidates = same or list(found.values())
    return candidates[0] if len(candidates) == 1 or same else None


def _warnings(of: griffe.Object) -> frozenset[str]:
    """The deprecations that a function or the decorators of a class announce."""
    source = of.source if isinstance(of, griffe.Function | griffe.Class) else ""
    if isinstance(of, griffe.Attribute) and "property" in of.labels:
        source = of.source
    if "arn" not in source and "eprecated" not in source:
        return frozenset()
    body = _parsed(of).body
    if not body or not isinstance(body[0], _DEFINITION):
        return frozenset()
    definition = body[0]
    found = set()
    for decorator in definition.decorator_list:
        text = ast.unparse(decorator)
        if text.partition("(")[0].rpartition(".")[2] == "deprecated":
            given = decorator.args if isinstance(decorator, ast.Call) else []
            found.add(f"deprecated: {_text(given[0])}" if given else "deprecated")
    # what a class's methods announce is reported of them
    for node in () if isinstance(definition, ast.ClassDef) else ast.walk(definition):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) not in (
            "warnings.warn",
            "warn",
        ):
            continue
        named = {k.arg: k.value for k in node.keywords}
        message, category = (
            node.args[n] if n < len(node.args) else named.get(name)
            for n, name in enumerate(("message", "category"))
        )
        if isinstance(message, ast.Call):
            category = message.func
            message = message.args[0] if message.args else None
        name = ast.unparse(category).rpartition(".")[2] if category is not None else ""
        text = _text(message)
        if name in _CATEGORIES or _ANNOUNCES.search(text):
            found.add(f"{name or 'UserWarning'}: {text}")
    return frozenset(found)


_CATEGORIES = ("DeprecationWarning", "FutureWarning", "PendingDeprecationWarning")
#: what a warning of another category says that announces the same.
_ANNOUNCES = re.compile(r"deprecat|(will|to) be removed", re.IGNORECASE)
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _text(node: ast.expr | None) -> str:
    """A message, with what is filled in as it is written."""
    if isinstance(node, ast.Constant):
        return " ".join(str(node.value).split())
    if isinstance(node, ast.JoinedStr):
        parts = [
            str(x.value) if isinstance(x, ast.Constant) else f"{{{ast.unparse(x.value)}}}"
            for x in node.values
            if isinstance(x, ast.Constant | ast.FormattedValue)
        ]
        return " ".join("".join(parts).split())
    return "" if node is None else ast.unparse(node)
