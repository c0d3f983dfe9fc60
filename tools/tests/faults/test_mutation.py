"""Single-line faults of a function: the operators, and the code that stays untouched."""

from __future__ import annotations

import pytest

from rlregress.faults import mutation
from rlregress.model.fault_results import Mutant


def faults(*body, head="def f(self, x, y=1):"):
    """(operator, new line) of all faults of a function."""
    rows = ["rate = 1", "", head, *(f"    {row}" for row in body), "", "other = 2", ""]
    text = "\n".join(rows)
    mutants = mutation.faults("m.py", "f", 3, 3 + len(body), text)
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
    "at most": ("return x <= y", {("comparison", "return x < y")}),
    "more": ("return x > y", {("comparison", "return x >= y")}),
    "at least": ("return x >= y", {("comparison", "return x > y")}),
    "equal": ("return x == y", {("comparison", "return x != y")}),
    "other": ("return x != y", {("comparison", "return x == y")}),
    "none": ("return x is None", {("comparison", "return x is not None")}),
    "some": ("return x is not None", {("comparison", "return x is None")}),
    "within": ("return x in y", {("comparison", "return x not in y")}),
    "not within": ("return x not in y", {("comparison", "return x in y")}),
    "both": ("return x and y", {("condition", "return x or y")}),
    "either": ("return x or y", {("condition", "return x and y")}),
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


@pytest.mark.parametrize("case", OPERATORS)
def test_each_operator_changes_its_part_of_one_line(case):
    """These faults and no other ones; every other line of the file stays."""
    row, expected = OPERATORS[case]
    assert faults(row) == expected


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


@pytest.mark.parametrize("case", UNTOUCHED)
def test_code_that_trains_nothing_is_not_mutated(case):
    """Words, checks, types, and what nobody can see."""
    assert faults(*UNTOUCHED[case]) == set()


def test_the_head_of_a_function_is_left_alone():
    """Defaults, annotations and decorators are no statements of it; nor are other functions."""
    head = "def f(self, x: Literal[1], y=1 + 2) -> Literal[3]:"
    assert faults("return x", head=head) == set()
    text = (
        "@scaled(2)\ndef f(x):\n    @scaled(3)\n    def g(y=4):\n        return y\n    return g\n"
    )
    assert mutation.faults("m.py", "f", 1, 6, text) == []


def test_a_condition_that_also_does_something_is_no_check():
    """An error in one branch leaves the other one, and the condition, to be tried."""
    mutants = faults("if x > y:", "    raise ValueError(1)", "else:", "    self.x = y")
    assert mutants == {("comparison", "if x >= y:"), ("dropped statement", "pass")}


def test_faults_of_inner_functions_are_faults_of_the_outer_one():
    """Faults of an inner function are listed for the outer one."""
    assert faults("def g(z):", "    return -z", "return g") == {("sign", "return (z)")}


def test_a_mutant_changes_one_line_of_several():
    """An operator on its own line is one; operands of two lines are not swapped or left out."""
    mutants = faults("return (", "    x", "    < y", ")")
    assert mutants == set()
    assert faults("return f(", "    x,", "    y + z,", ")") == {
        ("operator", "y - z,"), ("operand", "(y),")
    }  # fmt: skip


def test_faults_stand_in_the_order_of_their_lines():
    """Each with its place, its operator, and the line before and after."""
    text = "def f(x):\n    self.a = -x\n    return x\n\n\ndef g(x):\n    return -x\n"
    mutants = mutation.faults("m.py", "f", 1, 3, text)
    assert [str(fault) for fault in mutants] == [
        "m.py:2 f (dropped statement): self.a = -x -> pass",
        "m.py:2 f (sign): self.a = -x -> self.a = (x)",
    ]


def test_a_fault_that_comes_about_twice_is_one():
    """Two operators that make the same line make one fault."""
    mutants = mutation.faults("m.py", "f", 1, 2, "def f(x):\n    return f(x, x)\n")
    assert mutants == []


def test_lines_that_are_no_function_have_no_faults():
    """Nothing is guessed."""
    assert mutation.faults("m.py", "f", 1, 9, "def f(x):\n    return -x\n") == []


def make(name, count):
    """Faults of one function."""
    return [
        Mutant(
            file="m.py", function=name, line=n, operator="constant", old="0", new=str(n), text=""
        )
        for n in range(count)
    ]


def shares(mutants):
    """Function -> how many."""
    names = [fault.function for fault in mutants]
    return {name: names.count(name) for name in sorted(set(names))}


def test_faults_are_spread_evenly():
    """Each function has as many as every other as far as there are, and none twice."""
    by_function = [make("few", 2), make("many", 50), make("more", 50)]
    mutants = mutation.spread(by_function, 20)
    assert shares(mutants) == {"few": 2, "many": 9, "more": 9}
    assert len(set(mutants)) == 20


def test_the_same_faults_are_drawn_again():
    """The draw repeats itself, and does not take the first ones."""
    by_function = [make("many", 50), make("more", 50)]
    mutants = mutation.spread(by_function, 20)
    assert mutation.spread(by_function, 20) == mutants
    assert max(fault.line for fault in mutants) > 20


def test_where_there_are_fewer_all_are_drawn():
    """The limit is no quota."""
    assert shares(mutation.spread([make("a", 2), [], make("b", 1)], 9)) == {"a": 2, "b": 1}
    assert mutation.spread([], 9) == []
