"""What GitHub and GitLab show of an upgrade keeps to what they publish of their formats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from rlregress.cli import upgrade as upgrade_command
from rlregress.model.differences import DOCUMENTED, VIOLATED
from rlregress.report import ci_formats, screen, upgrade_findings
from rlregress.report.upgrade_findings import ERROR, NOTICE, WARNING, Finding, PinnedRepository
from rlregress.upgrade.upgrade_options import Options

from .test_result import BATCH, FACTS, GONE, SCALE, lost, missing, of, traced, upgrade

PARTED = traced("sac", "diverged")
CHANGED = of(PARTED, lost(), changed=[SCALE], not_probed=missing(2), defaults=(BATCH,),
             standing=VIOLATED, returned="regressed")  # fmt: skip
NOWHERE = PinnedRepository(Path("/nowhere"))


def test_every_change_is_a_finding():
    """The worst first; of more than ten the last annotation counts those in the report."""
    findings = upgrade_findings.list_upgrade_findings(upgrade(CHANGED), NOWHERE)
    assert [(finding.level, finding.check) for finding in findings] == [
        (ERROR, "detail sac.critic_loss.scale"), (ERROR, "returns"),
        (WARNING, "training"), (WARNING, "default"),
    ]  # fmt: skip
    documented = of(traced(), changed=[SCALE], standing=DOCUMENTED)
    (finding,) = upgrade_findings.list_upgrade_findings(upgrade(documented), NOWHERE)
    assert finding.level == NOTICE
    assert upgrade_findings.list_upgrade_findings(upgrade(of(traced())), NOWHERE) == []
    findings = [Finding(WARNING, "trace", str(number), "m") for number in range(11)]
    assert "more are in" not in ci_formats.format_annotations(findings[:10])[-1]
    lines = ci_formats.format_annotations(findings)
    assert len(lines) == 10
    assert lines[-1].endswith("::2 more are in the report")


def test_code_scanning_is_given_the_pin_of_what_has_no_other_line():
    """A finding stands at its package's pin, and without one it has no place."""
    pinned = PinnedRepository(Path("/nowhere"), "requirements/locked.txt", {"package": 4})
    (run,) = ci_formats.build_sarif(
        upgrade_findings.list_upgrade_findings(upgrade(CHANGED), pinned)
    )["runs"]
    places = [place["physicalLocation"] for row in run["results"] for place in row["locations"]]
    pins = [(row["artifactLocation"]["uri"], row["region"]["startLine"]) for row in places]
    assert pins == [("requirements/locked.txt", 4)] * 4
    assert len({row["partialFingerprints"]["rlregress/v1"] for row in run["results"]}) == 4
    (run,) = ci_formats.build_sarif(
        upgrade_findings.list_upgrade_findings(upgrade(CHANGED), NOWHERE)
    )["runs"]
    assert [row["locations"] for row in run["results"]] == [[]] * 4


def test_a_pin_is_found_in_the_lock_file(tmp_path, monkeypatch):
    """The line that names the package, however it is spelt."""
    lock = tmp_path / "sub" / "new.txt"
    lock.parent.mkdir()
    lock.write_text("# pins\ntorch==2.13.0\nStable_Baselines3==2.9.2 ; python_version > '3'\n")
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
    result = upgrade(CHANGED)
    new = replace(result.new, lock=lock)
    repository = upgrade_command._find_pinned_repository(replace(result, new=new))
    assert repository.locate_pin(["stable-baselines3"]) == ("sub/new.txt", 3)
    assert repository.locate_pin(["torch", "x"]) == ("sub/new.txt", 2)
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path / "elsewhere"))
    repository = upgrade_command._find_pinned_repository(replace(result, new=new))
    assert repository.locate_pin(["torch"]) == ("", 1)


def test_a_comment_is_found_again_and_fits():
    """The mark first, the verdict and the five lines unfolded; a long report is cut at a line."""
    brief = ["a==1 → b==2: regressed", "Not judged: x.", "What changed: y.", "Next: z.", "today"]
    text = "".join(f"line {n} é\n" for n in range(20_000))
    for report in ("short\n", text):
        message = ci_formats.make_pull_request_comment(ci_formats.UPGRADE, brief, report)
        assert message.startswith(ci_formats.UPGRADE + "\n### a==1 → b==2: regressed")
        assert len(message) <= ci_formats.COMMENT
        assert message.count("<details>") == message.count("</details>") == 1
        assert all(f"- {line}" in message for line in brief[1:])
    assert "... 20000 lines in all" in message
    assert len(message) > ci_formats.COMMENT - 100


def test_a_summary_is_cut_by_bytes(tmp_path, monkeypatch):
    """The file of a step is no longer than GitHub takes; letters may be several bytes."""
    text = "é" * 9 + "\n"
    assert ci_formats.cut_text_after_line(text * 3, 57) == text * 3
    cut = ci_formats.cut_text_after_line(text * 30, 200)
    assert len(cut.encode()) <= 200
    assert cut.startswith(text)
    assert "30 lines in all" in cut
    assert ci_formats.cut_text_after_line(text * 30, 20) == ""
    summary = tmp_path / "summary"
    summary.write_text("x" * (ci_formats.SUMMARY - 500))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    upgrade_command.write_upgrade_report(upgrade(CHANGED), tmp_path / "report", FACTS)
    assert ci_formats.SUMMARY - 500 < summary.stat().st_size <= ci_formats.SUMMARY
    assert "lines in all" in summary.read_text()


def test_the_unit_test_report_counts_what_it_holds():
    """Differences fail, unchecked entries are skipped; errors may quote anything."""
    root = ElementTree.fromstring(ci_formats.format_upgrade_as_junit(upgrade(CHANGED), 12.0))
    (suite,) = root
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases["training sac"] == ["failure"]
    assert cases["training sac dictionary"] == ["skipped"]
    counts = {name: int(suite.get(name)) for name in ("tests", "failures", "skipped", "errors")}
    assert counts == {"tests": 7, "failures": 4, "skipped": 3, "errors": 0}
    assert all(case.get("classname") for case in suite)
    both = ElementTree.fromstring(
        ci_formats.format_upgrade_as_junit(upgrade(CHANGED, other_packages=[GONE]), 12.0)
    )
    assert [len(suite.findall("*/failure")) for suite in both] == [4, 1]
    rows = [replace(row, text="a\x00\x1b[2J\ufffe<b>") for row in missing()]
    root = ElementTree.fromstring(
        ci_formats.format_upgrade_as_junit(upgrade(of(PARTED, not_probed=rows)), 12.0)
    )
    (skipped,) = root.iter("skipped")
    assert skipped.get("message") == "cannot run here: new: a\\x00\\x1b[2J\\ufffe<b>"


def test_the_last_lines_say_what_to_do_next(monkeypatch, tmp_path):
    """The report, the next steps, the verdict, or five lines; the page has the whole command."""
    monkeypatch.setattr(upgrade_command.cascade, "judge_upgrade", lambda options: upgrade(CHANGED))
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.chdir(tmp_path)
    lines, script = [], {"script": Path("mine.py")}
    options = Options("a==1", "b==2", Path("report"), script=script, say=lines.append)
    assert upgrade_command.judge_and_report_upgrade(options, True) == 1
    command = "rlregress upgrade a==1 b==2 --script mine.py"
    assert f"<code>{command}</code>" in (tmp_path / "report" / "upgrade.html").read_text()
    step = "Read the lines that changed: a formula is no longer the documented one."
    assert (len(lines), lines[0]) == (5, "a==1 → installed: regressed")
    assert lines[3] == f"Next: {step}"
    assert lines[4].endswith("report/upgrade.html")
    lines.clear()
    upgrade_command.judge_and_report_upgrade(options, False)
    report, *following, verdict = lines[lines.index("report: report/upgrade.html") :]
    assert following[0] == f"next: {step}"
    assert sum(line.startswith("next: ") for line in following) <= screen.STEPS
    assert verdict.startswith("verdict ")
