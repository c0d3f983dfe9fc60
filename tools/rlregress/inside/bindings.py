"""Replaces values that modules and classes get at import by those of another version.

A constant, such as a bound or an epsilon, is defined outside of the functions that read it. A
function with the same code acts differently if such a value differs. A value is reverted only if
its statements, run again, give its present value: later changes to it cannot be repeated.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import enum
import re
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from rlregress.inside import methods
from rlregress.inside.methods import Defaults, Misfit
from rlregress.source import get_first_line, read_source_text

#: the name of the piece with a module's own statements, and how the name of a class's piece begins.
MODULE, BODY = "<module>", "<class> "
#: statements that bind names which can be given other values, and those that may enclose them.
_SIMPLE = (ast.Assign, ast.AnnAssign)
_ENCLOSING = (ast.If, ast.Try)
_HARMLESS = (ast.Import, ast.ImportFrom, ast.Pass, ast.Raise)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
#: a function: its module, qualified name, and syntax node.
_Definition = tuple[types.ModuleType, str, _Function]
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PRIMITIVE = (bool, int, float, complex, str, bytes, type(None))
#: stands for the value of a name that its owner does not define itself.
_ABSENT = object()
#: options of a field that decide the methods of its dataclass, apart from the default.
_FIELD_OPTIONS = ("repr", "hash", "init", "compare", "metadata", "kw_only")


class Binding(NamedTuple):
    """The value that a name of a module or a class has in another version.

    Attributes:
        owner: a module or a class; for defaults, a function or a cell of its closure.
        value: ``_ABSENT``: the owner itself does not have the name.
    """

    owner: Any
    name: str
    value: Any


def find_names_with_other_values(piece: str, texts: Sequence[str]) -> set[str]:
    """Return names whose values differ between the texts, and those computed from them.

    For a module, attributes of its classes that are computed from these names are included.

    Args:
        piece: ``MODULE``, or ``BODY`` and the qualified name of a class.
        texts: the file's source text in both versions.
    """
    if not piece.startswith((MODULE, BODY)):
        return set()
    differing = _find_differing_names(piece, texts)
    if piece == MODULE:
        for kind in _list_class_names(texts[0]):
            differing = differing | _find_names_computed_from(f"{BODY}{kind}", texts, differing)
    return differing


def _find_differing_names(piece: str, texts: Sequence[str]) -> set[str]:
    old, new = (_group_by_bound_name(_list_top_statements(text, piece)) for text in texts)
    differing = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    # without names that only Python itself reads, such as __all__
    differing -= {name for name in differing if name.startswith("__") and name.endswith("__")}
    return differing | _find_names_computed_from(piece, texts, differing)


def _find_names_computed_from(piece: str, texts: Sequence[str], names: set[str]) -> set[str]:
    """Return names that statements of a piece compute from the given names."""
    statements = [part for text in texts for part in _list_top_statements(text, piece)]
    bound: set[str] = set()
    before = -1
    while len(bound) != before:
        before = len(bound)
        for statement in statements:
            if _list_read_names(statement) & (names | bound):
                bound |= _list_bound_names(statement)
    return bound


def _list_class_names(text: str) -> list[str]:
    body = methods.find_class_statements(text, "")
    return [statement.name for statement in body if isinstance(statement, ast.ClassDef)]


def find_bindings_to_second_text(
    module: types.ModuleType, piece: str, texts: Sequence[str]
) -> list[Binding]:
    """Return bindings that give a module or a class the values of the second text.

    Raises:
        Misfit: a value cannot be computed here, or not be reverted.
    """
    differing = _find_differing_names(piece, texts)
    bindings, then = _find_bindings_of_piece(module, piece, texts, differing, {})
    for kind in _list_class_names(texts[0]) if piece == MODULE else ():
        following = _find_names_computed_from(f"{BODY}{kind}", texts, differing)
        if following:
            bindings += _find_bindings_of_piece(module, f"{BODY}{kind}", texts, following, then)[0]
    try:
        return [*bindings, *_make_bindings_of_dependent_defaults(module, bindings)]
    except Exception as why:  # whatever a metaclass says
        raise Misfit(f"the values of {piece} cannot be reverted: {why}") from None


def _find_bindings_of_piece(
    module: types.ModuleType, piece: str, texts: Sequence[str], differing: set[str],
    variables: dict[str, Any],
) -> tuple[list[Binding], dict[str, Any]]:  # fmt: skip
    """Return bindings of a module or a class to the second text's values, and all such values.

    Args:
        variables: the module's names -> their values when the second text is run.
    """
    kind = _name_class_of_piece(piece)
    owner: Any = methods.find_class_in_module(module, kind) if kind else module
    fields = differing.intersection(getattr(owner, "__dataclass_fields__", ()))
    for name in sorted(differing):
        why = _explain_unbindable(
            name, [methods.find_class_statements(text, kind) for text in texts]
        )
        if why:
            raise Misfit(f"{name} of {piece} cannot be reverted: {why}")
    now, then = (
        _compute_values_by_text(module, owner, piece, text, differing, before)
        for text, before in zip(texts, ({}, variables), strict=False)
    )
    bindings: list[Binding] = []
    if isinstance(owner, enum.EnumMeta):
        return list(_bind_enum_members(owner, differing, now, then)), then
    if fields and _is_called_at_import(texts[0], owner.__name__):
        raise Misfit(f"the import makes instances of {owner.__name__}, which keep its defaults")
    if fields:
        bindings += _bind_field_defaults(
            owner, {name: (now.get(name), then.get(name)) for name in fields}
        )
    for name in sorted(differing - fields):
        present = vars(owner).get(name, _ABSENT)
        if not _equals_as_far_as_comparable(present, now.get(name, _ABSENT)):
            raise Misfit(f"the value of {name} of {piece} is not what its assignment gives")
        value = then.get(name, _ABSENT)
        inherited = isinstance(owner, type) and any(name in vars(k) for k in owner.__mro__[1:])
        if _equals_as_far_as_comparable(present, value, strict=True) or (
            value is _ABSENT and not inherited
        ):
            # a name of the new version alone is left: unchanged code does not read it
            continue
        bindings.append(Binding(owner, name, value))
        if owner is module and present is not _ABSENT:
            bindings += [
                Binding(*importer, value) for importer in _find_importers(module, name, present)
            ]
    return bindings, then


def _bind_enum_members(
    owner: enum.EnumMeta, differing: set[str], now: Mapping[str, Any], then: Mapping[str, Any]
) -> Iterator[Binding]:
    """Yield bindings that change the values of an enumeration's members, and its map of values.

    Raises:
        Misfit: only one version has a member, or members are numbers or texts themselves.
    """
    members: Mapping[str, Any] = owner.__members__
    for name in sorted(differing):
        if name not in members or name not in then:
            raise Misfit(f"{name} of {owner.__name__} is a member of one version only")
        if vars(owner)["_member_type_"] is not object or not isinstance(
            then[name], (*_PRIMITIVE, tuple)
        ):
            raise Misfit(f"{owner.__name__}.{name} is a number or text itself, or no constant")
        if not _equals_as_far_as_comparable(members[name]._value_, now.get(name, _ABSENT)):
            raise Misfit(f"the value of {owner.__name__}.{name} is not what its assignment gives")
        others = [then.get(n, m._value_) for n, m in members.items() if n != name]
        if name != members[name].name or then[name] in others:
            raise Misfit(f"{owner.__name__}.{name} is or becomes another name of a member")
        yield Binding(members[name], "_value_", then[name])
    by_value = {value: member for value, member in owner._value2member_map_.items()
                if member.name not in differing}  # fmt: skip
    by_value |= {then[name]: members[name] for name in differing}
    yield Binding(owner, "_value2member_map_", by_value)


def _bind_field_defaults(owner: type, defaults: Mapping[str, tuple[Any, Any]]) -> Iterator[Binding]:
    """Yield the bindings that change field defaults of a dataclass and of classes that inherit it.

    Args:
        defaults: field -> its default by the statement in each version.

    Raises:
        Misfit: a default was changed after its statement, or a field is made in another way.
    """
    fields = vars(owner).get("__dataclass_fields__", {})
    changed: dict[str, dataclasses.Field[Any]] = {}
    for name, (now, then) in sorted(defaults.items()):
        if name not in fields:
            raise Misfit(f"{name} of {owner.__name__} is a field of another class")
        changed[name] = copy.copy(fields[name])
        old, new = (
            value if isinstance(value, dataclasses.Field) else dataclasses.field(default=value)
            for value in (then, now)
        )
        is_made = [field.default is dataclasses.MISSING for field in (old, new)]
        is_otherwise = any(getattr(old, key) != getattr(new, key) for key in _FIELD_OPTIONS)
        is_otherwise |= is_made[0] != is_made[1]
        if is_otherwise or not _equals_as_far_as_comparable(fields[name].default, new.default):
            raise Misfit(f"{owner.__name__}.{name} is made in another way, or changed later")
        changed[name].default, changed[name].default_factory = old.default, old.default_factory
        # the class attribute of a slot must stay: it is how instances reach their value
        is_slot = isinstance(vars(owner).get(name), types.MemberDescriptorType)
        if name in vars(owner) and not is_made[0] and not is_slot:
            yield Binding(owner, name, old.default)
    for kind in _walk_subclasses(owner):
        own = vars(kind).get("__dataclass_fields__", {})
        inherited = {name: new for name, new in changed.items() if own.get(name) is fields[name]}
        if inherited:
            yield Binding(kind, "__dataclass_fields__", {**own, **inherited})
            init = vars(kind).get("__init__")
            # one that the class defines itself has defaults of its own
            if init is not None and init.__code__.co_filename == "<string>":
                yield from _bind_constructor_defaults(init, inherited)


def _is_called_at_import(text: str, name: str) -> bool:
    """Return whether an import of a module makes instances of a class of that module."""
    nodes: list[ast.AST] = [*methods.find_class_statements(text, "")]
    while nodes:
        node = nodes.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            # the body runs later
            nodes += [node.args, *getattr(node, "decorator_list", ())]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
            return True
        else:
            nodes += ast.iter_child_nodes(node)
    return False


def _walk_subclasses(owner: type) -> Iterator[type]:
    yield owner
    subclasses: list[type] = type.__subclasses__(owner)
    for kind in subclasses:
        yield from _walk_subclasses(kind)


def _bind_constructor_defaults(
    init: types.FunctionType, fields: Mapping[str, dataclasses.Field[Any]]
) -> Iterator[Binding]:
    """Yield the bindings that give the constructor of a dataclass other defaults."""
    for name, field in fields.items():
        for free, cell in zip(init.__code__.co_freevars, init.__closure__ or (), strict=True):
            # "_dflt_epochs", or "__dataclass_dflt_epochs__" from Python 3.12 on
            if re.fullmatch(rf"_(_dataclass_)?dflt_{name}(__)?", free):
                is_made = field.default is dataclasses.MISSING
                default = field.default_factory if is_made else field.default
                yield Binding(cell, "cell_contents", default)
    # of a field that a factory makes, the default says so, and stays
    other = {n: f.default for n, f in fields.items() if f.default is not dataclasses.MISSING}
    names = init.__code__.co_varnames[: init.__code__.co_argcount]
    values = init.__defaults__ or ()
    first = len(names) - len(values)
    positional = tuple(other.get(n, v) for n, v in zip(names[first:], values, strict=True))
    yield Binding(init, "__defaults__", positional or None)
    named = {name: other.get(name, value) for name, value in (init.__kwdefaults__ or {}).items()}
    yield Binding(init, "__kwdefaults__", named or None)


def _make_bindings_of_dependent_defaults(
    module: types.ModuleType, bindings: Sequence[Binding]
) -> list[Binding]:
    """Return bindings of function defaults that the package's import computed from changed values.

    Raises:
        Misfit: defaults were changed after import, or other objects are computed from a value.
    """
    differing = {
        owner.name if isinstance(owner, enum.Enum) else name for owner, name, _ in bindings
    }
    package = module.__name__.partition(".")[0]
    functions = [
        (function, definition)
        for definition in _find_functions_with_defaults_of(package, differing)
        for function in _find_functions_in_memory(*definition)
    ]
    now = [methods.evaluate_present_defaults(*definition) for _, definition in functions]
    with bind_temporarily(bindings):
        then = [methods.evaluate_present_defaults(*definition) for _, definition in functions]
    defaults: list[Binding] = []
    for (function, (_, name, _)), new, old in zip(functions, now, then, strict=True):
        if not _equals_as_far_as_comparable((function.__defaults__, function.__kwdefaults__), new):
            raise Misfit(f"the defaults of {name} are not what their expressions give")
        if not _equals_as_far_as_comparable(new, old, strict=True):
            defaults.append(Binding(function, "__defaults__", old[0]))
            defaults.append(Binding(function, "__kwdefaults__", old[1]))
    return defaults


def find_present_and_other_defaults(
    code: types.CodeType, bindings: Sequence[Binding]
) -> tuple[Defaults | None, Defaults | None]:
    """Return the defaults of a code object's function now, and those that bindings give it."""
    for owner, *_ in bindings:
        if isinstance(owner, types.FunctionType) and owner.__code__ is code:
            then = {name: value for function, name, value in bindings if function is owner}
            now = owner.__defaults__, owner.__kwdefaults__
            return now, (then["__defaults__"], then["__kwdefaults__"])
    return None, None


def _find_functions_with_defaults_of(package: str, differing: set[str]) -> Iterator[_Definition]:
    """Yield functions of a package whose defaults are computed from some names.

    Raises:
        Misfit: a decorator, a base class or an option of a class is computed from them.
    """
    for path, module in list(sys.modules.items()):
        file = str(getattr(module, "__dict__", {}).get("__file__") or "")
        if path.partition(".")[0] != package or not file.endswith(".py"):
            continue
        text = read_source_text(file)
        # most files name none of them, and need not be parsed
        nodes: list[tuple[str, ast.AST]] = []
        if any(name in text for name in differing):
            nodes = [("", node) for node in methods.parse_text(text).body]
        for above, node in nodes:
            if not isinstance(node, _DEFINITIONS):
                nodes += [(above, child) for child in ast.iter_child_nodes(node)]
                continue
            name = f"{above}.{node.name}".lstrip(".")
            heads = list(node.decorator_list)
            if isinstance(node, ast.ClassDef):
                heads += [*node.bases, *(keyword.value for keyword in node.keywords)]
                nodes += [(name, child) for child in node.body]
            elif (
                methods.list_names_and_attributes(methods.strip_annotations(node.args)) & differing
            ):
                yield module, name, node
            if any(methods.list_names_and_attributes(head) & differing for head in heads):
                raise Misfit(
                    f"{name} is decorated with, or derived from, one of the changed values"
                )


def _find_functions_in_memory(
    module: types.ModuleType, name: str, node: _Function
) -> list[types.FunctionType]:
    """Return the function objects in memory that come from a definition, even if decorated.

    Raises:
        Misfit: there is none.
    """
    place = (module.__file__, node.name, get_first_line(node))
    functions = [
        function
        for function in methods.list_functions_of_modules(module)
        for code in [function.__code__]
        if (code.co_filename, code.co_name, code.co_firstlineno) == place
    ]
    if not functions:
        raise Misfit(f"{name}, which has a changed value as a default, is not in memory")
    return functions


def _get_present_value(owner: Any, name: str) -> Any:
    """Return the present value of a name in a module, class, function or closure cell."""
    if isinstance(owner, (types.FunctionType, types.CellType)):
        return getattr(owner, name)
    return vars(owner).get(name, _ABSENT)


def bind_values(bindings: Sequence[Binding]) -> None:
    """Set every name of the bindings to its value in the other version."""
    for owner, name, value in bindings:
        if value is not _ABSENT:
            setattr(owner, name, value)
        elif name in vars(owner):
            delattr(owner, name)


@contextlib.contextmanager
def bind_temporarily(bindings: Sequence[Binding]) -> Iterator[None]:
    """Set names to their values in the other version, and back at the end of the ``with`` block."""
    before = [Binding(owner, name, _get_present_value(owner, name)) for owner, name, _ in bindings]
    try:
        bind_values(bindings)
        yield
    finally:
        bind_values(before)


def list_imports(text: str, package: str) -> dict[str, list[tuple[str, str]]]:
    """Return module -> names that a source text imports from it, each with its name in the text.

    Args:
        package: the package of the text's own module.
    """
    names_by_module: dict[str, list[tuple[str, str]]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            names = names_by_module.setdefault(resolve_import(node, package), [])
            names += [(alias.name, alias.asname or alias.name) for alias in node.names]
    return names_by_module


def resolve_import(node: ast.ImportFrom, package: str) -> str:
    """Return the module that an import statement in a package imports from."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def _find_importers(module: types.ModuleType, name: str, now: Any) -> Iterator[tuple[Any, str]]:
    """Yield other modules that imported a value by its name, with their names for it."""
    for importer in list(sys.modules.values()):
        own = getattr(importer, "__dict__", {})
        file = str(own.get("__file__") or "")
        if importer is module or not file.endswith(".py"):
            continue
        if not any(value is now for value in list(own.values())):
            continue  # most are read no further: to parse every file that is loaded takes seconds
        for imported, known in _list_names_imported_from(
            file, str(own.get("__package__") or ""), module.__name__
        ):
            if imported == name and own.get(known, _ABSENT) is now:
                yield importer, known


@lru_cache(maxsize=4096)
def _list_names_imported_from(file: str, package: str, module: str) -> Sequence[tuple[str, str]]:
    """Return (name there, name here) pairs that a file imports from a module."""
    try:
        text = read_source_text(file)
        last = module.rpartition(".")[2]
        # most files do not, and need not be parsed
        mentioned = re.search(rf"\b{last}\s+import\b", text)
        return list_imports(text, package).get(module, ()) if mentioned else ()
    except (OSError, ValueError, SyntaxError):
        return ()


def _name_class_of_piece(piece: str) -> str:
    """Return the qualified name of a piece's class; "": the piece is a module."""
    return piece.partition(BODY)[2]


def _explain_unbindable(name: str, bodies: Sequence[Sequence[ast.stmt]]) -> str:
    """Explain why a name cannot be bound to another value; empty: it can."""
    for body in bodies:
        for statement in body:
            if isinstance(statement, _DEFINITIONS) and statement.name == name:
                return "it is defined as a function or a class"
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                if name in {(a.asname or a.name).partition(".")[0] for a in statement.names}:
                    return "it is imported"
            elif name in _list_bound_names(statement) and not _can_be_bound(statement):
                return "a statement other than a plain assignment sets it"
    return ""


def _can_be_bound(statement: ast.AST) -> bool:
    if isinstance(statement, _ENCLOSING):
        nodes = [statement, *getattr(statement, "handlers", ())]
        inside = [child for node in nodes for child in ast.iter_child_nodes(node)
                  if isinstance(child, ast.stmt)]  # fmt: skip
        return all(isinstance(x, _HARMLESS) or _can_be_bound(x) for x in inside)
    return isinstance(statement, _SIMPLE)


def _compute_values_by_text(
    module: types.ModuleType, owner: Any, piece: str, text: str, wanted: set[str],
    given: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Run statements of a text in a copy of the module; return the values of the wanted names."""
    body = [part for part in _list_top_statements(text, piece) if _list_bound_names(part) & wanted]
    made = types.ModuleType(module.__name__)
    vars(made).update({**vars(module), **given, "__annotations__": {}})
    methods.define_missing_names_from_text(
        made, text, {n for statement in body for n in _list_read_names(statement)}
    )
    own: dict[str, Any] = vars(made)
    if owner is not module:
        own = {**vars(owner), "__annotations__": {}}
    for name in wanted:
        own.pop(name, None)
    try:
        # statements of either version, which the user has named
        exec(compile(ast.Module(body, []), "<bound>", "exec"), vars(made), own)  # noqa: S102
    except Exception as why:  # whatever they are made of
        raise Misfit(f"the values of {piece} cannot be computed: {why}") from None
    return {name: own[name] for name in wanted if name in own}


def _equals_as_far_as_comparable(present: Any, value: Any, strict: bool = False) -> bool:
    """Return whether a value equals the present one, as far as values can be compared.

    Args:
        strict: whether objects that are no plain data must be equal; else their type suffices.
    """
    if present is value:
        return True
    if type(present) is not type(value) or isinstance(present, type):
        return False
    if isinstance(present, _PRIMITIVE):
        return bool(present == value) and repr(present) == repr(value)
    if isinstance(present, dict):
        return list(present) == list(value) and _equals_as_far_as_comparable(
            list(present.values()), list(value.values()), strict
        )
    if isinstance(present, (tuple, list)):
        both = zip(present, value, strict=False)
        return len(present) == len(value) and all(
            _equals_as_far_as_comparable(a, b, strict) for a, b in both
        )
    if isinstance(present, (set, frozenset)):
        return bool(present == value)
    if hasattr(present, "dtype") and hasattr(present, "shape"):
        return present.shape == value.shape and bool((present == value).all())
    if strict:
        # two patterns, devices or loggers that are equal do the same
        compared = "__eq__" in {n for kind in type(present).__mro__[:-1] for n in vars(kind)}
        return compared and not callable(present) and bool(present == value)
    return True


def _list_top_statements(text: str, piece: str) -> list[ast.stmt]:
    """Return the statements at the top of a piece that may give names a value."""
    body = methods.find_class_statements(text, _name_class_of_piece(piece))
    return [statement for statement in body if _list_bound_names(statement)]


def _group_by_bound_name(body: Sequence[ast.stmt]) -> dict[str, list[str]]:
    """Return name -> the statements that give it a value."""
    found: dict[str, list[str]] = {}
    for statement in body:
        for name in _list_bound_names(statement):
            found.setdefault(name, []).append(_dump_without_annotations(statement))
    return found


def _dump_without_annotations(statement: ast.stmt) -> str:
    """Dump a statement without its annotations, which give no name a value."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return (
            f"{[ast.dump(target) for target in targets]} {ast.dump(statement.value or statement)}"
        )
    return ast.dump(statement)


def _list_bound_names(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (*_DEFINITIONS, ast.Import, ast.ImportFrom)):
        return set()
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return set()
    return {node.id for node in _walk_own_nodes(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}  # fmt: skip


def _list_read_names(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}  # fmt: skip


def _walk_own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement without those of functions, classes, comprehensions."""
    yield node
    apart: tuple[Any, ...] = (
        *_DEFINITIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
    )  # fmt: skip
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, apart):
            yield from _walk_own_nodes(child)


def list_old_and_new_numbers(bindings: Sequence[Binding]) -> set[float]:
    """Return the numbers among the values that bindings set, and among the present values."""
    every = [x for owner, name, value in bindings for x in (value, _get_present_value(owner, name))]
    flat = [y for x in every for y in (x if isinstance(x, (tuple, list)) else [x])]
    return {float(x) for x in flat if isinstance(x, (int, float)) and not isinstance(x, bool)}


_NUMBER = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")


def list_literal_numbers(lines: Sequence[str]) -> set[float]:
    """Return number literals in lines of source."""
    return {float(literal) for line in lines for literal in _NUMBER.findall(line)}
