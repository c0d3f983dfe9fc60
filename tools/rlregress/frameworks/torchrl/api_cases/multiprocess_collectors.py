"""Environments and collectors of several processes: what they hand to the process of the training.

Each waits for all of its processes, so that what it hands out does not depend on who is first.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from functools import partial
from typing import Any, Dict, Iterator

import torch

from rlregress.frameworks.torchrl.api import GymWrapper, MultiSyncCollector, TensorDictModule
from rlregress.frameworks.torchrl.api_cases import refused
from rlregress.frameworks.torchrl.api_cases.collectors import Drawn
from rlregress.frameworks.torchrl.batch_factories import names, read

_ROLLED = (
    "observation", "action", ("next", "observation"), ("next", "reward"), ("next", "done"),
    ("next", "truncated"),
)  # fmt: skip
_COPIES = 2


def _wrapped(kind: Any, first: int) -> Any:
    return GymWrapper(kind(first=first), device="cpu")


def _makers(make_env: Any, copies: int) -> Any:
    # what watches the environments of this process cannot be handed to another
    kind = type(make_env().unwrapped)
    return [partial(_wrapped, kind, k) for k in range(copies)]


@contextlib.contextmanager
def _forked() -> Iterator[None]:
    """Processes start as copies of this one: others import everything again, for seconds each."""
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("fork", force=True)
    try:
        yield
    finally:
        multiprocessing.set_start_method(before, force=True)


def _policy(seed: int) -> Any:
    torch.manual_seed(seed)
    return TensorDictModule(Drawn(), in_keys=["observation"], out_keys=["action"])


def _parallel(make_env: Any, seed: int) -> Dict[str, Any]:
    """Environments in processes, over their ends, reset in part, with shared memory and without."""
    from torchrl.envs import ParallelEnv

    def rolled(**options: Any) -> Dict[str, Any]:
        environment = ParallelEnv(_COPIES, _makers(make_env, _COPIES), **options)
        try:
            environment.set_seed(seed)
            outputs = read(
                "rolled",
                environment.rollout(9, _policy(seed), break_when_any_done=False),
                *_ROLLED,
            )
            state = environment.reset()
            state["_reset"] = torch.tensor([[False], [True]])
            outputs.update(read("reset", environment.reset(state), "observation", "done"))
            return outputs
        finally:
            environment.close()

    outputs: Dict[str, Any] = {}
    for label, options in (("shared", {}), ("sent", {"use_buffers": False})):
        with _forked():
            answer = refused(partial(rolled, **options))
        answer = {"": answer} if isinstance(answer, str) else answer
        outputs.update({f"{label}.{name}": value for name, value in answer.items()})
    return outputs


def _collected(make_env: Any, seed: int) -> Dict[str, Any]:
    """A collector in another process that is waited for, its batches and its state."""
    with _forked():
        # of several, the first to end an episode has the next number: they do not repeat themselves
        collector = MultiSyncCollector(
            _makers(make_env, 1), _policy(seed), frames_per_batch=12, total_frames=36
        )
        try:
            collector.set_seed(seed)
            batches = [batch.clone() for batch in collector]
            state = collector.state_dict()
        finally:
            collector.shutdown()
    outputs: Dict[str, Any] = {
        "names": names(batches[0]),
        "state": " ".join(sorted(map(str, state))),
    }
    for number, batch in enumerate(batches):
        outputs.update(read(str(number), batch, *_ROLLED))
    return outputs


API_CASES = {
    "environments-in-processes": _parallel,
    "collected-in-a-process": _collected,
}
