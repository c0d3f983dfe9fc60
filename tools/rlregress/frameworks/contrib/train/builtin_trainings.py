"""Built-in trainings for traces: algorithms of SB3-Contrib, with what they can switch on.

Environments, and the steps after a training, are those of Stable-Baselines3's trainings: agents are
saved, loaded, trained again and evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import sb3_contrib
from sb3_contrib.common.maskable import callbacks, evaluation
from sb3_contrib.common.vec_env import AsyncEval
from sb3_contrib.common.wrappers import ActionMasker, TimeFeatureWrapper

from rlregress.frameworks.sb3 import gyms, user_code
from rlregress.frameworks.sb3.library import find_algorithm_class
from rlregress.frameworks.sb3.train import utility_calls
from rlregress.frameworks.sb3.train.builtin_trainings import (
    BATCH_NORM,
    PLAIN,
    PLAIN_OFF_POLICY,
    PLAIN_ON_POLICY,
    STEPS,
    WITHOUT_BIAS,
)
from rlregress.frameworks.sb3.train.recorded_training import (
    ScenarioTraining,
    Session,
    Step,
    act_in_bare_environment,
    act_with_agent_in_bare_environment,
    act_with_reloaded_policy,
    capture_learning_rates,
    capture_numbers,
    make_evaluation_callback,
    play_three_episodes,
    save_load_and_continue,
)
from rlregress.frameworks.sb3.train.recorded_training import find_evaluation as library_evaluation
from rlregress.frameworks.sb3.train.trace_environments import Environments, make_vector_wrapper
from rlregress.probing.interface import TraceTraining

_GSDE = {"use_sde": True, "sde_sample_freq": 4, "use_sde_at_warmup": True}
_SMALL = {"net_arch": [16, 16]}
#: where each update takes long: a buffer of 2 x 20 rows is full all the same.
_SHORT = {"steps": 100, "buffer_size": 40}


class _MaskedChoices(gyms.Wrapper):
    """An environment that forbids one option of each choice, or none, changing each step."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._steps = 0

    def step(self, action: Any) -> Any:
        self._steps += 1
        return self.env.step(action)

    def compute_action_mask(self) -> np.ndarray:
        """Return the action mask, bool [options], with the options of all choices in a row."""
        space = self.action_space
        if isinstance(space, gyms.spaces.Discrete):
            choices = [space.n]
        else:
            choices = getattr(space, "nvec", [2] * int(getattr(space, "n", 0)))
        return np.concatenate([np.arange(ways) != self._steps % (ways + 1) for ways in choices])


def _find_masked_evaluation(name: str) -> Any:
    """Return SB3-Contrib's ``evaluate_policy`` or ``EvalCallback`` that uses action masks."""
    masked = {"evaluate_policy": evaluation, "EvalCallback": callbacks}[name]
    return getattr(masked, name.replace("Eval", "MaskableEval"))


def _evaluate_with_and_without_masks(session: Session) -> None:
    """Evaluate in one environment, first with its action masks, then with all actions allowed."""
    for masking in (True, False):
        returned = evaluation.evaluate_policy(
            *(session.trained, session.environments.make_one_environment(), 3),
            return_episode_rewards=True,
            use_masking=masking,
        )
        capture_numbers([list(map(float, numbers)) for numbers in returned])


def _capture_new_quantile_network(session: Session) -> Mapping[str, Any]:
    """Capture the parameters of a default quantile network; return no arguments of ``learn``."""
    own = session.model.policy.quantile_net
    network = type(own)(
        own.observation_space, own.action_space, own.features_extractor, own.features_dim
    )
    capture_numbers([tensor.detach().numpy() for tensor in network.parameters()])
    return {}


def _make_async_eval_argument(session: Session) -> Mapping[str, Any]:
    """Return the argument by which ARS evaluates candidates in processes, as it documents."""
    # forked, as spawned processes would import everything again, which takes seconds each
    make = partial(session.environments.make_wrapped_environment, copies=1)
    processes = AsyncEval([make, make], session.model.policy, start_method="fork")
    processes.seed(3)
    return {"async_eval": processes}


def _capture_initial_learning_rates(session: Session) -> None:
    """Capture the learning rates for the trace, before an update sets them."""
    capture_numbers(user_code.list_learning_rates(session.model))


def _act_with_actor(session: Session) -> None:
    if hasattr(session.trained.policy, "actor"):
        act_in_bare_environment(session.trained.policy.actor, session.environments)


def _act_with_reloaded_agent(session: Session) -> None:
    """Save and load the agent, and act with it without learning again."""
    session.trained.save(session.get_path("alone.zip"))
    loaded = type(session.trained).load(session.get_path("alone.zip"), device="cpu")
    act_in_bare_environment(loaded, session.environments)


def _make_training(
    title: str,
    common_arguments: Mapping[str, Any],
    settings: Mapping[str, Any],
    networks: Mapping[str, Any] = _SMALL,
    loads_policy: bool = True,
    stops_early: bool = False,
    further_steps: Sequence[Step] = (),
    make_learn_arguments: Callable[[Session], Mapping[str, Any]] = lambda session: {},
    policy: str = "",
    **environments: Any,
) -> TraceTraining:
    """Return a training in two environments, after which the agent is loaded, evaluated and so on.

    Args:
        title: of the algorithm's class.
        common_arguments: of the class, some of which ``settings`` may replace.
        settings: further arguments of the class, and ``steps`` if the training has another length.
        networks: arguments of the policy.
        loads_policy: whether the policy is saved and loaded alone. Some versions cannot load their
            own files (docs/findings.md), or files of policies with code of the user.
        stops_early: whether a callback ends it in its second rollout.
        further_steps: further functions that are called with the session after the training.
        make_learn_arguments: returns further arguments of ``learn``.
        policy: name of the policy; empty: the one that fits the observations.
        **environments: of ``Environments``.
    """

    # titles are listed without the library
    def run_training(make_env: Callable[..., Any], seed: int) -> Mapping[str, Any]:
        arguments = {**common_arguments, **settings}
        both = Environments(copies=2, evaluation_copies=2, **environments)
        memory = "LstmPolicy" if title == "RecurrentPPO" else "Policy"
        stopping = [lambda session: user_code.CountingCallback(100)] if stops_early else []
        return ScenarioTraining(
            partial(find_algorithm_class, title, sb3_contrib),
            both,
            arguments,
            networks,
            policy or both.policy.replace("Policy", memory),
            steps=arguments.pop("steps", STEPS),
            first=[_capture_initial_learning_rates],
            callbacks=[make_evaluation_callback, *stopping],
            make_learn_arguments=make_learn_arguments,
            then=[
                capture_learning_rates,
                save_load_and_continue,
                partial(play_three_episodes, capture_returns=True),
                partial(play_three_episodes, deterministic=False, capture_returns=True),
                act_with_agent_in_bare_environment,
                partial(act_with_agent_in_bare_environment, deterministic=False),
                *([partial(act_with_reloaded_policy, trusted=True)] if loads_policy else []),
                *further_steps,
                _act_with_actor,
                _act_with_reloaded_agent,
            ],
            evaluation=_find_masked_evaluation if title == "MaskablePPO" else library_evaluation,
        )(make_env, seed)

    return run_training


_qrdqn = partial(_make_training, "QRDQN", PLAIN["dqn"], actions="discrete")
_tqc = partial(_make_training, "TQC", PLAIN["sac"])
_crossq = partial(_make_training, "CrossQ", PLAIN_OFF_POLICY)
_trpo = partial(_make_training, "TRPO", PLAIN_ON_POLICY)
_masked = partial(
    _make_training,
    "MaskablePPO",
    PLAIN["ppo"],
    own=lambda environment: ActionMasker(
        _MaskedChoices(environment), _MaskedChoices.compute_action_mask
    ),
    further_steps=[_evaluate_with_and_without_masks],
)
_recurrent = partial(_make_training, "RecurrentPPO", PLAIN["ppo"])
_ars = partial(_make_training, "ARS", {"n_delta": 2, "learning_rate": 0.05, "delta_std": 0.1})

_MEMORY = {**_SMALL, "lstm_hidden_size": 8, "n_lstm_layers": 2}
#: stops it in the middle of an update.
_LOW_KL = {"learning_rate": 0.02, "target_kl": 0.004}

TRAININGS: Mapping[str, TraceTraining] = {
    # {}: the networks that it has by default
    "qrdqn": _qrdqn(
        {**_SHORT, "exploration_final_eps": 0.5},
        {},
        make_learn_arguments=_capture_new_quantile_network,
    ),
    "qrdqn_images": _qrdqn(_SHORT, {}, observations="image"),
    "qrdqn_dictionary": _qrdqn(_SHORT, {}, observations="dict"),
    "qrdqn_batch_norm": _qrdqn(
        {**_SHORT, "max_grad_norm": 0.5, "tau": 0.5},
        {**_SMALL, "n_quantiles": 5, **BATCH_NORM},
        loads_policy=False,
        normalize={"norm_reward": False},
    ),
    "qrdqn_n_step": _qrdqn({**_SHORT, "n_steps": 3}),
    "tqc": _tqc(_SHORT, {}, own=lambda environment: TimeFeatureWrapper(environment, max_steps=10)),
    "tqc_images": _tqc(_SHORT, {"share_features_extractor": True}, observations="image"),
    "tqc_dictionary": _tqc(_SHORT, {}, observations="dict"),
    "tqc_batch_norm": _tqc(
        {
            **_SHORT,
            "ent_coef": 0.1,
            "top_quantiles_to_drop_per_net": 1,
            "target_update_interval": 2,
        },
        {**_SMALL, "n_quantiles": 5, "n_critics": 3, **BATCH_NORM},
        loads_policy=False,
        normalize={},
    ),
    "tqc_gsde": _tqc(
        {**_SHORT, **_GSDE, "action_noise": None, "ent_coef": "auto_0.5", "target_entropy": -1.0},
        {**_SMALL, "use_expln": True},
    ),
    # before there were several steps, not every version loads an actor by itself
    "tqc_n_step": _tqc(
        {**_SHORT, "n_steps": 3}, further_steps=[utility_calls.act_with_reloaded_actor]
    ),
    "crossq": _crossq(_SHORT, {**_SMALL, "renorm_warmup_steps": 40}),
    "crossq_shared": _crossq(
        {**_SHORT, "ent_coef": 0.1, "policy_delay": 2},
        {
            **_SMALL,
            "share_features_extractor": True,
            "renorm_warmup_steps": 0,
            "n_critics": 3,
            **WITHOUT_BIAS,
        },
        loads_policy=False,
        normalize={},
    ),
    "crossq_plain": _crossq(_SHORT, {**_SMALL, "batch_norm": False}),
    "crossq_gsde": _crossq(
        {**_SHORT, **_GSDE, "ent_coef": "auto_0.5", "target_entropy": -1.0},
        {**_SMALL, "use_expln": True},
    ),
    "crossq_n_step": _crossq({**_SHORT, "n_steps": 3}),
    "trpo": _trpo({"batch_size": 48}, {}, normalize={}),
    "trpo_images": _trpo({"batch_size": 32}, {}, observations="image"),
    "trpo_gsde": _trpo({"batch_size": 32, "use_sde": True, "sde_sample_freq": 4}),
    "trpo_sub_sampled": _trpo(
        {
            "batch_size": 32,
            "sub_sampling_factor": 2,
            "normalize_advantage": False,
            "n_critic_updates": 2,
            "cg_max_steps": 3,
            # so that some steps are taken back
            "line_search_max_iter": 1,
            "target_kl": 0.2,
        },
        actions="discrete",
    ),
    "maskableppo": _masked(_LOW_KL, {}, actions="discrete"),
    "maskableppo_images": _masked(
        {}, {}, stops_early=True, actions="discrete", observations="image"
    ),
    "maskableppo_dictionary": _masked(
        {"clip_range_vf": None, "normalize_advantage": False},
        {**_SMALL, "share_features_extractor": False},
        actions="discrete",
        observations="dict-image",
    ),
    "maskableppo_multi_discrete": _masked(
        {},
        normalize={},
        make_learn_arguments=lambda session: {"use_masking": False},
        actions="multi-discrete",
    ),
    "maskableppo_multi_binary": _masked(
        {"batch_size": None},
        around=[lambda environment: make_vector_wrapper("VecMonitor")(environment)],
        actions="multi-binary",
    ),
    "maskableppo_dictionary_multi_discrete": _masked(
        {"batch_size": None}, actions="multi-discrete", observations="dict"
    ),
    "maskableppo_dictionary_multi_binary": _masked(
        {}, normalize={"norm_obs_keys": ["state"]}, actions="multi-binary", observations="dict"
    ),
    "recurrentppo": _recurrent({}, _MEMORY, loads_policy=False, normalize={}),
    "recurrentppo_shared": _recurrent(
        _LOW_KL,
        {**_MEMORY, "shared_lstm": True, "enable_critic_lstm": False},
        loads_policy=False,
        actions="discrete",
    ),
    "recurrentppo_feedforward": _recurrent(
        {"clip_range_vf": None, "normalize_advantage": False, "batch_size": None},
        {**_MEMORY, "enable_critic_lstm": False},
        loads_policy=False,
        stops_early=True,
        actions="multi-discrete",
    ),
    "recurrentppo_matrix": _recurrent({}, _MEMORY, loads_policy=False, own=user_code.MatrixActions),
    "recurrentppo_images": _recurrent({}, {}, observations="image"),
    "recurrentppo_dictionary": _recurrent(
        {"batch_size": None},
        {**_MEMORY, "share_features_extractor": False},
        loads_policy=False,
        observations="dict-image",
    ),
    "recurrentppo_gsde": _recurrent(
        {"use_sde": True, "sde_sample_freq": 4},
        {**_MEMORY, "use_expln": True, "squash_output": True},
        loads_policy=False,
    ),
    "ars": _ars({}, {}),
    "ars_discrete": _ars(
        {"n_top": 1, "alive_bonus_offset": -0.5, "zero_policy": False},
        {},
        policy="LinearPolicy",
        loads_policy=False,
        actions="discrete",
    ),
    "ars_normalised": _ars(
        {"n_eval_episodes": 2},
        {"with_bias": True},
        policy="LinearPolicy",
        loads_policy=False,
        normalize={"norm_reward": False},
    ),
    "ars_processes": _ars(
        {"n_top": 3},
        {},
        normalize={"norm_reward": False},
        make_learn_arguments=_make_async_eval_argument,
    ),
}


def list_builtin_trainings() -> Mapping[str, TraceTraining]:
    """Return title -> training."""
    return TRAININGS
