"""Probe of policies that are exported for the robot."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.compat import Networks
from rlregress.frameworks.rsl_rl.environments import Vectorised
from rlregress.frameworks.rsl_rl.observe.helpers import trainings
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
#: an update of one step
_ONCE: Mapping[str, Any] = {"num_learning_epochs": 1, "num_mini_batches": 1}
#: two actions that differ by less are the same
_NEGLIGIBLE = 1e-5

#: how it acts, and how it is reset
_Exported = tuple[Callable[..., torch.Tensor], Callable[[], Any]]


def _make_images(numbers: torch.Tensor) -> torch.Tensor:
    """Return images whose pixels all equal the first number of a row, [environments, 1, 3, 3]."""
    return numbers[:, :1, None, None].expand(-1, 1, 3, 3)


def _export_to_torchscript(
    network: Any, script: Callable[[Any], Any] = torch.jit.script
) -> _Exported:
    """Export a network to TorchScript; return functions that act with it and reset it."""
    with compat.silence_runner_output():
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
        exported = script(network.as_jit())

    def act_by_torchscript(numbers: torch.Tensor, *images: torch.Tensor) -> torch.Tensor:
        return exported(numbers, list(images)) if images else exported(numbers)

    return act_by_torchscript, exported.reset


def _export_module_before_torchscript(network: Any) -> _Exported:
    """Return functions that act with, and reset, the module from which TorchScript is made."""
    return _export_to_torchscript(network, lambda module: module)


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
        if not memory:
            return outputs
        memory[:] = outputs[1 : len(exported.output_names)]
        return outputs[0]

    def reset_memory() -> None:
        memory[:] = memories

    return act_by_module, reset_memory


def _list_differences_of_exports(
    network: Any, exports: Sequence[Callable[[Any], _Exported]], steps: int
) -> Iterator[np.ndarray]:
    """Yield for each export how far its actions are from the network's, [2 episodes, steps]."""
    numbers = torch.arange(1.0, steps + 1.0).reshape(-1, 1, 1)
    images = compat.IMAGES in getattr(network, "obs_groups_2d", ())
    for exported in exports:
        act, reset = exported(network)
        far = []
        for _ in range(2):
            network.reset(), reset()
            for number in numbers:
                sets = {
                    "policy": number,
                    **({compat.IMAGES: _make_images(number)} if images else {}),
                }
                expected = network(compat.arrange_returned_observations(sets, is_step=True))
                far.append((act(*sets.values()) - expected).abs().max().item())
        yield np.reshape(far, (2, steps))


#: network -> how it is exported; that of values has no distribution, as a policy may have none
_WAYS: Mapping[str, Sequence[Callable[[Any], _Exported]]] = {
    "actor": (
        _export_to_torchscript,
        _export_module_before_torchscript,
        _export_module_before_onnx,
    ),
    "critic": (_export_module_before_torchscript, _export_module_before_onnx),
}


def _measure_exported_networks(inputs: Inputs) -> np.ndarray:
    steps = int(inputs["steps"])
    farthest = np.zeros((2, steps))
    if not compat.EXPORTS:
        raise Unsupported("this version of RSL-RL exports no policies")
    policies = [Networks(hidden=[16], normalised=True, **further) for further in _POLICIES]
    for networks in [policy for policy in policies if not policy.list_lacking_options()]:
        # the statistics of the normaliser move, and the policy with it
        environment = Vectorised(
            make_counting_environment(2 * steps), further={compat.IMAGES: _make_images}
        )
        runner = trainings.make_runner(environment, steps, networks, **_ONCE)
        with compat.silence_runner_output():
            compat.train_without_saving(runner, 2)
        trainings.magnify_last_layers(runner.alg)
        for name, ways in _WAYS.items():
            with torch.no_grad():
                for far in _list_differences_of_exports(getattr(runner.alg, name), ways, steps):
                    farthest = np.maximum(farthest, far)
    parts = farthest[0, :1], farthest[0, 1:], farthest[1]
    return np.array([float(far.max() < _NEGLIGIBLE) for far in parts])


PROBES: Mapping[str, Probe] = {"policy.exported": _measure_exported_networks}
