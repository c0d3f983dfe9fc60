"""From the findings on two versions to one verdict, one exit code and one report."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace

import pytest

from rlregress import frameworks
from rlregress.cli import upgrade as upgrade_command
from rlregress.errors import UserError
from rlregress.model import differences as model
from rlregress.model.code import CODE_CHANGED, ChangedPiece, Function
from rlregress.model.differences import DOCUMENTED, VIOLATED, Entry
from rlregress.model.loaded_files import LoadedFile
from rlregress.model.recorded_traces import VERSIONS, ComparedTraining, Crash, UncomparedTraining
from rlregress.model.upgrade_result import (
    UNDOCUMENTED,
    Branch,
    ChangedDefault,
    Culprits,
    DetailResults,
    FrameworkResult,
    NamedLine,
    PieceExecution,
    ProbeAnswer,
    ReturnsVerdict,
    ScriptNames,
    ScriptResult,
    Tally,
    UnprobedDetail,
    Upgrade,
    group_details_by_functions,
)
from rlregress.report import markdown_page, short_summary, upgrade_data, upgrade_text
from rlregress.report.html import upgrade_page
from rlregress.report.html.page import PageInfo
from rlregress.trace.child_processes import Deadline, limit_processes
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.culprits import attribution
from rlregress.upgrade.differences.public_names import PublicChange
from rlregress.upgrade.evidence import compared_trainings, return_gate, saved_files_comparison
from rlregress.upgrade.evidence.version_fingerprints import make_changed_detail
from rlregress.upgrade.verdict import accepted, entries
from rlregress.upgrade.versions import requested
from rlregress.upgrade.versions.prepared_versions import PreparedVersion
from tools.tests.upgrade import small_traces

SB3 = frameworks.get_adapter("sb3")
FILE = f"{SB3.framework.modules[0]}/sac/sac.py"
TRAIN = (FILE, "SAC.train")
LOSS, TWICE = (small_traces.loss(276, value=v, file=FILE, function="train") for v in (8.4, 16.8))
FACTS = PageInfo("a title", "today", 1.0, "a machine", "a command")
GONE = Entry(kind=model.PUBLIC, name="frame.logger.read_csv", state=model.DIFFERS)
BATCH = ChangedDefault(owner="td3 [library]", name="batch", old="100", new="256")


def said(variant, executed=TRAIN):
    """An answer of one variant, by a probe that enters a function."""
    return ProbeAnswer(variant=variant, observed=(8.5,), text=variant, called=frozenset([executed]))


SCALE = make_changed_detail(("sac.critic_loss.scale", "library"), said("half"), said("none"))
GAMMA = make_changed_detail(
    ("td3.target.minimum", "library"), said("min", ("td3.py", "f")), said("first", ("td3.py", "f"))
)


def function(name="SAC.train", file=FILE):
    """A function that differs, at lines 270 to 280."""
    own = Function(name=name, first=270, last=280, code="code")
    return ChangedPiece(
        file=file, name=name, how=CODE_CHANGED, old=own, new=own, paths=(None, None)
    )


def reached(*trainings, details=(), one_way=(), algorithms=("sac",)):
    """How trainings went through the function that differs."""
    return PieceExecution(function=function(), trainings=trainings, details=details,
                          one_way=one_way, algorithms=algorithms)  # fmt: skip


def trace(unsupported=""):
    """A trace of one loss."""
    return small_traces.trace(
        LOSS, not_offered=unsupported,
        lines={FILE: [[1, 2], [1, 2, 3, 4]]}, functions={FILE: ["SAC.train"]},
    )  # fmt: skip


def traced(name="sac", verdict="equal", repeats=True, crash=None, not_compared=0):
    """A training on both versions; diverged ones differ at a loss of twice the value."""
    first = small_traces.divergence(LOSS, TWICE) if verdict == "diverged" else None
    failed = crash and Crash(label=crash, error="E: no", at="f:1 g", by="h:2 i")
    return small_traces.traced(
        name, trace(), trace(), verdict, first, not_compared, repeats=repeats, crash=failed
    )


def lost(name="sac dictionary", labels=("new",), supported=True):
    """A training that ended in an error on some versions."""
    why = dict.fromkeys(labels, "it ended in an error: E: no")
    return UncomparedTraining(name=name, reasons=why, supported=dict.fromkeys(VERSIONS, supported))


def of(*trainings, changed=(), not_probed=(), standing=None, returned=None, **given):
    """What was found of a framework."""
    held = tuple(t for t in trainings if isinstance(t, ComparedTraining))
    gone = tuple(t for t in trainings if isinstance(t, UncomparedTraining))
    details = DetailResults(same=9, changed=tuple(changed), not_probed=tuple(not_probed))
    stands = {(d.id, d.scope): standing or UNDOCUMENTED for d in changed}
    checks = entries.make_training_entries(held, gone, ())
    evidence = entries.map_checks_to_states(checks, {})
    pieces = entries.make_code_entries(given.get("executions", ()), evidence, (), ())
    defaults = given.get("defaults", ()), given.get("unread", ())
    made = FrameworkResult(
        name=SB3.name, title=SB3.framework.title, module=SB3.framework.modules[0],
        versions=({"package": "1"}, {"package": "2"}),
        entries=(
            *checks, *entries.make_detail_entries(details, stands),
            *entries.make_default_entries(*defaults), *pieces,
        ),
        details=details, standing=stands, traced=held, not_traced=gone,
        documented={
            (d.id, d.scope): attribution.describe_documented_variants(SB3, d) for d in changed
        },
        **given,
    )  # fmt: skip
    if returned is None:
        return replace(made, stored=frozenset({"sac"}))
    entry = entries.make_returns_entry(returned, SB3.name)
    judged = ReturnsVerdict(verdict=returned, lines=(f"cell: {returned}",))
    return made.add_returns_verdict(judged, frozenset({"sac"}), entry)


def upgrade(*frameworks_, physics=(), script=None, **given):
    """The whole of it."""
    parse, why = requested.parse_requested_version, ("a 1 needs b<2",)
    old = PreparedVersion(parse("a==1"), Runtime("old"), "environment", why=why)
    new = PreparedVersion(parse("installed"), Runtime("new"), "installed")
    beside = (*entries.make_environment_entries(physics), *given.pop("other_packages", ()))
    return Upgrade(
        old=old.info, new=new.info, frameworks=tuple(frameworks_),
        physics=tuple(physics), script=script, other_packages=beside, **given,
    )  # fmt: skip


def report(result):
    """The report as Markdown."""
    return markdown_page.format_page_as_markdown(upgrade_page.make_page_of_upgrade(result, FACTS))


def steps(**given):
    """Return the next steps of an upgrade."""
    return upgrade_page.make_cards_of_upgrade(upgrade(**given), FACTS)[0].steps


def missing(count=1):
    """Details that could not be probed."""
    detail = UnprobedDetail(id="atari.warp_frame", scope="", label="new", why="error",
                       text="AttributeError: no such thing", error_origin="suite")  # fmt: skip
    return [replace(detail, scope=str(n)) for n in range(count)]


PARTED = traced(verdict="diverged")
CASES = {
    "equal traces": (of(traced(), executions=(reached("sac"),)), "unchanged", 0),
    "rounding": (of(traced(verdict="close")), "close", 0),
    "rounding up to an event from which on nothing is compared": (
        of(traced(verdict="close", not_compared=3)), "partly checked", 0),
    "and the code that such a training executed": (
        of(traced(verdict="close", not_compared=3), executions=(reached("sac"),)),
        "partly checked", 0),
    "a detail that could not be probed is no equality": (
        of(traced(), not_probed=missing()), "partly checked", 0),
    "a scenario that ends in an error on both versions": (
        of(traced("sac gsde"), lost(labels=VERSIONS)), "partly checked", 0),
    "one that neither version has": (
        of(traced(), lost(labels=VERSIONS, supported=False)), "unchanged", 0),
    "a changed function that nothing executed": (
        of(traced(), executions=(reached(),)), "could not judge", 2),
    "one that only a probe executed": (
        of(traced(), executions=(reached(details=("x",)),)), "could not judge", 2),
    "defaults that cannot be read": (
        of(traced(), unread=("td3 [library] on the old version: no",)), "partly checked", 0),
    "a diverged trace is a change": (of(PARTED), "changed", 3),
    "a detail alone is a change": (of(traced(), changed=[SCALE]), "changed", 3),
    "one that is documented otherwise": (
        of(traced(), changed=[SCALE], standing=VIOLATED), "regressed", 1),
    "one that is documented so": (
        of(traced(), changed=[SCALE], standing=DOCUMENTED), "changed as documented", 0),
    "a documented detail beside a diverged trace": (
        of(PARTED, changed=[SCALE], standing=DOCUMENTED), "changed", 3),
    "another default is a change": (of(traced(), defaults=(BATCH,)), "changed", 3),
    "what does not repeat proves nothing": (of(traced(repeats=False)), "could not judge", 2),
    "beside what does it is a gap": (
        of(traced(repeats=False), traced("td3")), "partly checked", 0),
    "a training that nothing else was compared with": (of(lost()), "could not judge", 2),
    "nothing is proved of the code that it executed": (
        of(traced(repeats=False), executions=(reached("sac"),)), "could not judge", 2),
    "the new version fails": (of(traced(crash="new")), "the new version fails", 1),
    "the old version failed": (of(traced(crash="old")), "repaired", 0),
    "returns that hold": (of(PARTED, returned="holds"), "holds", 0),
    "and settle the code that differs": (
        of(PARTED, executions=(reached("sac"),), returned="holds"), "holds", 0),
    "returns that improved": (of(PARTED, returned="improved"), "improved", 0),
    "returns that regressed": (of(PARTED, returned="regressed"), "regressed", 1),
    "returns that cannot tell": (of(PARTED, returned="inconclusive"), "inconclusive", 3),
    "an algorithm without baseline runs stays a change": (
        of(PARTED, traced("dqn", "diverged"), returned="holds"), "changed", 3),
    "a scenario has no baseline runs": (
        of(PARTED, traced("sac gsde", "diverged"), returned="holds"), "changed", 3),
}  # fmt: skip


def test_what_was_found_comes_to_one_verdict():
    """Each kind of finding has its verdict and its exit code."""
    for case, (framework, *expected) in CASES.items():
        result = upgrade(framework)
        assert [result.verdict, result.exit_code] == expected, case


def test_events_that_are_not_compared_are_counted_in_every_report():
    """Headline, first screen and data name the training; its entry has their number."""
    close = traced(verdict="close", not_compared=3)
    result = upgrade(of(close, executions=(reached("sac"),)))
    assert "Compared in part: sac." in result.judgement.headline
    training, piece = (e for e in result.entries if e.state == model.IN_PART)
    assert training.kind == model.TRAINING
    assert "the last 3 are not compared" in training.reason
    assert piece.reason == "the trainings that execute it are compared in part"
    assert result.tallies["trainings"] == Tally(checked=0, all=1)
    (card,) = upgrade_page.make_cards_of_upgrade(result, FACTS)
    assert any("sac" in line for line in card.not_judged)
    plain = upgrade_data.convert_upgrade_to_plain_data(result)["frameworks"]["sb3"]["traces"]["sac"]
    assert (plain["verdict"], plain["not_compared"]) == ("close", 3)
    assert not close.shows_same_training


def test_another_divergence_or_error_is_another_entry():
    """An accepted entry of a training covers no other divergence or error of it."""
    parted = traced(verdict="diverged")
    other = small_traces.loss(276, value=33.6, file=FILE, function="train")
    first = small_traces.divergence(LOSS, other)
    far = replace(parted, comparison=replace(parted.comparison, first=first))
    crash = Crash(label="new", error="E: no", at="f:1 g", by="")
    failed = [replace(traced(), crash=replace(crash, error=e)) for e in ("E: no", "E: other")]
    gone = [replace(lost(), crash=replace(crash, error=e)) for e in ("E: no", "E: other")]
    made = [entries.make_compared_training_entry(each) for each in (parted, far, *failed)]
    made += [entries.make_uncompared_training_entry(each) for each in gone]
    assert len({each.key for each in made[:4]}) == 4
    assert made[4].key != made[5].key


def last_line(folder, **given):
    """Return the lines between that of the report and the verdict."""
    _, *lines, _ = upgrade_text.make_closing_lines_of_upgrade(upgrade(of(), **given), folder)
    return "\n".join(lines)


def test_what_became_of_the_users_script_and_file_stands_just_before_the_verdict(tmp_path):
    """A user looks for it first: its state, and the returns of its episodes, or why not."""
    assert last_line(tmp_path) == ""
    line = last_line(tmp_path, script=ScriptResult(training=traced("train.py", "diverged")))
    assert line == "your script train.py: diverged"
    line = last_line(tmp_path, script=ScriptResult(training=lost("train.py")))
    assert line == "your script: train.py, on the new version: it ended in an error: E: no"
    played = "mean return of episodes 1 to 20: 21.5 -> 20.5"
    loaded = LoadedFile(name="mine.zip", compared=9, differing=1, item="x", played=played)
    other = LoadedFile(name="ppo model", compared=9, played=played)
    found = list(entries.make_saved_file_entries([loaded, other]))
    line = last_line(tmp_path, other_packages=found, file="mine.zip")
    assert line.startswith("your file mine.zip: differs")
    assert line.endswith(played)
    runtimes, user = (Runtime("old"), Runtime("new")), {"file": "/mine/mine.zip"}
    with limit_processes(Deadline(1.0, time.time() - 90)):
        folders = tmp_path, tmp_path
        late = saved_files_comparison.save_load_and_compare_files(
            runtimes, folders, SB3, ["ppo"], user
        )
    found = list(entries.make_saved_file_entries(late))
    line = last_line(tmp_path, other_packages=found, file="mine.zip")
    assert line.startswith("your file mine.zip: cannot run here: ")
    assert line.endswith("--minutes 1 were over; it played no episodes")


def test_what_time_did_not_allow_comes_first_on_the_page(tmp_path):
    """Before all other entries of the page and of its first screen, which lists it as a sum."""
    cut = "3 of 9 trainings of sb3: --minutes 5 were over"
    training = compared_trainings.Training("sb3", "td3 images", {})
    late = compared_trainings.report_training_not_in_time(training, 5)
    made = upgrade(of(PARTED, late), cut=(cut,))
    upgrade_command.write_upgrade_report(made, tmp_path, FACTS)
    page = (tmp_path / "upgrade.html").read_text()
    assert cut in page
    assert late.reasons["old"] in page
    not_judged = upgrade_page.make_cards_of_upgrade(made, FACTS)[0].not_judged
    assert (not_judged[0], any("td3 images" in line for line in not_judged)) == (cut, False)
    assert page.index('id="cut"') < page.index('id="entries"')


def whole_report(result_, folder):
    """Everything that a gate writes and prints of a result, but the old words of the data."""
    upgrade_command.write_upgrade_report(result_, folder, FACTS)
    texts = [path.read_text() for path in folder.iterdir() if path.suffix != ".json"]
    data = json.loads((folder / "upgrade.json").read_text())
    del data["verdict_of_schema_1"]
    cards = upgrade_page.make_cards_of_upgrade(result_, FACTS)
    return [*texts, json.dumps(data), *upgrade_text.make_closing_lines_of_upgrade(result_, folder),
            *short_summary.make_summary_lines(FACTS, cards, "page"),
            *short_summary.format_first_steps(cards)]  # fmt: skip


def test_the_words_of_an_all_clear_occur_only_with_it(tmp_path):
    """ "unchanged" and "Nothing: upgrade" are in no output of any other verdict."""
    for case, (framework, verdict, _) in CASES.items():
        text = "\n".join(whole_report(upgrade(framework, stale=()), tmp_path / "report"))
        is_clear = verdict == "unchanged"
        assert ("Nothing: upgrade" in text) == is_clear, case
        assert bool(re.search(r"\bunchanged\b|nothing changed", text)) == is_clear, case


def test_every_entry_is_in_the_data_and_what_is_not_the_same_on_the_page(tmp_path):
    """Whatever its kind and state: none is left out for length."""
    beside = [
        Entry(kind=kind, name=f"name {n} {m}", state=state, package="p", file=f"p/f{n}.py")
        for n, kind in enumerate(model.KINDS) for m, state in enumerate(model.STATES)
    ]  # fmt: skip
    made = upgrade(of(PARTED), other_packages=beside)
    upgrade_command.write_upgrade_report(made, tmp_path, FACTS)
    data = json.loads((tmp_path / "upgrade.json").read_text())
    assert (data["schema"], data["exit_code"]) == (upgrade_data.SCHEMA, made.exit_code)
    assert sorted(row["key"] for row in data["entries"]) == sorted(e.key for e in made.entries)
    page = (tmp_path / "upgrade.html").read_text()
    for each in beside:
        if each.state not in model.EXECUTED_SAME:
            assert each.key in page


def test_what_nothing_has_reached_is_trained():
    """Algorithms that use a changed function that no trace reaches count as diverged."""
    framework = of(traced(), traced("td3"), executions=(reached(algorithms=("td3",)),))
    assert framework.algorithms_to_train == ["td3"]
    assert of(PARTED, traced("td3 gsde", "diverged")).algorithms_to_train == ["sac"]


def test_only_traces_that_part_are_recorded_again():
    """Equal traces of two processes repeat each other; others are held against repetitions."""
    values = {"A": 8.4, "B": 16.8, "C": 9.9}
    steps = {n: replace(small_traces.loss(value=v), kind="optimizer") for n, v in values.items()}
    recorded = {name: small_traces.trace(step) for name, step in steps.items()}
    again = []

    def compared(new, *repetitions):
        def record(_):
            again.append(new)
            return tuple(recorded[name] for name in repetitions)

        return small_traces.compare_training("sac", recorded["A"], recorded[new], record)

    assert (compared("A").shows_same_training, again) == (True, [])
    parted = compared("B", "A", "B")
    assert (parted.comparison.verdict, parted.repeats, again) == ("diverged", True, ["B"])
    for pair, label in (("CB", "old"), ("AC", "new")):
        loose = compared("B", *pair)
        assert (loose.repeats, loose.verdict_in_words) == (
            False,
            "diverged, but does not repeat itself",
        )
        (note,) = [note for note in loose.notes if "does not repeat itself" in note]
        assert note.startswith(label)


def test_a_training_that_one_version_lacks_is_told_from_one_that_fails():
    """An unsupported training is no gap; other errors: ``test_compared_trainings``."""
    lacking = trace(unsupported="no n_steps")
    new = small_traces.compare_training("sac n-step", lacking, trace(), tuple)
    assert (new.is_supported_by_both_versions, dict(new.supported)) == (
        False,
        {"old": False, "new": True},
    )


def test_a_detail_names_every_change_that_its_probe_runs():
    """Any of them may be the reason: no probe was repeated with old code."""
    both = replace(said("none"), called=frozenset([TRAIN, (FILE, "SAC.learn")]))
    detail = make_changed_detail(("sac.critic_loss.scale", "library"), said("half"), both)
    runs = [replace(reached("sac"), function=function(name)) for name in ("SAC.train", "SAC.learn")]
    result = upgrade(of(traced(), changed=[detail], executions=tuple(runs)))
    (culprit,) = upgrade_page.make_cards_of_upgrade(result, FACTS)[0].culprits
    assert culprit.effects[0].endswith("; its probe runs more that changed: SAC.learn")


def test_details_with_one_cause_are_one_finding():
    """They are grouped by the changed functions that their probes enter."""
    twin = replace(SCALE, scope="trainer")
    grouped = group_details_by_functions([SCALE, GAMMA, twin], [function()])
    scopes = [[detail.scope for detail in each.details] for each in grouped]
    assert scopes == [["library", "trainer"], ["library"]]
    assert [len(each.functions) for each in grouped] == [1, 0]


ONE = Culprits(place=(function(),), alone=function())
NAMES = ("sac", "sac gsde", "sac n-step", "td3")
STRANGE = ProbeAnswer(variant=None, observed=(7.0,), text="no variant matches",
                 near=(("half", (4.25,)), ("none", (8.5,))))  # fmt: skip
WAY = Branch(file=FILE, line=275, function="train", summary="clamp: never above")
UNPROBED = replace(missing()[0], why="absent", text="Unprobed: 1.0 has no trainer")
#: a result, and the sentences of its report in the order in which somebody has to know them
REPORTS = {
    "what was not checked": (
        upgrade(of(PARTED, lost(), not_probed=missing(6), executions=(reached(),))),
        "None of 1 changed pieces ran, 7 checks without a result", "and 3 more, on the page",
        "| the adapter's probe does not fit that version | AttributeError: no such thing | 6 |",
        "| diverged | sac | 1 | 50% |", "new / old: x2", f"| {FILE} | 3-4 |",
        "- because a 1 needs b<2"),
    "numbers of no variant": (
        upgrade(of(traced(), changed=[replace(SCALE, new=STRANGE)])),
        "| half -> no variant matches |  | not documented |", "1 of 10 that were probed",
        "expected of half: [4.25]", "expected of the variant 'none': [8.5]",
        "the new version: no variant matches: sum over networks of the mean squared error"),
    "one culprit of several": (
        upgrade(of(
            *(traced(name, "diverged") for name in NAMES),
            culprits={**dict.fromkeys(NAMES, ONE), "td3": replace(ONE, alone=None)})),
        "- sac, sac gsde, sac n-step diverged", "- td3 diverged", "### sac: diverged",
        "culprit: stable_baselines3/sac/sac.py:270 SAC.train: with its old code",
        "2 more diverge at the same line, for the same reason", "### td3: diverged",
        "first differs in changed code: stable_baselines3/sac/sac.py:270 SAC.train"),
    "branches that went one way only": (
        upgrade(of(traced(), traced("td3"), executions=(reached("sac", one_way=(WAY,)),)),
                one_way=(WAY,)),
        "| function | SAC.train | changed | sac | line 275: clamp: never above |",
        "masks taken one way only: 1", f"{FILE}:275 clamp: never above"),
    "what neither version has": (
        upgrade(replace(of(), details=DetailResults(same=9, absent=(UNPROBED,)))),
        "- 9 details are the same in both versions.", "- Nothing: upgrade.",
        "1 detail about what neither version has", "1.0 has no trainer"),
}  # fmt: skip


@pytest.mark.parametrize("name", REPORTS)
def test_the_report_says_all_of_it(name):
    """In the order in which somebody has to know it."""
    result, *sentences = REPORTS[name]
    text = report(result)
    for sentence in sentences:
        assert sentence in text
        text = text.partition(sentence)[2]


def test_the_trainings_verdict_is_of_returns():
    """Only tests of returns come in; a broken one is no verdict on the framework."""
    verdict = {"verdict": "holds", "effect_fraction": 0.02, "failed": 0, "new_seeds": 15,
               "visible_fraction": 0.3}  # fmt: skip
    entry = {"test": "tests_performance/t.py::t[sb3-sac]", "group": "sb3-sac", "framework": "sb3",
             "tier": "performance"}  # fmt: skip
    good = [{**entry, "outcome": "passed", "verdict": verdict}]
    made = return_gate.judge_returns_by_evidence("sb3", good, ["sac"], None)
    assert made.verdict == "holds"
    (line,) = made.lines
    assert line.startswith("sb3-sac: holds, +2% of the stored returns' scale; 15 new runs; would")
    for tests in ([{**entry, "outcome": "error", "message": "no mujoco"}], []):
        verdict = return_gate.judge_returns_by_evidence("sb3", tests, ["sac"], None).verdict
        assert verdict == "could not judge"


N_STEP = ("nstep.window", "library")


@pytest.mark.parametrize(
    ("version", "variant", "standing"),
    [("2.9.2", "n_rewards", DOCUMENTED), ("2.9.2", "one_step", VIOLATED),
     ("2.6.0", "one_step", DOCUMENTED), ("0.0.1", "one_step", UNDOCUMENTED)],
)  # fmt: skip
def test_a_change_is_held_against_what_is_documented_of_the_new_version(version, variant, standing):
    """The entry that holds for the new version's version decides."""
    change = make_changed_detail(N_STEP, said("other"), said(variant))
    assert attribution.classify_new_variant_by_documentation(SB3, change, version) == standing


def test_what_is_documented_of_a_change_is_said():
    """A reader learns since when a detail is done so, and where that is written."""
    change = make_changed_detail(N_STEP, said("one_step"), said("n_rewards"))
    text = report(upgrade(of(traced(), changed=[change])))
    assert "Documented: one_step since" in text
    assert "until 2.7.0" in text
    unknown = make_changed_detail(N_STEP, said("?"), said("none of them"))
    assert attribution.describe_documented_variants(SB3, unknown) == []


#: two versions of a function: annotations and a wrapped line first, then a line that did not run,
#: and one that did.
SAME = "    y = y\n" * 7
OLD_TEXT = f"""\
def f(y, x):
    total = y + x
{SAME}    if y > 1e9:
        total = 0
{SAME}    return 0.5 * total
"""
NEW_TEXT = f"""\
def f(y: float, x: float) -> float:
    total = (
        y + x
    )
{SAME}    if y > 1e9:
        total = 1
{SAME}    return total
"""


def test_the_difference_of_a_source_begins_with_what_ran_and_does_something_else(tmp_path):
    """Lines that ran come before others; formatting and annotations are last."""
    paths, texts = (tmp_path / "a", tmp_path / "b"), (OLD_TEXT, NEW_TEXT)
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    old, new = (Function(name="f", first=1, last=text.count("\n"), code="") for text in texts)
    changed = ChangedPiece(file="m.py", name="f", how=CODE_CHANGED, old=old, new=new, paths=paths)
    hunk = attribution.collect_differing_lines([changed], {"m.py": {2, 12, 21}})[changed]
    assert [row.new[1].strip() for row in hunk.differing_rows if row.new][:3] == [
        "return total", "total = 1", "def f(y: float, x: float) -> float:",
    ]  # fmt: skip


def test_what_to_do_names_packages_that_are_gone_before_names_that_are():
    """An error that names one is no fault of the framework: install it, or lend it."""
    reason = "ModuleNotFoundError: No module named 'pandas' at train.py:10 <module>"
    gone = Entry(kind=model.PACKAGE, name="pandas", state=model.DIFFERS,
                 summary="3 -> not installed")  # fmt: skip
    failed = Entry(kind=model.SCRIPT, name="train.py", state=model.NEW_FAILS, reason=reason)
    step, *_ = steps(other_packages=[gone, failed])
    assert step.text.startswith(f"train.py ends in {reason}. Install pandas, which")
    assert step.command == "a command --lend pandas"
    step, *_ = steps(other_packages=[failed])
    assert step.text.endswith("Change that line, or report it upstream.")
    gone = [
        Entry(kind=model.PACKAGE, name=name, state=model.DIFFERS, notes=notes)
        for name, notes in (("pandas", ("needed by load_results", "needed by plot_results")),
                            ("matplotlib", ("needed by plot_results",)), ("six", ()))
    ]  # fmt: skip
    first, second, *_ = steps(other_packages=[*gone, GONE])
    assert first.text.startswith("Install pandas and matplotlib, which the new version no longer")
    assert first.text.endswith("if you use load_results, plot_results:")
    assert first.command == "pip install pandas matplotlib"
    assert second.text == "Search your code for what is gone or incompatible: logger.read_csv."


def test_what_to_do_begins_with_the_error_and_its_line():
    """Then the names that are gone, or that a script has none of them.

    With the culprit, if the old code of one function mends it.
    """
    failed = Entry(kind=model.SCRIPT, name="train.py", state=model.NEW_FAILS,
                   reason="AttributeError: no x at train.py:9 <module>")  # fmt: skip
    culprit = Entry(
        kind=model.FUNCTION, name="g/core.py Wrapper.f", state=model.NEW_FAILS, culprit=True,
        summary="removed", file="g/core.py", line=3, package="g", by=("train.py",),
    )  # fmt: skip
    line = NamedLine(name="g.y", file="train.py", line=2, text="from g import y", why="E: no y")
    script = ScriptResult(
        training=lost("train.py"), names=ScriptNames(files=("train.py",), lines=(line,))
    )
    first, second, *_ = steps(other_packages=[failed, culprit, GONE], script=script)
    assert first.text.startswith("train.py ends in AttributeError: no x at train.py:9 <module>. ")
    assert "It does not with the old code of Wrapper.f (removed, g/core.py:3)." in first.text
    assert second.text.startswith("Change 1 line")
    assert second.text.endswith(": train.py:2 from g import y (E: no y).")
    script = ScriptResult(training=traced("train.py"), names=ScriptNames(files=("train.py",)))
    (search,) = steps(other_packages=[GONE], script=script)
    assert "train.py names nothing of what is gone or incompatible (logger" in search.text


def test_what_is_gone_and_public_is_listed_once_as_it_counts():
    """Whoever accepts the name has accepted that its code is gone."""
    file = "p/logger.py"
    piece = Entry(kind=model.FUNCTION, name=f"{file} read_csv", file=file, summary="removed")
    name = PublicChange(kind="gone", name="p.logger.read_csv", file=file, line=1, summary="gone")
    # a module that is gone is one name, and its pieces count with it
    for gone in (name, replace(name, name="p.logger")):
        (entry,) = entries.mark_pieces_listed_as_public_names([piece], [gone])
        assert entry.state == model.NO_EFFECT
    assert entries.mark_pieces_listed_as_public_names([piece], []) == [piece]
    other = replace(piece, name="p/logger.py read_json")
    assert entries.mark_pieces_listed_as_public_names([other], [name]) == [other]


REVIEWED = Entry(kind=model.PUBLIC, name="p.logger.read_csv", state=model.DIFFERS, content="gone")


@pytest.mark.parametrize(
    ("content", "notes", "verdict", "stale"),
    [
        ("gone", ["we never read these"], (model.AS_DOCUMENTED, 0), ()),
        # what has changed again has to be reviewed again: the old line matches nothing
        ("moved", [""], (model.CHANGED, 3), (f"read_csv ({REVIEWED.key})",)),
    ],
)
def test_an_accepted_entry_no_longer_decides_and_stays_listed(
    tmp_path, content, notes, verdict, stale
):
    """Its note stands beside it; every other entry counts as before."""
    path = tmp_path / "accepted.toml"
    path.write_text(
        f'[[accepted]]\nkey = "{REVIEWED.key}"\nname = "read_csv"\nnote = "we never read these"\n'
    )
    entry = replace(REVIEWED, content=content)
    result = upgrade(of(traced()), other_packages=[entry])
    assert result.verdict == model.CHANGED
    after = accepted.mark_accepted_and_stale(result, accepted.load_accepted_entries(path))
    assert (after.verdict, after.exit_code) == verdict
    assert [e.accepted for e in after.entries if e.kind == model.PUBLIC] == notes
    assert (len(after.entries), after.stale) == (len(result.entries), stale)


def test_a_file_with_one_entry_twice_is_refused(tmp_path):
    """Otherwise what a reviewer has not accepted would seem to be."""
    path = tmp_path / "accepted.toml"
    path.write_text(2 * '[[accepted]]\nkey = "0123456789abcdef"\nname = "x"\nnote = "y"\n')
    with pytest.raises(UserError, match="more than once"):
        accepted.load_accepted_entries(path)
