"""GitHub and GitLab get annotations, SARIF and a summary of a gate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import stable_baselines3

from .test_check_page import CRITIC_DETAIL, HOPPER, failed

CRITIC = failed("not as documented", detail=CRITIC_DETAIL, scope="library", found="none")
SAC = "stable_baselines3/sac/sac.py"
#: the line of the installed file that halves
HALVING = next(
    number
    for number, line in enumerate(
        (Path(stable_baselines3.__file__).parents[1] / SAC).read_text().splitlines(), start=1
    )
    if "critic_loss = 0.5 * sum(" in line
)


@pytest.fixture
def on_github(tmp_path, monkeypatch) -> Path:
    """Return a job in the repository of the framework itself; the file of its summary."""
    summary = tmp_path / "summary"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(Path(stable_baselines3.__file__).parents[1]))
    return summary


def test_a_detail_is_annotated_at_its_line(on_github, night, capsys):
    """A finding in the repository is annotated at its line; others are annotated without one."""
    code, _, report = night({HOPPER: 0.5}, further_entries=[CRITIC, failed("it broke\nhere")])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    assert code == 1
    assert lines[0] == (
        f"::error file={SAC},line={HALVING},title=sb3%3A {CRITIC_DETAIL} is not done as documented"
        "::documented: half, found: 'none' (the variant: sum over networks of the mean squared "
        "error) [library]"
    )
    assert "::error title=sb3%3A test_a failed::it broke" in lines
    assert any(line.startswith(f"::error title={HOPPER}%3A regressed::") for line in lines)
    assert on_github.read_text().strip() in (report / "summary.md").read_text()


def test_code_scanning_is_given_everything(on_github, night):
    """Findings have their line, one rule per check, and stable fingerprints."""
    _, _, report = night({HOPPER: 0.5}, further_entries=[CRITIC, failed("it broke")])
    content = json.loads((report / "gate.sarif").read_text())
    (run,) = content["runs"]
    assert (content["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "rlregress")
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert {result["ruleId"] for result in run["results"]} == set(rules)
    by_rule = {result["ruleId"]: result for result in run["results"]}
    detail = by_rule[f"detail {CRITIC_DETAIL}"]
    (place,) = detail["locations"]
    physical = place["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == SAC
    assert physical["region"] == {"startLine": HALVING}
    assert detail["level"] == "error"
    assert any(not result["locations"] for result in run["results"])
    prints = [result["partialFingerprints"]["rlregress/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints)


def test_elsewhere_nothing_is_annotated(night, capsys, monkeypatch):
    """Without GitHub no annotation is printed."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    night({HOPPER: 0.5}, further_entries=[CRITIC])
    assert "::error" not in capsys.readouterr().out
