"""The gate on copies of frameworks with one change: no all-clear, no false alarm, no wrong word.

Each row stands for a kind of change that a gate of chosen functions would not have counted. Those
of ``changes.toml`` were chosen before any was judged: rewrites, small faults, constants. Most of
its last group stand behind bounds, masks and factors that no training meets. They take an hour on
one core.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.catalogue import registry
from rlregress.model import differences as model
from rlregress.upgrade import cascade
from rlregress.upgrade.upgrade_options import Options
from tools.tests.small_files import edit_copy

pytestmark = pytest.mark.nightly


@dataclass(frozen=True)
class Edit:
    """One change of a framework's source.

    Attributes:
        before: old and new text of changes that both versions have.
    """

    framework: str
    algorithm: str
    file: str
    old: str
    new: str
    before: tuple[tuple[str, str], ...] = ()


@pytest.fixture
def judge(tmp_path, cache, monkeypatch):
    """Judge what is installed against a copy with an edit, or the reverse; by trainings alone."""
    monkeypatch.setattr(registry, "list_details", list)

    def judged(edit, reverse=False, scenarios=()):
        adapter = frameworks.get_adapter(edit.framework)
        if adapter.framework.checkout and adapter.framework.checkout not in os.environ:
            pytest.skip(f"{adapter.framework.checkout} is not set: its trainings need a checkout")
        edits = edit.before, [*edit.before, (edit.old, edit.new)]
        trees = [
            edit_copy(adapter, edit.file, tmp_path / name, *pairs, everywhere=bool(edit.before))
            for name, pairs in zip(("plain", "edited"), edits, strict=True)
        ]
        old_tree, new_tree = trees[::-1] if reverse else trees
        return cascade.judge_upgrade(
            Options(
                old_tree, new_tree, tmp_path / "report", frameworks=[edit.framework],
                algorithms=[edit.algorithm], scenarios=scenarios, returns=False, workers=1,
            )
        )  # fmt: skip

    return judged


def states(result):
    """Name of every piece of code -> its state."""
    return {entry.name.partition(" ")[2]: entry.state for entry in result.entries
            if entry.kind in model.CODE}  # fmt: skip


COMMON = "stable_baselines3/common"
PPO = "stable_baselines3/ppo/ppo.py"
SAC, SCRIPT = "stable_baselines3/sac/policies.py", "cleanrl/td3_continuous_action.py"
#: makes a value private that is given at import: no public name tells of it.
PRIVATE = (("LOG_STD_M", "_LOG_STD_M"),)
#: whatever it is for: nothing is left out because the suite has no training of it.
NEVER_RUN = {
    "another loss": Edit(
        "torchrl", "td3", "torchrl/objectives/iql.py",
        "            td_q = self._vmap_qvalue_networkN0(td_q, self.target_qvalue_network_",
        "            td_q = self._vmap_qvalue_networkN0(td_q, self.qvalue_network_"),
}  # fmt: skip
#: a direct call goes where no training does.
CALLED = {
    "a line that a function which runs goes around": Edit(
        "sb3", "td3", f"{COMMON}/buffers.py", "th.as_tensor(array, device=self.device)",
        'th.as_tensor(array, device="nowhere")'),
}  # fmt: skip
#: code that computes the same, to the bit, is executed with the same results.
EQUIVALENT = {
    "factors in another order": Edit(
        "sb3", "ppo", PPO, "policy_loss_1 = advantages * ratio",
        "policy_loss_1 = ratio * advantages"),
    "a docstring and an annotation": Edit(
        "sb3", "a2c", "stable_baselines3/a2c/a2c.py", "    def train(self) -> None:",
        "    def train(self):"),
    "a private value written otherwise": Edit(
        "sb3", "sac", SAC, "_LOG_STD_MAX = 2", "_LOG_STD_MAX = 1 + 1", before=PRIVATE),
}  # fmt: skip
#: its direct call fills a cache that cannot be emptied: its trainings alone show it.
CACHING = {
    "a temporary of an advantage": Edit(
        "torchrl", "ppo", "torchrl/objectives/ppo.py", "gain = torch.stack([gain1, gain2], -1).min"
        "(dim=-1).values", "pair = torch.stack([gain1, gain2], -1)\n        gain = pair.min("
        "dim=-1).values"),
}  # fmt: skip
#: a training that is the same and logs something else differs in logs.
LOGGED = {
    "a mean over one minibatch": Edit(
        "sb3", "sac", "stable_baselines3/sac/sac.py",
        'self.logger.record("train/critic_loss", np.mean(critic_losses))',
        'self.logger.record("train/critic_loss", 2 * np.mean(critic_losses))'),
    "a scalar of a script": Edit(
        "cleanrl", "td3", SCRIPT, '"losses/qf_loss", qf_loss.item() / 2.0',
        '"losses/qf_loss", qf_loss.item()'),
}  # fmt: skip
#: cases -> the states that their code may have, the verdict and its exit code.
OUTCOMES = (
    (NEVER_RUN, {model.NEVER, model.NOT_COMPARED}, (model.COULD_NOT_JUDGE, 2)),
    (CALLED, {model.BEYOND}, (model.CHANGED, 3)),
    (EQUIVALENT, {*model.EXECUTED_SAME, *model.WITHOUT_EFFECT}, (model.UNCHANGED, 0)),
    (CACHING, {model.IN_PART}, (model.PARTLY, 0)),
    (LOGGED, {model.LOGS}, (model.CHANGED, 3)),
)


@pytest.mark.parametrize(
    ("edit", "states_of_code", "outcome"),
    [pytest.param(edit, *outcome, id=name) for cases, *outcome in OUTCOMES
     for name, edit in cases.items()],
)  # fmt: skip
def test_a_change_is_judged_by_what_ran(edit, states_of_code, outcome, judge):
    """What no training executes is not acquitted, a rewrite is no change, and a log is one."""
    result = judge(edit)
    assert {*states(result).values()} <= states_of_code
    assert (result.verdict, result.exit_code) == outcome


CRASHES = {
    "a wrong device of a tensor": Edit(
        "sb3", "td3", f"{COMMON}/buffers.py", "th.tensor(array, device=self.device)",
        'th.tensor(array, device="nowhere")'),
    "a module that cannot be imported": Edit(
        "sb3", "ppo", PPO, "from torch.nn import functional as F",
        "from torch.nn import functionals as F"),
    "a wrong seed of a script": Edit(
        "cleanrl", "td3", SCRIPT, "    np.random.seed(args.seed)\n",
        "    np.random.seed(args.seed)\n    np.random.randint(1, 0)\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", CRASHES)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_crash_is_an_answer(case, reverse, judge):
    """The new version fails where the old one trains, with the line; the reverse is a repair."""
    edit = CRASHES[case]
    result = judge(edit, reverse)
    if reverse:
        # what could not be read of the old version is not checked
        assert result.verdict in (model.REPAIRED, model.PARTLY)
        assert result.exit_code == 0
    else:
        assert (result.verdict, result.exit_code) == (model.NEW_FAILS, 1)
    (training,) = [entry for entry in result.entries if entry.kind == model.TRAINING]
    assert training.state == (model.OLD_FAILED if reverse else model.NEW_FAILS)
    assert "Error" in training.reason
    assert edit.file in training.reason
    assert model.NEVER not in states(result).values()


def test_a_private_value_that_is_given_at_import_is_compared(judge):
    """No training meets the bound: the functions that read it are called with both values."""
    result = judge(Edit("sb3", "sac", SAC, "_LOG_STD_MAX = 2", "_LOG_STD_MAX = 4", before=PRIVATE))
    assert states(result) == {"<module>": model.BEYOND}
    assert (result.verdict, result.exit_code) == (model.CHANGED, 3)


def test_a_private_value_that_a_training_needs_is_the_culprit(judge):
    """It is given its old value again, as a function its old code."""
    result = judge(Edit("sb3", "sac", SAC, "_LOG_STD_MAX = 2", "_LOG_STD_MAX = -5", before=PRIVATE))
    (culprits,) = result.frameworks[0].culprits.values()
    assert culprits.alone.key == (SAC, "<module>")
    assert (result.verdict, result.exit_code) == (model.CHANGED, 3)


CHANGES = tomllib.loads(Path(__file__).with_name("changes.toml").read_text(encoding="utf-8"))
#: what the gate does not find, and why: it is never called the same.
NOT_FOUND = {"truncation: every end bootstraps": "the key is always there, whatever its default"}
ROWS = [
    pytest.param(kind, row, id=f"{kind}: {row['what']}")
    for kind, rows in CHANGES.items()
    for row in rows
]


@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_a_fault_is_changed_and_a_rewrite_is_not(kind, row, judge):
    """By trainings or by direct calls."""
    edit = Edit(row["framework"], row["algorithm"], row["file"], row["old"], row["new"])
    result = judge(edit, scenarios=[row["scenario"]] if "scenario" in row else [])
    if kind == "rewrite":
        # of what is evaluated only sometimes it is not known whether it was
        same = (model.UNCHANGED, model.ROUNDED, model.PARTLY, model.COULD_NOT_JUDGE)
        assert result.verdict in same
    elif row["what"] in NOT_FOUND:
        assert result.verdict in (model.COULD_NOT_JUDGE, model.PARTLY)
    else:
        assert result.verdict == model.CHANGED
