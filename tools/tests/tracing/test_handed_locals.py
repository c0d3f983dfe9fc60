"""Local variables that a function hands on are no results, but for those that somebody reads."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from rlregress.inside import handed_locals
from rlregress.inside.repeat import Call, Code


class Callback:
    """Holds what it was handed, as one of Stable-Baselines3 does."""

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
    """What comes of a call with both versions."""
    versions, variables = (Code(old), Code(new)), old.__globals__
    call = Call(
        *versions, arguments, set(), set(), variables, lambda _: False, (), lambda: dict(read)
    )
    return call.examine(5.0)


def collect(callback, rewards, dones):
    """Collect, with a loop in it."""
    for number, done in enumerate(dones):
        if done:
            rewards[number] += 1.0
    callback.update(locals())
    return rewards


def _bootstrap(rewards, dones):
    for row, done in enumerate(dones):
        if done:
            rewards[row] += 1.0


def _moved(callback, rewards, dones):
    _bootstrap(rewards, dones)
    callback.update(locals())
    return rewards


def _renamed(callback, rewards, dones):
    for index, ended in enumerate(dones):
        if ended:
            rewards[index] += 1.0
    callback.update(locals())
    return rewards


def _walrus(callback, rewards, dones):
    while (number := locals().get("number", -1) + 1) < len(dones):
        if done := dones[number]:
            rewards[number] += 1.0
    callback.update({**locals()})
    del done
    return rewards


def _more(callback, rewards, dones):
    scale = 1.0
    for number, done in enumerate(dones):
        if done:
            rewards[number] += scale
    total = rewards.sum()
    assert np.isfinite(total)
    callback.update(locals())
    return rewards


def _frame_reader(callback, rewards, dones):
    callback.frames.append(sys._getframe())
    return rewards


def _later_frame_reader(callback, rewards, dones):

    callback.frames.append(sys._getframe())
    return rewards


def _arguments():
    return {"callback": Callback(), "rewards": np.ones(3), "dones": np.array([True, False, True])}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (collect, _moved), (collect, _renamed), (collect, _walrus), (collect, _more),
        (_frame_reader, _later_frame_reader),
    ],
)  # fmt: skip
def test_a_rewrite_that_only_hands_on_other_variables_is_the_same(old, new):
    """A loop that moves or is renamed, a variable more, or a frame on another line."""
    result = examined(old, new, **_arguments())
    assert "differs" not in result
    assert "why" not in result


def _other(callback, rewards, dones):
    for number, done in enumerate(dones):
        if done:
            rewards[number] += 1.0
    dones = ~dones
    callback.update(locals())
    return rewards


def _gone(callback, rewards, dones):
    ended, callback.dones = dones, None
    del dones
    for number, done in enumerate(ended):
        if done:
            rewards[number] += 1.0
    callback.update(locals())
    return rewards


def _other_type(callback, rewards, dones):
    for number, done in enumerate(dones):
        if done:
            rewards[number] += 1.0
    dones = dones.astype(float)
    callback.update(locals())
    return rewards


@pytest.mark.parametrize("new", [_other, _gone, _other_type])
def test_a_fault_in_a_variable_that_is_read_differs(new):
    """Another value, no value, or another type of a name that a callback reads."""
    for dictionary in ("locals", "", "given"):
        result = examined(collect, new, {dictionary: {"dones"}}, **_arguments())
        assert "['dones']" in result["differs"]["path"]
    assert new is _gone or "differs" not in examined(collect, new, **_arguments())


def test_a_variable_that_is_read_from_another_dictionary_only_is_the_same():
    """What a callback of an evaluation reads from its own, a callback of the training does not."""
    read = {"locals": {"dones"}, "locals_": {"done"}}
    arguments = {**_arguments(), "callback": _Alone()}
    assert "differs" not in examined(collect, _moved, read, **arguments)
    result = examined(collect, _moved, {"locals": {"done"}}, **arguments)
    assert result["differs"]["path"] == "callback.locals['done']"


def _own(callback, rewards, dones):
    callback.locals = {"rewards": rewards * 1.0, "number": 1}
    return rewards


def _own_other(callback, rewards, dones):
    callback.locals = {"rewards": rewards * 1.0, "number": 2}
    return rewards


def test_a_dictionary_of_its_own_is_a_result():
    """Whatever its attribute is called, and whatever its keys are."""
    assert (
        examined(_own, _own_other, **_arguments())["differs"]["path"] == "callback.locals['number']"
    )


def test_names_that_are_read_are_found_in_sources(tmp_path):
    """What a package reads from locals, and all that a script and the files beside it quote."""
    package = tmp_path / "package" / "inner"
    package.mkdir(parents=True)
    (package / "code.py").write_text(
        "self.locals['dones'], locals_.get(\"info\"), self.locals [ 'env' ], other['rewards']\n"
    )
    script = tmp_path / "script" / "train.py"
    script.parent.mkdir()
    script.write_text("def callback(given, _):\n    print(given['rewards'])\n")
    (script.parent / "beside.py").write_text("given.get('actions')")
    result = handed_locals.names_read((str(tmp_path / "package"), str(script)))
    assert result == {
        "locals": {"dones", "env"}, "locals_": {"info"}, "": {"rewards", "actions"},
    }  # fmt: skip
