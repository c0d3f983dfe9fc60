"""Corners of losses: discounts of their own, heads told otherwise, what is read by itself."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, List, Sequence

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
    bounds,
    choice_values,
    choosing,
    deterministic,
    dictionary,
    entries,
    q_values,
    scored,
    steps,
    stochastic,
    value,
    with_gradients,
)

_UTILITIES = "torchrl.objectives.utils"
_PPO = "torchrl.objectives.ppo"
_ON_POLICY = ("ppo", "clip", "kl", "a2c")
_NAMES = {"ppo": "PPOLoss", "clip": "ClipPPOLoss", "kl": "KLPENPPOLoss", "a2c": "A2CLoss"}


def _objective(name: str) -> Any:
    return library("torchrl.objectives", name)


def _gaussian() -> Any:
    return stochastic(library("torchrl.modules", "TanhNormal"))


def _discounts(make_env: Any, seed: int) -> Dict[str, Any]:
    """Losses that hold a discount of their own, as derived ones do, for every estimator."""
    kinds = library("torchrl.objectives", "ValueEstimators")

    def outputs(label: str, number: Any, *kind: Any, **given: Any) -> Any:
        loss = LOSSES[label]()
        loss.gamma = number
        loss.make_value_estimator(*kind, **given)
        gamma = float(loss.value_estimator.gamma)
        return {"gamma": gamma, **with_gradients(loss, batch_for(label, 2, 6))}

    def dispatched(label: str, number: Any, **given: Any) -> Any:
        loss = LOSSES[label]()
        loss.gamma = number
        more = {"supported": (kinds.TD0, kinds.GAE), "value_network": value(), **given}
        made_one = library(_UTILITIES, "dispatch_value_estimator")(loss, "td0", **more)
        return float(made_one.gamma)

    calls: Dict[str, Any] = {}
    for label in LOSSES:
        calls[f"{label}.default"] = partial(outputs, label, 0.4)
        calls[f"{label}.tensor"] = partial(outputs, label, torch.tensor(0.3))
        calls[f"{label}.given"] = partial(outputs, label, 0.4, gamma=0.6)
        for kind in ("TD0", "TD1", "TDLambda", "GAE", "VTrace"):
            calls[f"{label}.{kind}"] = partial(outputs, label, 0.4, getattr(kinds, kind, kind))
        calls[f"{label}.dispatched"] = partial(dispatched, label, 0.4)
        calls[f"{label}.dispatched.given"] = partial(dispatched, label, 0.4, gamma=0.6)
    return answers(seed, **calls)


def _heads(make_env: Any, seed: int) -> Dict[str, Any]:
    """Heads whose log-probabilities are summed in the batch alone; batches without time."""
    normal = library("torchrl.modules", "IndependentNormal")
    summed = library("tensordict.nn", "set_composite_lp_aggregate")

    class Rigid(torch.distributions.Categorical):
        """A head without a formula of its entropy."""

        entropy = torch.distributions.Distribution.entropy

    def drawn(nested: bool, choice: Any) -> Any:
        from torchrl.envs.utils import ExplorationType, set_exploration_type

        gone = ("action", "action_log_prob", "sample_log_prob", "loc", "scale")
        with set_exploration_type(ExplorationType.RANDOM), torch.no_grad():
            actor = actor_of_heads(normal, nested, choice)
            batch = actor(scored(2, 6).exclude(*gone))
            for parameter in actor.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
        return actor, batch

    def forward(label: str, together: bool, nested: bool = False, **more: Any) -> Any:
        choice = more.pop("choice", torch.distributions.Categorical)
        narrow = more.pop("narrow", False)
        with summed(False):
            actor, batch = drawn(nested, choice)
            scores = [key for key in batch.keys(True, True) if "log_prob" in str(key)]
            if together:
                batch["score"] = torch.stack([batch[key] for key in scores]).sum(0)
            if narrow:
                # the dimension of time is none of the batch's
                batch = batch.clone().auto_batch_size_(1)
            loss = made(_objective(_NAMES[label]), actor, value(), **more)
            loss.set_keys(sample_log_prob="score" if together else scores)
            if label == "a2c":
                loss.set_keys(action="agent")
            loss.make_value_estimator(gamma=0.9)
            return with_gradients(loss, batch)

    calls: Dict[str, Any] = {}
    for label in _ON_POLICY:
        for together in (True, False):
            for case, more in (
                ("plain", {}), ("nested", {"nested": True}), ("rigid", {"choice": Rigid}),
                ("narrow", {"narrow": True}), ("delayed", {"delay_actor": True}),
                ("delayed_narrow", {"delay_actor": True, "narrow": True}),
            ):  # fmt: skip
                if label != "a2c" or case in ("nested", "plain"):
                    calls[f"{label}.{together}.{case}"] = partial(forward, label, together, **more)
    return answers(seed, **calls)


def _by_itself(make_env: Any, seed: int) -> Dict[str, Any]:
    """What losses of policies hold and compute by themselves, and keys that are asked first."""

    def built(label: str, **options: Any) -> Any:
        return made(_objective(_NAMES[label]), _gaussian(), value(), **options)

    def keys(label: str, **options: Any) -> Any:
        loss = built(label, **options)
        first = str(sorted(map(str, loss.out_keys)))
        loss._out_keys = None
        if label != "a2c":
            # of that one they are put together each time
            loss.in_keys = None
        return str([first, str(sorted(map(str, loss.in_keys))), str(sorted(loss.out_keys))])

    def critic(label: str, **options: Any) -> Any:
        loss = built(label, **options)
        found = loss.loss_critic(batch_for(label, 2, 6))
        found = found if isinstance(found, tuple) else (found,)
        return [tensor.detach() for tensor in found if isinstance(tensor, torch.Tensor)]

    def held(label: str, name: str, **options: Any) -> Any:
        found = getattr(built(label, **options), name)
        return "nothing" if found is None else entries(found)

    def unscaled(label: str, name: str, *gone: str) -> Any:
        norm = library("torchrl.modules.value_norm", name)(shape=1)
        loss = built(label, advantage_norm=norm)
        return with_gradients(loss, batch_for(label, 2, 6).exclude(*gone))

    def wide(label: str, marked: bool = False, **options: Any) -> Any:
        more = {"shifted_valid": torch.arange(12).reshape(2, 6) % 4 != 1} if marked else {}
        batch = batch_for(label, 2, 6, **more)
        batch["advantage"] = torch.randn(2, 6, 3)
        return with_gradients(built(label, normalize_advantage=True, **options), batch)

    def misread(label: str) -> Any:
        loss = built(label)
        loss.set_keys(value="worth")
        return with_gradients(loss, batch_for(label, 2, 6))

    def sure(label: str) -> Any:
        loss = made(_objective(_NAMES[label]), deterministic(), value())
        return with_gradients(loss, batch_for(label, 2, 6))

    def again(label: str, **options: Any) -> Any:
        loss = built(label, **options)
        with_gradients(loss, batch_for(label, 2, 6))
        loss.reset()
        numbers = [getattr(loss, n) for n in ("beta", "clip_epsilon") if hasattr(loss, n)]
        return str([float(number) for number in numbers])

    calls: Dict[str, Any] = {}
    clipped = {"clip_value": 0.2}
    for label in _ON_POLICY:
        for case, options in (
            ("plain", {}), ("clipped", clipped), ("silent", {"entropy_bonus": False}),
            ("uncritical", {"critic_coeff": None}), ("kept", {"functional": False}),
        ):  # fmt: skip
            calls[f"{label}.{case}.keys"] = partial(keys, label, **options)
            calls[f"{label}.{case}.critic"] = partial(critic, label, **options)
            for name in ("_cached_critic_network_params_detached",
                         "_cached_detach_critic_network_params"):  # fmt: skip
                if (label == "a2c") == ("_detach_" in name):
                    calls[f"{label}.{case}.held"] = partial(held, label, name, **options)
            calls[f"{label}.{case}.again"] = partial(again, label, **options)
        for gone in ("value_target", "advantage"):
            calls[f"{label}.unscaled.{gone}"] = partial(unscaled, label, "RunningValueNorm", gone)
        calls[f"{label}.misread"] = partial(misread, label)
        calls[f"{label}.sure"] = partial(sure, label)
        if label != "a2c":
            calls[f"{label}.wide"] = partial(wide, label)
            for apart in ((-1,), (0,), (1, -1)):
                for marked in (False, True):
                    calls[f"{label}.wide.{marked}.{apart}"] = partial(
                        wide, label, marked, normalize_advantage_exclude_dims=apart
                    )
    return answers(seed, **calls, **_penalties(), **_broadcasts())


def _penalties() -> Dict[str, Any]:
    """Divergences within both limits, and actors without a distribution and with two."""
    kind = _objective("KLPENPPOLoss")

    def within(target: float, **options: Any) -> Any:
        loss = made(kind, _gaussian(), value(), dtarg=target, **options)
        outputs = with_gradients(loss, batch_for("kl", 2, 6))
        return {**outputs, "beta": float(loss.beta)}

    def doubled() -> Any:
        from tensordict.nn import ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential

        second = ProbabilisticTensorDictModule(
            in_keys=["loc", "scale"], out_keys=["turn"],
            distribution_class=library("torchrl.modules", "IndependentNormal"),
        )  # fmt: skip
        both = ProbabilisticTensorDictSequential(*_gaussian(), second)
        return with_gradients(made(kind, both, value()), batch_for("kl", 2, 6))

    targets = (1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 100.0)
    calls: Dict[str, Any] = {f"within.{t}": partial(within, t) for t in targets}
    calls["within.sampled"] = lambda: within(1.0, samples_mc_kl=4)
    calls["doubled"] = doubled
    return calls


def _broadcasts() -> Dict[str, Any]:
    """Advantages beside log-weights of every shape."""

    def checked(*shapes: Sequence[int]) -> Any:
        library(_PPO, "_check_advantage_broadcast")(*(torch.ones(*shape) for shape in shapes))
        return "accepted"

    def widened(*shapes: Sequence[int]) -> Any:
        first = torch.arange(1.0, 1.0 + torch.Size(shapes[0]).numel()).reshape(*shapes[0])
        return library(_PPO, "_broadcast_advantage_to_log_weight")(first, torch.ones(*shapes[1]))

    def odd(name: str, *given: Any) -> Any:
        return str(library(_PPO, name)(*given))

    cases: Dict[str, List[Sequence[int]]] = {
        "same": [(4, 1), (4, 1)], "flat": [(4,), (4, 1)], "tokens": [(4, 1), (4, 3, 1)],
        "more_tokens": [(2, 4, 1), (2, 4, 3, 2, 1)], "other": [(4, 1), (5, 3, 1)],
        "wide": [(4, 2), (4, 3, 1)], "wide_weight": [(4, 1), (4, 3, 2)],
        "less": [(4, 3, 1), (4, 1)],
        "one": [(1, 1), (4, 1)], "square": [(4, 1), (4, 4)], "row": [(1, 4), (4, 1)],
        "unlike": [(3, 1), (4, 2, 1)], "numbers": [(1,), (1,)],
    }  # fmt: skip
    calls: Dict[str, Any] = {}
    for label, shapes in cases.items():
        calls[f"checked.{label}"] = partial(checked, *shapes)
        calls[f"widened.{label}"] = partial(widened, *shapes)
    for name in ("_check_advantage_broadcast", "_broadcast_advantage_to_log_weight"):
        calls[f"{name}.word"] = partial(odd, name, 3.0, torch.ones(2))
        calls[f"{name}.words"] = partial(odd, name, torch.ones(2), 3.0)
    return calls


# -- losses of action values --------------------------------------------------------------------


def _of_critics(make_env: Any, seed: int) -> Dict[str, Any]:
    """Losses of action values: devices, entropies by themselves, indexed choices, no parameters."""
    from tensordict.nn import (
        NormalParamExtractor,
        ProbabilisticTensorDictModule,
        ProbabilisticTensorDictSequential,
        TensorDictModule,
    )

    def sac(*more: Any, actor: Any = None, **options: Any) -> Any:
        networks = [actor or _gaussian(), action_value(), *more]
        return made(_objective("SACLoss"), *networks, **{"action_spec": bounds(), **options})

    def bare() -> Any:
        layers = nn.Sequential(nn.Linear(OBSERVATIONS, 2 * ACTIONS), NormalParamExtractor())
        return ProbabilisticTensorDictSequential(
            TensorDictModule(layers, ["observation"], ["loc", "scale"]),
            ProbabilisticTensorDictModule(
                in_keys=["loc", "scale"], out_keys=["action"], return_log_prob=True,
                distribution_class=library("torchrl.modules", "TanhNormal"),
            ),
        )  # fmt: skip

    def outputs(loss: Any, *shape: int) -> Any:
        loss.make_value_estimator(gamma=0.9)
        return with_gradients(loss, batch_for("sac", *(shape or (2, 6))))

    def alone(loss: Any) -> Any:
        found = loss.alpha_loss(torch.linspace(-2.0, 1.0, 6))
        return {"loss": found.detach(), "device": str(getattr(loss, "device", "none")),
                "keys": str(sorted(map(str, loss.in_keys)))}  # fmt: skip

    def unkeyed(loss: Any) -> Any:
        loss.in_keys = None
        return str(sorted(map(str, loss.in_keys)))

    def unversioned(loss: Any) -> Any:
        loss._version = 3
        loss.make_value_estimator(gamma=0.9)

    def discrete(space: str, column: bool = False, ended: bool = True, **options: Any) -> Any:
        kind = library("torchrl.modules", "OneHotCategorical")
        own = torch.distributions.Categorical if space == "categorical" else kind
        loss = made(
            _objective("DiscreteSACLoss"), choosing(own), choice_values(), num_actions=CHOICES,
            action_space=space, **options,
        )  # fmt: skip
        loss.make_value_estimator(gamma=0.9)
        taken = torch.arange(6) % CHOICES
        action = taken if space == "categorical" else nn.functional.one_hot(taken, CHOICES)
        ends = (torch.arange(6) == 3).unsqueeze(-1) & ended
        batch = steps(6, action=action.unsqueeze(-1) if column else action, done=ends,
                      terminated=ends)  # fmt: skip
        return with_gradients(loss, batch)

    def discrete_alone() -> Any:
        kind = library("torchrl.modules", "OneHotCategorical")
        return made(
            _objective("DiscreteSACLoss"), choosing(kind), choice_values(), num_actions=CHOICES,
            action_space="one_hot",
        )  # fmt: skip

    def unlearned(name: str, **options: Any) -> Any:
        policy = TensorDictModule(
            lambda observation: observation[..., :ACTIONS].tanh(), ["observation"], ["action"]
        )
        critic = TensorDictModule(
            lambda observation, action: (observation.sum(-1) + action.sum(-1)).unsqueeze(-1),
            ["observation", "action"], ["state_action_value"],
        )  # fmt: skip
        loss = made(_objective(name), policy, critic, **options)
        loss.make_value_estimator(gamma=0.9)
        return with_gradients(loss, steps(6))

    def doubled(space: str, *shape: int) -> Any:
        loss = made(
            _objective("DQNLoss"), q_values(action_space=space), action_space=space,
            double_dqn=True, delay_value=True,
        )  # fmt: skip
        loss.make_value_estimator(gamma=0.9)
        taken = torch.arange(torch.Size(shape).numel()).reshape(tuple(shape)) % CHOICES
        action = taken if space == "categorical" else nn.functional.one_hot(taken, CHOICES)
        return with_gradients(loss, steps(*shape, action=action))

    def stacked(name: str) -> Any:
        loss = made(_objective("TD3Loss"), deterministic(), action_value(), bounds=(-1.0, 1.0))
        return entries(getattr(loss, name))

    calls: Dict[str, Any] = {
        "sac.alone": lambda: alone(sac()), "sac_1.alone": lambda: alone(sac(value())),
        "discrete.alone": lambda: alone(discrete_alone()),
        "sac.unkeyed": lambda: unkeyed(sac()), "sac_1.unkeyed": lambda: unkeyed(sac(value())),
        "discrete.unkeyed": lambda: unkeyed(discrete_alone()),
        "sac.unversioned": lambda: unversioned(sac()),
        "sac_1.apart": lambda: outputs(sac(value(), separate_losses=True)),
        "sac.apart": lambda: outputs(sac(separate_losses=True)),
        "sac.bare": lambda: outputs(sac(actor=bare())),
        "sac.specless": lambda: outputs(sac(actor=bare(), action_spec=None)),
        "sac.unaimed": lambda: outputs(sac(target_entropy=None)),
        "sac.skipping": lambda: outputs(sac(skip_done_states=True)),
        "sac.skipping.row": lambda: outputs(sac(skip_done_states=True), 6),
        "td3.unlearned": lambda: unlearned("TD3Loss", bounds=(-1.0, 1.0)),
        "ddpg.unlearned": lambda: unlearned("DDPGLoss"),
        "td3.stacked": lambda: stacked("_cached_stack_actor_params"),
        "td3.detached": lambda: stacked("_cached_detach_qvalue_network_params"),
    }  # fmt: skip
    for space in ("categorical", "one_hot"):
        for column in (False, True):
            for skipping in (False, True):
                for ended in (False, True):
                    calls[f"discrete.{space}.{column}.{skipping}.{ended}"] = partial(
                        discrete, space, column, ended, skip_done_states=skipping
                    )
        for shape in ((6,), (2, 6), (2, 1, 3)):
            calls[f"doubled.{space}.{len(shape)}"] = partial(doubled, space, *shape)
    calls["discrete.unaimed"] = lambda: discrete("one_hot", target_entropy=None)
    return answers(seed, **calls)


def _utilities(make_env: Any, seed: int) -> Dict[str, Any]:
    """Helpers of losses called by themselves: reductions, networks run together, what is kept."""
    reduce, run, following = (
        library(_UTILITIES, name) for name in ("_reduce", "_vmap_func", "next_state_value")
    )
    losses, weights = torch.arange(12.0).reshape(2, 6), 0.5 + torch.arange(12.0).reshape(2, 6) / 9
    mask = (torch.arange(12).reshape(2, 6) % 3) != 1

    def together(count: int = 2, **options: Any) -> Any:
        from tensordict import TensorDict

        layer = TensorDict.from_module(nn.Linear(2, 1))
        tree = torch.stack([layer.apply(lambda p, k=k: (1 + k) * p) for k in range(count)], 0)
        network = options.pop("network", nn.Linear(2, 1))
        inputs = torch.arange(4.0 * count).reshape(count, 2, 2)
        found = run(network, options.pop("dims", (0, 0)), **options)(inputs, tree)
        found = found if isinstance(found, tuple) else (found,)
        return [tensor.detach() for tensor in found]

    class Twice(nn.Linear):
        """A layer with another method, and with two outputs."""

        def halved(self, given: torch.Tensor) -> torch.Tensor:
            """Half of what it returns."""
            return self(given) / 2

        def both(self, given: torch.Tensor) -> Any:
            """What it returns, and its negative."""
            return self(given), -self(given)

    class Drawing(nn.Linear):
        """A layer with noise."""

        def forward(self, given: torch.Tensor) -> torch.Tensor:
            """Other numbers each time."""
            return super().forward(given) + torch.randn(1)

    class Keeping:
        """What computes something once."""

        def __init__(self) -> None:
            self.calls = 0

        @library(_UTILITIES, "_cache_values")
        def number(self, name: Any = None) -> Any:
            """How often it was asked."""
            self.calls += 1
            return [self.calls, str(name)]

    def kept() -> Any:
        one = Keeping()
        first = [one.number(), one.number(), one.number("a"), one.number("b"), one.number("a")]
        return str([first, sorted(one.__dict__["_cache"])])

    def next_of(*gone: Any, **options: Any) -> Any:
        batch = batch_for("sac", 2, 6).exclude(*gone)
        if options.pop("over", False):
            batch["next", "done"][:] = True
        if options.pop("several", False):
            batch["steps_to_next_obs"] = 1 + torch.arange(12).reshape(2, 6, 1) % 3
        return following(batch, **options).detach()

    def frozen(label: str, name: str) -> Any:
        loss = LOSSES[label](delay_value=True)
        updater = library("torchrl.objectives", name)(
            loss, **({"eps": 0.9} if name == "SoftUpdate" else {"value_network_update_interval": 1})
        )
        for entry in entries(updater._targets).values():
            entry.requires_grad_()
        updater.step()

    def parameters_of(*given: Any, **options: Any) -> Any:
        call = library(_UTILITIES, "_maybe_get_or_select")
        tree = dictionary({"one": torch.ones(3), "two": torch.zeros(3)}, (3,))
        found = call(tree, *given, **options)
        return entries(found) if hasattr(found, "keys") else found

    def listed(key: Any, prefix: Any) -> Any:
        keys: List[Any] = ["first"]
        library(_UTILITIES, "_maybe_add_or_extend_key")(keys, key, prefix)
        return str(keys)

    def rows(*shapes: Sequence[int]) -> Any:
        target = torch.arange(12.0).reshape(2, 6, 1)
        masks = {f"m{k}": (torch.arange(12) % (2 + k) == 0).reshape(*s) for k, s in
                 enumerate(shapes)}  # fmt: skip
        call = library(_UTILITIES, "_valid_value_target_rows")
        return call(target, dictionary(masks, (2, 6)), [*masks, "lacking"])

    calls: Dict[str, Any] = {
        "kept": kept, "together": together,
        "together.method": lambda: together(network=Twice(2, 1), func="halved"),
        "together.both": lambda: together(network=Twice(2, 1), func="both"),
        "together.drawing": lambda: together(network=Drawing(2, 1), randomness="different"),
        "together.error": lambda: together(network=Drawing(2, 1), randomness="error"),
        "next.last": lambda: next_of(over=True, operator=value(), next_val_key="state_value"),
        "next.unasked": lambda: next_of(over=True), "next.zero": lambda: next_of(gamma=0),
        "next.nothing": next_of,
        "next.endless": lambda: next_of(
            over=True, pred_next_val=torch.full((2, 6, 1), float("nan"))
        ),
        "next.zero_endless": lambda: next_of(
            gamma=0, pred_next_val=torch.full((2, 6, 1), float("nan"))
        ),
        "next.several": lambda: next_of(
            several=True, pred_next_val=torch.ones(2, 6, 1), gamma=0.5
        ),
        "device": lambda: str(library(_UTILITIES, "_get_default_device")(nn.Linear(1, 1))),
        "device.none": lambda: str(library(_UTILITIES, "_get_default_device")(nn.ReLU())),
        "rows.none": rows, "rows.flat": lambda: rows((2, 6)),
        "rows.column": lambda: rows((2, 6, 1)),
        "rows.both": lambda: rows((2, 6), (2, 6, 1)), "rows.deep": lambda: rows((2, 6, 1, 1)),
        "get.one": lambda: parameters_of("one"), "get.tuple": lambda: parameters_of(("one",)),
        "get.several": lambda: parameters_of(["one", "two"]),
        "get.shaped": lambda: parameters_of(["one", "two"], ()),
        "get.lacking": lambda: parameters_of(["three"]),
    }  # fmt: skip
    for label, key in (("word", "a"), ("nested", ("a", "b")), ("list", ["a", "b"])):
        for prefix in (None, "next", ("next", "deep")):
            calls[f"listed.{label}.{prefix}"] = partial(listed, key, prefix)
    for name in ("SoftUpdate", "HardUpdate"):
        for label in ("dqn", "ddpg"):
            calls[f"frozen.{label}.{name}"] = partial(frozen, label, name)
    for pseudo in (True, False):
        for mode in ("different", "error", "same"):
            calls[f"together.{pseudo}.{mode}"] = partial(
                together, 3, pseudo_vmap=pseudo, randomness=mode
            )
        for label, dims in (
            ("first", (0, 0)),
            ("number", 0),
            ("shared", (None, 0)),
            ("last", (2, 0)),
        ):
            calls[f"together.{pseudo}.{label}"] = partial(together, pseudo_vmap=pseudo, dims=dims)
        for label, out in (("tuple", (0, 0)), ("one", 1), ("none", (0, None))):
            calls[f"together.{pseudo}.out_{label}"] = partial(
                together, network=Twice(2, 1), func="both" if label != "one" else "halved",
                pseudo_vmap=pseudo, out_dims=out,
            )  # fmt: skip
    for kind in ("mean", "sum", "none", "median"):
        for case, given in (
            ("plain", {}), ("mask", {"mask": mask}), ("weights", {"weights": weights}),
            ("both", {"mask": mask, "weights": weights}), ("other", {"weights": weights[0]}),
            ("other_both", {"mask": mask, "weights": weights[0]}),
            ("nothing", {"mask": torch.zeros_like(mask)}),
        ):  # fmt: skip
            calls[f"reduced.{kind}.{case}"] = partial(reduce, losses, kind, **given)
    return answers(seed, **calls)


API_CASES = {
    "discounts-of-losses": _discounts,
    "heads-told-otherwise": _heads,
    "losses-by-themselves": _by_itself,
    "corners-of-critics": _of_critics,
    "utilities-of-losses": _utilities,
}
