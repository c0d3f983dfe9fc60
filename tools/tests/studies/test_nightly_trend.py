"""Many nights: what changed is named with its date and versions, and nothing is mixed silently."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from ..reporting.test_gate_page import stands_alone
from . import night_files


@pytest.fixture
def judged(tmp_path, command):
    """Write nights, run ``rlregress trend`` on them; exit code, page, error output."""

    def run(contents, *options):
        folder = night_files.written(tmp_path / "nights", contents)
        report = ("--report", str(tmp_path / "report"))
        return command("trend", str(folder), *report, *options)

    return run


def only(contents, numbers):
    """Some of the nights."""
    return [content for number, content in enumerate(contents) if number in numbers]


def test_a_drop_is_dated_and_its_versions_are_named(judged, tmp_path):
    """A drop of 30 % from night 25 on is named with that night, and with torch that changed."""
    code, page, _ = judged(night_files.nights(40, 4, drop=0.3, begin=25))
    assert code == 1
    line = next(line for line in page.splitlines() if line.startswith("- regressed"))
    assert "sb3-ppo-Env0-v4-short: the mean changed by -3" in line
    assert f"first night {night_files.day(25)}" in line
    assert "torch 2.12.1 -> 2.13.0" in line
    assert "gymnasium" not in line
    written = json.loads((tmp_path / "report" / "trend.json").read_text())
    assert (written["exit_code"], written["verdict"]) == (1, "regressed")
    assert (tmp_path / "report" / "trend.md").read_text() in page
    *_, following, _ = page.splitlines()
    command = "rlregress upgrade torch==2.12.1 torch==2.13.0"
    assert following == f"next: See what that version changed: {command}"


def test_a_page_shows_what_changed_with_its_numbers(judged, tmp_path):
    """On the first screen the drop and what to do; below it drawn, with every mean in a table."""
    judged(night_files.nights(40, 4, drop=0.3, begin=25))
    page = stands_alone((tmp_path / "report" / "trend.html").read_text("utf-8"))
    assert page.texts("h1") == ["Trend of 40 nights: regressed"]
    (card,) = page.texts("article", "card")
    assert "Something dropped and did not recover." in card
    assert f"first night {night_files.day(25)}" in card
    assert "rlregress upgrade torch==2.12.1 torch==2.13.0" in card
    assert "sb3-ppo-Env0-v4-short, returns" in page.texts("h3")
    drawn = page.texts("figure")[0]
    assert night_files.day(0) in drawn
    assert night_files.day(39) in drawn
    assert len([row for row in page.texts("tr") if row.startswith(night_files.day(30))]) >= 1


def test_many_nights_are_drawn_as_means_of_several(judged, tmp_path):
    """No more points than can be told apart, and it is said of how many nights one is."""
    judged(night_files.nights(450, 1, runs=1, drop=0.5, begin=300))
    text = (tmp_path / "report" / "trend.html").read_text("utf-8")
    assert "Each circle is the mean of 3 nights" in text
    page = stands_alone(text)
    rows = [row for row in page.texts("tr") if row.startswith("202")]
    assert len(rows) == 150 * len(page.texts("figure")) > 0


def test_nights_without_a_change_have_nothing_to_draw(judged, tmp_path):
    """The page says so, and that there is nothing to do."""
    judged(night_files.nights(40, 4))
    page = stands_alone((tmp_path / "report" / "trend.html").read_text("utf-8"))
    (card,) = page.texts("article", "card")
    assert "Nothing is worse than it was" in card
    assert "Nothing: go on." in card
    assert page.texts("figure") == []


def test_nights_without_a_change_hold(judged):
    """Nothing is named, and the exit code is 0."""
    code, page, _ = judged(night_files.nights(40, 4))
    assert (code, "No history changed." in page) == (0, True)
    assert "regressed" not in page


def test_a_drop_that_recovered_is_told_and_is_no_alarm(judged):
    """After the old level is reached again the exit code is 0; the drop keeps its date."""
    contents = list(night_files.nights(60, 3, drop=0.5, begin=20))
    healthy = list(night_files.nights(60, 3, seed=1))
    code, page, _ = judged([*contents[:40], *healthy[40:]])
    assert code == 0
    assert f"first night {night_files.day(20)}" in page
    assert "recovered since" in page


def test_few_nights_cannot_tell(judged):
    """Six nights cannot show a change of four cells: exit code 3, and how many are needed."""
    code, page, _ = judged(night_files.nights(6, 4))
    assert code == 3
    assert "are too short" in page
    assert "6 nights, " in page


def test_machines_are_not_compared_with_each_other(judged):
    """A machine that returns less is no drop: nights are compared within their class."""
    contents = list(night_files.nights(40, 3, drop=0.4, begin=20, upgrade=False))
    for content in contents[20:]:
        content["machines"] = [{**night_files.MACHINE, "cpu": "Xeon"}]
    code, page, _ = judged(contents)
    assert code in (0, 3)
    assert "- regressed" not in page
    text = page.splitlines()[2]
    assert "nights of 2 classes of machine (EPYC" in text
    assert "are compared within each class only" in text


def test_a_drop_is_seen_on_alternating_machines(judged):
    """Where nights of two classes alternate, a drop on both is dated."""
    contents = list(night_files.nights(60, 3, drop=0.4, begin=40))
    for content in contents[::2]:
        content["machines"] = [{**night_files.MACHINE, "cpu": "Xeon"}]
        for cell in content["cells"].values():
            cell["returns"] = [value + 5000 for value in cell["returns"]]
    code, page, _ = judged(contents)
    assert code == 1
    assert "torch 2.12.1 -> 2.13.0" in page


def test_the_same_run_counts_once(judged):
    """A hundred nights with the same seeds and the same code are one night, and cannot tell."""
    one = next(iter(night_files.nights(1, 3)))
    contents = [{**one, "started": f"{night_files.day(number)}T04:30:00Z"} for number in range(100)]
    code, page, _ = judged(contents)
    assert code == 3
    assert f"{99 * 15} runs are bit-identical to runs of earlier nights" in page
    assert "give every night other seeds" in page


def test_nights_that_cannot_be_read_are_said_first(judged):
    """A damaged night and one without a verdict stand above the table; the others are judged."""
    contents = list(night_files.nights(30, 3))
    contents[3]["started"] = "yesterday"
    for cell in contents[4]["cells"].values():
        cell["verdict"] = ""
    contents[4]["exit_code"] = 2
    code, page, _ = judged(contents)
    head = page.partition("| judged")[0]
    assert code == 0
    assert "key 'started' is 'yesterday', expected a time as in" in head
    assert "3 cells without a verdict in up to 1 nights" in head
    assert f"1 nights could not judge all their cells ({night_files.day(4)}" in head
    assert "| 28 | 140 |" in page


def test_another_budget_is_another_cell_and_hyperparameters_are_kept_apart(judged):
    """Nights of other hyperparameters are compared among themselves only."""
    contents = list(night_files.nights(40, 3, drop=0.4, begin=20, upgrade=False))
    for content in contents[20:]:
        for cell in content["cells"].values():
            cell["hyperparameters"] = "other"
    _, page, _ = judged(contents)
    assert "- regressed" not in page
    assert "nights of another hyperparameters are compared among themselves only" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--since", "March"], "--since is 'March', expected a date as in 2026-01-31"),
        (["--since", "2031-01-01"], "no night is left since 2031-01-01"),
        (["--alpha", "5"], "--alpha is 5.0, expected a probability"),
    ],
)
def test_wrong_options_are_one_sentence(judged, options, message):
    """Exit code 2, and what was expected."""
    code, _, error = judged(night_files.nights(20, 2), *options)
    assert (code, message in error, "Traceback" in error) == (2, True, False)


def test_a_folder_without_reports_is_one_sentence(command, tmp_path):
    """A folder that is not there, or holds none, is named."""
    for folder, text in ((tmp_path, "holds no report of a gate"), (tmp_path / "no", "is no fold")):
        code, _, error = command("trend", str(folder), "--report", str(tmp_path / "report"))
        assert (code, text in error, "Traceback" in error) == (2, True, False)


def test_an_accepted_drop_is_left_out_by_its_date(judged):
    """With --since the night after it, the nights before are said to be left out."""
    contents = list(night_files.nights(60, 3, drop=0.4, begin=20))
    code, page, _ = judged(contents, "--since", night_files.day(20))
    assert code == 0
    assert "- 20 nights before" in page


@pytest.mark.nightly
def test_a_thousand_nights_of_72_cells_take_seconds(tmp_path):
    """Exit code 1, the drop of night 700 dated within three nights, in under 5 s when idle."""
    folder = night_files.written(
        tmp_path / "nights", night_files.nights(1000, 72, drop=0.3, begin=700, dropped=(4,))
    )
    began = time.monotonic()
    command = [sys.executable, "-m", "rlregress.cli", "trend", str(folder)]
    ended = subprocess.run(
        [*command, "--report", str(tmp_path / "report")], capture_output=True, text=True
    )
    seconds = time.monotonic() - began
    assert ended.returncode == 1, ended.stderr
    assert any(f"first night {night_files.day(night)}" in ended.stdout for night in range(697, 704))
    # five, on a machine that does something else too
    assert seconds < 15
