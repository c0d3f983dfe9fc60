"""The gate on copies of frameworks with one change: no all-clear, no false alarm, no wrong word.

Each row stands for a kind of change that a gate of chosen functions would not have counted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import pytest

from rlregress import frameworks
from rlregress.catalogue import registry
from rlregress.model import differences as model
from rlregress.upgrade import cascade
from rlregress.upgrade.upgrade_options import Options
from tools.tests.upgrade.small_packages import edit_copy


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
                algorithms=[edit.algorithm], scenarios=list(scenarios), returns=False, workers=1,
            )
        )  # fmt: skip

    return judged


def states(result):
    """Name of every piece of code -> its state."""
    return {entry.name.partition(" ")[2]: entry.state for entry in result.entries
            if entry.kind in model.CODE}  # fmt: skip


IQL, QMIX = (f"torchrl/objectives/{name}.py" for name in ("iql", "multiagent/qmixer"))
COMMON = "stable_baselines3/common"
NEVER_RUN = {
    "another loss": (
        Edit("torchrl", "td3", IQL,
             "            td_q = self._vmap_qvalue_networkN0(td_q, self.target_qvalue_network_",
             "            td_q = self._vmap_qvalue_networkN0(td_q, self.qvalue_network_"),
        "DiscreteIQLLoss.value_loss"),
    "a loss of several agents": (
        Edit("torchrl", "td3", QMIX, "(pred_val * action).sum(-1, keepdim=True)",
             "(pred_val + action).sum(-1, keepdim=True)"), "QMixerLoss.forward"),
    "what reads the files of a monitor": (
        Edit("sb3", "a2c", f"{COMMON}/monitor.py", '"*" + Monitor.EXT', '"?" + Monitor.EXT'),
        "get_monitor_files"),
    "what writes logs": (
        Edit("sb3", "a2c", f"{COMMON}/logger.py", 'elif _format == "csv"', 'elif _format == "CSV"'),
        "make_output_format"),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("case", NEVER_RUN)
def test_what_no_training_executes_is_named_and_not_acquitted(case, judge):
    """Whatever it is for: nothing is left out because the suite has no training of it."""
    edit, name = NEVER_RUN[case]
    result = judge(edit)
    changed = states(result)
    assert set(changed.values()) <= {model.NEVER, model.NOT_COMPARED}
    assert name is None or set(changed) == {name}
    assert (result.verdict, result.exit_code) == (model.COULD_NOT_JUDGE, 2)


@pytest.mark.nightly
def test_a_change_that_never_ran_is_not_acquitted_by_the_function_around_it(judge):
    """TD3 runs the function, and takes the other way around the line that changed."""
    edit = Edit("sb3", "td3", f"{COMMON}/buffers.py", "th.as_tensor(array, device=self.device)",
                'th.as_tensor(array, device="nowhere")')  # fmt: skip
    result = judge(edit)
    assert states(result) == {"BaseBuffer.to_torch": model.NEVER}
    assert (result.verdict, result.exit_code) == (model.COULD_NOT_JUDGE, 2)


PPO, TD3 = "stable_baselines3/ppo/ppo.py", "stable_baselines3/td3/td3.py"
SCRIPT = "cleanrl/td3_continuous_action.py"
CRASHES = {
    "a second backward pass": Edit(
        "sb3", "ppo", PPO, "                loss.backward()\n",
        "                loss.backward()\n                loss.backward()\n"),
    "a wrong device of a tensor": Edit(
        "sb3", "td3", f"{COMMON}/buffers.py", "th.tensor(array, device=self.device)",
        'th.tensor(array, device="nowhere")'),
    "a module that cannot be imported": Edit(
        "sb3", "ppo", PPO, "from torch.nn import functional as F",
        "from torch.nn import functionals as F"),
    "an error before the first step": Edit(
        "sb3", "td3", TD3, 'get_parameters_by_name(self.actor, ["running_"])',
        'get_parameters_by_name(self.author, ["running_"])'),
    "a draw of a wrong shape": Edit(
        "torchrl", "td3", "torchrl/objectives/td3.py", "torch.randn_like(act)",
        "torch.normal(act, -torch.ones_like(act))"),
    "a wrong seed of a script": Edit(
        "cleanrl", "td3", SCRIPT, "    np.random.seed(args.seed)\n",
        "    np.random.seed(args.seed)\n    np.random.randint(1, 0)\n"),
}  # fmt: skip


@pytest.mark.nightly
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


EQUIVALENT = {
    "a name": Edit("sb3", "ppo", PPO, "policy_loss_1 = advantages * ratio\n                "
                   "policy_loss_2 = advantages * th.clamp(ratio, 1 - clip_range, 1 + clip_range)\n"
                   "                policy_loss = -th.min(policy_loss_1, policy_loss_2).mean()",
                   "one = advantages * ratio\n                "
                   "two = advantages * th.clamp(ratio, 1 - clip_range, 1 + clip_range)\n"
                   "                policy_loss = -th.min(one, two).mean()"),
    "factors in another order": Edit(
        "sb3", "ppo", PPO, "policy_loss_1 = advantages * ratio",
        "policy_loss_1 = ratio * advantages"),
    "a condition turned round": Edit(
        "sb3", "ppo", PPO, "if self.clip_range_vf is None:\n                    # No clipping\n"
        "                    values_pred = values\n                else:",
        "if not self.clip_range_vf is not None:\n                    values_pred = values\n"
        "                else:"),
    "an early result": Edit(
        "sb3", "sac", "stable_baselines3/sac/sac.py", "critic_loss = 0.5 * sum(",
        "half = 0.5\n            critic_loss = half * sum("),
    "arguments by name": Edit(
        "sb3", "td3", TD3, "normal_(0, self.target_policy_noise)",
        "normal_(mean=0, std=self.target_policy_noise)"),
    "an assertion": Edit(
        "sb3", "dqn", "stable_baselines3/dqn/dqn.py", "        losses = []\n",
        "        assert self.policy is not None\n        losses = []\n"),
    "a docstring and an annotation": Edit(
        "sb3", "a2c", "stable_baselines3/a2c/a2c.py", "    def train(self) -> None:",
        "    def train(self):"),
    "an import under another name": Edit(
        "sb3", "td3", TD3, "from torch.nn import functional as F",
        "import torch.nn.functional as F"),
    "a constant of a module": Edit(
        "sb3", "a2c", "stable_baselines3/a2c/a2c.py", "\nclass A2C(",
        "\nUNUSED = 1\n\n\nclass A2C("),
    "a temporary of an advantage": Edit(
        "torchrl", "ppo", "torchrl/objectives/ppo.py", "gain = torch.stack([gain1, gain2], -1).min"
        "(dim=-1).values", "pair = torch.stack([gain1, gain2], -1)\n        gain = pair.min("
        "dim=-1).values"),
    "a temporary of a script": Edit(
        "cleanrl", "td3", SCRIPT, "qf_loss = qf1_loss + qf2_loss",
        "both = (qf1_loss, qf2_loss)\n            qf_loss = both[0] + both[1]"),
    "a message of a script": Edit(
        "cleanrl", "ppo", "cleanrl/ppo_continuous_action.py", 'print("SPS:"', 'print("speed:"'),
    "a loop of a script": Edit(
        "cleanrl", "ppo", "cleanrl/ppo_continuous_action.py",
        "for epoch in range(args.update_epochs):", "for epoch in [*range(args.update_epochs)]:"),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("case", EQUIVALENT)
def test_an_equivalent_rewrite_is_no_change(case, judge):
    """Code that computes the same, to the bit, is executed with the same results."""
    result = judge(EQUIVALENT[case])
    ran = states(result)
    assert set(ran.values()) <= {*model.EXECUTED_SAME, *model.WITHOUT_EFFECT}
    assert result.verdict == model.UNCHANGED
    assert result.exit_code == 0


SAC = "stable_baselines3/sac/policies.py"
_PRIVATE = (("LOG_STD_M", "_LOG_STD_M"),)
_IN_THE_CLASS = (
    ("LOG_STD_MAX = 2\n", "\n"), ("LOG_STD_MAX)", "self._most)"),
    ("class Actor(BasePolicy):\n", "class Actor(BasePolicy):\n    _most = 2\n"),
)  # fmt: skip
_IN_A_HELPER = (
    ("LOG_STD_MIN, LOG_STD_MAX)", "*_bounds())"),
    ("class Actor(", "_RANGE = 22\n_MOST = _RANGE - 20\n\n\ndef _bounds():\n"
     "    return LOG_STD_MIN, _MOST\n\n\nclass Actor("),
)  # fmt: skip
#: what no public name tells: a private value that is given at import -> what it is of.
VALUES = {
    "a constant of a module": (
        Edit("sb3", "sac", SAC, "_LOG_STD_MAX = 2", "_LOG_STD_MAX = 4", before=_PRIVATE),
        "<module>"),
    "an attribute of a class": (
        Edit("sb3", "sac", SAC, "_most = 2", "_most = 4", before=_IN_THE_CLASS), "<class> Actor"),
    "a constant that others are made of": (
        Edit("sb3", "sac", SAC, "_RANGE = 22", "_RANGE = 24", before=_IN_A_HELPER), "<module>"),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("case", VALUES)
def test_a_value_that_no_training_needs_is_found(case, judge):
    """A bound that no training meets, given outside of all functions: they are called with both."""
    edit, piece = VALUES[case]
    result = judge(edit)
    (entry,) = [listed_entry for listed_entry in result.entries if listed_entry.kind in model.CODE]
    assert entry.name.partition(" ")[2] == piece
    # of the third a function returns it, in any training
    assert entry.state == (model.DIFFERS if edit.before == _IN_A_HELPER else model.BEYOND)
    assert (result.verdict, result.exit_code) == (model.CHANGED, 3)


@pytest.mark.nightly
@pytest.mark.parametrize("case", VALUES)
def test_a_value_that_a_training_needs_is_the_culprit(case, judge):
    """It is given its old value again, as a function its old code."""
    edit, piece = VALUES[case]
    result = judge(replace(edit, new=edit.new.replace(" 4", " -5").replace("24", "10")))
    (culprits,) = [
        culprits_ for framework in result.frameworks for culprits_ in framework.culprits.values()
    ]
    assert culprits.alone is not None
    assert culprits.alone.key == (SAC, piece)
    assert (result.verdict, result.exit_code) == (model.CHANGED, 3)


@pytest.mark.nightly
def test_a_value_that_is_written_otherwise_is_the_same(judge):
    """Under another name, by another expression."""
    edit = Edit("sb3", "sac", SAC, "_LOG_STD_MAX = 2", "_LOG_STD_MAX = 1 + 1", before=_PRIVATE)
    assert judge(edit).verdict == model.UNCHANGED


LOGGED = {
    "arguments of a statistic, swapped": Edit(
        "sb3", "ppo", PPO,
        "explained_variance(self.rollout_buffer.values.flatten(), "
        "self.rollout_buffer.returns.flatten())",
        "explained_variance(self.rollout_buffer.returns.flatten(), "
        "self.rollout_buffer.values.flatten())"),
    "a mean over one minibatch": Edit(
        "sb3", "sac", "stable_baselines3/sac/sac.py",
        'self.logger.record("train/critic_loss", np.mean(critic_losses))',
        'self.logger.record("train/critic_loss", 2 * np.mean(critic_losses))'),
    "a scalar of a script": Edit(
        "cleanrl", "td3", SCRIPT, '"losses/qf_loss", qf_loss.item() / 2.0',
        '"losses/qf_loss", qf_loss.item()'),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("case", LOGGED)
def test_what_is_logged_is_compared(case, judge):
    """A training that is the same and logs something else differs in logs, with its culprit."""
    result = judge(LOGGED[case])
    assert set(states(result).values()) == {model.LOGS}
    assert (result.verdict, result.exit_code) == (model.CHANGED, 3)
