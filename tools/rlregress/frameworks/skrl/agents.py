"""Agents of skrl with small networks and a memory, and their trainings by its own trainer.

skrl makes no networks: users write models, around its mixins. Those here are what its documentation
writes, as small as they can be unless sizes are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import torch
from skrl import logger
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.resources.noises.torch import GaussianNoise
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.trainers.torch import SequentialTrainer
from torch import nn
from torch.optim.lr_scheduler import LinearLR

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.recurrent_layers import Recurrence, RecurrentLayers
from rlregress.probing.families import is_absent_name
from rlregress.probing.scripted import Scripted

#: learning starts after so many steps: what is collected before trains nothing
NEVER = 10**6

if not is_absent_name(logger):
    # what its warnings are about, probes leave out on purpose
    logger.setLevel("ERROR")

_TWIN = ("critic_1", "critic_2")
_TARGETS = tuple(f"target_{name}" for name in _TWIN)
_ACTOR = {"actor": "policy_optimizer", "critic": "critic_optimizer"}
#: algorithm -> its models, and role -> the attribute that holds its optimiser
MODELS: Mapping[str, tuple[str, ...]] = {
    "sac": ("policy", *_TWIN, *_TARGETS),
    "td3": ("policy", "target_policy", *_TWIN, *_TARGETS),
    "ddpg": ("policy", "target_policy", "critic", "target_critic"),
    "dqn": ("q_network", "target_q_network"),
    "ppo": ("policy", "value"),
    "a2c": ("policy", "value"),
    "trpo": ("policy", "value"),
}
_OPTIMIZERS: Mapping[str, Mapping[str, str]] = {
    "sac": {**_ACTOR, "temperature": "entropy_optimizer"},
    "td3": _ACTOR,
    "ddpg": _ACTOR,
    "dqn": {"critic": "optimizer"},
    "ppo": {"policy": "optimizer"},
    "a2c": {"policy": "optimizer"},
    "trpo": {"critic": "value_optimizer"},
}


class Layers(NamedTuple):
    """Options of the layers of each network.

    Attributes:
        sizes: units of the hidden layers, from the first one on.
        activation: the layer after each hidden one.
        squash: actions, or their mean, are brought between the bounds with a tanh.
        memory: of the recurrent layers before them, if there are any.
        dropout: probability with which an output of a hidden layer is 0 in training mode.
        initialised: with skrl's own functions.
    """

    sizes: Sequence[int] = (4,)
    activation: Any = nn.Tanh
    squash: bool = True
    memory: Recurrence | None = None
    dropout: float = 0.0
    initialised: bool = False


class _Network(Model):
    """A model of linear layers; in a policy with bounded actions, a tanh follows them."""

    def __init__(self, inputs: int, outputs: int, layers: Layers, spaces: Any) -> None:
        Model.__init__(self, **spaces, device="cpu")
        self._sees_states = spaces.get("state_space") is not None
        self._memory = layers.memory
        if layers.memory is not None:
            self.recurrent = RecurrentLayers(_count_inputs(spaces), layers.memory)
        layers_in_order = []
        for size in layers.sizes:
            layers_in_order += [nn.Linear(inputs, size), layers.activation()]
            layers_in_order += [nn.Dropout(layers.dropout)] if layers.dropout else []
            inputs = size
        self.net = nn.Sequential(*layers_in_order, nn.Linear(inputs, outputs))
        self._squash = layers.squash
        if layers.initialised:
            self.init_parameters("normal_", mean=0.0, std=0.1)
            self.init_weights("orthogonal_", gain=0.5)
            self.init_biases("constant_", val=0.1)

    def get_specification(self) -> dict[str, Any]:
        """Return the sizes of the recurrent states, as agents read them."""
        return {} if self._memory is None else self._memory.make_specification()

    def compute_outputs(self, inputs: Any) -> tuple[torch.Tensor, dict[str, Any]]:
        """Return the outputs of the layers for a model's inputs, and the new recurrent states."""
        tensors, states = [inputs[compat.OBSERVATIONS]], {}
        if self._sees_states:
            tensors.append(inputs["states"])
        if self._memory is not None:
            remembered, states["rnn"] = self.recurrent(torch.cat(tensors, dim=1), inputs)
            tensors = [remembered]
        actions = inputs.get("taken_actions")
        if actions is not None and not isinstance(self, GaussianMixin):
            tensors.append(actions)
        outputs = self.net(torch.cat(tensors, dim=1))
        if not self._squash:
            return outputs, states
        low, high = (torch.as_tensor(getattr(self.action_space, end)) for end in ("low", "high"))
        return low + 0.5 * (high - low) * (torch.tanh(outputs) + 1.0), states


class Deterministic(DeterministicMixin, _Network):
    """A model of values, or of actions."""

    def __init__(self, *arguments: Any) -> None:
        _Network.__init__(self, *arguments)
        DeterministicMixin.__init__(self)

    def compute(self, inputs: Any, role: str = "") -> Any:
        """Return the output of its layers."""
        return self.compute_outputs(inputs)


class Gaussian(GaussianMixin, _Network):
    """A Gaussian policy whose deviation does not depend on the state."""

    def __init__(self, *arguments: Any) -> None:
        _Network.__init__(self, *arguments)
        GaussianMixin.__init__(self)
        self.log_std = nn.Parameter(torch.zeros(self.num_actions))

    def compute(self, inputs: Any, role: str = "") -> Any:
        """Return the output of its layers as the mean."""
        mean, states = self.compute_outputs(inputs)
        return compat.make_gaussian_result(mean, self.log_std, states)


class Shared(GaussianMixin, DeterministicMixin, _Network):
    """Policy and value in one model: the last output of its layers is the value."""

    def __init__(self, inputs: int, outputs: int, *arguments: Any) -> None:
        _Network.__init__(self, inputs, outputs + 1, *arguments)
        DeterministicMixin.__init__(self)
        GaussianMixin.__init__(self)
        self.log_std = nn.Parameter(torch.zeros(self.num_actions))

    def act(self, inputs: Any, role: str = "") -> Any:
        """Act as the deterministic mixin for the role "value", else as the Gaussian one."""
        return (DeterministicMixin if role == "value" else GaussianMixin).act(
            self, inputs, role=role
        )

    def compute(self, inputs: Any, role: str = "") -> Any:
        """Return the value, or the mean."""
        outputs, states = self.compute_outputs(inputs)
        if role == "value":
            return outputs[:, -1:], states
        return compat.make_gaussian_result(outputs[:, :-1], self.log_std, states)


def make_scaler_settings(name: str, size: Any = 1, **options: Any) -> dict[str, Any]:
    """Return settings of an agent that scales its observations, states or values.

    Args:
        name: "observation", "state" or "value".
        size: of what is scaled, or its space.
    """
    own = {"size": size, "device": "cpu", **options}
    return {f"{name}_preprocessor": RunningStandardScaler, f"{name}_preprocessor_kwargs": own}


def make_noise_settings(name: str, kind: Any = GaussianNoise, **options: float) -> dict[str, Any]:
    """Return the settings of a noise, by the name of its setting; mean 0 if it is Gaussian."""
    mean = {"mean": 0.0} if kind is GaussianNoise else {}
    return {name: kind, f"{name}_kwargs": {**mean, **options, "device": "cpu"}}


def make_falling_rate_settings(updates: int) -> dict[str, Any]:
    """Return settings of a learning rate that falls linearly to 0 over so many of its updates."""
    own = {"start_factor": 1.0, "end_factor": 0.0, "total_iters": updates}
    return {"learning_rate_scheduler": LinearLR, "learning_rate_scheduler_kwargs": own}


class AgentSetup:
    """An agent with its models, memory and environments, ready to be trained.

    Args:
        algorithm: its name in lower case, such as "sac".
        environments: of gymnasium; without any, a ``Scripted`` one with its defaults.
        rows: of the memory, for each environment.
        layers: of each network; there is no tanh behind a policy beside a model of values.
        vectorised: further arguments of gymnasium's ``SyncVectorEnv``, which one environment is put
            into too if they are given.
        memory: further arguments of the memory, or its ``kind``.
        shared: policy and value are one model.
        names: of its models, where they are not all that the algorithm has by default.
        settings: of the agent, in the names of skrl 2.

    Attributes:
        models: by the names that the agent has for them.
        optimizers: by the role of the parameters that they update.
    """

    def __init__(
        self,
        algorithm: str,
        *environments: Any,
        rows: int = 256,
        layers: Layers = Layers(),  # noqa: B008 - a tuple
        vectorised: Mapping[str, Any] | None = None,
        memory: Mapping[str, Any] = {},  # noqa: B006 - read only
        shared: bool = False,
        names: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        self.environments = list(environments) or [Scripted()]
        self._env = wrap_environments(self.environments, vectorised)
        spaces = {
            "observation_space": self._env.observation_space,
            "action_space": self._env.action_space,
            **compat.make_state_space_argument(self._env),
        }
        count = {"num_envs": len(self.environments), **memory}
        memory_kind = count.pop("kind", RandomMemory)
        self.memory = memory_kind(memory_size=rows, device="cpu", **count)
        if layers.memory is not None:
            acted_in = layers.memory._replace(environments=len(self.environments))
            layers = layers._replace(memory=acted_in)
        self.models = {
            name: _make_model(algorithm, name, spaces, layers)
            for name in names or MODELS[algorithm]
        }
        if shared:
            width, plain = _count_network_inputs(spaces, layers), layers._replace(squash=False)
            both = Shared(width, spaces["action_space"].shape[0], plain, spaces)
            self.models = dict.fromkeys(self.models, both)
        self.agent = compat.make_agent_of_kind(
            algorithm,
            settings,
            layers.memory is not None,
            models=self.models,
            memory=self.memory,
            **spaces,
        )
        attributes = _OPTIMIZERS[algorithm]
        self.optimizers: dict[str, Any] = {
            role: getattr(self.agent, name)
            for role, name in attributes.items()
            if hasattr(self.agent, name)
        }

    @property
    def action_space(self) -> Any:
        """The action space of one environment, which models draw random actions from."""
        return self._env.action_space

    def make_trainer(self, steps: int) -> Any:
        """Return a trainer for ``steps`` steps; making the trainer initialises the agent."""
        return _make_trainer(self._env, self.agent, steps)

    def run_steps(self, steps: int) -> None:
        self.make_trainer(steps).train()

    def update_once(self) -> None:
        """Run one update on the stored rows."""
        getattr(self.agent, compat.UPDATE)(timestep=0, timesteps=1)

    def read_stored_tensor(self, name: str) -> torch.Tensor:
        """Return a tensor of the memory, by its name in skrl 2: [rows, environments, numbers]."""
        return self.memory.get_tensor_by_name(compat.TENSORS.get(name, name))


def make_joint_trainer(trainings: Sequence[AgentSetup], steps: int) -> Any:
    """Return a trainer of several agents, each in its own environments, for ``steps`` steps."""
    environment = wrap_environments(
        [single for training in trainings for single in training.environments], {}
    )
    counts = [len(training.environments) for training in trainings]
    agents = [training.agent for training in trainings]
    return _make_trainer(environment, agents, steps, **{compat.SCOPES: counts})


def _make_trainer(environment: Any, agents: Any, steps: int, **further: Any) -> Any:
    options = {"timesteps": steps, "headless": True, "disable_progressbar": True}
    options["close_environment_at_exit"] = False
    return SequentialTrainer(env=environment, agents=agents, cfg=options, **further)


def wrap_environments(environments: Any, vectorised: Mapping[str, Any] | None) -> Any:
    """Return environments as skrl takes them, side by side; one alone if ``vectorised`` is None.

    Args:
        vectorised: options of the vector environment.
    """
    if len(environments) == 1 and vectorised is None:
        return wrap_env(environments[0], wrapper="gymnasium", verbose=False)
    makers = [lambda environment=single: environment for single in environments]
    side_by_side = gymnasium.vector.SyncVectorEnv(makers, **(vectorised or {}))
    return wrap_env(side_by_side, wrapper="gymnasium", verbose=False)


def _count_inputs(spaces: Any) -> int:
    """Return how many numbers an observation and the state beside it have together."""
    observed_spaces = (spaces["observation_space"], spaces.get("state_space"))
    # one of several choices is a number
    return sum(
        sum(space.shape) if space.shape else 1 for space in observed_spaces if space is not None
    )


def _count_network_inputs(spaces: Any, layers: Layers) -> int:
    """Return the width of a network's input."""
    return _count_inputs(spaces) if layers.memory is None else layers.memory.size


def _make_model(algorithm: str, name: str, spaces: Any, layers: Layers) -> Any:
    observed, plain = _count_network_inputs(spaces, layers), layers._replace(squash=False)
    if algorithm == "dqn":
        return Deterministic(observed, int(spaces["action_space"].n), plain, spaces)
    dimensions = spaces["action_space"].shape[0]
    if name.endswith("policy"):
        make = Deterministic if algorithm in ("td3", "ddpg") else Gaussian
        return make(observed, dimensions, plain if "value" in MODELS[algorithm] else layers, spaces)
    return Deterministic(observed + (0 if name == "value" else dimensions), 1, plain, spaces)


def fix_zero_action_and_log_prob(policy: Any, log_prob: float) -> None:
    """Patch a stochastic policy to sample the action 0 and to report ``log_prob`` for it."""
    act = policy.act

    def act_with_log_prob(inputs: Any, **role: Any) -> Any:
        actions, *further = acted = act(inputs, **role)
        number = 0.0 * compat.read_log_prob(acted) + log_prob
        return compat.replace_log_prob((0.0 * actions, *further), number)

    policy.act = act_with_log_prob


def call_after_model(model: Any, callback: Callable[[Any, Any], None]) -> None:
    """Call ``callback`` with the inputs and the outputs of every call of a model."""
    act = model.act

    def call_and_look(inputs: Any, **role: Any) -> Any:
        acted = act(inputs, **role)
        callback(inputs, acted)
        return acted

    model.act = call_and_look
