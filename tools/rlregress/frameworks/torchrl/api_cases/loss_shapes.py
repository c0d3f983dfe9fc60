"""Losses on specifications, heads, masks and devices of every kind, and what they refuse."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, Callable, Dict, List

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl.api_cases.loss_options import LOSSES, batch_for
from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import (
    ACTIONS,
    CHOICES,
    OBSERVATIONS,
    action_value,
    actor_of_heads,
    answers,
    at,
    bounds,
    deterministic,
    q_values,
    scored,
    steps,
    stochastic,
    value,
    with_gradients,
)

_NAMES = {
    "ppo": "PPOLoss", "clip": "ClipPPOLoss", "kl": "KLPENPPOLoss", "a2c": "A2CLoss",
    "reinforce": "ReinforceLoss", "sac": "SACLoss", "discrete_sac": "DiscreteSACLoss",
    "td3": "TD3Loss", "ddpg": "DDPGLoss", "dqn": "DQNLoss",
    "distributional": "DistributionalDQNLoss",
}  # fmt: skip


def _objective(name: str) -> Any:
    return library("torchrl.objectives", name)


def _summed(total: bool) -> Any:
    return library("tensordict.nn", "set_composite_lp_aggregate")(total)


def _default_keys(make_env: Any, seed: int) -> Dict[str, Any]:
    """The keys that every loss has by default, with log-probabilities summed and apart."""

    def outputs(label: str, total: bool) -> Any:
        with _summed(total):
            keys = dataclasses.asdict(_objective(_NAMES[label]).default_keys())
        return str(sorted(keys.items()))

    def held(label: str, total: bool) -> Any:
        with _summed(total):
            loss = LOSSES[label]()
            keys = {name: str(key) for name, key in vars(loss.tensor_keys).items()}
            return {"keys": str(sorted(keys.items())), "in": str(sorted(map(str, loss.in_keys)))}

    def scored_so(label: str) -> Any:
        with _summed(True):
            return with_gradients(LOSSES[label](), batch_for(label, 2, 6))

    calls: Dict[str, Any] = {}
    for label in _NAMES:
        for total in (True, False):
            calls[f"{label}.{total}"] = partial(outputs, label, total)
            if label in LOSSES:
                calls[f"{label}.{total}.held"] = partial(held, label, total)
        if label in LOSSES:
            calls[f"{label}.summed"] = partial(scored_so, label)
    return answers(seed, **calls)


def _devices(make_env: Any, seed: int) -> Dict[str, Any]:
    """Where estimators of losses are: beside all parameters, or nowhere; double precision."""

    def outputs(label: str, *moved: int) -> Any:
        networks = [
            network.to("meta") if k in moved else network
            for k, network in enumerate(_networks(label))
        ]
        loss = _objective(_NAMES[label])(*networks, **_options(label))
        return str(loss.value_estimator.gamma.device)

    def sent(label: str) -> Any:
        loss = _objective(_NAMES[label])(*_networks(label), **_options(label)).to("meta")
        return str(loss.value_estimator.gamma.device)

    def doubled(label: str) -> Any:
        # what a loss keeps of its networks between two calls is another thing afterwards
        loss, batch = LOSSES[label](), batch_for(label, 2, 6)
        before = with_gradients(loss, batch.clone())
        loss.zero_grad()
        loss.double()
        after = batch.apply(
            lambda tensor: tensor.double() if tensor.is_floating_point() else tensor
        )
        return {**{f"before.{k}": v for k, v in before.items()}, **with_gradients(loss, after)}

    calls: Dict[str, Any] = {}
    for label in ("ppo", "clip", "a2c", "reinforce", "sac", "td3", "ddpg", "dqn"):
        calls[f"{label}.here"] = partial(outputs, label)
        calls[f"{label}.elsewhere"] = partial(outputs, label, 0, 1)
        calls[f"{label}.split"] = partial(outputs, label, 1)
        calls[f"{label}.sent"] = partial(sent, label)
        calls[f"{label}.double"] = partial(doubled, label)
    return answers(seed, **calls)


def _networks(label: str) -> List[Any]:
    gaussian = stochastic(library("torchrl.modules", "TanhNormal"))
    if label in ("ppo", "clip", "kl", "a2c", "reinforce"):
        return [gaussian, value()]
    if label == "dqn":
        return [q_values()]
    return [gaussian if label == "sac" else deterministic(), action_value()]


def _options(label: str) -> Dict[str, Any]:
    return {
        "sac": {"action_spec": bounds()}, "td3": {"bounds": (-1.0, 1.0)},
        "dqn": {"action_space": "one_hot"},
    }.get(label, {})  # fmt: skip


# -- specifications -----------------------------------------------------------------------------


def _nested(kind: Any, key: Any = ("agents", "action")) -> Any:
    """A loss whose action is below another entry from the beginning."""

    @dataclasses.dataclass
    class Keys(kind._AcceptedKeys):
        """The same keys but for the action."""

        action: Any = key

    class Nested(kind):
        """The same loss."""

        _AcceptedKeys = Keys
        default_keys = Keys

    return Nested


def _specifications(make_env: Any, seed: int) -> Dict[str, Any]:
    """Actions by bounds, by a specification, within others, side by side; what is refused."""
    composite, unbounded = (library("torchrl.data", name) for name in ("Composite", "Unbounded"))
    flat = partial(bounds, -0.4, 0.6)

    def below(*shape: int) -> Any:
        inner = composite({"action": flat().expand(3, *shape, ACTIONS)}, shape=(3, *shape))
        return composite({"agents": inner}, shape=(3,))

    def lowest() -> Any:
        inner = composite({"action": flat().expand(3, 4, ACTIONS)}, shape=(3, 4))
        return composite({"team": composite({"agents": inner}, shape=(3,))}, shape=(3,))

    def uneven() -> Any:
        kind = library("torchrl.data", "Bounded", "BoundedTensorSpec")
        least = -torch.arange(1.0, 1.0 + 3 * ACTIONS).reshape(3, ACTIONS)
        return composite({"action": kind(least, -least, shape=(3, ACTIONS))}, shape=(3,))

    given: Dict[str, Callable[[], Dict[str, Any]]] = {
        "bounds": lambda: {"bounds": (-0.4, 0.6)},
        "tensors": lambda: {"bounds": (torch.tensor([-0.4, -0.1]), torch.tensor([0.6, 0.2]))},
        "low": lambda: {"bounds": (torch.tensor(-0.4), 0.6)},
        "bounded": lambda: {"action_spec": flat()},
        "composite": lambda: {"action_spec": composite({"action": flat()})},
        "rows": lambda: {
            "action_spec": composite({"action": flat().expand(3, ACTIONS)}, shape=(3,))
        },
        "below": lambda: {"action_spec": below()},
        "deeper": lambda: {"action_spec": below(4)},
        "uneven": lambda: {"action_spec": uneven()},
        "lowest": lambda: {"action_spec": lowest()},
        "none": dict, "both": lambda: {"bounds": (-1.0, 1.0), "action_spec": flat()},
        "unbounded": lambda: {"action_spec": unbounded(shape=(ACTIONS,))},
        "turned": lambda: {"bounds": (0.6, -0.4)},
        "turned_one": lambda: {"bounds": (torch.tensor([-1.0, 0.9]), torch.tensor([1.0, 0.5]))},
    }  # fmt: skip

    def limits(kind: Any, label: str) -> Any:
        loss = made(kind, deterministic(), action_value(), **given[label]())
        return {"least": loss.min_action, "most": loss.max_action}

    def forward(label: str) -> Any:
        loss = made(_objective("TD3Loss"), deterministic(), action_value(), **given[label]())
        loss.make_value_estimator(gamma=0.9)
        return with_gradients(loss, steps(6))

    key = ("team", "agents", "action")

    def entropy(label: str, nested: Any = None) -> Any:
        actor = stochastic(library("torchrl.modules", "TanhNormal"))
        options = {k: v for k, v in given[label]().items() if k != "bounds"}
        loss = made(_objective("SACLoss"), actor, action_value(), **options)
        if nested:
            loss.set_keys(action=nested)
        return [float(loss.target_entropy), float(loss.target_entropy_buffer)]

    def heads(spec: Any) -> Any:
        actor = stochastic(library("torchrl.modules", "TanhNormal"))
        loss = made(_objective("SACLoss"), actor, action_value(), action_spec=spec)
        return float(loss.target_entropy)

    td3 = _objective("TD3Loss")
    calls: Dict[str, Any] = {
        "heads": lambda: heads(composite({"action": composite({
            "move": flat(), "turn": bounds(), "deep": composite({"aim": bounds()}), "gone": None,
        })})),
        "lacking": lambda: heads(composite({"action": None})),
    }  # fmt: skip
    for label in given:
        calls[f"td3.{label}"] = partial(limits, td3, label)
        calls[f"td3.{label}.nested"] = partial(limits, _nested(td3), label)
        calls[f"td3.{label}.loss"] = partial(forward, label)
        calls[f"sac.{label}"] = partial(entropy, label)
        calls[f"sac.{label}.nested"] = partial(entropy, label, ("agents", "action"))
    calls["td3.lowest.named"] = partial(limits, _nested(td3, key), "lowest")
    calls["sac.lowest.named"] = partial(entropy, "lowest", key)
    return answers(seed, **calls)


def _choices(make_env: Any, seed: int) -> Dict[str, Any]:
    """Distributions of returns of indexed and of one-hot choices: shapes, weights, steps, masks."""
    kind = _objective("DistributionalDQNLoss")
    actor = library("torchrl.modules", "DistributionalQValueActor")

    def loss_of(space: str, atoms: int = 5, **options: Any) -> Any:
        network = nn.Sequential(
            nn.Linear(OBSERVATIONS, atoms * CHOICES), nn.Unflatten(-1, (atoms, CHOICES))
        )
        support = torch.linspace(-2.0, 2.0, atoms)
        made_one = actor(network, support=support, in_keys=["observation"], action_space=space)
        return made(kind, made_one, **{"gamma": 0.9, **options})

    def batch(space: str, *shape: int, column: bool = False, **more: Any) -> Any:
        taken = torch.randint(0, CHOICES, shape)
        hot = nn.functional.one_hot(taken, CHOICES)
        action = hot if space == "one_hot" else taken.unsqueeze(-1) if column else taken
        ends = torch.arange(shape[0]).reshape(-1, *(1,) * len(shape)) == 2
        ends = ends.expand(*shape, 1).clone()
        return steps(*shape, action=action, done=ends, terminated=ends, **more)

    def forward(space: str, *shape: int, column: bool = False, **options: Any) -> Any:
        names = ("priority_weight", "steps_to_next_obs", "shifted_valid", "size")
        more = {name: options.pop(name)() for name in names if name in options}
        given = batch(
            space, *shape, column=column, **{k: v for k, v in more.items() if k != "size"}
        )
        given["next", "reward"] = more.get("size", 1.0) * given["next", "reward"]
        return with_gradients(loss_of(space, **options), given)

    def estimator(*named: Any) -> Any:
        loss = loss_of("one_hot")
        loss.make_value_estimator(*named)
        loss.set_keys(reward="gain")
        return str([str(loss.value_type), str(loss.tensor_keys.reward)])

    def by_default() -> Any:
        loss = loss_of("one_hot")
        return str([str(loss.value_estimator), str(loss.value_type)])

    kinds = library("torchrl.objectives", "ValueEstimators")
    td0 = library("torchrl.objectives.value", "TD0Estimator")
    calls: Dict[str, Any] = {
        "estimator": estimator, "estimator.default": by_default,
        "estimator.other": lambda: estimator(kinds.GAE),
        "estimator.made": lambda: estimator(td0(gamma=0.5, value_network=value())),
    }  # fmt: skip
    for space in ("one_hot", "categorical"):
        for label, options in (
            ("plain", {}), ("column", {"column": True}), ("sum", {"reduction": "sum"}),
            ("none", {"reduction": "none"}), ("present", {"delay_value": False}),
            ("fine", {"atoms": 11}), ("large", {"size": lambda: 9.0}),
            ("exact", {"size": lambda: 0.0}), ("endless", {"size": lambda: float("nan")}),
            ("weighted", {"priority_weight": lambda: 0.5 + torch.rand(6)}),
            ("unweighted", {"priority_weight": lambda: 0.5 + torch.rand(6),
                            "use_prioritized_weights": False}),
            ("steps", {"steps_to_next_obs": lambda: 1 + torch.arange(6).unsqueeze(-1) % 3}),
            ("marked", {"shifted_valid": lambda: torch.arange(6) != 4}),
        ):  # fmt: skip
            calls[f"{space}.{label}"] = partial(forward, space, 6, **options)
        calls[f"{space}.one"] = partial(forward, space, 1)
        calls[f"{space}.rows"] = partial(forward, space, 2, 6)
    return answers(seed, **calls, **_spaces())


def _spaces() -> Dict[str, Any]:
    """Spaces of choices: from the network, from a specification, and none."""
    from tensordict.nn import TensorDictModule

    one_hot = library("torchrl.data", "OneHot")
    categorical = library("torchrl.data", "Categorical")
    kind = _objective("DQNLoss")

    def forward(network: Any, **options: Any) -> Any:
        loss = made(kind, network, **options)
        loss.make_value_estimator(gamma=0.9)
        indexed = loss.action_space == "categorical"
        taken = torch.arange(6) % CHOICES
        action = taken if indexed else nn.functional.one_hot(taken, CHOICES)
        return {"space": str(loss.action_space), **with_gradients(loss, steps(6, action=action))}

    def nameless() -> Any:
        network = nn.Linear(OBSERVATIONS, CHOICES)
        return TensorDictModule(network, ["observation"], ["action_value"])

    return {
        "space.hot": lambda: forward(q_values(), action_space=one_hot(CHOICES)),
        "space.indexed": lambda: forward(
            q_values(action_space="categorical"), action_space=categorical(CHOICES)
        ),
        "space.of_the_network": lambda: forward(q_values()),
        "space.none": lambda: forward(nameless()),
        "space.plain": lambda: forward(nn.Linear(OBSERVATIONS, CHOICES), action_space="one_hot"),
        "space.plain.none": lambda: forward(nn.Linear(OBSERVATIONS, CHOICES)),
        "space.unknown": lambda: forward(q_values(), action_space="words"),
        "double": lambda: forward(
            q_values(), action_space="one_hot", double_dqn=True, delay_value=True
        ),
        "double.present": lambda: forward(q_values(), double_dqn=True, delay_value=False),
    }  # fmt: skip


# -- heads --------------------------------------------------------------------------------------


def _heads(make_env: Any, seed: int) -> Dict[str, Any]:
    """Several heads in every loss: summed and apart, in rows, without formulas, delayed."""
    normal, tanh = (library("torchrl.modules", n) for n in ("IndependentNormal", "TanhNormal"))

    class Rigid(torch.distributions.Categorical):
        """A head without a formula of its entropy, and without gradients of draws."""

        entropy = torch.distributions.Distribution.entropy

    def forward(
        name: str, total: bool, shape: Any, nested: bool = False, move: Any = normal, **more: Any
    ) -> Any:
        from torchrl.envs.utils import ExplorationType, set_exploration_type

        choice = more.pop("choice", torch.distributions.Categorical)
        with _summed(total):
            actor = actor_of_heads(move, nested, choice)
            gone = ("action", "action_log_prob", "sample_log_prob", "loc", "scale")
            with set_exploration_type(ExplorationType.RANDOM), torch.no_grad():
                batch = actor(scored(*shape).exclude(*gone))
                for parameter in actor.parameters():
                    parameter.add_(0.3 * torch.randn_like(parameter))
            loss = made(_objective(name), actor, value(), **more)
            if total:
                # of heads whose log-probabilities are summed a loss knows the first action alone
                loss.set_keys(action=actor.dist_sample_keys)
            loss.make_value_estimator(gamma=0.9)
            return with_gradients(loss, batch)

    calls: Dict[str, Any] = {}
    for label in ("ppo", "clip", "kl", "a2c"):
        name = _NAMES[label]
        for total in (True, False):
            for case, shape in (("row", (6,)), ("rows", (2, 3))):
                for nested in (False, True):
                    calls[f"{label}.{total}.{case}.{nested}"] = partial(
                        forward, name, total, shape, nested
                    )
            calls[f"{label}.{total}.sampled"] = partial(
                forward, name, total, (6,), move=tanh, samples_mc_entropy=2
            )
            calls[f"{label}.{total}.rigid"] = partial(
                forward, name, total, (6,), choice=Rigid, samples_mc_entropy=2
            )
            if label in ("ppo", "clip"):
                calls[f"{label}.{total}.delayed"] = partial(
                    forward, name, total, (2, 3), delay_actor=True, max_importance_ratio=1.1
                )
    return answers(seed, **calls)


# -- masks and reductions -----------------------------------------------------------------------


def _masks(make_env: Any, seed: int) -> Dict[str, Any]:
    """Entries that say which steps count: by their key, by none, wider and deeper than a loss."""

    def masked(label: str, key: Any, shape: Any = (2, 6), **more: Any) -> Any:
        options = {"scalar_output_mode": "exclude"} if "sac" in label else {}
        loss = LOSSES[label](**options, **more)
        loss.loss_mask_key = key
        flags = (torch.arange(int(np.prod(shape))).reshape(shape) % 4) != 1
        batch = batch_for(label, 2, 6, shifted_valid=~at((2, 6), 4).squeeze(-1))
        batch["own"] = flags
        return {"key": str(loss.loss_mask_key), **with_gradients(loss, batch)}

    def taken(loss: Any, **given: Any) -> Any:
        return LOSSES["dqn"]()._reduce_loss(loss, **given)

    losses, weights = torch.arange(12.0).reshape(2, 6), 0.5 + torch.arange(12.0).reshape(2, 6) / 9
    mask = (torch.arange(12).reshape(2, 6) % 3) != 1
    calls: Dict[str, Any] = {}
    for label in ("clip", "a2c", "td3", "dqn", "sac", "discrete_sac"):
        for case, key in (("auto", "auto"), ("own", "own"), ("none", None), ("tuple", ("own",)),
                          ("number", 3), ("list", ["own"])):  # fmt: skip
            calls[f"{label}.{case}"] = partial(masked, label, key)
        for case, shape in (("column", (2, 6, 1)), ("deep", (2, 6, 1, 1)), ("wide", (2, 6, 2))):
            calls[f"{label}.{case}"] = partial(masked, label, "own", shape=shape)
        for reduction in ("none", "sum"):
            calls[f"{label}.own.{reduction}"] = partial(masked, label, "own", reduction=reduction)
    every: List[Any] = ["mean", "sum", "none", "median", None]
    for kind in every:
        for case, given in (
            ("plain", {}), ("mask", {"mask": mask}), ("weights", {"weights": weights}),
            ("both", {"mask": mask, "weights": weights}),
            ("other", {"weights": weights[0]}), ("column", {"mask": mask.unsqueeze(-1)}),
            ("nothing", {"mask": torch.zeros_like(mask)}),
            ("rows", {"mask": mask[:, 0], "weights": weights[:, 0]}),
        ):  # fmt: skip
            calls[f"reduced.{kind}.{case}"] = partial(taken, losses, reduction=kind, **given)
    return answers(seed, **calls)


API_CASES = {
    "default-keys-of-losses": _default_keys,
    "devices-of-losses": _devices,
    "specifications-of-losses": _specifications,
    "distributional-choices": _choices,
    "heads-in-every-loss": _heads,
    "steps-that-count-in-losses": _masks,
}
