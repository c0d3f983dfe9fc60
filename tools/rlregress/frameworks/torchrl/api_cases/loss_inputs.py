"""Keys of losses set back, inputs that lack, networks not trained, last states left out."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, Dict, List

import torch
from torch import nn

from rlregress.frameworks.torchrl.api_cases import refused
from rlregress.frameworks.torchrl.api_cases.loss_options import LOSSES, batch_for
from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import (
    ACTIONS,
    CHOICES,
    OBSERVATIONS,
    action_value,
    actor_of_heads,
    answers,
    bounds,
    chosen,
    deterministic,
    entries,
    held,
    steps,
    stochastic,
    value,
    with_gradients,
)


def _set_back(make_env: Any, seed: int) -> Dict[str, Any]:
    """Each key of a loss set to another and back, one at a time; lists of keys that are given."""

    def back(label: str, name: str) -> Any:
        loss = LOSSES[label]()
        found: List[Any] = [sorted(map(str, loss.in_keys))]
        for key in ("other", None):
            # an estimator refuses the name of a value that its network does not write
            reason = refused(partial(loss.set_keys, **{name: key}))
            found.append([str(reason), _read(loss.tensor_keys)])
            found.append(_read(loss.value_estimator.tensor_keys))
            found.append(sorted(map(str, loss.in_keys)))
        return str(found)

    def given(label: str, name: str) -> Any:
        loss = LOSSES[label]()
        setattr(loss, name, ["first", "second"])
        return str(getattr(loss, name))

    calls: Dict[str, Any] = {}
    for label, loss in LOSSES.items():
        for field in dataclasses.fields(loss()._AcceptedKeys):
            calls[f"{label}.{field.name}"] = partial(back, label, field.name)
        for name in ("in_keys", "out_keys"):
            calls[f"{label}.{name}"] = partial(given, label, name)
    return answers(seed, **calls)


def _read(keys: Any) -> List[str]:
    """What each key of a loss or of an estimator is."""
    return [f"{field.name}={getattr(keys, field.name)}" for field in dataclasses.fields(keys)]


#: what users read of losses.
_NAMES = (
    "action_space advantage_norm alpha_init beta clip_epsilon clip_value critic_coeff "
    "deactivate_vmap decrement delay_actor delay_qvalue delay_value double_dqn dtarg "
    "entropy_bonus entropy_coeff fixed_alpha increment log_alpha log_explained_variance "
    "loss_critic_type loss_function max_action max_importance_ratio max_log_alpha min_action "
    "min_log_alpha noise_clip normalize_advantage num_qvalue_nets policy_noise reduction "
    "samples_mc_entropy samples_mc_kl scalar_output_mode separate_losses skip_done_states "
    "target_entropy use_prioritized_weights value_type"
)


def _held(make_env: Any, seed: int) -> Dict[str, Any]:
    """What losses hold that is a number, a word or a buffer: as made, and with every option."""

    policies, critics = "ppo clip kl a2c", "sac sac_1 td3"
    given: List[Any] = [
        ("plain", " ".join(LOSSES), {}), ("sum", " ".join(LOSSES), {"reduction": "sum"}),
        ("none", " ".join(LOSSES), {"reduction": "none"}),
        ("apart", f"{policies} {critics} ddpg", {"separate_losses": True}),
        ("silent", policies, {"entropy_bonus": False}),
        ("bonus", policies, {"entropy_coeff": 0.3}),
        ("by_head", "ppo clip kl", {"entropy_coeff": {"move": 0.3}}),
        ("uncritical", policies, {"critic_coeff": None}),
        ("samples", policies, {"samples_mc_entropy": 3}),
        ("clipped", policies, {"clip_value": 0.2}),
        ("delayed", "ddpg dqn", {"delay_value": True}),
        ("now", critics, {"delay_qvalue": False}), ("one", critics, {"num_qvalue_nets": 1}),
        ("absolute", f"{critics} ddpg dqn", {"loss_function": "l1"}),
        ("unweighted", f"{critics} ddpg dqn", {"use_prioritized_weights": False}),
        ("slowly", critics, {"deactivate_vmap": True}), ("double", "dqn", {"double_dqn": True}),
    ]  # fmt: skip
    for case, more in (
        ("fixed", {"fixed_alpha": True}), ("least", {"min_alpha": 0.1}),
        ("most", {"max_alpha": 5.0}), ("both", {"min_alpha": 0.1, "max_alpha": 5.0}),
        ("beside", {"alpha_init": 0.5}),
        ("skipping", {"skip_done_states": True}), ("excluded", {"scalar_output_mode": "exclude"}),
    ):  # fmt: skip
        given.append((case, "sac sac_1 discrete_sac", more))
    calls = {
        f"{label}.{case}": lambda label=label, options=options: held(
            LOSSES[label](**options), _NAMES
        )
        for case, labels, options in given
        for label in labels.split()
    }
    return answers(seed, **calls)


def _named(make_env: Any, seed: int) -> Dict[str, Any]:
    """Losses whose policy names its action otherwise, has several, or draws none."""
    normal = library("torchrl.modules", "IndependentNormal")
    summed = library("tensordict.nn", "set_composite_lp_aggregate")

    def built(name: str, actor: Any) -> Any:
        more = {"action_spec": bounds(), "target_entropy": -2.0} if name == "SACLoss" else {}
        critic = action_value() if name in ("SACLoss", "DDPGLoss", "TD3Loss") else value()
        if name == "TD3Loss":
            more = {"bounds": (-1.0, 1.0)}
        return made(library("torchrl.objectives", name), actor, critic, **more)

    def read(name: str, make: Any, together: bool = True) -> Any:
        with summed(together):
            loss = built(name, make())
        return {
            "keys": str(_read(loss.tensor_keys)),
            "in": refused(lambda: str(sorted(map(str, loss.in_keys)))),
            "out": refused(lambda: str(sorted(map(str, loss.out_keys)))),
        }

    def renamed() -> Any:
        return stochastic(normal, out_keys=["move"], log_prob_key="likely")

    actors: Dict[str, Any] = {
        "renamed": renamed, "heads": lambda: actor_of_heads(normal, False),
        "nested": lambda: actor_of_heads(normal, True), "sure": deterministic,
    }  # fmt: skip
    calls: Dict[str, Any] = {}
    for name in ("PPOLoss", "ClipPPOLoss", "KLPENPPOLoss", "A2CLoss", "SACLoss", "DDPGLoss",
                 "TD3Loss"):  # fmt: skip
        for label, make in actors.items():
            for together in (True, False):
                calls[f"{name}.{label}.{together}"] = partial(read, name, make, together)
    return answers(seed, **calls)


# -- inputs that may lack -----------------------------------------------------------------------


class Hinted(nn.Linear):
    """A layer that takes a hint beside what it needs, or does without."""

    def forward(self, *inputs: Any) -> torch.Tensor:
        """The inputs joined, and through the layer; a hint is added."""
        *needed, hint = inputs
        joined = torch.cat(needed, -1)
        return super().forward(joined if hint is None else joined + hint)


def hinted(kind: str) -> Any:
    """A network that reads a hint."""
    from tensordict.nn import NormalParamExtractor, TensorDictModule
    from torchrl.modules import ProbabilisticActor, QValueActor, ValueOperator

    class Spread(Hinted):
        """Locations and scales."""

        def forward(self, *inputs: Any) -> Any:
            """Both, from one layer."""
            return NormalParamExtractor()(super().forward(*inputs))

    hint = f"hint_of_{kind}"
    in_keys = ["observation", hint]
    if kind == "value":
        return ValueOperator(Hinted(OBSERVATIONS, 1), in_keys)
    if kind == "action_value":
        return ValueOperator(
            Hinted(OBSERVATIONS + ACTIONS, 1), in_keys=["observation", "action", hint]
        )
    if kind == "q_values":
        return QValueActor(Hinted(OBSERVATIONS, CHOICES), in_keys=in_keys, action_space="one_hot")
    if kind == "choice_values":
        return TensorDictModule(Hinted(OBSERVATIONS, CHOICES), in_keys, ["action_value"])
    if kind == "deterministic":
        return TensorDictModule(Hinted(OBSERVATIONS, ACTIONS), in_keys, ["action"])
    choosing = kind == "choosing"
    layer = Hinted(OBSERVATIONS, CHOICES) if choosing else Spread(OBSERVATIONS, 2 * ACTIONS)
    keys = ["logits"] if choosing else ["loc", "scale"]
    return ProbabilisticActor(
        TensorDictModule(layer, in_keys, keys),
        in_keys=keys,
        distribution_class=library(
            "torchrl.modules", "OneHotCategorical" if choosing else "TanhNormal"
        ),
        return_log_prob=True,
    )


#: label -> the loss, its networks and its options.
_HINTED: Dict[str, Any] = {
    "ppo": ("PPOLoss", ("gaussian", "value"), {}),
    "clip": ("ClipPPOLoss", ("gaussian", "value"), {}),
    "kl": ("KLPENPPOLoss", ("gaussian", "value"), {}),
    "a2c": ("A2CLoss", ("gaussian", "value"), {}),
    "reinforce": ("ReinforceLoss", ("gaussian", "value"), {}),
    "sac": ("SACLoss", ("gaussian", "action_value"), {"action_spec": bounds}),
    "sac_1": ("SACLoss", ("gaussian", "action_value", "value"), {"action_spec": bounds}),
    "td3": ("TD3Loss", ("deterministic", "action_value"), {"bounds": (-1.0, 1.0)}),
    "ddpg": ("DDPGLoss", ("deterministic", "action_value"), {}),
    "dqn": ("DQNLoss", ("q_values",), {"action_space": "one_hot"}),
    "double_dqn": ("DQNLoss", ("q_values",),
                   {"action_space": "one_hot", "double_dqn": True, "delay_value": True}),
    "discrete_sac": ("DiscreteSACLoss", ("choosing", "choice_values"),
                     {"num_actions": CHOICES, "action_space": "one_hot"}),
}  # fmt: skip


def _made(label: str, networks: List[Any], more: Dict[str, Any]) -> Any:
    """The loss of a label with these networks."""
    name, _, given = _HINTED[label]
    options = {key: number() if callable(number) else number for key, number in given.items()}
    return made(library("torchrl.objectives", name), *networks, **{**options, **more})


def _lacking(make_env: Any, seed: int) -> Dict[str, Any]:
    """Losses whose networks read a hint that the batch has now, next, at neither and both."""

    def built(label: str, **more: Any) -> Any:
        loss = _made(label, [hinted(kind) for kind in _HINTED[label][1]], more)
        loss.make_value_estimator(gamma=0.9)
        return loss

    def forward(label: str, *places: str) -> Any:
        batch = batch_for("dqn" if label == "double_dqn" else label, 2, 6)
        for kind in _HINTED[label][1]:
            for place in places:
                side = batch if place == "now" else batch["next"]
                side[f"hint_of_{kind}"] = torch.full((2, 6, 1), 0.3)
        return with_gradients(built(label), batch)

    def read(label: str, **more: Any) -> Any:
        return str(sorted(map(str, built(label, **more).in_keys)))

    calls: Dict[str, Any] = {}
    for label in _HINTED:
        for places in ((), ("now",), ("next",), ("now", "next")):
            calls[f"{label}.{'_'.join(places) or 'none'}"] = partial(forward, label, *places)
        calls[f"{label}.keys"] = partial(read, label)
    for label in ("ppo", "clip", "kl", "a2c"):
        calls[f"{label}.keys.uncritical"] = partial(read, label, critic_coeff=None)
    return answers(seed, **calls)


class Judging(nn.Module):
    """A critic all of whose parameters are a layer of the policy."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, observation: torch.Tensor, *action: torch.Tensor) -> torch.Tensor:
        """The sum of what the layer returns, and of the action where there is one."""
        total = self.layer(observation).sum(-1, keepdim=True)
        return total + action[0].sum(-1, keepdim=True) if action else total


def _of_one_layer(label: str, own: bool = False, **more: Any) -> Any:
    """A loss whose networks have all parameters in common, or all but those of the policy."""
    from tensordict.nn import NormalParamExtractor, TensorDictModule
    from torchrl.modules import ProbabilisticActor, ValueOperator

    layer = nn.Linear(OBSERVATIONS, 2 * ACTIONS)
    networks: List[Any] = []
    for kind in _HINTED[label][1]:
        if kind == "value":
            networks.append(ValueOperator(Judging(layer), ["observation"]))
        elif kind == "action_value":
            networks.append(ValueOperator(Judging(layer), in_keys=["observation", "action"]))
        elif kind == "deterministic":
            halves = nn.Sequential(layer, nn.AvgPool1d(2), nn.Tanh())
            networks.append(TensorDictModule(halves, ["observation"], ["action"]))
        else:
            first = nn.Linear(OBSERVATIONS, 2 * ACTIONS) if own else layer
            parameters = nn.Sequential(first, NormalParamExtractor())
            networks.append(
                ProbabilisticActor(
                    TensorDictModule(parameters, ["observation"], ["loc", "scale"]),
                    in_keys=["loc", "scale"],
                    distribution_class=library("torchrl.modules", "TanhNormal"),
                    return_log_prob=True,
                )
            )
    return _made(label, networks, more)


def _frozen(make_env: Any, seed: int) -> Dict[str, Any]:
    """What needs gradients: of networks not trained, kept, and with all their layers in common."""

    def forward(label: str, name: str, *gone: str, **options: Any) -> Any:
        loss = LOSSES[label](**options)
        if name:
            network = getattr(loss, f"{name}_params", None)
            if network is None:
                return "nothing"
            network.requires_grad_(False)
        return needs(loss, batch_for(label, 2, 6).exclude(*gone))

    def shared(label: str, *gone: str, **options: Any) -> Any:
        loss = _of_one_layer(label, **options)
        loss.make_value_estimator(gamma=0.9)
        return needs(loss, batch_for(label, 2, 6).exclude(*gone))

    def needs(loss: Any, batch: Any) -> Any:
        returned = entries(loss(batch))
        needed = {f"needed.{key}": float(tensor.requires_grad) for key, tensor in returned.items()}
        return {**{key: tensor.detach() for key, tensor in returned.items()}, **needed}

    calls: Dict[str, Any] = {}
    networks = ("actor_network", "critic_network", "value_network", "qvalue_network")
    for label in LOSSES:
        for name in networks:
            calls[f"{label}.{name}"] = partial(forward, label, name)
            calls[f"{label}.{name}.unscored"] = partial(
                forward, label, name, "advantage", "value_target", "state_value"
            )
    for label in ("ppo", "clip", "kl", "a2c", "reinforce"):
        calls[f"{label}.kept"] = partial(forward, label, "", functional=False)
        calls[f"{label}.kept.unscored"] = partial(
            forward, label, "", "advantage", "value_target", "state_value", functional=False
        )
    for apart in (False, True):
        calls[f"sac_1.own.{apart}"] = partial(shared, "sac_1", own=True, separate_losses=apart)
    for label in _HINTED:
        if "dqn" not in label and label != "discrete_sac":
            for apart in (False, True):
                calls[f"{label}.shared.{apart}"] = partial(shared, label, separate_losses=apart)
                calls[f"{label}.shared.{apart}.unscored"] = partial(
                    shared, label, "advantage", "value_target", "state_value",
                    separate_losses=apart,
                )  # fmt: skip
    return answers(seed, **calls)


# -- blocks of steps ----------------------------------------------------------------------------


def _skipped_blocks(make_env: Any, seed: int) -> Dict[str, Any]:
    """Last states that no network is asked about, in rows and blocks one of whose sides is one."""

    def tolerant() -> Any:
        # what the loss makes of actions of blocks has lost their own dimension
        critic = library("torchrl.modules", "ValueOperator")
        return critic(Blind(OBSERVATIONS, 1), in_keys=["observation", "action"])

    def built(label: str) -> Any:
        if label == "discrete_sac":
            return LOSSES[label](skip_done_states=True)
        actor = stochastic(library("torchrl.modules", "TanhNormal"))
        kind = library("torchrl.objectives", "SACLoss")
        loss = made(kind, actor, tolerant(), action_spec=bounds(), skip_done_states=True)
        loss.make_value_estimator(gamma=0.9)
        return loss

    def forward(label: str, *shape: int) -> Any:
        count = torch.Size(shape).numel()
        ends = (torch.arange(count) % 3 == 1).reshape(*shape, 1)
        make = chosen if label == "discrete_sac" else steps
        return with_gradients(built(label), make(*shape, done=ends, terminated=ends))

    shapes = ((1,), (6,), (1, 6), (6, 1), (2, 3), (2, 1, 3), (1, 2, 3), (2, 3, 1), (2, 1, 1, 3))
    calls = {
        f"{label}.{'_'.join(map(str, shape))}": partial(forward, label, *shape)
        for label in ("sac", "discrete_sac")
        for shape in shapes
    }
    return answers(seed, **calls)


class Blind(nn.Linear):
    """A layer that adds up the actions of a step, whatever shape they have."""

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """The layer on what is seen, and the sum."""
        observation, action = inputs
        added = action.reshape(*observation.shape[:-1], -1).sum(-1, keepdim=True)
        return super().forward(observation) + added


API_CASES = {
    "keys-set-back": _set_back,
    "held-by-losses": _held,
    "named-by-policies": _named,
    "inputs-that-lack": _lacking,
    "frozen-networks": _frozen,
    "skipped-blocks": _skipped_blocks,
}
