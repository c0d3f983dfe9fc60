"""Replay buffers, their samplers, and schedules of what these are set to."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import torch

from rlregress.frameworks.torchrl.api import LazyTensorStorage, TensorDictReplayBuffer
from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.generated_cases.input_corpus import steps
from rlregress.probing.option_variants import (
    Items,
    Kit,
    Subject,
    items_of,
    recorded,
    refused,
    set_seed,
)
from rlregress.probing.signatures import parameters_of

_ENDS = "....t..l.t......t........."


def rows(ends: str = "..t.l...", first: int = 0) -> Any:
    """Steps one after the other: "t" terminates an episode, "l" cuts it off, "." goes on."""
    given = steps("continuous", len(ends)).select(
        "observation", "action", "done", "terminated", "truncated", "next"
    )
    flags = {
        name: torch.tensor([letter in letters for letter in ends]).unsqueeze(-1)
        for name, letters in (("terminated", "t"), ("truncated", "l"), ("done", "tl"))
    }
    starts = torch.cat([torch.ones(1, 1, dtype=torch.bool), flags["done"][:-1]])
    given["next"].update(flags)
    given["observation"] = given["observation"] + first
    return given.update({"is_init": starts, "episode": starts.squeeze(-1).long().cumsum(0)})


def buffer(size: int = 6, batch_size: Any = 4, **options: Any) -> Any:
    """A replay buffer."""
    storage = LazyTensorStorage(size)
    return TensorDictReplayBuffer(storage=storage, batch_size=batch_size, **options)


def _settled(held: Any) -> None:
    """Wait for what is prefetched in a thread, so that nothing is drawn meanwhile."""
    for future in list(getattr(held, "_prefetch_queue", ())):
        future.result()


# -- buffers ---------------------------------------------------------------------------------------


def _sampler(name: str, **options: Any) -> Any:
    return made(library("torchrl.data.replay_buffers", name), **options)


def _noting() -> Any:
    """A transform that notes the shapes of what goes in."""

    class Noting(library("torchrl.envs", "Transform")):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(in_keys=[], out_keys=[])
            self.shapes: list[str] = []

        def forward(self, tensordict: Any) -> Any:
            return tensordict

        def _inv_call(self, tensordict: Any) -> Any:
            self.shapes.append(str(tensordict.batch_size))
            return tensordict

    return Noting()


def _shown(held: Any) -> Any:
    """What is stored, and the shapes that its transforms have noted."""
    noted = [getattr(each, "shapes", None) for each in getattr(held, "_transform", None) or ()]
    return [len(held), refused(lambda: held[:]), str(noted)]


def _filled(make: Any, given: Callable[[], dict[str, Any]]) -> Any:
    """Single steps and batches, further ones between samples."""
    held = make(**given())
    outputs = {"added": refused(lambda: [held.add(row) for row in rows()[:3].unbind(0)])}
    for turn in range(4):
        extend = partial(held.extend, rows(first=10 * turn)[turn:])
        outputs[f"extended {turn}"] = refused(extend)
        outputs[f"sample {turn}"] = refused(held.sample)
        _settled(held)
    return Items(outputs, content=refused(partial(_shown, held)))


def _passes(make: Any, given: Callable[[], dict[str, Any]]) -> Any:
    """Three passes over a buffer, each ended where it ends by itself, or after nine batches."""
    # three batches and a rest
    held = make(**{**given(), "batch_size": 2})
    held.extend(rows())
    outputs: list[Any] = []
    for _ in range(3):
        outputs.append([])
        for batch in islice(held, 9):
            # of several threads it is not known which one draws first
            outputs[-1].append(batch["observation"] if held._prefetch_cap < 2 else len(batch))
            _settled(held)
    return outputs


def _restored(make: Any, given: Callable[[], dict[str, Any]]) -> Any:
    """A state that one buffer has given and another has loaded and written over."""
    first, second, third = (make(**given()) for _ in range(3))
    first.extend(rows())
    first.sample()
    state = first.state_dict()
    answers = [refused(lambda: str(second.load_state_dict(state)))]
    order = [refused(second.sample) for _ in range(5)]
    second.extend(rows(first=50)[:2])
    for each in second.storage.get(range(2, 4)) if isinstance(second[:], list) else ():
        each.update_(each.apply(lambda item: item + 1))
    answers.append(refused(lambda: str(third.load_state_dict(state))))
    return [answers, order, third.sample(), *map(_shown, (first, second, third))]


def _buffers() -> list[Subject]:
    def given(label: str) -> Callable[[], dict[str, Any]]:
        storage = "ListStorage" if label == "list" else "LazyTensorStorage"
        return lambda: {"storage": library("torchrl.data", storage)(7), "batch_size": 4}

    ordered = partial(_sampler, "SamplerWithoutReplacement", shuffle=False)
    samplers = [
        ordered, *(partial(_sampler, "SamplerWithoutReplacement", **{name: True})
                   for name in ("drop_last", "shuffle")),
    ]  # fmt: skip
    return [
        Subject(
            f"torchrl.data:{name}", {"": Kit(dict, given)}, ("", "list"),
            options={"sampler": samplers, "prefetch": [1], "transform": [_noting]},
            together=({"prefetch": 1, "sampler": ordered}, {"prefetch": 3, "sampler": ordered}),
            calls={"": _everything}, skip="*",
        )
        for name in ("ReplayBuffer", "TensorDictReplayBuffer")
    ]  # fmt: skip


def _everything(make: Any, given: Callable[[], dict[str, Any]]) -> Any:
    """All that is done with a buffer, each time with new ones."""

    def fresh(**arguments: Any) -> Any:
        options = {name: copy.deepcopy(item) for name, item in make.keywords.items()}
        return make.func(**{**arguments, **options})

    ways = (_filled, _passes, _restored)
    outputs: dict[str, Any] = {}
    for way in ways if "prefetch" not in make.keywords else ways[:2]:
        # of several threads it is not known which one draws first
        if way is _passes or make.keywords.get("prefetch", 0) < 2:
            set_seed(0)
            inner = items_of(refused(partial(way, fresh, given)))
            outputs.update({f"{way.__name__[1:]} {label}": item for label, item in inner.items()})
    return Items(outputs)


# -- samplers --------------------------------------------------------------------------------------

_SLICED: Sequence[dict[str, Any]] = (
    *({"traj_key": "episode", "slice_len": 3, "span": span}
      for span in (True, (True, False), (False, True), 2)),
    {"num_slices": 4, "traj_key": "episode", "span": True},
    *({"traj_key": "episode", "slice_len": n} for n in (3, 4)),
    {"traj_key": "episode", "slice_len": 4, "strict_length": False},
    {"slice_len": 3, "end_key": ("next", "done")}, {"num_slices": 4, "traj_key": "episode"},
    {"num_slices": 4, "end_key": ("next", "done")},
)  # fmt: skip


def _sliced(make: Any, label: str) -> Any:
    """Samples of what is left of rows in storages of two sizes, with keys that say otherwise."""
    given = rows(_ENDS if label == "ends" else "...t....l.....t......")
    count = torch.arange(len(given))
    changed = {
        "collected": lambda: given.set("collector", {"traj_ids": count // 7}),
        "run": lambda: given.exclude("episode").set("run", count // 6),
        "without": lambda: given.exclude("episode"),
    }
    data = changed.get(label, lambda: given)()
    given_ = {} if {"num_slices", "slice_len"} & set(make.keywords) else {"num_slices": 4}
    outputs = []
    # the second one wraps in the middle of a trajectory
    for size in (40, 17):
        set_seed(0)
        held = buffer(size, 12, sampler=make(**given_))
        held.extend(data[: len(data) // 2])
        held.extend(data[len(data) // 2 :])
        outputs.append([refused(held.sample), torch.rand(1)])
    return outputs


def _stacked(make: Any, label: str) -> Any:
    """Frames stacked over sampled slices."""
    stack = library("torchrl.envs", "CatFrames")(
        N=3, dim=-1, in_keys=["observation"], out_keys=["seen"]
    )
    held = buffer(24, 12, sampler=make(num_slices=3, traj_key="episode"), transform=stack)
    held.extend(rows("....t......l.........t", first=3))
    return held.sample()


def _drawn(make: Any, label: str) -> Any:
    """Samples of an ensemble, and the next draw of chance."""
    members = [buffer(10) for _ in range(3)]
    for number, member in enumerate(members):
        member.extend(rows("....t.....", first=10 * number))
    ensemble = make(*members, num_buffer_sampled=4, batch_size=12)
    return [refused(ensemble.sample), torch.rand(2)]


def _scheduled(make: Any, label: str) -> Any:
    held = buffer(4, 2)
    start, slope = map(float, label.split())
    # any attribute of a sampler can follow a schedule
    held.sampler.beta = start
    known = {"lambda_fn": lambda n: 1.0 + slope * n, "final_value": slope, "num_steps": 3}
    given = {name: item for name, item in known.items() if name in parameters_of(make.func)}
    schedule = make(held, param_name="beta", **given)
    recorded_ = []
    for _ in range(4):
        schedule.step()
        recorded_.append(float(held.sampler.beta))
    state = schedule.state_dict()
    return [recorded_, recorded(state), refused(lambda: str(schedule.load_state_dict(state)))]


def subjects() -> dict[str, list[Subject]]:
    """Buffers and samplers by name."""
    kit = {"": Kit(dict, str)}
    lines = ("0.5 -0.6", "-0.5 -0.6", "0.5 0.6")
    limits = ({"min_value": 0}, {"max_value": 0}, {"max_value": 1})
    schedules = [
        Subject(
            f"torchrl.data.replay_buffers.scheduler:{name}", kit, lines, lines, together=limits,
            calls={"": _scheduled},
            skip=("min_value", "max_value"),
        )
        for name in ("LambdaScheduler", "LinearScheduler", "StepScheduler")
    ]  # fmt: skip
    return {
        "buffers": _buffers(),
        "samplers": [
            Subject(
                "torchrl.data:SliceSampler", kit, ("rows", "collected", "run", "without", "ends"),
                ("rows", "ends"), together=_SLICED, calls={"": _sliced, "stacked": _stacked},
                skip=("compile", "use_gpu", "num_slices", "slice_len"),
            ),
            Subject(
                "torchrl.data:ReplayBufferEnsemble", kit, ("",), calls={"": _drawn}, skip="*",
                together=({"p": [0.2, 0.5, 0.3]}, {"sample_from_all": True}),
            ),
            *schedules,
        ],
    }  # fmt: skip
