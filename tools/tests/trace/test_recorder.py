"""Hooks record a training, change nothing of it, and leave nothing behind."""

from __future__ import annotations

import importlib
import random

import gymnasium
import numpy as np
import pytest
import torch

from rlregress.inside import recorder
from rlregress.inside.events import RAISED, Places
from rlregress.inside.recorder import Recorder, Stop
from rlregress.probing.framework_errors import ExpectedError

from .scripts import TRAINING, changed, recorded_here

OWNERS = (
    torch, torch.Tensor, torch.autograd, torch.optim.Optimizer, torch.optim.Adam, np.random, random,
    torch.random, torch.nn.Module,
    gymnasium, gymnasium.envs.registration, gymnasium.spaces.Space, gymnasium.spaces.Box,
    gymnasium.spaces.Discrete, gymnasium.vector.AsyncVectorEnv, gymnasium.wrappers.TimeLimit,
)  # fmt: skip


def counts(recorder):
    """Kind of event -> how many."""
    kinds = [event["kind"] for event in recorder.events]
    return {kind: kinds.count(kind) for kind in kinds}


def parameters(names):
    """All numbers of the trained network."""
    return torch.cat([p.detach().reshape(-1) for p in names["trained"].parameters()])


def run(text):
    """The names of a script that ran without a recorder."""
    names = {"__name__": "untraced"}
    exec(text, names)
    return names


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """The recorder and the names of the training, which is recorded once."""
    return recorded_here(TRAINING, tmp_path_factory.mktemp("training"))


def test_recording_does_not_change_the_training(recording):
    """The final parameters are the same to the bit with and without a recorder."""
    _, traced = recording
    assert torch.equal(parameters(traced), parameters(run(TRAINING)))


def test_hooks_leave_nothing_behind(tmp_path):
    """After the recorder every attribute is the one that was there before, and no hook is left."""
    from torch.optim import optimizer as module

    # torch imports more of itself when the first optimiser is made: no hook of the recorder
    torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])
    before = [dict(vars(owner)) for owner in OWNERS]
    recorded_here(TRAINING, tmp_path)
    for owner, methods in zip(OWNERS, before, strict=True):
        after = dict(vars(owner))
        assert {k for k, v in after.items() if methods.get(k, after) is not v} == set(), owner
        assert set(methods) == set(after)
    assert not module._global_optimizer_pre_hooks
    assert not module._global_optimizer_post_hooks
    assert not torch.nn.modules.module._global_parameter_registration_hooks


def test_optimisers_that_were_there_before_are_recorded():
    """A step of an optimiser that was made before the recorder is an event, too."""
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([weight], lr=0.5)
    with Recorder(Places([__file__])) as recorder:
        weight.sum().backward()
        optimizer.step()
    (step,) = [e for e in recorder.events if e["kind"] == "optimizer"]
    assert step["parts"]["learning_rate"][2] == [0.5]
    assert step["parts"]["gradient"][2] == [1.0, 1.0]
    assert step["parts"]["update"][2] == pytest.approx([-0.5, -0.5])
    assert step["at"][2] == "test_optimisers_that_were_there_before_are_recorded"


def test_what_nobody_seeded_is_seeded_and_told(tmp_path):
    """Without seeds of its own a script is seeded, and each thing that it used is named."""
    text = changed(
        ("random.seed(1)\nnp.random.seed(1)\ntorch.manual_seed(1)\n", ""), ("seed=3", ""),
        ("trained = main()", "np.random.seed(); main(); space = gymnasium.spaces.Box(-1, 1, (3,))\n"
         "np.array([space.sample(), np.random.default_rng().random(3)])"),
    )  # fmt: skip
    first_recorder, _ = recorded_here(text, tmp_path)
    second_recorder, _ = recorded_here(text, tmp_path)
    assert first_recorder.events == second_recorder.events
    assert set(first_recorder.seeded) == {
        "torch's generator", "NumPy's generator", "Python's generator", "resets of environments",
        "sampling of action spaces", "generators made by numpy.random.default_rng()",
    }  # fmt: skip


def test_a_trace_ends_after_the_steps_asked_for(tmp_path):
    """Stop ends a script at its step, through handlers of every exception."""
    text = changed(("trained = main()", "try:\n    main()\nexcept Exception:\n    pass\n"))
    script = tmp_path / "short.py"
    script.write_text(text, encoding="utf-8")
    with pytest.raises(Stop), Recorder(Places([str(script)]), steps=7) as recorder:
        exec(compile(text, str(script), "exec"), {"__name__": "short"})
    assert counts(recorder)["step"] == 7


def test_vector_environments_are_recorded(tmp_path):
    """Environments stepped side by side, in other processes, and as one array are recorded."""
    text = (
        "import gymnasium, numpy as np\n"
        "make = lambda: gymnasium.make('CartPole-v1')\n"
        "several = gymnasium.vector.SyncVectorEnv([make, make])\n"
        "apart = gymnasium.vector.AsyncVectorEnv([make, make])\n"
        "arrays = gymnasium.make_vec('CartPole-v1', 3, vectorization_mode='vector_entry_point')\n"
        "for environment in (several, apart, arrays):\n"
        "    environment.reset(seed=1)\n"
        "    environment.step(np.zeros(environment.num_envs, dtype=np.int64))\n"
        "    environment.close()\n"
    )
    recorder, _ = recorded_here(text, tmp_path)
    steps = [e for e in recorder.events if e["kind"] == "step"]
    assert [len(e["parts"]["reward"][2]) for e in steps] == [1, 1, 2, 3]
    assert counts(recorder)["reset"] == 4


def test_a_refusal_is_recorded_with_where_it_was_raised(tmp_path):
    """Its type in words, and the frames of the traced code, the innermost first."""
    file = tmp_path / "package.py"
    file.write_text("def inner():\n    raise KeyError('x')\n\n\ndef outer():\n    inner()\n")
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)

    with pytest.raises(KeyError) as raised:
        names["outer"]()
    recorder = Recorder(Places([str(file)]))
    recorder.record_result("asked", ExpectedError(raised.value))
    recorder.record_result("told", "refused: KeyError")
    recorded, plain = recorder.events
    assert recorded["at"] == ["", 0, "", [["package.py", 2, "inner"], ["package.py", 6, "outer"]]]
    assert recorded["parts"]["value"][4:] == ["refused: KeyError", RAISED]
    assert plain["parts"]["value"][5] == "str"
    assert plain["at"] is None


def test_parts_of_a_draw_are_not_drawn_twice(tmp_path):
    """A function that draws by another one is one event; other code's draws are none."""
    text = "import random\nrandom.choices([1, 2, 3], k=4)\nrandom.shuffle([1, 2, 3])\n"
    recorder, _ = recorded_here(text, tmp_path)
    assert [e["name"] for e in recorder.events] == ["random.choices", "random.shuffle"]
    with Recorder(Places(["/nowhere"])) as recorder:
        torch.rand(2)
        np.random.rand(2)
    assert recorder.events == []


def test_hooks_go_after_an_error(tmp_path, monkeypatch):
    """An error of the script comes out; if one hook cannot be set, those before it are undone."""
    from rlregress.inside import recorded_environments

    before = torch.rand
    with pytest.raises(ZeroDivisionError):
        recorded_here("import torch\ntorch.rand(2)\n1 / 0\n", tmp_path)
    assert torch.rand is before

    def broken(self, importing):
        raise RuntimeError("no such thing")

    monkeypatch.setattr(recorded_environments.Environments, "install", broken)
    with pytest.raises(RuntimeError, match="no such thing"):
        recorder.Recorder(Places([__file__])).__enter__()
    assert torch.rand is before


@pytest.mark.parametrize(
    ("seed", "draw"),
    [
        ("torch.random.manual_seed(5)", "torch.rand(2).tolist()"),
        ("torch.manual_seed(5)", "torch.rand(2).tolist()"),
        ("torch.default_generator.manual_seed(5)", "torch.rand(2).tolist()"),
        ("rng = np.random.default_rng(5)", "rng.random()"),
        ("rng = np.random.default_rng(seed=5)", "rng.random()"),
    ],
)
def test_a_seed_by_any_name_is_the_scripts_own(tmp_path, seed, draw):
    """Nothing is seeded for the script, and generators that it does not use need no seed."""
    text = f"import torch\nimport numpy as np\n{seed}\ndrawn = {draw}\n"
    recorder, names = recorded_here(text, tmp_path)
    assert recorder.seeded == []
    assert names["drawn"] == run(text)["drawn"]


@pytest.mark.parametrize(
    ("seed", "draw"),
    [
        ("torch.manual_seed(0)", "torch.rand(2)"),
        ("np.random.seed(0)", "np.random.rand(2)"),
        ("random.seed(0)", "random.random()"),
        ("space.seed(0)", "space.sample()"),
        ("rng = np.random.default_rng(0)", "torch.as_tensor(rng.random(2))"),
        ("environment.reset(seed=0)", "environment.reset()"),
    ],
)
def test_a_seed_that_a_script_lost_shows(tmp_path, seed, draw):
    """The tracer's seeds are ones that no script would set."""
    head = (
        "import random, gymnasium, torch\nimport numpy as np\n"
        "space, rng = gymnasium.spaces.Discrete(10**6), np.random.default_rng()\n"
        "environment = gymnasium.make('CartPole-v1')\n"
    )
    first_recorder, _ = recorded_here(f"{head}{seed}\n{draw}\n", tmp_path)
    second_recorder, _ = recorded_here(f"{head}{draw}\n", tmp_path)
    assert first_recorder.events[-1]["parts"] != second_recorder.events[-1]["parts"]


def test_what_was_imported_by_name_before_is_recorded(tmp_path, monkeypatch):
    """A module that holds a function of torch by its own name draws through the recorder."""
    path = tmp_path / "early.py"
    path.write_text("from torch import randn\n\n\ndef draw():\n    return randn(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    early = importlib.import_module("early")
    before = early.randn
    with Recorder(Places([str(path)])) as recorder:
        recorder.replace_functions_imported_before()
        early.draw()
    assert [event["name"] for event in recorder.events] == ["torch.randn"]
    assert early.randn is before


@pytest.mark.parametrize("kind", ["reset", "step", "data", "backward", "write", "optimizer"])
def test_nudged_numbers_are_no_event(recording, tmp_path, kind):
    """A copy that differs by rounding has the same events, and other numbers after the nudge."""
    original = recording[0].events
    number = [event["kind"] for event in original].index(kind)
    nudged = recorded_here(TRAINING, tmp_path, nudged=(number, 1))[0].events
    assert [(e["kind"], e["name"]) for e in nudged] == [(e["kind"], e["name"]) for e in original]
    assert nudged[: number + 1] == original[: number + 1]
    assert nudged[-1]["parts"] != original[-1]["parts"]
