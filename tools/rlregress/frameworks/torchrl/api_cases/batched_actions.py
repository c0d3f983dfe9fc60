"""Distributions and noise on one action, on rows and blocks of them, and beside other devices."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List, Sequence

import torch

from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import (
    ACTIONS,
    answers,
    bounds,
    dictionary,
    entries,
    exploring,
)

_HELPERS = "torchrl.modules.distributions.utils"
_EXPLORATION = "torchrl.modules.tensordict_module.exploration"
#: label -> shape of the parameters.
_SHAPES = {"one": (2,), "rows": (3, 2), "blocks": (2, 3, 2), "deep": (2, 1, 3, 2)}
#: label -> bounds of actions.
_BOUNDS: Dict[str, Dict[str, Any]] = {
    "plain": {},
    "wide": {"low": -2.0, "high": 3.0},
    "unlike": {"low": torch.tensor([-2.0, 0.0]), "high": torch.tensor([2.0, 1.0])},
    "usual": {"low": torch.tensor([-1.0, -1.0]), "high": torch.tensor([1.0, 1.0])},
    "double": {"low": torch.tensor([-2.0, -2.0]), "high": torch.tensor([2.0, 2.0])},
}


def _kind(name: str) -> Any:
    return library("torchrl.modules", name)


def _spread(shape: Sequence[int], first: float, last: float) -> torch.Tensor:
    """Numbers at equal distances."""
    return torch.linspace(first, last, torch.Size(shape).numel()).reshape(*shape)


def _continuous(name: str, shape: Sequence[int], **given: Any) -> Any:
    place, scale = _spread(shape, -0.9, 1.2), _spread(shape, 0.3, 1.1)
    parameters = [place] if "Delta" in name else [place, scale]
    return _kind(name)(*parameters, **given)


def _choosing(name: str, shape: Sequence[int]) -> Any:
    scores = _spread((*shape, 3), -1.0, 2.0).cos()
    if "Masked" in name:
        mask = torch.ones_like(scores, dtype=torch.bool)
        mask[..., 1] = False
        return _kind(name)(logits=scores, mask=mask)
    return _kind(name)(scores) if "Ordinal" in name else _kind(name)(logits=scores)


#: label -> distributions of one action, of rows and of blocks.
_CONTINUOUS = ("IndependentNormal", "TanhNormal", "TruncatedNormal", "Delta", "TanhDelta")
_CHOICES = (
    "OneHotCategorical", "MaskedCategorical", "MaskedOneHotCategorical", "Ordinal", "OneHotOrdinal",
)  # fmt: skip


def _answers(make: Callable[[], Any], question: str) -> Any:
    """What a distribution answers, the draws from the same random state."""
    distribution = make()
    if question == "shapes":
        own = [distribution.batch_shape, distribution.event_shape]
        return str([list(value) for value in own])
    if question == "drawn":
        draw, several = distribution.sample(), distribution.sample((2,))
        return {"one": draw, "several": several, "score": distribution.log_prob(draw),
                "scores": distribution.log_prob(several)}  # fmt: skip
    if question == "moved":
        return distribution.rsample((2, 2))
    if question == "wider":
        wide = distribution.expand((2, *distribution.batch_shape))
        shapes = str([list(wide.batch_shape), list(wide.event_shape)])
        return {"shapes": shapes, "score": wide.log_prob(wide.deterministic_sample)}
    answer = getattr(distribution, question)
    return answer() if callable(answer) else answer


_QUESTIONS = ("shapes", "drawn", "moved", "entropy", "mode", "mean", "deterministic_sample")
#: what it has no answer to, for any shape
_SILENT = {"TanhNormal": ("entropy", "mode", "mean"), "Delta": ("entropy",),
           "TanhDelta": ("entropy", "mean"), "MaskedCategorical": ("moved",),
           "Ordinal": ("moved", "deterministic_sample")}  # fmt: skip


def _queried(name: str) -> List[str]:
    """Questions to a distribution, of which one alone can be made wider."""
    wider = ["wider"] if name == "Delta" else []
    return [question for question in (*_QUESTIONS, *wider) if question not in _SILENT.get(name, ())]


def _blocks(make_env: Any, seed: int) -> Dict[str, Any]:
    """Every distribution on one action, on rows and blocks; scores of actions partly outside."""

    def outside(name: str, shape: Sequence[int], given: Dict[str, Any]) -> Any:
        # some actions are within their bounds, of some one number is outside, of some all are
        return _continuous(name, shape, **given).log_prob(_spread(shape, -1.5, 2.5))

    def beside(name: str, shape: Sequence[int], given: Dict[str, Any]) -> Any:
        # one row of actions for all
        return _continuous(name, shape, **given).log_prob(_spread(shape[-1:], -0.3, 0.4))

    calls: Dict[str, Any] = {}
    for label, shape in _SHAPES.items():
        for name in _CONTINUOUS:
            boundless = name in ("IndependentNormal", "Delta") or label in ("one", "deep")
            for case, given in _BOUNDS.items():
                if boundless and case != "plain":
                    continue
                make = partial(_continuous, name, shape, **given)
                for question in _queried(name):
                    calls[f"{name}.{label}.{case}.{question}"] = partial(_answers, make, question)
                calls[f"{name}.{label}.{case}.outside"] = partial(outside, name, shape, given)
                calls[f"{name}.{label}.{case}.beside"] = partial(beside, name, shape, given)
        for name in _CHOICES:
            make = partial(_choosing, name, shape[:-1])
            for question in _queried(name):
                calls[f"{name}.{label}.{question}"] = partial(_answers, make, question)
    return answers(seed, **calls)


def _squashed(make_env: Any, seed: int) -> Dict[str, Any]:
    """Locations that are squashed, or not, by every bound, with numbers and scales of tensors."""

    def outputs(name: str, label: str, given: Dict[str, Any], upscale: Any, tanh: bool) -> Any:
        options = {**given, "upscale": upscale, "tanh_loc": tanh}
        parameters = [3.0 * _spread(_SHAPES[label], -0.9, 1.2), _spread(_SHAPES[label], 0.3, 1.1)]
        made_one = _kind(name)(*parameters, **options)
        first = {"draw": made_one.rsample(), "sure": made_one.deterministic_sample}
        made_one.update(0.5 * parameters[0], 2.0 * parameters[1])
        return {**first, "then": made_one.rsample(), "then_sure": made_one.deterministic_sample}

    calls: Dict[str, Any] = {}
    for name in ("TanhNormal", "TruncatedNormal", "IndependentNormal"):
        for case, given in _BOUNDS.items():
            if name == "IndependentNormal" and case != "plain":
                continue
            for number, upscale in enumerate(
                (1.0, 3.0, torch.tensor(2.0), torch.tensor([1.0, 4.0]))
            ):
                for tanh in (False, True):
                    calls[f"{name}.{case}.{number}.{tanh}"] = partial(
                        outputs, name, "blocks", given, upscale, tanh
                    )
    return answers(seed, **calls)


def _aside(make_env: Any, seed: int) -> Dict[str, Any]:
    """Scales, bounds and noise that are on another device than the actions: where they go."""

    def devices(made_one: Any) -> Any:
        read = ("loc", "scale", "low", "high", "upscale", "param")
        held = {n: getattr(made_one, n) for n in read if hasattr(made_one, n)}
        return str({n: str(v.device) for n, v in held.items() if isinstance(v, torch.Tensor)})

    def outputs(name: str, *aside: str, **given: Any) -> Any:
        numbers = {"loc": _spread((3, 2), -0.9, 1.2), "scale": _spread((3, 2), 0.3, 1.1), **given}
        numbers = {n: v.to("meta") if n in aside else v for n, v in numbers.items()}
        place = numbers.pop("loc")
        return devices(_kind(name)(place, **numbers))

    def updated(name: str, *aside: str) -> Any:
        made_one = _continuous(name, (3, 2))
        numbers = {"loc": _spread((3, 2), -0.9, 1.2), "scale": _spread((3, 2), 0.3, 1.1)}
        made_one.update(**{n: v.to("meta") if n in aside else v for n, v in numbers.items()})
        return devices(made_one)

    def cast(transform: Any, device: Any) -> Any:
        call = library(_HELPERS, "_cast_transform_device")
        moved = call(transform, device)
        held = [str(v.device) for v in vars(moved).values() if isinstance(v, torch.Tensor)]
        return str([type(moved).__name__, held])

    def joined() -> Any:
        affine = torch.distributions.AffineTransform(torch.zeros(2), torch.ones(2))
        both: Any = torch.distributions.ComposeTransform([affine, affine])
        library(_HELPERS, "_cast_transform_device")(both, "meta")
        return str([str(part.loc.device) for part in both.parts])

    calls: Dict[str, Any] = {
        "cast.none": lambda: str(library(_HELPERS, "_cast_transform_device")(None, "cpu")),
        "cast.affine": lambda: cast(
            torch.distributions.AffineTransform(torch.zeros(2), torch.ones(2)), "meta"
        ),
        "cast.tanh": lambda: cast(torch.distributions.TanhTransform(), "cpu"),
        "cast.word": lambda: cast("tanh", "cpu"), "cast.joined": joined,
    }  # fmt: skip
    limits = {"low": torch.tensor([-2.0, -2.0]), "high": torch.tensor([2.0, 2.0])}
    for name in ("IndependentNormal", "TanhNormal", "TruncatedNormal"):
        for aside in ("loc", "scale"):
            calls[f"{name}.{aside}"] = partial(outputs, name, aside)
            calls[f"{name}.{aside}.updated"] = partial(updated, name, aside)
        calls[f"{name}.both"] = partial(outputs, name, "loc", "scale")
        if name != "IndependentNormal":
            for aside in ("loc", "low", "high"):
                calls[f"{name}.bounds.{aside}"] = partial(outputs, name, aside, **limits)
    return answers(seed, **calls)


# -- noise --------------------------------------------------------------------------------------


def _starts(make_env: Any, seed: int) -> Dict[str, Any]:
    """A process in several environments: starts of every shape, actions below another entry."""
    kind = _kind("OrnsteinUhlenbeckProcessModule")

    def first(shape: Sequence[int]) -> torch.Tensor:
        return torch.arange(torch.Size(shape).numel()).reshape(tuple(shape)) % 3 == 1

    def acted(shape: Sequence[int], start: Any, nested: Sequence[int] = (), **given: Any) -> Any:
        key: Any = ("agents", "action") if nested else "action"
        actions = _spread((*shape, *nested, ACTIONS), -0.2, 0.3)
        items: Dict[str, Any] = {"action": actions}
        if nested:
            items = {"agents": dictionary(items, (*shape, *nested))}
        if start is not None:
            items["is_init"] = first(start)
        noise = made(kind, spec=bounds(), action_key=key, **{"sigma": 0.5, "dt": 0.1, **given})
        recorded: Dict[str, Any] = {}
        batch = dictionary(items, shape)
        for number in range(3):
            # some episodes start anew at the second step, others go on
            batch = exploring("random", partial(noise, batch.clone()))
            recorded.update({f"{number}.{k}": v.clone() for k, v in entries(batch).items()})
            noise.step(2)
        return recorded

    shapes: Dict[str, Sequence[int]] = {
        "row": (4,), "single": (1,), "rows": (2, 3), "column": (3, 1), "line": (1, 3),
        "block": (2, 2, 3),
    }  # fmt: skip
    calls: Dict[str, Any] = {}
    for label, shape in shapes.items():
        starts = {
            "none": None, "flat": shape, "last": (*shape, 1), "wide": (*shape, 2),
            "deeper": (*shape, 2, 1),
        }  # fmt: skip
        for case, start in starts.items():
            calls[f"{label}.{case}"] = partial(acted, shape, start)
            calls[f"{label}.{case}.below"] = partial(acted, shape, start, (2,))
    falling: Dict[str, Any] = {"sigma": 0.9, "sigma_min": 0.1, "n_steps_annealing": 4}
    calls["falling"] = lambda: acted((3,), (3, 1), **falling)
    calls["pulled"] = lambda: acted((3,), (3, 1), theta=0.7, mu=0.4, x0=0.2)
    calls["rates"] = lambda: acted((3,), (3, 1), eps_init=0.9, eps_end=0.2, annealing_num_steps=3)
    return answers(seed, **calls)


def _rows(make_env: Any, seed: int) -> Dict[str, Any]:
    """Noise and chance in several environments, masks, and modules on another device."""
    gaussian, greedy = (_kind(n) for n in ("AdditiveGaussianModule", "EGreedyModule"))
    one_hot, categorical = (library("torchrl.data", n) for n in ("OneHot", "Categorical"))
    composite = library("torchrl.data", "Composite")

    def moved(shape: Sequence[int], expanded: Sequence[int] = (), **given: Any) -> Any:
        spec = bounds(-0.8, 0.9)
        spec = spec.expand(*expanded, ACTIONS) if expanded else spec
        noise = made(gaussian, spec=spec, **{"sigma_init": 0.7, **given})
        batch = dictionary({"action": _spread((*shape, ACTIONS), -1.2, 1.2)}, shape)
        return exploring("random", partial(noise, batch))["action"]

    def chosen(shape: Sequence[int], kind: Any, mask: Any = None, **given: Any) -> Any:
        spec = kind(4) if given.pop("alone", True) else composite({"action": kind(4)})
        chance = made(greedy, spec=spec, **{"eps_init": 0.7, "eps_end": 0.1, **given})
        taken = torch.arange(torch.Size(shape).numel()).reshape(tuple(shape)) % 4
        hot = torch.nn.functional.one_hot(taken, 4)
        items = {"action": hot if kind is one_hot else taken}
        if mask is not None:
            items["mask"] = torch.tensor(mask).expand(*shape, 4).clone()
        return exploring("random", partial(chance, dictionary(items, shape)))["action"]

    def aside(kind: Any, device: str, **given: Any) -> Any:
        chance = made(kind, device=device, spec=bounds(), **given)
        batch = dictionary({"action": torch.zeros(3, ACTIONS)}, (3,))
        found: List[str] = [str(chance.spec.device)]
        acted = exploring("random", partial(chance, batch))["action"]
        return str([*found, str(acted.device)])

    def random(spec: Any, key: Any = "action") -> Any:
        policy = library(_EXPLORATION, "RandomPolicy")(spec, **({"action_key": key} if key else {}))
        return entries(policy(dictionary({}, ())))

    mask = [True, False, True, True]
    calls: Dict[str, Any] = {
        "unmasked": lambda: chosen((6,), one_hot, action_mask_key="mask"),
        "aside.greedy": lambda: aside(greedy, "meta"),
        "aside.gaussian": lambda: aside(gaussian, "meta"),
        "beside.greedy": lambda: aside(greedy, "cpu"),
        "beside.gaussian": lambda: aside(gaussian, "cpu"),
        "policy": lambda: random(bounds()),
        "policy.named": lambda: random(bounds(), "move"),
        "policy.composite": lambda: random(composite({"action": bounds(), "turn": bounds()})),
        "policy.nothing": lambda: random(None),
    }
    for label, shape in (("row", (6,)), ("rows", (2, 3)), ("block", (2, 2, 3)), ("one", ())):
        calls[f"{label}.gaussian"] = partial(moved, shape)
        calls[f"{label}.gaussian.expanded"] = partial(moved, shape, shape)
        calls[f"{label}.gaussian.mean"] = partial(moved, shape, mean=0.4, std=0.2)
        for name, kind in (("one_hot", one_hot), ("categorical", categorical)):
            calls[f"{label}.{name}"] = partial(chosen, shape, kind)
            calls[f"{label}.{name}.composite"] = partial(chosen, shape, kind, alone=False)
            calls[f"{label}.{name}.never"] = partial(chosen, shape, kind, eps_init=0.0, eps_end=0.0)
            calls[f"{label}.{name}.always"] = partial(chosen, shape, kind, eps_init=1.0)
            calls[f"{label}.{name}.masked"] = partial(
                chosen, shape, kind, mask, action_mask_key="mask"
            )
    return answers(seed, **calls)


API_CASES = {
    "blocks-of-distributions": _blocks,
    "squashed-blocks": _squashed,
    "distributions-aside": _aside,
    "starts-of-many-environments": _starts,
    "noise-in-rows": _rows,
}
