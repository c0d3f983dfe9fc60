"""What losses, their updaters and their base class refuse, and options that few users set."""

from __future__ import annotations

import dataclasses
import enum
from functools import partial
from typing import Any, Callable, Dict, List

import torch
from torch import nn

from rlregress.frameworks.torchrl.api_cases.loss_options import LOSSES, batch_for
from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.network_factories import (
    CHOICES,
    OBSERVATIONS,
    action_value,
    answers,
    bounds,
    choice_values,
    choosing,
    deterministic,
    entries,
    q_values,
    steps,
    stochastic,
    value,
    with_gradients,
)

_ON_POLICY = ("ppo", "clip", "kl", "a2c")
_UTILITIES = "torchrl.objectives.utils"


def _objective(name: str) -> Any:
    return library("torchrl.objectives", name)


def _gaussian() -> Any:
    return stochastic(library("torchrl.modules", "TanhNormal"))


#: label -> a loss by its own keywords, whatever they are.
_RAW: Dict[str, Callable[..., Any]] = {
    "ppo": lambda *n, **o: _objective("PPOLoss")(*n, **o),
    "clip": lambda *n, **o: _objective("ClipPPOLoss")(*n, **o),
    "kl": lambda *n, **o: _objective("KLPENPPOLoss")(*n, **o),
    "a2c": lambda *n, **o: _objective("A2CLoss")(*n, **o),
    "sac": lambda *n, **o: _objective("SACLoss")(*n, **{"action_spec": bounds(), **o}),
    "td3": lambda *n, **o: _objective("TD3Loss")(*n, **{"bounds": (-1.0, 1.0), **o}),
    "ddpg": lambda *n, **o: _objective("DDPGLoss")(*n, **o),
    "dqn": lambda *n, **o: _objective("DQNLoss")(*n, **{"action_space": "one_hot", **o}),
    "discrete_sac": lambda *n, **o: _objective("DiscreteSACLoss")(
        *n, **{"num_actions": CHOICES, "action_space": "one_hot", **o}
    ),
}


def _networks(label: str) -> List[Any]:
    if label in _ON_POLICY:
        return [_gaussian(), value()]
    if label == "discrete_sac":
        return [choosing(library("torchrl.modules", "OneHotCategorical")), choice_values()]
    if label == "dqn":
        return [q_values()]
    return [_gaussian() if label == "sac" else deterministic(), action_value()]


def _asked(label: str, loss: Any, *shape: int) -> Dict[str, Any]:
    loss.make_value_estimator(gamma=0.9)
    return with_gradients(loss, batch_for(label, *(shape or (2, 6))))


_OF_ALL: Dict[str, Dict[str, Any]] = {
    "gamma": {"gamma": 0.9}, "priority": {"priority_key": "error"}, "sum": {"reduction": "sum"},
    "none": {"reduction": "none"}, "apart": {"separate_losses": True},
}  # fmt: skip
#: those that a loss does not have.
_LACKING = {("ddpg", "priority"), ("dqn", "apart"), ("discrete_sac", "gamma")}
_OF_POLICIES: Dict[str, Dict[str, Any]] = {
    "old_critic": {"critic_coef": 0.5}, "old_entropy": {"entropy_coef": 0.5},
    "words": {"entropy_coeff": "much"}, "list": {"entropy_coeff": [0.1]},
    "entropy": {"entropy_coeff": 0.3}, "tensor": {"entropy_coeff": torch.tensor(0.2)},
    "vector": {"entropy_coeff": torch.ones(2)}, "yes": {"critic_coeff": True},
    "no_critic": {"critic_coeff": 0.0}, "half": {"critic_coeff": 0.5},
    "clip": {"clip_value": 0.1}, "clip_yes": {"clip_value": True}, "clip_no": {"clip_value": False},
    "clip_vector": {"clip_value": torch.ones(2)}, "key": {"advantage_key": "better"},
    "target": {"value_target_key": "goal"}, "value": {"value_key": "worth"},
    "silent": {"entropy_bonus": False}, "cap": {"max_importance_ratio": -1.0},
    "capped": {"max_importance_ratio": 0.9}, "delayed": {"delay_actor": True},
    "kept": {"functional": False}, "kept_delayed": {"functional": False, "delay_actor": True},
    "device": {"device": torch.device("cpu")}, "unexplained": {"log_explained_variance": False},
    "normalised": {"normalize_advantage": True}, "sampled": {"samples_mc_entropy": 3},
}  # fmt: skip
_OF_ONE: Dict[str, Dict[str, Dict[str, Any]]] = {
    "clip": {
        "pair": {"clip_epsilon": (0.1, 0.4)}, "three": {"clip_epsilon": (0.1, 0.2, 0.3)},
        "negative": {"clip_epsilon": (-0.1, 0.2)}, "wide": {"clip_epsilon": (1.0, 0.2)},
        "pair_clipped": {"clip_epsilon": (0.1, 0.4), "clip_value": True},
        "pair_number": {"clip_epsilon": [0.1, 0.4], "clip_value": 0.2},
        "own": {"clip_epsilon": 0.3, "clip_value": True},
    },
    "kl": {"falls": {"increment": 0.5}, "rises": {"decrement": 1.5},
           "edge": {"increment": 1.0, "decrement": 1.0}},
    "sac": {
        "most_zero": {"max_alpha": 0, "min_alpha": 0.1}, "least": {"min_alpha": 0.5},
        "most": {"max_alpha": 0.5},
        "told": {"reduction": "none", "scalar_output_mode": "non_tensor"},
        "fixed": {"fixed_alpha": True}, "entropy": {"target_entropy": -0.7},
        "without": {"action_spec": None},
    },
    "discrete_sac": {
        "most_zero": {"max_alpha": 0, "min_alpha": 0.1}, "least": {"min_alpha": 0.5},
        "most": {"max_alpha": 0.5},
        "told": {"reduction": "none", "scalar_output_mode": "non_tensor"},
        "spaceless": {"action_space": None}, "countless": {"num_actions": None},
        "entropy": {"target_entropy": 0.4, "num_actions": None},
    },
}  # fmt: skip


def _constructors(make_env: Any, seed: int) -> Dict[str, Any]:
    """Every loss with options that are odd, wrong, renamed or left out."""

    def forward(label: str, given: Dict[str, Any]) -> Any:
        return _asked(label, _RAW[label](*_networks(label), **given))

    def scaled(label: str) -> Any:
        norm = library("torchrl.modules.value_norm", "RunningValueNorm")(shape=1)
        return forward(label, {"advantage_norm": norm, "normalize_advantage": True})

    def named(label: str, *names: str) -> Any:
        given = dict(zip(("actor", "critic"), _networks(label)))
        return _asked(label, _RAW[label](**{name: given[name] for name in names}))

    def alone(label: str, **given: Any) -> Any:
        # without a critic the advantages have to be there
        return with_gradients(_RAW[label](_gaussian(), **given), batch_for(label, 2, 6))

    def unaided(label: str) -> Any:
        batch = batch_for(label, 2, 6).exclude("advantage")
        return with_gradients(_RAW[label](_gaussian(), None, critic_coeff=0.0), batch)

    calls: Dict[str, Any] = {}
    for label in _RAW:
        options = {**_OF_ALL, **(_OF_POLICIES if label in _ON_POLICY else {})}
        for case, given in {**options, **_OF_ONE.get(label, {})}.items():
            if (label, case) not in _LACKING:
                calls[f"{label}.{case}"] = partial(forward, label, given)
    for label in _ON_POLICY:
        calls[f"{label}.nothing"] = partial(_RAW[label])
        calls[f"{label}.scaled_twice"] = partial(scaled, label)
        calls[f"{label}.named"] = partial(named, label, "actor", "critic")
        calls[f"{label}.actor"] = partial(named, label, "actor")
        calls[f"{label}.critic"] = partial(named, label, "critic")
        calls[f"{label}.alone"] = partial(alone, label)
        calls[f"{label}.alone_zero"] = partial(alone, label, critic_coeff=0.0)
        calls[f"{label}.unaided"] = partial(unaided, label)
    return answers(seed, **calls)


def _batches(make_env: Any, seed: int) -> Dict[str, Any]:
    """Batches that lack an entry, hold a gradient or another shape, for every loss."""

    def lacking(label: str, *keys: Any, **options: Any) -> Any:
        loss = LOSSES[label](**options)
        return with_gradients(loss, batch_for(label, 2, 6).exclude(*keys))

    def holding(label: str, key: Any) -> Any:
        batch = batch_for(label, 2, 6)
        batch[key] = batch[key].float().requires_grad_()
        return with_gradients(LOSSES[label](), batch)

    def shaped(label: str, *shape: int) -> Any:
        return with_gradients(LOSSES[label](), batch_for(label, 6).update(
            {"advantage": torch.randn(*shape)}
        ))  # fmt: skip

    def tokens() -> Any:
        batch = batch_for("ppo", 2, 6)
        batch["advantage"] = torch.randn(2, 6, 1)
        return with_gradients(LOSSES["ppo"](normalize_advantage=True), batch)

    calls: Dict[str, Any] = {"tokens": tokens}
    entries_of = ("action", "observation", ("next", "reward"), ("next", "done"),
                  ("next", "terminated"), ("next", "observation"))  # fmt: skip
    more = ("advantage", "value_target", "state_value", "action_log_prob", "loc", "scale")
    for label in LOSSES:
        wanted = (*entries_of, *more) if label in (*_ON_POLICY, "reinforce") else entries_of
        for key in wanted:
            name = key if isinstance(key, str) else ".".join(key)
            calls[f"{label}.without.{name}"] = partial(lacking, label, key)
        for key in ("action", "action_log_prob") if label in _ON_POLICY else ("action",):
            calls[f"{label}.gradient.{key}"] = partial(holding, label, key)
    for label in _ON_POLICY:
        calls[f"{label}.clipped"] = partial(lacking, label, "state_value", clip_value=0.1)
        for shape in ((6,), (6, 1), (6, 2), (6, 1, 1), (6, 3, 1)):
            calls[f"{label}.shape.{'x'.join(map(str, shape))}"] = partial(shaped, label, *shape)
    for label in ("sac", "sac_1"):
        # of an odd number of rows there are no halves for two critics
        for shape in ((5,), (3, 4), (4, 4)):
            calls[f"{label}.rows.{shape[0]}"] = partial(
                lambda label, shape: with_gradients(LOSSES[label](), batch_for(label, *shape)),
                label, shape,
            )  # fmt: skip
    return answers(seed, **calls)


def _schedules(make_env: Any, seed: int) -> Dict[str, Any]:
    """Coefficients that are assigned: of every loss, of the other kind of clip range, odd ones."""

    def assigned(label: str, name: str, number: Any, **options: Any) -> Any:
        loss = LOSSES[label](**options)
        setattr(loss, name, number)
        return {"number": torch.as_tensor(getattr(loss, name)).clone(),
                "type": str(torch.as_tensor(getattr(loss, name)).dtype),
                **with_gradients(loss, batch_for(label, 2, 6))}  # fmt: skip

    calls: Dict[str, Any] = {}
    for label in _ON_POLICY:
        for name in ("entropy_coeff", "critic_coeff", "clip_value"):
            for number in (0.3, 2, torch.tensor(0.4)):
                options = {"clip_value": 0.1} if name == "clip_value" else {}
                calls[f"{label}.{name}.{float(number):.1f}"] = partial(
                    assigned, label, name, number, **options
                )
    ranges: Dict[str, Dict[str, Any]] = {"one": {}, "pair": {"clip_epsilon": (0.1, 0.3)}}
    for case, given in ranges.items():
        for name in ("clip_epsilon", "clip_epsilon_low", "clip_epsilon_high"):
            calls[f"clip.{case}.{name}"] = partial(assigned, "clip", name, 0.05, **given)
    for label, name in (("kl", "beta"), ("sac", "alpha_init"), ("td3", "policy_noise"),
                        ("ppo", "max_importance_ratio")):  # fmt: skip
        calls[f"{label}.{name}"] = partial(assigned, label, name, 0.5)
    return answers(seed, **calls)


# -- updaters, and what users build losses of their own with ------------------------------------


def _updaters(make_env: Any, seed: int) -> Dict[str, Any]:
    """Targets moved by hand: rates that are refused, states, other losses, those without any."""
    soft, hard, base = (
        library(_UTILITIES, name) for name in ("SoftUpdate", "HardUpdate", "TargetNetUpdater")
    )
    delays: Dict[str, Dict[str, Any]] = {
        "dqn": {"delay_value": True}, "ddpg": {"delay_value": True, "delay_actor": True},
        "td3": {"delay_actor": True, "delay_qvalue": True}, "sac": {"delay_qvalue": True},
        "sac_1": {"delay_value": True, "delay_qvalue": True, "delay_actor": True},
        "discrete_sac": {"delay_qvalue": True}, "clip": {"delay_actor": True},
    }  # fmt: skip

    def raised(loss: Any) -> None:
        with torch.no_grad():
            for parameter in loss.parameters():
                parameter.mul_(1.5).add_(0.1)

    def targets(loss: Any) -> Dict[str, Any]:
        return {
            name: tensor.detach().clone()
            for name, tensor in sorted(loss.named_buffers())
            if name.startswith("target_") and isinstance(tensor, torch.Tensor)
        }

    def moved(label: str, kind: Any, count: int = 2, **options: Any) -> Any:
        loss = LOSSES[label](**delays[label])
        updater = kind(loss, **options)
        raised(loss)
        for _ in range(count):
            updater.step()
        return {"state": str(sorted(updater.state_dict().items())), **targets(loss)}

    def loaded(kind: Any, state: Dict[str, Any], **options: Any) -> Any:
        loss = LOSSES["dqn"](delay_value=True)
        updater = kind(loss, **options)
        updater.load_state_dict(state)
        raised(loss)
        updater.step()
        return {"state": str(sorted(updater.state_dict().items())), **targets(loss)}

    def twice() -> Any:
        loss = LOSSES["dqn"](delay_value=True)
        updater = soft(loss, eps=0.9)
        raised(loss)
        updater.init_()
        return targets(loss)

    def outputs() -> Any:
        return type(soft(LOSSES["dqn"](delay_value=True), eps=0.9)).__name__ in repr(
            soft(LOSSES["dqn"](delay_value=True), eps=0.9)
        )

    calls: Dict[str, Any] = {"twice": twice, "told": outputs}
    for label in delays:
        calls[f"{label}.soft"] = partial(moved, label, soft, eps=0.8)
        calls[f"{label}.tau"] = partial(moved, label, soft, tau=0.1)
        calls[f"{label}.hard"] = partial(moved, label, hard, 3, value_network_update_interval=2)
    rates: Dict[str, Dict[str, Any]] = {
        "none": {}, "both": {"eps": 0.9, "tau": 0.1}, "small": {"eps": 0.3},
        "large": {"eps": 1.2}, "negative": {"tau": 1.4}, "edge": {"eps": 1.0},
    }  # fmt: skip
    for case, options in rates.items():
        calls[f"rate.{case}"] = partial(moved, "dqn", soft, **options)
    for interval in (0, 1, 3):
        calls[f"interval.{interval}"] = partial(
            moved, "dqn", hard, 5, value_network_update_interval=interval
        )
    calls["module"] = lambda: soft(nn.Linear(1, 1), eps=0.9)
    calls["without"] = lambda: soft(LOSSES["dqn"](delay_value=False), eps=0.9)
    calls["base"] = lambda: moved("dqn", base)
    calls["loaded"] = lambda: loaded(hard, {"initialized": True, "counter": 2},
                                     value_network_update_interval=2)  # fmt: skip
    calls["loaded.empty"] = lambda: loaded(hard, {}, value_network_update_interval=2)
    calls["loaded.never"] = lambda: loaded(soft, {"initialized": False}, eps=0.9)
    calls["loaded.soft"] = lambda: loaded(soft, {"counter": 3}, eps=0.9)
    return answers(seed, **calls)


class _Kind(enum.Enum):
    """Estimators of a user's own."""

    PLAIN = "plain"
    NEVER = "never"


def _registry(make_env: Any, seed: int) -> Dict[str, Any]:
    """Estimators by enumeration, by words, by a user's own names; those that a loss has not."""
    names = ("register_value_estimator", "get_value_estimator_entry", "build_value_estimator",
             "default_value_kwargs", "dispatch_value_estimator")  # fmt: skip
    register, entry, build, defaults, dispatch = (library(_UTILITIES, n) for n in names)
    kinds = library("torchrl.objectives", "ValueEstimators")
    td0 = library("torchrl.objectives.value", "TD0Estimator")
    # a second time is no other registration
    register(_Kind.PLAIN, default_kwargs={"gamma": 0.6})(type("Plain", (td0,), {}))
    register("own words")(td0)

    def outputs(kind: Any) -> Any:
        found = entry(kind)
        return str([found.cls.__name__, sorted(found.default_kwargs.items())])

    def given(kind: Any) -> Any:
        return str(sorted(defaults(kind).items()))

    def built(kind: Any, **options: Any) -> Any:
        loss = LOSSES["a2c"]()
        loss.value_network = value()
        estimator = build(loss, kind, **{"value_network": value(), **options})
        return {"kind": type(estimator).__name__, "gamma": estimator.gamma}

    def dispatched(label: str, kind: Any, **options: Any) -> Any:
        loss = LOSSES[label]()
        given = {"supported": (kinds.TD0, kinds.GAE, _Kind.PLAIN), "value_network": value()}
        estimator = dispatch(loss, kind, **{**given, **options})
        keys = [str(estimator.tensor_keys.reward), str(loss.value_type)]
        return {"kind": type(estimator).__name__, "gamma": estimator.gamma, "keys": str(keys)}

    calls: Dict[str, Any] = {}
    wanted: Dict[str, Any] = {kind.name: kind for kind in kinds}
    wanted.update({
        "lower": "gae", "upper": "TDLAMBDA", "mixed": "Td0", "own": _Kind.PLAIN,
        "own_word": "plain",
        "words": "own words", "unknown": "best", "never": _Kind.NEVER, "number": 3, "list": ["gae"],
    })  # fmt: skip
    for label, kind in wanted.items():
        calls[f"{label}.entry"] = partial(outputs, kind)
        calls[f"{label}.defaults"] = partial(given, kind)
        calls[f"{label}.built"] = partial(built, kind, gamma=0.7)
        calls[f"{label}.dispatched"] = partial(dispatched, "a2c", kind, gamma=0.7)
    calls["keys"] = lambda: dispatched("a2c", "gae", tensor_keys={"reward": "gain"})
    for label in LOSSES:
        for kind in ("gae", "td0", "tdlambda", "vtrace", "td1", "best"):
            calls[f"{label}.{kind}.made"] = partial(_made_by_name, label, kind)
    return answers(seed, **calls)


def _made_by_name(label: str, kind: str) -> Any:
    loss = LOSSES[label]()
    loss.make_value_estimator(kind, gamma=0.7)
    found = loss.value_estimator
    return {"kind": type(found).__name__, "gamma": found.gamma, "type": str(loss.value_type)}


def _randomness(make_env: Any, seed: int) -> Dict[str, Any]:
    """How critics that are run together draw: told to, or as their layers have it."""

    def dropping() -> Any:
        return action_value(nn.Dropout(0.5))

    def outputs(label: str, mode: Any, dropped: bool = False, **options: Any) -> Any:
        if dropped:
            loss = _RAW[label](_networks(label)[0], dropping(), **options)
            loss.make_value_estimator(gamma=0.9)
        else:
            loss = LOSSES[label](**options)
        before = loss.vmap_randomness
        if mode is not None:
            loss.set_vmap_randomness(mode)
        after = str([before, loss.vmap_randomness])
        return {"modes": after, **with_gradients(loss, batch_for(label, 2, 6))}

    calls: Dict[str, Any] = {}
    for label in LOSSES:
        for mode in (None, "error", "same", "different", "any"):
            calls[f"{label}.{mode}"] = partial(outputs, label, mode)
    for label in ("sac", "td3"):
        for mode in (None, "error", "same", "different"):
            calls[f"{label}.{mode}.dropped"] = partial(outputs, label, mode, True)
            calls[f"{label}.{mode}.in_turn"] = partial(
                outputs, label, mode, True, deactivate_vmap=True
            )
    return answers(seed, **calls)


# -- losses of a user's own ---------------------------------------------------------------------


def _own_losses(make_env: Any, seed: int) -> Dict[str, Any]:
    """A loss of a user's own, of everything that the base class has; and with nothing of it."""
    base = library("torchrl.objectives", "LossModule")
    kinds = library("torchrl.objectives", "ValueEstimators")
    td0, gae = (library("torchrl.objectives.value", n) for n in ("TD0Estimator", "GAE"))

    class Own(base):  # type: ignore[misc, valid-type]
        """A loss of a network and of several copies of another."""

        @dataclasses.dataclass
        class _AcceptedKeys:
            """What it reads."""

            reward: str = "reward"
            done: str = "done"
            terminated: str = "terminated"
            value: str = "state_value"

        default_keys = _AcceptedKeys
        reduction = "mean"
        value_network: Any
        value_network_params: Any
        target_value_network_params: Any

        def __init__(self, network: Any, **given: Any) -> None:
            super().__init__()
            self.reward_keys: List[str] = []
            self.convert_to_functional(network, "value_network", **given)

        def _set_in_keys(self) -> None:
            self.reward_keys.append(str(self.tensor_keys.reward))

        def forward(self, batch: Any) -> Any:
            """The squared values of what was observed."""
            from tensordict import TensorDict

            with self.value_network_params.to_module(self.value_network):
                values = self.value_network(batch.clone(False))["state_value"]
            return TensorDict({"loss_own": self._reduce_loss(values**2, batch)}, [])

        def half_loss(self, batch: Any) -> Any:
            """By itself."""
            return self(batch)["loss_own"] / 2

    class Bare(base):  # type: ignore[misc, valid-type]
        """A loss with nothing."""

    class Normalised(nn.Module):
        """A value with running statistics and a list of layers."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(OBSERVATIONS, 4), nn.Linear(4, 1)])
            self.norm = nn.BatchNorm1d(4)

        def forward(self, observation: torch.Tensor) -> torch.Tensor:
            """Of shape [..., 1]."""
            hidden = self.layers[0](observation)
            return self.layers[1](self.norm(hidden.flatten(0, -2)).reshape(hidden.shape))

    def critic(network: Any = None) -> Any:
        from torchrl.modules import ValueOperator

        return ValueOperator(network or nn.Linear(OBSERVATIONS, 1), ["observation"])

    def outputs(network: Any = None, **given: Any) -> Any:
        loss = Own(critic(network), **given)
        parameters = {
            name: parameter.detach().clone() for name, parameter in loss.named_parameters()
        }
        shapes = {k: str(list(v.shape)) for k, v in entries(loss.value_network_params).items()}
        return {**parameters, "shapes": str(sorted(shapes.items()))}

    def lost(**given: Any) -> Any:
        loss = Own(critic(), **given)
        half = loss.half_loss(steps(2, 6)).detach()
        return {**with_gradients(loss, steps(2, 6)), "half": half, "target": str(
            [loss._has_update_associated["value_network"], loss.functional]
        )}  # fmt: skip

    def shared() -> Any:
        network = nn.Sequential(nn.Linear(OBSERVATIONS, 4), nn.Linear(4, 1))
        loss = Own(critic(network), expand_dim=2, compare_against=list(network[0].parameters()))
        grads = {k: str(v.requires_grad) for k, v in entries(loss.value_network_params).items()}
        return str(sorted(grads.items()))

    def listed(count: int, **given: Any) -> Any:
        loss = Own([critic() for _ in range(count)], **given)
        return {k: v.detach().clone() for k, v in entries(loss.value_network_params).items()}

    def estimated(*kind: Any, default: Any = None, **given: Any) -> Any:
        loss = Own(critic())
        loss.default_value_estimator = default
        loss.make_value_estimator(*kind, **given)
        loss.set_keys(reward="gain")
        found = loss.value_estimator
        keys = [str(found.tensor_keys.reward), str(found.tensor_keys.value), *loss.reward_keys]
        return {"kind": type(found).__name__, "gamma": found.gamma, "keys": str(keys)}

    def replaced() -> Any:
        loss = Own(critic())
        loss.value_estimator = td0(gamma=0.4, value_network=value())
        loss.reset()
        return {"gamma": loss.value_estimator.gamma, "nets": len(list(loss._networks()))}

    def coefficient(number: Any, **given: Any) -> Any:
        loss = Own(critic())
        loss.register_coeff_buffer("weight", number, **given)
        return {"number": torch.as_tensor(loss.weight) if loss.weight is not None else "none",
                "held": str("weight" in dict(loss.named_buffers()))}  # fmt: skip

    class Misnamed(Own):
        """A loss that does not say which network it has."""

        def __init__(self) -> None:
            base.__init__(self)
            self.convert_to_functional(critic(), "other_network")

    class Dotted(nn.Module):
        """A network whose parameter has an odd name."""

        def __init__(self) -> None:
            super().__init__()
            self._modules["a.b"] = nn.Linear(OBSERVATIONS, 1)

        def forward(self, observation: torch.Tensor) -> torch.Tensor:
            """Of shape [..., 1]."""
            return self._modules["a.b"](observation)  # type: ignore[misc]

    calls: Dict[str, Any] = {
        "lost": lost, "lost.target": lambda: lost(create_target_params=True), "shared": shared,
        "plain": outputs, "copies": lambda: outputs(expand_dim=3),
        "twice": lambda: outputs(expand_dim=1),
        "normalised": lambda: outputs(Normalised()), "list": lambda: listed(2, expand_dim=2),
        "normalised.copies": lambda: outputs(Normalised(), expand_dim=2),
        "list.short": lambda: listed(2, expand_dim=3), "list.alone": lambda: listed(2),
        "unknown": lambda: outputs(wanted=1), "dotted": lambda: outputs(Dotted()),
        "misnamed": lambda: sorted(k for k, _ in Misnamed().named_parameters()),
        "replaced": replaced, "bare": lambda: Bare()(steps(2)),
        "bare.keys": lambda: Bare().set_keys(reward="gain"),
        "bare.estimator": lambda: Bare().value_estimator,
        "bare.random": lambda: Bare().set_vmap_randomness("same"),
        "class": lambda: estimated(td0, gamma=0.3, value_network=value()),
        "made": lambda: estimated(gae(gamma=0.2, lmbda=0.5, value_network=value())),
        "default.class": lambda: estimated(default=td0, gamma=0.3, value_network=value()),
    }  # fmt: skip
    for kind in kinds:
        calls[f"kind.{kind.name}"] = partial(estimated, kind, gamma=0.3)
        calls[f"kind.{kind.name}.default"] = partial(estimated, default=kind)
    calls["kind.word"] = partial(estimated, "gae")
    for label, number in (
        ("none", None), ("number", 0.5), ("whole", 2), ("tensor", torch.tensor(0.5)), ("yes", True),
        ("one", torch.ones(1)), ("several", torch.ones(2)), ("word", "much"), ("list", [0.5]),
    ):  # fmt: skip
        calls[f"coefficient.{label}"] = partial(coefficient, number)
        calls[f"coefficient.{label}.double"] = partial(coefficient, number, dtype=torch.float64)
    return answers(seed, **calls)


def _odd_helpers(make_env: Any, seed: int) -> Dict[str, Any]:
    """Helpers with what they refuse: parameters held out, optimisers joined, rates that adapt."""
    hold, join, held = (
        library(_UTILITIES, n) for n in ("hold_out_params", "group_optimizers", "hold_out_net")
    )
    adaptive = library(_UTILITIES, "KLAdaptiveLR")

    def out(given: Any) -> Any:
        with hold(given) as parameters:
            items = list(parameters.values()) if hasattr(parameters, "values") else parameters
            return str([item.requires_grad for item in items])

    def tree() -> Any:
        from tensordict import TensorDict

        return TensorDict.from_module(nn.Linear(2, 1))

    def decorated() -> Any:
        layer = nn.Linear(2, 1)
        return bool(held(layer)(lambda: layer(torch.ones(1, 2)).requires_grad)())

    def empty() -> Any:
        with held(nn.ReLU()):
            return str(list(nn.ReLU().parameters()))

    def rates(target: float = 0.01, **given: Any) -> Any:
        layer = nn.Linear(1, 1)
        rate = adaptive(torch.optim.SGD(layer.parameters(), lr=1e-3), target, **given)
        recorded: List[float] = []
        for divergence in (0.0, 0.004, 0.005, 0.01, 0.02, 0.021, torch.tensor(1.0)):
            rate.step(divergence)
            recorded += rate.get_last_lr()
        return {"rates": torch.tensor(recorded), "state": str(sorted(rate.state_dict().items()))}

    def joined(*kinds: Any) -> Any:
        layers = [nn.Linear(1, 1) for _ in kinds]
        made = [k and k(n.parameters(), lr=0.1 * (1 + i)) for i, (k, n) in
                enumerate(zip(kinds, layers))]  # fmt: skip
        return str([group["lr"] for group in join(*made).param_groups])

    endless = float("inf")
    adam = torch.optim.Adam
    return answers(
        seed,
        tuple=lambda: out(list(nn.Linear(2, 1).parameters())), tree=lambda: out(tree()),
        decorated=decorated, empty=empty, rates=rates, faster=lambda: rates(factor=3.0),
        bounded=lambda: rates(min_lr=9e-4, max_lr=1.1e-3), zero=lambda: rates(0.0),
        endless=lambda: rates(endless), still=lambda: rates(factor=1.0),
        wild=lambda: rates(factor=endless), none=lambda: rates(min_lr=0.0),
        turned=lambda: rates(min_lr=1e-2, max_lr=1e-3), most=lambda: rates(max_lr=endless),
        joined=lambda: joined(adam, adam), with_none=lambda: joined(adam, None, adam),
        nobody=joined, mixed=lambda: joined(adam, torch.optim.SGD),
    )  # fmt: skip


API_CASES = {
    "constructors-of-losses": _constructors,
    "batches-that-lack": _batches,
    "scheduled-coefficients": _schedules,
    "updaters-of-targets": _updaters,
    "registered-estimators": _registry,
    "randomness-of-critics": _randomness,
    "own-losses": _own_losses,
    "odd-helpers": _odd_helpers,
}
