"""Distributions, actors and noise on actions of every shape, at bounds, and what they refuse."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List, Optional

import numpy as np
import torch
from torch import distributions as d
from torch import nn

from rlregress.frameworks.torchrl.api import GymWrapper
from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import (
    ACTIONS,
    OBSERVATIONS,
    answers,
    bounds,
    dictionary,
    entries,
    exploring,
)

_HELPERS = "torchrl.modules.distributions.utils"
_PLACE = torch.tensor([[0.1, -0.4], [1.2, 0.0], [-0.7, 0.9]])
_SCALE = torch.tensor([[0.3, 0.6], [1.0, 2.0], [0.5, 0.5]])
_SCORES = torch.tensor([[0.1, 1.4, -0.3], [2.0, 0.2, 0.4], [0.0, 0.0, 1.0]])


def _kind(name: str) -> Any:
    return library("torchrl.modules", name)


def _transformed(make_env: Any, seed: int) -> Dict[str, Any]:
    """Numbers, rows and blocks behind transforms that widen, join, cut and bound them."""
    kind = library(_HELPERS, "FasterTransformedDistribution")
    bases: Dict[str, Callable[[], Any]] = {
        "numbers": lambda: d.Normal(_PLACE, _SCALE),
        "rows": lambda: d.Independent(d.Normal(_PLACE, _SCALE), 1),
        "block": lambda: d.Independent(d.Normal(_PLACE, _SCALE), 2),
    }
    wide = torch.linspace(0.5, 2.0, 24).reshape(4, 3, 2)
    transforms: Dict[str, Callable[[], Any]] = {
        "affine": lambda: d.AffineTransform(0.5, 2.0),
        "rows": lambda: d.AffineTransform(_PLACE, _SCALE, event_dim=1),
        "wider": lambda: d.AffineTransform(torch.zeros(4, 3, 2), wide),
        "wider_rows": lambda: d.AffineTransform(torch.zeros(4, 3, 2), wide, event_dim=1),
        "tanh": d.TanhTransform,
        "both": lambda: d.ComposeTransform([d.TanhTransform(), d.AffineTransform(1.0, 3.0)]),
        "sticks": d.StickBreakingTransform,
        "softmax": d.SoftmaxTransform,
        "flat": lambda: d.ReshapeTransform(torch.Size((3, 2)), torch.Size((6,))),
        "list": lambda: [d.TanhTransform()],
        "word": lambda: "tanh",
    }

    def outputs(base: str, transform: str) -> Any:
        distribution = kind(bases[base](), transforms[transform]())
        draw = distribution.rsample((2,))
        below = distribution.base_dist
        shapes = [distribution.batch_shape, distribution.event_shape, below.batch_shape,
                  below.event_shape]  # fmt: skip
        return {"shapes": str([list(shape) for shape in shapes]), "draw": draw}

    def scored(base: str, transform: str) -> Any:
        distribution = kind(bases[base](), transforms[transform]())
        return distribution.log_prob(distribution.sample())

    calls: Dict[str, Any] = {}
    for base in bases:
        for transform in transforms:
            calls[f"{base}.{transform}"] = partial(outputs, base, transform)
            calls[f"{base}.{transform}.score"] = partial(scored, base, transform)
    return answers(seed, **calls)


#: label -> bounds of actions.
_BOUNDS: Dict[str, Any] = {
    "default": {}, "low": {"low": -2.0}, "high": {"high": 3.0}, "unit": {"low": 0.0, "high": 1.0},
    "tensors": {"low": torch.tensor([-2.0, 0.0]), "high": torch.tensor([2.0, 1.0])},
    "low_tensor": {"low": torch.tensor([-1.0, -0.5])},
    "high_tensor": {"high": torch.tensor([1.0, 0.5])},
    "integers": {"low": -2, "high": 2},
    "usual": {"low": torch.tensor([-1.0, -1.0]), "high": torch.tensor([1.0, 1.0])},
    "double": {"low": torch.tensor([-2.0, -2.0]), "high": torch.tensor([2.0, 2.0])},
    "positive": {"low": torch.tensor([1.0, 1.0]), "high": torch.tensor([2.0, 3.0])},
}  # fmt: skip
_WRONG: Dict[str, Any] = {
    "turned": {"low": 1.0, "high": -1.0}, "equal": {"low": 0.5, "high": 0.5},
    "turned_tensor": {"low": torch.tensor([-1.0, 2.0]), "high": torch.tensor([1.0, 1.0])},
    "turned_arrays": {"low": np.array([-1.0, 2.0]), "high": np.array([1.0, 1.0])},
    "arrays": {"low": np.array([-1.0, -2.0]), "high": np.array([1.0, 1.0])},
}  # fmt: skip
_BOUNDED = ("TanhNormal", "TruncatedNormal", "TanhDelta")


def _bounded(name: str, **given: Any) -> Any:
    parameters = [_PLACE] if name == "TanhDelta" else [_PLACE, _SCALE]
    return _kind(name)(*parameters, **given)


def _at_bounds(make_env: Any, seed: int) -> Dict[str, Any]:
    """Scores and their gradients of actions at bounds, near and beyond them; bounds refused."""

    def scored(name: str, given: Any, place: float) -> Any:
        made_one = _bounded(name, **given)
        low, high = (torch.as_tensor(getattr(made_one, n)).float() for n in ("low", "high"))
        actions = (low + place * (high - low)).expand(3, 2).clone().requires_grad_()
        score = made_one.log_prob(actions)
        score.sum().backward()
        return {"score": score.detach(), "gradient": actions.grad}

    def outputs(name: str, given: Any) -> Any:
        made_one = _bounded(name, **given)
        trivial = [str(getattr(made_one, n, "")) for n in ("non_trivial_min", "non_trivial_max")]
        return {"draw": made_one.rsample((2,)), "sure": made_one.deterministic_sample,
                "least": made_one.low, "most": made_one.high, "trivial": str(trivial)}  # fmt: skip

    calls: Dict[str, Any] = {}
    for name in _BOUNDED:
        for label, given in _BOUNDS.items():
            calls[f"{name}.{label}"] = partial(outputs, name, given)
            for old in ("min", "max"):
                calls[f"{name}.{label}.{old}"] = partial(
                    lambda name, given, old: getattr(_bounded(name, **given), old), name, given, old
                )
            for place in (-0.1, 0.0, 1e-7, 0.5, 1.0 - 1e-6, 1.0, 1.1):
                calls[f"{name}.{label}.{place}"] = partial(scored, name, given, place)
        for label, given in _WRONG.items():
            calls[f"{name}.{label}"] = partial(outputs, name, given)
    return answers(seed, **calls)


def _updated(make_env: Any, seed: int) -> Dict[str, Any]:
    """Distributions that are given other numbers, scales by functions, and events of any depth."""
    other, wider = 0.5 * _PLACE + 0.1, torch.linspace(-1.0, 1.0, 24).reshape(4, 3, 2)
    scales: Dict[str, Any] = {"tensor": 0.5 * _SCALE, "number": 0.7, "function": torch.ones_like}

    def outputs(made_one: Any) -> Any:
        shapes = str([list(made_one.batch_shape), list(made_one.event_shape)])
        draw = made_one.rsample((2,))
        return {"shapes": shapes, "draw": draw, "score": made_one.log_prob(draw)}

    def again(name: str, first: Any, place: Any, scale: Any, **given: Any) -> Any:
        made_one = _kind(name)(_PLACE, first, **given)
        made_one.update(place, scale)
        return outputs(made_one)

    def moved(name: str, place: Any, **given: Any) -> Any:
        made_one = _kind(name)(_PLACE, **given)
        made_one.update(place)
        return outputs(made_one)

    def estimated(**given: Any) -> Any:
        return _kind("TanhNormal")(0.3 * _PLACE, _SCALE, **given).get_mode()

    calls: Dict[str, Any] = {}
    for name in ("IndependentNormal", "TanhNormal", "TruncatedNormal"):
        for label, scale in scales.items():
            calls[f"{name}.first_{label}"] = partial(again, name, scale, other, _SCALE)
            calls[f"{name}.then_{label}"] = partial(again, name, _SCALE, other, scale)
        for squashed in (False, True):
            calls[f"{name}.squashed_{squashed}"] = partial(
                again, name, _SCALE, 9.0 * other, _SCALE, tanh_loc=squashed, upscale=2.0
            )
        calls[f"{name}.wider"] = partial(again, name, _SCALE, wider, wider.abs() + 0.5)
        calls[f"{name}.upscale"] = partial(
            again, name, _SCALE, 9.0 * other, _SCALE, tanh_loc=True, upscale=torch.tensor(2.0)
        )
    for name in ("TanhNormal", "TruncatedNormal"):
        calls[f"{name}.elsewhere"] = partial(
            again, name, _SCALE, 9.0 * other, _SCALE, tanh_loc=True, low=3.0, high=5.0
        )
    for events in (0, 1, 2):
        calls[f"TanhNormal.events_{events}"] = partial(
            again, "TanhNormal", _SCALE, other, _SCALE, event_dims=events
        )
        calls[f"IndependentNormal.events_{events}"] = partial(
            again, "IndependentNormal", _SCALE, other, _SCALE, event_dim=events
        )
    for events in (1, 2):
        calls[f"TanhDelta.events_{events}"] = partial(moved, "TanhDelta", other, event_dims=events)
    for label, given in (("plain", {}), ("unsafe", {"safe": False}), ("wide", {"high": 4.0})):
        calls[f"TanhDelta.{label}"] = partial(moved, "TanhDelta", other, **given)
    calls["Delta"] = partial(moved, "Delta", other)
    calls["Delta.tolerant"] = partial(moved, "Delta", other, atol=0.3, rtol=0.5)
    calls["TanhNormal.of_a_number"] = lambda: outputs(_kind("TanhNormal")(0.3, 0.5))
    calls["TanhNormal.mode"] = estimated
    calls["TanhNormal.mode_between"] = lambda: estimated(
        low=torch.tensor([-2.0, 0.0]), high=torch.tensor([2.0, 1.0])
    )
    return answers(seed, **calls)


def _deltas(make_env: Any, seed: int) -> Dict[str, Any]:
    """Distributions without chance: sizes, events, expanded, nearness; uniform draws instead."""
    folder = "torchrl.modules.distributions.continuous"
    delta = _kind("Delta")

    def drawn(method: str, *size: Any) -> Any:
        return getattr(delta(_PLACE), method)(*size)

    def expanded(*shape: int) -> Any:
        one = delta(_PLACE).expand(torch.Size(shape))
        return {"parameter": one.param, "shapes": str([one.batch_shape, one.event_shape])}

    def near(by: float, **given: Any) -> Any:
        return delta(_PLACE, **given).log_prob(_PLACE + by)

    def uniform(name: str, made_one: Any, *size: Any) -> Any:
        return library(folder, name)(made_one(), *size)

    calls: Dict[str, Any] = {}
    for method in ("sample", "rsample"):
        calls[method] = partial(drawn, method)
        calls[f"{method}.several"] = partial(drawn, method, (2,))
    for label, shape in (("same", (3,)), ("wider", (2, 3)), ("other", (5,))):
        calls[f"expanded.{label}"] = partial(expanded, *shape)
    for by in (0.0, 1e-7, 5e-6, 0.05, -0.05):
        for label, given in (
            ("default", {}), ("wide", {"atol": 0.1}), ("relative", {"atol": 0.0, "rtol": 0.1}),
            ("numbers", {"batch_shape": (3, 2), "event_shape": ()}),
            ("block", {"batch_shape": (), "event_shape": (3, 2)}),
        ):  # fmt: skip
            calls[f"near.{by}.{label}"] = partial(near, by, **given)
    for label, size in (("", ()), (".several", ((2,),))):
        calls[f"uniform.tanh{label}"] = partial(
            uniform, "uniform_sample_tanhnormal", lambda: _bounded("TanhNormal", low=-3.0), *size
        )
        calls[f"uniform.delta{label}"] = partial(
            uniform, "uniform_sample_delta", lambda: delta(_PLACE), *size
        )
    return answers(seed, **calls)


class _Pair(d.Distribution):
    """Two numbers that are drawn and scored together."""

    arg_constraints: Dict[str, Any] = {}
    has_rsample = True

    def __init__(self, loc: torch.Tensor, scale: torch.Tensor) -> None:
        self._normal = d.Normal(loc, scale)
        super().__init__(loc.shape[:-1], validate_args=False)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Both numbers."""
        return self._normal.rsample(torch.Size(sample_shape)).unbind(-1)

    sample = rsample

    def log_prob(self, *numbers: Any) -> Any:
        """Of both."""
        return self._normal.log_prob(torch.stack(numbers, -1)).sum(-1)


class _Unbounded(d.Normal):
    """A distribution whose entropy is infinite."""

    def entropy(self) -> Any:
        """Of every number."""
        return torch.full_like(self.loc, float("inf"))


class _Rigid(d.Categorical):
    """A distribution whose entropy has no formula, and that has no gradients of draws."""

    entropy = d.Distribution.entropy


def _composites(make_env: Any, seed: int) -> Dict[str, Any]:
    """Several distributions together: nested names, deeper events, endless entropies, summed."""
    composite = library("tensordict.nn.distributions", "CompositeDistribution")
    summed = library("tensordict.nn", "set_composite_lp_aggregate")
    both, entropy = (library(_HELPERS, n) for n in ("sample_and_log_prob", "composite_entropy"))
    normals = {"loc": _PLACE, "scale": _SCALE}
    kinds: Dict[str, Any] = {
        "rows": ({"move": normals, "turn": {"logits": _SCORES}},
                 {"move": _kind("IndependentNormal"), "turn": _kind("OneHotCategorical")}),
        "numbers": ({"move": normals, "turn": {"logits": _SCORES}},
                    {"move": d.Normal, "turn": d.Categorical}),
        "sampled": ({"move": normals, "turn": {"logits": _SCORES}},
                    {"move": _kind("TanhNormal"), "turn": d.Categorical}),
        "nested": ({"body": {"move": normals}, "turn": {"logits": _SCORES}},
                   {("body", "move"): _kind("IndependentNormal"), "turn": d.Categorical}),
        "endless": ({"move": normals, "turn": {"logits": _SCORES}},
                    {"move": _Unbounded, "turn": d.Categorical}),
        "rigid": ({"move": normals, "turn": {"logits": _SCORES}},
                  {"move": d.Normal, "turn": _Rigid}),
    }  # fmt: skip

    def tree(numbers: Dict[str, Any]) -> Any:
        return dictionary(
            {k: tree(v) if isinstance(v, dict) else v for k, v in numbers.items()}, (3,)
        )

    def several(label: str) -> Any:
        numbers, classes = kinds[label]
        return composite(tree(numbers), distribution_map=classes)

    def drawn(label: str, total: bool, shape: Any, **options: Any) -> Any:
        with summed(total):
            draw, score = both(several(label), shape, **options)
        outputs = {f"draw.{k}": v for k, v in entries(draw).items()}
        scores = entries(score) if hasattr(score, "keys") else {"all": score}
        return {**outputs, **{f"score.{k}": v for k, v in scores.items()}}

    def disorder(label: str, total: bool, *samples: int) -> Any:
        with summed(total):
            found = entropy(several(label), *samples)
        return entries(found) if hasattr(found, "keys") else found

    calls: Dict[str, Any] = {
        "pair": lambda: both(_Pair(_PLACE, _SCALE), (2,)),
        "pair.moved": lambda: both(_Pair(_PLACE, _SCALE), (), reparameterize=True),
    }
    for label in kinds:
        for total in (True, False):
            calls[f"{label}.{total}"] = partial(drawn, label, total, ())
            calls[f"{label}.{total}.several"] = partial(drawn, label, total, (2,))
            calls[f"{label}.{total}.moved"] = partial(drawn, label, total, (), reparameterize=True)
            calls[f"{label}.{total}.entropy"] = partial(disorder, label, total)
            calls[f"{label}.{total}.entropy.several"] = partial(disorder, label, total, 3)
    return answers(seed, **calls)


# -- actors and noise ---------------------------------------------------------------------------


def _actors(make_env: Any, seed: int) -> Dict[str, Any]:
    """Actors of every specification, safe or not: drawn, sure, at random, refused."""

    module, composite = _kind("SafeProbabilisticModule"), library("torchrl.data", "Composite")
    normal = _kind("IndependentNormal")
    specs: Dict[str, Callable[[], Any]] = {
        "none": lambda: None, "bounded": lambda: bounds(-0.3, 0.3),
        "composite": lambda: composite({"action": bounds(-0.3, 0.3)}),
        "other": lambda: composite({"turn": bounds()}),
        "spaced": lambda: composite({"action": bounds(), "_": bounds()}),
        "word": lambda: "bounds",
    }  # fmt: skip

    def actor(spec: str, *out: str, **given: Any) -> Any:
        options = {"distribution_class": normal, "return_log_prob": True, **given}
        keys = list(out) or ["action"]
        return made(module, in_keys=["loc", "scale"], out_keys=keys, spec=specs[spec](), **options)

    def parameters() -> Any:
        return dictionary({"loc": _PLACE, "scale": _SCALE}, (3,))

    def acted(spec: str, exploration: str, **given: Any) -> Any:
        made_one = actor(spec, **given)
        return entries(exploring(exploration, lambda: made_one(parameters())))

    def outputs(spec: str) -> Any:
        made_one = actor(spec)
        keys = {"spec": str(sorted(map(str, made_one.spec.keys(True, True))))}
        return {**keys, **entries(made_one.random(parameters())),
                "again": made_one.random_sample(parameters())["action"]}  # fmt: skip

    def put(spec: Any) -> Any:
        made_one = actor("bounded")
        made_one.spec = spec
        return str(sorted(map(str, made_one.spec.keys(True, True))))

    def whole(safe: bool, **given: Any) -> Any:
        network = nn.Linear(OBSERVATIONS, ACTIONS)
        first = library("torchrl.modules", "SafeModule")(
            network, in_keys=["observation"], out_keys=["action"], spec=bounds(-0.1, 0.1),
            safe=safe, **given,
        )  # fmt: skip
        batch = dictionary({"observation": torch.ones(3, OBSERVATIONS)}, (3,))
        return first(batch)["action"].detach()

    calls: Dict[str, Any] = {"whole": lambda: whole(False), "whole.safe": lambda: whole(True)}
    for spec in specs:
        calls[f"{spec}.told"] = partial(outputs, spec)
        for exploration in ("random", "deterministic", "mean"):
            for safe in (False, True):
                calls[f"{spec}.{exploration}.{safe}"] = partial(acted, spec, exploration, safe=safe)
        calls[f"{spec}.two"] = partial(lambda spec: str(actor(spec, "action", "turn").spec), spec)
    for exploration in ("random", "deterministic"):
        for label, given in (
            ("several", {"num_samples": 2}), ("silent", {"return_log_prob": False}),
            ("seeded", {"generator": 3}), ("tanh", {"distribution_class": _kind("TanhNormal")}),
            ("named", {"log_prob_key": "score"}),
        ):  # fmt: skip
            calls[f"{label}.{exploration}"] = partial(acted, "none", exploration, **given)
    calls["put"] = lambda: put(composite({"action": bounds()}))
    calls["put.bounded"] = lambda: put(bounds())
    return answers(seed, **calls)


_NOISE = ("AdditiveGaussianModule", "OrnsteinUhlenbeckProcessModule", "EGreedyModule")


def _noise(make_env: Any, seed: int) -> Dict[str, Any]:
    """Noise on actions by any key, safe or not, with a specification that comes later or never."""
    composite = library("torchrl.data", "Composite")
    nested, deep, single = ("body", "action"), ("body", "arm", "action"), ("action",)

    def batch(key: Any, *shape: int, start: Optional[torch.Tensor] = None) -> Any:
        actions = torch.linspace(-1.5, 1.5, 2 * int(np.prod(shape))).reshape(*shape, 2)
        items: Dict[str, Any] = {}
        if key == nested:
            items["body"] = dictionary({"action": actions}, shape)
        elif key == deep:
            # of two arms in each body
            actions = actions.unsqueeze(-2).expand(*shape, 2, 2).clone()
            arm = dictionary({"action": actions}, (*shape, 2))
            items["body"] = dictionary({"arm": arm}, shape)
        else:
            items[key[0] if key == single else key] = actions
        if start is not None:
            items["is_init"] = start
        return dictionary(items, shape)

    def specification(kind: str, key: Any, *shape: int) -> Any:
        spec = bounds(-0.8, 0.9).expand(*shape, 2) if shape else bounds(-0.8, 0.9)
        if kind == "composite":
            inner = composite({"action": spec}, shape=shape)
            return composite({"body": inner}, shape=shape) if key == nested else inner
        return spec if kind == "bounded" else None

    def acted(
        name: str, exploration: str, kind: str = "bounded", key: Any = "action", **given: Any
    ) -> Any:
        start = given.pop("start", torch.tensor([[True], [False], [False]]))
        expanded = given.pop("expanded", ())
        spec = specification(kind, key, *expanded)
        noise = made(_kind(name), spec=spec, action_key=key, **given)
        first = exploring(exploration, lambda: noise(batch(key, 3, start=start)))
        # the noise of the second step goes on from the first
        second = exploring(exploration, lambda: noise(first.clone()))
        return {f"{number}.{k}": v.clone() for number, process in (("0", first), ("1", second))
                for k, v in entries(process).items()}  # fmt: skip

    calls: Dict[str, Any] = {}
    for name in _NOISE:
        for exploration in ("random", "deterministic"):
            for kind in ("bounded", "composite", "none"):
                for label, key in (
                    ("", "action"), (".nested", nested), (".turn", "turn"), (".deep", deep),
                    (".single", single),
                ):  # fmt: skip
                    if kind == "composite" and key in ("turn", deep):
                        continue
                    calls[f"{name}.{exploration}.{kind}{label}"] = partial(
                        acted, name, exploration, kind, key
                    )
        calls[f"{name}.expanded"] = partial(acted, name, "random", expanded=(3,))
        calls[f"{name}.other"] = partial(acted, name, "random", expanded=(2,))
        rates: Dict[str, Any] = {"sigma_init": 0.1, "sigma_end": 0.5} if "Gaussian" in name else {
            "eps_init": 0.1, "eps_end": 0.5}  # fmt: skip
        calls[f"{name}.rising"] = partial(acted, name, "random", **rates)
    for safe in (True, False):
        for exploration in ("random", "deterministic"):
            for name in _NOISE[:2]:
                calls[f"{name}.{exploration}.safe_{safe}"] = partial(
                    acted, name, exploration, safe=safe
                )
    return answers(seed, **calls, **_starts(acted), **_later(make_env))


def _starts(acted: Callable[..., Any]) -> Dict[str, Any]:
    """Starts of episodes of every shape, and first noise of either kind."""
    process = partial(acted, "OrnsteinUhlenbeckProcessModule", "random", sigma=0.5, dt=0.1)
    flags: Dict[str, Any] = {
        "none": None, "flat": torch.tensor([True, False, True]),
        "column": torch.tensor([[True], [False], [True]]),
        "wide": torch.tensor([[True, False], [False, False], [True, True]]),
        "wrong": torch.tensor([True, False]),
    }  # fmt: skip
    calls: Dict[str, Any] = {
        f"starts.{label}": partial(process, start=start) for label, start in flags.items()
    }
    calls["first.tensor"] = lambda: process(x0=torch.tensor([0.4, -0.2]))
    calls["first.number"] = lambda: process(x0=0.3)
    calls["twice"] = lambda: process(key="_ou_steps")
    return calls


def _later(make_env: Any) -> Dict[str, Any]:
    """Specifications that are set later, by hand or by an environment; steps of rates."""
    gaussian, process = (_kind(name) for name in _NOISE[:2])
    composite = library("torchrl.data", "Composite")

    def put(spec: Any) -> Any:
        noise = gaussian(spec=None, sigma_init=1.0)
        noise.spec = spec
        moved = exploring("random", lambda: noise(dictionary({"action": torch.ones(3, 2)}, (3,))))
        return {"action": moved["action"], "spec": str(sorted(map(str, noise.spec.keys())))}

    def taken() -> Any:
        call = library(
            "torchrl.modules.tensordict_module.exploration",
            "set_exploration_modules_spec_from_env",
        )
        own = gaussian(spec=bounds(-0.1, 0.1))
        policy: Any = nn.Sequential(gaussian(spec=None), own)
        call(policy, GymWrapper(make_env(), device="cpu"))
        return str([str(module.spec["action"].space) for module in policy])

    def stepped(kind: Any, frames: List[int], **given: Any) -> Any:
        noise = made(kind, spec=bounds(), **given)
        for frame in frames:
            noise.step(frame)
        return [item.clone() for _, item in sorted(noise.state_dict().items())]

    def integers() -> Any:
        noise = gaussian(spec=bounds(), mean=0, std=1)
        return exploring("random", lambda: noise(dictionary({"action": torch.ones(3, 2)}, (3,))))[
            "action"
        ]

    calls: Dict[str, Any] = {
        "put": lambda: put(bounds(-0.5, 0.5)), "integers": integers, "taken": taken,
        "put.composite": lambda: put(composite({"action": bounds(-0.5, 0.5)})),
    }  # fmt: skip
    for label, kind in (("gaussian", gaussian), ("process", process)):
        for steps in (0, 1, 7):
            calls[f"steps.{label}.{steps}"] = partial(
                stepped, kind, [1, 3, 20], annealing_num_steps=steps
            )
    return calls


API_CASES = {
    "transformed-shapes": _transformed,
    "actions-at-bounds": _at_bounds,
    "updated-distributions": _updated,
    "draws-without-chance": _deltas,
    "composite-distributions": _composites,
    "specifications-of-actors": _actors,
    "noise-on-every-key": _noise,
}
