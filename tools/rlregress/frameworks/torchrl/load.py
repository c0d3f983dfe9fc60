"""Files that TorchRL saves, in every documented way, and how they are loaded.

Losses are put together of layers that are the same on every version: what is saved of them, their
optimizers, replay buffers, normalisers and trainers is the library's.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from rlregress.frameworks.torchrl.api import (
    DDPGLoss,
    DQNLoss,
    ExplorationType,
    LazyTensorStorage,
    SoftUpdate,
    TanhNormal,
    TensorDict,
    TensorDictReplayBuffer,
    TransformedEnv,
    set_exploration_type,
)
from rlregress.frameworks.torchrl.compat import (
    LOG_PROBS,
    make_ppo_loss,
    make_sac_loss,
    make_td3_loss,
)
from rlregress.frameworks.torchrl.known_networks import (
    ACTIONS,
    CHOICES,
    OBSERVATIONS,
    bounds,
    make_action_value_network,
    make_deterministic_actor,
    make_q_value_actor,
    make_stochastic_actor,
    make_value_network,
)
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.frameworks.torchrl.train import training
from rlregress.frameworks.torchrl.train.recorded_training import sum_losses
from rlregress.frameworks.torchrl.train.trace_environments import VECNORM
from rlregress.frameworks.torchrl.train.trainers import SETTINGS
from rlregress.probing.file_kinds import FileKind, Item, TrainingWithFiles
from rlregress.probing.interface import TrainingRequest

_TRAINER = "trainer"
#: rows of a batch and of the replay buffer, in which a batch wraps around.
_BATCH, _STORED = 16, 36
#: updates of the training, and of what goes on after it.
_UPDATES, _MORE = 5, 4
_ALGORITHMS = ("ppo", "sac", "td3", "ddpg", "dqn")


def _make_actor(algorithm: str) -> Any:
    if algorithm == "dqn":
        return make_q_value_actor()
    deterministic = algorithm in ("td3", "ddpg")
    return make_deterministic_actor() if deterministic else make_stochastic_actor(TanhNormal)


def _make_loss(algorithm: str) -> Any:
    actor = _make_actor(algorithm)
    if algorithm == "ppo":
        return make_ppo_loss(actor, make_value_network(), clip_epsilon=0.2)
    if algorithm == "dqn":
        return DQNLoss(actor, action_space="one_hot", delay_value=True)
    if algorithm == "ddpg":
        return DDPGLoss(actor, make_action_value_network(), delay_value=True)
    critics = [make_action_value_network(), make_action_value_network()]
    if algorithm == "sac":
        return make_sac_loss(actor, critics, alpha_init=0.5, target_entropy=-2.0)
    return make_td3_loss(actor, critics, action_spec=bounds())


class _Learner:
    """A loss with its optimizer and the updater of its target networks; a replay buffer.

    Args:
        seed: of its layers.
    """

    def __init__(self, algorithm: str, seed: int) -> None:
        torch.manual_seed(seed)
        self.algorithm = algorithm
        self.loss = _make_loss(algorithm)
        # part of the state of a loss; made with the first update if it is not there
        self.loss.make_value_estimator()
        self.optimizer = torch.optim.Adam(self.loss.parameters(), lr=1e-2)
        self._follow: Any = None
        if algorithm != "ppo":
            # the target networks follow slowly
            self._follow = SoftUpdate(self.loss, eps=0.9)
        self.rows = TensorDictReplayBuffer(storage=LazyTensorStorage(_STORED), batch_size=_BATCH)

    def update_once(self, seed: int, batch: Any = None) -> None:
        """Update networks and targets once, on ``batch`` or on random steps of ``seed``."""
        torch.manual_seed(seed)
        self.optimizer.zero_grad()
        rows = _make_batch(self.algorithm) if batch is None else batch
        sum_losses(self.loss(rows)).backward()
        self.optimizer.step()
        if self._follow is not None:
            self._follow.step()

    @property
    def state(self) -> Any:
        """Return the state of the loss and of the optimizer."""
        return [_map_tensors_of_module(self.loss), self.optimizer.state_dict()]


def _map_tensors_of_module(module: Any) -> dict[str, Any]:
    """Return the tensors of a module's state, without tensordict's metadata (until 0.11)."""
    state = module.state_dict()
    return {name: item for name, item in state.items() if isinstance(item, torch.Tensor)}


def _make_random_steps(count: int, **options: Any) -> Any:
    """Return random steps with continuous actions, in which nothing ends."""
    ends = {name: torch.zeros(count, 1, dtype=torch.bool) for name in ("done", "terminated")}
    following = {
        "observation": torch.randn(count, OBSERVATIONS),
        "reward": torch.randn(count, 1),
        **ends,
    }
    items = {
        "observation": torch.randn(count, OBSERVATIONS),
        "action": torch.tanh(torch.randn(count, ACTIONS)),
        **ends,
        **options,
    }
    return TensorDict({**items, "next": TensorDict(following, [count])}, [count])


def _make_steps_of_old_policy(count: int) -> Any:
    """Return steps with the entries of an old policy, its critic and an estimator."""
    log_prob = -5.0 * torch.rand(count) - 1.0
    return _make_random_steps(
        count,
        loc=torch.randn(count, ACTIONS),
        scale=torch.rand(count, ACTIONS) + 0.5,
        advantage=3.0 * torch.randn(count, 1) + 1.0,
        value_target=torch.randn(count, 1),
        state_value=torch.randn(count, 1),
        **{key: log_prob.clone() for key in LOG_PROBS},
    )


def _make_batch(algorithm: str) -> Any:
    batch = _make_steps_of_old_policy(_BATCH) if algorithm == "ppo" else _make_random_steps(_BATCH)
    if algorithm == "dqn":
        choices = torch.randint(CHOICES, (_BATCH,))
        batch["action"] = torch.nn.functional.one_hot(choices, CHOICES)
    return batch


def _train_learner(algorithm: str, make_env: Callable[..., Any], seed: int) -> _Learner:
    learner = _Learner(algorithm, seed)
    for number in range(_UPDATES):
        learner.update_once(number)
        # more rows than it holds: it has wrapped around
        learner.rows.extend(_make_batch(algorithm))
    return learner


# -- what is compared ------------------------------------------------------------------------------


def _list_items_of_learner(learner: _Learner) -> Iterator[Item]:
    loss = type(learner.loss)
    yield "parameters", _map_tensors_of_module(learner.loss), loss.load_state_dict
    torch.manual_seed(0)
    batch = _make_batch(learner.algorithm)
    yield "losses", dict(learner.loss(batch).items()), loss.forward
    yield from _list_actions_as_items(*_get_actor_and_parameters(learner))


def _get_actor_and_parameters(learner: _Learner) -> tuple[Any, Any]:
    name = "value_network" if learner.algorithm == "dqn" else "actor_network"
    return getattr(learner.loss, name), getattr(learner.loss, f"{name}_params")


def _list_actions_as_items(network: Any, parameters: Any) -> Iterator[Item]:
    types = ExplorationType
    torch.manual_seed(0)
    observed = _make_random_steps(8).select("observation")
    for name, kind in (("deterministic", types.DETERMINISTIC), ("sampled", types.RANDOM)):
        torch.manual_seed(1)
        with torch.no_grad(), set_exploration_type(kind), parameters.to_module(network):
            acted = network(observed.clone())
        yield f"{name} actions", acted["action"], type(network).forward


def _train_on_and_list_states(learner: _Learner) -> Iterator[Item]:
    forward = type(learner.loss).forward
    for name, further_updates in (("next update", 1), ("continued training", _MORE)):
        for number in range(further_updates):
            learner.update_once(100 + number)
        yield name, learner.state, forward


# -- kinds -----------------------------------------------------------------------------------------


def _make_kind_of_state_files(
    name: str,
    way: str,
    parts: Mapping[str, str],
    make_target: Callable[[Callable[..., Any]], Any],
    state: Callable[[Any], Iterable[Item]],
    **options: Any,
) -> FileKind:
    """Return a kind of files with states that PyTorch saves.

    Args:
        parts: file -> the attribute whose state it holds; empty: that of the object itself.
        make_target: make_env -> an object whose parts take the states.
        **options: further fields of ``FileKind``.
    """

    def get_part(saved: Any, part: str) -> Any:
        return getattr(saved, part) if part else saved

    def save_states(saved: Any, folder: str) -> None:
        for file, part in parts.items():
            torch.save(get_part(saved, part).state_dict(), os.path.join(folder, file))

    def load_states(make_env: Callable[..., Any], folder: str) -> Any:
        target = make_target(make_env)
        for file, part in parts.items():
            get_part(target, part).load_state_dict(torch.load(os.path.join(folder, file)))
        return target

    return FileKind(name, f"{way}, torch.save", load_states, state, save=save_states, **options)


def _list_items_of_optimizer(learner: _Learner) -> Iterator[Item]:
    yield "optimizer", learner.optimizer.state_dict(), torch.optim.Optimizer.load_state_dict


def _copy_policy(learner: _Learner) -> Any:
    copied = _make_actor(learner.algorithm)
    network, parameters = _get_actor_and_parameters(learner)
    with parameters.to_module(network):
        copied.load_state_dict(network.state_dict())
    return copied


def _list_items_of_policy(network: Any) -> Iterator[Item]:
    yield "parameters", network.state_dict(), type(network).load_state_dict
    yield from _list_actions_as_items(network, TensorDict.from_module(network))


def _load_dumped_rows(algorithm: str, make_env: Callable[..., Any], path: str) -> _Learner:
    learner = _Learner(algorithm, 7)
    learner.rows.loads(path)
    return learner


def _list_items_of_buffer(loading: str, learner: _Learner) -> Iterator[Item]:
    rows = type(learner.rows)
    yield "size", len(learner.rows), rows.__len__
    yield "rows", learner.rows[:], getattr(rows, loading)
    torch.manual_seed(0)
    yield "sampled rows", learner.rows.sample(), rows.sample


def _sample_further(learner: _Learner) -> Iterator[Item]:
    torch.manual_seed(2)
    learner.rows.extend(_make_batch(learner.algorithm)[:7])
    yield "rows after more of them", learner.rows[:], type(learner.rows).extend
    learner.update_once(1, learner.rows.sample())
    yield "next update", learner.state, type(learner.loss).forward


def _make_normalised_environment(make_env: Callable[..., Any]) -> Any:
    environment = TransformedEnv(wrap_environment(make_env()), VECNORM())
    environment.set_seed(0)
    return environment


def _list_items_of_environment(environment: Any) -> Iterator[Item]:
    transform = environment.transform
    yield "statistics", transform.state_dict(), type(transform).load_state_dict


def _step_further(environment: Any) -> Iterator[Item]:
    transform = type(environment.transform)
    for name, training_ in (("frozen", False), ("running", True)):
        torch.manual_seed(3)
        environment.train(training_)
        rolled = environment.rollout(6)
        yield f"observations, {name}", rolled["observation"], transform.forward
        yield f"statistics after steps, {name}", environment.transform.state_dict(), transform


def _train_normalised_environment(make_env: Callable[..., Any], seed: int) -> Any:
    environment = _make_normalised_environment(make_env)
    torch.manual_seed(seed)
    environment.rollout(30, break_when_any_done=False)
    return environment


# -- trainers --------------------------------------------------------------------------------------


def _save_trainer(saved: Any, path: str) -> None:
    """Save a trainer, or copy the files of one that was trained to its end, from their folder."""
    if isinstance(saved, tempfile.TemporaryDirectory):
        shutil.copytree(saved.name, os.path.dirname(path), dirs_exist_ok=True)
        return
    saved.trainer.save_trainer_file = path
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        saved.trainer.save_trainer(force_save=True)


def _make_new_trainer(algorithm: str, make_env: Callable[..., Any], seed: int) -> Any:
    """Return an object with a new trainer and its loss."""
    # the files of past releases are of these sizes
    on_policy = algorithm == "ppo"
    sizes = {"rollout_steps": 64} if on_policy else {"replay_size": 120, "learning_starts": 40}
    settings = {**SETTINGS[algorithm], "hidden_sizes": [8, 8], **sizes}
    batch = settings["rollout_steps" if on_policy else "steps_per_collection"]
    request = TrainingRequest(algorithm, make_env, settings, total_steps=4 * batch, seed=seed)
    created = training.make_trainer_with_hook(request)
    created.set_checkpoint_request(request)
    return created


def _train_and_save_midway(
    algorithm: str, make_env: Callable[..., Any], seed: int
) -> tempfile.TemporaryDirectory[str]:
    """Train to the end, where the collector is shut down; return the files of half the training."""
    first, folder = _make_new_trainer(algorithm, make_env, seed), tempfile.TemporaryDirectory()
    half = first.trainer.total_frames // 2

    def save_at_half() -> None:
        if not os.listdir(folder.name) and first.trainer.collected_frames >= half:
            _save_trainer(first, os.path.join(folder.name, _TRAINER))

    first.trainer.register_op("post_steps", save_at_half)
    first.trainer.train()
    return folder


def _load_trainer(algorithm: str, make_env: Callable[..., Any], path: str) -> Any:
    restored = _make_new_trainer(algorithm, make_env, 7)
    restored.trainer.load_from_file(path)
    return restored


def _list_items_of_trainer(saved: Any) -> Iterator[Item]:
    loading = type(saved.trainer).load_from_file
    yield "parameters", _map_tensors_of_module(saved.loss), loading
    yield "frames", saved.trainer.collected_frames, loading
    stepper = getattr(saved.trainer, "optimizer", None)
    yield "optimizer", stepper and stepper.state_dict(), loading


def _train_further(saved: Any) -> Iterator[Item]:
    torch.manual_seed(0)
    saved.trainer.train()
    yield "continued training", _map_tensors_of_module(saved.loss), type(saved.trainer).train


def _list_kinds_of_files(algorithm: str) -> Iterator[FileKind]:
    def make_learner(make_env: Callable[..., Any]) -> _Learner:
        return _Learner(algorithm, 7)

    loss = {"loss.pt": "loss"}
    yield _make_kind_of_state_files(
        f"{algorithm} loss", "state_dict of the loss", loss, make_learner,
        _list_items_of_learner, go_on=_train_on_and_list_states,
    )  # fmt: skip
    yield _make_kind_of_state_files(
        f"{algorithm} optimizer", "state_dict of loss and optimizer",
        {**loss, "optimizer.pt": "optimizer"}, make_learner,
        _list_items_of_optimizer, go_on=_train_on_and_list_states,
    )  # fmt: skip
    yield _make_kind_of_state_files(
        f"{algorithm} policy", "state_dict of the actor", {"loss.pt": ""},
        lambda make_env: _make_actor(algorithm), _list_items_of_policy, of=_copy_policy,
    )  # fmt: skip
    if algorithm in ("sac", "dqn"):
        yield FileKind(
            f"{algorithm} replay buffer", "ReplayBuffer.dumps, loads",
            partial(_load_dumped_rows, algorithm), partial(_list_items_of_buffer, "loads"),
            _sample_further, lambda learner, path: learner.rows.dumps(path), file="rows",
        )  # fmt: skip
        yield _make_kind_of_state_files(
            f"{algorithm} replay buffer state", "state_dict of the replay buffer",
            {"rows": "rows"}, make_learner,
            partial(_list_items_of_buffer, "load_state_dict"), go_on=_sample_further,
        )  # fmt: skip


#: one of each form, and the losses whose parameters releases have renamed.
_STORED_KINDS = (
    "ppo loss", "ppo policy", "ppo trainer", "vecnorm normaliser", "sac optimizer",
    "sac replay buffer", "sac replay buffer state", "sac trainer", "td3 loss", "dqn optimizer",
)  # fmt: skip


def _list_trainings_and_kinds(algorithm: str) -> Iterator[tuple[Any, Iterable[FileKind]]]:
    yield partial(_train_learner, algorithm), _list_kinds_of_files(algorithm)
    if algorithm in ("ppo", "sac", "td3"):
        kind = FileKind(
            f"{algorithm} trainer", "Trainer.save_trainer, load_from_file",
            partial(_load_trainer, algorithm), _list_items_of_trainer, _train_further,
            _save_trainer, _TRAINER,
        )  # fmt: skip
        yield partial(_train_and_save_midway, algorithm), [kind]
    if algorithm == "ppo":
        kind = _make_kind_of_state_files(
            "vecnorm normaliser", "state_dict of VecNorm", {"loss.pt": "transform"},
            _make_normalised_environment, _list_items_of_environment, go_on=_step_further,
        )  # fmt: skip
        yield _train_normalised_environment, [kind]


def list_trainings_with_files() -> Mapping[str, Sequence[TrainingWithFiles]]:
    """Return the files of built-in trainings, by algorithm."""
    return {
        algorithm: [
            TrainingWithFiles(train, [*kinds], _STORED_KINDS)
            for train, kinds in _list_trainings_and_kinds(algorithm)
        ]
        for algorithm in _ALGORITHMS
    }
