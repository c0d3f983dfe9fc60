"""The last event of a trace is the state of the networks; gradients by hand are seen, too."""

from __future__ import annotations

import pytest
import torch

from rlregress.inside.events import Places, make_event_part, make_part_of_many_arrays
from rlregress.inside.recorder import Recorder

from .scripts import TRAINING, changed, recorded_here


def final(recorder):
    """The parts of the last event."""
    assert [e["kind"] for e in recorder.events].count("final") == 1
    last = recorder.events[-1]
    assert (last["kind"], last["name"], last["at"]) == ("final", "networks", None)
    return last["parts"]


def test_the_last_event_is_the_networks_as_they_are_left(tmp_path):
    """Networks of a function that has returned are in it, with copies, in order."""
    text = changed(
        ("    return online\n", "    kept.append((online, target))\n    return online\n")
    )
    text = text.replace("trained = main()", "kept = []\ntrained = main()")
    recorder, names = recorded_here(text, tmp_path)
    ((online, target),) = names["kept"]
    last_event = final(recorder)
    assert last_event["parameters"] == make_part_of_many_arrays(
        [*online.parameters(), *target.parameters()]
    )
    assert last_event["buffers"] == make_part_of_many_arrays([])
    # nobody holds the networks any more
    gone, _ = recorded_here(TRAINING.replace("trained = main()", "main()"), tmp_path)
    assert final(gone) == last_event


LOOP = """
import copy
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.BatchNorm1d(3, momentum=0.1), nn.Linear(3, 1))
average = copy.deepcopy(net)
inputs = torch.randn(8, 3)
for _ in range(4):
    loss = net(inputs).square().mean()
    slopes = torch.autograd.grad(outputs=loss, inputs=list(net.parameters()))
    with torch.no_grad():
        for weight, slope in zip(net.parameters(), slopes):
            weight -= 0.1 * slope
        for weight, mean in zip(net.parameters(), average.parameters()):
            mean.data = 0.9 * mean + 0.1 * weight
"""


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ("momentum=0.1", "momentum=0.9", ["buffers"]),
        ("0.9 * mean + 0.1 * weight", "0.5 * mean + 0.5 * weight", ["parameters"]),
    ],
    ids=["batch-norm", "average"],
)
def test_what_no_loss_tells_is_in_the_last_event(tmp_path, old, new, differs):
    """Buffers and averages that are assigned differ there, and nowhere else."""
    assert old in LOOP
    first, _ = recorded_here(LOOP, tmp_path)
    second, _ = recorded_here(LOOP.replace(old, new), tmp_path)
    assert first.events[:-1] == second.events[:-1]
    before, after = final(first), final(second)
    assert [name for name in before if before[name] != after[name]] == differs


def test_gradients_by_hand_are_recorded(tmp_path):
    """``torch.autograd.grad`` is a backward pass; the last event comes after an error, too."""
    recorder, names = recorded_here(LOOP, tmp_path)
    passes = [e for e in recorder.events if e["kind"] == "backward"]
    assert [e["name"] for e in passes] == ["grad"] * 4
    assert passes[-1]["parts"]["loss"] == make_event_part(names["loss"])
    assert passes[0]["at"][1] == LOOP.splitlines().index(
        "    slopes = torch.autograd.grad(outputs=loss, inputs=list(net.parameters()))"
    ) + 1  # fmt: skip
    second, _ = recorded_here(LOOP.replace("0.1 * slope", "0.5 * slope"), tmp_path)
    assert passes[1:] != [e for e in second.events if e["kind"] == "backward"][1:]
    script = tmp_path / "fails.py"
    script.write_text(LOOP + "1 / 0\n", encoding="utf-8")
    recorder = Recorder(Places([str(script)]))
    with pytest.raises(ZeroDivisionError), recorder:
        exec(compile(script.read_bytes(), str(script), "exec"), {"__name__": "fails"})
    full_trace, _ = recorded_here(LOOP, tmp_path)
    assert final(recorder) == final(full_trace)


def test_a_loop_that_counts_only_steps_that_succeed_ends(tmp_path):
    """After many Stops that were eaten the script goes on by itself, unrecorded."""
    text = (
        "import gymnasium\n"
        "environment, done = gymnasium.make('CartPole-v1'), 0\n"
        "environment.reset(seed=1)\n"
        "while done < 6:\n"
        "    try:\n"
        "        environment.step(0)\n        done += 1\n"
        "    except:\n        pass\n"
    )
    script = tmp_path / "loop.py"
    script.write_text(text, encoding="utf-8")
    names = {"__name__": "loop"}
    with Recorder(Places([str(script)]), steps=2) as recorder:
        exec(compile(text, str(script), "exec"), names)
    assert names["done"] == 6
    assert [e["kind"] for e in recorder.events] == ["reset", "step", "step"]


def test_networks_that_are_gone_or_unused_are_left_out():
    """Nor does one without numbers count; a buffer that is another tensor in the end does."""
    with Recorder(Places([__file__])) as recorder:
        net = torch.nn.Linear(2, 1)
        second = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
        unused, empty = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2, device="meta")
        for module in (net, second):
            module(torch.ones(1, 2)).sum().backward()
            with torch.no_grad():
                for weight in module.parameters():
                    weight -= weight.grad
        del second, weight, module
        net(torch.ones(1, 2)).sum().backward()
    assert empty.weight.is_meta
    assert unused.weight.grad is None
    assert final(recorder)["parameters"] == make_part_of_many_arrays(list(net.parameters()))
    with Recorder(Places([__file__])) as recorder:
        net = torch.nn.BatchNorm1d(2)
        net.eval()(torch.ones(1, 2)).sum().backward()
        net.running_mean = torch.full((2,), 3.0)
    assert final(recorder)["buffers"] == make_part_of_many_arrays([net.running_mean])
