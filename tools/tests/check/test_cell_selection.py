"""Which cells a session is about: of a hyperparameter set, and of a study."""

from __future__ import annotations

import shutil

import pytest

from rlregress import frameworks, suite
from rlregress.check import baseline_runs, cell_selection
from rlregress.check.cell_selection import Selection, choose_cells, describe_excluded_cells
from rlregress.errors import UserError
from rlregress.hyperparameters import read_hyperparameters
from rlregress.training.budgets import load_budget, resolve_hyperparameters_of_cell
from rlregress.training.cell import Cell


def resolve(framework, algorithm, name, budget="full"):
    """Return the hyperparameters with which a framework trains under a set."""
    return resolve_hyperparameters_of_cell(
        Cell(framework, algorithm, "any", name, budget), load_budget(budget)
    )


def test_every_cell_of_a_study_is_trained_or_left_out_with_its_reason(monkeypatch):
    """Cells that cannot be trained here are counted with a reason; none is lost."""
    monkeypatch.delenv(frameworks.get_adapter("cleanrl").framework.checkout, raising=False)
    selected = Selection("full", cells="thesis")
    cells, left_out = choose_cells(selected), describe_excluded_cells(selected)
    counts = [int(line.partition("(cells: ")[2].partition(")")[0]) for line in left_out]
    assert len(cells) + sum(counts) == 288
    assert {cell.framework for cell in cells} >= {"sb3", "torchrl"}
    (text,) = [line for line in left_out if line.startswith("sb3-sac")]
    assert text.startswith("sb3-sac with the hyperparameters of cleanrl (cells: 8): Stable-Bas")


def test_a_named_set_selects_all_cells_stored_under_it():
    """Default cells under a set: the framework's own, and all that others have stored."""
    selected = choose_cells(Selection("short", ("torchrl",), ("ppo",), hyperparameters="sb3"))
    environments = ("Hopper-v4", "InvertedPendulum-v4")
    assert [cell.id for cell in selected] == [
        f"torchrl-ppo-{name}-sb3-short" for name in environments
    ]
    own = choose_cells(Selection("short", ("sb3",), hyperparameters="sb3"))
    assert own == choose_cells(Selection("short", ("sb3",)))
    with pytest.raises(UserError, match="no default cell .* stored: torchrl-.*choose with"):
        choose_cells(Selection("short", ("torchrl",), ("sac",), hyperparameters="sb3"))
    # cells of a published table that nobody has recorded are trained by name alone
    with pytest.raises(UserError, match="names no cells of budget 'full'"):
        choose_cells(Selection("full", ("torchrl",), ("ppo",), hyperparameters="sb3"))


def test_a_study_has_the_budget_of_its_table():
    """Nobody has to name the budget of a study."""
    assert cell_selection.choose_default_budget("thesis") == "full"
    for cells in ("default", "all"):
        assert cell_selection.choose_default_budget(cells) == "short"


def test_cells_of_another_set_name_it():
    """A set that one algorithm cannot take is trained with the others."""
    selected = Selection("smoke", ("sb3",), ("ppo",), hyperparameters="cleanrl")
    (cell,) = choose_cells(selected)
    assert cell.id == "sb3-ppo-InvertedPendulum-v4-cleanrl-smoke"
    assert "--hyperparameters cleanrl" in baseline_runs.suggest_recording_of_cell(cell)
    selected = Selection("smoke", ("sb3",), ("ppo", "sac"), hyperparameters="cleanrl")
    assert [cell.algorithm for cell in choose_cells(selected)] == ["ppo"]
    (reason,) = describe_excluded_cells(selected)
    assert "policy_delay is 1 and no argument sets it, found 2" in reason
    with pytest.raises(UserError, match="policy_delay is 1 and no argument sets it"):
        choose_cells(Selection("smoke", ("sb3",), ("sac",), hyperparameters="cleanrl"))


def test_a_set_counts_as_it_is_and_the_frameworks_own_where_it_says_nothing():
    """Initial gains stay with their framework, one learning rate is all networks', budgets chang"""
    resolved = resolve("torchrl", "td3", "sb3")
    assert resolved == read_hyperparameters("torchrl")["td3"] | read_hyperparameters("sb3")["td3"]
    assert (resolved["adam_epsilon"], resolved["hidden_sizes"]) == (0.0001, [400, 300])
    resolved = resolve("sb3", "ppo", "torchrl")
    assert resolved["value_coefficient"] == 0.25
    assert resolved.keys() == read_hyperparameters("sb3")["ppo"].keys()
    assert {"policy_gain", "value_gain"} <= read_hyperparameters("torchrl")["ppo"].keys()
    resolved = resolve("cleanrl", "sac", "torchrl")
    assert read_hyperparameters("cleanrl")["sac"]["critic_learning_rate"] == 0.001
    for network in ("critic", "temperature"):
        assert resolved[f"{network}_learning_rate"] == 0.0003
    for framework in ("sb3", "torchrl"):
        assert resolve(framework, "sac", "original", "short")["learning_starts"] == 400


def test_a_set_whose_name_cannot_be_a_folder_is_refused(tmp_path, monkeypatch):
    """Its runs lie in folders that are called after it, and manifests name them."""
    shutil.copytree(suite.locate_baselines(), tmp_path / "baselines")
    sets = tmp_path / "baselines" / "hyperparameters"
    monkeypatch.setattr(suite, "find_suite_root", lambda: tmp_path)
    for name in ("my set", "n" * 200, "a\nb"):
        shutil.copy(sets / "sb3.yaml", sets / f"{name}.yaml")
        requested = Selection("smoke", ("sb3",), ("ppo",), hyperparameters=name)
        text = "cannot be the name of a folder of runs; .*rename .*ya"
        with pytest.raises(UserError, match=text):
            choose_cells(requested)
