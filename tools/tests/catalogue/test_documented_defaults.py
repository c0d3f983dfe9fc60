"""Documented defaults: the file, the ways there and back, the words of a difference."""

from __future__ import annotations

import pytest

from rlregress import suite
from rlregress.catalogue import documented_defaults, hyperparameter_names
from rlregress.catalogue.hyperparameter_names import PrintedName
from rlregress.errors import UserError

ENTRY = """[[defaults]]
algorithm = "ppo"
scope = "library"
since = "1.0"
source = "here"
values = { rollout_steps = 64, target_kl = "none" }
names = { minibatch_size = "batches", value_clip_range = "clip", polyak_coefficient = "tau" }
[defaults.transforms]
minibatch_size = "count"
value_clip_range = "switch"
polyak_coefficient = "flipped"
"""


def _load(tmp_path, text):
    path = tmp_path / "defaults.toml"
    path.write_text(text)
    return documented_defaults.load_documented_defaults(path)


def test_none_means_switched_off(tmp_path):
    """TOML has no null: the word stands for it."""
    (entry,) = _load(tmp_path, ENTRY)
    assert entry.values == {"rollout_steps": 64, "target_kl": None}


def test_own_numbers_and_back(tmp_path):
    """A count, a switch and a flipped coefficient are the framework's own way to say the same."""
    with_names = 'names = { rollout_steps = "steps", clip_range = "eps",'
    (entry,) = _load(tmp_path, ENTRY.replace("names = {", with_names))
    hyperparameters = {"rollout_steps": 64, "minibatch_size": 16, "clip_range": 0.2,
                       "value_clip_range": None, "polyak_coefficient": 0.005}  # fmt: skip
    own = entry.convert_to_framework_parameters(hyperparameters)
    assert own == {"steps": 64, "batches": 4, "eps": 0.2, "clip": False, "tau": 0.995}
    assert entry.convert_to_our_parameters(own) == pytest.approx(hyperparameters)


def test_difference_names_both_values():
    """A changed, a new and a missing hyperparameter each get a clause; equal numbers none."""
    clauses = documented_defaults.list_differences_from_documented(
        {"a": 1, "b": 1e6, "new": None}, {"a": 2, "b": 1000000, "old": 3}
    )
    assert clauses == [
        "a: 1 (documented: 2)",
        "new: none (documented: nothing)",
        "old: no such hyperparameter (documented: 3)",
    ]


def test_printed_name_is_right_in_any_scope_and_a_dash_in_none():
    """A name is right if the framework has it; a dash if its programs have no such name."""
    names = {("ppo", "library"): {"discount": "gamma"},
             ("ppo", "script"): {"epochs": "loss.rounds"}}  # fmt: skip

    def cell(hyperparameter, printed):
        return PrintedName("Table 6", "ppo", "row", "any", hyperparameter, printed, None, "")

    assert cell("discount", "gamma").is_right(names)
    assert not cell("discount", "discount").is_right(names)
    assert cell("epochs", "rounds").is_right(names)
    assert cell("discount", "-").is_right(names)
    assert not cell("epochs", "-").is_right(names)


@pytest.mark.parametrize("lacking", ["td3", "sac"])
def test_a_table_that_lacks_rows_is_an_error(tmp_path, monkeypatch, lacking):
    """Names of the thesis cannot vanish unnoticed: each table has its number of rows."""
    (tmp_path / "paper").mkdir()
    for path in (suite.locate_baselines() / "paper").glob("thesis_hyperparameters.*"):
        lines = path.read_text(encoding="utf-8").splitlines()
        if path.suffix == ".csv":
            lines.remove(next(row for row in lines if row.split(",")[1] == lacking))
        (tmp_path / "paper" / path.name).write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)
    with pytest.raises(UserError, match=f"rows for {lacking}, expected the 1[45] of its table"):
        list(hyperparameter_names.list_printed_names("any"))
