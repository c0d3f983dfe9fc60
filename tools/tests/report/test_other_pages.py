"""Pages of upgrades and comparisons, and the keys of JSON files that CI reads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rlregress.check.source_diff import diff_two_texts
from rlregress.model import differences as model
from rlregress.model import tones
from rlregress.model.differences import VIOLATED, Entry
from rlregress.model.upgrade_result import Culprits
from rlregress.report import check_report, upgrade_data, words
from rlregress.report.html import upgrade_page
from rlregress.report.html.page import PageInfo
from rlregress.upgrade.evidence import return_gate

from ..upgrade import test_result as upgrades
from ..upgrade.test_result import upgrade
from ..upgrade.test_upgrade_ci_formats import CHANGED
from . import simulated
from .markup import Page
from .test_check_page import HOPPER, stands_alone

COMMAND = "rlregress upgrade a==1 installed --algorithm sac"
FACTS = PageInfo("a title", "today", 90.0, "a machine", COMMAND)


def page_of(*frameworks) -> Page:
    """Return the page of an upgrade with these frameworks."""
    return stands_alone(
        upgrade_page.make_page_of_upgrade(upgrades.upgrade(*frameworks), FACTS).render_html()
    )


def test_the_next_step_is_the_same_command_without_what_limited_it():
    """All scenarios, not a script, where some or none were traced; no time limit that was over."""
    framework = upgrades.of(upgrades.traced(), executions=(upgrades.reached(),))
    over = ("3 of 9 trainings: --minutes 4 were over",)
    for options, kept, cut in (
        (" --scenario none", "", ()),
        (" --minutes 4 --no-returns", " --no-returns", over),
    ):
        facts = replace(FACTS, command=f"rlregress upgrade a==1 installed{options}")
        result = replace(upgrades.upgrade(framework), cut=cut)
        (overall_card,) = upgrade_page.make_cards_of_upgrade(result, facts)
        step = overall_card.steps[-1]
        assert step.command == f"rlregress upgrade a==1 installed{kept}"
        if not cut:
            assert step.text.startswith(f"1 changed piece of {upgrades.FILE.partition('/')[0]} was")
            assert step.text.endswith("trace every scenario:")


def test_unchecked_parts_are_on_the_first_screen():
    """Details without an answer and pieces that nothing executed stand beside what differs."""
    framework = upgrades.of(
        upgrades.traced(), executions=(upgrades.reached(),), not_probed=upgrades.missing(),
        defaults=(upgrades.BATCH,),
    )  # fmt: skip
    page = page_of(framework)
    (card,) = page.texts("article", "card")
    changed, not_judged = card.split("Not judged")
    assert "default td3 [library] batch: 100 -> 256" in changed
    assert f"function SAC.train, {upgrades.FILE}:270: never executed" in not_judged
    assert "detail atari.warp_frame [0]: new: AttributeError: no such thing" in not_judged
    assert "rlregress upgrade a==1 installed --script yours.py" in card
    assert "Everything that differs" in page.texts("h2")
    assert "AttributeError: no such thing" in page.texts("section")[0]


def test_a_partly_checked_upgrade_has_no_green_tick():
    """It states its share."""
    entry = Entry(kind=model.PACKAGE, name="numpy")
    parts = [upgrades.of(upgrades.traced()), upgrades.of(upgrades.traced())]
    upgrade_made = upgrades.upgrade(*parts, other_packages=[entry])
    overall_card, *framework_cards = upgrade_page.make_cards_of_upgrade(upgrade_made, FACTS)
    badge = overall_card.badge
    assert (badge.effective_tone, badge.word) == (tones.UNSURE, "partly checked")
    assert {card.badge.effective_tone for card in framework_cards} == {tones.NOTHING}
    assert {card.badge.word for card in framework_cards} == {"no difference found here"}
    executed_function = upgrades.function("SAC.learn")
    ran = (upgrades.reached("sac"), replace(upgrades.reached(), function=executed_function))
    page = page_of(upgrades.of(upgrades.traced(), executions=ran))
    assert page.texts("span", "badge")[0] == "? partly checked"
    assert page.texts("p", "share") == ["1 of 2 changed pieces ran"]
    assert page_of(upgrades.of(upgrades.traced())).texts("p", "share") == []


def test_the_framework_that_changed_stands_before_the_others():
    """Every verdict has a sign of its own tone."""
    changed = upgrades.of(upgrades.PARTED, changed=[upgrades.SCALE], standing=VIOLATED)
    upgrade_made = upgrades.upgrade(upgrades.of(upgrades.traced()), changed)
    overall_card, first, second = upgrade_page.make_cards_of_upgrade(upgrade_made, FACTS)
    assert (overall_card.badge.word, first.badge.word) == ("regressed", "regressed")
    assert second.badge.effective_tone == tones.NOTHING
    assert overall_card.changed[0].startswith("detail sac.critic_loss.scale")
    for word in {*model.ORDER, *check_report.MEANING}:
        assert word in tones.OF_VERDICT


def test_only_executed_source_is_open(parted):
    """A changed detail shows formulas and the changed characters."""
    executed_function = upgrades.function("SAC.learn")
    never = replace(upgrades.reached(), function=executed_function)
    (hunk,) = parted.hunks.values()
    links = (f"https://github.com/DLR-RM/stable-baselines3/blob/v1.0/{upgrades.FILE}", "")
    executions = upgrades.reached("sac"), never
    hunks = {upgrades.function(): replace(hunk, links=links), executed_function: hunk}
    page = page_of(upgrades.of(upgrades.traced(), executions=executions, hunks=hunks))
    opened = ["open" in attrs for tag, attrs in page.tags if attrs.get("class") == "diff"]
    (section,) = [text for text in page.texts("section") if text.startswith("Source of what")]
    assert opened == [False, True]
    assert section.index("Never executed (1)") < section.index("Executed (1)")
    away = [link for link in page.attributes("href") if link.startswith("https:")]
    assert away == [links[0], f"{links[0]}#L270", f"{links[0]}#L271"]
    page = page_of(parted)
    finding = page.texts("article", "finding")[0]
    assert "the old version half 1/2 of the sum over networks" in finding
    assert "the new version the variant 'none' sum over networks" in finding
    assert set(page.texts("del")) == {"0.5"}
    assert set(page.texts("ins")) == {"1.0"}
    assert "271 − loss = 0.5 * sum(x)" in finding
    assert "271 + loss = 1.0 * sum(x)" in finding


@pytest.fixture
def parted():
    """SAC's factor is gone: a changed detail, traces that diverge, and the line."""
    function = upgrades.function()
    old, new = (["def train():", f"    loss = {factor} * sum(x)"] for factor in ("0.5", "1.0"))
    return upgrades.of(
        upgrades.PARTED, changed=[upgrades.SCALE], executions=(upgrades.reached("sac"),),
        culprits={"sac": Culprits(place=(function,), alone=function)},
        hunks={function: diff_two_texts("SAC.train", old, new, (270, 270))},
        defaults=(upgrades.BATCH,),
    )  # fmt: skip


def test_returns_of_the_new_version_are_shown_run_by_run(tmp_path):
    """The page shows the verdict on the new returns, and each new run beside the stored ones."""
    stored_by_cell = {HOPPER: simulated.stored_cells()[HOPPER]}
    entries = simulated.run_entries(stored_by_cell, {HOPPER: 0.5})
    judged = return_gate.judge_returns_by_evidence("sb3", entries, ["ppo"], tmp_path)
    page = page_of(replace(upgrades.of(upgrades.PARTED), returns=judged))
    (card,) = page.texts("article", "card")
    assert "Returns of new: regressed." in card
    (cell,) = page.texts("article", "cell")
    assert f"new 1000 {words.format_return(entries[0]['record']['final_return'])}" in cell
    assert len(page.texts("figure")) >= 2
    assert f"rlregress check --cells {HOPPER}" in cell


def test_added_and_removed_lines_are_not_changed_ones():
    """Rows pair the lines of a change; between two changes lines are left out, and numbers stay."""
    old = [f"    line {number}" for number in range(30)]
    new = [*old[:5], "    new", *old[5:20], *old[21:]]
    difference = diff_two_texts("f", old, new, (1, 101))
    first, second = difference.groups
    assert [row.new for row in first if not row.is_same] == [(106, "new")]
    assert [row.old for row in first if not row.is_same] == [None]
    assert [(row.old, row.new) for row in second if not row.is_same] == [((21, "line 20"), None)]
    assert len(first) == len(second) == 7
    assert difference.left_out == 0


#: one key a line, as paths; of what was written before the names of the code changed.
STORED_KEYS = Path(__file__).with_name("json_keys.txt")


def keys(value: Any, path: str) -> set[str]:
    """Return all keys below a value, as paths; items of lists are one."""
    if isinstance(value, dict):
        below = [
            {f"{path}/{name}"} | keys(inner, f"{path}/{name}") for name, inner in value.items()
        ]
    else:
        below = [keys(inner, f"{path}/[]") for inner in value] if isinstance(value, list) else []
    return set().union(*below)


def found_keys(report: Path) -> set[str]:
    """Return the keys of a verdict, its evidence, and an upgrade."""
    data = upgrade_data.convert_upgrade_to_plain_data(upgrade(CHANGED))
    keys_found = keys(json.loads(json.dumps(data, default=str)), "upgrade.json")
    for name in ("verdict.json", "evidence.json"):
        keys_found |= keys(json.loads((report / name).read_text()), name)
    return keys_found


def test_no_key_is_lost(night):
    """New keys are allowed; renamed or removed ones break readers."""
    _, _, report = night({"sb3-ppo-Hopper-v4-short": 0.5})
    missing = set(STORED_KEYS.read_text().splitlines()) - found_keys(report)
    assert sorted(missing) == []
