"""Probes of policies with memory, and of policies that are exported for the robot."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import Vectorised, make_runner
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
from rlregress.measurements import recurrent
from rlregress.measurements.ppo_loop import RecordedTraining
from rlregress.measurements.ppo_trainings import Settings
from rlregress.probing.interface import Inputs, Probe, Unsupported
from rlregress.probing.scripted import make_counting_environment

#: every way to make an action; the two laws of Gaussians take their mean apart by different lines
_POLICIES: list[dict[str, Any]] = [
    {},
    {"memory": "gru"},
    {"memory": "lstm"},
    {"law": {"class_name": "HeteroscedasticGaussianDistribution"}},
    {"law": {"class_name": "BetaDistribution"}},
    {"groups": ["policy", compat.IMAGES]},
]
#: two actions that differ by less are the same
_NEGLIGIBLE = 1e-5

#: how it acts, and how it is reset
_Exported = tuple[Callable[..., torch.Tensor], Callable[[], Any]]


def _magnify_last_layers(agent: Any) -> None:
    """Multiply the weights of last layers, so that outputs clearly depend on inputs and memory."""
    with torch.no_grad():
        for name in ("actor", "critic"):
            compat.list_layers(agent, name)[-1].weight.mul_(100.0)


def _train_with_memory(memory: str, settings: Settings) -> RecordedTraining:
    """Train PPO with a "gru" or "lstm" and these settings; return the record."""
    networks = Networks(hidden=[16], memory=memory)
    return trainings.train(settings, networks, _magnify_last_layers)


def _make_images(numbers: torch.Tensor) -> torch.Tensor:
    """Return images whose pixels all equal the first number of a row, [environments, 1, 3, 3]."""
    return numbers[:, :1, None, None].expand(-1, 1, 3, 3)


def _export_to_torchscript(network: Any, compiles: bool) -> _Exported:
    """Return functions that act with, and reset, TorchScript or the module that it is made from."""
    with compat.silence_runner_output():
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
        module = network.as_jit()
        exported = torch.jit.script(module) if compiles else module

    def act_by_torchscript(numbers: torch.Tensor, *images: torch.Tensor) -> torch.Tensor:
        return exported(numbers, list(images)) if images else exported(numbers)

    return act_by_torchscript, exported.reset


def _export_module_before_onnx(network: Any) -> _Exported:
    """Return functions that act with, and reset, the module from which ONNX is made."""
    exported = network.as_onnx(verbose=False).eval()
    inputs = dict(zip(exported.input_names, exported.get_dummy_inputs(), strict=False))
    memories = [tensor for name, tensor in inputs.items() if name.endswith("_in")]
    memory = list(memories)

    def act_by_module(numbers: torch.Tensor, *images: torch.Tensor) -> torch.Tensor:
        # until 5.0 images are handed over in a list
        as_list = isinstance(inputs.get(compat.IMAGES), list)
        outputs = exported(numbers, *([list(images)] if as_list else images), *memory)
        outputs = outputs if memory else (outputs,)
        memory[:] = outputs[1 : len(exported.output_names)]
        return outputs[0]

    def reset_memory() -> None:
        memory[:] = memories

    return act_by_module, reset_memory


def _list_differences(network: Any, exported: _Exported, steps: int) -> np.ndarray:
    """Return how far the actions of an export are from the network's, [2 episodes, steps]."""
    act, reset = exported
    has_images = compat.IMAGES in getattr(network, "obs_groups_2d", ())
    far = []
    for _ in range(2):
        network.reset(), reset()
        for number in torch.arange(1.0, steps + 1.0).reshape(-1, 1, 1):
            images = {compat.IMAGES: _make_images(number)} if has_images else {}
            sets = {"policy": number, **images}
            expected = network(compat.arrange_observations(sets))
            far.append((act(*sets.values()) - expected).abs().max().item())
    return np.reshape(far, (2, steps))


def _measure_exported_networks(inputs: Inputs) -> list[bool]:
    steps = inputs["steps"]
    if not compat.EXPORTS:
        raise Unsupported("this version of RSL-RL exports no policies")
    differences: list[np.ndarray] = []
    policies = [Networks(hidden=[16], normalised=True, **further) for further in _POLICIES]
    for networks in [policy for policy in policies if not policy.list_lacking_options()]:
        # the statistics of the normaliser move, and the policy with it
        counting = make_counting_environment(2 * steps)
        environment = Vectorised(counting, further={compat.IMAGES: _make_images})
        once: dict[str, Any] = {"num_learning_epochs": 1, "num_mini_batches": 1}
        runner = make_runner(environment, steps, networks, **once)
        compat.train_without_saving(runner, 2)
        agent = runner.alg
        _magnify_last_layers(agent)
        # that of values has no distribution, as a policy may have none
        exports = [(own, _export_to_torchscript(own, False)) for own in (agent.actor, agent.critic)]
        exports += [(own, _export_module_before_onnx(own)) for own in (agent.actor, agent.critic)]
        exports.append((agent.actor, _export_to_torchscript(agent.actor, True)))
        with torch.no_grad():
            differences.extend(_list_differences(*export, steps) for export in exports)
    farthest = np.max(differences, axis=0)
    parts = farthest[0, :1], farthest[0, 1:], farthest[1]
    return [bool(far.max() < _NEGLIGIBLE) for far in parts]


PROBES: Mapping[str, Probe] = {
    **recurrent.make_probes(
        *(partial(_train_with_memory, kind) for kind in ("gru", "lstm")),
        of_first=("recurrent.minibatches", "recurrent.padding"),
    ),
    "policy.exported": _measure_exported_networks,
}
ABSENT: Mapping[str, str] = {
    "recurrent.padding.divergence": "reports neither divergence nor clipped ratios",
    "recurrent.predict": "has no evaluation, and leaves the memory to who asks for actions",
}
