"""Scenarios on TorchRL: short loops over its own losses, collectors, buffers and transforms.

TorchRL's trainers know few of its options: users put the parts together themselves, and so does
this module, in one process. Whether a version has an option is asked of the signature that would
take it, so that one that lacks it says so and everything else is traced.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl import generated_cases
from rlregress.frameworks.torchrl.scenarios.loop_settings import ON_POLICY, ScenarioOptions
from rlregress.frameworks.torchrl.scenarios.off_policy_loop import OffPolicy
from rlregress.frameworks.torchrl.scenarios.on_policy_loop import OnPolicy
from rlregress.frameworks.torchrl.scenarios.scenario_environments import make_environment


def trace(
    scenario: Mapping[str, Any], make_env: Callable[..., Any], seed: int
) -> Mapping[str, Any]:
    """Train in a loop of TorchRL's own parts, or use one of them by itself."""
    with warnings.catch_warnings():
        # about what a scenario does on purpose
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        np.random.seed(seed)
        options = ScenarioOptions(scenario)
        calls = options.take("calls")
        if calls is not None:
            return generated_cases.use(calls, seed)
        environment = make_environment(options, make_env, seed)
        (OnPolicy if options.algorithm in ON_POLICY else OffPolicy)(options, environment).run()
        return {}
