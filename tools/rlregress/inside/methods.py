"""Differences between two versions of a function besides its body: decorators, defaults, existence.

Methods that only one version has are removed from a class in memory, or added to it.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import copy
import gc
import types
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Misfit(Exception):
    """Other code cannot replace the present code; the message is the reason."""


class NoClass(Misfit):
    """A class or method is not there; the message names it."""


#: defaults of a function: of positional parameters, and of keyword-only ones.
Defaults = tuple[tuple[Any, ...] | None, dict[str, Any] | None]


class ImportedFile(NamedTuple):
    """An imported file with its present and its other text; names of functions are qualified.

    Attributes:
        file: below the folder of its package.
        path: as its code knows it.
        texts: the present text, and the other one.
    """

    file: str
    path: str
    module: types.ModuleType
    texts: tuple[str, str]

    def find_definitions(self, name: str) -> tuple[list[Any], list[Any]]:
        """Return all definitions of a name in both texts, such as a property and its setter."""
        now, then = (_find_definitions(text, name) for text in self.texts)
        return now, then

    def do_decorators_differ(self, name: str) -> bool:
        """Return whether the decorators of any definition with this name differ."""
        return any(
            [*map(ast.dump, old.decorator_list)] != [*map(ast.dump, new.decorator_list)]
            for old, new in zip(*self.find_definitions(name), strict=False)
        )

    def find_other_defaults(self, name: str) -> Defaults | None:
        """Return the defaults of a function in the other text; None: as in the present one.

        Raises:
            Misfit: decorators differ, or the arguments of an inner function do.
        """
        now, then = self.find_definitions(name)
        if not (now and then):
            last = name.rpartition(".")[2]
            present, other = (
                sorted(_dump_arguments(node) for node in ast.walk(parse_text(text))
                       if isinstance(node, _FUNCTIONS) and node.name == last)
                for text in self.texts
            )  # fmt: skip
            if present != other:
                raise Misfit(f"{name} takes different arguments in the two versions")
            return None
        if self.do_decorators_differ(name):
            raise Misfit(f"{name} has different decorators in the two versions")
        if len(now) != 1 or _dump_arguments(now[0]) == _dump_arguments(then[0]):
            return None
        return evaluate_present_defaults(self.module, name, then[0])

    def add_names_used_in_other_text(self, name: str) -> None:
        """Add to the module the names that the other version of a function uses and it lacks.

        These are imports, definitions and assignments at the top of the other text, methods of its
        class there, and names that those use in turn. Names that the module has stay as they are. A
        property that only this module has is removed if the function sets an attribute of its name.
        """
        definitions = self.find_definitions(name)[1]
        define_missing_names_from_text(
            self.module, self.texts[1], _list_names_in_nodes(definitions)
        )
        above = name.rpartition(".")[0]
        try:
            kind = find_class_in_module(self.module, above)
        except NoClass:
            return
        set_here = _list_self_attributes([parse_text(self.texts[0])], ast.Store)
        for own in sorted(_list_self_attributes(definitions)):
            method = f"{above}.{own}"
            # an attribute that objects set themselves is no method
            if own not in set_here and not hasattr(kind, own) and self.find_definitions(method)[1]:
                with contextlib.suppress(Exception):
                    self.replace_method(method)
                    self.add_names_used_in_other_text(method)
        for own in _list_self_attributes(definitions, ast.Store):
            hides = vars(kind).get(own)
            unset = isinstance(hides, property) and hides.fset is None
            if unset and not self.find_definitions(f"{above}.{own}")[1]:
                delattr(kind, own)

    def remove_method(self, name: str) -> None:
        """Remove a method from its class, so that an inherited one, or none, takes its place.

        Raises:
            NoClass: the name is not that of a method in this module.
        """
        above, _, own = name.rpartition(".")
        kind = find_class_in_module(self.module, above)
        if own not in vars(kind):
            raise NoClass(f"{kind.__name__} has no {own}")
        delattr(kind, own)

    def replace_method(self, name: str) -> None:
        """Give a class the method of the other text, decorators and defaults included.

        Raises:
            NoClass: there is no such class here, or no such method of it in the other text.
        """
        above, _, own = name.rpartition(".")
        kind = find_class_in_module(self.module, above)
        definitions = self.find_definitions(name)[1]
        if not definitions:
            raise NoClass(f"the other text has no {name}")
        definition = ast.ClassDef(kind.__name__, [], [], list(definitions), [])
        tree = ast.Module([ast.fix_missing_locations(definition)], [])
        names: dict[str, Any] = {}
        flags = __future__.annotations.compiler_flag
        # a function of the other version, which the user has named
        exec(compile(tree, self.path, "exec", flags, True), vars(self.module), names)  # noqa: S102
        method = vars(names[kind.__name__])[own]
        for function in _unwrap_functions(method):
            # the class that ``super()`` without arguments uses
            for variable, cell in zip(
                function.__code__.co_freevars, function.__closure__ or (), strict=False
            ):
                if variable == "__class__":
                    cell.cell_contents = kind
        setattr(kind, own, method)


def evaluate_present_defaults(module: types.ModuleType, name: str, definition: Any) -> Defaults:
    """Return the defaults of a definition, with the values that its names have now.

    Raises:
        Misfit: they cannot be evaluated.
    """
    above = name.rpartition(".")[0]
    names = dict(vars(module))
    if above:
        names.update(vars(find_class_in_module(module, above)))
    arguments = strip_annotations(definition.args)
    expression = ast.Expression(ast.Lambda(arguments, ast.Constant(None)))
    try:
        # defaults of a function of the other version
        function = eval(compile(ast.fix_missing_locations(expression), "<defaults>", "eval"), names)  # noqa: S307
    except Exception as why:  # whatever they are made of
        raise Misfit(f"the defaults of {name} cannot be computed: {why}") from None
    return function.__defaults__, function.__kwdefaults__


def define_missing_names_from_text(module: types.ModuleType, text: str, used: set[str]) -> None:
    """Add to a module the ``used`` names that it lacks, as a text defines them at its top."""
    missing = used - set(vars(module))
    while missing:
        lent = [
            part
            for node in parse_text(text).body
            for part in _select_statement_defining(node, missing)
        ]
        for part in lent:
            # a name whose definition fails on this version stays missing
            with contextlib.suppress(Exception):
                # functions of the other version, which the user has named
                exec(compile(ast.Module([part], []), "<lent>", "exec"), vars(module))  # noqa: S102
        # no name is tried twice
        used = used | missing
        missing = _list_names_in_nodes(lent) - used - set(vars(module))


def _list_self_attributes(nodes: Iterable[ast.AST], context: type = ast.Load) -> set[str]:
    """Return the attributes of ``self`` or ``cls`` that functions read, or set."""
    return {
        child.attr
        for node in nodes
        for child in ast.walk(node)
        if isinstance(child, ast.Attribute)
        and isinstance(child.ctx, context)
        and isinstance(child.value, ast.Name)
        and child.value.id in ("self", "cls")
    }


def list_names_and_attributes(node: ast.AST) -> set[str]:
    """Return the names, and the names of attributes, in a node."""
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, (ast.Name, ast.Attribute))
    }


def _list_names_in_nodes(nodes: Iterable[ast.AST]) -> set[str]:
    return {child.id for node in nodes for child in ast.walk(node) if isinstance(child, ast.Name)}


def _select_statement_defining(statement: ast.stmt, names: set[str]) -> list[ast.stmt]:
    """Return the statement if it defines one of the names; of an import, only these names."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        aliases = [
            name
            for name in statement.names
            if (name.asname or name.name.partition(".")[0]) in names
        ]
        alone = copy.copy(statement)
        alone.names = aliases
        return [alone] if aliases else []
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        return [statement] if statement.name in names else []
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        bound = {target.id for target in targets if isinstance(target, ast.Name)}
        return [statement] if bound & names else []
    return []


@lru_cache(maxsize=64)
def parse_text(text: str) -> ast.Module:
    """Return the syntax tree of a source text; it is cached and must not be changed."""
    return ast.parse(text)


def find_class_statements(text: str, name: str) -> list[ast.stmt]:
    """Return the statements of a class with a qualified name; "": those of the file."""
    body = parse_text(text).body
    for part in filter(None, name.split(".")):
        kinds = [node for node in body if isinstance(node, ast.ClassDef) and node.name == part]
        body = kinds[-1].body if kinds else []
    return body


def _dump_arguments(node: Any) -> str:
    return ast.dump(strip_annotations(node.args))


def strip_annotations(arguments: ast.arguments) -> ast.arguments:
    """Return a copy of arguments without their types."""
    copied = copy.deepcopy(arguments)
    for node in ast.walk(copied):
        if isinstance(node, ast.arg):
            node.annotation = None
    return copied


def list_functions_of_modules(*modules: types.ModuleType) -> list[types.FunctionType]:
    """Return the functions that refer to the variables of modules, even if they are decorated.

    Listing such references is fast, and touches no other objects: a forked process has to copy each
    object that it touches.
    """
    # what was frozen before a fork is not listed
    gc.unfreeze()
    referrers = gc.get_referrers(*map(vars, modules))
    return [function for function in referrers if type(function) is types.FunctionType]


def find_class_in_module(module: types.ModuleType, name: str) -> Any:
    """Return the class of a module with a qualified name; raise NoClass if there is none."""
    kind: Any = module
    for part in name.split("."):
        kind = getattr(kind, part, None)
    if not isinstance(kind, type) or kind.__module__ != module.__name__:
        raise NoClass(f"{name} is no class of {module.__name__}")
    return kind


def _find_definitions(text: str, name: str) -> list[Any]:
    """Return all definitions of a name, such as a property and its setter."""
    above, _, own = name.rpartition(".")
    body = find_class_statements(text, above)
    return [node for node in body if isinstance(node, _FUNCTIONS) and node.name == own]


def _unwrap_functions(method: Any) -> list[types.FunctionType]:
    """Return the functions behind a method, property, class method or static method."""
    names = ("__func__", "fget", "fset", "fdel")
    parts = [method, *(getattr(method, name, None) for name in names)]
    return [part for part in parts if isinstance(part, types.FunctionType)]
