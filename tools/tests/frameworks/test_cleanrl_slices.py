"""Asking scripts by their own statements: small ones, written here."""

from __future__ import annotations

import ast
import hashlib
from types import SimpleNamespace

import pytest
import torch

from rlregress.catalogue import fingerprint, registry
from rlregress.frameworks.cleanrl import script as scripts
from rlregress.frameworks.cleanrl.observe import traps
from rlregress.frameworks.cleanrl.observe.drivers import parts
from rlregress.frameworks.cleanrl.running import ScriptRun
from rlregress.frameworks.cleanrl.script import (
    AnchorAmbiguous,
    AnchorLost,
    Script,
    SliceFailed,
    SliceUnbound,
)
from rlregress.frameworks.cleanrl.slices import run_slice_up_to_anchor
from rlregress.frameworks.cleanrl.stubs import read_defaults_of_script
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import Unprobed

TOY = """
import random
import torch
import tensorboard_of_nobody as board
from dataclasses import dataclass


@dataclass
class Args:
    exp_name: str = __file__[:-3]
    steps: int = int(1e2)
    rate: float = 3e-4
    halve: bool = True


SCALE = 2.0


def doubled(x):
    return later(x) * SCALE


def later(x):
    return x


class Network(torch.nn.Module):
    def __init__(self, size):
        super(Network, self).__init__()
        self.layer = torch.nn.Linear(size, 1)


if __name__ == "__main__":
    writer = board.Writer()
    torch.backends.cudnn.benchmark = args.halve
    weight = torch.full((1,), 3.0, requires_grad=True)
    total = 0.0
    for step in range(args.steps):
        writer.log(step)
        if step > args.start:
            errors = sampled - weight
            with torch.no_grad():
                target = doubled(sampled)
                first, second = target, weight
            if args.halve:
                loss = 0.5 * (errors**2).mean()
            else:
                loss = (errors**2).mean()
            penalty = abs(errors).mean()
            if args.strict:
                penalty = 2 * penalty
            total += loss
            loss.backward()
"""


@pytest.fixture
def toy(tmp_path):
    """The script as a file that the suite does not know."""
    path = tmp_path / "toy.py"
    path.write_text(TOY)
    return Script(path)


@pytest.fixture
def known_toy(toy, monkeypatch):
    """The same script, with its digest among those that the suite was written for."""
    digest = hashlib.sha256(toy.path.read_bytes()).hexdigest()
    monkeypatch.setattr(scripts, "load_digests_of_known_scripts", lambda: frozenset({digest}))
    return Script(toy.path)


GIVEN = {"args": SimpleNamespace(halve=True), "sampled": torch.tensor([1.0, 5.0])}


def test_a_quantity_comes_from_the_statements_that_it_needs(toy):
    """Branches are the script's; tests around it and settings of modules are not evaluated."""
    found = run_slice_up_to_anchor(toy.find_statement_binding("loss", "loss"), GIVEN)
    assert found.get_number("loss") == pytest.approx(0.5 * (4.0 + 4.0) / 2)
    assert "writer" not in found
    assert "total" not in found
    whole = SimpleNamespace(halve=False)
    found = run_slice_up_to_anchor(
        toy.find_statement_binding("loss", "loss"), {**GIVEN, "args": whole}
    )
    assert found.get_number("loss") == pytest.approx(4.0)
    assert found.guards == ("step > args.start",)
    never = {**GIVEN, "args": SimpleNamespace(start=10**9)}
    found = run_slice_up_to_anchor(toy.find_statement_binding("target", "target"), never)
    assert found.guards == ("step > args.start",)
    assert found.get_vector("target").tolist() == [2.0, 10.0]
    assert not found["target"].requires_grad
    before = torch.backends.cudnn.benchmark
    run_slice_up_to_anchor(toy.find_statement_binding("loss", "loss"), GIVEN)
    assert torch.backends.cudnn.benchmark == before


@pytest.mark.parametrize("fixture", ["toy", "known_toy"])
def test_what_cannot_be_asked_is_judged_by_whether_the_script_is_known(fixture, request):
    """Never a pass: unprobed where the script is new, a plain failure where it is known."""
    script = request.getfixturevalue(fixture)
    detail = registry.get_detail("sac.critic_loss.scale")
    judgement = fingerprint.run_and_judge_probe(
        detail,
        lambda inputs: run_slice_up_to_anchor(script.find_statement_binding("q", "qf_loss"), {}),
    )
    assert judgement.variant is None
    assert "nothing is assigned to qf_loss" in judgement.reason
    assert judgement.unprobed == (fixture == "toy")


def test_a_name_that_is_not_bound_or_read_is_a_lost_anchor(toy):
    """A name without any binding is told, and an error names the line of the script."""
    run_of_toy = ScriptRun(toy.path, {"weight": 1.0})
    for query in (
        lambda: run_of_toy["weigth"],
        lambda: parts.find_first_variable({"__file__": str(toy.path)}, "policy", "weigth"),
        lambda: run_slice_up_to_anchor(toy.find_statement_binding("rate", "SCALE"), {})["weigth"],
    ):
        with pytest.raises(AnchorLost, match="nothing is assigned to weigth; nearest .*weight"):
            query()
    with pytest.raises(AnchorLost, match="the run has not bound total"):
        run_of_toy["total"]
    place, zero = toy.find_statement_binding("loss", "loss"), torch.zeros(1)
    found = run_slice_up_to_anchor(place, {**GIVEN, "weight": zero}, used=("weight",))
    assert found.get_number("loss") == pytest.approx(0.5 * (1.0 + 25.0) / 2)
    with pytest.raises(AnchorLost, match="loss: nothing is assigned to weigth; nearest .*weight"):
        run_slice_up_to_anchor(place, {**GIVEN, "weigth": zero}, used=("weigth",))
    with pytest.raises(SliceUnbound, match=r"loss: line \d+ needs args, sampled, which nothing"):
        run_slice_up_to_anchor(toy.find_statement_binding("loss", "loss"), {})
    line = TOY.splitlines().index("            errors = sampled - weight") + 1
    with pytest.raises(SliceFailed, match=f"loss: TypeError at line {line}: ") as caught:
        run_slice_up_to_anchor(
            toy.find_statement_binding("loss", "loss"), {**GIVEN, "sampled": "text"}
        )
    assert isinstance(caught.value, Unprobed)


def test_only_the_policy_loss_that_is_not_there_is_the_error_of_logging(toy, monkeypatch):
    """Any other unbound name means that the script could not be asked."""
    missing = ""

    def failing(*_, **__):
        raise NameError(f"name '{missing}' is not defined")

    monkeypatch.setattr(traps.small_runs, "run_off_policy_script", failing)
    source = SimpleNamespace(parse_script=lambda name: toy)
    probe = traps.PROBES["logging.before_policy_update"]
    missing = "actor_loss"
    assert probe(source, {"delay": 3}).tolist() == [1.0]
    missing = "rb"
    with pytest.raises(SliceUnbound, match="before the first update of the policy: name 'rb' is"):
        probe(source, {"delay": 3})


def test_an_error_of_the_framework_is_told_from_one_of_the_probe():
    """By the innermost frame of the traceback."""
    with pytest.raises(TypeError) as of_torch:
        torch.nn.Linear(1, 1)(None)
    assert was_raised_in(of_torch.value, "torch")
    assert not was_raised_in(of_torch.value, "torch.optim")
    with pytest.raises(IndexError) as of_this_test:
        _ = [][0]
    assert not was_raised_in(of_this_test.value, "torch")


def test_a_name_bound_in_and_before_a_loop_is_ambiguous(tmp_path):
    """Which of both is meant has to be said; the lines are named."""
    path = tmp_path / "loop.py"
    path.write_text("alpha = 1\nfor i in range(3):\n    alpha = 2 * alpha\n")
    script = Script(path)
    with pytest.raises(AnchorAmbiguous, match=r"several assignments to 'alpha' \(lines 1, 3\)"):
        script.find_statement_binding("temperature", "alpha")
    for which, alpha in (("first", 1), ("last", 2)):
        place = script.find_statement_binding("temperature", "alpha", which=which)
        assert run_slice_up_to_anchor(place, {})["alpha"] == alpha


def test_defaults_are_read_from_calls_that_add_arguments(tmp_path):
    """The older scripts' command lines are read without being run."""
    path = tmp_path / "old.py"
    path.write_text(
        "import argparse\n"
        "if __name__ == '__main__':\n"
        "    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--learning-rate', type=float, default=7e-4)\n"
        "    parser.add_argument('--name', default=__file__)\n"
    )
    assert read_defaults_of_script(Script(path)) == {"learning_rate": 7e-4}


def test_packages_that_slices_must_not_import_stay_unbound(toy):
    """An import that is not on the list of allowed ones is not done."""
    with pytest.raises(SliceUnbound, match="needs board, which nothing before it binds"):
        run_slice_up_to_anchor(toy.find_statement_binding("writer", "writer"), {})


def test_one_statement_has_to_have_a_shape(toy):
    """None is lost, as the shape in words says; of several, one is chosen by its place."""
    with pytest.raises(AnchorLost, match="no statement is a loop that waits"):
        toy.find_statement_of_shape(
            "waiting", lambda node: isinstance(node, ast.While), "a loop that waits"
        )
    is_if = ("tests", lambda node: isinstance(node, ast.If), "an 'if'")
    with pytest.raises(AnchorAmbiguous, match="several statements that are an 'if'"):
        toy.find_statement_of_shape(*is_if)
    outermost = toy.find_statement_of_shape(*is_if, "outermost").statement
    assert "__main__" in ast.unparse(outermost.test)
