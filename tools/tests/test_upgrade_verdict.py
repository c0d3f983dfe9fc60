"""From what was found on two sides to one verdict, one exit code and one report."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from rlregress import frameworks
from rlregress.details import catalogue
from rlregress.frameworks import ask
from rlregress.frameworks.base import Adapter, Unprobed
from rlregress.reporting import upgrade as report
from rlregress.reporting import upgrade_data, upgrade_text
from rlregress.tracing.compare import Comparison, Divergence
from rlregress.tracing.run import Side
from rlregress.tracing.trace import Event, Part, Trace
from rlregress.upgrade import coverage, explained, fingerprints, found, physics, returns, wanted
from rlregress.upgrade import traced as traces
from rlregress.upgrade.environments import Prepared

SB3 = frameworks.get("sb3")
FILE = f"{SB3.modules[0]}/sac/sac.py"
SCALE = fingerprints.ChangedDetail("sac.critic_loss.scale", "library", "half", "none")
GAMMA = fingerprints.ChangedDetail("td3.target.minimum", "library", "min", "first")


def trace(failure=""):
    """A trace of one loss."""
    event = Event(0, "backward", "loss", FILE, 276, "train", {"loss": Part("d", 8.4, (8.4,))})
    lines = {FILE: [[1, 2], [1, 2, 3, 4]]}
    return Trace({"failure": failure, "seeded": [], "lines": lines}, (event,))


def traced(algorithm="sac", verdict="equal", failures=(), repeats=True):
    """An algorithm on both sides; diverged ones part at a loss of twice the value."""
    a, b = trace("A" in failures and "E: no" or ""), trace("B" in failures and "E: no" or "")
    first = None
    if verdict == "diverged":
        other = Event(0, "backward", "loss", FILE, 276, "train", {"loss": Part("e", 16.8, (16.8,))})
        first = Divergence("loss", "loss", a.events[0], other, ())
    said = dict.fromkeys(failures, "Traceback\nE: no")
    comparison = Comparison(verdict, 1, first)
    return traces.Traced(algorithm, comparison, a, b, repeats, (), said)


def of(*trainings, details=(), alone=(), judged=None):
    """What was found of a framework."""
    versions = ({"package": "1"}, {"package": "2"})
    return found.OfFramework(
        SB3, versions, list(details), list(alone), (9, 9), list(trainings), returns=judged
    )


def upgrade(*frameworks_, physics=()):
    """The whole of it."""
    sides = [
        Prepared(wanted.parse("a==1"), Side("A"), "environment", why=("a 1 needs b<2",)),
        Prepared(wanted.parse("installed"), Side("B"), "installed"),
    ]
    return found.Upgrade(*sides, list(frameworks_), list(physics))


def alone(why):
    """A detail that side A could not be asked."""
    return fingerprints.OneSided("atari.warp_frame", "library", "A", why, "no cv2")


def judged(verdict):
    """What the trainings say."""
    return returns.Verdict(verdict, ("cell: " + verdict,))


CASES = {
    "equal traces acquit": (of(traced()), "unchanged", 0),
    "reordered arithmetic acquits": (of(traced(verdict="close")), "unchanged", 0),
    "a diverged trace is a change": (of(traced(verdict="diverged")), "changed", 3),
    "a detail alone is a change": (of(traced(), details=[SCALE]), "changed", 3),
    "a missing package is none": (of(traced(), alone=[alone("package")]), "unchanged", 0),
    "unknown code is none": (of(traced(), alone=[alone("code")]), "unchanged", 0),
    "a probe that fails is one": (of(traced(), alone=[alone("error")]), "changed", 3),
    "what does not repeat proves nothing": (of(traced(repeats=False)), "changed", 3),
    "returns that hold": (
        of(traced(verdict="diverged"), judged=judged("holds")), "holds", 0),
    "returns that improved": (
        of(traced(verdict="diverged"), judged=judged("improved")), "improved", 0),
    "returns that regressed": (
        of(traced(verdict="diverged"), judged=judged("regressed")), "regressed", 1),
    "returns that cannot tell": (
        of(traced(verdict="diverged"), judged=judged("inconclusive")), "inconclusive", 3),
    "an algorithm without stored runs stays a change": (
        of(traced(verdict="diverged"), traced("dqn", "diverged"), judged=judged("holds")),
        "changed", 3),
    "a crash on one side": (of(traced(failures=("B",))), "could not judge", 2),
    "a crash on both sides": (of(traced(failures=("A", "B"))), "could not judge", 2),
    "a regression beside a crash": (
        of(traced(verdict="diverged"), traced("td3", failures=("B",)), judged=judged("regressed")),
        "regressed", 1),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_was_found_comes_to_one_verdict(case):
    """Each kind of finding has its verdict and its exit code."""
    framework, verdict, code = CASES[case]
    assert (upgrade(framework).verdict, upgrade(framework).exit_code) == (verdict, code)


def test_the_worst_framework_decides():
    """One framework that changed is not acquitted by another one that did not."""
    assert upgrade(of(traced()), of(traced(verdict="diverged"))).verdict == "changed"


def test_physics_that_moved_is_a_change():
    """Equal traces on the built-in environments do not acquit another physics."""
    row, other = {"rows": [[0.0, 1.0], [0.5, 2.0]]}, {"rows": [[0.0, 1.0], [0.5, 2.5]]}
    moved = physics.compared({"x": row, "y": row}, {"x": other, "y": row})
    assert [(m.step, m.at_first) for m in moved] == [(1, 0.5), (None, 0.0)]
    assert upgrade(of(traced()), physics=moved).verdict == "changed"
    assert upgrade(of(traced()), physics=moved[1:]).verdict == "unchanged"


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ({"error": "gone"}, {"rows": [[0.0]]}, "not on side A: gone"),
        ({"error": "gone"}, {"error": "gone"}, "on neither side: x"),
        ({"rows": [[0.0, 1.0]]}, {"rows": [[0.0, 1.0, 2.0]]}, "the observations have 1 and 2"),
        ({"rows": [[0.0, 1.0]]}, {"rows": [[0.0, 1.0]] * 2}, "episodes end elsewhere"),
    ],
)
def test_an_environment_that_cannot_be_compared_says_why(a, b, said):
    """An environment that a side lacks, or whose observations changed shape, is named."""
    text = "\n".join(
        upgrade_text.lines(upgrade(of(traced()), physics=physics.compared({"x": a}, {"x": b})))
    )
    assert said in text


def test_only_traces_that_part_are_recorded_again():
    """Equal traces of two processes repeat each other; others are held against repetitions."""
    parts = {"A": 8.4, "B": 16.8, "C": 9.9}
    recorded = {}
    for name, value in parts.items():
        part = Part(name, value, (value,))
        event = Event(0, "optimizer", "Adam", FILE, 276, "train", {"parameters": part})
        recorded[name] = Trace({"failure": "", "seeded": [], "lines": {}}, (event,))
    again = []

    def compared(b, *repetitions):
        def record():
            again.append(b)
            return tuple(recorded[name] for name in repetitions)

        return traces.compared("sac", recorded["A"], recorded[b], record)

    assert (compared("A").proved, again) == (True, [])
    parted = compared("B", "A", "B")
    assert (parted.comparison.verdict, parted.repeats, again) == ("diverged", True, ["B"])
    for pair, label in (("CB", "side A"), ("AC", "side B")):
        loose = compared("B", *pair)
        assert not loose.repeats
        assert loose.word == "diverged, but does not repeat itself"
        assert any(note.startswith(f"{label}: the trace does not") for note in loose.notes)


def test_a_crash_on_one_side_is_one_sentence():
    """The sentence names the algorithm, the side and the error, and stands at the top."""
    text = upgrade_text.lines(upgrade(of(traced(failures=("B",)))))
    assert "- sac: the training ended in an error on side B only: E: no" in text[:6]


def test_a_changed_detail_and_a_diverged_trace_are_connected_by_name():
    """SAC's factor explains SAC's trace, because its code is where the trace parts."""
    framework = of(traced(verdict="diverged"), details=[GAMMA, SCALE])
    text = "\n".join(upgrade_text.lines(upgrade(framework)))
    assert "explained by sac.critic_loss.scale [library]: half -> none" in text
    assert "explained by td3" not in text
    assert upgrade_data.as_json(upgrade(framework))["frameworks"]["sb3"]["traces"]["sac"][
        "details"
    ] == [{"id": SCALE.id, "scope": "library", "sure": True}]


def test_a_detail_of_another_algorithm_explains_nothing():
    """A change of TD3 is not offered as the reason of a change of SAC."""
    first = traced(verdict="diverged").comparison.first
    assert explained.links(SB3, "sac", [GAMMA], first) == []
    assert explained.links(SB3, "sac", [SCALE], None) == []


def test_the_report_begins_with_one_line_for_each_question():
    """Who has to decide reads how many of what there are before any list."""
    row, other = {"rows": [[0.0, 1.0]]}, {"rows": [[0.0, 2.0]]}
    moved = physics.compared({"x": row, "y": row}, {"x": other, "y": row})
    framework = of(traced(), traced("td3", "diverged"), details=[SCALE])
    text = upgrade_text.lines(upgrade(framework, physics=moved))
    assert text[4:7] == [
        "- traces: 1 equal, 1 diverged",
        f"- {SB3.title}: 1 of 9 details not done alike, 0 other defaults",
        "- physics: 1 of 2 environments moved",
    ]


def test_the_report_states_what_an_acquittal_covers():
    """Shares of both sides and the lines that were not reached are in the report."""
    found = upgrade(of(traced(), traced("td3")))
    assert any("| sac | equal | 1 | 50% and 50% |" in line for line in upgrade_text.lines(found))
    assert f"- `{FILE}` 3-4 (sac, td3)" in upgrade_text.not_reached(found.traced)


def test_the_report_says_why_a_side_is_an_environment_of_its_own():
    """The cap that was not met is in the report."""
    assert "- because a 1 needs b<2" in upgrade_text.lines(upgrade(of(traced())))


def test_a_detail_of_one_side_is_said_and_not_counted():
    """A missing package is named as what it is."""
    text = "\n".join(upgrade_text.lines(upgrade(of(traced(), alone=[alone("package")]))))
    assert "no change of the framework" in text
    assert "`atari.warp_frame` [library], not on side A: no cv2" in text


def test_the_summary_goes_where_the_platform_shows_it(tmp_path, monkeypatch):
    """Both files are written, and the summary is appended to the platform's file."""
    summary = tmp_path / "summary"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    report.write(upgrade(of(traced())), tmp_path / "report")
    text = (tmp_path / "report" / "upgrade.md").read_text()
    assert summary.read_text() == "before\n" + text
    data = json.loads((tmp_path / "report" / "upgrade.json").read_text())
    assert (data["verdict"], data["exit_code"]) == ("unchanged", 0)


class Probed(Adapter):
    """Answers one detail, or fails to."""

    name = title = "probed"
    modules = ("probed",)

    def __init__(self, probe):
        self._probe = probe

    def probes(self):
        """One probe."""
        return {(SCALE.id, "library"): self._probe}

    def trace_trainings(self):
        """None."""
        return {}


def _raising(error):
    def probe(inputs):
        raise error

    return probe


def _assertion(inputs):
    raise AssertionError("OpenCV is not installed, you can do pip install opencv")


PROBES = {
    "package": _raising(ModuleNotFoundError("No module named 'ale_py'", name="ale_py")),
    "error": _raising(ModuleNotFoundError("No module named 'probed.x'", name="probed.x")),
    "code": _raising(Unprobed("other statements", known=False)),
}


@pytest.mark.parametrize("why", PROBES)
def test_why_a_probe_has_no_answer(monkeypatch, why):
    """A missing package of others is told from code of the framework that is gone or unknown."""
    monkeypatch.setattr(frameworks, "get", lambda name: Probed(PROBES[why]))
    answer = ask.answers("probed", {SCALE.id: {}})["observed"][f"{SCALE.id} library"]
    assert answer["why"] == why


def test_a_missing_package_in_words_is_a_missing_package(monkeypatch):
    """What a framework says itself of an extra package that is not installed counts as such."""
    monkeypatch.setattr(frameworks, "get", lambda name: Probed(_assertion))
    answer = ask.answers("probed", {SCALE.id: {}})["observed"][f"{SCALE.id} library"]
    assert answer["why"] == "package"


def _print(**answers):
    return fingerprints.Fingerprint(
        {}, (), {(SCALE.id, scope): answer for scope, answer in answers.items()}
    )


def _answer(*observed):
    return fingerprints._answer(SCALE.id, {"observed": list(observed)})


def test_fingerprints_are_compared_by_variant():
    """Another variant is a change; an answer of one side only is none; nothing on both is none."""
    expected = catalogue.get(SCALE.id).expected()
    half, none = (_answer(*np.atleast_1d(expected[name])) for name in ("half", "none"))
    lost = fingerprints.Answer(None, None, "no cv2", "package")
    a = _print(one=half, two=half, three=lost, four=lost)
    b = _print(one=half, two=none, three=half, four=lost, five=half)
    details, single = fingerprints.changed(a, b)
    assert [(d.scope, d.a, d.b) for d in details] == [("two", "half", "none")]
    assert [(d.scope, d.side, d.why) for d in single] == [
        ("five", "A", "no probe"), ("three", "A", "package")
    ]  # fmt: skip


def test_two_unknown_answers_that_differ_are_a_change():
    """Where no variant matches on either side, the numbers decide."""
    size = len(np.atleast_1d(catalogue.get(SCALE.id).expected()["half"]))
    one, other = _answer(*[77.0] * size), _answer(*[78.0] * size)
    assert len(fingerprints.changed(_print(x=one), _print(x=other))[0]) == 1
    assert fingerprints.changed(_print(x=one), _print(x=one)) == ([], [])


def test_the_trainings_verdict_is_of_returns():
    """Only tests of returns come in; a broken one is no verdict on the framework."""
    verdict = {"verdict": "holds", "effect_fraction": 0.02, "failed": 0}
    entry = {
        "test": "tests_performance/t.py::t[sb3-sac]",
        "framework": "sb3",
        "tier": "performance",
    }
    good = [{**entry, "outcome": "passed", "verdict": verdict}]
    made = returns.of_evidence("sb3", good, ["sac"], None)
    assert made.verdict == "holds"
    assert made.lines == ("sb3-sac: holds, +2% of the stored returns' scale",)
    broken = [{**entry, "outcome": "error", "message": "no mujoco"}]
    assert returns.of_evidence("sb3", broken, ["sac"], None).verdict == "could not judge"
    assert returns.of_evidence("sb3", [], ["sac"], None).verdict == "could not judge"


def test_ranges_of_lines():
    """Lines are shown as a reader wants them."""
    assert coverage.ranges({3, 1, 2, 7}) == "1-3, 7"


def _defaulting(**values):
    cells = {"td3 library": {name: repr(value) for name, value in values.items()}}
    return fingerprints.Fingerprint({}, (), {}, cells)


def test_another_default_is_a_change():
    """What a user gets who sets nothing is compared, of what both sides have."""
    a, b = _defaulting(batch=100, delay=2, old=1), _defaulting(batch=256, delay=2, new=1)
    (only,) = fingerprints.changed_defaults(a, b)
    assert (only.algorithm, only.scope, only.name, only.a, only.b) == (
        "td3", "library", "batch", "100", "256"
    )  # fmt: skip
    framework = replace(of(traced()), defaults=[only])
    assert upgrade(framework).verdict == "changed"
    assert "- td3 [library] `batch`: 100 -> 256" in upgrade_text.lines(upgrade(framework))


def test_defaults_that_cannot_be_read_are_said():
    """They are not compared, and no change by that."""
    unread = fingerprints.Fingerprint({}, (), {}, "TypeError: no such keyword")
    assert fingerprints.changed_defaults(_defaulting(batch=1), unread) == []
    framework = replace(of(traced()), unread=("side B: TypeError: no such keyword",))
    text = "\n".join(upgrade_text.lines(upgrade(framework)))
    assert upgrade(framework).verdict == "unchanged"
    assert "not compared, because they cannot be read on side B: TypeError" in text


def test_what_is_documented_of_a_change_is_said():
    """A reader learns since when a detail is done so, and where that is written."""
    change = fingerprints.ChangedDetail("nstep.window", "library", "one_step", "n_rewards")
    text = "\n".join(upgrade_text.lines(upgrade(of(traced(), details=[change]))))
    assert "documented: one_step since 2.0.0 until 2.7.0: There are no n-step returns yet" in text
    assert "n_rewards since 2.7.0: https://github.com" in text
    assert "every training that was traced does the same" in text.lower()
    unknown = fingerprints.ChangedDetail("nstep.window", "library", "?", "none of them")
    assert explained.documented(SB3, unknown) == []
