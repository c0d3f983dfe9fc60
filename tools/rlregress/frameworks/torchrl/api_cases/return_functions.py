"""Functions of value targets and of sequences, called with tensors by themselves."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, Sequence

import torch

from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.network_factories import answers, dictionary

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
    first = [numbers[key] for key in (*_TARGETS[name], "reward")]
    given = {"terminated": numbers["terminated"]} if name == "td0_return_estimate" else {
        end: numbers[end] for end in ends
    }  # fmt: skip
    output = call(*first, **given, **options)
    return dict(enumerate(output)) if isinstance(output, tuple) else output


def _moved(numbers: Dict[str, Any], move: Callable[[torch.Tensor], torch.Tensor]) -> Dict[str, Any]:
    """The same numbers in tensors of another form."""
    return {
        name: move(number) if isinstance(number, torch.Tensor) else number
        for name, number in numbers.items()
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


def _vanishing(make_env: Any, seed: int) -> Dict[str, Any]:
    """Discounts that vanish at, just above and just below what functions call nothing."""

    def numbers(*shape: int, gamma: float, lmbda: float) -> Dict[str, Any]:
        given = {
            name: array.double() if isinstance(array, torch.Tensor) and array.is_floating_point()
            else array
            for name, array in _numbers(*shape).items()
        }  # fmt: skip
        # what is far away counts for something all the same
        given["reward"] = 1e5 * given["reward"]
        rates = {"gamma": gamma, "lmbda": lmbda}
        return {**given, **{k: torch.full(shape, v, dtype=torch.float64) for k, v in rates.items()}}

    def falling(name: str) -> Any:
        given = numbers(2, 8, 1, gamma=1e-3, lmbda=1.0)
        # of one row the discounts vanish sooner than of the other
        given["gamma"][0] = 0.3
        return _called(name, given)

    calls: Dict[str, Any] = {}
    for name in _TARGETS:
        for label, gamma, lmbda in (
            ("at", 1e-7, 1.0), ("above", 1.1e-7, 1.0), ("below", 0.9e-7, 1.0), ("later", 0.05, 0.9),
            ("product", 0.5, 2e-7), ("zero", 0.0, 0.9), ("one", 1.0, 1.0), ("no_trace", 0.9, 0.0),
        ):  # fmt: skip
            for kind, shape in (
                ("one", (8, 1)), ("rows", (2, 8, 1)), ("wide", (2, 8, 2)), ("deep", (2, 2, 8, 1)),
            ):  # fmt: skip
                calls[f"{name}.{label}.{kind}"] = partial(
                    lambda name, shape, gamma, lmbda: _called(
                        name, numbers(*shape, gamma=gamma, lmbda=lmbda)
                    ),
                    name, shape, gamma, lmbda,
                )  # fmt: skip
        calls[f"{name}.falling"] = partial(falling, name)
    return answers(seed, **calls)


def _wrong(make_env: Any, seed: int) -> Dict[str, Any]:
    """What every function refuses: one number of another shape, time elsewhere, odd discounts."""

    def shaped(name: str, wrong: str, move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        given = _numbers(2, 6, 1)
        return _called(name, {**given, wrong: move(given[wrong])})

    def changed(name: str, **more: Any) -> Any:
        return _called(name, {**_numbers(2, 6, 1), **more})

    calls: Dict[str, Any] = {}
    for name, inputs in _TARGETS.items():
        for wrong in (*inputs, "reward", "done", "terminated"):
            if wrong in ("gamma", "lmbda"):
                continue
            calls[f"{name}.{wrong}.short"] = partial(shaped, name, wrong, lambda t: t[:, :5])
            calls[f"{name}.{wrong}.flat"] = partial(shaped, name, wrong, lambda t: t.squeeze(-1))
            calls[f"{name}.{wrong}.wide"] = partial(
                shaped, name, wrong, lambda t: t.expand(2, 6, 2)
            )
        for label, gamma in (
            ("rows", torch.tensor([0.9, 0.5]).reshape(2, 1, 1).expand(2, 6, 1)),
            ("row", torch.linspace(0.1, 0.9, 6)), ("short", torch.full((2, 5, 1), 0.9)),
            ("column", torch.full((6, 1), 0.9)), ("list", torch.tensor([0.9])), ("half", 0.5),
        ):  # fmt: skip
            calls[f"{name}.gamma.{label}"] = partial(changed, name, gamma=gamma)
        if name in _ROLLING:
            for rolling in (True, False, None):
                calls[f"{name}.number.{rolling}"] = partial(
                    lambda name, rolling: _called(name, _numbers(2, 6, 1), rolling_gamma=rolling),
                    name, rolling,
                )  # fmt: skip
                calls[f"{name}.ends.{rolling}"] = partial(
                    lambda name, rolling: _called(
                        name, _numbers(2, 6, 1, discounts=True), ("done",), rolling_gamma=rolling
                    ),
                    name, rolling,
                )  # fmt: skip
        if not name.startswith("td0"):
            for time in (0, 1, 2, -1, -3, 7):
                calls[f"{name}.time.{time}"] = partial(
                    lambda name, time: _called(name, _numbers(2, 6, 1), time_dim=time), name, time
                )
    return answers(seed, **calls, **_to_go())


def _to_go() -> Dict[str, Any]:
    """Rewards to go of ends in every place, with a discount in a tensor; time elsewhere."""
    call = library(_FUNCTIONS, "reward2go")
    reward = torch.arange(1.0, 13.0).reshape(2, 6, 1)

    def gone(*places: int, gamma: Any = 0.9, **options: Any) -> Any:
        done = torch.zeros(2, 6, 1, dtype=torch.bool)
        done[:, list(places)] = True
        return call(reward, done, gamma, **options)

    def flat(given: Any) -> Any:
        done = torch.zeros(2, 6, 1, dtype=torch.bool)
        done[:, 5] = True
        return call(given, done, 0.9)

    return {
        "to_go.none": gone, "to_go.first": lambda: gone(0), "to_go.last": lambda: gone(5),
        "to_go.every": lambda: gone(*range(6)), "to_go.some": lambda: gone(1, 4),
        "to_go.one": lambda: gone(2, 5, gamma=1.0), "to_go.zero": lambda: gone(2, 5, gamma=0.0),
        "to_go.tensor": lambda: gone(2, 5, gamma=torch.tensor(0.9)),
        "to_go.time": lambda: gone(2, 5, time_dim=1),
        "to_go.last_time": lambda: gone(5, time_dim=-1),
        "to_go.first_time": lambda: gone(5, time_dim=0),
        "to_go.flat": lambda: flat(reward[..., 0]),
        "to_go.short": lambda: flat(reward[:, :4]), "to_go.integers": lambda: flat(reward.long()),
    }  # fmt: skip


API_CASES = {
    "vanishing-discounts": _vanishing,
    "refusals-of-functions": _wrong,
    "targets-by-function": _targets,
    "discounts-of-each-step": _discounts,
    "padded-sequences": _sequences,
}
