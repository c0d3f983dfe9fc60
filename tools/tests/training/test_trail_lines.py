"""The trail of a training: which lines of the framework count as executed."""

from __future__ import annotations

import pytest

from rlregress import marks
from rlregress.inside.trail import Trail

SCRIPT = """
import torch


def train(parameter):
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    for number in range(2):
        parameter.square().backward()
        optimizer.step()
    if number > 5:
        number = 0


parameter = torch.ones((), requires_grad=True)
UPDATE
if parameter > 5:
    parameter = None
    parameter = 0
"""


@pytest.mark.parametrize(
    ("update", "lines", "missed"),
    [
        # an update from the body of a script: its lines count, other than imports of a package
        ("train(parameter)", 13, 3),
        # one in a function that something else calls: the functions' alone
        ("", 6, 1),
    ],
    ids=["script", "module"],
)
def test_the_body_of_a_script_counts(tmp_path, update, lines, missed):
    """The body of a file counts if it calls for updates, and does not if it only defines."""
    path = tmp_path / "algorithm" / "ppo.py"
    path.parent.mkdir()
    path.write_text(SCRIPT.replace("UPDATE", update))
    with Trail("ppo", [str(path.parent)]) as trail:
        namespace = {"__name__": "__main__"}
        exec(marks.compile_source(path.read_bytes(), str(path), bool(update)), namespace)
        if not update:
            namespace["train"](namespace["parameter"])
    [(ran, all_lines)] = trail.describe_trail()["lines"].values()
    assert trail.updates == 2
    assert (all_lines, all_lines - ran) == (lines, missed)
    [executed] = trail.list_executed_lines().values()
    assert len(executed) >= ran
