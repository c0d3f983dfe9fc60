"""Buffers that are filled row by row, sampled, emptied and filled again."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.generated_cases.call_sequences import record_steps
from rlregress.probing.option_variants import Kit, Subject, convert_to_recordable


def _make_spaces(space: str) -> tuple[Any, Any]:
    """Return observation and action space of the kind "box", "choices" or "dict"."""
    spaces = gyms.spaces
    box = spaces.Box(-9.0, 9.0, (2,), np.float32)
    if space == "choices":
        return spaces.Discrete(50), spaces.MultiDiscrete([9, 9])
    if space == "dict":
        return spaces.Dict({"box": box, "mode": spaces.Discrete(50)}), spaces.Discrete(9)
    return box, spaces.Box(-1.0, 1.0, (2,), np.float64)


def _make_observations(space: str, number: int) -> Any:
    """Return observation ``number`` of each of the two environments."""
    modes = np.array([number, number + 20])
    box = np.stack([modes, -modes], axis=1).astype(np.float32) / 10.0
    return {"choices": modes, "dict": {"box": box, "mode": modes}}.get(space, box)


def _make_transition(space: str, number: int) -> tuple[Any, ...]:
    """Return transition ``number`` of two environments; some numbers end or truncate an episode."""
    ones = np.array([number % 9, (number + 1) % 9])
    pairs = np.stack([ones, ones[::-1]], axis=1)
    action = {"choices": pairs, "dict": ones}.get(space, pairs / 10.0)
    done_ = np.array([number % 4 == 3, number % 5 == 2])
    infos = [{"TimeLimit.truncated": number % 8 == 3}, {}]
    observations = (_make_observations(space, number), _make_observations(space, number + 1))
    return (*observations, action, np.array([number + 1.0, -0.5 * number]), done_, infos)


def _state(buffer: Any) -> list[int]:
    # its name labels what is recorded
    return [buffer.size(), int(buffer.full), int(buffer.pos)]


def _sampled(buffer: Any, **options: Any) -> Any:
    np.random.seed(5)
    return [_state(buffer), buffer.sample(7, **options)]


def _add_transitions(space: str, first: int, stop: int, buffer: Any) -> None:
    for number in range(first, stop):
        buffer.add(*_make_transition(space, number))


def _fill_and_sample(buffer: Any, space: str) -> Any:
    """Return samples of a buffer: partly filled, overfull, and refilled after a reset."""
    fill = partial(partial, _add_transitions, space)
    return record_steps(buffer, fill(0, 4), _sampled, fill(4, 6), _sampled, fill(6, 9), _sampled,
        ("reset",), _state, fill(10, 12), _sampled)  # fmt: skip


def _extend_buffer(buffer: Any, space: str) -> Any:
    """Add several rows at once, then columns of unequal length; convert arrays to tensors."""
    rows = list(zip(*(_make_transition(space, number) for number in range(4)), strict=False))
    numbers, shapes = np.zeros(2, np.float32), ((6, (3, 2)), (12, (3, 2, 2)), (24, (3, 2, 2, 2)))

    def tensors(buffer: Any) -> Any:
        tensors = [buffer.to_torch(numbers), buffer.to_torch(numbers, copy=False)]
        numbers[:] += 1.0
        return tensors

    return record_steps(buffer, ("extend", *rows), _sampled, ("extend", *rows[:-1], rows[-1][:2]),
        _state, tensors, *(("swap_and_flatten", np.arange(n).reshape(s)) for n, s in shapes)
    )  # fmt: skip


def _make_buffer_kit(space: str, size: int, copies: int = 2) -> Kit:
    observations, actions = _make_spaces(space)
    arguments = {"observation_space": observations, "action_space": actions, "device": "cpu",
                 "buffer_size": size, "n_envs": copies}  # fmt: skip
    return Kit(arguments.copy, lambda _: space)


def _make_replay_buffer_subject(name: str, *kinds: str, **further: Any) -> Subject:
    kits = {kind: _make_buffer_kit(kind, 12) for kind in kinds}
    timeless = {"handle_timeout_termination": False, "optimize_memory_usage": True}
    # fewer rows than there are environments
    options = {"buffer_size": [1], **further}
    calls = {"": _fill_and_sample, "extended": _extend_buffer}
    return Subject(f"common.buffers:{name}", kits, ("",), options=options, together=[timeless],
        calls=calls, skip=("holds",))  # fmt: skip


def _add_rollout_step(space: str, number: int, buffer: Any) -> None:
    observation, _, action, reward, done_, _ = _make_transition(space, number)
    values = torch.tensor([[0.1], [-0.2]]) * (number + 1)
    buffer.add(observation, action, reward, done_, values, torch.tensor([-0.5, -1.5]) - number)


def _get_batches(batch_size: Any, buffer: Any) -> Any:
    np.random.seed(7)
    return [[part for part in batch if part is not None] for batch in buffer.get(batch_size)]


def _fill_and_read_rollouts(buffer: Any, space: str) -> Any:
    """Return the contents of a rollout buffer, half full and full; then again after a reset."""
    if buffer.n_envs == 1:
        return _fill_and_read_single_rollout(buffer, space)
    last = torch.tensor([0.5, 1.0]), np.array([0, 1])
    once = (_state, partial(_add_rollout_step, space, 0), _state, partial(_get_batches, 2),
    partial(_add_rollout_step, space, 1),
            partial(_add_rollout_step, space, 2), ("compute_returns_and_advantage", *last), _state,
            "advantages", "returns", partial(_get_batches, None), partial(_get_batches, 4),
            ("reset",),
            "returns", "actions", "values")  # fmt: skip
    return record_steps(buffer, *once, *once)


def _fill_and_read_single_rollout(buffer: Any, space: str) -> Any:
    """Record a rollout of one environment, with values and log-probabilities without dimensions."""
    for number in range(2):
        observation, _, action, reward, done_, _ = convert_to_recordable(
            list(_make_transition(space, number))
        )
        first = ({name: part[:1] for name, part in observation.items()}
                 if isinstance(observation, dict) else observation[:1])  # fmt: skip
        numbers = [torch.tensor(0.5), torch.tensor(-0.3 * (number + 1))]
        buffer.add(first, action[:1], reward[:1], done_[:1], *numbers)
    last = torch.tensor([0.25]), np.zeros(1)
    return record_steps(buffer, ("compute_returns_and_advantage", *last), "log_probs", "advantages",
        "returns", "actions", "values")  # fmt: skip


def _make_rollout_buffer_subject(name: str, *kinds: str) -> Subject:
    kits = {kind: _make_buffer_kit(kind, 3) for kind in kinds}
    kits.update({f"{kind} alone": _make_buffer_kit(kind, 2, copies=1) for kind in kinds})
    return Subject(f"common.buffers:{name}", kits, ("",), calls={"": _fill_and_read_rollouts},
        options={"gae_lambda": [0.0, 0.7]}, skip=("holds",))  # fmt: skip


def list_subjects() -> dict[str, list[Subject]]:
    """Return the calls to generate for buffers, by part."""
    return {
        "buffers": [
            _make_replay_buffer_subject("ReplayBuffer", "box", "choices"),
            _make_replay_buffer_subject("DictReplayBuffer", "dict", "box"),
            _make_replay_buffer_subject("NStepReplayBuffer", "box", n_steps=[1, 2, 6]),
            _make_rollout_buffer_subject("RolloutBuffer", "box", "choices"),
            _make_rollout_buffer_subject("DictRolloutBuffer", "dict", "box"),
        ]
    }
