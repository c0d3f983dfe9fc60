"""Short uses of TorchRL's buffers, schedules, noise and networks, whose options are changed.

What a training takes for granted is done here on purpose: rows that are added one by one, passes
over a buffer, a state in another buffer, a network in evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from typing import Any

import torch

from rlregress.frameworks.torchrl.api import (
    Categorical,
    LazyTensorStorage,
    OneHot,
    SamplerWithoutReplacement,
    TensorDict,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.compat import (
    call_with_newest_keywords,
    find_action_spec,
    find_in_library,
)
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.probing.interface import TraceTraining

_MODELS = "torchrl.modules.models"
#: steps of a rollout.
_ROWS = 20

# -- buffers ----------------------------------------------------------------------------------


def _collect_episodes(make_env: Callable[..., Any], seed: int) -> Any:
    """Return steps of episodes that end in every way, one after the other."""
    environment = wrap_environment(make_env())
    environment.set_seed(seed)
    steps = environment.rollout(_ROWS, break_when_any_done=False)
    ends = steps["next", "done"].squeeze(-1).long()
    # the number of its episode, by which samplers tell trajectories apart
    return steps.set("episode", ends.cumsum(0) - ends)


def _fill_and_sample_buffer(
    make_env: Callable[..., Any],
    seed: int,
    kind: str = "TensorDictReplayBuffer",
    storage: str = "LazyTensorStorage",
    sampler: Callable[[], Any] | None = None,
    size: int = 13,
    **options: Any,
) -> dict[str, Any]:
    """Add rows, sample, go over all rows, and continue in a buffer that loads the state."""
    steps = _collect_episodes(make_env, seed)

    def make_buffer() -> Any:
        own = {"sampler": sampler()} if sampler is not None else {}
        return call_with_newest_keywords(
            find_in_library("torchrl.data", kind),
            storage=find_in_library("torchrl.data", storage)(size),
            batch_size=4, **own, **options,
        )  # fmt: skip

    torch.manual_seed(seed)
    buffer, restored = make_buffer(), make_buffer()
    outputs: dict[str, Any] = {"added": [buffer.add(row) for row in steps[:3].unbind(0)]}
    for number, rows in enumerate((steps[3:8], steps[8:])):
        # the second one wraps around
        outputs[f"extended {number}"] = buffer.extend(rows)
        outputs[f"sampled {number}"] = [buffer.sample() for _ in range(2)]
    outputs["passes"] = [list(islice(buffer, 5)) for _ in range(2)]
    restored.load_state_dict(buffer.state_dict())
    outputs["restored"] = restored.sample()
    restored.extend(steps[:2])
    return {**outputs, "content": restored[:]}


def _sample_ensemble(make_env: Callable[..., Any], seed: int, **options: Any) -> dict[str, Any]:
    """Sample from an ensemble of buffers."""
    members = []
    for number in range(3):
        members.append(TensorDictReplayBuffer(storage=LazyTensorStorage(_ROWS), batch_size=4))
        members[-1].extend(_collect_episodes(make_env, seed + number))
    torch.manual_seed(seed)
    kind = find_in_library("torchrl.data", "ReplayBufferEnsemble")
    ensemble = kind(*members, num_buffer_sampled=4, batch_size=12, **options)
    return {"samples": [ensemble.sample() for _ in range(2)]}


def _step_buffer_scheduler(
    make_env: Callable[..., Any], seed: int, kind: str, **options: Any
) -> dict[str, Any]:
    """Step a scheduler of a sampler's setting, then another scheduler that loads its state."""
    del make_env, seed
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(4), batch_size=2)
    schedule = find_in_library("torchrl.data.replay_buffers.scheduler", kind)
    # any attribute of a sampler can follow one
    buffer.sampler.beta = 0.5
    first, second = (schedule(buffer, param_name="beta", **options) for _ in range(2))
    values = []
    for _ in range(4):
        first.step()
        values.append(float(buffer.sampler.beta))
    state = first.state_dict()
    second.load_state_dict(state)
    second.step()
    return {"values": [*values, float(buffer.sampler.beta)], "state": state}


def _make_slice_sampler(**options: Any) -> Any:
    """Return a sampler of parts of trajectories."""
    return call_with_newest_keywords(find_in_library("torchrl.data", "SliceSampler"), **options)


def make_buffer_trainings() -> dict[str, TraceTraining]:
    """Return trainings that use buffers, samplers, and schedules of their settings, by title."""
    in_order = partial(SamplerWithoutReplacement, shuffle=False)
    by_episode = partial(_make_slice_sampler, traj_key="episode")
    kinds: dict[str, dict[str, Any]] = {
        "TensorDictReplayBuffer": {}, "in order": {"sampler": in_order},
        "fetched before": {"prefetch": 1, "sampler": in_order},
        "slices": {"sampler": partial(by_episode, num_slices=2, strict_length=False)},
        "slices that span": {"sampler": partial(by_episode, slice_len=2, span=(True, False))},
        "slices to ends": {
            "size": 40,
            "sampler": partial(_make_slice_sampler, slice_len=2, end_key=("next", "done"))},
        "ReplayBuffer": {"kind": "ReplayBuffer"},
        "ReplayBuffer of a list": {
            "kind": "ReplayBuffer", "storage": "ListStorage", "collate_fn": torch.stack},
    }  # fmt: skip
    schedules: dict[str, dict[str, Any]] = {
        "LambdaScheduler": {"lambda_fn": lambda n: 1.0 - 0.4 * n, "min_value": 0.0},
        "LinearScheduler": {"final_value": 2.0, "num_steps": 3},
        "StepScheduler": {"gamma": 0.5, "n_steps": 2, "max_value": 1.0},
    }
    return {
        **{name: partial(_fill_and_sample_buffer, **options) for name, options in kinds.items()},
        "ensemble": _sample_ensemble,
        "ensemble by chance": partial(_sample_ensemble, p=[0.2, 0.5, 0.3]),
        **{name: partial(_step_buffer_scheduler, kind=name, **options)
           for name, options in schedules.items()},
    }  # fmt: skip


# -- noise and networks -----------------------------------------------------------------------


def _apply_exploration_module(
    make_env: Callable[..., Any],
    seed: int,
    kind: str,
    choices: str = "",
    action_key: Any = "action",
    late: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Explore from stored actions, many at once and a single one, while the noise falls.

    Args:
        choices: what actions are numbers or one-hot vectors of; empty: of continuous ones.
        late: the module gets the bounds of actions after it is made.
    """
    steps = _collect_episodes(make_env, seed)
    steps["is_init"] = steps["next", "done"].roll(1, 0)
    torch.manual_seed(seed)
    kinds: dict[str, Any] = {"one hot": OneHot, "number": Categorical}
    if choices:
        spec, numbers = kinds[choices](4), torch.arange(_ROWS) % 4
        steps["action"] = torch.eye(4, dtype=spec.dtype)[numbers] if spec.shape else numbers
        steps["action_mask"] = torch.arange(4 * _ROWS).reshape(_ROWS, 4) % 3 > 0
    else:
        spec = find_action_spec(wrap_environment(make_env()))
    steps[action_key] = steps["action"]
    noise = call_with_newest_keywords(
        find_in_library("torchrl.modules", kind), spec=None if late else spec,
        action_key=action_key, **options,
    )  # fmt: skip
    if late:
        noise.spec = spec
    outputs = {}
    for turn in range(3):
        outputs[f"rows {turn}"] = noise(steps.clone())[action_key]
        outputs[f"one {turn}"] = noise(steps[turn].clone())[action_key]
        noise.step(2)
    return {**outputs, "state": noise}


def _run_network(
    make_env: Callable[..., Any],
    seed: int,
    kind: str,
    shape: tuple[int, ...],
    layer: str = "",
    **options: Any,
) -> dict[str, Any]:
    """Run a network forward and backward, in training mode and in evaluation mode."""
    del make_env
    torch.manual_seed(seed)
    layers = {"layer_class": find_in_library(_MODELS, layer)} if layer else {}
    network = call_with_newest_keywords(find_in_library(_MODELS, kind), **layers, **options)
    numbers = torch.rand(5, *shape)
    network(numbers)
    results = network(numbers)
    sum(item.sum() for item in (results if isinstance(results, tuple) else (results,))).backward()
    gradients = {name: parameter.grad for name, parameter in network.named_parameters()}
    after_draws = []
    for name in ("reset_noise", "reset_parameters"):
        if hasattr(network, name):
            getattr(network, name)()
            after_draws.append(network(numbers))
    network.eval()
    later = network(numbers)
    return {"results": results, "gradients": gradients, "drawn": after_draws, "later": later}


def _draw_actions_of_safe_module(
    make_env: Callable[..., Any], seed: int, safe: bool
) -> dict[str, Any]:
    """Draw actions of ``SafeProbabilisticModule``, projected into their bounds if ``safe``."""
    steps = _collect_episodes(make_env, seed)
    spec = find_action_spec(wrap_environment(make_env()))
    numbers = {"loc": 3 * steps["observation"][..., :2], "scale": torch.ones(_ROWS, 2)}
    torch.manual_seed(seed)
    actor = find_in_library("torchrl.modules", "SafeProbabilisticModule")(
        spec=spec, in_keys=["loc", "scale"], out_keys=["action"], safe=safe,
        distribution_class=torch.distributions.Normal,
    )  # fmt: skip
    actions = actor(TensorDict(numbers, [_ROWS]))
    policy = find_in_library("torchrl.modules.tensordict_module.exploration", "RandomPolicy")(spec)
    empty = partial(TensorDict, {}, [])
    outputs = {"drawn": actions, "random": actor.random(empty()), "policy": policy(empty())}
    policy.set_action_spec_from_env(wrap_environment(make_env(actions="discrete")))
    return {**outputs, "policy later": policy(empty())}


#: network -> the shape of what it takes, and its arguments.
_NETWORKS: Mapping[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "MLP": ((3,), {"in_features": 3, "out_features": 2, "num_cells": [4, 4]}),
    "MLP of noisy layers": ((3,), {"in_features": 3, "out_features": 2, "num_cells": [4],
                                   "dropout": 0.5, "layer": "NoisyLinear"}),
    "ConvNet": ((2, 9, 9), {"in_features": 2, "num_cells": [3, 3], "kernel_sizes": 3}),
    "NoisyLinear": ((3,), {"in_features": 3, "out_features": 2}),
    "NoisyLazyLinear": ((3,), {"out_features": 2}),
    "DuelingMlpDQNet": ((3,), {
        "out_features": 4, "mlp_kwargs_feature": {"num_cells": [6], "out_features": 5},
        "mlp_kwargs_output": {"num_cells": 4, "depth": 1}}),
    "DdpgMlpActor": ((3,), {"action_dim": 2, "mlp_net_kwargs": {"num_cells": [4], "depth": 1}}),
}  # fmt: skip


def make_network_trainings() -> dict[str, TraceTraining]:
    """Return trainings that only call networks, and draw actions, in their bounds or not."""
    passes = {
        name: partial(_run_network, kind=name.partition(" ")[0], shape=shape, **options)
        for name, (shape, options) in _NETWORKS.items()
    }
    return {
        **passes,
        "actions": partial(_draw_actions_of_safe_module, safe=False),
        "safe": partial(_draw_actions_of_safe_module, safe=True),
    }


def make_noise_trainings() -> dict[str, TraceTraining]:
    """Return trainings that use each exploration module, by title."""
    falling: dict[str, Any] = {"annealing_num_steps": 7}
    of_agent: dict[str, Any] = {"action_key": ("agent", "action"), **falling}
    kinds: dict[str, dict[str, Any]] = {
        "AdditiveGaussianModule": falling,
        "AdditiveGaussianModule of an agent": of_agent,
        "AdditiveGaussianModule with late bounds": {"late": True, **falling},
        "OrnsteinUhlenbeckProcessModule": falling,
        "OrnsteinUhlenbeckProcessModule of an agent": of_agent,
        "EGreedyModule of an agent": {"choices": "one hot", "eps_init": 0.9, **of_agent},
        "EGreedyModule": {"choices": "one hot", "eps_init": 0.9, **falling},
        "EGreedyModule of numbers": {"choices": "number", "eps_init": 0.9, **falling},
        "EGreedyModule with a mask": {"choices": "one hot", "action_mask_key": "action_mask"},
    }
    return {
        name: partial(_apply_exploration_module, kind=name.partition(" ")[0], **options)
        for name, options in kinds.items()
    }
