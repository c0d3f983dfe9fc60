"""The environments of a traced training: copies in TorchRL's transforms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from rlregress.frameworks.torchrl.api import Compose, TransformedEnv
from rlregress.frameworks.torchrl.compat import find_in_library
from rlregress.frameworks.torchrl.scripted_environments import put_side_by_side, wrap_environment
from rlregress.probing.trace_trainings import LazyValue

_OBSERVATION = ["observation"]


def make_lazy_transform(kind: str, **options: Any) -> LazyValue:
    """Return a transform of the class ``kind`` that is made only when a training calls it."""

    def make_transform() -> Any:
        return find_in_library("torchrl.envs", kind)(**options)

    return LazyValue(make_transform)


def make_lazy_float_conversion(key: str) -> LazyValue:
    """Return a transform that converts the integers of an entry to float32."""
    kinds = {"dtype_in": torch.int64, "dtype_out": torch.float32}
    return make_lazy_transform("DTypeCastTransform", **kinds, in_keys=[key])


VECNORM = make_lazy_transform("VecNorm", in_keys=_OBSERVATION, decay=0.9)
#: observations -> what they need before a network takes them.
_NEEDED: Mapping[str, Sequence[LazyValue]] = {
    "float64": [make_lazy_transform("DoubleToFloat", in_keys=_OBSERVATION)],
    "integer": [make_lazy_float_conversion("observation")],
    "image": [make_lazy_transform("ToTensorImage", in_keys=_OBSERVATION)],
    "dict": [
        make_lazy_float_conversion("mode"),
        # a dictionary's first vector is called so by the wrapper of gymnasium
        make_lazy_transform(
            "CatTensors", in_keys=["mode", "observation"], out_key="observation", del_keys=False
        ),
    ],
}


@dataclass(frozen=True)
class Environments:
    """Environments side by side, and their transforms.

    Attributes:
        copies: how many; their episodes end at different steps.
        actions, observations: spaces, as ``rlregress.probing.toys.MixedEndsEnv`` takes them.
        transforms: behind those that the observations need.
    """

    copies: int = 1
    actions: str = "box"
    observations: str = "box"
    transforms: Sequence[LazyValue] = ()

    def make_environments(self, make_env: Callable[..., Any], seed: int) -> Any:
        """Make the environments, with their transforms, and seed them."""
        makers = [partial(self._wrap_one_environment, make_env, k) for k in range(self.copies)]
        environment = put_side_by_side(makers)
        transforms = [make() for make in (*_NEEDED.get(self.observations, ()), *self.transforms)]
        if transforms:
            dimensions = tuple(range(len(environment.batch_size) + 1))
            environment = TransformedEnv(environment, Compose(*transforms))
            for transform_made in transforms:
                if type(transform_made).__name__ == "ObservationNorm":
                    transform_made.init_stats(20, reduce_dim=dimensions, cat_dim=dimensions[-1])
        environment.set_seed(seed)
        return environment

    def _wrap_one_environment(self, make_env: Callable[..., Any], first: int) -> Any:
        return wrap_environment(
            make_env(first=first, actions=self.actions, observations=self.observations)
        )
