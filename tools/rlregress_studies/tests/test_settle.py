"""The verdict on a claim, on frameworks that are a few lines of Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rlregress_studies.claims.claim_files import Claim
from rlregress_studies.claims.claims_text import describe_claim_not_as_recorded
from rlregress_studies.claims.settle import settle_claim
from tools.tests.small_adapters import SmallAdapter, format_entry, make_probe_of_variant

DETAIL = "sac.critic_loss.scale"
NUMBER = itertools.count()


DEFAULTS = {
    ("td3", "library"): {"hidden_sizes": [400, 300], "discount": np.float64(0.99)},
    ("td3", "trainer"): {"discount": 0.9, "exploration_noise": None},
}


@pytest.fixture
def make_adapter(tmp_path):
    """Return a function that makes a framework with its expectations: scope -> its variant."""

    def make(*entries, **variants):
        path = tmp_path / f"{next(NUMBER)}.toml"
        path.write_text("\n".join(entries) or format_entry(DETAIL, "none", until="1.5"))
        # a probe of "broken", which is no variant, raises an error
        probes = {(DETAIL, s): make_probe_of_variant(DETAIL, v) for s, v in variants.items()}
        functions = {"list_probes": lambda: probes, "read_defaults": lambda: DEFAULTS}
        # answers are kept by name
        return SmallAdapter(functions, f"some{next(NUMBER)}", "2.0", expectations=path)

    return make


def _claim(**changed):
    keys = {
        "document": "A paper", "id": "one", "place": "Box 6", "quote": "omit this halving factor",
        "framework": "some", "detail": DETAIL, "says": ("none",), "verdicts": {"": "confirmed"},
        "where": "paper.toml",
    }  # fmt: skip
    return Claim(**(keys | changed))


#: entries (by default "none" until 1.5), variant by scope, the claim, its verdict and reason
SETTLED = {
    "the code does it": ([], {"library": "none"}, {}, "confirmed", ""),
    "one of two that it allows": (
        [], {"library": "none"}, {"says": ("half", "none")}, "confirmed", ""),
    # no version is documented to do that
    "no version does it": ([], {"library": "half"}, {"says": ("quarter",)}, "refuted", ""),
    "earlier versions did it": ([], {"library": "half"}, {}, "outdated", "true before 1.5"),
    "later versions do it": (
        [format_entry(DETAIL, "none", since="3.0")], {"library": "half"}, {},
        "outdated", "true from 3.0 on"),
    "one of two scopes does it": (
        [], {"library": "half", "script": "none"}, {}, "confirmed", "of script, not of library"),
    "another scope than that of the claim does it": (
        [], {"library": "half", "script": "none"}, {"scope": "library"}, "outdated", ""),
    "earlier versions did it in another scope": (
        [format_entry(DETAIL, "none", scope="trainer", until="1.5")], {"library": "half"},
        {"scope": "library"}, "refuted", ""),
    "beside a probe that fails": ([], {"library": "none", "script": "broken"}, {}, "confirmed", ""),
    "no probe": ([], {}, {}, "unprobed", ""),
    "no probe in its scope": ([], {"script": "none"}, {"scope": "library"}, "unprobed", ""),
    "a probe that fails": ([], {"library": "broken"}, {}, "unprobed", ""),
    "one of two probes fails": ([], {"library": "half", "script": "broken"}, {}, "unprobed", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", SETTLED)
def test_a_claim_is_settled_by_what_the_code_does(make_adapter, case):
    """Without a probe that answers, no verdict is as recorded, and none is to be recorded."""
    entries, variants, changed, verdict, reason = SETTLED[case]
    settled = settle_claim(_claim(**changed), make_adapter(*entries, **variants))
    assert settled.verdict == verdict
    assert reason in settled.reason
    if verdict == "unprobed":
        assert not settled.is_as_recorded
        assert "record verdict" not in describe_claim_not_as_recorded(settled)


@pytest.mark.parametrize(
    ("name", "value", "scope", "verdict"),
    [
        ("hidden_sizes", [400, 300], "", "confirmed"), ("hidden_sizes", [256, 256], "", "refuted"),
        ("hidden_sizes", "absent", "", "confirmed"),
        ("hidden_sizes", "absent", "library", "refuted"),
        ("exploration_noise", "none", "", "confirmed"),
        ("discount", 0.99, "", "confirmed"), ("discount", 0.9, "library", "refuted"),
        ("discount", 0.9, "script", "unprobed"),
    ],
)  # fmt: skip
def test_defaults_are_compared_as_values(make_adapter, name, value, scope, verdict):
    """Numbers of any type, lists, options that are off, and options that do not exist."""
    claim = _claim(detail="", default=f"td3.{name}", says=(value,), scope=scope)
    assert settle_claim(claim, make_adapter()).verdict == verdict


def test_the_report_says_what_to_record(make_adapter):
    """The text has the sentence, the observed variant, and the line to record."""
    text = describe_claim_not_as_recorded(settle_claim(_claim(), make_adapter(library="half")))
    first, *further = text.splitlines()
    assert first == "one: outdated (recorded: confirmed)"
    assert f"  some 2.0, {DETAIL}: says the variant 'none'; found library: half" in further
    assert "  true before 1.5" in further
    assert 'record verdict = { "<first>" = "confirmed", "<changed>" = "outdated" }' in text
    changed = _claim(verdicts={"1.0": "confirmed"})
    text = describe_claim_not_as_recorded(settle_claim(changed, make_adapter(library="half")))
    assert '"2.0" = "outdated" in its table' in text
