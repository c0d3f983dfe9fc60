"""Losses of rows and blocks of steps, without critics, and such as users derive."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, List

import torch

from rlregress.frameworks.torchrl.api_cases import refused
from rlregress.frameworks.torchrl.api_cases.loss_options import LOSSES, batch_for
from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import (
    answers,
    q_values,
    stochastic,
    value,
    with_gradients,
)

_POLICIES = ("ppo", "clip", "kl", "a2c")
_SCALARS = ("sac", "sac_1", "discrete_sac")


def _blocks(make_env: Any, seed: int) -> Dict[str, Any]:
    """Every loss of rows and blocks of steps, one of whose sides may be one; with weights."""

    def forward(label: str, weighted: bool, *shape: int, **options: Any) -> Any:
        if label in _SCALARS and options.get("reduction") == "none":
            options["scalar_output_mode"] = "exclude"
        count = torch.Size(shape).numel()
        ends = (torch.arange(count) % 3 == 1).reshape(*shape, 1)
        loss = LOSSES[label](**options)
        batch = _cut(label, *shape)
        batch["next", "done"], batch["next", "terminated"] = ends, ends
        if weighted:
            batch["priority_weight"] = 0.5 + torch.rand(*shape)
        return with_gradients(loss, batch)

    def standardised(label: str, spread: float, counting: int, *shape: int) -> Any:
        loss = LOSSES[label](normalize_advantage=True)
        batch = _cut(label, *shape)
        batch["advantage"] = 1.0 + spread * torch.randn(*shape, 1)
        if counting >= 0:
            # that many steps count
            batch["shifted_valid"] = (torch.arange(batch.numel()) < counting).reshape(shape)
        return with_gradients(loss, batch)

    def outputs(label: str, mode: str) -> Any:
        loss = LOSSES[label](reduction="none", scalar_output_mode=mode)
        returned = loss(batch_for(label, 6))
        kept = {key: returned.get(key, None) for key in ("alpha", "entropy")}
        kept = {key: torch.as_tensor(item) for key, item in kept.items() if item is not None}
        return {"keys": str(sorted(map(str, returned.keys()))), **kept}

    calls: Dict[str, Any] = {}
    shapes = ((1,), (4,), (1, 4), (4, 1), (2, 1, 4), (1, 2, 4), (2, 2, 2, 4))
    for label in LOSSES:
        for shape in shapes:
            name = "_".join(map(str, shape))
            for reduction in ("mean", "none"):
                calls[f"{label}.{name}.{reduction}"] = partial(
                    forward, label, False, *shape, reduction=reduction
                )
            if label not in _POLICIES:
                calls[f"{label}.{name}.weighted"] = partial(forward, label, True, *shape)
    for label in ("ppo", "clip", "kl"):
        for shape in ((1,), (2,), (3,), (1, 1), (2, 1), (2, 4)):
            for spread in (1.0, 1e-5):
                for counting in (-1, 0, 1, 3):
                    name = f"{'_'.join(map(str, shape))}.{spread}.{counting}"
                    calls[f"{label}.standardised.{name}"] = partial(
                        standardised, label, spread, counting, *shape
                    )
    for label in _SCALARS:
        for mode in ("exclude", "non_tensor"):
            calls[f"{label}.told.{mode}"] = partial(outputs, label, mode)
    return answers(seed, **calls)


def _cut(label: str, *shape: int) -> Any:
    """A batch of so many steps, of a longer one where they are few."""
    return batch_for(label, *shape[:-1], max(shape[-1], 4))[..., : shape[-1]].clone()


def _coefficients(make_env: Any, seed: int) -> Dict[str, Any]:
    """Losses of policies with coefficients of zero, without critics; what states they store."""

    def forward(label: str, **options: Any) -> Any:
        return with_gradients(LOSSES[label](**options), batch_for(label, 2, 6))

    def critic(label: str, **options: Any) -> Any:
        found = LOSSES[label](**options).loss_critic(batch_for(label, 2, 6))
        return str([None if tensor is None else round(float(tensor.sum()), 5) for tensor in found])

    def taken_away(label: str) -> Any:
        loss = LOSSES[label]()
        loss.value_estimator = None
        estimator = loss.value_estimator
        return str([type(estimator).__name__, float(estimator.gamma)])

    def stored(label: str) -> Any:
        loss, other = LOSSES[label](), LOSSES[label](**_options(label))
        state = loss.state_dict()
        loss.load_state_dict({key: torch.zeros_like(item) for key, item in state.items()})
        other.load_state_dict(state)
        return {**state, "keys": str(sorted(state)), "target": target_of(other)}

    def target_of(loss: Any) -> Any:
        return float(loss.target_entropy) if hasattr(loss, "target_entropy") else 0.0

    calls: Dict[str, Any] = {}
    for label in _POLICIES:
        for case, options in (
            ("critic", {"critic_coeff": 0.0}), ("entropy", {"entropy_coeff": 0.0}),
            ("both", {"critic_coeff": 0.0, "entropy_coeff": 0.0}),
            ("clipped", {"critic_coeff": 0.0, "clip_value": 0.2}),
            ("twice", {"critic_coeff": 2.0, "clip_value": 0.2}),
            ("absolute", {"loss_critic_type": "l1", "clip_value": 0.2}),
        ):  # fmt: skip
            calls[f"{label}.{case}"] = partial(forward, label, **options)
            calls[f"{label}.{case}.alone"] = partial(critic, label, **options)
    for label in LOSSES:
        calls[f"{label}.taken_away"] = partial(taken_away, label)
        calls[f"{label}.stored"] = partial(stored, label)
    calls["spaceless"] = _spaceless
    clipping = library("torchrl.objectives.utils", "_validate_clip_epsilon")
    for number in (0.2, 0.0, 0.5, 1.0, -0.1, 2.0):
        calls[f"clip.{number}"] = lambda number=number: list(clipping(number))
        calls[f"clip.pair.{number}"] = lambda number=number: list(clipping((number, 0.3)))
        calls[f"clip.turned.{number}"] = lambda number=number: list(clipping((0.3, number)))
    calls["clip.three"] = lambda: list(clipping((0.1, 0.2, 0.3)))
    return answers(seed, **calls, **_criticless())


def _criticless() -> Dict[str, Any]:
    """Losses of policies without a critic, and with one that does not count; kept networks."""
    sides = ("actor_network", "critic_network")
    trees = [f"{prefix}{side}_params" for side in sides for prefix in ("", "target_")]

    def results(name: str, network: Any, **options: Any) -> Any:
        actor = stochastic(library("torchrl.modules", "TanhNormal"))
        loss = made(library("torchrl.objectives", name), actor, network and network(), **options)
        loss.make_value_estimator(gamma=0.9)
        lacking = [str(refused(partial(getattr, loss, tree)))[:7] for tree in trees]
        keys = [sorted(map(str, loss.in_keys)), sorted(loss.out_keys)]
        outputs = with_gradients(loss, batch_for("ppo", 2, 6))
        return {"told": str([lacking, keys, str(loss.critic_coeff)]), **outputs}

    calls: Dict[str, Any] = {}
    for name in ("PPOLoss", "ClipPPOLoss", "KLPENPPOLoss", "A2CLoss"):
        for label, network in (("none", None), ("critic", value)):
            for number in (None, 0, 0.0, 0.5, 1):
                for functional in (True, False):
                    calls[f"{name}.{label}.{number}.{functional}"] = partial(
                        results, name, network, critic_coeff=number, functional=functional
                    )
    return calls


def _options(label: str) -> Dict[str, Any]:
    """What a second loss has otherwise."""
    return {"target_entropy": -7.0} if label in _SCALARS else {}


def _spaceless() -> Any:
    """Values of choices whose space nobody knows: one-hot vectors."""
    network = q_values()

    class Unknown(type(network)):  # type: ignore[misc]
        """The same without a space."""

        spec = None
        action_space = None

    network.__class__ = Unknown
    loss = library("torchrl.objectives", "DQNLoss")(network)
    loss.make_value_estimator(gamma=0.9)
    return {"space": str(loss.action_space), **with_gradients(loss, batch_for("dqn", 6))}


def _derived(make_env: Any, seed: int) -> Dict[str, Any]:
    """Losses that a user derives: modes while they compute and after, scheduled numbers."""
    from torchrl.envs.utils import ExplorationType, exploration_type, set_exploration_type

    base = library("torchrl.objectives", "LossModule")
    recurrent = library("torchrl.modules", "recurrent_mode")

    class Parent(base):  # type: ignore[misc, valid-type]
        """One whose rate is scheduled."""

        _schedulable_buffers = frozenset({"rate"})

    class Child(Parent):
        """One with another number, which notes the modes of its methods."""

        _schedulable_buffers = frozenset({"share"})

        def __init__(self) -> None:
            super().__init__()
            for name in ("rate", "share", "fixed"):
                self.register_buffer(name, torch.tensor(1.0))

        def forward(self, *given: Any) -> Any:
            """The modes."""
            return modes()

        def actor_loss(self) -> Any:
            """The same in a method that is called as a loss."""
            return modes()

        def _hidden_loss(self) -> Any:
            return modes()

        def loss_of(self) -> Any:
            """The same in one that is not."""
            return modes()

        def failing_loss(self) -> Any:
            """One that ends in an error."""
            raise ValueError("on purpose")

    def modes() -> List[str]:
        return [str(exploration_type()), str(recurrent())]

    def outputs(name: str) -> Any:
        with set_exploration_type(ExplorationType.RANDOM):
            loss = Child()
            within = refused(getattr(loss, name))
            return str([within, modes()])

    def scheduled(name: str, number: Any) -> Any:
        loss = Child()
        setattr(loss, name, number)
        return str([float(getattr(loss, name)), sorted(dict(loss.named_buffers()))])

    calls: Dict[str, Any] = {
        name: partial(outputs, name)
        for name in ("forward", "actor_loss", "_hidden_loss", "loss_of", "failing_loss")
    }
    for name in ("rate", "share", "fixed"):
        calls[f"{name}.number"] = partial(scheduled, name, 0.5)
        calls[f"{name}.whole"] = partial(scheduled, name, 3)
        calls[f"{name}.tensor"] = lambda name=name: scheduled(name, torch.tensor(0.25))
    return answers(seed, **calls, **_taken_out())


def _taken_out() -> Dict[str, Any]:
    """Networks taken out of losses as a copy and as they are, and others put in."""

    def taken(label: str, name: str, *given: Any, **options: Any) -> Any:
        loss = LOSSES[label](**options)
        network = loss.get_stateful_net(name, *given)
        first = next(iter(network.parameters()))
        with torch.no_grad():
            first.add_(1.0)
        own = next(iter(getattr(loss, name).parameters()))
        return {"same": float(network is getattr(loss, name)), "own": own.detach().clone(),
                "moved": first.detach().clone()}  # fmt: skip

    def put(label: str, name: str) -> Any:
        loss, other = LOSSES[label](functional=False), LOSSES[label](functional=False)
        loss.from_stateful_net(name, getattr(other, name))
        ours, theirs = (next(iter(getattr(module, name).parameters())) for module in (loss, other))
        return {"ours": ours.detach().clone(), "theirs": theirs.detach().clone()}

    calls: Dict[str, Any] = {}
    for label, name in (("ppo", "actor_network"), ("a2c", "critic_network")):
        for copy in (None, True, False):
            calls[f"{label}.taken.{copy}"] = partial(taken, label, name, copy)
            calls[f"{label}.taken.kept.{copy}"] = partial(
                taken, label, name, copy, functional=False
            )
        calls[f"{label}.taken"] = partial(taken, label, name)
        calls[f"{label}.put"] = partial(put, label, name)
    return calls


API_CASES = {
    "losses-in-blocks": _blocks,
    "coefficients-of-zero": _coefficients,
    "derived-losses": _derived,
}
