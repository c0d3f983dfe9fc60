"""Transforms of batches and of environments, and the post-processing of collected steps."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List, Sequence

import torch

from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.torchrl.api import GymWrapper, MultiStep, TensorDict
from rlregress.frameworks.torchrl.api_cases import refused
from rlregress.frameworks.torchrl.batch_factories import library, names, read, steps
from rlregress.frameworks.torchrl.compat import action_spec

_ENVS = ("torchrl.envs", "torchrl.envs.transforms", "torchrl.envs.transforms.transforms")


def _positions(make_env: Any, seed: int) -> Dict[str, Any]:
    """Continuous actions made discrete, with numbers of bins whose steps do not add up to one."""
    discretizer = library("ActionDiscretizer", *_ENVS)
    transformed = library("TransformedEnv", *_ENVS)

    def actions(bins: int) -> Any:
        transform = discretizer(num_intervals=bins)
        environment = transformed(GymWrapper(make_env(), device="cpu"), transform)
        environment.set_seed(seed)
        chosen = environment.reset()
        # of a pair of numbers, each in its own bin
        chosen["action"] = torch.tensor([bins // 3, bins // 2])
        after = environment.step(chosen)
        return torch.cat([transform.intervals.flatten(), after["next", "observation"].flatten()])

    return {f"{bins}-bins": refused(partial(actions, bins)) for bins in (4, 7, 49, 98)}


def _frames(rows: Any, count: int, **options: Any) -> Any:
    transform = library("CatFrames", *_ENVS)(
        N=count,
        dim=-1,
        in_keys=["observation", ("next", "observation")],
        out_keys=["seen", ("next", "seen")],
        **options,
    )
    return transform(rows.clone())


def _frames_of_batches(make_env: Any, seed: int) -> Dict[str, Any]:
    """Frames stacked over batches in which episodes end, and over one shorter than a stack."""
    # a step more than one on: the first frame is not zero, which is what is filled in elsewhere
    rows = steps("..t...l..t.", first=3)
    several = torch.stack([rows, steps("....t....l.", first=40)])
    short = steps("..", first=3)
    calls: Dict[str, Callable[[], Any]] = {
        "same": partial(_frames, rows, 3, padding="same"),
        "constant": partial(_frames, rows, 3, padding="constant"),
        "several": partial(_frames, several, 3, padding="same"),
        "short": partial(_frames, short, 4, padding="same"),
        "short-constant": partial(_frames, short, 4, padding="constant"),
    }
    outputs: Dict[str, Any] = {}
    for label, call in calls.items():
        outputs.update(read(label, refused(call), "seen", ("next", "seen")))
    return outputs


def _frames_in_a_buffer(make_env: Any, seed: int) -> Dict[str, Any]:
    """Frames stacked over what a replay buffer samples in slices."""
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

    sampler = library("SliceSampler", "torchrl.data.replay_buffers.samplers")
    stack = library("CatFrames", *_ENVS)(N=3, dim=-1, in_keys=["observation"], out_keys=["seen"])

    def sample() -> Any:
        buffer = TensorDictReplayBuffer(
            storage=LazyTensorStorage(24),
            sampler=sampler(num_slices=3, traj_key="episode"),
            transform=stack,
            batch_size=12,
        )
        buffer.extend(steps("....t......l.........t", first=3))
        return buffer.sample()

    return read("sliced", refused(sample), "observation", "seen")


def _normalised(make_env: Any, seed: int) -> Dict[str, Any]:
    """VecNorm with an output of another name, its state saved and loaded."""
    normalise = library("VecNorm", *_ENVS)
    transformed = library("TransformedEnv", *_ENVS)

    def made(**options: Any) -> Any:
        environment = transformed(
            GymWrapper(make_env(first=2), device="cpu"),
            normalise(in_keys=["observation"], decay=0.9, **options),
        )
        environment.set_seed(seed)
        return environment

    def rolled(**options: Any) -> Any:
        torch.manual_seed(seed)
        return made(**options).rollout(8, break_when_any_done=False)

    def state() -> Any:
        environment = made()
        torch.manual_seed(seed)
        environment.rollout(4)
        saved = environment.transform.state_dict()
        other = made()
        other.transform.load_state_dict(saved)
        return saved, other.rollout(4)["observation"]

    outputs = {
        **read("same", refused(rolled), "observation", ("next", "observation")),
        **read(
            "other",
            refused(partial(rolled, out_keys=["normalised"])),
            "observation",
            "normalised",
            ("next", "normalised"),
        ),
    }
    given = refused(state)
    if isinstance(given, str):
        return {**outputs, "state": given}
    saved, after = given
    outputs["state"] = " ".join(sorted(str(key) for key in _flat(saved)))
    outputs["after"] = after
    return outputs


def _normalised_rows(make_env: Any, seed: int) -> Dict[str, Any]:
    """VecNorm as it runs over batches, with an output of another name; its state saved, loaded."""
    normalise = library("VecNorm", *_ENVS)

    def over(transform: Any, count: int) -> Any:
        torch.manual_seed(seed)
        batches = [TensorDict({"observation": torch.randn(5, 3)}, [5]) for _ in range(count)]
        return torch.stack([transform(batch) for batch in batches])

    def made(**options: Any) -> Any:
        return normalise(in_keys=["observation"], decay=0.9, **options)

    def loaded() -> Any:
        first, second = made(), made()
        over(first, 3)
        over(second, 1)
        second.load_state_dict(first.state_dict())
        return over(second, 2)

    return {
        **read("same", refused(lambda: over(made(), 4)), "observation"),
        **read(
            "other",
            refused(lambda: over(made(out_keys=["normalised"]), 4)),
            "observation",
            "normalised",
        ),
        **read("loaded", refused(loaded), "observation"),
    }


def _flat(state: Any) -> Sequence[str]:
    """The names of a state, and of what is in mappings in it."""
    keys: List[str] = []
    for key, value in state.items():
        if hasattr(value, "items"):
            keys.extend(f"{key}/{below}" for below in _flat(value))
        else:
            keys.append(str(key))
    return keys


def _fixed_normalisation(make_env: Any, seed: int) -> Dict[str, Any]:
    """ObservationNorm whose scale is almost zero somewhere, and one without keys."""
    normalise = library("ObservationNorm", *_ENVS)
    rows = TensorDict({"observation": torch.linspace(-1, 1, 12).reshape(4, 3)}, [4])

    def scaled(kind: torch.dtype, standard: bool) -> Any:
        scale = torch.tensor([1e-9, 1e-4, 2.0], dtype=kind)
        transform = normalise(
            loc=torch.zeros(3, dtype=kind), scale=scale, in_keys=["observation"],
            standard_normal=standard,
        )  # fmt: skip
        return transform(rows.clone())["observation"]

    def without_keys() -> Any:
        transform = normalise(loc=torch.ones(3), scale=torch.full((3,), 2.0))
        return transform(rows.clone())["observation"]

    outputs = {
        f"{label}.{'standard' if standard else 'scaled'}": refused(partial(scaled, kind, standard))
        for label, kind in (("single", torch.float32), ("double", torch.float64))
        for standard in (True, False)
    }
    return {**outputs, "without-keys": refused(without_keys)}


def _counted_steps(make_env: Any, seed: int) -> Dict[str, Any]:
    """Limits of steps before, at and after the ends that an environment has by itself."""
    counter = library("StepCounter", *_ENVS)
    transformed = library("TransformedEnv", *_ENVS)

    def rolled(limit: int) -> Any:
        environment = transformed(GymWrapper(make_env(), device="cpu"), counter(max_steps=limit))
        environment.set_seed(seed)
        torch.manual_seed(seed)
        return environment.rollout(40, break_when_any_done=False)

    outputs: Dict[str, Any] = {}
    for limit in (5, 7, 10, 12):
        outputs.update(
            read(
                f"limit-{limit}",
                refused(partial(rolled, limit)),
                "step_count",
                ("next", "done"),
                ("next", "terminated"),
                ("next", "truncated"),
            )
        )
    return outputs


def _rewards_by_sign(make_env: Any, seed: int) -> Dict[str, Any]:
    """Rewards below, at and above zero made binary."""
    binarize = library("BinarizeReward", *_ENVS)
    rows = TensorDict({"reward": torch.tensor([[-1.5], [0.0], [0.25], [3.0]])}, [4])

    def made() -> Any:
        return binarize()(rows.clone())["reward"]

    return {"rewards": refused(made)}


def _casts(make_env: Any, seed: int) -> Dict[str, Any]:
    """Observations cast on the way out of an environment that takes actions of 64 bits.

    Whether its actions are cast, too, shows in what it says that it takes.
    """
    transformed = library("TransformedEnv", *_ENVS)
    cast = library("DoubleToFloat", *_ENVS)

    def stepped(**keys: Any) -> Any:
        options = {"observations": "float64", "actions": "float64"}
        environment = transformed(GymWrapper(make_env(**options), device="cpu"), cast(**keys))
        environment.set_seed(seed)
        begun = environment.reset()
        begun["action"] = torch.full((2,), 0.1, dtype=action_spec(environment).dtype)
        return environment.step(begun)

    outputs: Dict[str, Any] = {}
    for label, keys in (
        ("observations", {"in_keys": ["observation"]}),
        ("both", {"in_keys": ["observation"], "in_keys_inv": ["action"]}),
        ("default", {}),
    ):
        outputs.update(
            read(
                label,
                refused(partial(stepped, **keys)),
                "observation",
                "action",
                ("next", "reward"),
            )
        )
    return outputs


def _inverse_keys(make_env: Any, seed: int) -> Dict[str, Any]:
    """Inverse transforms whose keys outside and inside differ."""
    rows = TensorDict({"inside": torch.linspace(-1, 1, 4), "outside": torch.linspace(2, 3, 4)}, [4])

    def inverted(name: str, **options: Any) -> Any:
        transform = library(name, *_ENVS)(
            in_keys_inv=["inside"], out_keys_inv=["outside"], **options
        )
        return transform.inv(rows.clone())

    calls: Dict[str, Callable[[], Any]] = {
        "cast": partial(
            inverted, "DTypeCastTransform", dtype_in=torch.float32, dtype_out=torch.float64,
            in_keys=[],
        ),
        "scaled": partial(
            inverted, "ObservationNorm", loc=0.5, scale=2.0, in_keys=[], out_keys=[],
        ),
        "unsqueezed": partial(inverted, "UnsqueezeTransform", dim=-1, in_keys=[], out_keys=[]),
    }  # fmt: skip
    outputs: Dict[str, Any] = {}
    for label, call in calls.items():
        answer = refused(call)
        outputs[f"{label}.names"] = answer if isinstance(answer, str) else names(answer)
        outputs.update(read(label, answer, "inside", "outside"))
    return outputs


def _several_steps(make_env: Any, seed: int) -> Dict[str, Any]:
    """Returns of several steps over trajectories that end in different ways."""
    rows = torch.stack([steps("..t...l...."), steps("......t....", first=20)])
    mask = torch.ones(2, 11, dtype=torch.bool)
    mask[1, 7:] = False
    masked: Any = rows.clone()
    masked["collector"] = TensorDict({"mask": mask}, [2, 11])
    keys = (
        ("next", "reward"), ("next", "observation"), ("next", "done"), ("next", "terminated"),
        ("next", "truncated"), "gamma", "steps_to_next_obs", "nonterminal",
    )  # fmt: skip

    def folded(given: Any, count: int) -> Any:
        return MultiStep(gamma=0.5, n_steps=count)(given.clone())

    outputs: Dict[str, Any] = {}
    for label, given in (("rows", rows), ("masked", masked)):
        for count in (0, 1, 3):
            outputs.update(read(f"{label}-{count}", refused(partial(folded, given, count)), *keys))
    return outputs


def _around_an_environment(
    make_env: Any, seed: int, cases: Dict[str, Callable[[], Any]], **options: Any
) -> Dict[str, Any]:
    """All that a rollout over several ends holds, with each of several transforms around it."""
    transformed = library("TransformedEnv", *_ENVS)
    composed = library("Compose", *_ENVS)

    def rolled(make: Callable[[], Any]) -> Any:
        around = make()
        parts = around if isinstance(around, list) else [around]
        environment = transformed(GymWrapper(make_env(**options), device="cpu"), composed(*parts))
        environment.set_seed(seed)
        torch.manual_seed(seed)
        return environment.rollout(14, break_when_any_done=False)

    outputs: Dict[str, Any] = {}
    for label, make in cases.items():
        answer = refused(partial(rolled, make))
        if isinstance(answer, str):
            outputs[label] = answer
        else:
            outputs.update(read(label, answer, *sorted(answer.keys(True, True), key=str)))
    return outputs


def _offered(name: str, **options: Any) -> Callable[[], Any]:
    """Makes a transform; Unsupported at once for one that the version lacks, or for an option."""
    kind = library(name, *_ENVS)
    check_arguments(kind, options)
    return partial(kind, **options)


def _returns_and_rewards(make_env: Any, seed: int) -> Dict[str, Any]:
    """Returns to come, sums, signs and scales of rewards; frames that are skipped."""
    return _around_an_environment(
        make_env,
        seed,
        {
            "falling-target": _offered("TargetReturn", target_return=10.0),
            "fixed-target": _offered("TargetReturn", target_return=10.0, mode="constant"),
            "skipped": _offered("FrameSkipTransform", frame_skip=3),
            "sum": _offered("RewardSum"),
            "sign": _offered("SignTransform", in_keys=["reward"]),
            "standard": _offered("RewardScaling", loc=0.2, scale=0.4, standard_normal=True),
            "scaled": _offered("RewardScaling", loc=0.2, scale=0.4),
            "clipped": _offered("RewardClipping", clamp_min=-0.3, clamp_max=0.2),
        },
    )


def _rewards_to_go(make_env: Any, seed: int) -> Dict[str, Any]:
    """Rewards to go over batches in which episodes end."""
    rows = torch.stack([steps("..t...l...t"), steps("......t...l", first=20)])
    make = _offered("Reward2GoTransform", gamma=0.8, out_keys=["to_go"])
    answer = refused(lambda: make().inv(rows.clone()))
    return read("to-go", answer, "to_go", ("next", "reward"))


def _running_statistics(make_env: Any, seed: int) -> Dict[str, Any]:
    """The newer running normaliser, with a state of its own and with one in the data."""
    keys = {"in_keys": ["observation", "reward"], "out_keys": ["seen", "gain"]}
    return _around_an_environment(
        make_env,
        seed,
        {
            "own": _offered("VecNormV2", **keys, decay=0.9),
            "data": _offered("VecNormV2", in_keys=["observation"], decay=0.9, stateful=False),
            "wide": _offered("VecNormV2", **keys, decay=0.5, eps=0.1),
        },
    )


def _shapes_and_keys(make_env: Any, seed: int) -> Dict[str, Any]:
    """Observations joined, renamed, clipped, counted; resets by chance; the greatest of frames."""
    keys = {"in_keys": ["observation"]}
    return _around_an_environment(
        make_env,
        seed,
        {
            "unsqueezed": _offered("UnsqueezeTransform", dim=-1, **keys),
            "renamed": _offered("RenameTransform", **keys, out_keys=["seen"]),
            "copied": _offered("RenameTransform", **keys, out_keys=["seen"], create_copy=True),
            "clipped": _offered("ClipTransform", **keys, low=-0.3, high=0.2),
            "greatest": _offered("TimeMaxPool", **keys, T=3),
            "tracked": _offered("InitTracker"),
            "only-counted": _offered("StepCounter", max_steps=4, update_done=False),
            "noops": _offered("NoopResetEnv", noops=2, random=False),
            "joined": _offered("CatTensors", **keys, out_key="all", del_keys=False),
        },
    )


def _pictures(make_env: Any, seed: int) -> Dict[str, Any]:
    """Images that are stacked, made grey, and normalised by fixed numbers."""
    keys = {"in_keys": ["observation"]}
    tensor = _offered("ToTensorImage", **keys)
    stacked = _offered("CatFrames", N=3, dim=-3, **keys)
    grey = _offered("GrayScale", **keys)
    normalised = _offered("ObservationNorm", loc=0.2, scale=0.4, **keys)
    return _around_an_environment(
        make_env,
        seed,
        {
            "grey": lambda: [tensor(), stacked(), grey()],
            "normalised": lambda: [tensor(), normalised()],
        },
        observations="image",
    )


API_CASES = {
    "discretized-actions": _positions,
    "frames-of-batches": _frames_of_batches,
    "frames-in-a-buffer": _frames_in_a_buffer,
    "running-normalisation": _normalised,
    "running-normalisation-of-rows": _normalised_rows,
    "fixed-normalisation": _fixed_normalisation,
    "counted-steps": _counted_steps,
    "rewards-by-sign": _rewards_by_sign,
    "casts": _casts,
    "inverse-keys": _inverse_keys,
    "several-steps": _several_steps,
    "returns-and-rewards": _returns_and_rewards,
    "rewards-to-go": _rewards_to_go,
    "running-statistics": _running_statistics,
    "shapes-and-keys": _shapes_and_keys,
    "pictures": _pictures,
}
