"""Claims of papers: verdicts on toy frameworks, and the page with counts and quotes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rlregress import suite
from rlregress.catalogue import requested_names
from rlregress.errors import UserError
from rlregress.missing_packages import MissingPackage
from rlregress.model.detail_answers import Item
from rlregress_studies.claims import claim_files, settle
from rlregress_studies.claims.claim_files import Claim, Framework
from rlregress_studies.claims.claims_text import (
    describe_claim_not_as_recorded,
    describe_claims_not_as_recorded,
    format_claims,
    format_index_rows,
)
from rlregress_studies.claims.settle import (
    build_settled_claim,
    probe_subjects_of_items,
    settle_claim,
)
from tests_behavior.every_commit import is_shown, is_touched
from tools.tests.small_adapters import SmallAdapter, format_entry, make_probe_of_variant


def _make_adapter(path):
    """Return the adapter of a framework of one version."""
    id = "sac.critic_loss.scale"
    probes = {(id, "library"): make_probe_of_variant(id, "half")}
    defaults = {("ppo", "library"): {"epochs": 10}}
    functions = {"list_probes": lambda: probes, "read_defaults": lambda: defaults}
    return SmallAdapter(functions, version="2.0", expectations=path)


def _settled(id, verdict="confirmed", version="2.0", **changed):
    keys = {
        "document": "A paper", "id": id, "place": "Box 6", "quote": "a factor |B|",
        "framework": "some", "detail": "sac.critic_loss.scale", "says": ("half",),
        "verdicts": {"": "confirmed"},
    }  # fmt: skip
    answers = {"library": "half", "script": "none"}
    return build_settled_claim(Claim(**(keys | changed)), version, verdict, answers, "of library")


FRAMEWORK = Framework(name="some", title="Some", version="2.0")
SETTLED = [
    _settled("a"),
    _settled("b", "refuted", version="1.0", note="Read so."),
    _settled("c", quote="another", place="Box 7", said_of="the algorithm"),
    _settled("d", document="A blog"),
]


def test_a_verdict_that_is_not_the_recorded_one_differs():
    """The document groups the answers by quote."""
    assert [text.split(":")[0] for text in describe_claims_not_as_recorded(SETTLED)] == ["b"]
    page = format_claims(SETTLED, [FRAMEWORK])
    assert "| A paper | some 1.0 | it | 0 | 1 | 0 | 0 | 0 |" in page
    assert "| A paper | some 2.0 | something else | 1 | 0 | 0 | 0 | 0 |" in page
    assert "| **all** |  |  | 3 | 1 | 0 | 0 | 0 |" in page
    assert page.count("### Box 6\n\n`` a factor |B| ``\n") == 2
    assert "| **refuted** (of library) |\n\nRead so.\n\n### Box 7" in page


def test_the_index_has_a_row_for_every_item(tmp_path):
    """The row has its checks with their results, or the reason why there is none."""
    (tmp_path / "empty.toml").touch()
    items = [
        Item(id="a", place="Box 6", title="a factor", details=("sac.critic_loss.scale",),
             not_code="the rest"),
        Item(id="b", place="heading 2", title="rewards", not_code="about a task"),
        Item(id="c", place="Table 6", title="settings", defaults=("ppo.epochs", "ppo.other")),
    ]  # fmt: skip
    answered = probe_subjects_of_items(items, [_make_adapter(tmp_path)])
    assert list(format_index_rows(items, answered, [FRAMEWORK]))[-5:] == [
        "| Box 6 | a factor | `sac.critic_loss.scale` | half (library) |",
        "|  |  | *no code*: the rest |  |",
        "| heading 2 | rewards | *no code*: about a task |  |",
        "| Table 6 | settings | default `ppo.epochs` | 10 (library) |",
        "|  |  | default `ppo.other` | absent (library) |",
    ]


def pytest_generate_tests(metafunc):
    """Make one test per checkable sentence and per copy of the framework that it is about.

    Every commit settles some claims about two frameworks, and all about a framework that it
    changes: ``tests_unit`` asks each of them for the details that claims are about.
    """
    if "claim" not in metafunc.fixturenames:
        return
    try:
        names = metafunc.config.getoption("--framework")
        adapters = requested_names.select_adapters(
            requested_names.split_comma_separated_names("--framework", names)
        )
        claims = claim_files.load_claims(suite.locate_baselines() / "claims")
        pairs = [
            pytest.param(
                claim, adapter, id=f"{claim.id}@{adapter.label}".rstrip("@"),
                marks=() if _is_settled(number, adapter.name) else pytest.mark.nightly,
            )
            for number, claim in enumerate(claims)
            for adapter in adapters
            if claim.framework == adapter.name and not claim.not_checkable
        ]  # fmt: skip
    except UserError as error:
        raise pytest.UsageError(str(error)) from None
    metafunc.parametrize(("claim", "framework_of_claim"), pairs)


def _is_settled(number, framework):
    return is_touched(framework) or (is_shown(framework) and number % 16 == 0)


def test_claim_has_the_recorded_verdict(claim, framework_of_claim):
    """The code confirms or refutes the sentence as recorded."""
    settled = settle.settle_claim(claim, framework_of_claim)
    if settled.lacking:
        raise MissingPackage(settled.lacking)
    assert settled.is_as_recorded, describe_claim_not_as_recorded(settled)


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
        fields = {"expectations": path, "scopes": ("library", "trainer", "script")}
        return SmallAdapter(functions, f"some{next(NUMBER)}", "2.0", **fields)

    return make


def _claim(**changed):
    keys = {
        "document": "A paper", "id": "one", "place": "Box 6", "quote": "omit this halving factor",
        "framework": "some", "detail": DETAIL, "says": ("none",), "verdicts": {"": "confirmed"},
        "where": "paper.toml",
    }  # fmt: skip
    return Claim(**(keys | changed))


#: entries (by default "none" until 1.5), variant by scope, the claim, its verdict and reason
SETTLEMENTS = {
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


@pytest.mark.parametrize("case", SETTLEMENTS)
def test_a_claim_is_settled_by_what_the_code_does(make_adapter, case):
    """Without a probe that answers, no verdict is as recorded, and none is to be recorded."""
    entries, variants, changed, verdict, reason = SETTLEMENTS[case]
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
