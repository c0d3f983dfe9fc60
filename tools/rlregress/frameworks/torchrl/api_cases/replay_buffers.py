"""Replay buffers: what they store, prefetch, save and load."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any, Dict, List

import torch

from rlregress.frameworks.torchrl.api_cases import refused
from rlregress.frameworks.torchrl.batch_factories import library, names, read, shape, steps

_SAMPLERS = ("torchrl.data.replay_buffers.samplers", "torchrl.data.replay_buffers")


def _buffer(size: int, batch_size: int, **options: Any) -> Any:
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

    return TensorDictReplayBuffer(storage=LazyTensorStorage(size), batch_size=batch_size, **options)


def _settled(buffer: Any) -> None:
    """Wait for what is prefetched in a thread, so that nothing is drawn meanwhile."""
    for future in list(getattr(buffer, "_prefetch_queue", ())):
        future.result()


def _prefetched_samples(make_env: Any, seed: int) -> Dict[str, Any]:
    """A buffer that prefetches, filled further between samples."""
    buffer = _buffer(24, 4, prefetch=1)
    recorded: List[Any] = []
    for k in range(4):
        buffer.extend(steps("...t", first=10 * k))
        recorded.append(buffer.sample()["observation"].flatten().clone())
        _settled(buffer)
    return {"filled": torch.stack(recorded)}


def _prefetched_passes(make_env: Any, seed: int) -> Dict[str, Any]:
    """Two passes over a buffer that prefetches one batch, and over one that prefetches a pass."""
    sampler = library("SamplerWithoutReplacement", *_SAMPLERS)

    def passes(ahead: int) -> List[Any]:
        buffer = _buffer(12, 4, prefetch=ahead, sampler=sampler(shuffle=False))
        buffer.extend(steps("....t......t"))
        recorded: List[Any] = []
        for _ in range(2):
            recorded.append([])
            # three are a pass: one that never ends is told, too
            for batch in islice(buffer, 9):
                recorded[-1].append(batch["observation"].flatten().clone())
                _settled(buffer)
        return recorded

    def observations() -> Any:
        return torch.cat([torch.cat([*of, torch.tensor([-1.0])]) for of in passes(1)])

    def batches() -> Any:
        # of several threads it is not told which one draws first
        return torch.tensor([len(of) for of in passes(3)])

    return {"passes": refused(observations), "ahead": refused(batches)}


def _restored_buffer(make_env: Any, seed: int) -> Dict[str, Any]:
    """A state that one buffer has given and another has loaded and written over."""
    from torchrl.data import ListStorage, ReplayBuffer

    sampler = library("SamplerWithoutReplacement", *_SAMPLERS)

    def tensors() -> Any:
        first, second = _buffer(6, 3), _buffer(6, 3)
        first.extend(steps("..t..."))
        state = first.state_dict()
        second.load_state_dict(state)
        second.extend(steps("...", first=50))
        third = _buffer(6, 3)
        third.load_state_dict(state)
        return torch.cat([number[:]["observation"].flatten() for number in (first, second, third)])

    def lists() -> Any:
        one, two, three = (ReplayBuffer(storage=ListStorage(4), batch_size=2) for _ in range(3))
        one.extend([torch.tensor([float(k)]) for k in range(4)])
        state = one.state_dict()
        two.load_state_dict(state)
        two.extend([torch.tensor([50.0]), torch.tensor([51.0])])
        for row in two._storage.get(range(2, 4)):
            row += 50
        three.load_state_dict(state)
        return torch.cat([torch.as_tensor(row) for row in [*one[:], *two[:], *three[:]]])

    def orders() -> Any:
        first, second = (_buffer(6, 2, sampler=sampler()) for _ in range(2))
        for buffer in (first, second):
            buffer.extend(steps("..t..."))
        first.sample()
        state = first.state_dict()
        second.load_state_dict(state)
        rest = [second.sample()["observation"].flatten() for _ in range(5)]
        third = _buffer(6, 2, sampler=sampler())
        third.load_state_dict(state)
        return torch.cat([*rest, third.sample()["observation"].flatten()])

    return {"tensors": refused(tensors), "lists": refused(lists), "orders": refused(orders)}


def _stored_batch(make_env: Any, seed: int) -> Dict[str, Any]:
    """What is stored of a batch and of single steps, and what a sample brings along."""
    outputs: Dict[str, Any] = {}
    for way in ("extend", "add"):
        buffer = _buffer(6, 4)
        rows = steps("..t.l...")
        if way == "extend":
            buffer.extend(rows)
        else:
            for row in rows.unbind(0):
                buffer.add(row)
        stored = refused(partial(buffer._storage.get, range(6)))
        outputs[f"{way}.stored"] = stored if isinstance(stored, str) else names(stored)
        sample = buffer.sample()
        outputs[f"{way}.sampled"] = names(sample)
        outputs.update(read(way, sample, "observation", "index"))
    return outputs


def _filled_by_steps(make_env: Any, seed: int) -> Dict[str, Any]:
    """A transform on the way into a buffer sees single steps and batches, whichever buffer."""
    from torchrl.data import LazyTensorStorage, ReplayBuffer

    transform = library("Transform", "torchrl.envs.transforms", "torchrl.envs")

    class Seen(transform):  # type: ignore[misc, valid-type]
        """Notes the shapes of what goes in."""

        def __init__(self) -> None:
            super().__init__(in_keys=[], out_keys=[])
            self.shapes: List[str] = []

        def forward(self, tensordict: Any) -> Any:
            return tensordict

        def _inv_call(self, tensordict: Any) -> Any:
            self.shapes.append(shape(tensordict.batch_size))
            return tensordict

    def filled(buffer: Any, observation: Any) -> Dict[str, Any]:
        rows = steps("..t...")
        added = refused(lambda: [int(buffer.add(row)) for row in rows[:3].unbind(0)])
        extended = refused(lambda: buffer.extend(rows[3:]))
        return {
            "added": torch.as_tensor(added) if isinstance(added, list) else added,
            "extended": torch.as_tensor(extended) if not isinstance(extended, str) else extended,
            "shapes": " ".join(observation.shapes),
            **read("sample", buffer.sample(), "observation"),
        }

    one, other = Seen(), Seen()
    plain = ReplayBuffer(storage=LazyTensorStorage(6), batch_size=4, transform=other)
    outputs = filled(_buffer(6, 4, transform=one), one)
    outputs.update({f"plain.{name}": item for name, item in filled(plain, other).items()})
    return outputs


API_CASES = {
    "prefetched-samples": _prefetched_samples,
    "prefetched-passes": _prefetched_passes,
    "restored-buffer": _restored_buffer,
    "stored-batch": _stored_batch,
    "filled-by-steps": _filled_by_steps,
}
