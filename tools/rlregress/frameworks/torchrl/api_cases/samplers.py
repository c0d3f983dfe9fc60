"""Samplers of slices, of several buffers, by priority, and schedules of their parameters."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict

import torch

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.torchrl.api_cases import refused
from rlregress.frameworks.torchrl.batch_factories import library, read, steps

_SAMPLERS = (
    "torchrl.data.replay_buffers.samplers",
    "torchrl.data.replay_buffers",
    "torchrl.data",
)
_READ = (
    "observation", "is_init", "index", ("next", "done"), ("next", "terminated"),
    ("next", "truncated"),
)  # fmt: skip


def _sliced(rows: Any, size: int, batch_size: int, **options: Any) -> Any:
    """A sample of slices of what is left of rows in a storage."""
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

    buffer = TensorDictReplayBuffer(
        storage=LazyTensorStorage(size),
        sampler=library("SliceSampler", *_SAMPLERS)(**options),
        batch_size=batch_size,
    )
    # two calls: the second one wraps where the storage is smaller
    buffer.extend(rows[: len(rows) // 2])
    buffer.extend(rows[len(rows) // 2 :])
    return buffer.sample()


def _each(seed: int, calls: Dict[str, Callable[[], Any]]) -> Dict[str, Any]:
    """What samples hold, each drawn from the same seed."""
    outputs: Dict[str, Any] = {}
    for label, call in calls.items():
        torch.manual_seed(seed)
        outputs.update(read(label, refused(call), *_READ))
    return outputs


def _slices_of_trajectories(make_env: Any, seed: int) -> Dict[str, Any]:
    """Slices by default keys, by episodes and by ends; all three say something else."""
    rows = steps("...t....l.....t......")
    collected = rows.clone()
    collected["collector"] = {"traj_ids": torch.arange(len(rows)) // 7}
    run = rows.clone()
    run["run"] = torch.arange(len(rows)) // 6
    without = rows.exclude("episode")
    sampled = partial(_sliced, size=40, batch_size=12, num_slices=4)
    return _each(
        seed,
        {
            "default": partial(sampled, rows),
            "collected": partial(sampled, collected),
            "run": partial(sampled, run.exclude("episode")),
            "ends": partial(sampled, without, end_key=("next", "done")),
            "episodes": partial(sampled, rows, traj_key="episode"),
        },
    )


def _slices_of_a_ring(make_env: Any, seed: int) -> Dict[str, Any]:
    """Slices of a storage that has wrapped in the middle of a trajectory, with a short one."""
    rows = steps("....t..l.t......t.........")
    sampled = partial(_sliced, rows, size=17, batch_size=12)
    return _each(
        seed,
        {
            "episodes": partial(sampled, slice_len=3, traj_key="episode"),
            "ends": partial(sampled, slice_len=3, end_key=("next", "done")),
            "longer": partial(sampled, slice_len=4, traj_key="episode"),
            "shorter": partial(sampled, slice_len=4, traj_key="episode", strict_length=False),
        },
    )


def _slices_over_edges(make_env: Any, seed: int) -> Dict[str, Any]:
    """Slices that begin before or end after their trajectories."""
    rows = steps("....t..l.t......t.........")
    sampled = partial(_sliced, rows, size=40, batch_size=12, traj_key="episode")
    if "span" not in library("SliceSampler", *_SAMPLERS).__init__.__code__.co_varnames:
        raise Unsupported("SliceSampler takes no span")
    return _each(
        seed,
        {
            "both": partial(sampled, slice_len=3, span=True),
            "before": partial(sampled, slice_len=3, span=(True, False)),
            "after": partial(sampled, slice_len=3, span=(False, True)),
            "some": partial(sampled, slice_len=3, span=2),
            "numbered": partial(sampled, num_slices=4, span=True),
        },
    )


def _several_buffers(make_env: Any, seed: int) -> Dict[str, Any]:
    """Samples of an ensemble, whose members are chosen evenly and by probabilities."""
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

    ensemble = library("ReplayBufferEnsemble", "torchrl.data")

    def sample(**options: Any) -> Any:
        members = []
        for k in range(3):
            member = TensorDictReplayBuffer(storage=LazyTensorStorage(10), batch_size=4)
            member.extend(steps("....t.....", first=10 * k))
            members.append(member)
        return ensemble(*members, num_buffer_sampled=4, batch_size=12, **options).sample()

    outputs: Dict[str, Any] = {}
    for label, options in (("evenly", {}), ("by-probability", {"p": [0.2, 0.5, 0.3]})):
        torch.manual_seed(seed)
        outputs.update(read(label, refused(partial(sample, **options)), "observation"))
        outputs[f"{label}.next-draw"] = torch.rand(2)
    return outputs


def _schedule_bounds(make_env: Any, seed: int) -> Dict[str, Any]:
    """Schedules of a parameter that leave their bounds of zero and of one."""
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

    scheduler = library("LambdaScheduler", "torchrl.data.replay_buffers.scheduler")

    def scheduled(start: float, factor: Callable[[int], float], **bounds: float) -> Any:
        buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(4), batch_size=2)
        # any attribute of a sampler can follow a schedule
        buffer.sampler.beta = start
        schedule = scheduler(buffer, param_name="beta", lambda_fn=factor, **bounds)
        recorded = []
        for _ in range(4):
            schedule.step()
            recorded.append(float(buffer.sampler.beta))
        return torch.tensor(recorded)

    return {
        "least-zero": refused(partial(scheduled, 0.5, lambda n: 1.0 - 0.6 * n, min_value=0)),
        "most-zero": refused(partial(scheduled, -0.5, lambda n: 1.0 - 0.6 * n, max_value=0)),
        "most-one": refused(partial(scheduled, 0.5, lambda n: 1.0 + 0.6 * n, max_value=1)),
    }


def _without_repetition(make_env: Any, seed: int) -> Dict[str, Any]:
    """Two passes over a buffer, where what it holds is no multiple of a batch."""
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

    sampler = library("SamplerWithoutReplacement", *_SAMPLERS)

    def passes(**options: Any) -> Any:
        buffer = TensorDictReplayBuffer(
            storage=LazyTensorStorage(10), sampler=sampler(**options), batch_size=4
        )
        buffer.extend(steps("....t....."))
        samples = [buffer.sample()["observation"].flatten() for _ in range(5)]
        return torch.cat([torch.tensor([len(sample) for sample in samples]).float(), *samples])

    return {
        "shuffled": refused(passes),
        "in-order": refused(partial(passes, shuffle=False)),
        "last-dropped": refused(partial(passes, drop_last=True)),
    }


API_CASES = {
    "slices-of-trajectories": _slices_of_trajectories,
    "slices-of-a-ring": _slices_of_a_ring,
    "slices-over-edges": _slices_over_edges,
    "several-buffers": _several_buffers,
    "schedule-bounds": _schedule_bounds,
    "without-repetition": _without_repetition,
}
