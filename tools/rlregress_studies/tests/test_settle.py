"""The verdict on a claim, on frameworks that are a few lines of Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rlregress.catalogue import registry
from rlregress_studies.claims.claim_files import Claim
from rlregress_studies.claims.claims_text import describe_failure
from rlregress_studies.claims.settle import settle_claim
from tools.tests.small_adapters import SmallAdapter

DETAIL = "sac.critic_loss.scale"
NUMBER = itertools.count()


class VariantAdapter(SmallAdapter):
    """A framework whose probes return what the named variants expect."""

    def __init__(self, path, version="2.0", **variants):
        functions = {"list_probes": self._probes, "read_defaults": self._defaults}
        # answers are kept by name
        super().__init__(functions, f"some{next(NUMBER)}", version, expectations=path)
        self.found = variants

    def _probes(self):
        return {(DETAIL, scope): self._probe(variant) for scope, variant in self.found.items()}

    def _probe(self, variant):
        def probe(inputs):
            if variant == "broken":
                raise RuntimeError("gone")
            return registry.get_detail(DETAIL).compute_expected_vectors()[variant]

        return probe

    def _defaults(self):
        return {
            ("td3", "library"): {"hidden_sizes": [400, 300], "discount": np.float64(0.99)},
            ("td3", "trainer"): {"discount": 0.9, "exploration_noise": None},
        }


def _entry(scope, variant, **changes):
    keys = {"id": DETAIL, "scope": scope, "variant": variant, "since": "1.0", "source": "s"}
    keys |= changes
    return "\n".join(["[[detail]]", *(f'{key} = "{value}"' for key, value in keys.items()), ""])


@pytest.fixture
def make_adapter(tmp_path):
    """Return a function that makes a framework with its expectations."""

    def make(*entries, **options):
        path = tmp_path / f"{next(NUMBER)}.toml"
        path.write_text("\n".join(entries) or _entry("library", "none", until="1.5"))
        return VariantAdapter(path, **options)

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
    framework = make_adapter(_entry("library", "none", **entry), library="half")
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
    framework = make_adapter(_entry("trainer", "none", until="1.5"), library="half")
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
        assert (settled.verdict, settled.as_recorded) == ("unprobed", False)
        assert "record verdict" not in describe_failure(settled)


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
    text = describe_failure(settle_claim(_claim(), make_adapter(library="half")))
    first, *further = text.splitlines()
    assert first == "one: outdated (recorded: confirmed)"
    assert f"  some 2.0, {DETAIL}: says the variant 'none'; found library: half" in further
    assert "  true before 1.5" in further
    assert 'record verdict = { "<first>" = "confirmed", "<changed>" = "outdated" }' in text
    changed = _claim(verdicts={"1.0": "confirmed"})
    text = describe_failure(settle_claim(changed, make_adapter(library="half")))
    assert '"2.0" = "outdated" in its table' in text
