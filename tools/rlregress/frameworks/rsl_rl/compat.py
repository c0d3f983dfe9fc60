"""RSL-RL from 2.1 on: how an agent is configured in each version, and where its parts are."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import io
import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import rsl_rl.modules
import rsl_rl.utils
import torch
from rsl_rl import algorithms, runners
from rsl_rl.algorithms import PPO
from rsl_rl.env import vec_env
from torch import nn

from rlregress.probing.interface import Unsupported
from rlregress.probing.layers import make_output_constant

_NORMALISER = "EmpiricalNormalization"
#: the set of observations that holds images.
IMAGES = "camera"
#: from 3.0 on observations are groups in a TensorDict.
GROUPED = hasattr(rsl_rl.utils, "resolve_obs_groups")
#: from 4.0 on actor and critic are models of their own.
MODELS = importlib.util.find_spec("rsl_rl.models") is not None
#: they can be exported.
EXPORTS = MODELS and hasattr(rsl_rl.models.MLPModel, "as_jit")
#: from 5.0 on the distribution of a model is configured by itself.
DISTRIBUTIONS = importlib.util.find_spec("rsl_rl.modules.distribution") is not None
#: the component that normalises observations; in 3.x it is another module's.
_PLACE = rsl_rl.modules if hasattr(rsl_rl.modules, _NORMALISER) else rsl_rl.networks
EmpiricalNormalization = getattr(_PLACE, _NORMALISER)
#: how advantages of a rollout stay as they are: until 2.2.2 they are always normalised.
_RAW = "normalize_advantage_per_mini_batch"
RAW_ADVANTAGES = {_RAW: True} if _RAW in inspect.signature(PPO).parameters else {}

#: small networks of random network distillation
SMALL_CURIOSITY = {"predictor_hidden_dims": [8], "target_hidden_dims": [8]}
NORMALISED_CURIOSITY = {"state_normalization": True, "reward_normalization": True}


@contextlib.contextmanager
def silence_runner_output() -> Iterator[None]:
    """Suppress the tables that a runner prints; restore the filters of warnings afterwards."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        # of steps that do not fill a window of distillation, since 5.5
        warnings.filterwarnings("ignore", "The product of", UserWarning)
        yield


def arrange_returned_observations(groups: Mapping[str, torch.Tensor], is_step: bool = False) -> Any:
    """Return observations as environments of this version return them on reset or after a step."""
    if GROUPED:
        rows = len(next(iter(groups.values())))
        return vec_env.TensorDict(dict(groups), batch_size=[rows])
    return groups["policy"] if is_step else (groups["policy"], {"observations": dict(groups)})


def mirror_observations_and_actions(obs: Any = None, actions: Any = None, **_: Any) -> list[Any]:
    """Return observations and actions, each with its negatives appended."""
    return [x if x is None else torch.cat([x, x * -1.0]) for x in (obs, actions)]


class Networks(NamedTuple):
    """Options of an agent's networks. None: the default.

    Attributes:
        memory: kind of the two recurrent layers of each, "gru" or "lstm"; empty: they have none.
        groups: the sets of observations that both networks get; with images among them they begin
            with convolutions.
        law: the distribution of actions, if the version has ``DISTRIBUTIONS``; in earlier ones the
            only other choice is a deviation that depends on the state.
    """

    hidden: Any = None
    activation: Any = None
    normalised: Any = None
    memory: str = ""
    groups: Sequence[str] = ("policy",)
    law: Mapping[str, Any] = {}

    def make_configuration_of_networks(self, distils: bool) -> dict[str, Any]:
        """Return the configuration of two networks: actor and critic, or student and teacher."""
        names = ("student", "teacher") if distils else ("actor", "critic")
        sizes: dict[str, Any] = {"rnn_hidden_dim": 4, "rnn_num_layers": 2}
        both = {"rnn_type": self.memory, **sizes} if self.memory else {}
        both.update(_drop_unset_options(activation=self.activation))
        if MODELS:
            both["class_name"] = "RNNModel" if self.memory else "MLPModel"
            if IMAGES in self.groups:
                layers = {"output_channels": [3, 2], "kernel_size": 2, "activation": "elu"}
                both.update(class_name="CNNModel", cnn_cfg=layers)
            both.update(
                _drop_unset_options(hidden_dims=self.hidden, obs_normalization=self.normalised)
            )
            law = {"distribution_cfg": {"class_name": "GaussianDistribution", **self.law}}
            acting = law if DISTRIBUTIONS else {"stochastic": True, **self._configure_deviation()}
            return {names[0]: {**both, **acting}, names[1]: both}
        both.update(self._configure_deviation())
        kind = "StudentTeacher" if distils else "ActorCritic"
        both["class_name"] = f"{kind}Recurrent" if self.memory else kind
        for name in names:
            both.update(_drop_unset_options(**{f"{name}_hidden_dims": self.hidden}))
            if GROUPED:
                both.update(_drop_unset_options(**{f"{name}_obs_normalization": self.normalised}))
        return {"policy": both, "empirical_normalization": None if GROUPED else self.normalised}

    def _configure_deviation(self) -> dict[str, Any]:
        if not self.law:
            return {}
        return {"state_dependent_std": True, "noise_std_type": self.law["std_type"]}

    def list_lacking_options(self) -> list[str]:
        """Return the options of networks and distributions that this version lacks."""
        if IMAGES in self.groups and not MODELS:
            return ["CNNModel"]
        if "policy" not in self.groups and not GROUPED:
            return ["obs_groups"]
        if not self.law:
            return []
        if not DISTRIBUTIONS:
            if "std_type" not in self.law:
                return [self.law["class_name"]]
            holder = rsl_rl.models.MLPModel if MODELS else rsl_rl.modules.ActorCritic
            known_options = {"class_name", "std_type", *inspect.signature(holder).parameters}
            return sorted({*self.law, *self._configure_deviation()} - known_options)
        name = self.law["class_name"]
        network_class = getattr(rsl_rl.modules, name, None)
        known_options = {
            "class_name",
            *(inspect.signature(network_class).parameters if network_class else ()),
        }
        return sorted(set(self.law) - known_options) if network_class else [name]


def raise_if_configuration_unsupported(algorithm: Mapping[str, Any], networks: Networks) -> None:
    """Raise Unsupported if this version lacks a setting of an algorithm or of its networks."""
    name, lacking = algorithm["class_name"], networks.list_lacking_options()
    if hasattr(algorithms, name):
        known_options = {*inspect.signature(getattr(algorithms, name)).parameters, "class_name"}
        # that one the constructor is not given
        lacking += sorted(set(algorithm) - known_options - {"share_cnn_encoders"})
    else:
        lacking.insert(0, name)
    if lacking:
        raise Unsupported(f"this version of RSL-RL has no {lacking[0]}")


def _drop_unset_options(**options: Any) -> dict[str, Any]:
    return {name: option for name, option in options.items() if option is not None}


def make_configuration_of_runner(
    steps: int, algorithm: Mapping[str, Any], networks: Networks
) -> dict[str, Any]:
    """Return the configuration of a runner, with ``steps`` in a rollout."""
    sets = ("policy", "critic", "actor", "rnd_state", "student", "teacher")
    return {
        "num_steps_per_env": steps,
        "save_interval": 1_000_000,
        "obs_groups": {name: list(networks.groups) for name in sets},
        "algorithm": dict(algorithm),
        **networks.make_configuration_of_networks(algorithm["class_name"] == "Distillation"),
    }


def find_runner_class(configuration: Mapping[str, Any]) -> Any:
    """Return the class of the runner of an algorithm; until 2.3 all have the same one."""
    distils = configuration["algorithm"]["class_name"] == "Distillation"
    name = "DistillationRunner" if distils else "OnPolicyRunner"
    return getattr(runners, name, runners.OnPolicyRunner)


def make_silent_runner(environment: Any, configuration: Mapping[str, Any]) -> Any:
    """Return a runner that writes no file and prints nothing."""
    runner_class = find_runner_class(configuration)
    with silence_runner_output():
        return runner_class(environment, configuration, log_dir=None, device="cpu")


def mark_teacher_loaded(algorithm: Any) -> None:
    """Let a teacher teach that was loaded from no file."""
    find_acting_module(algorithm).loaded_teacher = algorithm.teacher_loaded = True


def _get_first_attribute(holder: Any, names: Sequence[str]) -> Any:
    return next(getattr(holder, name) for name in names if hasattr(holder, name))


def find_acting_module(algorithm: Any) -> Any:
    """Return the module that contains the policy, by whichever name the version has for it."""
    return _get_first_attribute(algorithm, ("actor", "student", "policy", "actor_critic"))


def find_layers_of_network(algorithm: Any, name: str) -> nn.Module:
    """Return the layers of the network ``name``, such as "critic"."""
    return getattr(algorithm, name).mlp if MODELS else getattr(find_acting_module(algorithm), name)


def fix_network_output(algorithm: Any, name: str, numbers: Any) -> None:
    """Make the network ``name`` output these numbers for every observation."""
    make_output_constant(find_layers_of_network(algorithm, name), numbers)


def list_parameters(algorithm: Any) -> dict[str, torch.Tensor]:
    """Return all trained parameters and normaliser statistics, by name."""
    if not MODELS:
        return dict(find_acting_module(algorithm).state_dict())
    named = (("actor", algorithm.actor), ("critic", algorithm.critic))
    return {f"{own}.{key}": v for own, model in named for key, v in model.state_dict().items()}


def choose_best_actions(algorithm: Any, observations: Any) -> torch.Tensor:
    """Return the actions of the policy without exploration, [environments, dimensions]."""
    acting = find_acting_module(algorithm)
    return acting(observations) if MODELS else acting.act_inference(observations)


def draw_actions(algorithm: Any, observations: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw actions [environments, dimensions] and return them with log-probabilities."""
    acting = find_acting_module(algorithm)
    sampled_actions = (
        acting(observations, stochastic_output=True) if MODELS else acting.act(observations)
    )
    actions = sampled_actions.detach()
    return actions, getattr(acting, name_log_prob_method(algorithm))(actions)


def estimate_values(algorithm: Any, observations: Any) -> torch.Tensor:
    """Return the critic's values, [environments, 1]."""
    if MODELS:
        return algorithm.critic(observations)
    return find_acting_module(algorithm).evaluate(observations)


def find_trained_deviation(algorithm: Any) -> tuple[nn.Parameter, bool]:
    """Return the parameter of the policy's deviation, and whether it holds the logarithm."""
    named = find_acting_module(algorithm).named_parameters()
    name, parameter = next((name, own) for name, own in named if "std" in name)
    return parameter, "log" in name


def set_log_deviation_of_policy(algorithm: Any, number: float) -> None:
    """Set the logarithm of the policy's standard deviation to ``number``."""
    parameter, logarithm = find_trained_deviation(algorithm)
    with torch.no_grad():
        parameter.fill_(number if logarithm else math.exp(number))


def read_entropy(algorithm: Any) -> torch.Tensor:
    """Return the entropy of the policy where it was evaluated last, [.., samples]."""
    acting = find_acting_module(algorithm)
    return acting.output_entropy if MODELS else acting.entropy


def find_recurrent_layers(algorithm: Any, name: str) -> nn.Module:
    """Return the recurrent layers of "actor" or "critic"."""
    if MODELS:
        return getattr(algorithm, name).rnn.rnn
    return getattr(find_acting_module(algorithm), f"memory_{name[0]}").rnn


def name_log_prob_method(algorithm: Any) -> str:
    """Return the name of the policy's method that computes log-probabilities of actions."""
    names = ("get_output_log_prob", "get_actions_log_prob")
    return next(name for name in names if hasattr(find_acting_module(algorithm), name))


def find_curiosity_optimizer(algorithm: Any) -> torch.optim.Optimizer:
    """Return the optimiser of the predictor of random network distillation."""
    own = getattr(algorithm, "rnd_optimizer", None)
    return algorithm.rnd.optimizer if own is None else own


def list_reported_losses(update_result: Any) -> np.ndarray:
    """Return the mean losses that ``update`` returns, of all configured components."""
    named = update_result if isinstance(update_result, dict) else dict(enumerate(update_result))
    return np.array([loss for loss in named.values() if loss is not None], dtype=np.float64)


class Batch(NamedTuple):
    """Fields of a minibatch of an update, each [samples, ..]."""

    observations: torch.Tensor
    actions: torch.Tensor
    values: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor
    log_probs: torch.Tensor


def read_minibatch(minibatch: Any) -> Batch:
    """Return the fields of a minibatch that probes read."""
    if not isinstance(minibatch, tuple):
        scored = minibatch.advantages, minibatch.returns, minibatch.old_actions_log_prob
        return Batch(
            select_policy_observations(minibatch.observations),
            minibatch.actions,
            minibatch.values,
            *scored,
        )
    # before 3.0 the observations of the critic stand in between
    first = 1 if GROUPED else 2
    return Batch(select_policy_observations(minibatch[0]), *minibatch[first : first + 5])


def select_policy_observations(observations: Any) -> torch.Tensor:
    """Return the policy's observations, [.., dimensions], among all groups of observations."""
    return observations["policy"] if GROUPED else observations


def set_stored_distribution(storage: Any, mean: torch.Tensor, scale: torch.Tensor) -> None:
    """Replace the means and deviations of the policy that a rollout's storage holds."""
    storage.mu, storage.sigma = storage.distribution_params = mean, scale


def read_stored_distribution(storage: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return means and deviations of the stored policy, [steps, environments, actions] each."""
    parameters = getattr(storage, "distribution_params", None)
    return (storage.mu, storage.sigma) if parameters is None else parameters


def train_without_saving(runner: Any, rollouts: int) -> None:
    """Train for ``rollouts`` and save no file, also in versions that otherwise save agents."""
    runner.current_learning_iteration, runner.logger_type = 1, ""
    module = sys.modules[type(runner).__module__]
    with mock.patch.object(module, "store_code_state", return_value=[], create=True):
        try:
            runner.learn(rollouts)
        except TypeError as error:
            # the last one, which 2.1 saves: there is no folder to join a name to
            if MODELS or "PathLike" not in str(error):
                raise
