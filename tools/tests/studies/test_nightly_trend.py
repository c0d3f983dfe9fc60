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


def changed(contents, numbers, change):
    """The nights, some of them changed."""
    contents = list(contents)
    for number in numbers:
        change(contents[number])
    return contents


def _elsewhere(night):
    night["machines"] = [{**night_files.MACHINE, "cpu": "Xeon"}]


def _elsewhere_and_better(night):
    _elsewhere(night)
    for cell in night["cells"].values():
        cell["returns"] = [value + 5000 for value in cell["returns"]]


def _with_other_hyperparameters(night):
    for cell in night["cells"].values():
        cell["hyperparameters"] = "other"


def _without_verdicts(night):
    for cell in night["cells"].values():
        cell["verdict"] = ""
    night["exit_code"] = 2


def _damaged(contents):
    contents[3]["started"] = "yesterday"
    return changed(contents, [4], _without_verdicts)


def _again(number):
    return {**next(iter(nights(1, 3))), "started": f"{night_files.day(number)}T04:30:00Z"}


nights = night_files.nights
#: what happened in which nights -> them, options, exit code
PAGES = {
    "a drop": (lambda: nights(40, 4, drop=0.3, begin=25), (), 1),
    "no change": (lambda: nights(40, 4), (), 0),
    "a drop that recovered is no alarm": (
        lambda: [*list(nights(60, 3, drop=0.5, begin=20))[:40], *list(nights(60, 3, seed=1))[40:]],
        (), 0),
    "too few": (lambda: nights(6, 4), (), 3),
    "machines are compared with themselves only": (
        lambda: changed(nights(40, 3, drop=0.4, begin=20, upgrade=False), range(20, 40),
                        _elsewhere), (), 0),
    "a drop on alternating machines": (
        lambda: changed(nights(60, 3, drop=0.4, begin=40), range(0, 60, 2),
                        _elsewhere_and_better), (), 1),
    "the same runs count once": (lambda: map(_again, range(100)), (), 3),
    "what cannot be read comes first": (lambda: _damaged(list(nights(30, 3))), (), 0),
    "hyperparameters are kept apart": (
        lambda: changed(nights(40, 3, drop=0.4, begin=20, upgrade=False), range(20, 40),
                        _with_other_hyperparameters), (), 0),
    "since the night of an accepted drop": (
        lambda: nights(60, 3, drop=0.4, begin=20), ("--since", night_files.day(20)), 0),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_the_page_of_so_many_nights(judged, tmp_path, snapshot, name):
    """What is alarmed and what is not, and what is compared with what, in words."""
    contents, options, expected = PAGES[name]
    code, page, _ = judged(contents(), *options)
    assert code == expected
    snapshot(f"trend/{name.replace(' ', '-')}.md", page.replace(str(tmp_path), "FOLDER"))


def test_a_drop_is_dated_and_its_versions_are_named(judged, tmp_path):
    """A drop of 30 % from night 25 on is named with that night, and with torch that changed."""
    code, page, _ = judged(night_files.nights(40, 4, drop=0.3, begin=25))
    assert code == 1
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
    for folder, text in ((tmp_path, "holds no report of a check"), (tmp_path / "no", "is no fold")):
        code, _, error = command("trend", str(folder), "--report", str(tmp_path / "report"))
        assert (code, text in error, "Traceback" in error) == (2, True, False)


@pytest.mark.nightly
def test_a_thousand_nights_of_72_cells_take_seconds(tmp_path):
    """Exit code 1, the drop of night 700 dated within three nights, in under 5 s when idle."""
    folder = night_files.written(
        tmp_path / "nights", night_files.nights(1000, 72, drop=0.3, begin=700, dropped=(4,))
    )
    began = time.monotonic()
    command = [sys.executable, "-m", "rlregress", "trend", str(folder)]
    ended = subprocess.run(
        [*command, "--report", str(tmp_path / "report")], capture_output=True, text=True
    )
    seconds = time.monotonic() - began
    assert ended.returncode == 1, ended.stderr
    assert any(f"first night {night_files.day(night)}" in ended.stdout for night in range(697, 704))
    # five, on a machine that does something else too
    assert seconds < 15
