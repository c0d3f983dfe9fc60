"""Losses of PPO, A2C and Reinforce."""

from __future__ import annotations

import inspect
from typing import Any, Dict

import torch
from torch import nn

from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import (
    OBSERVATIONS,
    answers,
    at,
    choosing,
    dictionary,
    entries,
    scored,
    stochastic,
    value,
    with_gradients,
)

_PPO = {"ppo": "PPOLoss", "clip": "ClipPPOLoss", "kl": "KLPENPPOLoss"}


def _loss(name: str, distribution: str = "IndependentNormal", **options: Any) -> Any:
    """A loss of TorchRL on an actor and a critic of its own."""
    kind = library("torchrl.objectives", name)
    return kind(stochastic(library("torchrl.modules", distribution)), value(), **options)


def _ppo(make_env: Any, seed: int) -> Dict[str, Any]:
    """Ratios that leave the clip range on both sides, with every default of the losses."""
    calls = {
        label: lambda name=name: with_gradients(_loss(name), scored(12))
        for label, name in _PPO.items()
    }
    return answers(seed, **calls)


def _clip_ranges(make_env: Any, seed: int) -> Dict[str, Any]:
    """Ratios that leave clip ranges of several widths, in double precision."""
    kind = library("torchrl.objectives", "ClipPPOLoss")
    normal = library("torchrl.modules", "IndependentNormal")

    def forward(width: float) -> Any:
        loss = kind(stochastic(normal).double(), value().double(), clip_epsilon=width)
        batch = scored(12).apply(lambda item: item.double() if item.is_floating_point() else item)
        return loss(batch)["loss_objective"].detach()

    widths = (0.1, 0.2, 0.3)
    return answers(seed, **{f"width_{k}": (lambda w=w: forward(w)) for k, w in enumerate(widths)})


def _without_entropy(make_env: Any, seed: int) -> Dict[str, Any]:
    """Losses without an entropy bonus."""
    calls = {
        label: lambda name=name: with_gradients(_loss(name, entropy_bonus=False), scored(12))
        for label, name in _PPO.items()
    }
    return answers(seed, **calls)


def _sampled_entropy(make_env: Any, seed: int) -> Dict[str, Any]:
    """A distribution without a formula for its entropy, whose samples are near the bounds."""
    return answers(seed, **_with_samples(_PPO), bonus=lambda: _bonus(1), several=lambda: _bonus(3))


def _bonus(samples: int) -> Any:
    """The entropy of each step as the loss takes it."""
    loss = _loss("PPOLoss", "TanhNormal", samples_mc_entropy=samples)
    kind = library("torchrl.modules", "TanhNormal")
    entropy = getattr(loss, "get_entropy_bonus", None) or loss._get_entropy
    distribution = kind(torch.randn(6, 2), torch.rand(6, 2) + 0.5)
    shaped = "adv_shape" in inspect.signature(entropy).parameters
    return entropy(distribution, **({"adv_shape": torch.Size([6])} if shaped else {})).detach()


def _sampled_entropy_of_a2c(make_env: Any, seed: int) -> Dict[str, Any]:
    """The same for A2C."""
    return answers(seed, **_with_samples({"a2c": "A2CLoss"}))


def _with_samples(kinds: Dict[str, str]) -> Dict[str, Any]:
    tanh = library("torchrl.modules", "TanhNormal")

    def forward(name: str, samples: int) -> Any:
        kind = library("torchrl.objectives", name)
        loss = kind(stochastic(tanh, gain=8.0), value(), samples_mc_entropy=samples)
        return with_gradients(loss, scored(8))

    calls: Dict[str, Any] = {}
    for label, name in kinds.items():
        calls[label] = lambda name=name: forward(name, 1)
        calls[f"{label}_several"] = lambda name=name: forward(name, 3)
    return calls


def _own_distributions(make_env: Any, seed: int) -> Dict[str, Any]:
    """Distributions that a user makes: an infinite entropy; no formula of it, and no rsample."""
    normal = library("torchrl.modules", "IndependentNormal")

    class Unbounded(normal):  # type: ignore[misc, valid-type]
        """One whose entropy is infinite."""

        def entropy(self) -> Any:
            return torch.full(self.batch_shape, float("inf"))

    class Drawn(torch.distributions.Distribution):
        """One that can be drawn from and scored, and nothing else."""

        arg_constraints: Dict[str, Any] = {}
        has_rsample = False

        def __init__(self, loc: torch.Tensor, scale: torch.Tensor) -> None:
            self.inner = torch.distributions.Independent(torch.distributions.Normal(loc, scale), 1)
            super().__init__(self.inner.batch_shape, self.inner.event_shape, validate_args=False)

        def sample(self, sample_shape: Any = ()) -> Any:
            return self.inner.sample(torch.Size(sample_shape))

        def log_prob(self, value: Any) -> Any:
            return self.inner.log_prob(value)

    def forward(name: str, kind: Any) -> Any:
        loss = library("torchrl.objectives", name)(stochastic(kind), value())
        return with_gradients(loss, scored(8))

    return answers(
        seed,
        clip_infinite=lambda: forward("ClipPPOLoss", Unbounded),
        ppo_infinite=lambda: forward("PPOLoss", Unbounded),
        clip_drawn=lambda: forward("ClipPPOLoss", Drawn),
    )


def _subclass(make_env: Any, seed: int) -> Dict[str, Any]:
    """A distribution that only has another name than one that is known."""
    normal = library("torchrl.modules", "IndependentNormal")

    class Renamed(normal):  # type: ignore[misc, valid-type]
        """A normal distribution of another name."""

    def forward(name: str) -> Any:
        loss = library("torchrl.objectives", name)(stochastic(Renamed), value())
        return with_gradients(loss, scored(8))

    return answers(seed, a2c=lambda: forward("A2CLoss"))


def _masked(make_env: Any, seed: int) -> Dict[str, Any]:
    """An actor of which some choices are not allowed in some steps."""
    kind = library("torchrl.modules", "MaskedCategorical")

    def forward(name: str) -> Any:
        mask = torch.ones(8, 4, dtype=torch.bool)
        mask[:4, 3] = mask[2:6, 0] = False
        batch = scored(8, mask=mask, action=torch.tensor([1, 2] * 4))
        loss = library("torchrl.objectives", name)(choosing(kind, masked=True), value())
        return with_gradients(loss, batch)

    return answers(
        seed, a2c=lambda: forward("A2CLoss"), clip=lambda: forward("ClipPPOLoss")
    )  # fmt: skip


def _critic_coefficient_of_zero(make_env: Any, seed: int) -> Dict[str, Any]:
    """A critic whose loss counts for nothing."""
    kinds = {**_PPO, "a2c": "A2CLoss"}

    def forward(name: str) -> Any:
        kind = library("torchrl.objectives", name)
        actor = stochastic(library("torchrl.modules", "IndependentNormal"))
        return with_gradients(made(kind, actor, value(), critic_coeff=0.0), scored(8))

    return answers(seed, **{k: (lambda name=name: forward(name)) for k, name in kinds.items()})


def _old_coefficient_names(make_env: Any, seed: int) -> Dict[str, Any]:
    """Coefficients by the names that they had once."""
    kinds = {"clip": "ClipPPOLoss", "a2c": "A2CLoss"}
    calls: Dict[str, Any] = {}

    def forward(name: str, given: Dict[str, Any]) -> Any:
        return with_gradients(_loss(name, **given), scored(8))

    for label, name in kinds.items():
        for option in ("entropy_coef", "critic_coef"):
            calls[f"{label}_{option}"] = lambda name=name, option=option: forward(
                name, {option: 0.5}
            )
    return answers(seed, **calls)


def _saved(make_env: Any, seed: int) -> Dict[str, Any]:
    """What is saved of the losses, by its names, and what their parameters are called."""
    kinds = {**_PPO, "a2c": "A2CLoss"}

    def names(name: str) -> Any:
        loss = _loss(name)
        state = {key: item for key, item in loss.state_dict().items() if hasattr(item, "detach")}
        named = {f"parameter.{key}": item.detach() for key, item in loss.named_parameters()}
        return {**state, **named}

    return answers(seed, **{k: (lambda name=name: names(name)) for k, name in kinds.items()})


def _assigned_coefficients(make_env: Any, seed: int) -> Dict[str, Any]:
    """Coefficients that a schedule assigns after the loss is made."""

    def forward(name: str, *options: str) -> Any:
        loss = _loss(name)
        for option in options:
            known = [values for values in (option, option[:-1]) if hasattr(loss, values)]
            setattr(loss, known[0], 0.3)
        return with_gradients(loss, scored(8))

    return answers(
        seed,
        clip=lambda: forward("ClipPPOLoss", "clip_epsilon"),
        entropy=lambda: forward("ClipPPOLoss", "entropy_coeff"),
        a2c=lambda: forward("A2CLoss", "critic_coeff"),
    )


def _sequences(make_env: Any, seed: int) -> Dict[str, Any]:
    """Trajectories, and advantages that lack a dimension, or are one for several ratios."""
    log_probs = {key: -torch.rand(6, 1) for key in ("action_log_prob", "sample_log_prob")}

    def flat(name: str) -> Any:
        batch = scored(6)
        batch["advantage"] = batch["advantage"].squeeze(-1)
        return with_gradients(_loss(name), batch)

    def columns(name: str) -> Any:
        batch = scored(6, **log_probs)
        return with_gradients(_loss(name), batch)

    calls: Dict[str, Any] = {}
    for label, name in _PPO.items():
        calls[f"{label}_trajectories"] = lambda name=name: with_gradients(_loss(name), scored(3, 4))
        calls[f"{label}_flat"] = lambda name=name: flat(name)
        calls[f"{label}_columns"] = lambda name=name: columns(name)
    return answers(seed, **calls)


def _padded(make_env: Any, seed: int) -> Dict[str, Any]:
    """Padded trajectories with the mask of a collector, and steps that an estimator marks."""
    kinds = {**_PPO, "a2c": "A2CLoss"}

    def collected(name: str) -> Any:
        mask = ~at((2, 6), 4, 5).squeeze(-1)
        return with_gradients(
            _loss(name), scored(2, 6, collector=dictionary({"mask": mask}, (2, 6)))
        )

    def marked(name: str) -> Any:
        marks = ~at((2, 6), 3).squeeze(-1)
        return with_gradients(
            _loss(name, normalize_advantage=True), scored(2, 6, shifted_valid=marks)
        )

    calls: Dict[str, Any] = {}
    for label, name in kinds.items():
        calls[f"{label}_collected"] = lambda name=name: collected(name)
        if name != "A2CLoss":
            calls[f"{label}_marked"] = lambda name=name: marked(name)
    return answers(seed, **calls)


def _advantage_with_gradient(make_env: Any, seed: int) -> Dict[str, Any]:
    """An advantage that carries a gradient."""

    def forward(name: str) -> Any:
        batch = scored(8)
        batch["advantage"] = batch["advantage"].requires_grad_()
        return with_gradients(_loss(name), batch)

    return answers(seed, a2c=lambda: forward("A2CLoss"), clip=lambda: forward("ClipPPOLoss"))


def _keys_of_an_actor(make_env: Any, seed: int) -> Dict[str, Any]:
    """An actor that writes its action and its log-probability under names of its own."""
    from tensordict.nn import NormalParamExtractor, TensorDictModule
    from torchrl.modules import ProbabilisticActor

    normal = library("torchrl.modules", "IndependentNormal")

    def forward(name: str) -> Any:
        parameters = nn.Sequential(nn.Linear(OBSERVATIONS, 4), NormalParamExtractor())
        actor = ProbabilisticActor(
            TensorDictModule(parameters, ["observation"], ["loc", "scale"]),
            in_keys=["loc", "scale"],
            out_keys=["move"],
            distribution_class=normal,
            return_log_prob=True,
        )
        batch = scored(8, move_log_prob=-torch.rand(8), move=torch.randn(8, 2))
        return with_gradients(library("torchrl.objectives", name)(actor, value()), batch)

    return answers(seed, a2c=lambda: forward("A2CLoss"), clip=lambda: forward("ClipPPOLoss"))


def _constructors(make_env: Any, seed: int) -> Dict[str, Any]:
    """Losses that are made with a discount, and with keys."""

    def forward(name: str, **options: Any) -> Any:
        return with_gradients(_loss(name, **options), scored(8))

    calls: Dict[str, Any] = {}
    for label, name in {"clip": "ClipPPOLoss", "a2c": "A2CLoss"}.items():
        calls[f"{label}_discount"] = lambda name=name: forward(name, gamma=0.9)
        calls[f"{label}_key"] = lambda name=name: forward(name, advantage_key="advantage")
    return answers(seed, **calls)


# -- several heads ------------------------------------------------------------------------------


class _Heads(nn.Module):
    """Parameters of a move and of a choice."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(OBSERVATIONS, 7)

    def forward(self, observation: torch.Tensor) -> Any:
        heads = self.layer(observation)
        return heads[..., :2], nn.functional.softplus(heads[..., 2:4]), heads[..., 4:]


def actor_of_heads(move: Any, nested: bool, choice: Any = torch.distributions.Categorical) -> Any:
    """An actor of a move, which is continuous, and a choice."""
    from tensordict.nn import CompositeDistribution, TensorDictModule
    from torchrl.modules import ProbabilisticActor

    outputs = [
        ("params", "move", "loc"),
        ("params", "move", "scale"),
        ("params", "choice", "logits"),
    ]
    kinds = {
        "move": move,
        "choice": choice,
    }
    names = {"move": ("agent", "move"), "choice": ("agent", "choice")}
    options = {"distribution_map": kinds, **({"name_map": names} if nested else {})}
    return ProbabilisticActor(
        TensorDictModule(_Heads(), ["observation"], outputs),
        in_keys=["params"],
        distribution_class=CompositeDistribution,
        distribution_kwargs=options,
        return_log_prob=True,
    )


def _heads(
    move: Any, nested: bool = False, gain: float = 1.0, loss: str = "ClipPPOLoss", **options: Any
) -> Any:
    """The forward pass of a loss after the actor that acted has changed."""
    apart = library("tensordict.nn", "set_composite_lp_aggregate")
    exploring = library("torchrl.envs.utils", "set_exploration_type")
    types = library("torchrl.envs.utils", "ExplorationType")
    with apart(False):
        actor = actor_of_heads(move, nested)
        for parameter in actor.parameters():
            parameter.data.mul_(gain)
        given = scored(8).exclude("action", "action_log_prob", "sample_log_prob", "loc", "scale")
        with exploring(types.RANDOM), torch.no_grad():
            batch = actor(given)
            for parameter in actor.parameters():
                parameter.add_(0.5 * torch.randn_like(parameter))
        kind = library("torchrl.objectives", loss)
        return with_gradients(kind(actor, value(), **options), batch)


def _several_heads(make_env: Any, seed: int) -> Dict[str, Any]:
    """A move and a choice, whose log-probabilities are kept apart; the ratio leaves its range."""
    normal = library("torchrl.modules", "IndependentNormal")
    tanh = library("torchrl.modules", "TanhNormal")

    class Unbounded(normal):  # type: ignore[misc, valid-type]
        """A head whose entropy is infinite."""

        def entropy(self) -> Any:
            return torch.full(self.batch_shape, float("inf"))

    return answers(
        seed,
        formula=lambda: _heads(normal),
        nested=lambda: _heads(normal, True),
        sampled=lambda: _heads(tanh, gain=6.0),
        infinite=lambda: _heads(Unbounded),
        kl=lambda: _heads(tanh, gain=6.0, loss="KLPENPPOLoss"),
    )


def _coefficients_of_heads(make_env: Any, seed: int) -> Dict[str, Any]:
    """An entropy coefficient for each head."""
    normal = library("torchrl.modules", "IndependentNormal")
    plain = {"move_log_prob": 0.1, "choice_log_prob": 0.2}
    names = {"move_entropy": 0.1, "choice_entropy": 0.2}
    heads = {"move": 0.1, "choice": 0.2}
    nested = {("agent", f"{key}_entropy"): rate for key, rate in heads.items()}

    def forward(deep: bool, rates: Any) -> Any:
        return _heads(normal, deep, entropy_coeff=rates)

    return answers(
        seed,
        heads=lambda: forward(False, heads),
        names=lambda: forward(False, names),
        scores=lambda: forward(False, plain),
        nested=lambda: forward(True, nested),
        nested_heads=lambda: forward(True, {"agent": 0.1}),
    )


# -- options --------------------------------------------------------------------------------------


def _with(name: str, distribution: str = "IndependentNormal", **options: Any) -> Any:
    """A loss with options that the version has to take."""
    kind = library("torchrl.objectives", name)
    return made(kind, stochastic(library("torchrl.modules", distribution)), value(), **options)


def _unequal(loss: Any) -> Any:
    """A loss whose actor has left the delayed copy of it."""
    for item in entries(loss.actor_network_params).values():
        item.data.mul_(1.2)
    return loss


def _trust_region(make_env: Any, seed: int) -> Dict[str, Any]:
    """Bounds of the ratio that differ, a cap on it, and a region around a delayed actor."""

    def forward(name: str, **options: Any) -> Any:
        loss = _with(name, **options)
        return with_gradients(_unequal(loss) if loss.delay_actor else loss, scored(12))

    calls: Dict[str, Any] = {
        "unequal": lambda: forward("ClipPPOLoss", clip_epsilon=(0.1, 0.3)),
    }
    for label, name in _PPO.items():
        for case, given in {
            "capped": {"max_importance_ratio": 1.1},
            "delayed": {"delay_actor": True},
            "both": {"max_importance_ratio": 1.1, "delay_actor": True},
        }.items():
            calls[f"{label}_{case}"] = lambda name=name, given=given: forward(name, **given)
    return answers(seed, **calls)


def _scaled_advantages(make_env: Any, seed: int) -> Dict[str, Any]:
    """Advantages over a running scale of returns, which losses update with their own targets."""
    scale = library("torchrl.modules", "PercentileValueNorm")

    def forward(name: str, estimated: bool) -> Any:
        norm = scale(rate=0.5, min_scale=0.1)
        loss = _with(name, advantage_norm=norm)
        norm.update(torch.linspace(-3.0, 5.0, 20).unsqueeze(-1))
        batch = scored(2, 6)
        if estimated:
            batch = batch.exclude("advantage", "value_target", "state_value")
        return {**with_gradients(loss, batch), "scale": norm.scale().detach()}

    calls: Dict[str, Any] = {}
    for label, name in {**_PPO, "a2c": "A2CLoss"}.items():
        calls[label] = lambda name=name: forward(name, False)
        calls[f"{label}_estimated"] = lambda name=name: forward(name, True)
    return answers(seed, **calls)


def _options(make_env: Any, seed: int) -> Dict[str, Any]:
    """Criteria, reductions, value clips, standardised advantages, modules that losses keep."""
    shape = (3, 4)

    def normalised(name: str, **options: Any) -> Any:
        batch = scored(*shape, shifted_valid=~at(shape, 3).squeeze(-1))
        return with_gradients(_with(name, normalize_advantage=True, **options), batch)

    calls: Dict[str, Any] = {}
    for label, name in {**_PPO, "a2c": "A2CLoss", "reinforce": "ReinforceLoss"}.items():
        for case, given in {
            "l1_sum": {"loss_critic_type": "l1", "reduction": "sum"},
            "l2_none": {"loss_critic_type": "l2", "reduction": "none"},
            "clip": {"clip_value": 0.1, "separate_losses": True},
        }.items():
            calls[f"{label}_{case}"] = lambda name=name, given=given: with_gradients(
                _with(name, **given), scored(8)
            )
        if label in _PPO:
            calls[f"{label}_normalised"] = lambda name=name: normalised(name)
            calls[f"{label}_apart"] = lambda name=name: normalised(
                name, normalize_advantage_exclude_dims=(0,)
            )
    for label, name in {"ppo": "PPOLoss", "a2c": "A2CLoss", "reinforce": "ReinforceLoss"}.items():
        calls[f"{label}_modules"] = lambda name=name: with_gradients(
            _with(name, functional=False), scored(8)
        )
    calls["clip_as_the_ratio"] = lambda: with_gradients(
        _with("ClipPPOLoss", clip_value=True), scored(8)
    )
    calls["reinforce_delayed"] = lambda: with_gradients(
        _with("ReinforceLoss", delay_value=True), scored(8)
    )
    return answers(seed, **calls)


def _penalties(make_env: Any, seed: int) -> Dict[str, Any]:
    """Coefficients of the divergence that rise and fall, and a divergence from samples."""

    def forward(distribution: str = "IndependentNormal", **options: Any) -> Any:
        loss = _with("KLPENPPOLoss", distribution, **options)
        written = with_gradients(loss, scored(8))
        return {**written, "beta": loss.beta.detach().clone()}

    return answers(
        seed,
        rises=lambda: forward(dtarg=0.02, increment=3.0, beta=0.7),
        falls=lambda: forward(dtarg=1e4, decrement=0.3, beta=0.7),
        sampled=lambda: forward("TanhNormal", samples_mc_kl=3),
    )


API_CASES = {
    "ppo-losses": _ppo,
    "clip-ranges": _clip_ranges,
    "ppo-without-entropy": _without_entropy,
    "sampled-entropy": _sampled_entropy,
    "sampled-entropy-of-a2c": _sampled_entropy_of_a2c,
    "own-distributions": _own_distributions,
    "subclass-of-a-distribution": _subclass,
    "masked-policy": _masked,
    "critic-coefficient-of-zero": _critic_coefficient_of_zero,
    "old-coefficient-names": _old_coefficient_names,
    "saved-losses": _saved,
    "assigned-coefficients": _assigned_coefficients,
    "advantages-of-sequences": _sequences,
    "padded-steps": _padded,
    "advantage-with-gradient": _advantage_with_gradient,
    "keys-of-an-actor": _keys_of_an_actor,
    "constructors-of-on-policy-losses": _constructors,
    "several-heads": _several_heads,
    "coefficients-of-heads": _coefficients_of_heads,
    "trust-region": _trust_region,
    "scaled-advantages": _scaled_advantages,
    "options-of-on-policy-losses": _options,
    "adapting-penalties": _penalties,
}
