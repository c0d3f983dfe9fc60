"""Losses: the networks and steps that suit each, and the calls of a loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    ExplorationType,
    NormalParamExtractor,
    TensorDict,
    TensorDictModule,
    ValueOperator,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.compat import find_in_library
from rlregress.frameworks.torchrl.generated_cases.input_corpus import make_batch
from rlregress.frameworks.torchrl.known_networks import (
    ACTIONS,
    CHOICES,
    OBSERVATIONS,
    bounds,
    make_action_value_network,
    make_actor,
    make_choosing_actor,
    make_deterministic_actor,
    make_discrete_action_value_network,
    make_q_value_actor,
    make_stochastic_actor,
    make_two_headed_actor,
    make_value_network,
)
from rlregress.probing.framework_errors import ExpectedError
from rlregress.probing.option_variants import (
    Items,
    Kit,
    Subject,
    call_each,
    call_or_return_error,
    call_with_gradients,
    convert_to_recordable,
    make_function_subject,
    seed_torch_generator,
)

# -- networks ------------------------------------------------------------------------------------


_find_distribution = partial(find_in_library, "torchrl.modules")


def _make_gaussian_actor(distribution: str = "TanhNormal", gain: float = 1.0) -> Any:
    return make_stochastic_actor(_find_distribution(distribution), gain)


def _make_one_hot_actor() -> Any:
    return make_choosing_actor(_find_distribution("OneHotCategorical"))


def _make_actor_of_infinite_entropy() -> Any:
    """Return an actor whose entropy is infinite."""

    class InfiniteEntropy(_find_distribution("IndependentNormal")):  # type: ignore[misc]
        def entropy(self) -> Any:
            return torch.full(self.batch_shape, float("inf"))

    return make_stochastic_actor(InfiniteEntropy)


class _HintedLayers(nn.Sequential):
    """Layers that take observations and an optional hint."""

    def forward(self, observation: torch.Tensor, hint: Any = None) -> torch.Tensor:
        return super().forward(observation if hint is None else observation + hint)


class _MeanOutputCritic(nn.Module):
    """A critic: the mean output of a layer, which other networks may share, plus the actions."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        sums = [part.reshape(*inputs[0].shape[:-1], -1).sum(-1, True) for part in inputs[1:]]
        return self.layer(inputs[0]).mean(-1, True) + sum(sums)


def _make_actor_of_layer(layer: nn.Module, *in_keys: str, action_key: str = "action") -> Any:
    """Return an actor of a layer, which may write its action and log-probability under another
    name.
    """
    network = _HintedLayers(layer, NormalParamExtractor())
    distribution = _find_distribution("IndependentNormal")
    return make_actor(network, ["loc", "scale"], distribution, in_keys, out_keys=[action_key])


def _make_loc_and_scale_layer() -> nn.Module:
    return nn.Linear(OBSERVATIONS, 2 * ACTIONS)


def _make_fully_shared_networks() -> dict[str, Any]:
    """Return actor and critic that share all layers."""
    layer = _make_loc_and_scale_layer()
    return {
        "actor_network": _make_actor_of_layer(layer, "observation"),
        "critic_network": ValueOperator(_MeanOutputCritic(layer)),
    }


def _make_critic_of_action_key(action_key: str) -> Any:
    critic = _MeanOutputCritic(_make_loc_and_scale_layer())
    return ValueOperator(critic, ["observation", action_key])


def _make_fully_shared_critics() -> dict[str, Any]:
    """Return critics that share all layers, and the option that keeps their losses separate."""
    judge = _MeanOutputCritic(_make_loc_and_scale_layer())
    return {
        "qvalue_network": ValueOperator(judge, ["observation", "action"]),
        "value_network": ValueOperator(judge),
        "separate_losses": True,
    }


def _make_networks_sharing_first_layer() -> dict[str, Any]:
    """Return actor and critic that share their first layer."""
    actor = _make_actor_of_layer(nn.Linear(4, 2 * ACTIONS), "hidden")
    common = TensorDictModule(nn.Linear(OBSERVATIONS, 4), ["observation"], ["hidden"])
    both = find_in_library("torchrl.modules", "ActorValueOperator")(
        common, actor, ValueOperator(nn.Linear(4, 1), ["hidden"])
    )
    return {
        "actor_network": both.get_policy_operator(),
        "critic_network": both.get_value_operator(),
    }


def _make_scaled_two_headed_actor(move_distribution: str, nested: bool, gain: float = 1.0) -> Any:
    """Return an actor of a continuous move and a discrete choice, with all parameters scaled."""
    actor = make_two_headed_actor(_find_distribution(move_distribution), nested)
    return _scale_parameters(actor, gain)


def _scale_parameters(module: Any, gain: float) -> Any:
    for parameter in module.parameters():
        parameter.data.mul_(gain)
    return module


def _make_steps_of_new_actor(make_actor: Callable[[], Any], label: str) -> Any:
    """Return steps with actions and log-probabilities of a new actor."""
    seed_torch_generator(1)
    data = make_batch("continuous", label).exclude(
        "action", "action_log_prob", "sample_log_prob", "loc", "scale", "logits"
    )
    with _set_random_exploration(), torch.no_grad():
        acted = make_actor()(data)
    scores = [item for name, item in acted.items(True, True) if "log_prob" in str(name)]
    return acted.update({"score": sum(scores)})


def _set_random_exploration() -> Any:
    return set_exploration_type(ExplorationType.RANDOM)


def _set_head_log_prob_sum(is_summed: bool = True) -> Any:
    return find_in_library("tensordict.nn", "set_composite_lp_aggregate")(is_summed)


_apart = partial(_set_head_log_prob_sum, False)


def _make_distributional_actor(space: str) -> Any:
    network = nn.Sequential(nn.Linear(OBSERVATIONS, 5 * CHOICES), nn.Unflatten(-1, (5, CHOICES)))
    support = torch.linspace(-2.0, 2.0, 5)
    kind = _find_distribution("DistributionalQValueActor")
    return kind(network, support=support, in_keys=["observation"], action_space=space)


# -- what is done with a loss ---------------------------------------------------------------------


def _set_estimator_and_scale_weights(loss: Any) -> Any:
    loss.make_value_estimator(gamma=0.9)
    _scale_trained_weights(loss)
    return loss


def _scale_trained_weights(loss: Any) -> None:
    """Scale trained weights, so that they differ from target networks, as after updates."""
    for name, item in list(loss.named_parameters()):
        if "target" not in name and item.is_floating_point() and item.dim() > 1:
            item.data.mul_(1.2)


def _call_loss(loss: Any, data: Any) -> Any:
    outputs = call_with_gradients(loss, data)
    names = ("out_keys", "value_type", "target_entropy", "min_action", "max_action",
             "min_log_alpha", "max_log_alpha")  # fmt: skip
    attributes = {name: getattr(loss, name, None) for name in names}
    attributes["entropy"] = getattr(loss, "entropy_coeff", getattr(loss, "entropy_coef", None))
    held = {name: item for name, item in attributes.items() if item is not None}
    return {**outputs, "held": {"in_keys": _list_sorted_in_keys(loss), **held}}


def _make_actor_of_renamed_action() -> Any:
    return _make_actor_of_layer(_make_loc_and_scale_layer(), "observation", action_key="move")


def _make_steps_of_renamed_action(label: str) -> Any:
    """Return steps that have the action under another name, too."""
    data = make_batch("continuous", label)
    return data.update({"move": data["action"], "move_log_prob": data["action_log_prob"]})


def _list_sorted_in_keys(loss: Any) -> list[str]:
    """Return the input keys, sorted: they are a set without an order."""
    return sorted(map(str, getattr(loss, "in_keys", ()) or ()))


def _call_loss_twice(loss: Any, data: Any) -> Any:
    first = call_with_gradients(loss, data.clone())
    loss.zero_grad()
    return [first, call_with_gradients(loss, data.clone())]


def _call_loss_in_double_precision(loss: Any, data: Any) -> Any:
    before = call_with_gradients(loss, data.clone())
    loss.zero_grad()
    loss.double()
    after = data.apply(lambda item: item.double() if item.is_floating_point() else item)
    return [before, call_with_gradients(loss, after)]


def _make_call_with_estimator(*positional: Any, **options: Any) -> Callable[[Any, Any], Any]:
    """Return a call of the loss with another estimator, given by name, as a class or made."""

    def call(loss: Any, data: Any) -> Any:
        arguments = [item() if callable(item) else item for item in positional]
        loss.make_value_estimator(*arguments, **options)
        estimator = loss.value_estimator
        numbers_ = {n: getattr(estimator, n) for n in ("gamma", "lmbda") if hasattr(estimator, n)}
        return {
            "kind": type(estimator).__name__,
            "numbers": numbers_,
            "keys": convert_to_recordable(vars(estimator.tensor_keys)),
            **_call_loss(loss, data),
        }

    return call


def _find_estimator_kind(name: str) -> Any:
    return getattr(find_in_library("torchrl.objectives", "ValueEstimators"), name)


def _make_gae() -> Any:
    return find_in_library("torchrl.objectives.value", "GAE")(
        gamma=0.6, lmbda=0.5, value_network=make_value_network()
    )


def _rename_each_key(loss: Any, data: Any) -> Any:
    """Rename every key in turn: in the loss, its estimator and the steps."""
    outputs = {}
    for name, key in sorted(vars(loss.tensor_keys).items()):
        if not isinstance(key, str):
            continue
        outputs[name] = _call_with_renamed_key(loss, data.clone(), name, key)
        # none sets a key back
        loss.set_keys(**{name: None})
        loss.zero_grad()
    return Items({"back": convert_to_recordable(vars(loss.tensor_keys)), **outputs})


def _call_with_renamed_key(loss: Any, data: Any, name: str, key: str) -> Any:
    try:
        loss.set_keys(**{name: f"own_{name}"})
    except KeyError as error:
        return ExpectedError(error)
    for place in (data, data["next"]):
        if key in place:
            place.rename_key_(key, f"own_{name}")
    names_held = {"in": _list_sorted_in_keys(loss), "out": str(getattr(loss, "out_keys", "none"))}
    outputs = call_or_return_error(lambda: call_with_gradients(loss, data))
    keys = convert_to_recordable(vars(loss.value_estimator.tensor_keys))
    return {**names_held, "estimator": keys, "loss": outputs}


def _replace_and_reset_networks(loss: Any, data: Any) -> Any:
    """Take networks out, change them, put them back; then initialise all parameters again."""
    outputs = {}
    for name in ("actor_network", "critic_network", "value_network", "qvalue_network"):
        # without parameters apart a network holds its own
        attribute = f"{name}_params" if getattr(loss, f"{name}_params", None) is not None else name
        if getattr(loss, attribute, None) is not None:
            network = deepcopy(loss.get_stateful_net(name))
            for parameter in network.parameters():
                parameter.data.add_(1.0)
            between = convert_to_recordable(getattr(loss, attribute))
            loss.from_stateful_net(name, network)
            outputs[name] = [between, convert_to_recordable(getattr(loss, attribute))]
    return {**outputs, "again": [call_or_return_error(loss.reset_parameters_recursive), loss]}


def _call_with_each_vmap_randomness(loss: Any, data: Any) -> Any:
    """Return the loss of several critics in each mode of ``vmap_randomness``."""

    def call_with_randomness(mode: str) -> Any:
        loss.set_vmap_randomness(mode)
        return [loss.vmap_randomness, loss(data.clone())]

    return [
        call_or_return_error(partial(call_with_randomness, mode))
        for mode in ("error", "same", "different", "other")
    ]


def _call_with_gamma_attribute(loss: Any, data: Any) -> Any:
    """Call the loss after setting its attribute ``gamma``, as derived losses do."""
    loss.gamma = 0.6
    return _make_call_with_estimator()(loss, data)


def _read_limits_of_nested_actions(loss: Any, data: Any) -> Any:
    """Return the limits that a derived loss reads from actions nested below other keys."""
    kind, spec = type(loss), _make_composite_spec({"action": _flat_bounds(3, 4)}, shape=(3, 4))
    key: tuple[str, ...] = ("action",)
    outputs = []
    for place in ("agents", "team"):
        spec, key = _make_composite_spec({place: spec}, shape=(3,)), (place, *key)
        keys = dataclasses.make_dataclass(
            "Keys", [("action", Any, key)], bases=(kind._AcceptedKeys,)
        )
        own = type("Below", (kind,), {"_AcceptedKeys": keys, "default_keys": keys})
        subclass_loss = own(
            make_deterministic_actor(), make_action_value_network(), action_spec=spec
        )
        outputs.append([subclass_loss.min_action, subclass_loss.max_action])
    return outputs


def _make_call_of_methods(*method_names: str) -> Callable[[Any, Any], Any]:
    """Return a call of methods of the loss, each by itself, with random actions."""

    def call_method(loss: Any, data: Any, name: str) -> Any:
        return call_with_gradients(None, data.clone(), getattr(loss, name))

    def call(loss: Any, data: Any) -> Any:
        with _set_random_exploration():
            return call_each({n: partial(call_method, loss, data, n) for n in method_names})

    return call


def _list_default_discounts_by_device(loss: Any) -> Any:
    """Return the discount of the default estimator, with the parameters on each device."""
    outputs = []
    for device in ("cpu", "meta"):
        loss.to(device).value_estimator = None
        outputs.append(str(loss.value_estimator.gamma))
    return outputs


def _try_to_assign_keys(loss: Any) -> Any:
    outputs = []
    for name in ("in_keys", "out_keys"):
        answer = call_or_return_error(partial(setattr, loss, name, ["own"]))
        outputs.append([answer, sorted(map(str, getattr(loss, name)))])
    return outputs


def _list_attributes(loss: Any, data: Any) -> Any:
    targets = (
        "actor_network_params", "critic_network_params",
        "target_actor_network_params", "target_critic_network_params",
        "target_value_network_params", "target_qvalue_network_params",
    )  # fmt: skip
    return call_each({
        "reset": lambda: loss.reset(),
        "state": lambda: loss,
        "parameters": lambda: [name for name, _ in loss.named_parameters()],
        "keys": lambda: dataclasses.asdict(type(loss).default_keys()),
        "own": lambda: vars(loss.tensor_keys),
        "device": lambda: str(loss.value_estimator.gamma.device),
        "targets": lambda: {
            name: call_or_return_error(partial(getattr, loss, name, "none")) for name in targets
        },
        "unknown": lambda: loss.set_keys(wanted="gain"),
        "lacking": lambda: getattr(loss, "wanted", "none"),
        "anew": partial(_list_default_discounts_by_device, loss),
        "keys assigned": partial(_try_to_assign_keys, loss),
    })  # fmt: skip


def _assign_coefficients(loss: Any, data: Any) -> Any:
    """Assign coefficients after the loss is made, as a schedule does."""
    coefficients = ("clip_epsilon", "entropy_coeff", "entropy_coef", "critic_coeff", "critic_coef",
                    "alpha", "beta", "max_importance_ratio")  # fmt: skip
    buffers = dict(loss.named_buffers())
    for name in coefficients:
        if name in buffers:
            setattr(loss, name, 0.3)
    return _call_loss(loss, data)


def _make_target_update_call(updater_name: str, **options: Any) -> Callable[[Any, Any], Any]:
    """Return a call that records the loss's networks after each of four target updates."""

    def call(loss: Any, data: Any) -> Any:
        kind_ = find_in_library("torchrl.objectives", updater_name)
        updater = kind_(loss, **options)
        states = [convert_to_recordable(loss)]
        for _ in range(4):
            _scale_trained_weights(loss)
            updater.step()
            states.append(convert_to_recordable(loss))

        def step_restored_updater() -> Any:
            restored = kind_(loss, **options)
            restored.load_state_dict(updater.state_dict())
            _scale_trained_weights(loss)
            state = restored.state_dict()
            restored.step()
            return [state, updater.state_dict(), loss]

        loaded = call_or_return_error(step_restored_updater)
        return Items(states=states, loaded=loaded, words=repr(updater))

    return call


def _call_with_each_mask_key(loss: Any, data: Any) -> Any:
    """Return the loss with each key of a mask: none, other entries, a missing one, a number."""

    def call_with_key() -> Any:
        return [str(loss.loss_mask_key), call_with_gradients(loss, data.clone())]

    outputs = []
    for key in (None, ("collector", "mask"), "shifted_valid", "auto", "lacking", "is_init", 3):
        outputs.append(call_or_return_error(partial(setattr, loss, "loss_mask_key", key)))
        outputs.append(call_or_return_error(call_with_key))
        loss.zero_grad()
    return outputs


def _reload_and_evaluate(loss: Any, data: Any) -> Any:
    """Save the state of the loss, change its parameters, load the state; evaluate the loss."""
    state = {name: item.clone() for name, item in loss.state_dict().items()}
    _scale_parameters(loss, 0.5).load_state_dict(state)
    return _call_loss(loss.eval(), data)


def _call_user_defined_loss(base_class: Any, data: Any) -> Any:
    """Return the results of a loss that a user derives from the base class."""

    @dataclasses.dataclass
    class Keys:
        reward: str = "reward"
        value: str = "state_value"

    class Own(base_class.func):
        """The squared values of observations."""

        _AcceptedKeys = default_keys = Keys
        value_network: Any
        value_network_params: Any
        target_value_network_params: Any

        def __init__(self, **options: Any) -> None:
            super().__init__()
            self.reduction = "mean"
            network = make_value_network(nn.Dropout(0.5))
            self.convert_to_functional(network, "value_network", **options)

        def forward(self, data: Any) -> Any:
            with self.value_network_params.to_module(self.value_network):
                values = self.value_network(data.clone(False))["state_value"]
            return TensorDict({"loss_own": self._reduce_loss(values**2, data)}, [])

        def half_loss(self, data: Any) -> Any:
            from torchrl.envs.utils import exploration_type

            return [self(data)["loss_own"] / 2, str(exploration_type())]

    def make_and_call_loss(**options: Any) -> Any:
        loss = Own(**options)
        kind = find_in_library("torchrl.objectives.value", "TD0Estimator")
        loss.make_value_estimator(kind, gamma=0.9, value_network=make_value_network())
        loss.value_network.train()
        with _set_random_exploration():
            outputs = [
                call_with_gradients(loss, data.clone()),
                loss.half_loss(data),
                _list_sorted_in_keys(loss),
            ]
        renamed = call_or_return_error(partial(loss.set_keys, reward="gain"))
        return [outputs, renamed, str(vars(loss.value_estimator.tensor_keys)), loss]

    return [
        call_or_return_error(call)
        for call in (
            make_and_call_loss,
            partial(make_and_call_loss, create_target_params=True),
            partial(make_and_call_loss, expand_dim=2),
            lambda: base_class.func().forward(data),
            partial(make_and_call_loss, expand_dim=2, create_target_params=True),
        )
    ]


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "": _call_loss,
    "twice": _call_loss_twice,
    "doubled": _call_loss_in_double_precision,
    "keys": _rename_each_key,
    "networks": _replace_and_reset_networks,
    "held": _list_attributes,
    "assigned": _assign_coefficients,
    "eval": _reload_and_evaluate,
    "masks": _call_with_each_mask_key,
    "each": _make_call_of_methods(
        "actor_loss", "qvalue_v1_loss", "qvalue_v2_loss", "value_loss", "loss_value", "loss_actor",
        "loss_critic", "qvalue_loss", "alpha_loss",
    ),
    **{name: _make_call_with_estimator(partial(_find_estimator_kind, name), gamma=0.7)
       for name in ("TD0", "TD1", "TDLambda", "GAE", "VTrace")},
    "randomness": _call_with_each_vmap_randomness,
    "default estimator": _make_call_with_estimator(),
    "own discount": _call_with_gamma_attribute,
    "named estimator": _make_call_with_estimator("Td0", gamma=0.7),
    "unknown estimator": _make_call_with_estimator("mean"),
    "class of estimator": _make_call_with_estimator(
        lambda: find_in_library("torchrl.objectives.value", "TD0Estimator"), gamma=0.6
    ),
    "made estimator": _make_call_with_estimator(_make_gae),
}  # fmt: skip
TARGETS: dict[str, Callable[[Any, Any], Any]] = {
    "soft": _make_target_update_call("SoftUpdate", eps=0.9),
    "slow": _make_target_update_call("SoftUpdate", tau=0.01),
    "both": _make_target_update_call("SoftUpdate", tau=0.01, eps=0.9),
    "neither": _make_target_update_call("SoftUpdate"),
    "hard": _make_target_update_call("HardUpdate", value_network_update_interval=2),
}  # fmt: skip

# -- options ---------------------------------------------------------------------------------------
# Titles of traces hold the names of the functions that make a value of an option.


def _norm(class_name: str) -> Any:
    """Return a normaliser of values that is updated once."""
    norm = find_in_library("torchrl.modules.value_norm", class_name)(shape=1)
    norm.update(torch.linspace(-3.0, 5.0, 20).unsqueeze(-1))
    return norm


def _flat_bounds(*shape: int) -> Any:
    """Return a specification of actions whose bounds are not symmetric."""
    return bounds(-0.4, 0.6).expand(*shape, ACTIONS) if shape else bounds(-0.4, 0.6)


def _make_composite_spec(specs: dict[str, Any], shape: Sequence[int]) -> Any:
    return find_in_library("torchrl.data", "Composite", "CompositeSpec")(specs, shape=shape)


def _composite(*shape: int, uneven: bool = False) -> Any:
    """Return a specification with the key "action"; if uneven, each number has other bounds."""
    spec = _flat_bounds(*shape)
    if uneven:
        low = -torch.arange(1.0, 1.0 + 3 * ACTIONS).reshape(*shape, ACTIONS)
        spec = type(spec)(low, -low, shape=low.shape)
    return _make_composite_spec({"action": spec}, shape)


_COMMON: dict[str, Any] = {"reduction": ["none", "sum", "mean", "median"], "gamma": [0.8]}
_ON_POLICY: dict[str, Any] = {
    **_COMMON,
    "loss_critic_type": ["l1", "l2", "l3"],
    "entropy_coeff": [0.0, 0.5, {"action_log_prob": 0.2}],
    "critic_coeff": [0.0, 0.5, 1.0, None],
    "clip_value": [0.1, True],
    "advantage_norm": [
        partial(_norm, name)
        for name in ("PopArtValueNorm", "RunningValueNorm", "PercentileValueNorm")
    ],
    "max_importance_ratio": [1.1],
    "advantage_key": ["advantage", "gain"],
    "value_target_key": ["value_target"],
    "value_key": ["state_value"],
    "samples_mc_entropy": [3],
    "normalize_advantage": [True],
    "device": ["meta"],
}
_TOGETHER: tuple[Mapping[str, Any], ...] = (
    *({"normalize_advantage": True, "normalize_advantage_exclude_dims": dims}
      for dims in ((0,), (-1,), (1, -1))),
    {"clip_value": 0.1, "separate_losses": True},
    {"delay_actor": True, "max_importance_ratio": 1.1},
    {"loss_critic_type": "l1", "reduction": "sum"},
    {"reduction": "none", "normalize_advantage": True},
    {"critic_coeff": None, "entropy_bonus": False},
    {"functional": False, "clip_value": 0.1},
)  # fmt: skip
_OFF_POLICY: dict[str, Any] = {
    **_COMMON,
    "loss_function": ["l1", "l2", "smooth_l1"],
    "use_prioritized_weights": [True, False],
    "priority_key": ["rank"],
    "min_alpha": [1.5],
    "max_alpha": [0.5],
    "target_entropy": [-1.0],
    "scalar_output_mode": ["exclude", "non_tensor"],
    "num_qvalue_nets": [1, 3],
}
_NONE = tuple(
    {"reduction": reduction, "scalar_output_mode": mode}
    for reduction in ("none", "sum")
    for mode in ("exclude", "non_tensor")
)
_SPECS: tuple[Callable[[], Any], ...] = (
    bounds, _flat_bounds, _composite, partial(_composite, 3),
    partial(_composite, 3, uneven=True),
    lambda: find_in_library("torchrl.data", "Unbounded", "UnboundedContinuousTensorSpec")(
        shape=(ACTIONS,)),
)  # fmt: skip

_SCORED = (
    "rows", "time", "one", "blocks", "time counted", "blocks counted_column", "time collected",
    "time unscored", "time unscored_counted", "rows flat", "rows wide", "rows columns",
    "rows carried", "rows led", "rows lacking", "rows even", "rows double",
)  # fmt: skip
_PLAIN = (
    "rows", "time", "one", "blocks", "time counted", "blocks counted_column", "time collected",
    "rows weighted", "time weighted_counted", "rows several", "rows over", "rows large",
    "rows unrewarded", "rows lacking", "rows hopeless", "rows double", "time missing",
    "rows counted",
)  # fmt: skip

_WEIGHTED = ("time weighted", "rows weighted_counted")


def _make_loss_kit(
    actions: str = "continuous", input_: Any = "", context: Any = None, keys: Any = None,
    make_shared: Callable[[], dict[str, Any]] = dict, **arguments: Any
) -> Kit:  # fmt: skip
    """Return the arguments of a loss, and the inputs that suit it.

    Callable arguments are called to make them. ``input_`` names the only input or makes it; by
    default there are steps for every label. ``make_shared`` makes arguments that share layers.
    ``keys`` are set in the loss.
    """

    def make_arguments() -> dict[str, Any]:
        keywords = {name: item() if callable(item) else item for name, item in arguments.items()}
        return {**make_shared(), **keywords}

    inputs = input_ if callable(input_) else lambda label: make_batch(actions, input_ or label)
    return Kit(
        make_arguments, inputs, context, keys and (lambda loss: loss.set_keys(**keys) or loss)
    )


_gaussian = partial(
    _make_loss_kit, actor_network=_make_gaussian_actor, critic_network=make_value_network
)
_soft = partial(
    _make_loss_kit, actor_network=_make_gaussian_actor, qvalue_network=make_action_value_network,
    action_spec=bounds,
)  # fmt: skip
_deterministic = partial(
    _make_loss_kit, actor_network=make_deterministic_actor, qvalue_network=make_action_value_network
)


def _make_two_headed_kit(
    move: str = "IndependentNormal", nested: bool = False, gain: float = 1.0, **options: Any
) -> Kit:
    """Return a kit whose actor has two heads, for a continuous and a discrete action."""
    actor = partial(_make_scaled_two_headed_actor, move, nested, gain)
    inputs = partial(_make_steps_of_new_actor, actor)
    return _gaussian(**{"actor_network": actor, "input_": inputs, "context": _apart, **options})


def _list_on_policy_kits() -> dict[str, Kit]:
    def make_masked_actor() -> Any:
        return make_choosing_actor(_find_distribution("MaskedCategorical"), masked=True)

    wide = _make_two_headed_kit()
    return {
        "tanh": _gaussian(),
        "normal": _gaussian(actor_network=partial(_make_gaussian_actor, "IndependentNormal")),
        "endless": _gaussian(actor_network=_make_actor_of_infinite_entropy),
        "bounds": _gaussian(actor_network=partial(_make_gaussian_actor, "TanhNormal", 8.0)),
        "summed": _gaussian(context=_set_head_log_prob_sum),
        "choices": _gaussian("one_hot", actor_network=_make_one_hot_actor),
        "masked": _gaussian("index", actor_network=make_masked_actor),
        "sure": _gaussian(actor_network=make_deterministic_actor),
        "dropout": _gaussian(critic_network=lambda: make_value_network(nn.Dropout(0.5))),
        "common": _make_loss_kit(make_shared=_make_networks_sharing_first_layer),
        "common apart": _make_loss_kit(
            make_shared=_make_networks_sharing_first_layer, separate_losses=True
        ),
        "one layer": _make_loss_kit(make_shared=_make_fully_shared_networks, separate_losses=True),
        "modules": _gaussian(functional=False),
        "modules unscored": _gaussian(input_="time unscored", functional=False),
        "normed": _gaussian(
            input_="time unscored_counted", advantage_norm=partial(_norm, "RunningValueNorm")
        ),
        "pair": _gaussian(input_="pair trifling_counted", normalize_advantage=True),
        "renamed": _gaussian(
            actor_network=_make_actor_of_renamed_action, input_=_make_steps_of_renamed_action
        ),
        "hinted": _gaussian(
            actor_network=lambda: _make_actor_of_layer(
                _make_loc_and_scale_layer(), "observation", "hint"
            ),
            critic_network=lambda: ValueOperator(
                _HintedLayers(nn.Linear(OBSERVATIONS, 1)), ["observation", "is_init"]
            ),
        ),
        "heads": _make_two_headed_kit(),
        "nested": _make_two_headed_kit(nested=True),
        "sampled": _make_two_headed_kit("TanhNormal", gain=6.0),
        # of heads whose log-probabilities are summed a loss knows the first action alone
        "heads summed": _make_two_headed_kit(
            context=_set_head_log_prob_sum, keys={"action": ["move", "choice"]}
        ),
        "heads together": _make_two_headed_kit(keys={"sample_log_prob": "score"}),
        "heads weighed": _make_two_headed_kit(
            entropy_coeff={"move_entropy": 0.2, "choice_entropy": 0.5}
        ),
        # batches have a batch size without the dimension of time
        "narrow": Kit(wide.arguments, lambda label: wide.inputs(label).auto_batch_size_(1), _apart),
    }


def _list_off_policy_kits() -> dict[str, dict[str, Kit]]:
    """Return loss -> label -> kit."""

    def make_dropout_critic() -> Any:
        return make_action_value_network(nn.Dropout(0.5))

    def make_two_critics() -> Any:
        return [make_action_value_network(), make_action_value_network()]

    def make_nearly_greedy_actor() -> Any:
        return _scale_parameters(_make_one_hot_actor(), 200.0)

    def make_q_value_kit(actions: str, space: str, *layers: Any) -> Kit:
        return _make_loss_kit(
            actions,
            value_network=lambda: make_q_value_actor(*(layer() for layer in layers),
            action_space=space),
            action_space=space,
        )  # fmt: skip

    def make_choice_spec() -> Any:
        return find_in_library("torchrl.data", "Categorical", "DiscreteTensorSpec")(CHOICES)

    discrete = partial(
        _make_loss_kit, actor_network=_make_one_hot_actor,
        qvalue_network=make_discrete_action_value_network, num_actions=CHOICES,
        action_space="one_hot",
    )  # fmt: skip
    value = partial(
        _make_loss_kit, actor_network=make_deterministic_actor,
        value_network=make_action_value_network,
    )  # fmt: skip
    distributional = {
        label: _make_loss_kit(
            actions, value_network=partial(_make_distributional_actor, space), gamma=0.9
        )
        for label, space, actions in (
            ("one_hot", "one_hot", "one_hot"), ("categorical", "categorical", "index"),
            ("column", "categorical", "column"),
        )
    }  # fmt: skip
    tensors = torch.tensor([-0.4, -0.1]), torch.tensor([0.6, 0.2])
    return {
        "SACLoss": {
            "tanh": _soft(),
            "first": _soft(value_network=make_value_network),
            "bounds": _soft(actor_network=partial(_make_gaussian_actor, "TanhNormal", 8.0)),
            "critics": _soft(qvalue_network=make_two_critics),
            "dropout": _soft(qvalue_network=make_dropout_critic),
            "renamed": _soft(
                actor_network=_make_actor_of_renamed_action,
                qvalue_network=partial(_make_critic_of_action_key, "move"),
                input_=_make_steps_of_renamed_action,
            ),
            "without ends": _soft(
                qvalue_network=partial(_make_critic_of_action_key, "action"), input_="thin",
                skip_done_states=True,
            ),
            "apart": _make_loss_kit(
                make_shared=_make_fully_shared_critics, actor_network=_make_gaussian_actor,
                action_spec=bounds,
            ),
            "heads": _make_loss_kit(
                context=_apart,
                actor_network=partial(_make_scaled_two_headed_actor, "IndependentNormal", False),
                qvalue_network=make_action_value_network, target_entropy=-1.0,
            ),
        },
        "DiscreteSACLoss": {
            "one_hot": discrete("one_hot"),
            "index": discrete(
                "index", action_space="categorical",
                actor_network=partial(make_choosing_actor, torch.distributions.Categorical),
            ),
            "sure": discrete("one_hot", actor_network=make_nearly_greedy_actor),
        },
        "TD3Loss": {
            "bounds": _deterministic(bounds=(-1.0, 1.0)),
            "critics": _deterministic(qvalue_network=make_two_critics, bounds=(-1.0, 1.0)),
            "tensors": _deterministic(bounds=tensors),
            "turned": _deterministic(bounds=(0.6, -0.4)),
            "none": _deterministic(),
            **{f"spec{n}": _deterministic(action_spec=make) for n, make in enumerate(_SPECS)},
        },
        "DDPGLoss": {"": value(), "dropout": value(value_network=make_dropout_critic)},
        "DQNLoss": {
            "one_hot": make_q_value_kit("one_hot", "one_hot"),
            "index": make_q_value_kit("index", "categorical"),
            "column": make_q_value_kit("column", "categorical"),
            "dropout": make_q_value_kit("one_hot", "one_hot", partial(nn.Dropout, 0.5)),
            "spec": _make_loss_kit(
                "index", value_network=partial(make_q_value_actor, action_space="categorical"),
                action_space=make_choice_spec,
            ),
        },
        "DistributionalDQNLoss": distributional,
    }  # fmt: skip


def list_subjects() -> dict[str, list[Subject]]:
    """Return the losses by name."""
    ppo = (
        {"clip_epsilon": (0.1, 0.3)}, {"clip_epsilon": 0.05, "clip_value": True},
        {"clip_epsilon": torch.tensor(0.3)}, {"clip_epsilon": (1.0, 1.5)},
    )  # fmt: skip
    penalty = (
        {"dtarg": 0.02, "increment": 3.0, "beta": 0.7},
        {"dtarg": 1e4, "decrement": 0.3, "beta": 0.7},
        {"dtarg": 1.0, "samples_mc_kl": 4}, {"increment": 1.0, "decrement": 1.0},
    )  # fmt: skip
    #: what a loss has beside the fields of all that learn on policy, or off policy.
    further: dict[str, dict[str, Any]] = {
        "PPOLoss": {},
        "ClipPPOLoss": {"together": (*_TOGETHER, *ppo)},
        "KLPENPPOLoss": {
            "together": (*_TOGETHER, *penalty),
            "options": {**_ON_POLICY, "dtarg": [0.5, 2.0, 5.0]},
        },
        "A2CLoss": {},
        "ReinforceLoss": {},
        "SACLoss": {
            "together": _NONE, "thorough": ("heads",),
            "options": {**_OFF_POLICY, "action_spec": _SPECS},
        },
        "DiscreteSACLoss": {"together": _NONE},
        "TD3Loss": {"calls": {**CALLS, "below": _read_limits_of_nested_actions, **TARGETS}},
        "DDPGLoss": {},
        "DQNLoss": {"together": [{"double_dqn": True, "delay_value": False}]},
        "DistributionalDQNLoss": {"brief": ("rows weighted", "rows counted")},
    }  # fmt: skip
    off_policy_kits = _list_off_policy_kits()
    on_policy: dict[str, Any] = {
        "inputs": _SCORED, "brief": ("time", "time counted"), "options": _ON_POLICY,
        "together": _TOGETHER, "calls": CALLS, "skip": ("actor", "critic"),
        "thorough": ("modules",),
    }  # fmt: skip
    off_policy: dict[str, Any] = {
        "inputs": _PLAIN, "brief": _WEIGHTED, "options": _OFF_POLICY,
        "calls": {**CALLS, **TARGETS},
    }  # fmt: skip
    losses = [
        Subject(
            f"torchrl.objectives:{name}",
            off_policy_kits.get(name) or _list_on_policy_kits(),
            prepare=_set_estimator_and_scale_weights,
            **{**(off_policy if name in off_policy_kits else on_policy), **fields},
        )
        for name, fields in further.items()
    ]
    own = make_function_subject(
        "torchrl.objectives:LossModule", partial(make_batch, "continuous"), ("time", "rows"),
        _call_user_defined_loss,
    )  # fmt: skip
    return {subject.name.rpartition(":")[2]: [subject] for subject in (*losses, own)}
