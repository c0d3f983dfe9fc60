"""Arguments and value estimators of TorchRL's losses."""

from __future__ import annotations

import inspect
from typing import Any

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.scenarios.loop_settings import ScenarioOptions

#: setting -> arguments of a loss, of which versions know one.
_LOSS_ARGUMENTS: dict[str, tuple] = {
    "clip_range": ("clip_epsilon",),
    "value_clip_range": ("clip_value",),
    "entropy_coefficient": ("entropy_coeff", "entropy_coef"),
    "value_coefficient": ("critic_coeff", "critic_coef"),
    "value_loss": ("loss_critic_type",),
    "critic_loss": ("loss_function",),
    "normalize_advantage": ("normalize_advantage",),
    "initial_temperature": ("alpha_init",),
    "target_entropy": ("target_entropy",),
    "target_noise": ("policy_noise",),
    "target_noise_clip": ("noise_clip",),
    "critics": ("num_qvalue_nets",),
    "double": ("double_dqn",),
    "reduction": ("reduction",),
    "separate_losses": ("separate_losses",),
    "delayed_actor": ("delay_actor",),
    "skip_done_states": ("skip_done_states",),
    "without_vmap": ("deactivate_vmap",),
    "largest_ratio": ("max_importance_ratio",),
}
_ESTIMATORS = {
    "td0": "TD0", "td1": "TD1", "td-lambda": "TDLambda", "gae": "GAE", "v-trace": "VTrace",
}  # fmt: skip


def loss_arguments(options: ScenarioOptions, loss: Any) -> dict[str, Any]:
    """What a scenario asks of the arguments of a loss; Unsupported for one that it lacks."""
    known = inspect.signature(loss.__init__).parameters
    made = {}
    for setting, names in _LOSS_ARGUMENTS.items():
        if setting in options.given:
            name = next((name for name in names if name in known), None)
            if name is None:
                raise Unsupported(f"{loss.__name__} takes no {names[0]}")
            made[name] = options.take(setting)
    temperature = options.take("fixed_temperature")
    if temperature is not None:
        made.update(alpha_init=temperature, fixed_alpha=True)
        check_arguments(loss, made)
    return made


def set_estimator(scenario_options: ScenarioOptions, loss: Any, default: str) -> None:
    """Set the value estimator that a scenario names; ``own`` leaves that of the loss."""
    name = scenario_options.take("value_estimator", default)
    discount, decay = scenario_options.take("discount"), scenario_options.take("gae_lambda")
    if name == "own":
        return
    kinds = library("torchrl.objectives", "ValueEstimators")
    kind = getattr(kinds, _ESTIMATORS[name], None)
    if kind is None:
        raise Unsupported(f"this version has no value estimator {name}")
    options: dict[str, Any] = {"gamma": discount}
    if name in ("gae", "td-lambda"):
        options["lmbda"] = 0.95 if decay is None else decay
    vectorized = scenario_options.take("vectorized")
    if vectorized is not None:
        options["vectorized"] = vectorized
    if scenario_options.take("average_advantage"):
        options["average_gae"] = True
    try:
        loss.make_value_estimator(kind, **options)
    except NotImplementedError:
        raise Unsupported(f"{type(loss).__name__} has no value estimator {name}") from None


def sum_of_losses(losses: Any) -> Any:
    """The sum of what a loss returns as losses."""
    values = [value for key, value in losses.items() if str(key).startswith("loss")]
    return sum(value.sum() if value.ndim else value for value in values)
