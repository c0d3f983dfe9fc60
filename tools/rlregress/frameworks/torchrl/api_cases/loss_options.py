"""What losses have in common: keys, networks, reductions, modes of acting, shapes."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any, Callable, Dict

import torch
from torch import nn

from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import (
    ACTIONS,
    CHOICES,
    OBSERVATIONS,
    action_value,
    answers,
    at,
    bounds,
    choice_values,
    choosing,
    chosen,
    deterministic,
    entries,
    q_values,
    scored,
    steps,
    stochastic,
    value,
    with_gradients,
)


def _loss(name: str, *networks: Any, **options: Any) -> Any:
    loss = made(library("torchrl.objectives", name), *networks, **options)
    loss.make_value_estimator(gamma=0.9)
    return loss


def _gaussian() -> Any:
    return stochastic(library("torchrl.modules", "TanhNormal"))


#: label -> a loss with options; the same networks on every version.
LOSSES: Dict[str, Callable[..., Any]] = {
    "ppo": lambda **o: _loss("PPOLoss", _gaussian(), value(), **o),
    "clip": lambda **o: _loss("ClipPPOLoss", _gaussian(), value(), **o),
    "kl": lambda **o: _loss("KLPENPPOLoss", _gaussian(), value(), **o),
    "a2c": lambda **o: _loss("A2CLoss", _gaussian(), value(), **o),
    "reinforce": lambda **o: _loss("ReinforceLoss", _gaussian(), value(), **o),
    "sac": lambda **o: _loss("SACLoss", _gaussian(), action_value(), action_spec=bounds(), **o),
    "sac_1": lambda **o: _loss(
        "SACLoss", _gaussian(), action_value(), value(), action_spec=bounds(), **o
    ),
    "td3": lambda **o: _loss("TD3Loss", deterministic(), action_value(), bounds=(-1.0, 1.0), **o),
    "ddpg": lambda **o: _loss("DDPGLoss", deterministic(), action_value(), **o),
    "dqn": lambda **o: _loss("DQNLoss", q_values(), action_space="one_hot", **o),
    "discrete_sac": lambda **o: _loss(
        "DiscreteSACLoss",
        choosing(library("torchrl.modules", "OneHotCategorical")),
        choice_values(),
        num_actions=CHOICES,
        action_space="one_hot",
        **o,
    ),
}
_ON_POLICY = ("ppo", "clip", "kl", "a2c", "reinforce")
_WITH_CHOICES = ("dqn", "discrete_sac")
#: those that return numbers of no step beside losses of each
_SCALARS = ("sac", "sac_1", "discrete_sac")


def batch_for(label: str, *shape: int, **more: Any) -> Any:
    """Steps that suit a loss; one is the last of an episode, another is cut."""
    ends = {"done": at(shape, 1, 3), "terminated": at(shape, 3)}
    make = scored if label in _ON_POLICY else chosen if label in _WITH_CHOICES else steps
    return make(*shape, **ends, **more)


def _counting() -> torch.Tensor:
    """Whether each of 2 times 6 steps counts: all but one of either row."""
    return ~at((2, 6), 4).squeeze(-1)


def _raise(network: Any) -> None:
    """Add one to all parameters."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1.0)


def _keys(make_env: Any, seed: int) -> Dict[str, Any]:
    """What every loss says that it reads and writes: as it is made, without entropy, renamed."""

    def outputs(label: str, reward: str = "", **options: Any) -> Any:
        loss = LOSSES[label](**options)
        if reward:
            loss.set_keys(reward=reward)
        return {"in": str(sorted(map(str, loss.in_keys))), "out": str(loss.out_keys)}

    calls: Dict[str, Any] = {}
    for label in LOSSES:
        calls[label] = partial(outputs, label)
        calls[f"{label}.renamed"] = partial(outputs, label, reward="gain")
    for label in ("ppo", "clip", "kl", "a2c"):
        calls[f"{label}.silent"] = partial(outputs, label, entropy_bonus=False)
    for label in ("clip", "a2c"):
        calls[f"{label}.clipped"] = partial(outputs, label, clip_value=0.2)
    calls["sac.fixed"] = partial(outputs, "sac", fixed_alpha=True)
    return answers(seed, **calls)


def _networks(make_env: Any, seed: int) -> Dict[str, Any]:
    """A network that is taken out of a loss, changed, and put back; one of other layers."""

    def first(loss: Any, name: str) -> torch.Tensor:
        return next(iter(entries(getattr(loss, f"{name}_params")).values())).detach().clone()

    def put_back(label: str, name: str) -> Any:
        loss = LOSSES[label]()
        before, network = first(loss, name), deepcopy(loss.get_stateful_net(name))
        _raise(network)
        between = first(loss, name)
        loss.from_stateful_net(name, network)
        return {"before": before, "between": between, "after": first(loss, name)}

    def itself(label: str, name: str) -> Any:
        loss = LOSSES[label](functional=False)
        network = loss.get_stateful_net(name)
        _raise(network)
        loss.from_stateful_net(name, network)
        return next(iter(getattr(loss, name).parameters())).detach().clone()

    def other(label: str, name: str) -> Any:
        LOSSES[label]().from_stateful_net(name, nn.Linear(1, 1))

    def again(label: str) -> Any:
        loss = LOSSES[label]()
        loss.reset_parameters_recursive()
        return {name: parameter.detach().clone() for name, parameter in loss.named_parameters()}

    calls: Dict[str, Any] = {}
    for label, name in (
        ("ppo", "actor_network"), ("a2c", "critic_network"), ("ddpg", "value_network"),
        ("dqn", "value_network"),
    ):  # fmt: skip
        calls[f"{label}.put_back"] = partial(put_back, label, name)
        calls[f"{label}.other"] = partial(other, label, name)
    for label, name in (("ppo", "actor_network"), ("a2c", "critic_network")):
        calls[f"{label}.itself"] = partial(itself, label, name)
    calls.update({f"{label}.again": partial(again, label) for label in LOSSES})
    return answers(seed, **calls)


def _shared(make_env: Any, seed: int) -> Dict[str, Any]:
    """Actor and critic with layers in common, which one of the losses alone is to move."""

    def moved(name: str, **options: Any) -> Any:
        from tensordict.nn import NormalParamExtractor, TensorDictModule
        from torchrl.modules import ActorValueOperator, ProbabilisticActor, ValueOperator

        common = TensorDictModule(nn.Linear(OBSERVATIONS, 4), ["observation"], ["hidden"])
        head = nn.Sequential(nn.Linear(4, 2 * ACTIONS), NormalParamExtractor())
        actor = ProbabilisticActor(
            TensorDictModule(head, ["hidden"], ["loc", "scale"]),
            in_keys=["loc", "scale"],
            distribution_class=library("torchrl.modules", "IndependentNormal"),
            return_log_prob=True,
        )
        both = ActorValueOperator(common, actor, ValueOperator(nn.Linear(4, 1), ["hidden"]))
        networks = both.get_policy_operator(), both.get_value_operator()
        return with_gradients(_loss(name, *networks, **options), batch_for("clip", 2, 6))

    calls: Dict[str, Any] = {}
    for name in ("ClipPPOLoss", "A2CLoss"):
        for separate in (False, True):
            calls[f"{name}.{separate}"] = partial(moved, name, separate_losses=separate)
    return answers(seed, **calls)


def _reduced(make_env: Any, seed: int) -> Dict[str, Any]:
    """Every loss reduced in every way: all steps, some of them, with and without weights."""

    def reduced(label: str, reduction: str, masked: bool, weighted: bool) -> Any:
        options = {"scalar_output_mode": "exclude"} if label in _SCALARS else {}
        more: Dict[str, Any] = {}
        if masked:
            more["shifted_valid"] = _counting()
        if weighted:
            more["priority_weight"] = 0.5 + torch.rand(2, 6)
        return with_gradients(
            LOSSES[label](reduction=reduction, **options), batch_for(label, 2, 6, **more)
        )

    calls: Dict[str, Any] = {}
    for label in LOSSES:
        for reduction in ("mean", "sum", "none"):
            for masked in (False, True):
                calls[f"{label}.{reduction}{'.masked' * masked}"] = partial(
                    reduced, label, reduction, masked, False
                )
            if label not in _ON_POLICY:
                calls[f"{label}.{reduction}.weighted"] = partial(
                    reduced, label, reduction, False, True
                )
                calls[f"{label}.{reduction}.masked.weighted"] = partial(
                    reduced, label, reduction, True, True
                )
    calls["unknown"] = lambda: with_gradients(
        LOSSES["dqn"](reduction="median"), batch_for("dqn", 2, 6)
    )
    return answers(seed, **calls)


def _priorities(make_env: Any, seed: int) -> Dict[str, Any]:
    """Weights of prioritised replay that a loss is to use, or is not, and has or has not."""

    def weighted(label: str, used: Any, given: bool) -> Any:
        more = {"priority_weight": 0.5 + torch.rand(6)} if given else {}
        batch = batch_for(label, 6).update(more)
        return with_gradients(LOSSES[label](use_prioritized_weights=used), batch)

    calls: Dict[str, Any] = {}
    for label in ("sac", "td3", "ddpg", "dqn", "discrete_sac"):
        for used in (True, False, "auto"):
            for given in (True, False):
                calls[f"{label}.{used}.{given}"] = partial(weighted, label, used, given)
    return answers(seed, **calls)


def _halves(make_env: Any, seed: int) -> Dict[str, Any]:
    """One of the losses of a loss by itself, while actions are drawn at random elsewhere."""

    def half(label: str, method: str) -> Any:
        from torchrl.envs.utils import ExplorationType, set_exploration_type

        loss = LOSSES[label]()
        with set_exploration_type(ExplorationType.RANDOM):
            returned = getattr(loss, method)(batch_for(label, 6))
        losses = returned[0] if isinstance(returned, tuple) else returned
        return losses.detach()

    calls = {
        f"{label}.{method}": partial(half, label, method)
        for label, method in (
            ("sac", "actor_loss"), ("sac", "qvalue_v2_loss"), ("td3", "actor_loss"),
            ("td3", "value_loss"), ("ddpg", "loss_value"), ("discrete_sac", "actor_loss"),
            ("ppo", "loss_critic"), ("a2c", "loss_critic"),
        )
    }  # fmt: skip
    return answers(seed, **calls)


def _shapes(make_env: Any, seed: int) -> Dict[str, Any]:
    """Advantages without their last dimension, one for all, and of two values."""

    def shaped(label: str, *shape: int) -> Any:
        return with_gradients(
            LOSSES[label](), batch_for(label, 6).update({"advantage": torch.randn(6, *shape)})
        )

    calls: Dict[str, Any] = {}
    for label in ("ppo", "clip", "kl", "a2c", "reinforce"):
        for name, shape in (("flat", ()), ("one", (1,)), ("two", (2,))):
            calls[f"{label}.{name}"] = partial(shaped, label, *shape)
    return answers(seed, **calls)


def _estimators(make_env: Any, seed: int) -> Dict[str, Any]:
    """The estimator of a loss: by its name, as a class, as one that is made, and none."""
    names = library("torchrl.objectives", "ValueEstimators")
    gae = library("torchrl.objectives.value", "GAE")
    td0 = library("torchrl.objectives.value", "TD0Estimator")

    def outputs(label: str, *given: Any, **options: Any) -> Any:
        loss = LOSSES[label]()
        loss.make_value_estimator(*given, **options)
        estimator = loss.value_estimator
        numbers = [
            float(getattr(estimator, n)) for n in ("gamma", "lmbda") if hasattr(estimator, n)
        ]
        keys = [str(estimator.tensor_keys.reward), str(estimator.tensor_keys.value)]
        return {
            "kind": type(estimator).__name__,
            "numbers": torch.tensor(numbers),
            "keys": str(keys),
        }

    def default(name: str, *networks: Any) -> Any:
        estimator = library("torchrl.objectives", name)(*networks).value_estimator
        return {"kind": type(estimator).__name__, "gamma": estimator.gamma}

    calls: Dict[str, Any] = {
        "ppo.default": lambda: default("PPOLoss", _gaussian(), value()),
        "ddpg.default": lambda: default("DDPGLoss", deterministic(), action_value()),
    }
    for label in LOSSES:
        for kind in ("TD0", "TD1", "TDLambda", "GAE", "VTrace"):
            calls[f"{label}.{kind}"] = lambda label=label, kind=kind: outputs(
                label, getattr(names, kind), gamma=0.7
            )
        calls[f"{label}.unknown"] = partial(outputs, label, "mean")
        calls[f"{label}.class"] = lambda label=label: outputs(
            label, td0, gamma=0.6, value_network=value()
        )
        calls[f"{label}.made"] = lambda label=label: outputs(
            label, gae(gamma=0.6, lmbda=0.5, value_network=value())
        )
    return answers(seed, **calls)


def _keys_again(make_env: Any, seed: int) -> Dict[str, Any]:
    """Keys that are set, set back to the default, and unknown; the list of what is written."""

    def back(label: str) -> Any:
        loss = LOSSES[label]()
        loss.set_keys(reward="gain", done="over")
        loss.set_keys(reward=None)
        keys = loss.tensor_keys
        return str([str(keys.reward), str(keys.done), str(loss.value_estimator.tensor_keys.reward)])

    def unknown(label: str) -> Any:
        LOSSES[label]().set_keys(wanted="gain")

    def chosen(label: str) -> Any:
        loss = LOSSES[label]()
        loss.out_keys = ["loss_one"]
        loss.in_keys = ["seen"]
        return str([loss.out_keys, loss.in_keys])

    calls: Dict[str, Any] = {}
    for label in LOSSES:
        calls[f"{label}.back"] = partial(back, label)
        calls[f"{label}.unknown"] = partial(unknown, label)
        calls[f"{label}.chosen"] = partial(chosen, label)
    return answers(seed, **calls)


def _scaled_by_returns(make_env: Any, seed: int) -> Dict[str, Any]:
    """Advantages divided by the scale of the returns, which some steps do not count for."""

    def scaled(label: str, name: str, marked: bool, training: bool = True) -> Any:
        kind = library("torchrl.modules.value_norm", name)
        loss = LOSSES[label](advantage_norm=kind(shape=1))
        loss.train(training)
        more = {"shifted_valid": _counting()} if marked else {}
        # the statistics move where the loss itself estimates the advantages
        batch = batch_for(label, 2, 6, **more).exclude("advantage", "value_target", "state_value")
        outputs = with_gradients(loss, batch)
        outputs["scale"] = loss.advantage_norm.scale().detach()
        return outputs

    calls: Dict[str, Any] = {}
    for label in ("ppo", "clip", "a2c"):
        for name in ("PopArtValueNorm", "RunningValueNorm", "PercentileValueNorm"):
            for marked in (False, True):
                calls[f"{label}.{name}.{marked}"] = partial(scaled, label, name, marked)
        calls[f"{label}.still"] = partial(scaled, label, "RunningValueNorm", False, training=False)
    return answers(seed, **calls)


def _helpers(make_env: Any, seed: int) -> Dict[str, Any]:
    """Functions that users build losses of their own with."""
    following, distance, hold, join = (
        library("torchrl.objectives", "next_state_value"),
        library("torchrl.objectives", "distance_loss"),
        library("torchrl.objectives", "hold_out_net"),
        library("torchrl.objectives", "group_optimizers"),
    )
    adaptive = library("torchrl.objectives.utils", "KLAdaptiveLR")

    def followed(**options: Any) -> Any:
        batch = batch_for("sac", 2, 6)
        several = options.pop("several", False)
        if several:
            batch["steps_to_next_obs"] = 1 + torch.arange(12).reshape(2, 6, 1) % 3
        if options.pop("over", False):
            batch["next", "done"][:] = True
        given: Dict[str, Any] = {"pred_next_val": torch.arange(12.0).reshape(2, 6, 1)}
        if options.pop("asked", False):
            given = {"operator": value(), "next_val_key": "state_value"}
        return following(batch, **given, **options).detach()

    def apart(kind: str, strict: bool = True, last: int = 3) -> Any:
        first = torch.linspace(-2.0, 2.0, 6).reshape(2, 3).requires_grad_()
        output = distance(first, torch.ones(2, last), kind, strict_shape=strict)
        output.sum().backward()
        return {"output": output.detach(), "gradient": first.grad}

    def held(layer: Any) -> Any:
        with hold(layer):
            output = layer(torch.ones(1, 2))
        return [float(output.requires_grad), float(next(layer.parameters()).requires_grad)]

    def grouped(*kinds: Any) -> Any:
        layers = [nn.Linear(1, 1) for _ in kinds]
        joined = join(*(k(n.parameters(), lr=0.1) for k, n in zip(kinds, layers)))
        return [len(joined.param_groups), joined.param_groups[-1]["lr"]]

    def adapted(*divergences: float) -> Any:
        layer = nn.Linear(1, 1)
        rate = adaptive(torch.optim.SGD(layer.parameters(), lr=1e-3), 0.01, max_lr=2e-3)
        rates = []
        for divergence in divergences:
            rate.step(divergence)
            rates += rate.get_last_lr()
        other = adaptive(torch.optim.SGD(layer.parameters(), lr=1e-3), 0.5)
        other.load_state_dict(rate.state_dict())
        return {"rates": torch.tensor(rates), "state": str(sorted(other.state_dict().items()))}

    frozen = nn.Linear(2, 1).requires_grad_(False)
    sgd, adam = torch.optim.SGD, torch.optim.Adam
    return answers(
        seed,
        given=followed, several=lambda: followed(several=True), over=lambda: followed(over=True),
        none=lambda: followed(gamma=0), asked=lambda: followed(asked=True, gamma=0.8),
        l1=lambda: apart("l1"), l2=lambda: apart("l2"), smooth=lambda: apart("smooth_l1"),
        unknown=lambda: apart("l3"), strict=lambda: apart("l2", last=1),
        loose=lambda: apart("l2", strict=False, last=1),
        held=lambda: held(nn.Linear(2, 1)), frozen=lambda: held(frozen),
        grouped=lambda: grouped(adam, adam), mixed=lambda: grouped(adam, sgd),
        slower=lambda: adapted(0.05, 0.05), faster=lambda: adapted(0.001, 0.001, 0.001),
        kept=lambda: adapted(0.01, 0.0), endless=lambda: adapted(float("nan")),
    )  # fmt: skip


API_CASES = {
    "estimators-of-losses": _estimators,
    "keys-of-losses-again": _keys_again,
    "advantages-by-returns": _scaled_by_returns,
    "helpers-of-losses": _helpers,
    "keys-of-losses": _keys,
    "networks-of-losses": _networks,
    "layers-in-common": _shared,
    "reduced-losses": _reduced,
    "weights-of-priorities": _priorities,
    "halves-of-losses": _halves,
    "shapes-of-advantages": _shapes,
}
