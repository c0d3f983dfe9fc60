"""Probes and defaults of two versions, compared."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from rlregress import frameworks
from rlregress.catalogue import registry
from rlregress.inside import probe_worker
from rlregress.model.upgrade_result import ProbeAnswer
from rlregress.probing.interface import Unprobed
from rlregress.upgrade.culprits import attribution
from rlregress.upgrade.evidence.version_fingerprints import (
    Fingerprint,
    _judge_raw_answer,
    compare_fingerprints,
    describe_unread_defaults,
    list_changed_defaults,
)
from tools.tests.small_adapters import SmallAdapter

SCALE = "sac.critic_loss.scale"


def _probed(probe, seconds=0.0):
    """An adapter that answers one detail, or fails to, and is imported for some seconds."""

    def probes():
        time.sleep(seconds)
        return {(SCALE, "library"): probe}

    return SmallAdapter({"list_probes": probes}, version="1.0", modules=("probed",))


def _raising(error):
    def probe(inputs):
        raise error

    return probe


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ModuleNotFoundError("No module named 'ale_py'", name="ale_py"), "package"),
        # what a framework itself says of an extra package
        (AssertionError("OpenCV is not installed, you can do pip install opencv"), "package"),
        (ModuleNotFoundError("No module named 'probed.x'", name="probed.x"), "error"),
        (Unprobed("other statements", is_known=False), "code"),
    ],
)
def test_why_a_probe_has_no_answer(monkeypatch, error, why):
    """A missing package of others is told from code of the framework that is gone or unknown."""
    monkeypatch.setattr(frameworks, "get_adapter", lambda name: _probed(_raising(error)))
    answer = probe_worker.probe_adapter("probed", {SCALE: {}})["observed"][f"{SCALE} library"]
    assert answer["why"] == why


SLOW_IMPORT = _probed(lambda _: [1.0], seconds=1.5)


@pytest.mark.parametrize("adapter", [SLOW_IMPORT, _probed(lambda _: time.sleep(600))])
def test_a_probe_that_time_is_over_for_is_late(monkeypatch, adapter):
    """Wherever the worker is then: it ends with all its answers, and not with an error."""
    monkeypatch.setattr(frameworks, "get_adapter", lambda name: adapter)
    # what takes long before the first probe is done
    probe_worker.probe_adapter("probed", {})
    answers = probe_worker.probe_adapter("probed", {SCALE: {}}, until=time.time() + 1)
    assert answers["observed"][f"{SCALE} library"]["why"] == "time"


def _print(**answers):
    return Fingerprint({}, (), {(SCALE, scope): answer for scope, answer in answers.items()})


def _answer(*observed):
    return _judge_raw_answer(SCALE, {"observed": list(observed)}, [])


def test_fingerprints_are_compared_by_variant():
    """Probed and the same, probed and different, and not probed: on one version or on both."""
    expected = registry.get_detail(SCALE).compute_expected_vectors()
    half, none = (_answer(*np.atleast_1d(expected[name])) for name in ("half", "none"))
    gone = ProbeAnswer(variant=None, observed=None, text="no cv2", why="package")
    unknown = _answer(*np.full(np.atleast_1d(expected["half"]).shape, 77.0))
    old = _print(one=half, two=half, three=gone, four=gone, six=half)
    new = _print(one=half, two=none, three=half, four=gone, five=half, six=unknown)
    details = compare_fingerprints(old, new)
    assert details.same == 1
    # numbers that no variant explains come last, and have no known consequence
    changed = [(d.scope, d.new.variant, bool(d.consequence)) for d in details.changed]
    assert changed == [("two", "none", True), ("six", None, False)]
    assert details.changed[0].variant_change == "half -> none"
    assert [(d.scope, d.label, d.why) for d in details.not_probed] == [
        ("five", "old", "no probe"), ("four", "old and new", "package"), ("three", "old", "package")
    ]  # fmt: skip


def test_details_that_neither_version_has_are_not_probed():
    """Absent from both, and documented of other versions alone: counted apart, nothing is open.

    What is documented of one of the versions, or absent from one alone, is a gap.
    """
    half = _answer(*np.atleast_1d(registry.get_detail(SCALE).compute_expected_vectors()["half"]))
    gone = ProbeAnswer(
        variant=None, observed=None, text="Unprobed: 1.0 has no trainer", why="absent"
    )
    old, new = _print(one=half, two=gone, three=gone), _print(one=half, two=gone, three=half)
    details = compare_fingerprints(old, new, {(SCALE, "two"), (SCALE, "three")})
    assert [d.scope for d in details.absent] == ["two"]
    assert [(d.scope, d.label, d.why) for d in details.not_probed] == [("three", "old", "absent")]
    assert (details.probed_count, details.total_count) == (1, 2)
    details = compare_fingerprints(old, new)
    assert not details.absent
    assert [d.scope for d in details.not_probed] == ["three", "two"]
    # where nothing could be probed, nothing is the same
    details = compare_fingerprints(_print(x=gone), _print(x=gone))
    assert (details.same, details.probed_count, details.total_count) == (0, 0, 1)


def test_details_of_other_versions_are_those_that_are_documented_of_none_of_these():
    """TorchRL installs its programs from 0.10.0 on; its losses are documented of all versions."""
    adapter = frameworks.get_adapter("torchrl")
    find = attribution.find_details_documented_for_other_versions
    later = find(adapter, "0.9.1", "0.9.2")
    assert ("atari.fire_reset", "script") in later
    assert (SCALE, "library") not in later
    assert len(later) > len(find(adapter, "0.9.2", "0.10.0")) > 0
    assert find(adapter, "0.9.1", "none") == set()


def test_two_unknown_answers_or_defaults_that_differ_are_a_change():
    """Numbers decide where no variant matches; defaults of both versions are compared by name."""
    size = len(np.atleast_1d(registry.get_detail(SCALE).compute_expected_vectors()["half"]))
    first, second, nan = (_answer(*[x] * size) for x in (77.0, 78.0, float("nan")))
    assert len(compare_fingerprints(_print(x=first), _print(x=second)).changed) == 1
    assert compare_fingerprints(_print(x=first), _print(x=first)).same == 1
    assert compare_fingerprints(_print(x=nan), _print(x=nan)).same == 1
    assert [name for name, _ in first.near][:1]
    old, new = _defaulting(batch=100, delay=2, old=1), _defaulting(batch=256, delay=2, new=1)
    (only,) = list_changed_defaults(old, new)
    assert str(only) == "td3 [library] `batch`: 100 -> 256"
    noise = [{"x.Noise": {"dt": dt, "x0": "0"}} for dt in ("0.01", "0.1")]
    old, new = (Fingerprint({}, (), {}, signatures=signatures) for signatures in noise)
    (only,) = list_changed_defaults(old, new)
    assert str(only) == "x.Noise `dt`: 0.01 -> 0.1"


def _defaulting(**values):
    cells = {"td3 library": {name: repr(value) for name, value in values.items()}}
    return Fingerprint({}, (), {}, cells)


def test_what_cannot_be_read_is_named():
    """Such defaults are not compared, and no change by that.

    What neither version can import lacks a package of others, and its names are read from source.
    """
    old = replace(_defaulting(batch=1), modules_unread={"x.extra": "no hydra"})
    broken = {"x.extra": "no hydra", "x.lost": "ImportError: no y"}
    new = Fingerprint({}, (), {}, unread={"sac library": "TypeError"}, modules_unread=broken)
    assert list_changed_defaults(old, new) == []
    assert describe_unread_defaults(old, new) == [
        "module x.lost on the new version: ImportError: no y",
        "sac library on the new version: TypeError",
    ]
