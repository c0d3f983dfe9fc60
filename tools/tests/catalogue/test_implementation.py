"""A framework is asked once, and again where another copy, version or input is meant.

What a test states is held against the documented variant, the catalogue and the framework.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from stable_baselines3.common.torch_layers import create_mlp

from rlregress import suite
from rlregress.catalogue import registry
from rlregress.catalogue.implementation import list_implementations
from rlregress.catalogue.judge import format_expectation_entry
from rlregress.errors import UserError
from rlregress.probing.interface import Unprobed
from tools.tests.small_adapters import SmallAdapter, format_entry

DETAIL = "sac.critic_loss.scale"


class OneProbe(SmallAdapter):
    """A framework of a given version, whose probe counts its calls."""

    does = "half"

    def __init__(self, path, version="1.0", label="", calls=None):
        functions = {"list_probes": lambda: {(DETAIL, "library"): self._probe}}
        fields = {"expectations": path, "checkout": "SOME_HOME", "modules": ("stable_baselines3",)}
        super().__init__(functions, "some", version, label, **fields)
        self.calls = [] if calls is None else calls

    def _probe(self, inputs):
        self.calls.append(self._version)
        return registry.get_detail(DETAIL).variants[self.does].formula(inputs)


@pytest.fixture
def path(tmp_path):
    """Return a file that documents half until 2.0, and none from then on."""
    path = tmp_path / "some.toml"
    entries = (("half", {"until": "2.0"}), ("none", {"since": "2.0"}))
    path.write_text("".join(format_entry(DETAIL, name, **keys) for name, keys in entries))
    return path


def test_a_detail_is_judged_once_for_one_copy(path, monkeypatch):
    """Another version, another label, another checkout: each is asked for itself."""
    monkeypatch.delenv("SOME_HOME", raising=False)
    calls = []

    def query(**copy):
        (implementation,) = list_implementations(OneProbe(path, calls=calls, **copy), DETAIL)
        return implementation.judgement.variant_or_reason, len(calls)

    assert [query(), query()] == [("half", 1)] * 2
    assert [query(version="2.0"), query(version="2.0")] == [("half", 2)] * 2
    assert query(label="HEAD") == ("half", 3)
    monkeypatch.setenv("SOME_HOME", str(path))
    assert [query(), query()] == [("half", 4)] * 2


class SuiteFramework(OneProbe):
    """A framework of this suite: its documents are in the suite's baselines."""

    def expectations(self):
        return None


@pytest.fixture
def ours(path, monkeypatch):
    """Return the one implementation of a framework of this suite whose code does this; fresh."""
    folder = path.parent / "details"
    folder.mkdir()
    path.rename(folder / "some")
    monkeypatch.setattr(suite, "locate_baselines", lambda: path.parent)

    def make(does="half", version="1.0", calls=None):
        adapter = SuiteFramework(None, version, label=f"{path.parent}{does}", calls=calls)
        adapter.does = does
        return list_implementations(adapter, DETAIL)[0]

    return make


def test_inputs_of_the_catalogue_are_probed_once(ours):
    """A probe takes other inputs, too."""
    answer = ours().probe(q_values=[3.0, 4.0], reward=1.0)
    np.testing.assert_array_equal(answer.observed, [6.5])
    np.testing.assert_array_equal(answer.expected["none"], [13.0])
    assert answer.variant == "half"
    calls = []
    implementation = ours(calls=calls)
    for _ in range(2):
        assert implementation.probe(q_values=[3.0, -1.0], reward=0.5).variant_or_reason == "half"
        assert implementation.probe().variant_or_reason == "half"
    assert implementation.judgement.inputs == {}
    assert len(calls) == 1
    implementation.probe(reward=0.0)
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("inputs", "message"),
    [({"q_value": [3.0, 4.0]}, "has no input 'q_value'; did you mean 'q_values'?"),
     ({"reward": [1.0]}, "input 'reward' is [1.0]; expected a value like"),
     ({"q_values": [[3.0, 4.0]]}, "input 'q_values' is [[3.0, 4.0]]; expected a value like")],
)  # fmt: skip
def test_an_input_that_does_not_fit_is_an_error(ours, inputs, message):
    """Nothing is asked with an input that no probe reads, or of another form."""
    calls = []
    with pytest.raises(UserError) as raised:
        ours(calls=calls).probe(**inputs)
    assert message in str(raised.value)
    assert calls == []


def _errors_of_2_and_3(implementation):
    return implementation.probe(q_values=[3.0, 4.0], reward=1.0)


def _assert_stated(implementation, half=6.5, none=13.0):
    implementation.assert_documented(_errors_of_2_and_3(implementation), half=half, none=none)


def test_another_stated_variant_fails_with_the_numbers_and_the_inputs(ours):
    """So do inputs that do not separate variants; an answer to another detail is an error."""
    with pytest.raises(AssertionError) as raised:
        _assert_stated(ours("none"))
    text = str(raised.value)
    assert text.startswith(f"{DETAIL}: the variant 'none' (documented: half, since 1.0)\n")
    assert "  inputs: q_values = [3.0, 4.0], " in text
    assert "  observed: [13]\n  expected of half: [6.5] (" in text
    assert text.endswith(format_expectation_entry(DETAIL, "library", "none", "1.0"))
    implementation = ours()
    answer = implementation.probe(q_values=[1.0, 1.0], reward=1.0)
    with pytest.raises(AssertionError, match="scale: 2 variants match: half, none .documented"):
        implementation.assert_documented(answer, half=0.0, none=0.0)
    implementation = ours()
    answer = replace(_errors_of_2_and_3(implementation), detail="td3.critic_loss.scale")
    with pytest.raises(UserError, match="the judgement is about td3.critic_loss.scale"):
        implementation.assert_documented(answer, half=6.5, none=13.0)


def test_numbers_of_no_variant_fail_with_the_nearest(ours, monkeypatch):
    """7 is neither 6.5 nor 13; the nearest are listed."""
    probe = lambda _, inputs: [inputs["q_values"][0] + inputs["reward"] + 3]  # noqa: E731
    monkeypatch.setattr(OneProbe, "_probe", probe)
    with pytest.raises(AssertionError, match=f"^{DETAIL}: no variant matches") as text:
        _assert_stated(ours())
    assert "nearest variants by error (tolerance 1e-05): half (0.0048" in str(text.value)


def test_a_scope_that_the_framework_has_not_is_an_error(tmp_path):
    """Mistyped by a probe or in the file of expectations, it would be one more scope."""
    path = tmp_path / "some.toml"
    path.write_text(format_entry(DETAIL, "half", scope="libary"))
    words = r"unknown scope '{}'; did you mean 'library'\? \(known: library\); correct it, or"
    with pytest.raises(UserError, match=words.format("libary")) as told:
        list_implementations(OneProbe(path), DETAIL)
    assert str(told.value).startswith(str(path))
    probes = {"list_probes": lambda: {(DETAIL, "librray"): len}}
    probed = SmallAdapter(probes, version="1.0", expectations=path)
    with pytest.raises(UserError, match=f"list_probes.*some.*{words.format('librray')}"):
        list_implementations(probed, DETAIL)
    with pytest.raises(UserError, match="'some' names no file of expectations; expected one in"):
        list_implementations(SmallAdapter(probes, version="1.0"), DETAIL)


def test_inputs_that_separate_nothing_are_an_error(tmp_path):
    """If Q is right, the only stated variant has the same numbers as all others."""
    path = tmp_path / "one.toml"
    path.write_text(format_entry(DETAIL, "half"))
    (implementation,) = list_implementations(OneProbe(path), DETAIL)
    answer = implementation.probe(q_values=[1.0, 1.0], reward=1.0)
    with pytest.raises(UserError, match="the inputs do not tell 'half' from every other variant"):
        implementation.assert_documented(answer, half=0.0)


def test_an_input_that_the_probe_does_not_read_is_an_error(ours, monkeypatch):
    """It would be stated, and not asked; the catalogue's own number may be stated."""
    implementation = ours()
    monkeypatch.setattr(OneProbe, "_probe", lambda self, inputs: [inputs["reward"]])
    with pytest.raises(UserError, match="'q_values' is not read by the probe of .*, scope library"):
        implementation.probe(q_values=[3.0, 4.0], reward=1.0)
    implementation.probe(q_values=[3.0, -1.0], reward=1.0)


def test_an_input_that_no_formula_reads_is_an_error(ours, monkeypatch):
    """The expected numbers do not depend on it, whatever the probe makes of it."""
    monkeypatch.setattr(OneProbe, "_probe", lambda self, inputs: [inputs["discount"]])
    with pytest.raises(UserError, match="'discount' is not read by the catalogue's formulas and"):
        ours().probe(discount=0.5)


def test_an_error_of_a_framework_fails_its_detail_and_one_of_the_suite_leaves_it_unprobed(
    ours, monkeypatch
):
    """An exception of foreign code is the finding; one of a probe says nothing of the framework."""
    monkeypatch.setattr(OneProbe, "_probe", lambda self, inputs: create_mlp(-1, 1, []))
    with pytest.raises(AssertionError, match="could not be probed: RuntimeError: .* negative"):
        _assert_stated(ours())
    monkeypatch.setattr(OneProbe, "_probe", lambda self, inputs: inputs["no such input"])
    with pytest.raises(UserError, match="could not be probed: KeyError: 'no such input'"):
        _assert_stated(ours(version="1.1"))


def test_code_that_nobody_knows_is_an_error_and_no_failure(ours, monkeypatch):
    """An unprobed detail is an error of the suite, and no failure of the framework."""

    def unknown(self, inputs):
        raise Unprobed("a script of another shape", is_known=False)

    implementation = ours()
    monkeypatch.setattr(OneProbe, "_probe", unknown)
    text = f"{DETAIL}, {implementation.adapter.full_name}, scope library: could not be probed: a "
    with pytest.raises(UserError, match=f"^{re.escape(text)}"):
        _assert_stated(implementation)
    with pytest.raises(UserError, match=f"^{re.escape(text)}"):
        implementation.assert_documented_variant()


@pytest.mark.parametrize(
    ("stated", "message"),
    [({"half": 6.0, "none": 13.0}, "states [6] for 'half', but the catalogue's"),
     ({"half": 6.5, "none": [13.0, 13.0]}, "states [13, 13] for 'none'"),
     ({"half": 6.5, "halved": 6.5}, " has no variant 'halved'; did you mean 'half'?"),
     ({"half": 6.5, "quarter": 3.25}, "of some (scope library) list 'none' since 2.0")],
)  # fmt: skip
def test_a_test_that_states_something_wrong_is_an_error(ours, stated, message):
    """The numbers of a test and the formulas of the catalogue check each other."""
    implementation = ours()
    with pytest.raises(UserError) as raised:
        implementation.assert_documented(_errors_of_2_and_3(implementation), **stated)
    assert message in str(raised.value)


def test_a_foreign_framework_is_compared_with_its_own_documents(path):
    """Its documented variant is held against the catalogue's formula."""
    (foreign,) = list_implementations(OneProbe(path, label="other"), DETAIL)
    foreign.assert_documented(_errors_of_2_and_3(foreign), none=13.0)
    (changed,) = list_implementations(OneProbe(path, "2.0", label="other"), DETAIL)
    with pytest.raises(AssertionError, match="scale: half .documented: the variant 'none'"):
        changed.assert_documented(_errors_of_2_and_3(changed), half=6.5)


def test_the_documented_variant_of_the_catalogue_is_asserted(ours):
    """An undocumented detail fails."""
    implementation = ours(version="0.5")
    for claim in (implementation.assert_documented_variant, lambda: _assert_stated(implementation)):
        with pytest.raises(AssertionError, match="documented: nothing for some 0.5, .*; add an"):
            claim()
    ours().assert_documented_variant()
    with pytest.raises(AssertionError, match="^sac.critic_loss.scale: the variant 'none' .doc"):
        ours("none").assert_documented_variant()
