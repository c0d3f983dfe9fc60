"""Losses of SAC, TD3, DDPG and DQN, and the updates of their targets."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict

import torch
from torch import nn

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.network_factories import (
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
    dictionary,
    entries,
    q_values,
    steps,
    stochastic,
    value,
    with_gradients,
)


def _ready(loss: Any) -> Any:
    """A loss whose estimator has a discount."""
    loss.make_value_estimator(gamma=0.9)
    return loss


def _sac(
    distribution: str = "IndependentNormal", gain: float = 1.0, critics: Any = None, **options: Any
) -> Any:
    actor = stochastic(library("torchrl.modules", distribution), gain=gain)
    kind = library("torchrl.objectives", "SACLoss")
    critics = action_value() if critics is None else critics
    return _ready(kind(actor, critics, action_spec=bounds(), **options))


def _discrete_sac(gain: float = 1.0, **options: Any) -> Any:
    actor = choosing(library("torchrl.modules", "OneHotCategorical"))
    with torch.no_grad():
        for parameter in actor.parameters():
            parameter.mul_(gain)
    kind = library("torchrl.objectives", "DiscreteSACLoss")
    return _ready(
        kind(actor, choice_values(), num_actions=CHOICES, action_space="one_hot", **options)
    )


def _td3(critics: Any = None, **options: Any) -> Any:
    kind = library("torchrl.objectives", "TD3Loss")
    critics = action_value() if critics is None else critics
    return _ready(kind(deterministic(), critics, bounds=(-1.0, 1.0), **options))


def _ddpg(**options: Any) -> Any:
    kind = library("torchrl.objectives", "DDPGLoss")
    return _ready(kind(deterministic(), action_value(), **options))


def _dqn(network: Any = None, **options: Any) -> Any:
    kind = library("torchrl.objectives", "DQNLoss")
    given = {"action_space": "one_hot", **options}
    return _ready(kind(q_values() if network is None else network, **given))


def _distribution_of_returns() -> Any:
    """An actor that takes the choice of the greatest mean of its returns."""
    from torchrl.modules import DistributionalQValueActor

    network = nn.Sequential(nn.Linear(OBSERVATIONS, 5 * CHOICES), nn.Unflatten(-1, (5, CHOICES)))
    return DistributionalQValueActor(
        network, support=torch.linspace(-2.0, 2.0, 5), in_keys=["observation"],
        action_space="one_hot",
    )  # fmt: skip


def _distributional(*given: Any, **options: Any) -> Any:
    kind = library("torchrl.objectives", "DistributionalDQNLoss")
    return kind(_distribution_of_returns(), *given, **(options if given else {"gamma": 0.9}))


_CONTINUOUS: Dict[str, Any] = {"sac": _sac, "td3": _td3, "ddpg": _ddpg}
_DISCRETE: Dict[str, Any] = {"dqn": _dqn, "discrete_sac": _discrete_sac}
_LOSSES = {**_CONTINUOUS, **_DISCRETE}


def _batch(label: str, *shape: int, **more: Any) -> Any:
    """Steps that suit a loss; one of them is the last of an episode."""
    make = chosen if label in ("dqn", "discrete_sac", "distributional") else steps
    ends = at(shape, 2) if len(shape) > 1 else torch.arange(shape[0]).unsqueeze(-1) == 2
    return make(*shape, done=ends, terminated=ends, **more)


def _on_each(seed: int, losses: Dict[str, Any], *shape: int, **more: Any) -> Dict[str, Any]:
    """A forward and a backward pass of each loss with its defaults."""
    return answers(
        seed,
        **{
            label: lambda label=label, make=make: with_gradients(
                make(), _batch(label, *shape, **{key: call() for key, call in more.items()})
            )
            for label, make in losses.items()
        },
    )


def _defaults(make_env: Any, seed: int) -> Dict[str, Any]:
    """Every loss with its defaults on one row of steps."""
    return _on_each(seed, {**_LOSSES, "distributional": _distributional}, 12)


def _trajectories(make_env: Any, seed: int) -> Dict[str, Any]:
    """Every loss on a batch of trajectories."""
    return _on_each(seed, _LOSSES, 3, 4)


def _weighted(make_env: Any, seed: int) -> Dict[str, Any]:
    """A batch with the weights of prioritised replay."""
    losses = {**_LOSSES, "distributional": _distributional}
    return _on_each(seed, losses, 12, priority_weight=lambda: torch.rand(12) + 0.1)


def _marked(make_env: Any, seed: int) -> Dict[str, Any]:
    """Steps that an estimator marks as not valid."""
    return _on_each(seed, _LOSSES, 2, 6, shifted_valid=lambda: ~at((2, 6), 3, 5).squeeze(-1))


def _padded(make_env: Any, seed: int) -> Dict[str, Any]:
    """Padded trajectories with the mask of a collector."""
    mask = ~at((2, 6), 4, 5).squeeze(-1)
    return _on_each(seed, _LOSSES, 2, 6, collector=lambda: dictionary({"mask": mask}, (2, 6)))


def _near_bounds(make_env: Any, seed: int) -> Dict[str, Any]:
    """SAC with draws so near to the bounds that the inverse of tanh does not give them back."""

    def with_value_network() -> Any:
        return with_gradients(_sac("TanhNormal", gain=8.0, value_network=value()), steps(12))

    return answers(
        seed,
        sac=lambda: with_gradients(_sac("TanhNormal", gain=8.0), steps(12)),
        first_version=with_value_network,
    )


def _unreduced(make_env: Any, seed: int) -> Dict[str, Any]:
    """Losses that are returned for each step."""
    return answers(
        seed,
        sac=lambda: with_gradients(_sac(reduction="none"), steps(6)),
        trajectories=lambda: with_gradients(_sac(reduction="none"), steps(2, 3)),
        discrete=lambda: with_gradients(_discrete_sac(reduction="none"), chosen(6)),
    )


def _temperature(make_env: Any, seed: int) -> Dict[str, Any]:
    """The automatic target entropy, and a highest temperature that is lower than the first."""

    def first(**options: Any) -> Any:
        return with_gradients(_sac(**options), steps(6))

    return answers(
        seed,
        target=lambda: torch.as_tensor(_sac().target_entropy),
        highest=lambda: first(alpha_init=0.9, max_alpha=0.5),
        discrete=lambda: with_gradients(_discrete_sac(alpha_init=0.9, max_alpha=0.5), chosen(6)),
    )


def _sure_choices(make_env: Any, seed: int) -> Dict[str, Any]:
    """Discrete SAC with a policy that is so sure that probabilities are zero."""
    return answers(
        seed,
        discrete=lambda: with_gradients(_discrete_sac(gain=200.0), chosen(8)),
    )


def _list_of_critics(make_env: Any, seed: int) -> Dict[str, Any]:
    """Critics that are given as a list of networks."""

    def critics() -> Any:
        return [action_value(), action_value()]

    return answers(
        seed,
        sac=lambda: with_gradients(_sac(critics=critics()), steps(6)),
        td3=lambda: with_gradients(_td3(critics=critics()), steps(6)),
    )


def _indices(make_env: Any, seed: int) -> Dict[str, Any]:
    """Choices that are stored as indices, with and without a last dimension of one."""

    def forward(*last: int) -> Any:
        network = q_values(action_space="categorical")
        batch = steps(6, action=torch.randint(0, CHOICES, (6, *last)))
        return with_gradients(_dqn(network, action_space="categorical"), batch)

    return answers(seed, flat=forward, column=lambda: forward(1))


def _constructors(make_env: Any, seed: int) -> Dict[str, Any]:
    """Losses that are made with a discount, and with the key of priorities."""
    calls: Dict[str, Any] = {}
    for label in ("sac", "td3", "ddpg", "dqn"):
        for option, given in {"gamma": 0.9, "priority_key": "td_error"}.items():
            if label == "ddpg" and option == "priority_key":
                # it never had that one
                continue
            calls[f"{label}_{option}"] = lambda label=label, options={option: given}: (
                with_gradients(_LOSSES[label](**options), _batch(label, 6))
            )
    return answers(seed, **calls)


# -- random layers ------------------------------------------------------------------------------


class _Jitter(nn.Module):
    """A layer that draws."""

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        return given + torch.rand_like(given)


def _dropout(make_env: Any, seed: int) -> Dict[str, Any]:
    """Dropout in critics that are run together, and in an actor that is run with its target."""

    def in_actor() -> Any:
        from tensordict.nn import TensorDictModule, TensorDictSequential

        thinned = nn.Sequential(nn.Linear(OBSERVATIONS, OBSERVATIONS), nn.Dropout(0.5))
        layers = TensorDictModule(thinned, ["observation"], ["observation"])
        actor = TensorDictSequential(layers, deterministic())
        kind = library("torchrl.objectives", "TD3Loss")
        loss = _ready(kind(actor, action_value(), bounds=(-1.0, 1.0)))
        return with_gradients(loss, steps(12))

    return answers(
        seed,
        sac=lambda: with_gradients(_sac(critics=action_value(nn.Dropout(0.5))), steps(12)),
        td3=lambda: with_gradients(_td3(critics=action_value(nn.Dropout(0.5))), steps(12)),
        actor=in_actor,
    )


def _registered_layers(make_env: Any, seed: int) -> Dict[str, Any]:
    """A layer of a user's own that draws, and is registered as one that does."""
    common = "torchrl.objectives.common"
    try:
        register = library("torchrl.objectives", "add_random_module", "add_ramdom_module")
    except Unsupported:
        register = library(common, "add_random_module", "add_ramdom_module")

    def forward() -> Any:
        register(_Jitter)
        return with_gradients(_sac(critics=action_value(_Jitter())), steps(12))

    def estimate() -> Any:
        register(_Jitter)
        estimator = library("torchrl.objectives.value", "TD0Estimator")
        made = estimator(gamma=0.9, value_network=value(_Jitter()))
        return made(steps(2, 6))["advantage"].detach()

    return answers(seed, sac=forward, estimator=estimate)


def _evaluated_network(make_env: Any, seed: int) -> Dict[str, Any]:
    """A network with dropout that is put into evaluation after the loss is made."""

    def forward() -> Any:
        network = q_values(nn.Dropout(0.5))
        loss = _dqn(network)
        network.eval()
        return with_gradients(loss, chosen(12))

    return answers(seed, dqn=forward)


# -- targets ------------------------------------------------------------------------------------


def _moved(loss: Any, updater: Any) -> Dict[str, Any]:
    """The target of a loss after its network has changed, and again after another update."""
    targets: Dict[str, Any] = {}
    for number in range(2):
        for item in entries(loss.value_network_params).values():
            if item.is_floating_point():
                item.data.mul_(1.3).add_(0.1)
        updater.step()
        target = entries(loss.target_value_network_params)
        targets.update({f"{number}.{key}": item.detach().clone() for key, item in target.items()})
    return targets


def _default_targets(make_env: Any, seed: int) -> Dict[str, Any]:
    """Which networks the losses of DQN have by default, and a discount that is not named."""

    def saved(loss: Any) -> Any:
        state = loss.state_dict().items()
        return {key: item for key, item in state if isinstance(item, torch.Tensor)}

    return answers(
        seed,
        dqn=lambda: saved(_dqn()),
        distributional=lambda: saved(_distributional()),
        unnamed=lambda: saved(_distributional(0.9)),
    )


def _target_updates(make_env: Any, seed: int) -> Dict[str, Any]:
    """Targets of a network with running statistics and frozen parameters."""
    soft = library("torchrl.objectives", "SoftUpdate")
    hard = library("torchrl.objectives", "HardUpdate")

    def loss(frozen: bool = False) -> Any:
        network = q_values(nn.BatchNorm1d(CHOICES))
        if frozen:
            next(iter(network.parameters())).requires_grad_(False)
        return _dqn(network, delay_value=True)

    def move(kind: Any, frozen: bool = False, **options: Any) -> Any:
        made = loss(frozen)
        return _moved(made, kind(made, **options))

    return answers(
        seed,
        soft=lambda: move(soft, eps=0.9),
        frozen=lambda: move(soft, True, eps=0.9),
        hard=lambda: move(hard, value_network_update_interval=1),
        without_rate=lambda: move(soft),
    )


def _lazy_layers(make_env: Any, seed: int) -> Dict[str, Any]:
    """A network whose layers are made when the loss has its target already."""
    from torchrl.modules import QValueActor

    soft = library("torchrl.objectives", "SoftUpdate")

    def made(update: bool) -> Any:
        network = QValueActor(
            nn.LazyLinear(CHOICES), in_keys=["observation"], action_space="one_hot"
        )
        loss = _dqn(network, delay_value=True)
        updater = soft(loss, eps=0.5) if update else None
        batch = chosen(6)
        with torch.no_grad():
            network(batch.select("observation"))
        outputs = {}
        if updater is not None:
            updater.step()
        else:
            outputs = with_gradients(loss, batch)
        target = entries(loss.target_value_network_params)
        outputs.update({f"target.{key}": item.detach() for key, item in target.items()})
        return outputs

    return answers(seed, forward=lambda: made(False), update=lambda: made(True))


# -- options --------------------------------------------------------------------------------------


def _each(seed: int, label: str, cases: Dict[str, Any]) -> Dict[str, Any]:
    """A loss with each of several sets of options, on steps of which one is the last."""

    def forward(given: Dict[str, Any]) -> Any:
        check_arguments(library("torchrl.objectives", _NAMES[label]), given)
        return with_gradients(_LOSSES[label](**given), _batch(label, 8))

    calls = {f"{label}_{case}": partial(forward, given) for case, given in cases.items()}
    return answers(seed, **calls)


_NAMES = {
    "sac": "SACLoss", "td3": "TD3Loss", "ddpg": "DDPGLoss", "dqn": "DQNLoss",
    "discrete_sac": "DiscreteSACLoss",
}  # fmt: skip
#: of every loss.
_SHARED: Dict[str, Any] = {"l1": {"loss_function": "l1"}, "sum": {"reduction": "sum"}}
#: of those with several critics.
_SEVERAL: Dict[str, Any] = {
    **_SHARED,
    "critics": {"num_qvalue_nets": 3},
    "one_by_one": {"deactivate_vmap": True},
    "without_target": {"delay_qvalue": False},
    "apart": {"separate_losses": True},
}
_TEMPERATURES: Dict[str, Any] = {
    "least": {"alpha_init": 0.1, "min_alpha": 0.5},
    "between": {"alpha_init": 3.0, "min_alpha": 0.5, "max_alpha": 2.0},
    "fixed": {"alpha_init": 0.3, "fixed_alpha": True},
    "entropy": {"target_entropy": -1.5},
}


def _options_of_sac(make_env: Any, seed: int) -> Dict[str, Any]:
    """Temperatures and their bounds, target entropies, critics, delays."""
    weight = {"weight": {"target_entropy_weight": 0.5}}
    first = {"value_network": value(), "delay_value": False}
    return {
        **_each(seed, "sac", {**_SEVERAL, **_TEMPERATURES, "delayed": {"delay_actor": True}}),
        **_each(seed, "sac", {"first_version": first}),
        **_each(seed, "discrete_sac", {**_SEVERAL, **_TEMPERATURES, **weight}),
    }


def _skipped_states(make_env: Any, seed: int) -> Dict[str, Any]:
    """Last states that no network is asked about: of an episode that ends, and of one cut off."""
    check_arguments(library("torchrl.objectives", "SACLoss"), {"skip_done_states": True})
    ends = {
        "done": at((8,), 0).clone(),
        "terminated": torch.zeros(8, 1, dtype=torch.bool),
    }
    ends["done"][[2, 5]] = True
    ends["done"][0] = False
    ends["terminated"][5] = True

    def forward(label: str, **given: Any) -> Any:
        make = chosen if label == "discrete_sac" else steps
        return with_gradients(_LOSSES[label](skip_done_states=True, **given), make(8, **ends))

    return answers(
        seed,
        sac=lambda: forward("sac"),
        discrete=lambda: forward("discrete_sac"),
        none_ends=lambda: with_gradients(_sac(skip_done_states=True), steps(8)),
    )


def _options_of_critics(make_env: Any, seed: int) -> Dict[str, Any]:
    """Criteria, reductions, target noise, delays and bounds of TD3, DDPG and DQN."""
    noise = {
        "without_noise": {"policy_noise": 0.0},
        "clipped_noise": {"policy_noise": 0.6, "noise_clip": 0.05},
        "present_actor": {"delay_actor": False},
    }

    def lopsided() -> Any:
        kind = library("torchrl.objectives", "TD3Loss")
        loss = _ready(kind(deterministic(), action_value(), bounds=(-0.2, 0.7)))
        return with_gradients(loss, steps(8))

    delays = {"delayed": {"delay_actor": True, "delay_value": True}}
    return {
        **_each(seed, "td3", {**_SEVERAL, **noise}),
        **_each(seed, "ddpg", {**_SHARED, **delays}),
        **_each(seed, "dqn", _SHARED),
        **answers(seed, td3_lopsided=lopsided),
    }


def _choices_of_the_online_network(make_env: Any, seed: int) -> Dict[str, Any]:
    """Double Q-learning of choices as one-hot vectors and as indices, away from the target."""

    def forward(space: str, taken: Any) -> Any:
        loss = _dqn(
            q_values(action_space=space), action_space=space, double_dqn=True, delay_value=True
        )
        for item in entries(loss.value_network_params).values():
            item.data.mul_(-1.0)
        return with_gradients(loss, steps(8, action=taken))

    chosen = torch.arange(8) % CHOICES
    return answers(
        seed,
        one_hot=lambda: forward("one_hot", nn.functional.one_hot(chosen, CHOICES)),
        indices=lambda: forward("categorical", chosen),
    )


def _rates_of_targets(make_env: Any, seed: int) -> Dict[str, Any]:
    """Targets that are moved by either name of the rate, and copied at every third update."""
    soft = library("torchrl.objectives", "SoftUpdate")
    hard = library("torchrl.objectives", "HardUpdate")

    def moved(kind: Any, **options: Any) -> Any:
        check_arguments(kind, options)
        loss = _dqn(delay_value=True)
        updater = kind(loss, **options)
        return [item for _ in range(4) for item in _moved(loss, updater).values()]

    return answers(
        seed,
        tau=lambda: moved(soft, tau=0.2),
        eps=lambda: moved(soft, eps=0.7),
        every_third=lambda: moved(hard, value_network_update_interval=3),
    )


API_CASES = {
    "off-policy-losses": _defaults,
    "losses-of-trajectories": _trajectories,
    "weighted-losses": _weighted,
    "marked-steps": _marked,
    "padded-replay": _padded,
    "sac-near-bounds": _near_bounds,
    "unreduced-sac": _unreduced,
    "sac-temperature": _temperature,
    "sure-choices": _sure_choices,
    "list-of-critics": _list_of_critics,
    "choices-as-indices": _indices,
    "constructors-of-off-policy-losses": _constructors,
    "dropout-in-losses": _dropout,
    "registered-layers": _registered_layers,
    "evaluated-network": _evaluated_network,
    "default-targets": _default_targets,
    "target-updates": _target_updates,
    "lazy-layers": _lazy_layers,
    "options-of-sac": _options_of_sac,
    "skipped-states": _skipped_states,
    "options-of-critics": _options_of_critics,
    "double-choices": _choices_of_the_online_network,
    "rates-of-targets": _rates_of_targets,
}
