"""What distributions answer, one question after the other, and the functions that help them."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict

import torch
from torch import distributions as d

from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.network_factories import answers, dictionary

_HELPERS = "torchrl.modules.distributions.utils"
_PLACE = torch.tensor([[0.1, -0.4], [1.2, 0.0]])
_SCALE = torch.tensor([[0.3, 0.6], [1.0, 2.0]])
_INSIDE = torch.tensor([[0.2, -0.3], [0.9, 0.5]])
_SCORES = torch.tensor([[0.1, 1.4, -0.3], [2.0, 0.2, 0.4]])
_LOW, _HIGH = torch.tensor([-2.0, 0.0]), torch.tensor([2.0, 1.0])


def _modules(name: str) -> Any:
    return library("torchrl.modules", name)


#: label -> a distribution of two steps.
_MADE: Dict[str, Callable[[], Any]] = {
    "normal": lambda: _modules("IndependentNormal")(_PLACE, _SCALE),
    "tanh": lambda: _modules("TanhNormal")(_PLACE, _SCALE),
    "tanh_between": lambda: _modules("TanhNormal")(_PLACE, _SCALE, low=_LOW, high=_HIGH),
    "tanh_unsafe": lambda: _modules("TanhNormal")(_PLACE, _SCALE, safe_tanh=False),
    "truncated": lambda: _modules("TruncatedNormal")(_PLACE, _SCALE),
    "truncated_between": lambda: _modules("TruncatedNormal")(_PLACE, _SCALE, low=-2.0, high=0.5),
    "delta": lambda: _modules("Delta")(_PLACE),
    "tanh_delta": lambda: _modules("TanhDelta")(_PLACE),
    "tanh_delta_between": lambda: _modules("TanhDelta")(_PLACE, low=_LOW, high=_HIGH),
    "one_hot": lambda: _modules("OneHotCategorical")(logits=_SCORES),
    "masked": lambda: _modules("MaskedCategorical")(
        logits=_SCORES, mask=torch.tensor([[True, False, True]] * 2)
    ),
    "masked_one_hot": lambda: _modules("MaskedOneHotCategorical")(
        logits=_SCORES, mask=torch.tensor([[True, False, True]] * 2)
    ),
    "ordinal": lambda: _modules("Ordinal")(_SCORES),
}
#: read as attributes
_READ = (
    "mean", "mode", "variance", "stddev", "deterministic_sample", "support", "min", "max", "low",
    "high", "loc", "scale", "num_samples", "has_rsample",
)  # fmt: skip


def _as_output(item: Any) -> Any:
    """What has no numbers, by its name."""
    return (
        item if isinstance(item, (torch.Tensor, float, int, tuple, list)) else type(item).__name__
    )


def _questions(make_env: Any, seed: int) -> Dict[str, Any]:
    """Every distribution: its shapes and moments, draws with and without gradients, scores."""

    def read(label: str, name: str) -> Any:
        return _as_output(getattr(_MADE[label](), name))

    def shapes(label: str, *wider: int) -> Any:
        made = _MADE[label]()
        made = made.expand(wider) if wider else made
        return str([list(made.batch_shape), list(made.event_shape)])

    def drawn(label: str) -> Any:
        made = _MADE[label]()
        one, several = made.sample(), made.sample((3,))
        return {"one": one, "several": several, "scores": made.log_prob(one),
                "scores_of_several": made.log_prob(several)}  # fmt: skip

    def moved(label: str) -> Any:
        place = _PLACE.clone().requires_grad_()
        kind = type(_MADE[label]())
        made = kind(place, _SCALE) if "delta" not in label else kind(place)
        draw = made.rsample((2,))
        (draw * torch.arange(1.0, 9.0).reshape(2, 2, 2)).sum().backward()
        return {"draw": draw.detach(), "gradient": place.grad}

    def scored(label: str) -> Any:
        place = _PLACE.clone().requires_grad_()
        made = type(_MADE[label]())(place, _SCALE)
        score = made.log_prob(_INSIDE)
        score.sum().backward()
        return {"score": score.detach(), "gradient": place.grad}

    calls: Dict[str, Any] = {}
    for label in _MADE:
        calls.update({f"{label}.{name}": partial(read, label, name) for name in _READ})
        calls[f"{label}.shapes"] = partial(shapes, label)
        calls[f"{label}.expanded"] = partial(shapes, label, 3, 2)
        calls[f"{label}.drawn"] = partial(drawn, label)
        calls[f"{label}.entropy"] = partial(lambda label: _MADE[label]().entropy(), label)
        calls[f"{label}.far"] = partial(
            lambda label: _MADE[label]().log_prob(torch.full((2, 2), 7.0)), label
        )
    for label in ("normal", "tanh", "tanh_unsafe", "truncated"):
        calls[f"{label}.scored"] = partial(scored, label)
    for label in ("normal", "tanh", "tanh_unsafe", "truncated", "delta", "tanh_delta"):
        calls[f"{label}.moved"] = partial(moved, label)
    return answers(seed, **calls)


class _Own(d.Normal):
    """A distribution of a user's, for which what is known of its base holds."""


class _Silent(d.Distribution):
    """A distribution of a user's of which nothing is known."""

    arg_constraints: Dict[str, Any] = {}


def _known(make_env: Any, seed: int) -> Dict[str, Any]:
    """Whether entropies and divergences have a formula: pairs of equal and of other kinds."""
    entropy, divergence = (
        library(_HELPERS, name) for name in ("has_analytic_entropy", "has_analytic_kl")
    )
    made: Dict[str, Callable[[], Any]] = {
        **{label: _MADE[label] for label in ("normal", "tanh", "truncated", "delta", "one_hot")},
        "plain": lambda: d.Normal(_PLACE, _SCALE),
        "own": lambda: _Own(_PLACE, _SCALE),
        "silent": lambda: _Silent(validate_args=False),
        "uniform": lambda: d.Uniform(_PLACE, _PLACE + 1.0),
        "rows": lambda: d.Independent(d.Normal(_PLACE, _SCALE), 1),
        "whole": lambda: d.Independent(d.Normal(_PLACE, _SCALE), 2),
        "logarithms": lambda: d.LogNormal(_PLACE, _SCALE),
    }
    calls: Dict[str, Any] = {
        label: partial(lambda tensor: str(entropy(tensor())), distribution)
        for label, distribution in made.items()
    }
    for first, left in made.items():
        for second, right in made.items():
            calls[f"{first}.{second}"] = partial(
                lambda make_left, make_right: str(divergence(make_left(), make_right())),
                left,
                right,
            )
    return answers(seed, **calls)


def _drawn_and_scored(make_env: Any, seed: int) -> Dict[str, Any]:
    """A draw with its score in one call, of one distribution and of several, summed or not."""
    both = library(_HELPERS, "sample_and_log_prob")
    entropy = library(_HELPERS, "composite_entropy")
    composite = library("tensordict.nn.distributions", "CompositeDistribution")
    summed = library("tensordict.nn", "set_composite_lp_aggregate")

    def several() -> Any:
        parameters = {"move": {"loc": _PLACE, "scale": _SCALE}, "turn": {"logits": _SCORES}}
        return composite(
            dictionary(
                {name: dictionary(parameter, (2,)) for name, parameter in parameters.items()}, (2,)
            ),
            distribution_map={
                "move": _modules("IndependentNormal"), "turn": _modules("OneHotCategorical")
            },
        )  # fmt: skip

    def outputs(make: Callable[[], Any], total: bool, *shape: int, **options: Any) -> Any:
        with summed(total):
            draw, score = both(make(), shape, **options)
        return {"draw": draw, "score": score}

    def disorder(total: bool) -> Any:
        with summed(total):
            return entropy(several())

    calls: Dict[str, Any] = {}
    for label in ("normal", "tanh", "truncated", "one_hot"):
        calls[label] = partial(outputs, _MADE[label], True)
        calls[f"{label}.several"] = partial(outputs, _MADE[label], True, 3)
    calls["moved"] = partial(outputs, _MADE["tanh"], True, reparameterize=True)
    for total in (True, False):
        calls[f"composite.{total}"] = partial(outputs, several, total)
        calls[f"entropy.{total}"] = partial(disorder, total)
    return answers(seed, **calls)


def _squashed(make_env: Any, seed: int) -> Dict[str, Any]:
    """Tanh and its inverse near the bounds, and their gradients."""
    given = torch.tensor([-12.0, -1.5, 0.0, 0.3, 9.0])
    within = torch.tensor([-1.0, -0.999, 0.0, 0.5, 1.0])

    def passed(name: str, numbers: torch.Tensor, *more: Any) -> Any:
        call = library(_HELPERS, name)
        inputs = numbers.clone().requires_grad_()
        output = call(inputs, *more)
        (output * torch.arange(1.0, 6.0)).sum().backward()
        return {"output": output.detach(), "gradient": inputs.grad}

    return answers(
        seed,
        tanh=lambda: passed("safetanh", given, 0.01),
        inverse=lambda: passed("safeatanh", within, 0.01),
        tanh_alone=lambda: passed("safetanh_noeps", given),
        inverse_alone=lambda: passed("safeatanh_noeps", within),
    )


API_CASES = {
    "questions-to-distributions": _questions,
    "known-entropies": _known,
    "drawn-and-scored": _drawn_and_scored,
    "squashed-numbers": _squashed,
}
