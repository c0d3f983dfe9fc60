"""Corners of estimators, distributions and noise: hints, ends, specifications, what they hold."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any, Dict, List

import torch

from rlregress.frameworks.torchrl.api_cases.loss_inputs import hinted
from rlregress.frameworks.torchrl.api_cases.loss_options import LOSSES
from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.network_factories import (
    ACTIONS,
    answers,
    bounds,
    dictionary,
    entries,
    held,
    steps,
    stochastic,
)

_VALUE = "torchrl.objectives.value"
_FUNCTIONS = "torchrl.objectives.value.functional"
_DISTRIBUTIONS = "torchrl.modules.distributions.utils"
_EXPLORATION = "torchrl.modules.tensordict_module.exploration"

_ESTIMATORS = ("GAE", "TD0Estimator", "TD1Estimator", "TDLambdaEstimator")


def _trace_of(name: str) -> Dict[str, float]:
    """The decay of the trace, of the estimators that have one."""
    return {"lmbda": 0.8} if name in ("GAE", "TDLambdaEstimator") else {}


def _estimators(make_env: Any, seed: int) -> Dict[str, Any]:
    """Estimators whose critic reads a hint that may lack, shifted or not, by parameters."""

    def estimated(name: str, *places: str, given: str = "", **options: Any) -> Any:
        from tensordict import TensorDict

        network = hinted("value")
        given_numbers = {"gamma": 0.9, **_trace_of(name), **options}
        estimator = library(_VALUE, name)(value_network=network, **given_numbers)
        ends = (torch.arange(12) % 5 == 2).reshape(2, 6, 1)
        batch = steps(2, 6, done=ends, terminated=ends & (torch.arange(6) < 4).reshape(1, 6, 1))
        for place in places:
            side = batch if place == "now" else batch["next"]
            side["hint_of_value"] = torch.linspace(0.0, 1.0, 12).reshape(2, 6, 1)
        tree = TensorDict.from_module(network)
        more: Dict[str, Any] = {"params": tree} if given else {}
        if given == "both":
            more["target_params"] = tree.apply(lambda tensor: 2 * tensor.data)
        return entries(estimator(batch, **more).exclude("observation", "action").detach())

    def corrected(label: str) -> Any:
        loss = LOSSES[label]()
        made_one = library(_VALUE, "VTrace").for_loss(loss, gamma=0.9)
        same = made_one.value_network is getattr(loss, "value_network", None)
        return str([type(made_one.value_network).__name__, same, float(made_one.gamma)])

    calls: Dict[str, Any] = {}
    for name in _ESTIMATORS:
        for places in ((), ("now",), ("next",), ("now", "next")):
            for shifted in (False, True):
                for given in ("", "one", "both"):
                    where = "_".join(places) or "none"
                    calls[f"{name}.{where}.{shifted}.{given or 'own'}"] = partial(
                        estimated, name, *places, given=given, shifted=shifted
                    )
    for label in ("ppo", "a2c", "sac", "sac_1"):
        calls[f"corrected.{label}"] = partial(corrected, label)
    return answers(seed, **calls, **_by_function())


def _by_function() -> Dict[str, Any]:
    """Discounts beside rewards without numbers; rewards to go of rows and blocks."""
    reward = torch.arange(12.0).reshape(2, 6, 1)
    ends = (torch.arange(12) % 5 == 2).reshape(2, 6, 1)

    def elsewhere(name: str, *numbers: Any) -> Any:
        aside = [reward, ends, ends]
        given = [module.to("meta") for module in aside]
        discounts = [torch.as_tensor(number) for number in numbers]
        found = library(_FUNCTIONS, name)(*discounts, given[0], *given)
        return str([tuple(found.shape), str(found.device)])

    def to_go(*shape: int, **options: Any) -> Any:
        numbers = torch.arange(1.0, 13.0).reshape(*shape)
        over = (torch.arange(12) % 5 == 2).reshape(*shape)
        return library(_FUNCTIONS, "reward2go")(numbers, over, 0.9, **options)

    calls: Dict[str, Any] = {
        "aside.td1": lambda: elsewhere("td1_return_estimate", 0.9),
        "aside.td_lambda": lambda: elsewhere("td_lambda_return_estimate", 0.9, 0.8),
    }
    for shape in (
        (12,),
        (12, 1),
        (1, 12),
        (2, 6),
        (2, 6, 1),
        (2, 3, 2),
        (2, 1, 6, 1),
        (1, 2, 3, 2),
    ):
        calls[f"to_go.{'_'.join(map(str, shape))}"] = partial(to_go, *shape)
        calls[f"to_go.{'_'.join(map(str, shape))}.last"] = partial(to_go, *shape, time_dim=-1)
    return calls


def _odd(make_env: Any, seed: int) -> Dict[str, Any]:
    """Distributions of distributions, and inverses near their ends."""
    from tensordict.nn import CompositeDistribution

    normal = library("torchrl.modules", "IndependentNormal")
    summed = library("tensordict.nn", "set_composite_lp_aggregate")

    def composite(together: bool, method: str) -> Any:
        leaf = dictionary({"loc": torch.ones(3, ACTIONS), "scale": torch.ones(3, ACTIONS)}, (3,))
        inner = dictionary({"arm": leaf.clone(), "leg": 2 * leaf}, (3,))
        tree = dictionary({"body": dictionary({"params": inner}, (3,)), "head": leaf}, (3,))
        body = partial(CompositeDistribution, distribution_map={"arm": normal, "leg": normal})
        with summed(together):
            dist = CompositeDistribution(tree, distribution_map={"body": body, "head": normal})
            if method == "entropy":
                found = library(_DISTRIBUTIONS, "composite_entropy")(dist, 4)
            else:
                call = library(_DISTRIBUTIONS, method)
                found = call(dist, (2,))
                found = dictionary({"sample": found[0], "score": found[1]}, (2,))
        return entries(found) if hasattr(found, "keys") else found

    def inverse(name: str, *more: Any) -> Any:
        given = torch.tensor([-1.0, -0.9999999, -0.5, 0.0, 0.3, 0.99999999, 1.0, 2.0])
        given = given.double() if more and more[0] is None else given
        given.requires_grad_(name[0] != "_")
        found = library(_DISTRIBUTIONS, name)(given, *more)
        if found.requires_grad:
            found.sum().backward()
            return {"there": found.detach(), "gradient": given.grad}
        return found

    calls: Dict[str, Any] = {}
    for together in (True, False):
        for query in ("entropy", "sample_and_log_prob", "rsample_and_log_prob"):
            calls[f"composite.{together}.{query}"] = partial(composite, together, query)
    for name in ("safetanh", "safeatanh", "_safetanh", "_safeatanh"):
        for size in (1e-3, 0.1, None):
            calls[f"{name}.{size}"] = partial(inverse, name, size)
    return answers(seed, **calls)


def _specified(make_env: Any, seed: int) -> Dict[str, Any]:
    """Policies and noise that are told their specification by an environment afterwards."""
    composite = library("torchrl.data", "Composite", "CompositeSpec")
    random, noise = (
        library(_EXPLORATION, "RandomPolicy"),
        library(_EXPLORATION, "AdditiveGaussianModule"),
    )

    def surroundings(*lacking: str) -> Any:
        # what these functions read of an environment
        specs = {"action_spec": bounds(-0.5, 0.5), "action_spec_unbatched": bounds(-0.2, 0.2),
                 "full_action_spec": composite({"action": bounds(-0.5, 0.5)})}  # fmt: skip
        return SimpleNamespace(**{name: specs[name] for name in specs if name not in lacking})

    def drawn(spec: Any = None) -> Any:
        policy = random(spec)
        policy.set_action_spec_from_env(surroundings())
        return policy(dictionary({}, ()))["action"]

    def outputs(*lacking: str, own: bool = False) -> Any:
        from tensordict.nn import TensorDictSequential

        modules: List[Any] = [noise(spec=bounds(-2.0, 2.0) if own else None) for _ in range(2)]
        policy = TensorDictSequential(
            stochastic(library("torchrl.modules", "TanhNormal")), *modules
        )
        library(_EXPLORATION, "set_exploration_modules_spec_from_env")(
            policy, surroundings(*lacking)
        )
        return str([repr(module.spec) for module in modules])

    return answers(
        seed, drawn=drawn, own=lambda: drawn(bounds(-0.1, 0.1)), undrawn=lambda: random()(None),
        told=outputs, told_batched=lambda: outputs("action_spec_unbatched"),
        told_own=lambda: outputs(own=True),
    )  # fmt: skip


#: option -> the estimators that do not have it.
_LACKING = {
    "averaged": ("GAE",),
    "halved": ("TD0Estimator", "TD1Estimator", "TDLambdaEstimator"),
    "scaled": ("TD0Estimator", "TD1Estimator", "TDLambdaEstimator"),
    "slow": ("TD0Estimator", "TD1Estimator"),
    "axis": ("TD0Estimator",),
}
#: what users read of distributions, noise and estimators.
_NAMES = (
    "low high loc scale upscale tanh_loc non_trivial_max non_trivial_min batch_shape event_shape "
    "atol rtol param action_key action_mask_key annealing_num_steps eps eps_end eps_init mean "
    "sigma sigma_end sigma_init std safe is_init_key gamma lmbda auto_reset_env average_gae "
    "average_rewards deactivate_vmap differentiable group_key num_chunks shifted shifted_budget "
    "skip_existing time_dim value_chunk_dim value_chunk_size vectorized"
)


def _held(make_env: Any, seed: int) -> Dict[str, Any]:
    """What distributions, noise and estimators hold: numbers, words and tensors, as made."""

    makes: Dict[str, Any] = {}
    spread: Dict[str, Any] = {
        "plain": {}, "wide": {"low": -2.0, "high": 3.0}, "low": {"low": -0.5},
        "high": {"high": 0.5}, "scaled": {"upscale": 2.0},
        "tensors": {"low": torch.tensor([-1.0, -2.0]), "high": torch.tensor([1.0, 0.5])},
        "tanh": {"tanh_loc": True}, "steep": {"tanh_loc": True, "upscale": 0.5},
        "free": {"event_dims": 0},
    }  # fmt: skip
    for name in ("TanhNormal", "TruncatedNormal", "IndependentNormal"):
        for case, options in spread.items():
            if name == "IndependentNormal" and set(options) & {"low", "high", "event_dims"}:
                continue
            if name == "TruncatedNormal" and case == "free":
                continue
            makes[f"{name}.{case}"] = partial(
                library("torchrl.modules", name),
                torch.linspace(-1.0, 1.0, 3 * ACTIONS).reshape(3, ACTIONS),
                torch.full((3, ACTIONS), 0.5),
                **options,
            )
    for case, options in (
        ("plain", {}), ("wide", {"low": -2.0, "high": 3.0}), ("near", {"atol": 0.1, "rtol": 0.2}),
        ("free", {"event_dims": 0}),
    ):  # fmt: skip
        makes[f"TanhDelta.{case}"] = partial(
            library("torchrl.modules", "TanhDelta"), torch.ones(3, ACTIONS), **options
        )
    makes["Delta"] = partial(library("torchrl.modules", "Delta"), torch.ones(3, ACTIONS))
    noise: Dict[str, Any] = {
        "EGreedyModule": {"eps_init": 0.9, "eps_end": 0.2, "annealing_num_steps": 7},
        "AdditiveGaussianModule": {"sigma_init": 0.9, "sigma_end": 0.2, "annealing_num_steps": 7,
                                   "mean": 0.1, "std": 0.4},
        "OrnsteinUhlenbeckProcessModule": {
            "eps_init": 0.9, "eps_end": 0.2, "annealing_num_steps": 7, "theta": 0.3, "mu": 0.1,
            "sigma": 0.5, "dt": 0.2, "sigma_min": 0.1, "n_steps_annealing": 9,
        },
    }  # fmt: skip
    for name, options in noise.items():
        kind = library(_EXPLORATION, name)
        makes[f"{name}.plain"] = partial(kind, spec=bounds())
        makes[f"{name}.given"] = partial(kind, spec=bounds(), **options)
    numbers: Dict[str, Any] = {
        "plain": {}, "averaged": {"average_rewards": True}, "shifted": {"shifted": True},
        "differentiable": {"differentiable": True}, "skipped": {"skip_existing": True},
        "tensor": {"gamma": torch.tensor(0.7)},
        "halved": {"average_gae": True}, "slow": {"vectorized": False},
        "axis": {"time_dim": 1}, "pieces": {"num_chunks": 2}, "off": {"deactivate_vmap": True},
        "scaled": {"auto_reset_env": True},
    }  # fmt: skip
    for name in _ESTIMATORS:
        for case, options in numbers.items():
            if name in _LACKING.get(case, ()):
                continue
            given = {"gamma": 0.9, "value_network": hinted("value"), **_trace_of(name), **options}
            makes[f"{name}.{case}"] = partial(library(_VALUE, name), **given)
    return answers(
        seed, **{label: lambda make=make: held(make(), _NAMES) for label, make in makes.items()}
    )


API_CASES = {
    "held-by-others": _held,
    "hints-of-estimators": _estimators,
    "odd-distributions": _odd,
    "specified-afterwards": _specified,
}
