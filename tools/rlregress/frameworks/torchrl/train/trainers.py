"""TorchRL's trainers, from a hyperparameter set.

TorchRL has no agent class, so the networks are put together here from its own modules; the loop,
the losses, the replay buffer, the exploration and the target updates are the framework's. DQN and
DDPG are trained by no cell.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    MLP,
    AddStateIndependentNormalScale,
    Collector,
    ConvNet,
    DDPGLoss,
    DDPGTrainer,
    DoubleToFloat,
    DQNLoss,
    DQNTrainer,
    EGreedyModule,
    ExplorationType,
    HardUpdate,
    LazyTensorStorage,
    LRSchedulerHook,
    NormalParamExtractor,
    ObservationNorm,
    PPOTrainer,
    QValueActor,
    SACTrainer,
    SamplerWithoutReplacement,
    SoftUpdate,
    TanhNormal,
    TD3OptimizationStepper,
    TD3Trainer,
    TensorDictReplayBuffer,
    TensorDictSequential,
    TransformedEnv,
    VecNorm,
)
from rlregress.frameworks.torchrl.compat import (
    add_gaussian_noise,
    call_with_newest_keywords,
    make_ppo_loss,
    make_sac_loss,
    make_td3_loss,
    rename_options_for_version,
)
from rlregress.frameworks.torchrl.known_networks import make_actor
from rlregress.frameworks.torchrl.scripted_environments import put_side_by_side, wrap_environment
from rlregress.frameworks.torchrl.train.networks import Networks
from rlregress.probing.heads import (
    Heads,
    call_prepare_with_heads,
    make_deviation_setter_of_layer,
    make_deviation_setter_of_parameter,
)
from rlregress.probing.hyperparameter_mapping import (
    raise_if_unusable,
    split_off_fixed_hyperparameters,
)
from rlregress.probing.interface import PLAIN, TrainingRequest, TrainingVariant
from rlregress.probing.layers import find_last_linear_layer

#: options of a trainer without a progress bar, which logs nothing.
_QUIET = {"progress_bar": False, "enable_logging": False, "auto_log_optim_steps": False}
#: ``duplicate_critic`` is of trainings that are traced, not of stored runs.
_OPTIONAL = {"duplicate_critic", "anneal_learning_rate"}
#: what no argument sets: (algorithm, hyperparameter) -> value
_FIXED = {
    ("ppo", "target_kl"): None,
    ("sac", "policy_delay"): 1,
    ("sac", "target_update_interval"): 1,
    ("sac", "tune_temperature"): True,
}
_SHARED = {"learning_rate": 1e-3, "adam_epsilon": 1e-8, "discount": 0.99, "hidden_sizes": [16, 16]}
_OFF_POLICY_SETTINGS = {
    **_SHARED,
    "minibatch_size": 16,
    # full after three fifths of the training; the first collection is followed by no update
    "replay_size": 60,
    "learning_starts": 40,
    "polyak_coefficient": 0.05,
    "steps_per_collection": 20,
    "updates_per_collection": 10,
    "critic_loss": "l2",
    "duplicate_critic": True,
}
#: algorithm -> every hyperparameter that its trainer takes, for trainings that are traced.
SETTINGS: dict[str, dict[str, Any]] = {
    # 32 samples in minibatches of 24: the last one is incomplete
    "ppo": {
        **_SHARED,
        "rollout_steps": 32,
        "minibatch_size": 24,
        "epochs": 3,
        "gae_lambda": 0.95,
        "clip_range": 0.2,
        "value_clip_range": 0.2,
        "normalize_advantage": True,
        "entropy_coefficient": 0.01,
        "value_coefficient": 0.5,
        "value_loss": "l2",
        "max_gradient_norm": 0.5,
        "policy_gain": 1.0,
        "value_gain": 0.01,
    },
    "sac": {**_OFF_POLICY_SETTINGS, "initial_temperature": 0.5, "target_entropy": "auto"},
    "td3": {
        **_OFF_POLICY_SETTINGS,
        "exploration_noise": 0.1,
        "policy_delay": 2,
        "target_noise": 0.2,
        "target_noise_clip": 0.5,
    },
}
_SHARED_KEYS = {
    "learning_rate", "minibatch_size", "replay_size", "learning_starts", "discount",
    "steps_per_collection", "updates_per_collection", "hidden_sizes",
}  # fmt: skip
_KEYS = {
    **{algorithm: set(own) - _OPTIONAL for algorithm, own in SETTINGS.items()},
    "dqn": {*_SHARED_KEYS, "target_update_interval", "exploration_final", "exploration_steps"},
    "ddpg": {*_SHARED_KEYS, "polyak_coefficient", "exploration_noise"},
}


def check_and_select_hyperparameters(
    algorithm: str, hyperparameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings that this module's builders read, from a hyperparameter set.

    Raises:
        UserError: the trainers cannot be set to it.
    """
    settings, reasons = split_off_fixed_hyperparameters(_FIXED, algorithm, hyperparameters)
    if algorithm == "sac":
        # it is of no effect where the temperature is tuned, as it is here
        settings.pop("fixed_temperature", None)
        for further_rate in ("critic_learning_rate", "temperature_learning_rate"):
            rate = settings.pop(further_rate, settings["learning_rate"])
            if rate != settings["learning_rate"]:
                reasons.append(
                    f"it has one optimizer, but {further_rate} {rate} differs from learning_rate "
                    f"{settings['learning_rate']}"
                )
    known_keys = _KEYS[algorithm]
    unknown = sorted(set(settings) - known_keys - _OPTIONAL)
    missing = sorted(known_keys - set(settings))
    if unknown:
        reasons.append(f"it has no {', '.join(unknown)}")
    if missing:
        reasons.append(f"it needs {', '.join(missing)}")
    raise_if_unusable(f"TorchRL's {algorithm.upper()}Trainer", reasons)
    return settings


def use_single_precision(environment: Any) -> Any:
    """Return the environment with float32 observations, as the networks take them."""
    if environment.observation_spec["observation"].dtype is not torch.float64:
        return environment
    return TransformedEnv(environment, DoubleToFloat(in_keys=["observation"]))


class _PixelScaling(nn.Module):
    """A layer that scales pictures of bytes to numbers from 0 to 1."""

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return pictures.float() / 255.0


def _make_convolutions(shape: Sequence[int], outputs: int) -> nn.Module:
    """Return the network of Mnih et al. 2015, as the other frameworks have it."""
    features = ConvNet(
        num_cells=[32, 64, 64],
        kernel_sizes=[8, 4, 3],
        strides=[4, 2, 1],
        activation_class=nn.ReLU,
    )
    flat = features(torch.zeros(*shape)).shape[-1]
    return nn.Sequential(
        _PixelScaling(),
        features,
        MLP(in_features=flat, out_features=outputs, num_cells=[512], activation_class=nn.ReLU),
    )


def _make_tanh_normal_actor(network: nn.Module, networks: Networks, return_log_prob: bool):
    bounds = rename_options_for_version(TanhNormal, **networks.bounds, tanh_loc=False)
    return make_actor(
        network, ["loc", "scale"], TanhNormal, spec=networks.spec, distribution_kwargs=bounds,
        default_interaction_type=ExplorationType.RANDOM, return_log_prob=return_log_prob,
    )  # fmt: skip


def _initialise_orthogonally(network: nn.Module, gain: float) -> nn.Module:
    for layer in network.modules():
        if isinstance(layer, nn.Linear):
            nn.init.orthogonal_(layer.weight, gain)
            nn.init.zeros_(layer.bias)
    return network


def _make_q_networks(networks: Networks, settings: Mapping[str, Any]) -> Any:
    # a list keeps the initial weights; one module is duplicated with resampled weights, which
    # versions before 0.14.0 know alone where targets are delayed
    if settings.get("duplicate_critic"):
        return networks.make_action_value_network()
    return [networks.make_action_value_network() for _ in range(2)]


def _list_critic_output_layers(critics) -> list[Any]:
    """Return the output layer of each critic; a loss copies it later into a target network."""
    networks = critics if isinstance(critics, list) else [critics]
    return [find_last_linear_layer(network) for network in networks]


def _make_adam(loss: Any, settings: Mapping[str, Any], prefix: str = "") -> torch.optim.Adam:
    """Return Adam on the parameters of a loss whose names begin with ``prefix``."""
    parameters = [p for name, p in loss.named_parameters() if name.startswith(prefix)]
    epsilon = settings.get("adam_epsilon", 1e-8)
    return torch.optim.Adam(parameters, lr=settings["learning_rate"], eps=epsilon)


@dataclass(frozen=True)
class Parts:
    """Parts of a trainer.

    Attributes:
        kind: of trainer.
        acting: the policy, with its exploration.
        updater: of the target networks; None: of an algorithm that learns from rollouts.
        options: of the trainer alone; an optimizer or a stepper among them replaces Adam.
    """

    kind: Any
    acting: Any
    loss: Any
    updater: Any
    options: Mapping[str, Any]


def _make_ppo_parts(request: Any, networks: Networks, settings: Mapping[str, Any]) -> Parts:
    policy_network = _initialise_orthogonally(
        networks.make_network(networks.actions), settings["policy_gain"]
    )
    deviation = AddStateIndependentNormalScale(networks.actions)
    actor = _make_tanh_normal_actor(nn.Sequential(policy_network, deviation), networks, True)
    critic = _initialise_orthogonally(networks.make_value_network(), settings["value_gain"])

    def get_heads() -> Heads:
        set_deviation = make_deviation_setter_of_parameter(
            deviation.state_independent_scale, torch.log
        )
        return Heads(
            find_last_linear_layer(policy_network), set_deviation, [find_last_linear_layer(critic)]
        )

    call_prepare_with_heads(request, get_heads)
    loss = make_ppo_loss(
        actor,
        critic,
        clip_epsilon=settings["clip_range"],
        clip_value=settings["value_clip_range"],
        entropy_coeff=settings["entropy_coefficient"],
        critic_coeff=settings["value_coefficient"],
        loss_critic_type=settings["value_loss"],
        normalize_advantage=settings["normalize_advantage"],
    )
    options = {
        "num_epochs": settings["epochs"],
        "clip_norm": settings["max_gradient_norm"],
        "gamma": settings["discount"],
        "lmbda": settings["gae_lambda"],
    }
    return Parts(PPOTrainer, actor, loss, None, options)


def _invert_deviation_by_softplus(deviation: torch.Tensor) -> torch.Tensor:
    """Return x where ``NormalParamExtractor`` outputs a deviation: softplus(x + c) + 0.01."""
    numbers = deviation.double() - 0.01
    return (torch.log(torch.expm1(numbers)) - math.log(math.expm1(0.99))).float()


def _make_sac_parts(request: Any, networks: Networks, settings: Mapping[str, Any]) -> Parts:
    network = nn.Sequential(networks.make_network(2 * networks.actions), NormalParamExtractor())
    layer = find_last_linear_layer(network)
    set_deviation = make_deviation_setter_of_layer(
        layer, slice(networks.actions, None), _invert_deviation_by_softplus
    )
    actor = _make_tanh_normal_actor(network, networks, False)
    critics = _make_q_networks(networks, settings)
    call_prepare_with_heads(
        request, lambda: Heads(layer, set_deviation, _list_critic_output_layers(critics))
    )
    loss = make_sac_loss(
        actor,
        critics,
        loss_function=settings["critic_loss"],
        alpha_init=settings["initial_temperature"],
        target_entropy=settings["target_entropy"],
    )
    updater = SoftUpdate(loss, tau=settings["polyak_coefficient"])
    return Parts(SACTrainer, actor, loss, updater, {})


def _make_td3_parts(request: Any, networks: Networks, settings: Mapping[str, Any]) -> Parts:
    actor = networks.make_squashed_actor(**networks.bounds)
    critics = _make_q_networks(networks, settings)
    call_prepare_with_heads(
        request,
        lambda: Heads(find_last_linear_layer(actor), values=_list_critic_output_layers(critics)),
    )
    loss = make_td3_loss(
        actor,
        critics,
        action_spec=networks.spec,
        policy_noise=settings["target_noise"],
        noise_clip=settings["target_noise_clip"],
        loss_function=settings["critic_loss"],
    )
    deviation = settings["exploration_noise"] or 0.0
    exploring, exploration = add_gaussian_noise(
        actor, networks.spec, sigma_init=1.0, sigma_end=1.0, std=deviation
    )
    stepper = TD3OptimizationStepper(
        *(_make_adam(loss, settings, f"{name}_network_params") for name in ("actor", "qvalue")),
        policy_update_delay=settings["policy_delay"],
    )
    options = {"optimization_stepper": stepper, "exploration_module": exploration}
    updater = SoftUpdate(loss, tau=settings["polyak_coefficient"])
    return Parts(TD3Trainer, exploring, loss, updater, options)


def _make_dqn_parts(request: Any, networks: Networks, settings: Mapping[str, Any]) -> Parts:
    spec, actions = networks.spec, networks.actions
    pixels = len(networks.shape) == 3
    network = (
        _make_convolutions(networks.shape, actions) if pixels else networks.make_network(actions)
    )
    head = find_last_linear_layer(network)
    # the target network is a copy that the loss has yet to make
    call_prepare_with_heads(request, lambda: Heads(head, values=[head]))
    actor = QValueActor(network, in_keys=["observation"], spec=spec)
    greedy = EGreedyModule(
        spec=spec,
        eps_init=1.0,
        eps_end=settings["exploration_final"],
        annealing_num_steps=settings["exploration_steps"],
    )
    loss = DQNLoss(actor, action_space=spec)
    # counted in updates
    updates = settings["target_update_interval"] * settings["updates_per_collection"]
    interval = max(updates // settings["steps_per_collection"], 1)
    updater = HardUpdate(loss, value_network_update_interval=interval)
    acting = TensorDictSequential(actor, greedy)
    return Parts(DQNTrainer, acting, loss, updater, {"greedy_module": greedy})


def _make_ddpg_parts(request: Any, networks: Networks, settings: Mapping[str, Any]) -> Parts:
    actor = networks.make_squashed_actor(spec=networks.spec)
    critic = networks.make_action_value_network()
    call_prepare_with_heads(
        request,
        lambda: Heads(find_last_linear_layer(actor), values=_list_critic_output_layers([critic])),
    )
    _, noise = add_gaussian_noise(
        actor, networks.spec, sigma_init=1.0, sigma_end=1.0, std=settings["exploration_noise"]
    )
    loss = DDPGLoss(actor, critic)
    updater = SoftUpdate(loss, tau=settings["polyak_coefficient"])
    # in a row: the trainer finds no weights in a policy that stands within another
    return Parts(DDPGTrainer, TensorDictSequential(*actor.module, noise), loss, updater, {})


_PARTS: Mapping[str, Callable[..., Parts]] = {
    "ppo": _make_ppo_parts, "sac": _make_sac_parts, "td3": _make_td3_parts,
    "dqn": _make_dqn_parts, "ddpg": _make_ddpg_parts,
}  # fmt: skip


def make_parts_of_algorithm(request: Any, environment: Any, settings: Mapping[str, Any]) -> Parts:
    """Return networks, loss and exploration of the algorithm of a request.

    Raises:
        Unsupported: the installed version has no such trainer.
    """
    # of pictures there are no sizes
    sizes = settings.get("hidden_sizes", ())
    activation = nn.Tanh if request.algorithm == "ppo" else nn.ReLU
    parts = _PARTS[request.algorithm](request, Networks(environment, sizes, activation), settings)
    if parts.updater is not None:
        parts.loss.make_value_estimator(gamma=settings["discount"])
    return parts


def make_trainer_of_parts(
    parts: Parts,
    environment: Any,
    settings: Mapping[str, Any],
    total_steps: int,
    buffer: Any = TensorDictReplayBuffer,
    **options: Any,
) -> Any:
    """Return the framework's trainer of these parts.

    Args:
        buffer: class of the replay buffer.
        options: further ones of the trainer.
    """
    if parts.updater is None:
        frames, updates = settings["rollout_steps"], None
        rows, sampling, starts = frames, {"sampler": SamplerWithoutReplacement()}, 0
    else:
        frames, updates = settings["steps_per_collection"], settings["updates_per_collection"]
        rows, sampling, starts = settings["replay_size"], {}, settings["learning_starts"]
        options["target_net_updater"] = parts.updater
    collector = call_with_newest_keywords(
        Collector,
        environment,
        parts.acting,
        frames_per_batch=frames,
        total_frames=total_steps,
        init_random_frames=starts,
    )
    if not {"optimizer", "optimization_stepper"} & set(parts.options):
        options["optimizer"] = _make_adam(parts.loss, settings)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*experimental/prototype feature.*")
        trainer = call_with_newest_keywords(
            parts.kind,
            collector=collector,
            loss_module=parts.loss,
            total_frames=total_steps,
            frame_skip=1,
            optim_steps_per_batch=updates,
            replay_buffer=buffer(
                storage=LazyTensorStorage(rows), batch_size=settings["minibatch_size"], **sampling
            ),
            **{**_QUIET, **parts.options, **options},
        )
    if settings.get("anneal_learning_rate"):
        rollouts = -(-total_steps // frames)
        scheduler = torch.optim.lr_scheduler.LambdaLR(
            options["optimizer"], lambda done: 1 - done / rollouts
        )
        LRSchedulerHook(scheduler).register(trainer)
    return trainer


def _make_environment(request: TrainingRequest, environments: int, variant: TrainingVariant) -> Any:
    def make_one_environment() -> Any:
        environment = wrap_environment(request.make_env())
        if not variant.running:
            return environment
        with warnings.catch_warnings():
            # that another class is to take its name
            warnings.filterwarnings("ignore", category=FutureWarning)
            normalising = VecNorm(in_keys=["observation"])
        # within each environment, as where they are in processes of their own
        return TransformedEnv(use_single_precision(environment), normalising)

    if variant.autoreset:
        mode = gymnasium.vector.AutoresetMode[variant.autoreset.upper()]
        makers = [request.make_env] * environments
        vectorised: Any = gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=mode)
        environment = wrap_environment(vectorised)
    else:
        environment = put_side_by_side([make_one_environment] * environments)
    environment = use_single_precision(environment)
    if variant.statistics is None:
        return environment
    mean, deviation = (
        torch.as_tensor(statistic, dtype=torch.float32) for statistic in variant.statistics
    )
    fixed = ObservationNorm(mean, deviation, in_keys=["observation"], standard_normal=True)
    if not isinstance(environment, TransformedEnv):
        return TransformedEnv(environment, fixed)
    return environment.append_transform(fixed)


def make_trainer_and_loss(
    request: TrainingRequest,
    settings: Mapping[str, Any],
    environments: int = 1,
    variant: TrainingVariant = PLAIN,
) -> tuple[Any, Any]:
    """Return the framework's trainer of a request, and its loss.

    Several environments are in a ``SerialEnv``; settings count the steps of all of them.

    Raises:
        Unsupported: the installed version has no such trainer.
    """
    torch.manual_seed(request.seed)
    np.random.seed(request.seed)
    environment = _make_environment(request, environments, variant)
    parts = make_parts_of_algorithm(request, environment, settings)
    # a collector resets its environment when it is made, before a trainer can seed it
    environment.set_seed(request.seed)
    steps = request.total_steps
    trainer = make_trainer_of_parts(parts, environment, settings, steps, seed=request.seed)
    return trainer, parts.loss
