"""The thesis' three questions: what its tables allow to say, and what stored runs add."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace

import pytest

from rlregress import suite
from rlregress.check import baseline_runs, published
from rlregress.check.judging import find_worst_return_by_environment
from rlregress.errors import UserError
from rlregress_studies.thesis import thesis_answers, thesis_questions, thesis_text
from rlregress_studies.thesis.thesis_answers import BETTER, OPEN, SAME, SIMILAR, WORSE
from rlregress_studies.thesis.thesis_questions import (
    answer_thesis_questions,
    compare_stored_runs_with_tables,
)


@pytest.fixture(scope="module")
def answers():
    """Return all answers."""
    return answer_thesis_questions()


def test_of_288_pairs_of_frameworks_few_are_left(answers):
    """Intervals reject 183; Holm leaves two, with Welch none."""
    differences = [row.difference for row in answers.frameworks]
    assert len(differences) == 288
    assert sum(any(difference.outside) for difference in differences) == 183
    assert sum(all(difference.outside) for difference in differences) == 101
    assert sum(difference.welch < 0.05 for difference in differences) == 37
    assert sum(difference.adjusted_welch < 0.05 for difference in differences) == 0
    assert sum(difference.p < 0.05 for difference in differences) == 48
    remaining = [row for row in answers.frameworks if row.difference.get_sign(0.05)]
    assert [
        (row.first, row.second, row.algorithm, row.environment, row.hyperparameters)
        for row in remaining
    ] == [
        ("cleanrl", "sb3", "ppo", "InvertedDoublePendulum-v4", "original"),
        ("cleanrl", "torchrl", "ppo", "Swimmer-v4", "sb3"),
    ]
    # 1000.0 +- 0.0 on one side or on both leaves nothing to test
    assert sum(not difference.is_tested for difference in differences) == 33
    # and no hypothesis
    smallest = min((row for row in differences if row.is_tested), key=lambda row: row.p)
    assert smallest.adjusted_p == pytest.approx((288 - 33) * smallest.p)


def test_rankings_by_mean_alone_differ_more_than_can_be_shown(answers):
    """TD3 is held against its paper; the text says what cannot be concluded."""
    assert answers.without_originals == ("ppo", "sac")
    rows = answers.reproduction
    assert Counter(row.interval for row in rows) == {WORSE: 2, SIMILAR: 12, BETTER: 7}
    assert Counter(row.verdict for row in rows) == {SIMILAR: 16, BETTER: 5}
    better = {row.environment for row in rows if row.verdict == BETTER}
    assert better == {"Ant-v4", "HalfCheetah-v4"}
    assert len(answers.orders) == 8 * 5
    assert sum(order.agrees for order in answers.orders) == 7
    text = Counter(pair for order in answers.orders for pair in order.pairs.values())
    assert text == {SAME: 5, OPEN: 115}
    own = [order for order in answers.orders if order.hyperparameters == thesis_answers.OWN]
    assert sum(order.agrees for order in own) == 1
    text = "\n".join(thesis_text.describe_study(answers))
    assert "fewer than 8 seeds a side" in text
    assert "5.0 standard deviations with 80 % power among 255 pairs" in text
    assert "No numbers are known of the papers of ppo, sac" in text


@pytest.mark.parametrize(
    ("signs", "message"),
    [([-1, -1], SAME), ([1, -1, 0], thesis_answers.OPPOSITE), ([1, 1, 0], OPEN)],
)
def test_a_pair_of_algorithms_in_several_frameworks(signs, message):
    """One framework that cannot tell leaves the pair open, unless two others contradict."""
    assert thesis_questions.summarise_signs(signs) == message


@pytest.fixture(scope="module")
def reacher():
    """Return stored runs of PPO on Reacher at the full budget, printed as -4.5 +- 0.5."""
    by_id = {item.cell.id: item for item in baseline_runs.load_all_baselines()}
    return by_id["sb3-ppo-Reacher-v4-full"]


def shifted(stored, by):
    """Return the same runs with their returns shifted."""
    runs = (replace(run, final_return=run.final_return + by) for run in stored.runs)
    return replace(stored, runs=tuple(runs))


@pytest.mark.parametrize(("by", "message"), [(0, "holds"), (-3, "regressed"), (3, "improved")])
def test_stored_runs_are_judged_by_what_the_thesis_printed(reacher, by, message):
    """The verdict follows the difference between stored returns and the printed mean."""
    (only,) = compare_stored_runs_with_tables([shifted(reacher, by)])
    assert only.verdict.verdict == message
    assert only.verdict.effect == pytest.approx(sum(only.returns) / len(only.returns) + 4.5)


def test_one_stored_run_is_no_sample(answers, reacher):
    """A single stored run is named, and not judged."""
    cells = compare_stored_runs_with_tables([replace(reacher, seeds=1, runs=reacher.runs[:1])])
    assert [cell.verdict for cell in cells] == [None]
    text = "\n".join(thesis_text.describe_study(replace(answers, stored_cells=cells)))
    assert "0 of 288 printed cells" in text
    assert "one stored run, which is too few: sb3-ppo-Reacher-v4-full" in text


@pytest.mark.parametrize("failed", [3, 5])
def test_runs_that_failed_count_and_are_said(answers, reacher, failed):
    """Failed runs count as the environment's worst return in both comparisons, even all of them."""
    runs = [
        replace(run, status="failed", final_return=None) if number < failed else run
        for number, run in enumerate(reacher.runs)
    ]
    (only,) = compare_stored_runs_with_tables([replace(reacher, runs=runs)])
    cell = replace(reacher.cell, algorithm="td3", environment="Hopper-v4")
    own = replace(cell, hyperparameters=thesis_questions.ORIGINAL)
    (paper,) = thesis_questions.compare_stored_runs_with_papers(
        [replace(reacher, cell=own, runs=runs)]
    )
    assert only.failed == paper.failed == failed
    remaining = reacher.returns[failed:]
    returns = [
        *[min([find_worst_return_by_environment()["Hopper-v4"], *remaining])] * failed,
        *remaining,
    ]
    assert paper.mean == pytest.approx(sum(returns) / 5)
    with_runs = replace(answers, stored_cells=(only,), stored_reproduction=(paper,))
    text = "\n".join(thesis_text.describe_study(with_runs))
    assert f"{failed} runs of sb3-ppo-Reacher-v4-full failed and counted as the worst" in text
    assert f"{failed} runs of sb3 td3 on Hopper-v4 failed and counted as the worst" in text


@pytest.fixture
def papers(tmp_path, monkeypatch):
    """Return the folder of a copy of the published tables, which a test may damage."""
    folder = tmp_path / "paper"
    shutil.copytree(suite.locate_baselines() / "paper", folder)
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)
    cached = published.load_published_bands, published.load_bands_of_original_papers
    for load in cached:
        load.cache_clear()
    yield folder
    for load in cached:
        load.cache_clear()


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("thesis_returns.csv", "9,ppo,cleanrl,cleanrl,Ant-v4,1771.9,339.4\n", "",
         "thesis_returns.csv lacks cleanrl ppo Ant-v4 cleanrl; expected a line for each"),
        ("thesis_returns.csv", "ppo,cleanrl,cleanrl,Ant-v4", "pppo,cleanrl,cleanrl,Ant-v4",
         r"lacks cleanrl ppo Ant-v4 cleanrl, .* and \d+ more; .*; ppo, pppo, sac, td3; "),
        ("thesis_returns.csv", "9,ppo,cleanrl,cleanrl,Hopper-v4", "9,ppo,cleanrl,cleanrl,Ant-v4",
         "thesis_returns.csv has 2 lines of cleanrl ppo Ant-v4 cleanrl; expected one"),
        ("originals.csv", "td3,Hopper-v1", "td3,Ant-v3", "originals.csv has 2 lines of td3 Ant"),
    ],
    ids=["missing", "misspelt", "twice", "original"],
)  # fmt: skip
def test_a_table_with_cells_missing_or_twice_is_one_sentence(papers, file, old, new, message):
    """The error names the cells and their file."""
    text = (papers / file).read_text()
    assert old in text
    (papers / file).write_text(text.replace(old, new))
    with pytest.raises(UserError, match=message):
        answer_thesis_questions()


def test_runs_that_were_made_otherwise_are_no_reproduction(reacher):
    """Runs with another protocol or other hyperparameters are an error."""
    shorter = replace(reacher, protocol=replace(reacher.protocol, total_steps=10))
    with pytest.raises(UserError, match="recorded with another budget"):
        compare_stored_runs_with_tables([shorter])
    larger = replace(reacher, hyperparameters={**reacher.hyperparameters, "discount": 0.9})
    with pytest.raises(UserError, match=r"other hyperparameters: discount \(0.9, now 0.99\)"):
        compare_stored_runs_with_tables([larger])
