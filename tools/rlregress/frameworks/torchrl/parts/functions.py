"""Functions of value targets and of sequences, called with tensors by themselves."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, Sequence

import torch

from rlregress.frameworks.torchrl.small import answers, dictionary
from rlregress.frameworks.torchrl.versions import library

_FUNCTIONS = "torchrl.objectives.value.functional"
#: name -> what it takes before the rewards, in this order.
_TARGETS = {
    "generalized_advantage_estimate": ("gamma", "lmbda", "value", "next"),
    "vec_generalized_advantage_estimate": ("gamma", "lmbda", "value", "next"),
    "td0_advantage_estimate": ("gamma", "value", "next"),
    "td0_return_estimate": ("gamma", "next"),
    "td1_return_estimate": ("gamma", "next"),
    "td1_advantage_estimate": ("gamma", "value", "next"),
    "vec_td1_return_estimate": ("gamma", "next"),
    "vec_td1_advantage_estimate": ("gamma", "value", "next"),
    "td_lambda_return_estimate": ("gamma", "lmbda", "next"),
    "td_lambda_advantage_estimate": ("gamma", "lmbda", "value", "next"),
    "vec_td_lambda_return_estimate": ("gamma", "lmbda", "next"),
    "vec_td_lambda_advantage_estimate": ("gamma", "lmbda", "value", "next"),
    "vtrace_advantage_estimate": ("gamma", "log_pi", "log_mu", "value", "next"),
}
#: those whose discount may be one for each step, and may roll.
_ROLLING = [name for name in _TARGETS if "td1" in name or "td_lambda" in name]


def _numbers(*shape: int, discounts: bool = False) -> Dict[str, Any]:
    """What the functions take: one episode is cut and one ends within the steps."""
    time = len(shape) - 2
    terminated = torch.zeros(shape, dtype=torch.bool)
    terminated.select(time, 4).fill_(True)
    done = terminated.clone()
    done.select(time, 1).fill_(True)
    drawn = {name: torch.randn(shape) for name in ("value", "next", "reward", "log_pi", "log_mu")}
    own: Dict[str, Any] = {"gamma": 0.9, "lmbda": 0.8}
    if discounts:
        own = {"gamma": 0.5 + 0.5 * torch.rand(shape), "lmbda": 0.5 + 0.5 * torch.rand(shape)}
    return {**drawn, **own, "done": done, "terminated": terminated}


def _called(
    name: str, numbers: Dict[str, Any], ends: Sequence[str] = ("done", "terminated"), **options: Any
) -> Any:
    """A function of these numbers; what returns several returns them by number."""
    call = library(_FUNCTIONS, name)
    first = [numbers[each] for each in (*_TARGETS[name], "reward")]
    given = {"terminated": numbers["terminated"]} if name == "td0_return_estimate" else {
        each: numbers[each] for each in ends
    }  # fmt: skip
    output = call(*first, **given, **options)
    return dict(enumerate(output)) if isinstance(output, tuple) else output


def _moved(numbers: Dict[str, Any], move: Callable[[torch.Tensor], torch.Tensor]) -> Dict[str, Any]:
    """The same numbers in tensors of another form."""
    return {
        name: move(each) if isinstance(each, torch.Tensor) else each
        for name, each in numbers.items()
    }


def _targets(make_env: Any, seed: int) -> Dict[str, Any]:
    """Every function on one environment, on several, on several values, and time elsewhere."""

    def flat(name: str) -> Any:
        return _called(name, _moved(_numbers(6, 1), lambda t: t.squeeze(-1)), time_dim=-1)

    def first(name: str) -> Any:
        return _called(name, _moved(_numbers(3, 6, 1), lambda t: t.transpose(0, 1)), time_dim=0)

    calls: Dict[str, Any] = {}
    for name in _TARGETS:
        for label, shape in (
            ("one", (6, 1)), ("several", (3, 6, 1)), ("deep", (2, 3, 6, 1)), ("wide", (2, 6, 2)),
        ):  # fmt: skip
            calls[f"{name}.{label}"] = partial(
                lambda name, shape: _called(name, _numbers(*shape)), name, shape
            )
        calls[f"{name}.ends"] = partial(
            lambda name: _called(name, _numbers(2, 6, 1), ends=("done",)), name
        )
        if not name.startswith("td0"):
            calls[f"{name}.flat"] = partial(flat, name)
            calls[f"{name}.first"] = partial(first, name)
    return answers(seed, **calls)


def _discounts(make_env: Any, seed: int) -> Dict[str, Any]:
    """Discounts that are numbers in tensors, that differ from step to step, and that roll."""

    def numbers(name: str, shape: Sequence[int], **options: Any) -> Any:
        return _called(name, _numbers(*shape, discounts=True), **options)

    def scalar(name: str) -> Any:
        given = {**_numbers(2, 6, 1), "gamma": torch.tensor(0.9), "lmbda": torch.tensor(0.8)}
        return _called(name, given)

    def small(name: str) -> Any:
        # the discounts of later steps vanish
        return _called(name, {**_numbers(2, 40, 1), "gamma": torch.tensor(0.3)})

    def gammas(name: str) -> Any:
        return _called(name, {**_numbers(2, 6, 1, discounts=True), "lmbda": 0.8})

    calls: Dict[str, Any] = {}
    for name in _TARGETS:
        calls[f"{name}.gammas"] = partial(gammas, name)
        calls[f"{name}.scalar"] = partial(scalar, name)
        calls[f"{name}.small"] = partial(small, name)
        for label, shape in (
            ("one", (6, 1)), ("several", (3, 6, 1)), ("deep", (2, 3, 6, 1)), ("wide", (2, 6, 2)),
        ):  # fmt: skip
            calls[f"{name}.{label}"] = partial(numbers, name, shape)
        if name in _ROLLING:
            for rolling in (False, True):
                calls[f"{name}.rolling_{rolling}"] = partial(
                    numbers, name, (2, 6, 1), rolling_gamma=rolling
                )
    return answers(seed, **calls)


def _sequences(make_env: Any, seed: int) -> Dict[str, Any]:
    """Rows that are rolled one by one; trajectories that are padded, and put back in a row."""
    folder = "torchrl.objectives.value.utils"
    roll, lengths, split, inverse, starts = (
        library(folder, name)
        for name in (
            "roll_by_gather", "_get_num_per_traj", "_split_and_pad_sequence", "_inv_pad_sequence",
            "_get_num_per_traj_init",
        )
    )  # fmt: skip
    numbers = torch.arange(24.0).reshape(2, 3, 4)
    done = torch.zeros(2, 4, dtype=torch.bool)
    done[0, 1] = done[1, 2] = True

    def padded(batch: Any) -> Any:
        rows, mask = split(batch, lengths(done), return_mask=True)
        return {"rows": rows, "mask": mask, "inverse": inverse(rows, lengths(done), mask)}

    steps = dictionary({"seen": numbers[:, 0]}, (2, 4))
    return answers(
        seed,
        columns=lambda: roll(numbers, 0, -torch.arange(4)),
        rows=lambda: roll(numbers, 1, -torch.arange(3)),
        last=lambda: roll(numbers, -1, torch.tensor([1, 0, 2])),
        other=lambda: roll(numbers, 3, -torch.arange(3)),
        lengths=lambda: lengths(done),
        starts=lambda: starts(done.roll(1, -1)),
        tensor=lambda: padded(numbers[:, 0]),
        vectors=lambda: split(numbers.transpose(1, 2), lengths(done), time_dim=1),
        steps=lambda: {"rows": split(steps, lengths(done))["seen"]},
    )


PARTS = {
    "targets-by-function": _targets,
    "discounts-of-each-step": _discounts,
    "padded-sequences": _sequences,
}
