"""Estimators of advantages and returns, and the functions that compute them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from rlregress.frameworks.torchrl.api import TensorDict, ValueOperator
from rlregress.frameworks.torchrl.compat import find_in_library, find_keyword_name
from rlregress.frameworks.torchrl.generated_cases.input_corpus import (
    CHANGES,
    make_batch,
    make_flags,
    make_numbers,
)
from rlregress.frameworks.torchrl.known_networks import (
    OBSERVATIONS,
    make_stochastic_actor,
    make_value_network,
)
from rlregress.probing.option_variants import (
    Items,
    Kit,
    Subject,
    call_each,
    call_or_return_error,
    call_with_gradients,
    make_function_subject,
)
from rlregress.probing.signatures import list_parameters_with_inherited

_FUNCTIONAL = "torchrl.objectives.value.functional"
_INPUTS = (
    "time unscored", "time", "rows unscored", "one unscored", "blocks unscored", "long unscored",
    "time unscored_missing", "time unscored_several", "time unscored_counted", "time collected",
    "time over", "time endless", "time unscored_large", "time unscored_double", "time lacking",
    "time unscored_whole", "time unscored_traced",
)  # fmt: skip


_given = partial(make_batch, "continuous")


class _StartAwareCritic(nn.Module):
    """A critic that reads whether an episode starts."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(OBSERVATIONS + 1, 1)

    def forward(self, observation: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        return self.layer(torch.cat([observation, start.to(observation.dtype)], -1))


def _make_steps_of_agents(label: str) -> Any:
    """Return steps of three agents that each have their own observation, without values."""
    steps_of_agents = make_batch("continuous", label)
    shape = steps_of_agents.shape
    for place, word in ((steps_of_agents, "own"), (steps_of_agents["next"], "own next")):
        place["observation"] = make_numbers(*shape, 3, OBSERVATIONS, word=word)
        for name in ("state_value", "advantage", "value_target"):
            place.pop(name, None)
    return steps_of_agents


def _make_steps_of_tiny_values(label: str) -> Any:
    """Return steps whose rewards and values are tiny."""
    steps = make_batch("continuous", "time")
    for key in ("state_value", ("next", "state_value"), ("next", "reward")):
        steps[key] = 1e-5 * steps[key]
    return steps


def _call_estimator(estimator: Any, data: Any) -> Any:
    outputs = call_with_gradients(estimator, data)
    return {**outputs, "in": str(estimator.in_keys), "out": str(estimator.out_keys)}


def _make_call_passing_critic_parameters(*argument_names: str) -> Callable[[Any, Any], Any]:
    """Return a call of an estimator that passes changed parameters of its critic or target."""

    def call(estimator: Any, data: Any) -> Any:
        own = TensorDict.from_module(estimator.value_network)
        changed = own.apply(lambda item: (0.7 * item.detach()).clone().requires_grad_())
        parameters = {
            name: changed if name == "params" else own.data.apply(lambda x: 0.5 * x)
            for name in argument_names
        }
        late = {name: item for name, item in parameters.items() if name == "target_params"}
        estimates = call_or_return_error(lambda: estimator.value_estimate(data.clone(), **late))
        outputs = call_with_gradients(estimator, data, lambda steps: estimator(steps, **parameters))
        grads = {str(k): v.grad for k, v in changed.items(True, True) if v.grad is not None}
        return {"estimate": estimates, **outputs, "given": grads}

    return call


def _estimate_with_and_without_next_values(estimator: Any, data: Any) -> Any:
    """Return value estimates, with the next values computed and with them passed."""
    estimate, next_value = estimator.value_estimate, data["next", "reward"] / 2
    return [
        call_or_return_error(lambda: call_with_gradients(None, data.clone(), estimate)),
        call_or_return_error(lambda: estimate(data.clone(), next_value=next_value)),
    ]


def _rename_each_key(estimator: Any, data: Any) -> Any:
    outputs = Items()
    for name, key in sorted(vars(estimator.tensor_keys).items()):
        renamed = data.clone()
        if isinstance(key, str) and key in renamed["next"]:
            renamed["next"].rename_key_(key, "own")
        outputs[name] = [
            call_or_return_error(partial(estimator.set_keys, **{name: "own"})),
            call_or_return_error(partial(estimator, renamed)),
            call_or_return_error(partial(estimator.set_keys, **{name: key})),
        ]
    outputs["unknown"] = call_or_return_error(lambda: estimator.set_keys(wanted="own"))
    outputs["none"] = call_or_return_error(lambda: estimator.set_keys(value=None))
    return outputs


def _list_attributes(estimator: Any, data: Any) -> Any:
    names = ("gamma", "lmbda", "device", "shifted", "vectorized", "time_dim", "is_stateless")
    attributes = {name: partial(getattr, estimator, name, "none") for name in names}
    return call_each(
        {**attributes, "state": lambda: estimator, "keys": lambda: vars(estimator.tensor_keys)}
    )


def _call_along_each_dimension(estimator: Any, data: Any) -> Any:
    return [
        call_or_return_error(partial(estimator, data.clone(), time_dim=dim))
        for dim in (0, 1, -1, -2, 3)
    ]


def _call_with_named_dimensions(estimator: Any, data: Any) -> Any:
    data.names = [*[f"row{n}" for n in range(data.dim() - 1)], "time"]
    return estimator(data)


def _call_without_critic_gradients(estimator: Any, data: Any) -> Any:
    """Call an estimator while its critic gets no gradients, and while nothing gets any."""
    kind = find_in_library("torchrl.objectives.utils", "hold_out_net")
    with kind(estimator.value_network):
        first = call_with_gradients(None, data.clone(), estimator)
    with torch.no_grad():
        return [first, estimator(data)]


_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "": _call_estimator,
    "parameters": _make_call_passing_critic_parameters("params"),
    "targets": _make_call_passing_critic_parameters("target_params"),
    "both": _make_call_passing_critic_parameters("params", "target_params"),
    "estimate": _estimate_with_and_without_next_values,
    "estimate several": lambda estimator, data: _estimate_with_and_without_next_values(
        estimator, CHANGES["several"](data)
    ),
    "keys": _rename_each_key,
    "held": _list_attributes,
    "along": _call_along_each_dimension,
    "names": _call_with_named_dimensions,
    "modes": _call_without_critic_gradients,
}
_OPTIONS: dict[str, Sequence[Any]] = {
    "shifted": [True, "legacy", "packed", "auto"],
    "skip_existing": [True, False],
    "time_dim": [0, 1, -1],
    "value_chunk_size": [1, 5, 100],
    "num_chunks": [1, 2, 3],
    "num_chunk": [2],
    "value_chunk_dim": [1, -1],
    "shifted_budget": [2, 4],
    "group_key": ["group"],
    "advantage_key": ["gain"],
    "value_target_key": ["aim"],
    "value_key": ["worth"],
    "device": ["meta", "cpu"],
    "auto_reset_env": [True],
    "gamma": [torch.tensor([0.8]), 0.0, 1.0],
    "lmbda": [torch.tensor([0.6]), 0.0, 1.0],
}
_SHIFTED: list[dict[str, Any]] = [
    {"shifted": True, **more}
    for more in (
        {"differentiable": True}, {"deactivate_vmap": True}, {"shifted_budget": 2},
        {"shifted_budget": 4}, {"average_gae": True}, {"average_rewards": True},
        {"value_chunk_size": 2}, {"time_dim": 1}, {"auto_reset_env": True}, {"group_key": "group"},
    )
]  # fmt: skip
_CHUNKS: list[dict[str, Any]] = [
    {"value_chunk_size": 2, "value_chunk_dim": 1}, {"value_chunk_size": 2, "num_chunks": 2},
    {"num_chunks": 2, "num_chunk": 3}, {"num_chunks": 2, "num_chunk": 2},
    {"deactivate_vmap": True, "differentiable": True}, {"deactivate_vmap": True, "num_chunks": 2},
    {"average_gae": True, "group_key": "group"}, {"average_rewards": True, "group_key": "group"},
    {"vectorized": False, "average_gae": True}, {"vectorized": False, "differentiable": True},
    {"vectorized": False, "gamma": torch.tensor([0.8])},
    {"average_rewards": True, "vectorized": False},
]  # fmt: skip


def _make_estimator_subject(
    name: str, *options_together: Any, **required: Callable[[], Any]
) -> Subject:
    def make_kit(
        make_network: Callable[[], Any] = make_value_network,
        make_input: Callable[[str], Any] = _given,
        **options: Any,
    ) -> Kit:
        def make_arguments() -> dict[str, Any]:
            arguments_made = {name: make() for name, make in required.items()}
            return {"gamma": 0.9, "value_network": make_network(), **arguments_made, **options}

        return Kit(make_arguments, make_input)

    average = {"GAE": "average_gae", "MultiAgentGAE": "average_gae", "VTrace": "average_adv"}
    averaged: dict[str, Any] = {average.get(name, "average_rewards"): True}
    make_steps = _make_steps_of_agents if name == "MultiAgentGAE" else _given

    def make_steps_with_few_valid(label: str) -> Any:
        """Return steps with a mask that marks one valid step in each row."""
        return CHANGES["few"](make_steps("time unscored"))

    kits = {
        "": make_kit(make_input=make_steps),
        "none": make_kit(lambda: None),
        "dropout": make_kit(lambda: make_value_network(nn.Dropout(0.5))),
        "trifling": make_kit(lambda: None, _make_steps_of_tiny_values, **averaged),
        "few": make_kit(make_input=make_steps_with_few_valid, **averaged),
        "flat group": make_kit(group_key="flat group", **averaged),
        "one of few": make_kit(
            make_input=lambda label: make_steps_with_few_valid(label)[:1], **averaged
        ),
        "trifling groups": make_kit(
            lambda: None, _make_steps_of_tiny_values, group_key="group", **averaged
        ),
        "chunks": make_kit(value_chunk_size=2),
        "pseudo": make_kit(deactivate_vmap=True),
        "of agents": make_kit(make_input=_make_steps_of_agents),
        "aside": make_kit(device="meta"),
    }
    if name != "MultiAgentGAE":
        start = partial(
            make_kit, lambda: ValueOperator(_StartAwareCritic(), ["observation", "is_init"])
        )
        kits |= {
            "starts": start(),
            "starts shifted": start(lambda label: _given(f"{label}_startless"), shifted=True),
            "starts shifted at once": start(lambda label: _given(f"{label}_short"), shifted=True),
            "starts lacking": start(lambda label: _given(f"{label}_startless")),
        }
    return Subject(
        f"torchrl.objectives.value:{name}",
        kits,
        _INPUTS,
        ("time unscored", "blocks unscored_counted"),
        options=_OPTIONS,
        together=(*_SHIFTED, *_CHUNKS, *options_together),
        calls=_CALLS,
        thorough=("chunks", "pseudo", "aside"),
    )


# -- functions -------------------------------------------------------------------------------------

_SHAPES: dict[str, Any] = {
    "rows": (6, 1), "time": (2, 6, 1), "blocks": (2, 3, 6, 1), "long": (3, 40, 1),
    "wide": (2, 6, 2),
    "one": (1, 1),
}  # fmt: skip


def _make_estimator_arguments(shape_and_change: str) -> dict[str, Any]:
    """Return values, rewards, ends and discounts of a shape and a change, as in "time each"."""
    shape, _, change = shape_and_change.partition(" ")
    size = _SHAPES[shape]
    over = make_flags(size[:-1], 3).expand(size).clone()
    cut = make_flags(size[:-1], 1).expand(size).clone()
    gamma = make_numbers(*size, word="gamma", low=0.5, high=1.0)
    arguments: dict[str, Any] = {
        "gamma": 0.9, "lmbda": 0.7,
        "state_value": make_numbers(*size, word="value"),
        "next_state_value": make_numbers(*size, word="next"),
        "reward": make_numbers(*size, word="reward"), "done": over | cut, "terminated": over,
        "log_pi": make_numbers(*size, word="pi"), "log_mu": make_numbers(*size, word="mu"),
    }  # fmt: skip
    floats = {name: item for name, item in arguments.items()
              if isinstance(item, torch.Tensor) and item.is_floating_point()}  # fmt: skip
    decays = make_numbers(*size, word="lambda", low=0.3, high=1.0)
    changed: dict[str, dict[str, Any]] = {
        "": {},
        "tensors": {"gamma": torch.tensor([0.9]), "lmbda": torch.tensor([0.7])},
        "each": {"gamma": gamma, "lmbda": decays},
        "rolling": {"gamma": gamma, "rolling_gamma": True},
        "still": {"gamma": gamma, "rolling_gamma": False},
        "still_both": {"gamma": gamma, "rolling_gamma": False, "lmbda": decays},
        "rolling_number": {"rolling_gamma": True},
        "cut": {"terminated": None},
        "vanishing_each": {
            **{name: 1e5 * item.double() for name, item in floats.items()},
            "gamma": torch.full(size, 1e-7, dtype=torch.float64),
            "lmbda": torch.ones(size, dtype=torch.float64),
        },
        "vanishing": {"gamma": torch.tensor([1e-7]), "lmbda": torch.tensor([1.0])},
        "endless": {"done": torch.zeros_like(over), "terminated": torch.zeros_like(over)},
        "double": {name: item.double() for name, item in floats.items()},
        "half": {name: item.half() for name, item in floats.items()},
        "numbers": {"state_value": 0.5, "next_state_value": 0.25},
        "time_first": {"time_dim": 0}, "time_last": {"time_dim": -1}, "time_1": {"time_dim": 1},
        "zero": {"gamma": 0.0, "lmbda": 0.0}, "whole": {"gamma": 1.0, "lmbda": 1.0},
        "thresholds": {"rho_thresh": 0.8, "c_thresh": torch.tensor(0.5)},
        "unlike": {"reward": make_numbers(*size[:-1], word="reward")},
        "columnless": {**{name: item.squeeze(-1) for name, item in arguments.items()
                          if isinstance(item, torch.Tensor)}, "time_dim": -1},
    }  # fmt: skip
    return {**arguments, **changed[change]}


def _compute_with_gradients(function: Any, arguments: dict[str, Any]) -> Any:
    parameters = list_parameters_with_inherited(function.func)
    for name in ("rolling_gamma", "time_dim", "rho_thresh"):
        if name in arguments:
            find_keyword_name(function.func, name)
    used = {name: item for name, item in arguments.items() if name in parameters}
    for name in ("state_value", "next_state_value", "reward"):
        if isinstance(used.get(name), torch.Tensor):
            used[name] = used[name].clone().requires_grad_()
    outputs = function(**used)
    results = outputs if isinstance(outputs, tuple) else (outputs,)
    sums = [item.sum() for item in results if item.requires_grad]
    if sums:
        torch.stack(sums).sum().backward()
    grads = {n: x.grad for n, x in used.items() if getattr(x, "grad", None) is not None}
    return {"returned": outputs, "gradient": grads}


def _make_return_arguments(shape_and_change: str) -> dict[str, Any]:
    arguments = _make_estimator_arguments(shape_and_change)
    names = ("reward", "done", "gamma", "time_dim")
    return {name: arguments[name] for name in names if name in arguments}


def _call_with_keywords(function: Any, arguments: dict[str, Any]) -> Any:
    return function(**arguments)


def _make_roll_by_gather_arguments(dimension_and_shift: str) -> dict[str, Any]:
    dim, shift = map(int, dimension_and_shift.split())
    shifts = torch.full((3,), shift) * torch.arange(3)
    return {"mat": make_numbers(3, 3, word="mat"), "dim": dim, "shifts": shifts}


def _make_recurrent_module_arguments(class_name: str) -> dict[str, Any]:
    states = ["hidden", "cell"] if class_name == "LSTMModule" else ["hidden"]
    return {
        "input_size": OBSERVATIONS, "hidden_size": 4, "in_keys": ["observation", *states],
        "out_keys": ["features", *(("next", state) for state in states)],
    }  # fmt: skip


def _make_steps_with_hidden_states(label: str) -> Any:
    steps = make_batch("continuous", label)
    for name in ("hidden", "cell"):
        steps[name] = make_numbers(*steps.shape, 1, 4, word=name)
    return steps


def _call_in_each_recurrent_mode(module: Any, steps: Any) -> Any:
    """Call a module in recurrent mode, over trajectories, and step by step."""
    mode = find_in_library("torchrl.modules", "set_recurrent_mode")
    outputs = {}
    for recurrent in (True, False):
        with mode(recurrent):
            outputs[str(recurrent)] = call_or_return_error(
                lambda: call_with_gradients(module, steps.clone())
            )
    return outputs


def list_subjects() -> dict[str, list[Subject]]:
    """Return the estimators and functions by name."""
    labels = [
        *(f"{s} {c}".strip() for s in ("rows", "time", "blocks", "wide")
          for c in ("", "tensors", "each", "cut", "endless", "double", "time_1", "time_first")),
        *(f"{s} {c}".strip() for s in ("rows", "time", "long")
          for c in ("rolling", "still", "still_both", "rolling_number",
                    "thresholds", "zero", "whole")),
        "time vanishing", "long vanishing", "time vanishing_each",
        "long", "long tensors", "long each", "one", "one each", "time half", "time numbers",
        "time time_last", "time unlike", "wide still", "blocks still",
        "rows columnless", "time columnless",
    ]  # fmt: skip
    limits = {"rho_thresh": 0.8, "c_thresh": torch.tensor(0.5)}
    actor = {
        "actor_network": lambda: make_stochastic_actor(
            find_in_library("torchrl.modules", "TanhNormal")
        )
    }
    estimator_subjects = [
        *(_make_estimator_subject(name, lmbda=lambda: 0.5)
          for name in ("GAE", "MultiAgentGAE", "TDLambdaEstimator")),
        *map(_make_estimator_subject, ("TD0Estimator", "TD1Estimator")),
        _make_estimator_subject("VTrace", limits, **actor),
    ]  # fmt: skip
    returns = [
        *(make_function_subject(
            f"{_FUNCTIONAL}:{name}", _make_estimator_arguments, labels, _compute_with_gradients,
            skip=("terminated", "rolling_gamma", "time_dim", "done", "rho_thresh", "c_thresh"),
        ) for name in find_in_library(_FUNCTIONAL, "__all__")),
        make_function_subject(
            f"{_FUNCTIONAL}:reward2go", _make_return_arguments,
            [label for label in labels
             if label.partition(" ")[2] in ("", "tensors", "each", "time_1")],
            _call_with_keywords, skip=("time_dim",),
        ),
        make_function_subject(
            "torchrl.objectives.value.utils:roll_by_gather", _make_roll_by_gather_arguments,
            ("0 1", "1 1", "-1 -1", "-2 -1", "2 1"), _call_with_keywords,
        ),
    ]  # fmt: skip
    recurrent = [
        Subject(
            f"torchrl.modules:{name}",
            {"": Kit(partial(_make_recurrent_module_arguments, name),
                     _make_steps_with_hidden_states)},
            ("time", "rows", "blocks"),
            calls={"": _call_in_each_recurrent_mode},
            skip=("device", "input_size", "hidden_size", "batch_first"),
        )
        for name in ("LSTMModule", "GRUModule")
    ]  # fmt: skip
    estimators = {subject.name.rpartition(":")[2]: [subject] for subject in estimator_subjects}
    return {**estimators, "returns": returns, "recurrent": recurrent}
