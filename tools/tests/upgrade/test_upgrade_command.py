"""The gate on two versions, as a user runs it: on a branch, interrupted, or out of time."""

from __future__ import annotations

import json
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.catalogue import registry
from rlregress.cli import upgrade as upgrade_command
from rlregress.errors import UserError
from rlregress.inside import events
from rlregress.model import differences as model
from rlregress.model.differences import Entry
from rlregress.model.recorded_traces import VERSIONS
from rlregress.model.verdict import COULD_NOT_JUDGE
from rlregress.trace import child_processes
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade import cascade, framework_comparison
from rlregress.upgrade.differences import changed_functions, public_names
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.evidence import (
    compared_trainings,
    runtime_process,
    runtimes,
    version_fingerprints,
)
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.version_fingerprints import Fingerprint
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.verdict import entries
from rlregress.upgrade.versions import interpreters, state
from rlregress.upgrade.versions.prepared_versions import PreparedVersion
from rlregress.upgrade.versions.requested import RequestedVersion
from tools.tests.small_files import edit_copy, write_versions

SB3 = frameworks.get_adapter("sb3")
FILE = f"{SB3.framework.modules[0]}/sac/sac.py"


@pytest.fixture
def branch(tmp_path):
    """Return a function that writes a copy of the framework with text of SAC's file replaced."""
    return lambda old, new: edit_copy(SB3, FILE, tmp_path / "branch", (old, new))


@pytest.fixture
def judge(cache, tmp_path, monkeypatch):
    """Judge an upgrade by SAC's details and training; return the exit code and the report."""
    requested = [d for d in registry.list_details() if d.id.startswith("sac.critic_loss")]
    monkeypatch.setattr(registry, "list_details", lambda: requested)

    def judged(old, new):
        options = Options(
            old, new, tmp_path / "report", algorithms=["sac"], scenarios=[], returns=False,
            files=False, say=print,
        )  # fmt: skip
        code = upgrade_command.judge_and_report_upgrade(options)
        return code, json.loads((tmp_path / "report" / "upgrade.json").read_text())

    return judged


@pytest.mark.usefixtures("warm_python")
def test_a_branch_with_another_loss_is_found_and_explained(
    judge, branch, tmp_path, monkeypatch, capsys
):
    """SAC without its factor 1/2 diverges at the line of the critics' backward, by name.

    What is documented of the framework is violated, and the function that moves it is named. In a
    job of the branch's repository the changed line is annotated.
    """
    tree = branch("0.5 * sum(F.mse_loss", "1.0 * sum(F.mse_loss")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", tree)
    code, report = judge("installed", tree)
    traced = report["frameworks"]["sb3"]["traces"]["sac"]
    line = 1 + (Path(tree) / FILE).read_text().split("critic_loss.backward()")[0].count("\n")
    assert (code, report["verdict"], traced["verdict"]) == (1, "regressed", "diverged")
    assert traced["first"]["kind"] == "loss"
    assert traced["first"]["ratio"] == pytest.approx(2.0, rel=1e-6)
    assert traced["first"]["new"] == f"{FILE}:{line}"
    assert traced["details"] == ["sac.critic_loss.scale [library]"]
    assert traced["cause"]["alone"] == f"{FILE} SAC.train"
    assert "<del>0.5</del> * sum(F.mse_loss" in (tmp_path / "report" / "upgrade.html").read_text()
    changed = 1 + (Path(tree) / FILE).read_text().split("1.0 * sum(F.mse")[0].count("\n")
    annotated = [row for row in capsys.readouterr().out.splitlines() if row.startswith("::")]
    assert [row.partition(",title")[0] for row in annotated] == [
        f"::error file={FILE},line={changed}", f"::warning file={FILE},line={changed}",
    ]  # fmt: skip


def test_half_a_recording_of_a_killed_upgrade_is_not_used(tmp_path, monkeypatch):
    """Whole recordings of an interrupted gate are kept; half a trace is recorded again."""
    trainings = [Training("sb3", name, {}) for name in ("sac", "td3")]
    whole, half = (runtimes.locate_trace(training, tmp_path) for training in trainings)
    events.write_trace(str(whole), {"failure": "", "seeded": [], "lines": {}}, [])
    half.write_text("half")
    monkeypatch.setattr(
        runtimes, "_record_traces", lambda missing, *_: {t.name: "recorded" for t in missing}
    )
    traces = runtimes.load_or_record_traces(trainings, Runtime("new"), tmp_path)
    assert (traces["sac"].failure, traces["td3"]) == ("", "recorded")


def test_a_stage_has_time_to_start_its_processes():
    """On a busy machine the share of a short time would be over before anything is compared."""
    options = Options(minutes=2.0)
    seconds_left = {
        stage: options.compute_stage_end_time(stage) - time.time()
        for stage in ("details", "causes")
    }
    assert seconds_left == pytest.approx({"details": 30.0, "causes": 90.0}, abs=1.0)
    short = Options(minutes=0.5)
    assert short.compute_stage_end_time("traces") == short.deadline.at


@pytest.mark.parametrize(("workers", "shares"), [(1, [50.0, 100.0]), (2, [100.0, 100.0])])
def test_with_one_process_the_old_version_leaves_time_for_the_new_one(tmp_path, workers, shares):
    """A time up to which one version alone is probed would compare nothing."""
    both, folders, now = (Runtime("old"), Runtime("new")), (tmp_path, tmp_path), time.time()
    with runtimes.Runtimes(both, folders, workers) as processes:
        with child_processes.limit_stage(now + 100):
            ends = processes.call_for_each_version(
                "x", lambda runtime, path: child_processes.find_end_time() - now
            )
        assert [end.result() for end in ends] == pytest.approx(shares, abs=1.0)


def test_details_without_an_answer_in_time_take_nothing_else_with_them():
    """Time ends while the second version is probed: neither has details, and the report says so."""
    futures = Future(), Future()
    futures[0].set_result(Fingerprint({}, ("sac",), {}))
    futures[1].set_exception(child_processes.OutOfTime("--minutes 1 were over"))
    deadline = child_processes.Deadline(1.0, time.time() - 60)
    options = Options("x", "y", Path("report"), algorithms=("sac",), scenarios=[])
    with child_processes.limit_processes(deadline):
        prints = framework_comparison.wait_for_answers(futures, SB3)
        chosen = framework_comparison.list_common_and_one_sided_trainings(SB3, prints, options)
    assert [fingerprint.found for fingerprint in prints] == [{}, {}]
    (entry, _) = entries.make_default_entries(
        [], version_fingerprints.describe_unread_defaults(*prints)
    )
    assert (entry.state, entry.was_out_of_time) == (model.CANNOT, True)
    assert (chosen, deadline.cut) == (([], {}), ["details of sb3"])


def test_an_upgrade_that_was_interrupted_or_had_too_little_time_is_continued(cache):
    """The next gate finds its recordings; after one that had ended, or failed, all is new."""
    old, new = (
        PreparedVersion(RequestedVersion("x"), Runtime(label), "tree") for label in VERSIONS
    )
    continued = []
    for end in ("cut", "interrupted", "done", "error", "done"):
        with (
            suppress(UserError, KeyboardInterrupt),
            child_processes.limit_processes(child_processes.Deadline(1.0, time.time())),
            cascade._open_work_folders(old, new, (), Options(), None) as (folder, _),
        ):
            continued.append((folder / "sac.trace").exists())
            (folder / "sac.trace").touch()
            if end == "cut":
                child_processes.note_skipped_task("the rest")
            if end == "interrupted":
                raise KeyboardInterrupt
            if end == "error":
                raise UserError("nothing was traced")
    assert continued == [False, True, True, False, False]


@pytest.mark.parametrize(("why", "is_kept"), [("time", False), ("error", True)])
def test_answers_that_time_did_not_allow_are_not_kept(tmp_path, monkeypatch, why, is_kept):
    """The same command with more time asks again."""
    path = tmp_path / "answers.json"

    def run_module(*_):
        path.touch()
        return {"observed": {"gae.formula library": {"error": "", "why": why}}}

    monkeypatch.setattr(runtime_process, "run_module_on_version", run_module)
    version_fingerprints.probe_details_on_version(Runtime("old"), path, SB3, [])
    assert path.exists() == is_kept


def test_a_training_of_one_version_belongs_to_its_framework():
    """One that a framework lost is not hidden by another framework that gained its name."""
    adapters = [frameworks.get_adapter("sb3"), frameworks.get_adapter("torchrl")]
    with_, without = (Fingerprint({}, names, {}) for names in (("sac", "td3"), ("sac",)))
    options = Options("x", "y", Path("report"), scenarios=[])
    both = zip(adapters, [(with_, without), (without, with_)], strict=True)
    chosen = [
        framework_comparison.list_common_and_one_sided_trainings(*own, options) for own in both
    ]
    assert [one_sided for _, one_sided in chosen] == [{"td3": "old"}, {"td3": "new"}]


def test_versions_under_different_pythons_are_refused(cache, monkeypatch):
    """Bits are compared under one interpreter only."""
    monkeypatch.setattr(
        interpreters, "_query_interpreter", lambda python: ([], f"3.{len(python)}.0", "", [])
    )
    old, same, other = (
        PreparedVersion(RequestedVersion("x"), Runtime(label, python=python), "environment")
        for label, python in (("old", "x" * 9), ("new", "y" * 9), ("new", "y"))
    )
    cascade._require_one_interpreter(old, same)
    message = "the old version runs on Python 3.9.0 and the new version on 3.1.0"
    with pytest.raises(UserError, match=message):
        cascade._require_one_interpreter(old, other)


def test_the_state_of_a_version_changes_with_its_code(cache, branch, monkeypatch):
    """A changed copy on the path is another version, although its versions are the same."""
    version = PreparedVersion(RequestedVersion("installed"), Runtime("old"), "installed")
    before = state.describe_version_state(version, [SB3])
    assert state.describe_version_state(version, [SB3]) == before
    # what is hidden is not on it
    hiding = replace(version, runtime=replace(version.runtime, hidden=("numpy",)))
    assert state.describe_version_state(hiding, [SB3]) != before
    monkeypatch.setattr(state, "digest_modules_of_framework", lambda adapter: {"module": "other"})
    assert state.describe_version_state(version, [SB3]) != before


def test_nothing_is_read_after_the_deadline(tmp_path):
    """A package may be so large that reading it takes longer than the command has."""
    texts = ({"__init__.py": f"def f(x={n}): ...\n"} for n in (1, 2))
    old, new = write_versions(tmp_path, *texts)
    with (
        child_processes.limit_processes(child_processes.Deadline(1, time.time() - 60)),
        pytest.raises(child_processes.OutOfTime, match="minutes"),
    ):
        changed_functions.find_changed_pieces(old, new)
    with child_processes.limit_stage(time.time()), pytest.raises(child_processes.OutOfTime):
        public_names.list_public_changes(Path(old[0]), Path(new[0]))


def test_what_was_not_done_in_time_is_not_called_equal():
    """Trainings, names and all: they are listed with the reason, and no partial check."""
    late = compared_trainings.report_training_not_in_time(Training("sb3", "ppo", {}), 5.0)
    entry = entries.make_uncompared_training_entry(late)
    assert (entry.state, "--minutes 5 were over" in entry.reason) == (model.NEVER, True)
    change = public_names.make_entry_not_compared("large", "--minutes 3 were over")
    (entry,) = entries.make_metadata_entries(Inventory(public=(change,)))
    assert (entry.state, entry.affects_verdict, entry.was_out_of_time) == (model.CANNOT, True, True)
    late = Entry(kind=model.PACKAGE, name="large", reason="--minutes 3 were over")
    judged = model.judge_entries_of_upgrade([late])
    assert (judged.verdict, judged.exit_code) == (COULD_NOT_JUDGE, 2)
