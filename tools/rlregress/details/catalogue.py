"""The catalogue of implementation details: what is asked, with which inputs, and what may come out.

A detail is a question about an implementation ("is the critic loss halved?"). Its ``inputs`` are
what every probe receives, whatever the framework; ``observed`` defines the float vector that the
probe returns; its variants are the known answers, each with a float64 formula of the same inputs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from rlregress.errors import UserError, nearest
from rlregress.model.detail_answers import Entry, NamedVariant

#: name -> float64 array, float, int or str.
Inputs = Mapping[str, Any]
#: inputs -> expected vector, or a number for a vector of one.
Formula = Callable[[Inputs], Any]

#: relative error that float32 arithmetic of a few operations explains.
FLOAT32_TOLERANCE = 1e-5
#: every variant but the one found has to be at least this many tolerances away.
MARGIN = 20.0

#: family that is not named after an algorithm -> the algorithms that use it, where not all may.
USERS: Mapping[str, frozenset[str] | set[str]] = {
    "advantage": {"ppo"}, "atari": {"dqn", "ppo"}, "crossq": {"sac"}, "gae": {"ppo"},
    "maskable": {"ppo"}, "qrdqn": {"dqn"}, "tqc": {"sac"}, "trpo": {"ppo"},
}  # fmt: skip

#: the modules of this package that hold entries, in the order of the table that users see.
MODULES = (
    "sac",
    "sac_loop",
    "td3",
    "td3_loop",
    "dqn",
    "ddpg",
    "ppo",
    "ppo_loop",
    "ppo_schedules",
    "ppo_networks",
    "gae",
    "quantiles",
    "trpo",
    "maskable",
    "ars",
    "crossq",
    "adaptive",
    "recurrent",
    "symmetry",
    "curiosity",
    "distillation",
    "parameters",
    "normalisation",
    "normalisation_reward",
    "normalisation_use",
    "normalisation_traps",
    "normaliser",
    "atari",
    "replay",
    "traps",
)


@dataclass(frozen=True, kw_only=True)
class Variant(NamedVariant):
    """One way to do it.

    Attributes:
        formula: inputs -> expected vector (or a number), of the shape that the detail defines.
    """

    formula: Formula


@dataclass(frozen=True, kw_only=True)
class Detail(Entry):
    """One implementation detail, with what judges an answer.

    Attributes:
        tolerance: largest scaled error (see ``judge.scaled_error``) of a match. The default comes
            from float32; a stochastic detail states its own, for its number of samples.
        margin: other variants have to be this many tolerances away.
        scales: the unit of the error of each component, [k]; empty: the largest absolute
            expectation of any variant (1 where all expect 0).
    """

    variants: Mapping[str, Variant]
    tolerance: float = FLOAT32_TOLERANCE
    margin: float = MARGIN
    scales: tuple[float, ...] = ()

    def error_scales(self) -> np.ndarray:
        """The unit of the error of each component, float64 [k]."""
        if self.scales:
            return np.array(self.scales, dtype=np.float64)
        largest = np.max(np.abs(np.stack(list(self.expected().values()))), axis=0)
        return np.where(largest > 0.0, largest, 1.0)

    def expected(self) -> dict[str, np.ndarray]:
        """Expected vector of every variant, float64 [k]."""
        return {
            name: np.atleast_1d(np.asarray(variant.formula(self.inputs), dtype=np.float64))
            for name, variant in self.variants.items()
        }

    def copy_inputs(self) -> dict[str, Any]:
        """Inputs with writable copies of the arrays: no probe can change what another one sees."""
        return {
            key: value.copy() if isinstance(value, np.ndarray) else value
            for key, value in self.inputs.items()
        }


def always(*numbers: float) -> Formula:
    """A formula whose numbers do not depend on the inputs."""
    return lambda i: numbers


def make_detail(
    id: str,
    question: str,
    observed: str,
    sources: tuple[str, ...],
    inputs: Mapping[str, Any],
    variants: Mapping[str, tuple[str, Formula]],
    tolerance: float = FLOAT32_TOLERANCE,
    margin: float = MARGIN,
    scales: tuple[float, ...] = (),
    consequence: str = "",
) -> Detail:
    """A detail out of literals: lists become read-only float64 arrays."""
    frozen: dict[str, Any] = {}
    for key, value in inputs.items():
        if isinstance(value, (list, np.ndarray)):
            array = np.array(value, dtype=np.float64)
            array.setflags(write=False)
            frozen[key] = array
        elif isinstance(value, (float, int, str)):
            frozen[key] = value
        else:
            raise TypeError(f"{id}: input '{key}' is {type(value).__name__}, expected a literal")
    made = {
        name: Variant(name=name, meaning=meaning, formula=formula)
        for name, (meaning, formula) in variants.items()
    }
    return Detail(
        id=id,
        family=id.partition(".")[0],
        question=question,
        consequence=" ".join(consequence.split()),
        sources=sources,
        inputs=MappingProxyType(frozen),
        variants=MappingProxyType(made),
        observed=" ".join(observed.split()),
        tolerance=tolerance,
        margin=margin,
        scales=scales,
    )


@cache
def _by_id() -> Mapping[str, Detail]:
    details: dict[str, Detail] = {}
    for module in MODULES:
        for detail in importlib.import_module(f"rlregress.details.{module}").DETAILS:
            if detail.id in details:
                raise ValueError(f"the catalogue holds '{detail.id}' twice")
            details[detail.id] = detail
    return MappingProxyType(details)


def ids() -> Collection[str]:
    """The id of every entry."""
    return _by_id().keys()


def all_details() -> tuple[Detail, ...]:
    """Every entry, family by family."""
    return tuple(_by_id().values())


def of_family(name: str) -> tuple[Detail, ...]:
    """The entries whose ids begin with ``name`` and a point: of "sac", or of "sac.critic_loss"."""
    return tuple(detail for detail in all_details() if detail.id.startswith(f"{name}."))


def naming(words: str) -> tuple[Detail, ...]:
    """The entries whose id, question, consequence, sources or variants hold ``words``, in any case.

    None for an empty string.
    """
    wanted = words.casefold()
    return tuple(d for d in all_details() if wanted and wanted in _text(d).casefold())


def _text(detail: Detail) -> str:
    variants = (text for v in detail.variants.values() for text in (v.name, v.meaning))
    texts = (detail.id, detail.question, detail.consequence, *detail.sources, *variants)
    return "\n".join(texts)


def get(id: str) -> Detail:
    """The entry called ``id``; UserError with the nearest names if there is none."""
    try:
        return _by_id()[id]
    except KeyError:
        raise UserError(
            f"unknown detail '{id}'; {nearest(id, _by_id())} (rlregress details lists the families)"
        ) from None
