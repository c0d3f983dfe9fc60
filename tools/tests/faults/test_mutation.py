"""Single-line faults of a function: the operators, and the code that stays untouched."""

from __future__ import annotations

from rlregress.faults import mutation


def mutants_of(text):
    """Return all mutants of a file, in the order of its lines."""
    built = [
        mutation.build_mutant("m.py", *edit, text) for edit in mutation.list_edits_of_file(text)
    ]
    return [mutant for mutant in built if mutant is not None]


def faults(*body, head="def f(self, x, y=1):"):
    """(operator, new line) of all faults of a function."""
    rows = ["rate = 1", "", head, *(f"    {row}" for row in body), "", "other = 2", ""]
    text = "\n".join(rows)
    mutants = mutants_of(text)
    for fault in mutants:
        after = fault.text.split("\n")
        (line,) = [n for n, pair in enumerate(zip(rows, after, strict=True)) if len(set(pair)) > 1]
        assert (line + 1, after[line].strip()) == (fault.line, fault.new)
        assert fault.old == rows[line].strip()
    return {(fault.operator, fault.new) for fault in mutants}


OPERATORS = {
    "a sign": ("return -x", {("sign", "return (x)")}),
    "a sum": ("return x + y", {("operator", "return x - y"), ("operand", "return (x)")}),
    "a difference": ("return x - y", {("operator", "return x + y"), ("operand", "return (x)")}),
    "a product": ("return x * y", {("operator", "return x / y"), ("operand", "return (x)")}),
    "a quotient": ("return x / y", {("operator", "return x * y"), ("operand", "return (x)")}),
    "a rest": ("return x % y", {("operator", "return x * y"), ("operand", "return (x)")}),
    "a whole number": ("return 3", {("constant", "return 4")}),
    "a factor": ("return 0.5", {("constant", "return 1.0")}),
    "nothing": ("return 0.0", {("constant", "return 1.0")}),
    "a truth": ("return True", {("constant", "return False")}),
    "less": ("return x < y", {("comparison", "return x <= y")}),
    "at least": ("return x >= y", {("comparison", "return x > y")}),
    "equal": ("return x == y", {("comparison", "return x != y")}),
    "other": ("return x != y", {("comparison", "return x == y")}),
    "none": ("return x is None", {("comparison", "return x is not None")}),
    "some": ("return x is not None", {("comparison", "return x is None")}),
    "within": ("return x in y", {("comparison", "return x not in y")}),
    "not within": ("return x not in y", {("comparison", "return x in y")}),
    "either": ("return x or y", {("condition", "return x and y")}),
    "both": ("return x and y", {("condition", "return x or y")}),
    "not": ("return not x", {("condition", "return (x)")}),
    "a smallest": ("return min(x)", {("bound", "return max(x)")}),
    "a largest of a library": ("return th.maximum(x)", {("bound", "return th.minimum(x)")}),
    "arguments": ("return f(x, y)", {("swapped argument", "return f(y, x)")}),
    "three arguments": (
        "return f(x, y, z)",
        {("swapped argument", "return f(y, x, z)"), ("swapped argument", "return f(x, z, y)")},
    ),
    "an update": ("self.n += x", {("dropped statement", "pass")}),
    "a call": ("x.step()", {("dropped statement", "pass")}),
    "an attribute": ("self.x = y", {("dropped statement", "pass")}),
    "an entry": ("x[y] = y", {("dropped statement", "pass")}),
    "a chain": (
        "return x < y <= z", {("comparison", "return x <= y <= z"),
                              ("comparison", "return x < y < z")}),
    "a letter of two bytes": ("return 'ä', x + y", {
        ("operator", "return 'ä', x - y"), ("operand", "return 'ä', (x)")}),
}  # fmt: skip


def test_each_operator_changes_its_part_of_one_line():
    """These faults and no other ones; every other line of the file stays."""
    for case, (row, expected) in OPERATORS.items():
        assert faults(row) == expected, case


UNTOUCHED = {
    "a docstring": ['"""Adds 1 to x."""'],
    "an error": ["raise ValueError(x + 1)"],
    "a condition of an error": ["if x > y:", "    raise ValueError(x)"],
    "a check of a type": ["if isinstance(x, int):", "    raise TypeError(x)"],
    "an assertion": ["assert x > 1"],
    "a message with values": ["return f'{x + 1}'"],
    "a warning": ["warnings.warn('x', y)"],
    "a condition of a warning": ["if x > y:", "    warnings.warn('x')"],
    "what is logged": ["self.logger.record('x', x + 1)"],
    "what is printed": ["print(x + 1)"],
    "a question of a type": ["return isinstance(x, int)"],
    "what is collected to be told": ["losses.append(loss.item())"],
    "a type of a variable": ["z: Literal[1] = x"],
    "a local name": ["z = x"],
    "a name and a word": ["return x.a['b']"],
    "starred arguments": ["return f(*x, y)"],
    "an import": ["import one.two as three"],
}


def test_code_that_trains_nothing_is_not_mutated():
    """Words, checks, types, and what nobody can see."""
    assert {case: faults(*rows) for case, rows in UNTOUCHED.items() if faults(*rows)} == {}


def test_the_head_of_a_function_is_left_alone():
    """Defaults, annotations and decorators are no statements of it; nor are other functions."""
    head = "def f(self, x: Literal[1], y=1 + 2) -> Literal[3]:"
    assert faults("return x", head=head) == set()
    text = (
        "@scaled(2)\ndef f(x):\n    @scaled(3)\n    def g(y=4):\n        return y\n    return g\n"
    )
    assert mutants_of(text) == []


def test_a_condition_that_also_does_something_is_no_check():
    """An error in one branch leaves the other one, and the condition, to be tried."""
    mutants = faults("if x > y:", "    raise ValueError(1)", "else:", "    self.x = y")
    assert mutants == {("comparison", "if x >= y:"), ("dropped statement", "pass")}


def test_a_fault_of_an_inner_function_belongs_to_it():
    """It is listed once, under its qualified name."""
    assert [str(fault) for fault in mutants_of("def f():\n    def g(z):\n        return -z\n")] == [
        "m.py:3 f.g (sign): return -z -> return (z)"
    ]


def test_a_mutant_changes_one_line_of_several():
    """An operator on its own line is one; operands of two lines are not swapped or left out."""
    mutants = faults("return (", "    x", "    < y", ")")
    assert mutants == set()
    assert faults("return f(", "    x,", "    y + z,", ")") == {
        ("operator", "y - z,"), ("operand", "(y),")
    }  # fmt: skip


def test_a_fault_that_comes_about_twice_is_one():
    """Two operators that make the same line make one fault."""
    assert mutants_of("def f(x):\n    return f(x, x)\n") == []
