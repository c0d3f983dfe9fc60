"""Compiles the traced code with marks: each statement of a function sets a byte before it runs.

With a tracer all Python code runs at half its speed, that of torch and NumPy too (Python 3.11). A
mark costs 30 ns, in the traced code alone; it is set in every thread, and no other tool switches it
off.

Names, line numbers and results of the code stay the same. Bodies of modules and classes are not
marked, but for the body of a file that is run as a script; nor are one-sided parts of an expression
that stands on one line. Marked code is cached, as Python does with code that is not marked.

Runs inside foreign and old environments: standard library only, Python 3.10 syntax.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dis
import hashlib
import inspect
import marshal
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from rlregress import source, suite
from rlregress.errors import UserError

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: nodes within a statement that are marked as statements themselves, or contain some.
_STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
#: statements that do nothing when they run.
_IDLE = (ast.Pass, ast.Global, ast.Nonlocal)
#: begins the constant that stands for the marks of a function while its code is compiled or cached.
_PLACEHOLDER = "rlregress marks "
#: changes when the same source may get other marks.
_VERSION = hashlib.sha256(Path(__file__).read_bytes()).digest()
#: what a pickle without this suite evaluates to the class of marks.
_UNPICKLED = (
    "getattr(__import__('sys').modules.get('rlregress.marks'), 'Marks', "
    "type('Marks', (bytearray,), {'__hash__': object.__hash__, '__eq__': object.__eq__}))"
)


class Marks(bytearray):
    """The marks of one function, one byte each; code objects that hold them can be hashed."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __reduce_ex__(self, protocol: object) -> Any:
        """Return how to pickle them with the code of a lambda: all unset.

        They are marks again where this module is loaded. Elsewhere they are bytes that can be
        hashed, too: what reads a function may pickle it once more.
        """
        return eval, (f"{_UNPICKLED}({len(self)})",)


class _CallingMarks(Marks):
    """Marks of a function that also call something whenever the function begins.

    Attributes:
        at_entry: takes the frame of the call; returns whether it is called again.
    """

    at_entry: Callable[[FrameType], bool]

    def __setitem__(self, number: Any, value: Any) -> None:
        """Set a mark; the first one is that of the function's entry."""
        super().__setitem__(number, value)
        if number == 0 and not self.at_entry(sys._getframe(1)):
            self.__class__ = Marks  # type: ignore[assignment]


class Condition(NamedTuple):
    """The condition of an ``if`` or ``while``.

    Attributes:
        line: first line of the statement.
        text: source text of the condition.
        marks: numbers of the marks that are set where it holds, and where it fails.
    """

    line: int
    text: str
    marks: tuple[int, int]


class MarkedFunction(NamedTuple):
    """A function, or the body of a script, whose code sets marks.

    Attributes:
        file: as its code names it.
        name: qualified; "<module>": of a script.
        marks: a byte other than 0 stands where a mark was set.
        lines: executable line -> number of its mark.
        tests: of its ``if`` and ``while`` statements.
        codes: its code, and that of the lambdas and comprehensions in it.
    """

    file: str
    name: str
    marks: Marks
    lines: dict[int, int]
    tests: Sequence[Condition]
    codes: Sequence[CodeType]


#: all marked functions of this process, and the files that they are in.
functions: list[MarkedFunction] = []
files: set[str] = set()
#: entries that ``write_cache`` still has to write: file, key and content.
_compiled: list[tuple[Path, bytes, Any]] = []
#: functions that return whether a file belongs to the traced code.
_are_traced: list[Callable[[str], object]] = []
#: chooses the function to call at each entry; None: call none (``set_calls_at_function_entries``).
_choose_call_at_entry: Callable[[Any], Callable[[FrameType], bool] | None] | None = None


def set_calls_at_function_entries(
    choose: Callable[[MarkedFunction], Callable[[FrameType], bool] | None] | None,
) -> None:
    """Call functions when marked functions begin, before their first statement.

    A generator begins when its first item is requested.

    Args:
        choose: takes a marked function, and returns the function to call with the frame of each
            call until it returns false, or None to call nothing. None: end all such calls.
    """
    global _choose_call_at_entry
    _choose_call_at_entry = choose
    for function in functions:
        _set_call_at_function_entry(function)


def _set_call_at_function_entry(function: MarkedFunction) -> None:
    call = _choose_call_at_entry(function) if _choose_call_at_entry is not None else None
    marks: Any = function.marks
    marks.__class__ = Marks if call is None else _CallingMarks
    if call is not None:
        marks.at_entry = call


def list_own_lines(code: CodeType) -> set[int]:
    """Return the executable lines of a code object, without those of the functions inside it."""
    lines = {line for _, line in dis.findlinestarts(code) if line}
    # the line of the definition is no step of its own
    return lines - {code.co_firstlineno} if code.co_name != "<module>" else lines


def list_inner_code_objects(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects within one, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from list_inner_code_objects(constant)


def mark_imports(is_traced: Callable[[str], object]) -> None:
    """Mark the modules that are imported from now on, if they are traced.

    Args:
        is_traced: takes the path of a file; returns False or None for code that is not traced.
    """
    if not _are_traced:
        get_code = SourceFileLoader.get_code

        def get_marked_code(loader: Any, name: str) -> CodeType | None:
            path = loader.get_filename(name)
            # a loader may compile in a way of its own, to check types for example
            compiles_as_usual = type(loader).source_to_code is SourceFileLoader.source_to_code
            if not compiles_as_usual or not _belongs_to_traced_code(path):
                return get_code(loader, name)
            return compile_source(loader.get_data(path), path)

        SourceFileLoader.get_code = get_marked_code  # type: ignore[assignment,method-assign]
    if is_traced not in _are_traced:
        _are_traced.append(is_traced)


def _belongs_to_traced_code(path: str) -> bool:
    return any(is_traced(path) not in (None, False) for is_traced in _are_traced)


def compile_source(
    source_code: str | bytes | ast.Module, path: str, is_script: bool = False
) -> CodeType:
    """Compile a source file as Python does; with marks if it is traced.

    Args:
        is_script: mark the body of the file, too.

    Raises:
        SyntaxError, ValueError: as of ``compile``.
    """
    if not _belongs_to_traced_code(path):
        return compile(source_code, path, "exec", dont_inherit=True)
    cached, key = None, b""
    if not isinstance(source_code, ast.Module):
        text = source_code.encode() if isinstance(source_code, str) else source_code
        cached = _locate_cached_code(path)
        key = hashlib.sha256(_VERSION + bytes([is_script]) + text).digest()
    compiled = _read_cached_code(cached, key)
    if compiled is None:
        try:
            compiled = _compile_with_marks(source_code, path, is_script)
        except (RecursionError, MemoryError):
            # it is not among the marked files, and whoever asks what ran is told so
            return compile(source_code, path, "exec", dont_inherit=True)
        if cached is not None:
            _compiled.append((cached, key, compiled))
    code, contents, is_whole = compiled
    if is_whole:
        files.add(path)
    return _insert_and_register_marks(path, code, contents)


def _compile_with_marks(source_code: str | bytes | ast.Module, path: str, is_script: bool) -> Any:
    """Return code with placeholders for marks, their contents, and whether all is marked."""
    if isinstance(source_code, ast.Module):
        tree = copy.deepcopy(source_code)
    else:
        tree = ast.parse(source_code, path)
    marker = _Marker()
    marker.mark_module(tree, is_script)
    code = compile(tree, path, "exec", dont_inherit=True)
    return code, [written.make_cacheable_content() for written in marker.written], marker.is_whole


# -- the marks in the source ---------------------------------------------------------------------


class _FunctionMarks:
    """The marks that are written into one function.

    Attributes:
        owners: line -> number of the mark that stands for it.
    """

    def __init__(self, name: str, number: int) -> None:
        self.name, self.placeholder = name, f"{_PLACEHOLDER}{number}"
        self.count = 0
        self.owners: dict[int, int] = {}
        self.tests: list[tuple[int, str, tuple[int, int]]] = []

    def make_cacheable_content(self) -> tuple[Any, ...]:
        """Return the marks as plain data that ``marshal`` can write to the cache."""
        return self.name, self.count, self.owners, self.tests

    def add_mark(self, lines: Iterable[int] = ()) -> int:
        """Add a mark for these lines, and return its number."""
        self.owners.update(dict.fromkeys(lines, self.count))
        self.count += 1
        return self.count - 1

    def make_mark_statement(self, number: int, line: int) -> ast.stmt:
        """Return a statement that sets a mark."""
        at = _make_position(line)
        marks, index = ast.Constant(self.placeholder, **at), ast.Constant(number, **at)
        target = ast.Subscript(marks, index, ast.Store(), **at)
        return ast.Assign([target], ast.Constant(1, **at), **at)

    def wrap_expression_with_mark(self, number: int, expression: ast.expr) -> ast.expr:
        """Return an expression that sets a mark, then evaluates ``expression`` as before."""
        at = _make_position(expression.lineno)
        marks, index = ast.Constant(self.placeholder, **at), ast.Constant(number, **at)
        # ``__setitem__`` returns None, also of the plain bytes that are read from a pickle
        setting = ast.Attribute(marks, "__setitem__", ast.Load(), **at)
        call = ast.Call(setting, [index, ast.Constant(1, **at)], [], **at)
        return ast.BoolOp(ast.Or(), [call, expression], **at)


def _make_position(line: int) -> dict[str, Any]:
    return {"lineno": line, "end_lineno": line, "col_offset": 0, "end_col_offset": 0}


class _Marker:
    """Writes marks into the tree of a source file.

    Attributes:
        written: the marks of its functions.
        is_whole: no function was left without marks, because numba compiles its bytecode.
    """

    def __init__(self) -> None:
        self.written: list[_FunctionMarks] = []
        self.is_whole = True
        #: what the file imports of numba.
        self._numba_names: set[str] = set()

    def mark_module(self, tree: ast.Module, is_script: bool) -> None:
        """Mark all functions of a module, and its body if it is a script."""
        decorators: list[ast.expr] = []
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                origin = getattr(node, "module", None)
                for alias in node.names:
                    if (origin or alias.name).partition(".")[0] == "numba":
                        self._numba_names.add(alias.asname or alias.name.partition(".")[0])
            decorators += getattr(node, "decorator_list", ())
        if self._count_uses_of_numba([tree]) > self._count_uses_of_numba(decorators):
            # functions may be passed to numba outside of decorators: which ones is unknown
            self.is_whole = False
            return
        function_marks = self._begin_function("<module>") if is_script else None
        tree.body = self._mark_body(tree.body, "", function_marks, is_first=True)

    def _count_uses_of_numba(self, nodes: Iterable[ast.AST]) -> int:
        if not self._numba_names:
            return 0
        parts = (part for node in nodes for part in ast.walk(node))
        return sum(isinstance(part, ast.Name) and part.id in self._numba_names for part in parts)

    def _begin_function(self, name: str) -> _FunctionMarks:
        self.written.append(_FunctionMarks(name, len(self.written)))
        return self.written[-1]

    def _mark_body(
        self,
        body: list[ast.stmt],
        outer_name: str,
        function_marks: _FunctionMarks | None,
        is_first: bool = False,
        entry_mark: ast.stmt | None = None,
    ) -> list[ast.stmt]:
        """Return statements with a mark before each.

        Args:
            outer_name: qualified name of the function or class around them.
            function_marks: marks of the function; None in the body of a class or a module.
            is_first: whether the body may begin with a docstring and ``__future__`` imports.
            entry_mark: statement that marks the entry of the function.
        """
        marked = []
        for statement in body:
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
            is_first = is_first and (is_text or is_future)
            if entry_mark is not None and not is_first:
                marked.append(entry_mark)
                entry_mark = None
            is_idle = isinstance(statement, _IDLE) or is_text or is_future
            if function_marks is not None and not is_idle and not _only_declares(statement):
                first = source.get_first_line(statement)
                number = function_marks.add_mark(_list_lines(statement))
                marked.append(function_marks.make_mark_statement(number, first))
            self._mark_statement(statement, outer_name, function_marks)
            marked.append(statement)
        return marked if entry_mark is None else [*marked, entry_mark]

    def _mark_statement(
        self, statement: ast.AST, outer_name: str, function_marks: _FunctionMarks | None
    ) -> None:
        if self._count_uses_of_numba(getattr(statement, "decorator_list", ())):
            self.is_whole = False
            return
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            name = f"{outer_name}.{statement.name}" if outer_name else statement.name
            if isinstance(statement, ast.ClassDef):
                statement.body = self._mark_body(statement.body, name, None)
            else:
                self._mark_function(statement, name)
            return
        ways: dict[str, list[Any]] = {}
        if function_marks is not None:
            if isinstance(statement, (ast.If, ast.While)):
                ways = self._add_marks_of_condition(statement, function_marks)
            first = source.get_first_line(statement)
            _mark_conditional_expressions(statement, function_marks, {first})
        for field in ("body", "orelse", "finalbody"):
            body = getattr(statement, field, None)
            if isinstance(body, list):
                marked = self._mark_body(body, outer_name, function_marks)
                setattr(statement, field, [*ways.get(field, ()), *marked])
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            self._mark_except_or_case(part, outer_name, function_marks)

    def _mark_function(self, function: Any, name: str) -> None:
        own = self._begin_function(name)
        entry_mark = own.make_mark_statement(own.add_mark(), source.get_first_line(function))
        # a default or a decorator may be a lambda, which lies in its lines
        for part in (*function.decorator_list, function.args):
            _mark_conditional_expressions(part, own, set())
        function.body = self._mark_body(
            function.body, name, own, is_first=True, entry_mark=entry_mark
        )

    def _add_marks_of_condition(
        self, statement: ast.If | ast.While, function_marks: _FunctionMarks
    ) -> dict[str, list[Any]]:
        """Add the marks of a condition.

        Returns:
            Statements that set them, by the field of ``statement`` that they begin.
        """
        if isinstance(statement.test, ast.Constant):
            return {}
        holds, fails = function_marks.add_mark(), function_marks.add_mark()
        function_marks.tests.append((statement.lineno, ast.unparse(statement.test), (holds, fails)))
        last = statement.test.end_lineno or statement.lineno
        first = source.get_first_line(statement.body[0])
        return {
            "body": [function_marks.make_mark_statement(holds, first)],
            "orelse": [function_marks.make_mark_statement(fails, last)],
        }

    def _mark_except_or_case(
        self, part: Any, outer_name: str, function_marks: _FunctionMarks | None
    ) -> None:
        """Mark an ``except`` or a ``case``."""
        if function_marks is None:
            part.body = self._mark_body(part.body, outer_name, None)
            return
        is_case = isinstance(part, ast.match_case)
        first = part.pattern.lineno if is_case else part.lineno
        number = function_marks.add_mark(range(first, part.body[-1].end_lineno + 1))
        part.body = self._mark_body(part.body, outer_name, function_marks)
        if is_case or part.type is None:
            part.body.insert(0, function_marks.make_mark_statement(number, first))
        else:
            part.type = function_marks.wrap_expression_with_mark(number, part.type)


def _mark_conditional_expressions(
    node: ast.AST, function_marks: _FunctionMarks, certain_lines: set[int]
) -> None:
    """Mark the parts of expressions that may not run although their statement does.

    These are bodies of lambdas, and the conditional parts of other expressions (``a if b else c``,
    ``and``, ``or``, assertions, comprehensions) that have lines of their own.

    Args:
        certain_lines: lines that also hold code which always runs.
    """
    if isinstance(node, (ast.Name, ast.Constant)) or not node._fields:
        # most nodes have no parts
        return
    first = list_parts_that_run_first(node)
    after_first = certain_lines.union(*map(_list_lines, first)) if first else certain_lines
    for field, value in ast.iter_fields(node):
        # types may be kept as they are written
        if field in ("annotation", "returns"):
            continue
        for position, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, _STATEMENTS) or not isinstance(child, ast.AST):
                continue
            number = None
            is_body = isinstance(node, ast.Lambda) and field == "body"
            if isinstance(child, ast.expr) and (is_body or (first and child not in first)):
                own_lines = _list_lines(child) - after_first
                number = function_marks.add_mark(own_lines) if is_body or own_lines else None
            _mark_conditional_expressions(
                child, function_marks, certain_lines if child in first else after_first
            )
            if number is None:
                continue
            marked = function_marks.wrap_expression_with_mark(number, child)
            if isinstance(value, list):
                value[position] = marked
            else:
                setattr(node, field, marked)


def _list_lines(node: ast.stmt | ast.expr) -> set[int]:
    return {*range(source.get_first_line(node), (node.end_lineno or 0) + 1)}


def _only_declares(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.AnnAssign) and statement.value is None


def list_parts_that_run_first(node: ast.AST) -> list[Any]:
    """Return the part of a node that runs before its other parts, which then may not run."""
    if isinstance(node, (ast.IfExp, ast.Assert)):
        return [node.test]
    if isinstance(node, ast.BoolOp):
        return [node.values[0]]
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return [node.generators[0].iter]
    return []


# -- the marks in the code -----------------------------------------------------------------------


def _insert_and_register_marks(
    path: str, code: CodeType, contents: Sequence[tuple[Any, ...]]
) -> CodeType:
    """Return code with marks in place of placeholders, and add its functions to ``functions``."""
    marks = [Marks(count) for _, count, _, _ in contents]
    codes: list[list[CodeType]] = [[] for _ in contents]

    def replace_placeholders(code: CodeType, outer_number: int | None) -> CodeType:
        number = None
        if code.co_flags & inspect.CO_OPTIMIZED or code is script:
            # the first mark of a function is its own, a lambda that is a default has another one
            places = (_parse_placeholder_number(item) for item in code.co_consts)
            number = next((place for place in places if place is not None), outer_number)
        constants: list[Any] = []
        for item in code.co_consts:
            place = _parse_placeholder_number(item)
            if isinstance(item, CodeType):
                item = replace_placeholders(item, number)
            constants.append(item if place is None else marks[place])
        replaced = code.replace(co_consts=tuple(constants))
        if number is not None:
            codes[number].append(replaced)
        return replaced

    script = code if contents and contents[0][0] == "<module>" else None
    replaced = replace_placeholders(code, None)
    for (name, _, owners, tests), own_marks, own_codes in zip(contents, marks, codes, strict=True):
        lines = {line for own in own_codes for line in list_own_lines(own)}
        functions.append(
            MarkedFunction(
                path,
                name,
                own_marks,
                {line: owners.get(line, 0) for line in lines},
                [Condition(*test) for test in tests],
                own_codes,
            )
        )
        _set_call_at_function_entry(functions[-1])
    return replaced


def _parse_placeholder_number(constant: object) -> int | None:
    """Return the number of the function whose marks a constant stands for; None: of none."""
    is_placeholder = isinstance(constant, str) and constant.startswith(_PLACEHOLDER)
    return int(str(constant).removeprefix(_PLACEHOLDER)) if is_placeholder else None


# -- the cache -----------------------------------------------------------------------------------


def _locate_cached_code(path: str) -> Path | None:
    """Return the file that caches the marked code of a source file; None: there is no cache."""
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    with contextlib.suppress(UserError):
        return suite.locate_cache() / "marked" / f"{name}.{sys.implementation.cache_tag}"
    return None


def _read_cached_code(cached: Path | None, key: bytes) -> Any:
    """Return code and the contents of its marks; None: nothing is cached for this text."""
    if cached is None:
        return None
    try:
        content = cached.read_bytes()
        # whoever can write there can write the cached environments, too
        return marshal.loads(content[len(key) :]) if content.startswith(key) else None  # noqa: S302
    except (OSError, EOFError, ValueError, TypeError):
        return None


def write_cache() -> None:
    """Write the marked code of this process to the cache; not while its files are noted."""
    while _compiled:
        cached, key, compiled = _compiled.pop()
        with contextlib.suppress(OSError):
            cached.parent.mkdir(parents=True, exist_ok=True)
            # other processes may read or write it meanwhile
            new = cached.with_suffix(f".{os.getpid()}")
            new.write_bytes(key + marshal.dumps(compiled))
            new.replace(cached)
