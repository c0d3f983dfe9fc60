"""Differences between the interfaces of older versions and the newest.

Everything else of the adapter calls TorchRL as its newest version is called, through these
functions where that was once different.
"""

from __future__ import annotations

import importlib
import inspect
from functools import partial
from typing import Any
from unittest import mock

import torch

from rlregress.frameworks.torchrl.api import (
    GAE,
    AdditiveGaussianModule,
    AdditiveGaussianWrapper,
    ClipPPOLoss,
    ExplorationType,
    SACLoss,
    TD3Loss,
    TensorDictSequential,
    describe_version,
    read_major_and_minor_version,
)
from rlregress.probing.families import is_absent_name
from rlregress.probing.interface import Unsupported
from rlregress.probing.signatures import list_parameters_with_inherited

#: keyword or attribute -> what older versions call it.
_RENAMED = {
    # until 0.9.0
    "entropy_coeff": "entropy_coef",
    # until 0.9.1
    "critic_coeff": "critic_coef",
    # of distributions, until 0.4
    "low": "min",
    "high": "max",
    "deterministic_sample": "mode",
}
#: keywords that only keep a trainer from logging: where they are not known, nothing is logged.
_QUIETENING = {"auto_log_optim_steps"}
#: where the log-probability of an action stands; the second is its name until 0.9.
LOG_PROBS = ("action_log_prob", "sample_log_prob")


def find_keyword_name(called: Any, newest_name: str) -> str:
    """Return the installed version's name of a keyword, found by its newest name.

    Raises:
        Unsupported: it has no such keyword.
    """
    parameters = list_parameters_with_inherited(called)
    for candidate in (newest_name, _RENAMED.get(newest_name, newest_name)):
        if candidate in parameters:
            return candidate
    raise Unsupported(f"{called.__name__} of {describe_version()} has no keyword '{newest_name}'")


def find_parameter(called: Any, newest_name: str) -> inspect.Parameter:
    """Return the parameter behind a keyword's newest name; raises as ``find_keyword_name`` does."""
    return list_parameters_with_inherited(called)[find_keyword_name(called, newest_name)]


def rename_options_for_version(called: Any, **arguments: Any) -> dict[str, Any]:
    """Return keyword arguments under the names that ``called`` has in the installed version."""
    parameters = list_parameters_with_inherited(called)
    return {
        find_keyword_name(called, name): value
        for name, value in arguments.items()
        if name in parameters or name not in _QUIETENING
    }


def find_in_library(module: str, *names: str) -> Any:
    """Return a module's value of one of these names; Unsupported where it has none."""
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            # one that the version needs, and that is not installed
            raise
        raise Unsupported(f"this version has no {module}") from error
    for name in names:
        if hasattr(imported, name):
            return getattr(imported, name)
    raise Unsupported(f"this version has no {names[0]}")


def call_with_newest_keywords(called: Any, *arguments: Any, **keywords: Any) -> Any:
    """Call ``called`` with keywords of the newest version, renamed for the installed one."""
    return called(*arguments, **rename_options_for_version(called, **keywords))


def read_renamed(owner: Any, newest_name: str) -> Any:
    """Return an attribute by its newest name, whatever the installed version calls it.

    Raises:
        Unsupported: the installed version has no such attribute.
    """
    for candidate in (newest_name, _RENAMED.get(newest_name, newest_name)):
        if hasattr(owner, candidate):
            return getattr(owner, candidate)
    raise Unsupported(f"{type(owner).__name__} of {describe_version()} has no '{newest_name}'")


def find_action_spec(environment: Any) -> Any:
    """Return the action spec of one environment; ``environment`` may hold several."""
    # until 0.6 there is only that of all of them
    if hasattr(type(environment), "action_spec_unbatched"):
        return environment.action_spec_unbatched
    spec = environment.action_spec
    for _ in environment.batch_size:
        spec = spec[0]
    return spec


def make_ppo_loss(actor: Any, critic: Any, **options: Any) -> Any:
    """Return a ``ClipPPOLoss``."""
    parameters = list_parameters_with_inherited(ClipPPOLoss)
    if options.get("clip_value", False) is None and "clip_value" not in parameters:
        # until 0.3 there was nothing to switch off
        del options["clip_value"]
    return call_with_newest_keywords(ClipPPOLoss, actor, critic, **options)


def _make_off_policy_loss(kind: Any, actor: Any, critics: Any, **options: Any) -> Any:
    """Return a loss of this kind, of one Q network or a list of them."""
    if not isinstance(critics, (list, tuple)) or read_major_and_minor_version("torchrl") >= (0, 14):
        return call_with_newest_keywords(kind, actor, critics, **options)
    # until 0.13 a list of networks is refused, or has target networks that cannot be updated: one
    # network is multiplied, and what the others hold is copied into the multiples
    tensors = [
        {name: parameter.detach().clone() for name, parameter in critic.named_parameters()}
        for critic in critics
    ]
    loss = call_with_newest_keywords(
        kind, actor, critics[0], **{"num_qvalue_nets": len(critics), **options}
    )
    for parameters in (loss.qvalue_network_params, loss.target_qvalue_network_params):
        for key, stacked in parameters.items(True, True):
            name = key if isinstance(key, str) else ".".join(key)
            stacked.data.copy_(torch.stack([own[name] for own in tensors]))
    return loss


make_sac_loss = partial(_make_off_policy_loss, SACLoss)
make_td3_loss = partial(_make_off_policy_loss, TD3Loss)


def find_advantage_estimator(ppo_trainer: Any) -> Any:
    """Return the estimator of advantages that a ``PPOTrainer`` has made."""
    registered = ppo_trainer._modules.get("value_estimator")
    if registered is not None:
        return registered.value_estimator
    # until 0.13 it is called before every epoch without being one of the trainer's parts
    called = [getattr(op, "__wrapped__", op) for op, _ in ppo_trainer._pre_epoch_ops]
    (estimator,) = [op for op in called if isinstance(op, GAE)]
    return estimator


def find_deterministic_exploration() -> Any:
    """Return the exploration type in which a policy acts deterministically."""
    # until 0.4 a policy acts by the mode of its distribution, which is what that is called now
    return getattr(ExplorationType, "DETERMINISTIC", None) or ExplorationType.MODE


def get_loss_output(outputs: Any, name: str) -> Any:
    """Return an entry of a loss's output by name.

    Raises:
        Unsupported: the loss of the installed version returns no such thing.
    """
    if name not in set(outputs.keys()):
        raise Unsupported(f"the loss of {describe_version()} returns no '{name}'")
    return outputs[name]


def estimate_next_values(td3_loss: Any, batch: Any) -> torch.Tensor:
    """Return the value of each next state by the target networks of a ``TD3Loss``, [batch]."""
    recorded: list[torch.Tensor] = []
    estimate = td3_loss.value_estimator.value_estimate

    def note_next_values_and_estimate(batch_of_values: Any, *arguments: Any, **named: Any) -> Any:
        recorded.append(batch_of_values["next", "state_action_value"].detach().reshape(-1))
        return estimate(batch_of_values, *arguments, **named)

    # until 0.3 the loss returns their mean alone
    with mock.patch.object(
        td3_loss.value_estimator, "value_estimate", note_next_values_and_estimate
    ):
        td3_loss(batch)
    return recorded[-1]


def add_gaussian_noise(actor: Any, spec: Any, **options: Any) -> tuple[Any, Any]:
    """Return the policy with Gaussian noise added to its actions, and the module of the noise."""
    if not is_absent_name(AdditiveGaussianModule):
        noise = call_with_newest_keywords(AdditiveGaussianModule, spec=spec, **options)
        return TensorDictSequential(actor, noise), noise
    # until 0.4 it is wrapped
    wrapper = call_with_newest_keywords(AdditiveGaussianWrapper, actor, spec=spec, **options)
    return wrapper, wrapper
