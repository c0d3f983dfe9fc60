"""Scripts that lack something: small ones, written here."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import pytest
import torch

from rlregress.catalogue import fingerprint, registry
from rlregress.frameworks.cleanrl import script as scripts
from rlregress.frameworks.cleanrl.observe import traps
from rlregress.frameworks.cleanrl.running import ScriptRun
from rlregress.frameworks.cleanrl.script import Script, VariableLost
from rlregress.probing.framework_errors import was_raised_in

TOY = """
from dataclasses import dataclass


@dataclass
class Args:
    exp_name: str = __file__[:-3]
    steps: int = int(1e2)
    rate: float = 3e-4
    halve: bool = True


if __name__ == "__main__":
    weight = 3.0
    total = 0.0
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


@pytest.mark.parametrize("fixture", ["toy", "known_toy"])
def test_what_cannot_be_asked_is_judged_by_whether_the_script_is_known(fixture, request):
    """Never a pass: unprobed where the script is new, a plain failure where it is known."""
    script = request.getfixturevalue(fixture)
    detail = registry.get_detail("sac.critic_loss.scale")
    judgement = fingerprint.run_and_judge_probe(
        detail, lambda inputs: ScriptRun({"__file__": str(script.path)})["qf_loss"]
    )
    assert judgement.variant is None
    assert "nothing is assigned to qf_loss" in judgement.reason
    assert judgement.unprobed == (fixture == "toy")


def test_a_name_that_is_not_bound_is_a_lost_variable(toy):
    """A name without any binding is told from one whose statement has not run."""
    run_of_toy = ScriptRun({"weight": 1.0, "__file__": str(toy.path)})
    for query in (
        lambda: run_of_toy["weigth"],
        lambda: scripts.find_first_variable({"__file__": str(toy.path)}, "weigth"),
    ):
        with pytest.raises(VariableLost, match="nothing is assigned to weigth; nearest .*weight"):
            query()
    with pytest.raises(VariableLost, match="the run has not bound total"):
        run_of_toy["total"]


def test_only_the_policy_loss_that_is_not_there_is_the_error_of_logging(toy, monkeypatch):
    """Any other unbound name means that the script could not be asked."""
    missing = ""

    def failing(*_, **__):
        raise NameError(f"name '{missing}' is not defined")

    monkeypatch.setattr(traps.small_runs, "run_off_policy_script", failing)
    source = SimpleNamespace(parse_script=lambda name: toy)
    probe = traps.PROBES["logging.before_policy_update"]
    missing = "actor_loss"
    assert probe(source, {"delay": 3}) == 1.0
    missing = "rb"
    with pytest.raises(VariableLost, match="before the first update of the policy: name 'rb' is"):
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
    assert Script(path).defaults == {"learning_rate": 7e-4}


def test_defaults_are_read_from_a_class(toy):
    """Those that are computed from anything but literals are left out."""
    assert toy.defaults == {"steps": 100, "rate": 3e-4, "halve": True}
