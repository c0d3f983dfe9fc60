"""Built-in trainings for traces: algorithms of SB3-Contrib, with what they can switch on.

What surrounds a training and comes after it is the code that traces scenarios of
Stable-Baselines3: agents are saved, loaded and trained on, and are evaluated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sb3_contrib.common.maskable import callbacks, evaluation
from sb3_contrib.common.vec_env import AsyncEval
from sb3_contrib.common.wrappers import ActionMasker, TimeFeatureWrapper

from rlregress.frameworks.base import TraceTraining
from rlregress.frameworks.contrib.saved_agents import class_named
from rlregress.frameworks.sb3 import gyms, user_code
from rlregress.frameworks.sb3.builtin_trainings import STEPS, dqn, off_policy, on_policy, ppo, sac
from rlregress.frameworks.sb3.post_training import PostTraining, act
from rlregress.frameworks.sb3.scenario_request import ScenarioOptions, made
from rlregress.frameworks.sb3.wrappers import Wrappers

#: what is done beside the first training, in the names of ``baselines/scenarios``.
_FEATURES: Mapping[str, Any] = {
    "save_load": True,
    "policy_again": "trusted",
    "act_alone": ["deterministic", "stochastic"],
    "evaluate": ["callback", "deterministic", "stochastic"],
    "evaluation_copies": 2,
    "report": ["evaluations", "rates"],
}
#: of policies that do not load what they save (docs/findings.md), or hold code of the user's.
_WITHOUT_POLICY = {name: given for name, given in _FEATURES.items() if name != "policy_again"}
_GSDE = {"use_sde": True, "sde_sample_freq": 4, "use_sde_at_warmup": True}
_SMALL = {"net_arch": [16, 16]}
#: where each update takes long: a buffer of 2 x 20 rows is full all the same.
_SHORT = {"steps": 100, "buffer_size": 40}


class _Choices(gyms.Wrapper):
    """An environment that forbids one way of each choice, another one at every step, or none."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._steps = 0

    def step(self, action: Any) -> Any:
        """The environment's own."""
        self._steps += 1
        return self.env.step(action)

    def allowed(self) -> np.ndarray:
        """Which ways are allowed, of all choices one after the other, bool [ways]."""
        space = self.action_space
        if isinstance(space, gyms.spaces.Discrete):
            choices = [space.n]
        else:
            choices = getattr(space, "nvec", [2] * int(getattr(space, "n", 0)))
        return np.concatenate([np.arange(ways) != self._steps % (ways + 1) for ways in choices])


class _Masked(PostTraining):
    """Evaluations know which actions are allowed."""

    def evaluation(self, name: str) -> Any:
        """What SB3-Contrib has in place of a function or class of the library."""
        masked = {"evaluate_policy": evaluation, "EvalCallback": callbacks}[name]
        return getattr(masked, name.replace("Eval", "MaskableEval"))

    def all(self, model: Any, steps: int) -> None:
        """Also evaluations in one environment, in which all actions are allowed once."""
        super().all(model, steps)
        for masking in (True, False):
            returned = evaluation.evaluate_policy(
                *(model, self.wrappers.made(0), 3), return_episode_rewards=True, use_masking=masking
            )
            user_code.Capture().capture([list(map(float, numbers)) for numbers in returned])


def _of_quantiles(model: Any, wrappers: Wrappers) -> Mapping[str, Any]:
    """A network of quantiles that a user makes, of the widths that it has by default."""
    del wrappers
    known = model.policy.quantile_net
    network = type(known)(
        known.observation_space, known.action_space, known.features_extractor, known.features_dim
    )
    user_code.Capture().capture([tensor.detach().numpy() for tensor in network.parameters()])
    return {}


def _in_processes(model: Any, wrappers: Wrappers) -> Mapping[str, Any]:
    """Candidates are evaluated in processes, as the documentation of ARS does it."""
    # as copies of this one: others import everything again, for seconds each
    make = partial(wrappers.wrapped_environment, copies=1)
    processes = AsyncEval([make, make], model.policy, start_method="fork")
    processes.seed(3)
    return {"async_eval": processes}


def _training(
    title: str,
    common: Callable[[], dict[str, Any]],
    settings: Mapping[str, Any],
    networks: Mapping[str, Any] = _SMALL,
    extractor: Any = None,
    policy: str = "",
    features: Mapping[str, Any] = _FEATURES,
    around: Callable[[Any], Any] = lambda environment: environment,
    learning: Callable[[Any, Wrappers], Mapping[str, Any]] = lambda model, wrappers: {},
    **spaces: str,
) -> TraceTraining:
    """A training of two environments.

    Args:
        title: of the algorithm's class.
        common: makes arguments of the class, some of which ``settings`` may replace.
        settings: further ones, and ``steps`` of the training, if it is not as long as others.
        networks: arguments of the policy.
        extractor: makes the class of a features extractor, as a user writes one.
        policy: its name; without, that which fits the observations.
        features: what is around the training and after it.
        around: what each environment is wrapped in.
        learning: further arguments of ``learn``, of the agent and its environments.
        **spaces: of observations and actions, as ``rlregress.frameworks.toys.Ends`` takes them.
    """

    def training(make_env: Callable[..., Any], seed: int) -> None:
        environment = {"copies": 2, **spaces}
        request = {"algorithm": title, "environment": environment, "features": features}
        options = ScenarioOptions(request, {title: {}})
        algorithm = class_named(title)

        def one(**choices: Any) -> Any:
            return around(gyms.native(make_env(**choices)))

        with warnings.catch_warnings(), TemporaryDirectory(prefix="rlregress-") as folder:
            # about what a training does on purpose
            warnings.simplefilter("ignore")
            wrappers = Wrappers(options, one)
            kind = _Masked if title == "MaskablePPO" else PostTraining
            afterwards = kind(options, wrappers, folder)
            options.nothing_left()
            arguments = {**common(), **settings, "policy_kwargs": dict(networks)}
            steps = arguments.pop("steps", STEPS)
            if extractor is not None:
                arguments["policy_kwargs"]["features_extractor_class"] = extractor()
            memory = "LstmPolicy" if title == "RecurrentPPO" else "Policy"
            name = policy or wrappers.policy.replace("Policy", memory)
            model = made(algorithm, name, wrappers.wrapped_environment(), seed=seed, **arguments)
            # before an update sets them
            user_code.Capture().capture(user_code.rates(model))
            model.learn(steps, callback=afterwards.callbacks(), **learning(model, wrappers))
            afterwards.all(model, steps)
            if hasattr(model.policy, "actor"):
                act(model.policy.actor, wrappers, deterministic=True)
            model.save(f"{folder}/alone.zip")
            # as a user loads an agent that is to act, and not to learn
            act(algorithm.load(f"{folder}/alone.zip", device="cpu"), wrappers, deterministic=True)

    return training


_qrdqn = partial(_training, "QRDQN", dqn, actions="discrete")
_tqc = partial(_training, "TQC", sac)
_crossq = partial(_training, "CrossQ", off_policy)
_trpo = partial(_training, "TRPO", on_policy)
_masked = partial(
    _training,
    "MaskablePPO",
    ppo,
    around=lambda environment: ActionMasker(_Choices(environment), _Choices.allowed),
)
_recurrent = partial(_training, "RecurrentPPO", ppo)
_ars = partial(_training, "ARS", lambda: {"n_delta": 2, "learning_rate": 0.05, "delta_std": 0.1})

_BOTH = {"normalize": "both"}
#: a callback ends it in its second rollout.
_STOPPED = {"stop_after_steps": 100}
_WITH_ACTOR = {**_FEATURES, "helpers": ["actor-alone"]}
_MEMORY = {**_SMALL, "lstm_hidden_size": 8, "n_lstm_layers": 2}
#: stops it in the middle of an update.
_LOW_KL = {"learning_rate": 0.02, "target_kl": 0.004}

TRAININGS: Mapping[str, TraceTraining] = {
    # {}: the networks that it has by default
    "qrdqn": _qrdqn({**_SHORT, "exploration_final_eps": 0.5}, {}, learning=_of_quantiles),
    "qrdqn_images": _qrdqn(_SHORT, {}, observations="image"),
    "qrdqn_dictionary": _qrdqn(_SHORT, {}, observations="dict"),
    "qrdqn_batch_norm": _qrdqn(
        {**_SHORT, "max_grad_norm": 0.5, "tau": 0.5},
        {**_SMALL, "n_quantiles": 5},
        user_code.batch_norm,
        features={**_WITHOUT_POLICY, "normalize": "observations"},
    ),
    "qrdqn_n_step": _qrdqn({**_SHORT, "n_steps": 3}),
    "tqc": _tqc(
        _SHORT, {}, around=lambda environment: TimeFeatureWrapper(environment, max_steps=10)
    ),
    "tqc_images": _tqc(_SHORT, {"share_features_extractor": True}, observations="image"),
    "tqc_dictionary": _tqc(_SHORT, {}, observations="dict"),
    "tqc_batch_norm": _tqc(
        {
            **_SHORT,
            "ent_coef": 0.1,
            "top_quantiles_to_drop_per_net": 1,
            "target_update_interval": 2,
        },
        {**_SMALL, "n_quantiles": 5, "n_critics": 3},
        user_code.batch_norm,
        features={**_WITHOUT_POLICY, **_BOTH},
    ),
    "tqc_gsde": _tqc(
        {**_SHORT, **_GSDE, "action_noise": None, "ent_coef": "auto_0.5", "target_entropy": -1.0},
        {**_SMALL, "use_expln": True},
    ),
    # before there were several steps, not every version loads an actor by itself
    "tqc_n_step": _tqc({**_SHORT, "n_steps": 3}, features=_WITH_ACTOR),
    "crossq": _crossq(_SHORT, {**_SMALL, "renorm_warmup_steps": 40}),
    "crossq_shared": _crossq(
        {**_SHORT, "ent_coef": 0.1, "policy_delay": 2},
        {**_SMALL, "share_features_extractor": True, "renorm_warmup_steps": 0, "n_critics": 3},
        user_code.without_bias,
        features={**_WITHOUT_POLICY, **_BOTH},
    ),
    "crossq_plain": _crossq(_SHORT, {**_SMALL, "batch_norm": False}),
    "crossq_gsde": _crossq(
        {**_SHORT, **_GSDE, "ent_coef": "auto_0.5", "target_entropy": -1.0},
        {**_SMALL, "use_expln": True},
    ),
    "crossq_n_step": _crossq({**_SHORT, "n_steps": 3}),
    "trpo": _trpo({"batch_size": 48}, {}, features={**_FEATURES, **_BOTH}),
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
        {}, {}, features={**_FEATURES, **_STOPPED}, actions="discrete", observations="image"
    ),
    "maskableppo_dictionary": _masked(
        {"clip_range_vf": None, "normalize_advantage": False},
        {**_SMALL, "share_features_extractor": False},
        actions="discrete",
        observations="dict-image",
    ),
    "maskableppo_multi_discrete": _masked(
        {},
        features={**_FEATURES, **_BOTH},
        learning=lambda model, wrappers: {"use_masking": False},
        actions="multi-discrete",
    ),
    "maskableppo_multi_binary": _masked(
        {"batch_size": None},
        features={**_FEATURES, "wrappers": ["monitor"]},
        actions="multi-binary",
    ),
    "maskableppo_dictionary_multi_discrete": _masked(
        {"batch_size": None}, actions="multi-discrete", observations="dict"
    ),
    "maskableppo_dictionary_multi_binary": _masked(
        {}, features={**_FEATURES, **_BOTH}, actions="multi-binary", observations="dict"
    ),
    "recurrentppo": _recurrent({}, _MEMORY, features={**_WITHOUT_POLICY, **_BOTH}),
    "recurrentppo_shared": _recurrent(
        _LOW_KL,
        {**_MEMORY, "shared_lstm": True, "enable_critic_lstm": False},
        features=_WITHOUT_POLICY,
        actions="discrete",
    ),
    "recurrentppo_feedforward": _recurrent(
        {"clip_range_vf": None, "normalize_advantage": False, "batch_size": None},
        {**_MEMORY, "enable_critic_lstm": False},
        features={**_WITHOUT_POLICY, **_STOPPED},
        actions="multi-discrete",
    ),
    "recurrentppo_matrix": _recurrent(
        {}, _MEMORY, features={**_WITHOUT_POLICY, "own_wrapper": "matrix-actions"}
    ),
    "recurrentppo_images": _recurrent({}, {}, observations="image"),
    "recurrentppo_dictionary": _recurrent(
        {"batch_size": None},
        {**_MEMORY, "share_features_extractor": False},
        features=_WITHOUT_POLICY,
        observations="dict-image",
    ),
    "recurrentppo_gsde": _recurrent(
        {"use_sde": True, "sde_sample_freq": 4},
        {**_MEMORY, "use_expln": True, "squash_output": True},
        features=_WITHOUT_POLICY,
    ),
    "ars": _ars({}, {}),
    "ars_discrete": _ars(
        {"n_top": 1, "alive_bonus_offset": -0.5, "zero_policy": False},
        {},
        policy="LinearPolicy",
        features=_WITHOUT_POLICY,
        actions="discrete",
    ),
    "ars_normalised": _ars(
        {"n_eval_episodes": 2},
        {"with_bias": True},
        policy="LinearPolicy",
        features={**_WITHOUT_POLICY, "normalize": "observations"},
    ),
    "ars_processes": _ars(
        {"n_top": 3},
        {},
        features={**_FEATURES, "normalize": "observations"},
        learning=_in_processes,
    ),
}
