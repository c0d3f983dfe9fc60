"""The catalogue of implementation details: questions, inputs and the possible answers.

A detail is a question about an implementation ("is the critic loss halved?"). Every probe receives
its ``inputs``. ``observed`` defines the float vector that a probe returns. Its variants are the
known answers, each with a float64 formula of the same inputs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from rlregress.errors import UserError, suggest_names
from rlregress.model.detail_answers import CatalogueEntry, NamedVariant

#: name -> float64 array, float, int or str.
Inputs = Mapping[str, Any]
#: inputs -> expected vector, or a number for a vector of one.
Formula = Callable[[Inputs], Any]

#: relative error of a few float32 operations
FLOAT32_TOLERANCE = 1e-5
#: every other variant must be at least this many tolerances away
MARGIN = 20.0

#: families that only some algorithms use although their names do not say so -> these algorithms
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
    """One possible behaviour of a detail, with the formula of its expected numbers.

    Attributes:
        formula: inputs -> expected vector (or a number), of the shape that the detail defines.
    """

    formula: Formula


@dataclass(frozen=True, kw_only=True)
class Detail(CatalogueEntry):
    """One implementation detail: its inputs, and the expected numbers of every variant.

    Attributes:
        tolerance: largest scaled error (see ``judge.compute_scaled_error``) of a match. The default
            comes from float32; a stochastic detail states its own, for its number of samples.
        margin: other variants have to be this many tolerances away.
        scales: the unit of the error of each component, [k]; empty: the largest absolute
            expectation of any variant (1 where all expect 0).
    """

    variants: Mapping[str, Variant]
    tolerance: float = FLOAT32_TOLERANCE
    margin: float = MARGIN
    scales: tuple[float, ...] = ()

    def make_error_scales(self) -> np.ndarray:
        """Return the scale by which the error of each component is divided, float64 [k]."""
        if self.scales:
            return np.array(self.scales, dtype=np.float64)
        largest = np.max(np.abs(np.stack(list(self.compute_expected_vectors().values()))), axis=0)
        return np.where(largest > 0.0, largest, 1.0)

    def compute_expected_vectors(self) -> dict[str, np.ndarray]:
        """Return the expected vector of every variant, float64 [k]."""
        return {
            name: np.atleast_1d(np.asarray(variant.formula(self.inputs), dtype=np.float64))
            for name, variant in self.variants.items()
        }

    def copy_inputs(self) -> dict[str, Any]:
        """Return inputs with writable copies of the arrays, so that no probe affects another."""
        return {
            key: value.copy() if isinstance(value, np.ndarray) else value
            for key, value in self.inputs.items()
        }


def make_constant_formula(*numbers: float) -> Formula:
    """Return a formula whose numbers do not depend on the inputs."""
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
    """Build a detail from literals: lists become read-only float64 arrays."""
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
    variants_by_name = {
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
        variants=MappingProxyType(variants_by_name),
        observed=" ".join(observed.split()),
        tolerance=tolerance,
        margin=margin,
        scales=scales,
    )


@cache
def _load_details_by_id() -> Mapping[str, Detail]:
    details: dict[str, Detail] = {}
    for module in MODULES:
        for detail in importlib.import_module(f"rlregress.catalogue.{module}").DETAILS:
            if detail.id in details:
                raise ValueError(f"the catalogue holds '{detail.id}' twice")
            details[detail.id] = detail
    return MappingProxyType(details)


def list_detail_ids() -> Collection[str]:
    """Return the id of every detail in the catalogue."""
    return _load_details_by_id().keys()


def list_details() -> tuple[Detail, ...]:
    """Return every detail of the catalogue, family by family."""
    return tuple(_load_details_by_id().values())


def list_details_of_family(name: str) -> tuple[Detail, ...]:
    """Return the details whose ids begin with ``name`` and a point."""
    return tuple(detail for detail in list_details() if detail.id.startswith(f"{name}."))


def search_details(phrase: str) -> tuple[Detail, ...]:
    """Return the details that contain ``phrase``, ignoring case; none for an empty string."""
    needle = phrase.casefold()
    return tuple(
        d for d in list_details() if needle and needle in _join_text_of_detail(d).casefold()
    )


def _join_text_of_detail(detail: Detail) -> str:
    variants = (text for v in detail.variants.values() for text in (v.name, v.meaning))
    texts = (detail.id, detail.question, detail.consequence, *detail.sources, *variants)
    return "\n".join(texts)


def get_detail(id: str) -> Detail:
    """Return the detail called ``id``; UserError with the nearest names if there is none."""
    try:
        return _load_details_by_id()[id]
    except KeyError:
        raise UserError(
            f"unknown detail '{id}'; {suggest_names(id, _load_details_by_id())} "
            "(rlregress details lists the families)"
        ) from None
