"""TorchRL trainings: its modules, losses, collectors and the trainers of ``torchrl.trainers``.

TorchRL has no agent class, so the networks are put together here from its own modules; the loop,
the losses, the replay buffer, the exploration and the target updates are the framework's.
"""

from __future__ import annotations

import copyreg
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.torchrl.api import (
    AddStateIndependentNormalScale,
    Collector,
    DoubleToFloat,
    ExplorationType,
    GymWrapper,
    LazyTensorStorage,
    LRSchedulerHook,
    NormalParamExtractor,
    PPOTrainer,
    ProbabilisticActor,
    ReplayBufferTrainer,
    SACTrainer,
    SamplerWithoutReplacement,
    SoftUpdate,
    TanhModule,
    TanhNormal,
    TD3OptimizationStepper,
    TD3Trainer,
    TensorDict,
    TensorDictModule,
    TensorDictReplayBuffer,
    TensorDictSequential,
    TransformedEnv,
    ValueOperator,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.compat import (
    add_gaussian_noise,
    find_action_spec,
    find_deterministic_type,
    make_ppo_loss,
    make_sac_loss,
    make_silent_trainer,
    make_td3_loss,
    rename_options_for_version,
)
from rlregress.frameworks.torchrl.train import dqn_ddpg
from rlregress.frameworks.torchrl.train.dqn_ddpg import (
    is_of_dqn_or_ddpg,
    make_buffer,
    make_multilayer_perceptron,
    make_parts_of_algorithm,
    make_trainer_of_parts,
    make_value_function,
)
from rlregress.probing.heads import (
    Heads,
    call_prepare_with_heads,
    fix_normal_draws,
    make_deviation_setter,
    make_parameter_setter,
)
from rlregress.probing.hyperparameter_mapping import (
    raise_if_unusable,
    split_off_fixed_hyperparameters,
)
from rlregress.probing.interface import Passing, Policy, Trained, TrainingRequest
from rlregress.probing.layers import find_last_linear_layer

#: ``duplicate_critic`` is of trainings that are traced, not of stored runs.
_OPTIONAL = {"duplicate_critic", "anneal_learning_rate"}
#: what no argument sets: (algorithm, hyperparameter) -> value
_FIXED = {
    ("ppo", "target_kl"): None,
    ("sac", "policy_delay"): 1,
    ("sac", "target_update_interval"): 1,
    ("sac", "tune_temperature"): True,
}
_KEYS = {
    "ppo": {
        "learning_rate", "adam_epsilon", "rollout_steps", "minibatch_size", "epochs", "discount",
        "gae_lambda", "clip_range", "value_clip_range", "normalize_advantage",
        "entropy_coefficient", "value_coefficient", "value_loss", "max_gradient_norm",
        "policy_gain", "value_gain", "hidden_sizes",
    },
    "sac": {
        "learning_rate", "adam_epsilon", "minibatch_size", "replay_size", "learning_starts",
        "polyak_coefficient", "discount", "steps_per_collection", "updates_per_collection",
        "initial_temperature", "target_entropy", "critic_loss", "hidden_sizes",
    },
    "td3": {
        "learning_rate", "adam_epsilon", "minibatch_size", "replay_size", "learning_starts",
        "polyak_coefficient", "discount", "steps_per_collection", "updates_per_collection",
        "exploration_noise", "policy_delay", "target_noise", "target_noise_clip", "critic_loss",
        "hidden_sizes",
    },
    "dqn": {
        "learning_rate", "minibatch_size", "replay_size", "learning_starts", "discount",
        "target_update_interval", "steps_per_collection", "updates_per_collection",
        "exploration_final", "exploration_steps", "hidden_sizes",
    },
    "ddpg": {
        "learning_rate", "minibatch_size", "replay_size", "learning_starts", "discount",
        "polyak_coefficient", "steps_per_collection", "updates_per_collection",
        "exploration_noise", "hidden_sizes",
    },
}  # fmt: skip


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
    unknown, missing = (
        sorted(set(settings) - known_keys - _OPTIONAL),
        sorted(known_keys - set(settings)),
    )
    if unknown:
        reasons.append(f"it has no {', '.join(unknown)}")
    if missing:
        reasons.append(f"it needs {', '.join(missing)}")
    raise_if_unusable(f"TorchRL's {algorithm.upper()}Trainer", reasons)
    return settings


class Space:
    """The shapes and bounds that the networks need."""

    def __init__(self, environment) -> None:
        self.observations = environment.observation_spec["observation"].shape[-1]
        self.spec = find_action_spec(environment)
        self.actions = self.spec.shape[-1]

    @property
    def bounds(self) -> dict[str, Any]:
        """The bounds of actions that are numbers, not choices."""
        return {"low": self.spec.space.low, "high": self.spec.space.high}


def _make_tanh_normal_actor(network: nn.Module, space: Space, return_log_prob: bool):
    return ProbabilisticActor(
        TensorDictModule(network, in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        spec=space.spec,
        distribution_class=TanhNormal,
        distribution_kwargs=rename_options_for_version(TanhNormal, **space.bounds, tanh_loc=False),
        default_interaction_type=ExplorationType.RANDOM,
        return_log_prob=return_log_prob,
    )


def _initialise_orthogonally(network: nn.Module, gain: float) -> nn.Module:
    for layer in network.modules():
        if isinstance(layer, nn.Linear):
            nn.init.orthogonal_(layer.weight, gain)
            nn.init.zeros_(layer.bias)
    return network


def _make_q_network(space: Space, settings: Mapping[str, Any]):
    # a list keeps the initial weights; one module is duplicated with resampled weights, which
    # versions before 0.14.0 know alone where targets are delayed
    networks = [
        ValueOperator(
            make_multilayer_perceptron(settings, space.observations + space.actions, 1),
            in_keys=["observation", "action"],
        )
        for _ in range(1 if settings.get("duplicate_critic") else 2)
    ]
    return networks[0] if settings.get("duplicate_critic") else networks


def _list_output_layers(critics) -> list[Any]:
    """Return the output layers, of which the target networks are copies that a loss has yet to
    make.
    """
    networks = critics if isinstance(critics, list) else [critics]
    return [find_last_linear_layer(network) for network in networks]


def _make_collector(environment, policy, steps_per_batch, request, learning_starts):
    # a collector resets its environment when it is made, before a trainer can seed it
    environment.set_seed(request.seed)
    return Collector(
        environment,
        policy,
        frames_per_batch=steps_per_batch,
        total_frames=request.total_steps,
        init_random_frames=learning_starts,
    )


def _make_ppo_trainer_parts(
    request: TrainingRequest, environment, space: Space, settings: Mapping[str, Any]
):
    policy_network = _initialise_orthogonally(
        make_multilayer_perceptron(settings, space.observations, space.actions, nn.Tanh),
        settings["policy_gain"],
    )
    deviation = AddStateIndependentNormalScale(space.actions)
    actor = _make_tanh_normal_actor(nn.Sequential(policy_network, deviation), space, True)
    value_network = _initialise_orthogonally(
        make_multilayer_perceptron(settings, space.observations, 1, nn.Tanh), settings["value_gain"]
    )

    def get_heads() -> Heads:
        set_deviation = make_parameter_setter(deviation.state_independent_scale, torch.log)
        return Heads(
            find_last_linear_layer(policy_network),
            set_deviation,
            [find_last_linear_layer(value_network)],
        )

    call_prepare_with_heads(request, get_heads)
    critic = ValueOperator(value_network, in_keys=["observation"])
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
    optimizer = torch.optim.Adam(
        loss.parameters(), lr=settings["learning_rate"], eps=settings["adam_epsilon"]
    )
    trainer = make_silent_trainer(
        PPOTrainer,
        _make_collector(environment, actor, settings["rollout_steps"], request, 0),
        loss,
        request.total_steps,
        seed=request.seed,
        optim_steps_per_batch=None,
        num_epochs=settings["epochs"],
        optimizer=optimizer,
        clip_norm=settings["max_gradient_norm"],
        gamma=settings["discount"],
        lmbda=settings["gae_lambda"],
        replay_buffer=TensorDictReplayBuffer(
            storage=LazyTensorStorage(settings["rollout_steps"]),
            sampler=SamplerWithoutReplacement(),
            batch_size=settings["minibatch_size"],
        ),
    )
    if settings.get("anneal_learning_rate"):
        rollouts = -(-request.total_steps // settings["rollout_steps"])
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: 1 - done / rollouts)
        LRSchedulerHook(scheduler).register(trainer)
    return trainer, loss


def _invert_deviation_by_softplus(deviation: torch.Tensor) -> torch.Tensor:
    """Return the input of ``NormalParamExtractor``, which adds 0.01 to softplus(x + c), 1 at 0."""
    numbers = deviation.double() - 0.01
    return (torch.log(torch.expm1(numbers)) - math.log(math.expm1(0.99))).float()


def _make_sac_trainer_parts(
    request: TrainingRequest, environment, space: Space, settings: Mapping[str, Any]
):
    network = nn.Sequential(
        make_multilayer_perceptron(settings, space.observations, 2 * space.actions),
        NormalParamExtractor(),
    )
    layer = find_last_linear_layer(network)
    set_deviation = make_deviation_setter(
        layer, slice(space.actions, None), _invert_deviation_by_softplus
    )
    actor = _make_tanh_normal_actor(network, space, False)
    critics = _make_q_network(space, settings)
    call_prepare_with_heads(
        request, lambda: Heads(layer, set_deviation, _list_output_layers(critics))
    )
    loss = make_sac_loss(
        actor,
        critics,
        loss_function=settings["critic_loss"],
        alpha_init=settings["initial_temperature"],
        target_entropy=settings["target_entropy"],
    )
    loss.make_value_estimator(gamma=settings["discount"])
    collector = _make_collector(
        environment, actor, settings["steps_per_collection"], request, settings["learning_starts"]
    )
    trainer = make_silent_trainer(
        SACTrainer,
        collector,
        loss,
        request.total_steps,
        seed=request.seed,
        optim_steps_per_batch=settings["updates_per_collection"],
        optimizer=torch.optim.Adam(
            loss.parameters(), lr=settings["learning_rate"], eps=settings["adam_epsilon"]
        ),
        replay_buffer=make_buffer(settings),
        target_net_updater=SoftUpdate(loss, tau=settings["polyak_coefficient"]),
    )
    return trainer, loss


def _make_td3_trainer_parts(
    request: TrainingRequest, environment, space: Space, settings: Mapping[str, Any]
):
    policy_network = make_multilayer_perceptron(settings, space.observations, space.actions)
    actor = TensorDictSequential(
        TensorDictModule(policy_network, in_keys=["observation"], out_keys=["param"]),
        TanhModule(in_keys=["param"], out_keys=["action"], **space.bounds),
    )
    critics = _make_q_network(space, settings)
    call_prepare_with_heads(
        request,
        lambda: Heads(find_last_linear_layer(policy_network), values=_list_output_layers(critics)),
    )
    loss = make_td3_loss(
        actor,
        critics,
        action_spec=space.spec,
        policy_noise=settings["target_noise"],
        noise_clip=settings["target_noise_clip"],
        loss_function=settings["critic_loss"],
    )
    loss.make_value_estimator(gamma=settings["discount"])
    exploring, exploration = add_gaussian_noise(
        actor, space.spec, sigma_init=1.0, sigma_end=1.0, std=settings["exploration_noise"] or 0.0
    )
    collector = _make_collector(
        environment,
        exploring,
        settings["steps_per_collection"],
        request,
        settings["learning_starts"],
    )

    def make_adam(prefix: str) -> torch.optim.Adam:
        parameters = [p for name, p in loss.named_parameters() if name.startswith(prefix)]
        return torch.optim.Adam(
            parameters, lr=settings["learning_rate"], eps=settings["adam_epsilon"]
        )

    trainer = make_silent_trainer(
        TD3Trainer,
        collector,
        loss,
        request.total_steps,
        seed=request.seed,
        optim_steps_per_batch=settings["updates_per_collection"],
        optimization_stepper=TD3OptimizationStepper(
            make_adam("actor_network_params"),
            make_adam("qvalue_network_params"),
            policy_update_delay=settings["policy_delay"],
        ),
        replay_buffer=make_buffer(settings),
        target_net_updater=SoftUpdate(loss, tau=settings["polyak_coefficient"]),
        exploration_module=exploration,
    )
    return trainer, loss


def _make_dqn_or_ddpg_trainer_parts(
    request: TrainingRequest, environment, space: Space, settings: Mapping[str, Any]
):
    del space
    environment.set_seed(request.seed)
    parts = make_parts_of_algorithm(request, environment, settings)
    trainer = make_trainer_of_parts(request, environment, settings, parts, seed=request.seed)
    return trainer, parts.loss


BUILDERS = {
    "ppo": _make_ppo_trainer_parts,
    "sac": _make_sac_trainer_parts,
    "td3": _make_td3_trainer_parts,
    "dqn": _make_dqn_or_ddpg_trainer_parts,
    "ddpg": _make_dqn_or_ddpg_trainer_parts,
}


def make_policy_function(loss) -> Policy:
    """Return the deterministic policy of a loss."""
    if is_of_dqn_or_ddpg(loss):
        return dqn_ddpg.make_policy_function(loss)

    def choose_actions(observations: np.ndarray) -> np.ndarray:
        batch = TensorDict(
            {"observation": torch.as_tensor(observations).float()}, len(observations)
        )
        parameters = loss.actor_network_params.to_module(loss.actor_network)
        with torch.no_grad(), set_exploration_type(find_deterministic_type()), parameters:
            return loss.actor_network(batch)["action"].numpy()

    return choose_actions


def _make_drawing_function(loss):
    def draw_actions(observations: np.ndarray, numbers: np.ndarray) -> Any:
        batch = TensorDict(
            {"observation": torch.as_tensor(observations).float()}, len(observations)
        )
        with loss.actor_network_params.to_module(loss.actor_network), fix_normal_draws(numbers):
            if not hasattr(loss.actor_network, "get_dist"):
                return loss.actor_network(batch)["action"], None
            law = loss.actor_network.get_dist(batch)
            # PPO is handed the actions of a rollout
            of_rollout = hasattr(loss, "critic_network_params")
            actions = law.rsample().detach() if of_rollout else law.rsample()
            return actions, law.log_prob(actions)

    return draw_actions


def _make_value_function(loss):
    if is_of_dqn_or_ddpg(loss):
        return make_value_function(loss)

    def estimate_values(observations: np.ndarray) -> np.ndarray:
        batch = TensorDict(
            {"observation": torch.as_tensor(observations).float()}, len(observations)
        )
        with torch.no_grad(), set_exploration_type(find_deterministic_type()):
            if hasattr(loss, "critic_network_params"):
                with loss.critic_network_params.to_module(loss.critic_network):
                    return loss.critic_network(batch)["state_value"].numpy().reshape(-1)
            with loss.actor_network_params.to_module(loss.actor_network):
                batch = loss.actor_network(batch)
            values = []
            for number in range(loss.num_qvalue_nets):
                with loss.qvalue_network_params[number].to_module(loss.qvalue_network):
                    values.append(loss.qvalue_network(batch)["state_action_value"])
            return torch.stack(values).amin(0).numpy().reshape(-1)

    return estimate_values


#: diagnostic -> the entry of what the loss returns
_RETURNED = {
    "ppo": {"entropy": "entropy", "kl": "kl_approx"},
    "sac": {"entropy": "entropy", "temperature": "alpha"},
}


class _Diagnostics:
    """The diagnostics of ``Trained``, of every update: filled as the trainer calls the loss."""

    def __init__(self, algorithm: str) -> None:
        self._returned = _RETURNED.get(algorithm, {})
        self.values: dict[str, list[float]] = {name: [] for name in self._returned}

    def __call__(self, module, arguments, returned) -> None:
        for name, key in self._returned.items():
            value = returned.get(key, None)
            if value is not None:
                self.values[name].append(float(value.detach().mean()))


class _AfterBatch:
    """Calls ``on_checkpoint`` and ``keep`` of a request after the updates of a batch."""

    def __init__(self, trainer, loss, diagnostics: _Diagnostics) -> None:
        self.trainer, self.loss, self.diagnostics = trainer, loss, diagnostics
        self._request: Any = None
        self._passing = Passing(())

    def __getstate__(self) -> dict[str, Any]:
        # the request is of one process
        return {"trainer": self.trainer, "loss": self.loss, "diagnostics": self.diagnostics}

    def serve_checkpoints(self, request: TrainingRequest) -> None:
        """Serve a request's checkpoints from the training's current step."""
        self._request = request
        self._passing = Passing(request.checkpoints, self.trainer.collected_frames)

    def __call__(self) -> None:
        done = self.trainer.collected_frames
        if self._passing.has_passed_any(done):
            self._request.on_checkpoint(done, make_policy_function(self.loss))
        # the collector has handed out its batch, and its loop goes on where its frames are
        self._request.keep(done, self)


def use_single_precision(environment):
    """Return the environment with float32 observations, as the networks take them."""
    if environment.observation_spec["observation"].dtype is not torch.float64:
        return environment
    return TransformedEnv(environment, DoubleToFloat(in_keys=["observation"]))


def _make_blank_instance(kind):
    return kind.__new__(kind)


def _fill_state_of_sampler(sampling, state: Mapping[str, Any]) -> None:
    sampling.__dict__.update(state)
    if sampling.iterate:
        sampling.replay_buffer_iter = iter(sampling.replay_buffer)


def _drop_iterator_of_sampler(sampling):
    # a generator cannot be written; a new one goes on alike: which rows were handed out, and
    # whether these were the last, the sampler knows
    state = {name: item for name, item in vars(sampling).items() if name != "replay_buffer_iter"}
    return _make_blank_instance, (type(sampling),), state, None, None, _fill_state_of_sampler


def make_trainer_of_request(request: TrainingRequest) -> _AfterBatch:
    """Return a trainer, its loss and its function after each batch."""
    settings = check_and_select_hyperparameters(request.algorithm, request.hyperparameters)
    torch.manual_seed(request.seed)
    np.random.seed(request.seed)
    environment = use_single_precision(GymWrapper(request.make_env(), device="cpu"))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*experimental/prototype feature.*")
        trainer, loss = BUILDERS[request.algorithm](
            request, environment, Space(environment), settings
        )
    diagnostics = _Diagnostics(request.algorithm)
    after_batch = _AfterBatch(trainer, loss, diagnostics)
    trainer.register_op("post_steps", after_batch)
    loss.register_forward_hook(diagnostics)
    return after_batch


def train(request: TrainingRequest) -> Trained:
    """Train with the framework's trainer of the algorithm.

    Raises:
        Unsupported: the installed version has no such trainer, or not all that it is to be set to.
    """
    copyreg.pickle(ReplayBufferTrainer, _drop_iterator_of_sampler)
    after_batch = make_trainer_of_request(request) if request.kept is None else request.kept
    after_batch.serve_checkpoints(request)
    after_batch.trainer.train()
    return make_trained_agent(after_batch)


def make_trained_agent(after_batch: _AfterBatch) -> Trained:
    """Return the agent of a training that has ended."""
    trainer, loss = after_batch.trainer, after_batch.loss
    parameters = {
        name: tensor.detach().cpu().numpy().copy()
        for name, tensor in loss.state_dict().items()
        if isinstance(tensor, torch.Tensor)
    }
    diagnostics = after_batch.diagnostics.values
    return Trained(
        make_policy_function(loss),
        _make_value_function(loss),
        parameters,
        trainer.collected_frames,
        diagnostics,
        _make_drawing_function(loss),
    )
