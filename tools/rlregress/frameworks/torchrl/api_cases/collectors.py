"""Collectors in the same process, by themselves."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict

import torch
from torch import nn

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.torchrl.api import (
    Collector,
    GymWrapper,
    LazyTensorStorage,
    SerialEnv,
    TensorDict,
    TensorDictModule,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.api_cases import refused
from rlregress.frameworks.torchrl.batch_factories import names, read, shape
from rlregress.frameworks.torchrl.compat import action_spec, library
from rlregress.frameworks.torchrl.network_factories import answers

_READ = ("observation", "action", ("collector", "traj_ids"), ("next", "done"))


class Drawn(nn.Module):
    """A policy that draws its actions, so that it shows how often it was asked."""

    def __init__(self, entries: int = 1) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((3, 2), 0.1))
        self._entries = entries

    def forward(self, observation: Any) -> Any:
        """An action, and as many further entries as there are to be."""
        action = (observation @ self.weight).tanh() + 0.1 * torch.rand(*observation.shape[:-1], 2)
        more = tuple(action.sum(-1, keepdim=True) + k for k in range(self._entries - 1))
        return (action, *more) if more else action


class Nameless(nn.Module):
    """A policy that names neither what it reads nor what it writes."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = Drawn()

    def forward(self, tensordict: Any) -> Any:
        """The same entries with an action."""
        return tensordict.set("action", self.drawn(tensordict.get("observation")))


def _environments(make_env: Any, seed: int, copies: int) -> Any:
    def made(first: int) -> Any:
        return GymWrapper(make_env(first=first), device="cpu")

    environment = (
        made(0) if copies == 1 else SerialEnv(copies, [partial(made, k) for k in range(copies)])
    )
    environment.set_seed(seed)
    return environment


def small_collector(make_env: Any, seed: int, copies: int = 1, **options: Any) -> Any:
    """A collector of a few steps, by default with a policy that draws."""
    environment = _environments(make_env, seed, copies)
    policy = options.pop("policy", None)
    if policy is None:
        policy = TensorDictModule(Drawn(), in_keys=["observation"], out_keys=["action"])
    torch.manual_seed(seed)
    options = {"frames_per_batch": 12, "total_frames": 48, **options}
    return Collector(environment, policy, **options)


def _resets_in_between(make_env: Any, seed: int) -> Dict[str, Any]:
    """Environments reset before each batch, all of them, and some of them on demand."""

    def each() -> Any:
        collector = small_collector(make_env, seed, 2, reset_at_each_iter=True)
        batches = [batch.clone() for batch in collector]
        collector.shutdown()
        return torch.cat(batches, -1)

    def demanded(**index: Any) -> Any:
        collector = small_collector(make_env, seed, 3)
        batches = iter(collector)
        collected = [next(batches).clone()]
        collector.reset(**index)
        collected.append(next(batches).clone())
        collector.shutdown()
        return torch.cat(collected, -1)

    return {
        **read("each", refused(each), *_READ),
        **read("one", refused(partial(demanded, index=torch.tensor([1]))), *_READ),
        **read("all", refused(demanded), *_READ),
    }


def _into_a_buffer(make_env: Any, seed: int) -> Dict[str, Any]:
    """A collector that is given a replay buffer, with and without random actions at first."""

    def collected(copies: int, **options: Any) -> Dict[str, Any]:
        buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(100), batch_size=4)
        collector = small_collector(make_env, seed, copies, replay_buffer=buffer, **options)
        lengths = []
        for _ in collector:
            lengths.append(len(buffer))
        collector.shutdown()
        stored = buffer._storage.get(range(len(buffer)))
        return {
            "lengths": torch.tensor(lengths),
            "shape": shape(stored.batch_size),
            "names": names(stored),
            **read("stored", stored, "observation", "action", ("next", "done")),
        }

    def process(batch: Any) -> Any:
        # of the collector: what a buffer gets before it, it has no name of
        batch["processed"] = batch["next", "reward"] + 1
        return batch

    outputs: Dict[str, Any] = {}
    for label, copies, options in (
        ("one", 1, {}),
        ("two", 2, {}),
        ("random", 1, {"init_random_frames": 20}),
        ("processed", 1, {"postproc": process}),
    ):
        answer = refused(partial(collected, copies, **options))
        answer = {"": answer} if isinstance(answer, str) else answer
        outputs.update({f"{label}.{name}": value for name, value in answer.items()})
    return outputs


def _first_call(make_env: Any, seed: int) -> Dict[str, Any]:
    """Policies with a full specification or none, that write what it names, or more."""
    from tensordict.nn import TensorDictModule as Plain

    try:
        from torchrl.modules import SafeModule
    except ImportError:
        raise Unsupported("this version has no SafeModule") from None

    def collected(entries: int, described: bool, **options: Any) -> Any:
        keys = ["action", "sum", "more"][:entries]
        spec = _full(action_spec(_environments(make_env, seed, 1)))
        if described:
            # it names further entries as empty
            policy = SafeModule(Drawn(entries), ["observation"], keys, spec=spec)
        else:
            policy = Plain(Drawn(entries), in_keys=["observation"], out_keys=keys)
        named = options.pop("named", None)
        if named:
            policy.spec = type(spec)(action=spec["action"], **{key: _number() for key in named})
        return _first_batch(make_env, seed, policy, **options)

    outputs: Dict[str, Any] = {}
    for label, entries, described, options in (
        ("described", 1, True, {}),
        ("more", 3, True, {}),
        ("plain", 1, False, {}),
        ("named", 3, False, {"named": ["sum", "more"]}),
        ("beyond", 3, False, {"named": ["sum"]}),
        ("plain-more", 3, False, {}),
        ("without-buffers", 1, False, {"use_buffers": False}),
        ("without-buffers-described", 1, True, {"use_buffers": False}),
    ):
        answer = refused(partial(collected, entries, described, **options))
        outputs.update(read(label, answer, "action", "sum", "more"))
    answer = refused(partial(_first_batch, make_env, seed, Nameless(), use_buffers=False))
    outputs.update(read("without-buffers-nameless", answer, "action"))
    return outputs


def _first_batch(make_env: Any, seed: int, policy: Any, **options: Any) -> Any:
    collector = small_collector(make_env, seed, policy=policy, **options)
    batch = next(iter(collector)).clone()
    collector.shutdown()
    return batch


def _number() -> Any:
    """The specification of one number."""
    from torchrl import data

    kind = getattr(data, "Unbounded", None) or data.UnboundedContinuousTensorSpec
    return kind(shape=(1,))


def _full(spec: Any) -> Any:
    """A specification of all entries of a policy that only has actions."""
    from torchrl import data

    composite = getattr(data, "Composite", None) or data.CompositeSpec
    return composite(action=spec)


def _saved_collector(make_env: Any, seed: int) -> Dict[str, Any]:
    """A collector's state, saved after a batch and loaded into another.

    Of a policy that names what it reads, and of one that the collector has to wrap.
    """

    def saved(wrapped: bool) -> Dict[str, Any]:
        options: Dict[str, Any] = {"policy": Drawn()} if wrapped else {}
        first = small_collector(make_env, seed, **options)
        next(iter(first))
        state = first.state_dict()
        first.shutdown()
        outputs = {
            f"state.{name}": " ".join(sorted(str(key) for key in entry))
            for name, entry in state.items()
            if hasattr(entry, "keys")
        }
        outputs["counters"] = " ".join(
            sorted(name for name in state if not hasattr(state[name], "keys"))
        )
        second = small_collector(make_env, seed, **options)
        loaded = refused(lambda: second.load_state_dict(state))
        outputs["loaded"] = "yes" if loaded is None else str(loaded)
        second.shutdown()
        return outputs

    outputs: Dict[str, Any] = {}
    for label, wrapped in (("", False), ("wrapped.", True)):
        answer = refused(partial(saved, wrapped))
        answer = {"state": answer} if isinstance(answer, str) else answer
        outputs.update({f"{label}{name}": value for name, value in answer.items()})
    return outputs


def _marked_batches(make_env: Any, seed: int) -> Dict[str, Any]:
    """Batches whose last steps are marked as truncated, and in which episodes end.

    Of three environments the first ends in both ways at once, the others in one.
    """

    def collected(copies: int) -> Any:
        collector = small_collector(make_env, seed, copies, set_truncated=True)
        batches = [batch.clone() for batch in collector]
        collector.shutdown()
        return torch.cat(batches, -1)

    outputs: Dict[str, Any] = {}
    for copies in (1, 3):
        outputs.update(
            read(
                f"{copies}-copies",
                refused(partial(collected, copies)),
                ("next", "done"),
                ("next", "terminated"),
                ("next", "truncated"),
            )
        )
    return outputs


def _random_policy(make_env: Any, seed: int) -> Dict[str, Any]:
    """A policy of random actions: with a specification, with an environment's, with neither."""
    kind = library("torchrl.modules.tensordict_module.exploration", "RandomPolicy")
    bounded = library("torchrl.data", "Bounded", "BoundedTensorSpec")

    def acted(policy: Any, key: str = "action") -> Any:
        return policy(TensorDict({}, []))[key]

    def of_environment(*given: Any) -> Any:
        policy = kind(*given)
        policy.set_action_spec_from_env(_environments(make_env, seed, 1))
        return acted(policy)

    high = bounded(3.0, 4.0, shape=(2,))
    return answers(
        seed,
        given=lambda: acted(kind(high)),
        key=lambda: acted(kind(high, action_key="move"), "move"),
        environment=of_environment,
        kept=lambda: of_environment(high),
        neither=lambda: acted(kind()),
    )


API_CASES = {
    "random-policy": _random_policy,
    "resets-in-between": _resets_in_between,
    "collected-into-a-buffer": _into_a_buffer,
    "first-call-of-a-policy": _first_call,
    "saved-collector": _saved_collector,
    "marked-batches": _marked_batches,
}
