"""RSL-RL from 2.1 on: how an agent is configured in each version, and where its parts are."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import io
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import rsl_rl.modules
import rsl_rl.utils
import torch
from rsl_rl import algorithms
from rsl_rl.algorithms import PPO
from rsl_rl.env import vec_env
from torch import nn

from rlregress.probing.interface import Minibatch, Unsupported
from rlregress.probing.layers import list_linear_layers, make_output_constant
from rlregress.probing.samples import copy_to_array, copy_to_flat_array

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
_HAS_IT = hasattr(rsl_rl.modules, "EmpiricalNormalization")
EmpiricalNormalization = (rsl_rl.modules if _HAS_IT else rsl_rl.networks).EmpiricalNormalization
#: how advantages of a rollout stay as they are: until 2.2.2 they are always normalised.
_RAW = "normalize_advantage_per_mini_batch"
_HAS_RAW = _RAW in inspect.signature(PPO).parameters
RAW_ADVANTAGES: Mapping[str, Any] = {_RAW: True} if _HAS_RAW else {}

#: small networks of random network distillation
SMALL_CURIOSITY: Mapping[str, Any] = {
    "weight": 1.0,
    "num_outputs": 2,
    "predictor_hidden_dims": [8],
    "target_hidden_dims": [8],
}
NORMALISED_CURIOSITY = {"state_normalization": True, "reward_normalization": True}


def make_curiosity(**settings: Any) -> dict[str, Any]:
    """Return the configuration of a small random network distillation that is normalised."""
    return {**SMALL_CURIOSITY, **NORMALISED_CURIOSITY, **settings}


@contextlib.contextmanager
def silence_runner_output() -> Iterator[None]:
    """Suppress the tables that a runner prints; restore the filters of warnings afterwards."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        # of steps that do not fill a window of distillation, since 5.5
        warnings.filterwarnings("ignore", "The product of", UserWarning)
        # of the deviation of one advantage, where a rollout has one step
        warnings.filterwarnings("ignore", "std\\(\\): degrees of freedom", UserWarning)
        yield


def arrange_observations(groups: Mapping[str, torch.Tensor]) -> Any:
    """Return observations as environments of this version return them after a step."""
    if not GROUPED:
        return groups["policy"]
    return vec_env.TensorDict(dict(groups), batch_size=[len(next(iter(groups.values())))])


def mirror_observations_and_actions(obs: Any = None, actions: Any = None, **_: Any) -> list[Any]:
    """Return observations and actions, each with its negatives appended."""
    return [x if x is None else torch.cat([x, x * -1.0]) for x in (obs, actions)]


def make_symmetry(adds_mirrored: bool, mirror_loss: float) -> dict[str, Any]:
    """Return a configuration of symmetries; ``mirror_loss`` is the weight of their loss."""
    return {
        "data_augmentation_func": mirror_observations_and_actions,
        "use_data_augmentation": adds_mirrored,
        "use_mirror_loss": mirror_loss > 0.0,
        "mirror_loss_coeff": mirror_loss,
    }


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
        options: dict[str, Any] = {"activation": self.activation}
        if self.memory:
            options.update(rnn_type=self.memory, rnn_hidden_dim=4, rnn_num_layers=2)
        if MODELS:
            options.update(hidden_dims=self.hidden, obs_normalization=self.normalised)
            options["class_name"] = "RNNModel" if self.memory else "MLPModel"
            if IMAGES in self.groups:
                layers = {"output_channels": [3, 2], "kernel_size": 2, "activation": "elu"}
                options.update(class_name="CNNModel", cnn_cfg=layers)
            both = _drop_unset_options(options)
            law = {"distribution_cfg": {"class_name": "GaussianDistribution", **self.law}}
            acting = law if DISTRIBUTIONS else {"stochastic": True, **self._configure_deviation()}
            return {names[0]: {**both, **acting}, names[1]: both}
        kind = "StudentTeacher" if distils else "ActorCritic"
        options["class_name"] = f"{kind}Recurrent" if self.memory else kind
        options.update(self._configure_deviation())
        for name in names:
            options[f"{name}_hidden_dims"] = self.hidden
            if GROUPED:
                options[f"{name}_obs_normalization"] = self.normalised
        normalised = None if GROUPED else self.normalised
        return {"policy": _drop_unset_options(options), "empirical_normalization": normalised}

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
        name, options = self.law["class_name"], set(self.law) - {"class_name"}
        holder = getattr(rsl_rl.modules, name, None)
        if not DISTRIBUTIONS and "std_type" in options:
            holder = rsl_rl.models.MLPModel if MODELS else rsl_rl.modules.ActorCritic
            options = options - {"std_type"} | set(self._configure_deviation())
        if holder is None:
            return [name]
        return sorted(options - set(inspect.signature(holder).parameters))


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


def _drop_unset_options(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: option for name, option in options.items() if option is not None}


def mark_teacher_loaded(algorithm: Any) -> None:
    """Let a teacher teach that was loaded from no file."""
    find_acting_module(algorithm).loaded_teacher = algorithm.teacher_loaded = True


def _find_first_name(holder: Any, *names: str) -> str:
    return next(name for name in names if hasattr(holder, name))


def find_acting_module(algorithm: Any) -> Any:
    """Return the module that contains the policy, by whichever name the version has for it."""
    names = ("actor", "student", "policy", "actor_critic")
    return getattr(algorithm, _find_first_name(algorithm, *names))


def find_layers_of_network(algorithm: Any, name: str) -> nn.Module:
    """Return the layers of the network ``name``, such as "critic"."""
    return getattr(algorithm, name).mlp if MODELS else getattr(find_acting_module(algorithm), name)


def list_parameters(algorithm: Any) -> dict[str, torch.Tensor]:
    """Return all trained parameters and normaliser statistics, by name."""
    if not MODELS:
        return dict(find_acting_module(algorithm).state_dict())
    named = (("actor", algorithm.actor), ("critic", algorithm.critic))
    return {f"{own}.{key}": v for own, model in named for key, v in model.state_dict().items()}


def choose_actions(algorithm: Any, observations: Any, explores: bool) -> torch.Tensor:
    """Return the best or drawn actions of the policy, [environments, dimensions]."""
    acting = find_acting_module(algorithm)
    if MODELS:
        return acting(observations, stochastic_output=explores)
    return acting.act(observations) if explores else acting.act_inference(observations)


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


def list_layers(algorithm: Any, name: str) -> list[nn.Linear]:
    """Return the linear layers of the network ``name``."""
    return list_linear_layers(find_layers_of_network(algorithm, name))


def fix_outputs(algorithm: Any, log_deviation: float | None = None, **outputs: Any) -> None:
    """Make networks output the same for every observation.

    Args:
        log_deviation: the logarithm of the policy's standard deviation; None: it stays.
        outputs: name of a network -> the numbers that it outputs.
    """
    for name, numbers in outputs.items():
        make_output_constant(find_layers_of_network(algorithm, name), numbers)
    if log_deviation is not None:
        parameter, logarithm = find_trained_deviation(algorithm)
        nn.init.constant_(parameter, log_deviation if logarithm else math.exp(log_deviation))


def read_entropy(algorithm: Any) -> torch.Tensor:
    """Return the entropy of the policy where it was evaluated last, [.., samples]."""
    acting = find_acting_module(algorithm)
    return acting.output_entropy if MODELS else acting.entropy


def name_log_prob_method(algorithm: Any) -> str:
    """Return the name of the policy's method that computes log-probabilities of actions."""
    acting = find_acting_module(algorithm)
    return _find_first_name(acting, "get_output_log_prob", "get_actions_log_prob")


def find_curiosity_optimizer(algorithm: Any) -> torch.optim.Optimizer:
    """Return the optimiser of the predictor of random network distillation."""
    own = getattr(algorithm, "rnd_optimizer", None)
    return algorithm.rnd.optimizer if own is None else own


def list_reported_losses(update_result: Any) -> np.ndarray:
    """Return the mean losses that ``update`` returns, of all configured components."""
    named = update_result if isinstance(update_result, dict) else dict(enumerate(update_result))
    return np.array([loss for loss in named.values() if loss is not None], dtype=np.float64)


def read_minibatch(minibatch: Any) -> Minibatch:
    """Return a minibatch of an update; where there is memory, arrays are [steps, sequences, ..]."""
    if not isinstance(minibatch, tuple):
        own = ("actions", "values", "advantages", "returns", "old_actions_log_prob")
        observations, fields = minibatch.observations, [getattr(minibatch, name) for name in own]
        further = [getattr(minibatch, "masks", None)]
    else:
        # before 3.0 the observations of the critic stand in between
        first = 1 if GROUPED else 2
        observations, fields = minibatch[0], list(minibatch[first : first + 5])
        further = list(minibatch[first + 5 :])
    observations = select_policy_observations(observations)
    for mask in further:
        # observations alone are padded, where an episode ends within a rollout
        if isinstance(mask, torch.Tensor) and mask.dtype == torch.bool:
            observations = rsl_rl.utils.unpad_trajectories(observations, mask)
    actions, *numbers = fields
    names = ("values", "advantages", "returns", "log_probs")
    return Minibatch(
        copy_to_array(observations),
        copy_to_array(actions),
        **dict(zip(names, map(copy_to_flat_array, numbers), strict=True)),
    )


def read_rollout(storage: Any) -> Any:
    """Return copies of the arrays that a storage holds, by their names, [steps, environments, ..].

    ``means`` and ``deviations`` are the parameters of the policy, whatever its distribution.
    """
    tensors = {name: own for name, own in vars(storage).items() if isinstance(own, torch.Tensor)}
    tensors["observations"] = select_policy_observations(storage.observations)
    tensors["means"], tensors["deviations"] = read_stored_distribution(storage)
    return SimpleNamespace(**{name: copy_to_array(own) for name, own in tensors.items()})


def select_policy_observations(observations: Any) -> torch.Tensor:
    """Return the policy's observations, [.., dimensions], among all groups of observations."""
    return observations["policy"] if GROUPED else observations


def read_stored_distribution(storage: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return means and deviations of the stored policy, [steps, environments, actions] each."""
    parameters = getattr(storage, "distribution_params", None)
    return (storage.mu, storage.sigma) if parameters is None else parameters


def move_stored_distribution(storage: Any, distance: Any, factor: Any = 1.0) -> None:
    """Move the means of the stored policy by multiples of its deviations, and multiply these."""
    mean, scale = read_stored_distribution(storage)
    storage.distribution_params = mean + scale * distance, scale * factor
    storage.mu, storage.sigma = storage.distribution_params


def copy_through_file(trained: Any, runner: Any) -> None:
    """Load into a runner what a trained one saves."""
    with TemporaryDirectory(prefix="rlregress-") as folder, silence_runner_output():
        path = str(Path(folder) / "agent.pt")
        trained.save(path)
        runner.load(path)


def wrap_method(holder: Any, name: str, wrapper: Callable[..., Any]) -> None:
    """Let ``holder.name`` call ``wrapper`` with the method and its arguments."""
    setattr(holder, name, partial(wrapper, getattr(holder, name)))


def train_without_saving(runner: Any, rollouts: int) -> None:
    """Train for ``rollouts``, print nothing, and save no file, as some versions otherwise do."""
    runner.current_learning_iteration, runner.logger_type = 1, ""
    module = sys.modules[type(runner).__module__]
    no_state = mock.patch.object(module, "store_code_state", return_value=[], create=True)
    with no_state, silence_runner_output():
        try:
            runner.learn(rollouts)
        except TypeError as error:
            # the last one, which 2.1 saves: there is no folder to join a name to
            if MODELS or "PathLike" not in str(error):
                raise
