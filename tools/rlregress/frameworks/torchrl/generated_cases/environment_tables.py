"""Environments as TorchRL wraps them, transforms around them, and collectors in one process."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl.api import GymWrapper, SerialEnv, TensorDictModule
from rlregress.frameworks.torchrl.compat import action_spec, library
from rlregress.frameworks.torchrl.generated_cases.data_tables import buffer, rows
from rlregress.frameworks.torchrl.generated_cases.input_corpus import batch
from rlregress.probing.option_variants import Items, Kit, Subject, recorded, refused, set_seed
from rlregress.probing.toys import Ends

# -- environments ----------------------------------------------------------------------------------


class _Counted(gymnasium.Wrapper):
    """Adds to each step how many resets there were."""

    resets = 0

    def reset(self, **options: Any) -> Any:
        self.resets += 1
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        return (*self.env.step(action)[:4], {"resets": np.array(self.resets, np.float32)})


class _Masked(gymnasium.ObservationWrapper):
    """Tells which combinations of actions are allowed."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        counts = tuple(int(n) for n in environment.action_space.nvec)
        self._mask = np.indices(counts).sum(0) % 2 == 0
        flags: Any = np.bool_
        mask = gymnasium.spaces.Box(0, 1, counts, flags)
        self.observation_space = gymnasium.spaces.Dict(
            {"observation": environment.observation_space, "action_mask": mask}
        )

    def observation(self, observation: Any) -> Any:
        return {"observation": observation, "action_mask": self._mask}


def _vector(copies: int, **options: Any) -> Any:
    """A vector environment of gymnasium that ends its episodes at different steps."""
    makers = [partial(Ends, first=k, **options) for k in range(copies)]
    modes = getattr(gymnasium.vector, "AutoresetMode", None)
    # the mode that TorchRL asks for since gymnasium 1.1
    mode = {"autoreset_mode": modes.SAME_STEP} if modes else {}
    return gymnasium.vector.SyncVectorEnv(makers, **mode)


def environment_of(first: int = 0, **options: Any) -> Any:
    """An environment whose episodes end in every way; its seed is set."""
    made = GymWrapper(Ends(first=first, **options), device="cpu")
    made.set_seed(0)
    return made


def _rolled(environment: Any, count: str) -> Any:
    """Several episodes, what is described, and random actions."""

    def drawn(name: str) -> Any:
        return [getattr(environment, name).rand() for _ in range(4)]

    environment.set_seed(0)
    set_seed(0)
    specs = ("observation_spec", "reward_spec", "action_spec", "done_spec")
    described = {name: refused(partial(_shape, environment, name)) for name in specs}
    draws = [refused(partial(drawn, name)) for name in ("action_spec", "observation_spec")]
    set_seed(0)
    rolled = refused(lambda: environment.rollout(int(count), break_when_any_done=False))
    return Items(rolled=rolled, draws=draws, **described)


def _shape(environment: Any, name: str) -> str:
    spec = getattr(environment, name)
    return f"{type(spec).__name__} {tuple(spec.shape)} {spec.dtype}"


def _begun(environment: Any, count: str) -> Any:
    """Seeds, what the next draw of chance is after them, and resets one after the other."""
    outputs = []
    for seed in (0, 1):
        set_seed(7)
        outputs.append([environment.set_seed(seed), torch.rand(3)])
        outputs.extend([refused(environment.reset) for _ in range(2)])
    return outputs


def _informed(environment: Any, count: str) -> Any:
    """Resets while an environment is wrapped, and readers of what steps tell beside."""
    counts, steps = [], []
    reader = library("torchrl.envs", "default_info_dict_reader")(["resets"])
    for read in (True, False):
        inner = Ends()
        inner.reset(seed=0)
        informed = _Counted(inner)
        wrapped = type(environment)(informed, device="cpu")
        counts.append(informed.resets)
        if read:
            wrapped.set_info_dict_reader(reader)
        for _ in range(2):
            begun = wrapped.reset()
            counts.append(informed.resets)
            steps.append(refused(partial(wrapped.step, begun.set("action", torch.zeros(2)))))
    return {"counts": counts, "steps": steps}


def _unknown(environment: Any, count: str) -> Any:
    """Last observations of which a vector environment knows nothing under the name."""
    outputs = []
    for observations in ("box", "integer"):
        inner = GymWrapper(_vector(3, observations=observations), device="cpu")
        around = _around(inner, library("torchrl.envs", "VecGymEnvTransform")(final_name="none"))
        outputs.append(around.rollout(9, break_when_any_done=True))
    return outputs


def _by_name(environment: Any, count: str) -> Any:
    """Environments side by side that are made of a registered name, in this process."""

    class InOneProcess(library("torchrl.envs", "GymEnv")):  # type: ignore[misc]
        def _async_env(self, makers: Any, **options: Any) -> Any:
            return gymnasium.vector.SyncVectorEnv(makers, **options)

    made: list[int] = []

    def entry(**options: Any) -> Any:
        made.append(len(made))
        return Ends(first=made[-1])

    gymnasium.register(id="RowsOfEnds-v0", entry_point=entry)
    try:
        rolled = refused(partial(_rolled, InOneProcess("RowsOfEnds-v0", num_envs=2), count))
    finally:
        del gymnasium.registry["RowsOfEnds-v0"]
    return {"rolled": rolled, "made": len(made)}


def _environments() -> list[Subject]:
    single: dict[str, dict[str, Any]] = {
        "": {},
        **{kind: {"observations": kind} for kind in ("integer", "float64", "image", "dict")},
        **{kind: {"actions": kind} for kind in ("discrete", "multi-discrete", "multi-binary")},
    }  # fmt: skip
    vectors: dict[str, Any] = {
        "several": (3, {}), "one": (1, {}), "choices": (3, {"discrete": True}),
        "one of choices": (1, {"discrete": True}), "integers": (3, {"observations": "integer"}),
    }  # fmt: skip
    makers: dict[str, Callable[[], Any]] = {
        **{label: partial(Ends, **options) for label, options in single.items()},
        **{label: partial(_vector, n, **options) for label, (n, options) in vectors.items()},
        "masked": lambda: _Masked(Ends(actions="multi-discrete")),
        "masked categorical": lambda: _Masked(Ends(actions="multi-discrete")),
    }

    def arguments(label: str) -> dict[str, Any]:
        more = {"categorical_action_encoding": True} if "categorical" in label else {}
        return {"env": makers[label](), "device": "cpu", **more}

    return [
        Subject(
            "torchrl.envs:GymWrapper",
            {label: Kit(partial(arguments, label), str) for label in makers},
            ("14",), skip=("batch_size",),
            calls={"": _rolled, "begun": _begun, "informed": _informed, "unknown": _unknown,
                   "by name": _by_name},
        )
    ]  # fmt: skip


# -- transforms ------------------------------------------------------------------------------------


def _around(environment: Any, *transforms: Any) -> Any:
    whole, compose = (library("torchrl.envs", name) for name in ("TransformedEnv", "Compose"))
    made = whole(environment, compose(*transforms))
    made.set_seed(0)
    set_seed(0)
    return made


def _transformed(transform: Any, observations: str) -> Any:
    """A rollout over several ends, with actions of 64 bits where observations have them."""
    actions = "float64" if observations == "float64" else "box"
    inner = environment_of(first=2, observations=observations, actions=actions)
    tensor, stack = (library("torchrl.envs", name) for name in ("ToTensorImage", "CatFrames"))
    images = [tensor(**_SEEN)] if observations == "image" else []
    if "Gray" in type(transform).__name__:
        images.append(stack(N=3, dim=-3, **_SEEN))
    environment = _around(inner, *images, transform)
    spec = action_spec(environment)
    # a counter goes on beyond what ends by itself
    count = 30 if "Counter" in type(transform).__name__ else 14
    rolled = environment.rollout(count, break_when_any_done=False)
    return [rolled, str(spec.dtype), str(spec.shape)]


def _over_rows(transform: Any, observations: str) -> Any:
    """Batches in which episodes end, one after the other; short ones; the inverse; its state."""
    given = batch("continuous", "long")[:2, :11].exclude("flat group", "group", "mask")
    # each row has its own
    ends: Any = torch.stack([rows("..t...l..t."), rows("....t....l.")])
    given["next"].update(ends["next"].select("done", "terminated", "truncated"))
    given["reward"] = given["next", "reward"] * (given["next", "reward"] > -1)
    outputs = {
        "forward": [refused(partial(transform, each)) for each in (given.clone(), given[:, ::2])],
        "short": refused(lambda: transform(given[:, :1].clone())),
        "inverse": refused(lambda: transform.inv(given.clone())),
    }
    if "VecNorm" not in type(transform).__name__:
        return Items(outputs)
    twin, state = deepcopy(transform), transform.state_dict()
    twin(given.clone())
    outputs["state"] = [recorded(state), refused(lambda: str(twin.load_state_dict(state)))]
    return Items(outputs, loaded=refused(lambda: twin(given.clone())))


def _stepped(transform: Any, observations: str) -> Any:
    """One step of an environment whose actions are chosen in bins."""
    environment = _around(environment_of(), transform)
    chosen = environment.reset()
    bins = transform.num_intervals
    # a pair of numbers, each in its own bin
    chosen["action"] = torch.tensor([bins // 3, bins // 2])
    # which the first step computes
    return [environment.step(chosen), transform.intervals]


_SEEN: dict[str, Any] = {"in_keys": ["observation"]}
_RENAMED: dict[str, Any] = {**_SEEN, "out_keys": ["seen"]}
_INVERSE: dict[str, Any] = {"in_keys_inv": ["action"], "out_keys_inv": ["state_value"]}
_STATISTICS: dict[str, Any] = {"loc": 0.2, "scale": 0.4}
_SMALL = {
    name: partial(torch.tensor, [1e-9, 1e-4, 2.0], dtype=kind)
    for name, kind in (("single", torch.float32), ("double", torch.float64))
}
#: transform -> its arguments, and options that are set beside the generated ones.
_TRANSFORMS: dict[str, Sequence[Any]] = {
    "CatFrames": (
        {"N": 3, "dim": -1, **_SEEN}, {"padding": "constant"}, {"out_keys": ["seen"]},
        {"padding": "constant", "padding_value": 1.5}, {"dim": -3},
        {"in_keys": ["observation", ("next", "observation")],
         "out_keys": ["seen", ("next", "seen")]},
    ),
    "VecNorm": ({**_SEEN, "decay": 0.9}, {"out_keys": ["seen"]}, {"new_api": False}),
    "VecNormV2": ({**_SEEN, "decay": 0.9}, {"out_keys": ["seen"]},
                  {"decay": 0.5, "eps": 0.1, "in_keys": ["observation", "reward"],
                   "out_keys": ["seen", "gain"]}),
    "ObservationNorm": (
        {**_SEEN, **_STATISTICS}, {**_INVERSE, "in_keys": [], "out_keys": []}, {"in_keys": None},
        *({"loc": 0.0, "scale": scale, "standard_normal": standard}
          for scale in _SMALL.values() for standard in (True, False)),
    ),
    "StepCounter": ({"max_steps": None}, *({"max_steps": n} for n in (4, 5, 7, 10, 12)),
                    {"max_steps": 4, "update_done": False}),
    "BinarizeReward": ({"in_keys": ["reward"]},), "InitTracker": ({"init_key": "is_init"},),
    "RewardSum": ({"in_keys": ["reward"]},),
    "DoubleToFloat": ({"in_keys": None}, _SEEN, {**_SEEN, "in_keys_inv": ["action"]}),
    "DTypeCastTransform": (
        {"dtype_in": torch.float32, "dtype_out": torch.float64}, {**_INVERSE, "in_keys": []}),
    "UnsqueezeTransform": ({"dim": -1, **_SEEN}, {**_INVERSE, "in_keys": [], "out_keys": []}),
    "TargetReturn": ({"target_return": 10.0}, {"mode": "constant"}),
    "FrameSkipTransform": ({"frame_skip": 3},),
    "SignTransform": ({"in_keys": ["reward"]},),
    "RewardScaling": (_STATISTICS,),
    "RewardClipping": ({"clamp_min": -0.3, "clamp_max": 0.2},),
    "Reward2GoTransform": ({"gamma": 0.8, "out_keys": ["to_go"]},),
    "RenameTransform": (_RENAMED,),
    "ClipTransform": ({**_SEEN, "low": -0.3, "high": 0.2},),
    "TimeMaxPool": ({**_SEEN, "T": 3},),
    "NoopResetEnv": ({"noops": 2, "random": False},),
    "CatTensors": ({**_SEEN, "out_key": "all", "del_keys": False},),
    "GrayScale": (_SEEN,),
    "ActionDiscretizer": ({"num_intervals": 4}, *({"num_intervals": n} for n in (7, 49, 98))),
}  # fmt: skip


def _transforms() -> list[Subject]:
    ways: dict[str, dict[str, Any]] = {
        "ActionDiscretizer": {"": _stepped}, "Reward2GoTransform": {"": _over_rows},
    }  # fmt: skip
    kinds = {
        "DoubleToFloat": ("float64",), "GrayScale": ("image",), "CatFrames": ("box", "image"),
        "ObservationNorm": ("box", "image"),
    }  # fmt: skip

    def of(name: str, given: Mapping[str, Any], *more: Mapping[str, Any]) -> Subject:
        def arguments(options: Mapping[str, Any]) -> dict[str, Any]:
            made = {**given, **options}
            return {key: v() if callable(v) else deepcopy(v) for key, v in made.items()}

        every = enumerate(({}, *more))  # type: Any
        kits = {str(n or ""): Kit(partial(arguments, each), str) for n, each in every}
        return Subject(
            f"torchrl.envs:{name}", kits, kinds.get(name, ("box",)), thorough=tuple(kits),
            calls=ways.get(name, {"": _transformed, "rows": _over_rows}),
            skip=("reset_key", "shapes", "lock", "allow_positive_dim"),
        )  # fmt: skip

    steps = Subject(
        "torchrl.data:MultiStep",
        {"": Kit(lambda: {"gamma": 0.5, "n_steps": 3}, partial(batch, "continuous"))},
        ("time", "time collected", "rows", "time over"), options={"n_steps": [0, 1, 5]},
        brief=("time", "time collected"), calls={"": lambda fold, given: fold(given)},
    )  # fmt: skip
    return [*(of(name, *entry) for name, entry in _TRANSFORMS.items()), steps]


# -- collectors ------------------------------------------------------------------------------------


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


class _Nameless(nn.Module):
    """A policy that names neither what it reads nor what it writes."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = Drawn()

    def forward(self, tensordict: Any) -> Any:
        return tensordict.set("action", self.drawn(tensordict.get("observation")))


def policy(entries: int = 1, described: bool = False, named: Sequence[str] = ()) -> Any:
    """One that describes what it writes in whole, in part or not."""
    keys = ["action", "sum", "more"][:entries]
    made = TensorDictModule(Drawn(entries), in_keys=["observation"], out_keys=keys)
    if not (described or named):
        return made
    composite = library("torchrl.data", "Composite", "CompositeSpec")
    number = library("torchrl.data", "Unbounded", "UnboundedContinuousTensorSpec")(shape=(1,))
    spec = composite(action=action_spec(environment_of()), **dict.fromkeys(named, number))
    if described:
        # it names further entries as empty
        kind = library("torchrl.modules", "SafeModule")
        return kind(Drawn(entries), ["observation"], keys, spec=spec)
    made.spec = spec
    return made


def collecting(copies: int = 1, made: Callable[[], Any] = policy, **more: Any) -> dict[str, Any]:
    """Arguments of a collector of four batches."""
    makers = [partial(environment_of, k) for k in range(copies)]
    environment = makers[0]() if copies == 1 else SerialEnv(copies, makers)
    environment.set_seed(0)
    set_seed(0)
    frames = 6 if copies == 1 else 12
    given = {"create_env_fn": environment, "policy": made(), "frames_per_batch": frames}
    return {**given, "total_frames": 4 * frames, **more}


def _collected(collector: Any, resets: str) -> Any:
    """Every batch, what is in the buffer meanwhile, and all or some reset after the first."""
    # a collector may run its policy once when it is made
    drawn = torch.rand(1)
    set_seed(0)
    stored, outputs = getattr(collector, "replay_buffer", None), []
    try:
        for number, data in enumerate(collector):
            outputs.append([recorded(data), -1 if stored is None else len(stored)])
            if resets and number == 0:
                places = {"index": torch.tensor([1])} if resets == "one" else {}
                outputs.append(refused(partial(collector.reset, **places)))
            if number == 8:
                break
    finally:
        collector.shutdown()
    held = stored[:] if stored is not None and len(stored) else "nothing"
    return Items(batches=outputs, held=held, weights=recorded(collector.policy), drawn=drawn)


def _saved(collector: Any, resets: str) -> Any:
    """Its state after a batch, in another."""
    twin = type(collector)(**collecting())
    try:
        next(iter(collector))
        state = collector.state_dict()
        loaded = refused(lambda: str(twin.load_state_dict(state)))
        return Items(
            loaded=loaded, next=refused(lambda: next(iter(twin))),
            **{str(name): recorded(item) for name, item in state.items()},
        )  # fmt: skip
    finally:
        collector.shutdown()
        twin.shutdown()


def _processed(data: Any) -> Any:
    return data.set("processed", data["next", "reward"] + 1)


def _processing() -> Any:
    return _processed


def _collectors() -> list[Subject]:
    policies: dict[str, Callable[[], Any]] = {
        "described": partial(policy, described=True), "more": partial(policy, 3, True),
        "plain": partial(policy, 3), "named": partial(policy, 3, named=("sum", "more")),
        "beyond": partial(policy, 3, named=("sum",)), "nameless": _Nameless, "bare": Drawn,
    }  # fmt: skip
    kits = {
        "": Kit(collecting, str), "three": Kit(partial(collecting, 3), str),
        **{f"{n} reset": Kit(partial(collecting, n, reset_at_each_iter=True), str) for n in (1, 2)},
        "three marked": Kit(partial(collecting, 3, set_truncated=True), str),
        **{label: Kit(partial(collecting, 1, made), str) for label, made in policies.items()},
        **{f"{x} unbuffered": Kit(partial(collecting, 1, policies[x], use_buffers=False), str)
           for x in ("described", "nameless", "bare")},
        "two stored": Kit(lambda: collecting(2, replay_buffer=buffer(100)), str),
    }  # fmt: skip
    return [
        Subject(
            "rlregress.frameworks.torchrl.api:Collector", kits, ("",),
            options={"replay_buffer": [partial(buffer, 100)], "postproc": [_processing],
                     "init_random_frames": [10, 12], "max_frames_per_traj": [3]},
            together=({"replay_buffer": partial(buffer, 100), "init_random_frames": 10},
                      {"replay_buffer": partial(buffer, 100), "postproc": _processing}),
            calls={"": _collected, "all": lambda made, _: _collected(made, "all"),
                   "one": lambda made, _: _collected(made, "one"), "saved": _saved},
            thorough=("three", "bare"),
            skip=("compile_policy", "cudagraph_policy", "num_collectors", "sync", "backend",
                  "device", "trajs_per_batch", "trajs_per_write", "worker_idx"),
        )
    ]  # fmt: skip


# -- several processes -----------------------------------------------------------------------------


@contextlib.contextmanager
def _forked() -> Iterator[None]:
    """Processes start as copies of this one: others import everything again, for seconds each."""
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("fork", force=True)
    try:
        yield
    finally:
        multiprocessing.set_start_method(before, force=True)


def _in_processes(environment: Any, given: str) -> Any:
    """Over their ends, and reset in part."""
    try:
        environment.set_seed(0)
        set_seed(0)
        rolled = recorded(environment.rollout(9, policy(), break_when_any_done=False))
        state = environment.reset()
        return [rolled, environment.reset(state.set("_reset", torch.tensor([[False], [True]])))]
    finally:
        environment.close()


def _from_a_process(collector: Any, given: str) -> Any:
    try:
        collector.set_seed(0)
        batches = [recorded(data) for data in collector]
        return {"batches": batches, "state": sorted(map(str, collector.state_dict()))}
    finally:
        collector.shutdown()


def _processes() -> list[Subject]:
    """Each waits for all of its processes, so that nothing depends on who is first."""
    makers = [partial(environment_of, k) for k in range(2)]
    # of several collectors, the first to end an episode has the next number
    collected = {"create_env_fn": makers[:1], "frames_per_batch": 12, "total_frames": 36}
    return [
        Subject("torchrl.envs:ParallelEnv",
                {"": Kit(lambda: {"num_workers": 2, "create_env_fn": makers}, str, _forked)}, ("",),
                together=({"use_buffers": False},), calls={"": _in_processes}, skip="*"),
        Subject("rlregress.frameworks.torchrl.api:MultiSyncCollector",
                {"": Kit(lambda: {**collected, "policy": policy()}, str, _forked)}, ("",),
                calls={"": _from_a_process}, skip="*"),
    ]  # fmt: skip


def subjects() -> dict[str, list[Subject]]:
    """Environments, transforms and collectors by name."""
    return {
        "environments": _environments(), "transforms": _transforms(),
        "collectors": _collectors(), "processes": _processes(),
    }  # fmt: skip
