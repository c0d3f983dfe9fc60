"""Local variables that a function hands on are no results, but for those that somebody reads."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from rlregress.inside import handed_locals

from .scripts import edit_function, examine_call


class Callback:
    """Stores the variables that it is handed, as one of Stable-Baselines3 does."""

    def __init__(self):
        self.locals, self.frames, self.children = {}, [], {}

    def update(self, arguments):
        """Take in local variables, and let a child take them in, too."""
        self.locals.update(arguments)
        self.children = dict(arguments)


class _Alone(Callback):
    """Has no child."""

    def update(self, arguments):
        """Take in local variables."""
        self.locals.update(arguments)


def examined(old, new, read=(), **arguments):
    """Return the result of a call with both versions."""
    return examine_call(old, new, arguments, names=set(), find_locals_read=lambda: dict(read))


LOOP = """\
    for number, done in enumerate(dones):
        if done:
            rewards[number] += 1.0
"""
UPDATE = "    callback.update(locals())\n"
COLLECT = f"def collect(callback, rewards, dones):\n{LOOP}{UPDATE}    return rewards\n"


def edit(*edits):
    """Return the function with a loop that hands on its variables, with fragments replaced."""
    return edit_function(COLLECT, *edits, namespace=globals())


RENAMED = """\
    for index, ended in enumerate(dones):
        if ended:
            rewards[index] += 1.0
"""
WALRUS = """\
    while (number := locals().get("number", -1) + 1) < len(dones):
        if done := dones[number]:
            rewards[number] += 1.0
"""
MORE = "    total = rewards.sum()\n    assert np.isfinite(total)\n"
REWRITES = {
    "moved": [(LOOP, "    _bootstrap(rewards, dones)\n")],
    "renamed": [(LOOP, RENAMED)],
    "walrus": [
        (LOOP, WALRUS),
        ("locals())\n    return", "{**locals()})\n    del done\n    return"),
    ],
    "more": [(LOOP, f"    scale = 1.0\n{LOOP}{MORE}"), ("+= 1.0", "+= scale")],
}
FAULTS = {
    "another value": [(UPDATE, f"    dones = ~dones\n{UPDATE}")],
    "no value": [
        (LOOP, f"    ended, callback.dones = dones, None\n    del dones\n{LOOP}"),
        ("enumerate(dones)", "enumerate(ended)")],
    "another type": [(UPDATE, f"    dones = dones.astype(float)\n{UPDATE}")],
}  # fmt: skip


def _bootstrap(rewards, dones):
    for row, done in enumerate(dones):
        if done:
            rewards[row] += 1.0


def _frame_reader(callback, rewards, dones):
    callback.frames.append(sys._getframe())
    return rewards


def _later_frame_reader(callback, rewards, dones):

    callback.frames.append(sys._getframe())
    return rewards


def _arguments():
    return {"callback": Callback(), "rewards": np.ones(3), "dones": np.array([True, False, True])}


@pytest.mark.parametrize("case", [*REWRITES, "a frame on another line"])
def test_a_rewrite_that_only_hands_on_other_variables_is_the_same(case):
    """A loop that moves or is renamed, a variable more, or a frame on another line."""
    versions = _frame_reader, _later_frame_reader
    if case in REWRITES:
        versions = edit(), edit(*REWRITES[case])
    result = examined(*versions, **_arguments())
    assert not {"differs", "why"} & set(result)


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_in_a_variable_that_is_read_differs(case):
    """Another value, no value, or another type of a name that a callback reads."""
    versions = edit(), edit(*FAULTS[case])
    for dictionary in ("locals", "", "given"):
        result = examined(*versions, {dictionary: {"dones"}}, **_arguments())
        assert "['dones']" in result["differs"]["path"]
    assert case == "no value" or "differs" not in examined(*versions, **_arguments())


def test_a_variable_that_is_read_from_another_dictionary_only_is_the_same():
    """A dictionary of its own is a result, whatever its attribute is called."""
    read = {"locals": {"dones"}, "locals_": {"done"}}
    arguments = {**_arguments(), "callback": _Alone()}
    versions = edit(), edit(*REWRITES["moved"])
    assert "differs" not in examined(*versions, read, **arguments)
    result = examined(*versions, {"locals": {"done"}}, **arguments)
    assert result["differs"]["path"] == "callback.locals['done']"
    text = "    callback.locals = {'rewards': rewards * 1.0, 'number': NUMBER}\n"
    versions = (edit((LOOP + UPDATE, text.replace("NUMBER", number))) for number in "12")
    differs = examined(*versions, **_arguments())["differs"]
    assert differs["path"] == "callback.locals['number']"


def test_names_that_are_read_are_found_in_sources(tmp_path):
    """Names that a package reads from locals, and all that a script and files beside it quote."""
    package = tmp_path / "package" / "inner"
    package.mkdir(parents=True)
    (package / "code.py").write_text(
        "self.locals['dones'], locals_.get(\"info\"), self.locals [ 'env' ], other['rewards']\n"
    )
    script = tmp_path / "script" / "train.py"
    script.parent.mkdir()
    script.write_text("def callback(given, _):\n    print(given['rewards'])\n")
    (script.parent / "beside.py").write_text("given.get('actions')")
    result = handed_locals.find_locals_read_by_dictionary((str(tmp_path / "package"), str(script)))
    assert result == {
        "locals": {"dones", "env"}, "locals_": {"info"}, "": {"rewards", "actions"},
    }  # fmt: skip
