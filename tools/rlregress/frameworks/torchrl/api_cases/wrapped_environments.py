"""Environments of gymnasium, alone and in vectors, as TorchRL wraps them."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any, Dict, List

import gymnasium
import numpy as np
import torch
from gymnasium import spaces

from rlregress.frameworks.torchrl.api import GymWrapper
from rlregress.frameworks.torchrl.api_cases import refused
from rlregress.frameworks.torchrl.batch_factories import library, read, shape

_READ = (
    "observation", "action", ("next", "observation"), ("next", "reward"), ("next", "done"),
    ("next", "terminated"), ("next", "truncated"),
)  # fmt: skip


def _vector(make_env: Any, copies: int, **options: Any) -> Any:
    """A vector environment of gymnasium that ends its episodes at different steps."""
    makers = [partial(make_env, first=k, **options) for k in range(copies)]
    modes = getattr(gymnasium.vector, "AutoresetMode", None)
    if modes is None:
        return gymnasium.vector.SyncVectorEnv(makers)
    # the mode that TorchRL asks for since gymnasium 1.1
    return gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=modes.SAME_STEP)


def _finite(outputs: Dict[str, Any]) -> Dict[str, Any]:
    """Numbers, and beside them where they are none."""
    finite: Dict[str, Any] = {}
    for name, value in outputs.items():
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.isnan().any():
            finite[f"{name}.missing"] = value.isnan()
            value = torch.nan_to_num(value)
        finite[name] = value
    return finite


def _side_by_side(make_env: Any, seed: int) -> Dict[str, Any]:
    """Vector environments of one and of several, of numbers and of choices, over their ends."""

    def rolled(copies: int, count: int = 14, **options: Any) -> Any:
        environment = GymWrapper(_vector(make_env, copies, **options), device="cpu")
        environment.set_seed(seed)
        torch.manual_seed(seed)
        return environment.rollout(count, break_when_any_done=False)

    outputs: Dict[str, Any] = {}
    for label, copies, options in (
        ("several", 3, {}),
        ("one", 1, {}),
        ("choices", 3, {"discrete": True}),
        ("one-of-choices", 1, {"discrete": True}),
        ("integers", 3, {"observations": "integer"}),
    ):
        answer = refused(partial(rolled, copies, **options))
        outputs.update(read(label, answer, *_READ))
    return _finite(outputs)


def _unknown_ends(make_env: Any, seed: int) -> Dict[str, Any]:
    """The last observation of an episode of which a vector environment tells nothing."""
    transform = library("VecGymEnvTransform", "torchrl.envs", "torchrl.envs.transforms")
    transformed = library("TransformedEnv", "torchrl.envs")

    def rolled(observations: str) -> Any:
        inner = GymWrapper(_vector(make_env, 3, observations=observations), device="cpu")
        # under this name nothing stands
        environment = transformed(inner, transform(final_name="nothing"))
        environment.set_seed(seed)
        torch.manual_seed(seed)
        return environment.rollout(9, break_when_any_done=True)

    outputs: Dict[str, Any] = {}
    for kind in ("box", "integer"):
        answer = refused(partial(rolled, kind))
        outputs.update(read(kind, answer, ("next", "observation"), ("next", "done")))
    return _finite(outputs)


def _resets_of_a_vector(make_env: Any, seed: int) -> Dict[str, Any]:
    """A vector environment is reset at once, twice, and described."""
    environment = GymWrapper(_vector(make_env, 2), device="cpu")
    environment.set_seed(seed)
    outputs: Dict[str, Any] = {}
    for label in ("first", "second"):
        answer = refused(environment.reset)
        outputs.update(read(label, answer, "observation", "done"))
    for label in ("observation_spec", "reward_spec", "action_spec", "done_spec"):
        spec = refused(lambda label=label: getattr(environment, label))  # type: ignore[misc]
        outputs[label] = spec if isinstance(spec, str) else shape(spec.shape)
    return outputs


def _made_by_name(make_env: Any, seed: int) -> Dict[str, Any]:
    """Environments side by side that TorchRL makes of a name that is registered."""
    wrapper = library("GymEnv", "torchrl.envs", "torchrl.envs.libs.gym")
    name, order = "RowsOfEnds-v0", itertools.count()

    class InOneProcess(wrapper):  # type: ignore[misc, valid-type]
        """The same with a vector environment in this process."""

        def _async_env(self, makers: Any, **options: Any) -> Any:
            return gymnasium.vector.SyncVectorEnv(makers, **options)

    made: List[int] = []

    def entry(**options: Any) -> Any:
        made.append(next(order))
        return make_env(first=made[-1])

    gymnasium.register(id=name, entry_point=entry)

    def rolled() -> Any:
        environment = InOneProcess(name, num_envs=2, device="cpu")
        environment.set_seed(seed)
        torch.manual_seed(seed)
        return environment.rollout(12, break_when_any_done=False)

    try:
        outputs = read("rows", refused(rolled), *_READ)
    finally:
        del gymnasium.registry[name]
    return {**_finite(outputs), "made": len(made)}


class _Masked(gymnasium.ObservationWrapper):
    """Tells which combinations of actions are allowed."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        counts = tuple(int(n) for n in environment.action_space.nvec)
        self._mask = np.indices(counts).sum(0) % 2 == 0
        self.observation_space = spaces.Dict(
            {
                "observation": environment.observation_space,
                "action_mask": spaces.Box(0, 1, counts, np.bool_),
            }
        )

    def observation(self, observation: Any) -> Any:
        return {"observation": observation, "action_mask": self._mask}


def _masked_choices(make_env: Any, seed: int) -> Dict[str, Any]:
    """Two choices at once, with a mask over all combinations."""

    def made(**options: Any) -> Any:
        environment = GymWrapper(
            _Masked(make_env(actions="multi-discrete")), device="cpu", **options
        )
        environment.set_seed(seed)
        torch.manual_seed(seed)
        return environment

    def described(**options: Any) -> Any:
        spec = made(**options).action_spec
        return f"{type(spec).__name__} {shape(spec.shape)} {spec.dtype}"

    outputs: Dict[str, Any] = {}
    for label, options in (("one-hot", {}), ("categorical", {"categorical_action_encoding": True})):
        outputs[f"{label}.specification"] = refused(partial(described, **options))
        draws = refused(
            lambda options=options: torch.stack(  # type: ignore[misc]
                [made(**options).action_spec.rand() for _ in range(4)]
            )
        )
        outputs[f"{label}.draws"] = draws
        rolled = refused(lambda options=options: made(**options).rollout(4))  # type: ignore[misc]
        outputs.update(read(label, rolled, "action", ("next", "reward")))
    return outputs


class _Counted(gymnasium.Wrapper):
    """Counts resets and tells of each step how many there were."""

    resets = 0

    def reset(self, **options: Any) -> Any:
        self.resets += 1
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return (
            observation,
            reward,
            terminated,
            truncated,
            {"resets": np.array(self.resets, np.float32)},
        )


def _wrapped(make_env: Any, seed: int) -> Dict[str, Any]:
    """How often an environment is reset when it is wrapped, seeded and reset."""
    counted = _Counted(make_env())
    environment = GymWrapper(counted, device="cpu")
    observed = [counted.resets]
    environment.set_seed(seed)
    observed.append(counted.resets)
    first = environment.reset()
    observed.append(counted.resets)
    return {"resets": torch.tensor(observed), **read("first", first, "observation")}


def _information(make_env: Any, seed: int) -> Dict[str, Any]:
    """Readers of what steps tell beside; further environments are made after they are set."""
    reader = library("default_info_dict_reader", "torchrl.envs")
    first = GymWrapper(_Counted(make_env()), device="cpu")
    first.set_info_dict_reader(reader(["resets"]))
    second = GymWrapper(_Counted(make_env()), device="cpu")

    def stepped(environment: Any) -> Any:
        steps = []
        for _ in range(2):
            begun = environment.reset()
            begun["action"] = torch.zeros(2)
            steps.append(environment.step(begun))
        return torch.stack(steps)

    keys = ("resets", ("next", "resets"))
    return _finite(
        {
            **read("first", refused(partial(stepped, first)), *keys),
            **read("second", refused(partial(stepped, second)), *keys),
        }
    )


def _seeds(make_env: Any, seed: int) -> Dict[str, Any]:
    """What the seed of an environment does to the next draws of PyTorch and of the environment."""
    outputs: Dict[str, Any] = {}
    for given in (seed, seed + 1):
        torch.manual_seed(7)
        environment = GymWrapper(make_env(), device="cpu")
        returned = environment.set_seed(given)
        outputs[f"{given}.told"] = -1 if returned is None else int(returned)
        outputs[f"{given}.draw"] = torch.rand(3)
        outputs.update(read(str(given), environment.reset(), "observation"))
    return outputs


API_CASES = {
    "side-by-side": _side_by_side,
    "unknown-ends": _unknown_ends,
    "resets-of-a-vector": _resets_of_a_vector,
    "made-by-name": _made_by_name,
    "masked-specifications": _masked_choices,
    "wrapped-environment": _wrapped,
    "read-information": _information,
    "seeds-of-environments": _seeds,
}
