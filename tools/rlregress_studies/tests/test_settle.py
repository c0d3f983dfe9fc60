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


@pytest.mark.parametrize(
    ("says", "variant", "verdict"),
    [
        (("none",), "none", "confirmed"), (("half", "none"), "none", "confirmed"),
        # no version is documented to do that
        (("quarter",), "half", "refuted"),
    ],
)  # fmt: skip
def test_what_the_code_does_is_confirmed_and_what_no_version_does_refuted(
    make_adapter, says, variant, verdict
):
    """The probe shows one of the variants that the sentence allows, or another one."""
    settled = settle_claim(_claim(says=says), make_adapter(library=variant))
    assert (settled.verdict, settled.answers) == (verdict, {"library": variant})


@pytest.mark.parametrize(
    ("entry", "words"),
    [({"until": "1.5"}, "true before 1.5"), ({"since": "3.0"}, "true from 3.0 on")],
)
def test_what_another_version_does_is_outdated(make_adapter, entry, words):
    """The reason names the range of versions for which the claim is documented."""
    framework = make_adapter(format_entry(DETAIL, "none", **entry), library="half")
    settled = settle_claim(_claim(), framework)
    assert (settled.verdict, settled.reason) == ("outdated", words)


def test_a_claim_without_scope_holds_if_any_does(make_adapter):
    """The reason names the scope for which it holds; other versions count by scope, too."""
    framework = make_adapter(library="half", script="none")
    settled = settle_claim(_claim(), framework)
    assert (settled.verdict, settled.reason) == ("confirmed", "of script, not of library")
    assert settle_claim(_claim(scope="library"), framework).verdict != "confirmed"
    assert (
        settle_claim(_claim(), make_adapter(library="none", script="broken")).verdict == "confirmed"
    )
    framework = make_adapter(
        format_entry(DETAIL, "none", scope="trainer", until="1.5"), library="half"
    )
    assert settle_claim(_claim(scope="library"), framework).verdict == "refuted"


def test_what_cannot_be_asked_is_unprobed(make_adapter):
    """Without a probe in that scope, or with one that fails, no verdict is as recorded."""
    for framework, claim in [
        (make_adapter(), _claim()),
        (make_adapter(script="none"), _claim(scope="library")),
        (make_adapter(library="broken"), _claim()),
        (make_adapter(library="half", script="broken"), _claim()),
    ]:
        settled = settle_claim(claim, framework)
        assert (settled.verdict, settled.is_as_recorded) == ("unprobed", False)
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
