"""The order in which the functions that explain a step are listed."""

from __future__ import annotations

from rlregress import frameworks
from rlregress.bisect import explanation, symptoms
from rlregress.model.bisect_result import ChangedAt
from rlregress.model.code import CODE_CHANGED, ChangedPiece


def piece(file, name):
    """A function that has changed."""
    return ChangedPiece(
        file=file, name=name, how=CODE_CHANGED, old=None, new=None, paths=(None, None)
    )


def test_the_frameworks_functions_come_before_what_it_stands_on():
    """Those of the probed algorithm first; a constructor after what computes something."""
    adapter = frameworks.get_adapter("torchrl")
    symptom = symptoms.make_symptom_of_detail(adapter, "sac.temperature.target_entropy")
    step = ChangedAt(package="torchrl", old="0.1", new="0.2", values=("", ""))
    pieces = [
        piece("tensordict/_td.py", "TensorDict._clone"),
        piece("torchrl/objectives/common.py", "LossModule.__init__"),
        piece("torchrl/objectives/common.py", "LossModule.reset"),
        piece("torchrl/objectives/sac.py", "SACLoss.__init__"),
        piece("torchrl/objectives/sac.py", "SACLoss.target_entropy"),
    ]
    sorted_functions = explanation._sort_nearest_first(pieces, step, symptom, [adapter])
    assert [p.name for p in sorted_functions] == [
        "SACLoss.target_entropy", "SACLoss.__init__", "LossModule.reset", "LossModule.__init__",
        "TensorDict._clone",
    ]  # fmt: skip


def test_what_the_suite_knows_of_a_release_comes_first():
    """Its function is named before others of the framework, and its sentence before others."""
    adapter = frameworks.get_adapter("sb3")
    symptom = symptoms.make_symptom_of_detail(adapter, "gae.truncation")
    step = ChangedAt(package="stable-baselines3", old="1.3.0", new="1.4.0", values=("", ""))
    known_piece = piece("stable_baselines3/common/on_policy_algorithm.py",
                  "OnPolicyAlgorithm.collect_rollouts")  # fmt: skip
    other_piece = piece("stable_baselines3/common/base_class.py", "BaseAlgorithm.learn")
    pieces = [other_piece, known_piece]
    assert explanation._sort_nearest_first(pieces, step, symptom, [adapter]) == pieces[::-1]
    first = explanation._list_changelog_entries(step, symptom, pieces, [adapter])[0]
    assert "time limit" in first
