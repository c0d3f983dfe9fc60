"""Parts of TorchRL used by themselves: losses, estimators, distributions, exploration, networks."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path

import pytest
import torch
import torchrl

from rlregress.frameworks.torchrl import parts
from rlregress.frameworks.torchrl.parts import (
    answers_of_distributions,
    blocks_of_actions,
    blocks_of_losses,
    corners_of_losses,
    corners_of_modules,
    distributions,
    estimators,
    exploration,
    functions,
    groups,
    inputs_of_losses,
    losses,
    networks,
    off_policy,
    on_policy,
    refusals_of_losses,
    shapes_of_actions,
    shapes_of_estimates,
    shapes_of_losses,
    sides_of_estimates,
)
from rlregress.tracing import events, swap

MODULES = (
    answers_of_distributions, blocks_of_actions, blocks_of_losses, corners_of_losses,
    corners_of_modules, distributions, estimators, exploration, functions, groups, inputs_of_losses,
    losses, networks, off_policy, on_policy, refusals_of_losses, shapes_of_actions,
    shapes_of_estimates, shapes_of_losses, sides_of_estimates,
)  # fmt: skip
NAMES = sorted(name for module in MODULES for name in module.PARTS)
ROOT = Path(torchrl.__file__).parent
#: part -> the item that a fault has to move, file, function, what stands there, and the fault.
FAULTS = {
    "tanh-normal-policy": (
        "act.action_log_prob",
        "modules/distributions/continuous.py",
        "TanhNormal.rsample_and_log_prob",
        "preimage = self.base_dist.rsample(sample_shape)",
        "preimage = 0.9 * self.base_dist.rsample(sample_shape)",
    ),
    "delta": (
        "log_prob",
        "modules/distributions/continuous.py",
        "Delta._is_equal",
        "is_equal.all(-1)",
        "is_equal.any(-1)",
    ),
    "v-trace-ends": (
        "ends.advantage",
        "objectives/value/functional.py",
        "vtrace_advantage_estimate",
        "terminated_discounts = gamma * not_terminated",
        "terminated_discounts = gamma",
    ),
    "missing-next-observations": (
        "GAE.advantage",
        "objectives/value/advantages.py",
        "ValueEstimatorBase._sanitize_next_obs_nan",
        "nan_mask = torch.isnan(nxt)",
        "nan_mask = torch.isinf(nxt)",
    ),
    "clip-ranges": (
        "width_0",
        "objectives/ppo.py",
        "ClipPPOLoss._clip_bounds",
        "            self.clip_epsilon.log1p(),",
        "            self.clip_epsilon,",
    ),
    "target-updates": (
        "soft.0.module.0.module.0.weight",
        "objectives/utils.py",
        "SoftUpdate._step",
        "1 - self.eps)",
        "0.9 - self.eps)",
    ),
    "sac-temperature": (
        "target",
        "objectives/sac.py",
        "SACLoss.target_entropy",
        "target_entropy = -float(",
        "target_entropy = float(",
    ),
    "noise-at-evaluation": (
        "random",
        "modules/tensordict_module/exploration.py",
        "AdditiveGaussianModule._add_noise",
        "action = spec.project(action)",
        "action = action",
    ),
    "noisy-layers": (
        "parameters.weight_sigma",
        "modules/models/exploration.py",
        "NoisyLinear.reset_parameters",
        "self.std_init / math.sqrt(self.in_features)",
        "self.std_init / self.in_features",
    ),
    "trust-region": (
        "clip_capped.loss_objective",
        "objectives/ppo.py",
        "PPOLoss._log_weight",
        "self.max_importance_ratio.log() - log_weight",
        "self.max_importance_ratio.log() + log_weight",
    ),
    "options-of-estimators": (
        "TD0Estimator_averaged.next.reward",
        "objectives/value/advantages.py",
        "TD0Estimator.value_estimate",
        "reward = reward / reward.std()",
        "reward = reward / reward.var()",
    ),
    "skipped-states": (
        "sac.loss_qvalue",
        "objectives/sac.py",
        "SACLoss._compute_target_v2",
        "next_action.new_zeros(mask.shape)",
        "next_action.new_ones(mask.shape)",
    ),
    "dueling-networks": (
        "vectors.outputs",
        "modules/models/models.py",
        "DuelingMlpDQNet.forward",
        "- advantage.mean(dim=-1, keepdim=True)",
        "- advantage.max(dim=-1, keepdim=True)[0]",
    ),
    "scaled-means": (
        "TanhNormal.draw",
        "modules/distributions/continuous.py",
        "TanhNormal.update",
        "loc = (loc / self.upscale).tanh() * self.upscale",
        "loc = (loc / self.upscale).tanh()",
    ),
    "targets-by-function": (
        "td0_return_estimate.several",
        "objectives/value/functional.py",
        "td0_return_estimate",
        "returns = reward + gamma * not_terminated * next_state_value",
        "returns = reward + gamma * next_state_value",
    ),
    "discounts-of-each-step": (
        "vec_generalized_advantage_estimate.one.0",
        "objectives/value/functional.py",
        "vec_generalized_advantage_estimate",
        "td0 = reward + not_terminated * gamma * next_state_value - state_value",
        "td0 = reward + not_terminated * gamma * next_state_value + state_value",
    ),
    "padded-sequences": (
        "rows",
        "objectives/value/utils.py",
        "roll_by_gather",
        "arange2 = (arange1 - shifts.unsqueeze(-1)) % n_cols",
        "arange2 = (arange1 + shifts.unsqueeze(-1)) % n_cols",
    ),
    "averages-of-groups": (
        "TD1Estimator.False.value_target",
        "objectives/value/advantages.py",
        "_standardize_by_group",
        "/ (count - 1).clamp_min(1)",
        "/ count.clamp_min(1)",
    ),
    "values-of-agents": (
        "grouped.advantage",
        "objectives/value/advantages.py",
        "MultiAgentGAE._normalize_advantage",
        "composite = groups.expand(adv.shape) * adv.shape[agent_dim] + agents",
        "composite = groups.expand(adv.shape) + 0 * agents",
    ),
    "keys-of-losses": (
        "a2c.out",
        "objectives/a2c.py",
        "A2CLoss.out_keys",
        'outs.append("entropy")',
        "pass",
    ),
    "networks-of-losses": (
        "ppo.put_back.after",
        "objectives/common.py",
        "LossModule.from_stateful_net",
        "self_params.data.update_(params.data)",
        "pass",
    ),
    "reduced-losses": (
        "dqn.sum.weighted.loss",
        "objectives/utils.py",
        "_reduce",
        "result = (tensor * weights).sum()",
        "result = (tensor / weights).sum()",
    ),
    "weights-of-priorities": (
        "sac.False.True.loss_qvalue",
        "objectives/common.py",
        "LossModule._maybe_get_priority_weight",
        'in (True, "auto")',
        'in (True, False, "auto")',
    ),
    "keys-of-losses-again": (
        "sac.back",
        "objectives/common.py",
        "LossModule.set_keys",
        "setattr(self.tensor_keys, key, getattr(self.default_keys(), key))",
        "pass",
    ),
    "advantages-by-returns": (
        "clip.RunningValueNorm.True.scale",
        "objectives/utils.py",
        "_valid_value_target_rows",
        "mask = entry if mask is None else mask & entry",
        "mask = ~entry",
    ),
    "helpers-of-losses": (
        "slower.rates",
        "objectives/utils.py",
        "KLAdaptiveLR.step",
        "scale = 1.0 / self.factor",
        "scale = self.factor",
    ),
    "squashed-numbers": (
        "tanh.gradient",
        "modules/distributions/utils.py",
        "_SafeTanh.backward",
        "(1 - output.pow(2))",
        "(1 - output.pow(3))",
    ),
    "known-entropies": (
        "rows",
        "modules/distributions/utils.py",
        "has_analytic_entropy",
        "return has_analytic_entropy(dist.base_dist)",
        "return False",
    ),
    "shapes-of-estimates": (
        "GAE.one.True.advantage",
        "objectives/value/advantages.py",
        "ValueEstimatorBase._shifted_last_valid",
        "valid.narrow(time_dim, 1, valid",
        "valid.narrow(1, time_dim, valid",
    ),
    "rooms-for-shifted-values": (
        "GAE.filled.False.advantage",
        "objectives/value/advantages.py",
        "ValueEstimatorBase._fill_missing_next_inputs",
        "next_data.set(key, value)",
        "pass",
    ),
    "ids-of-groups": (
        "GAE.flat.advantage",
        "objectives/value/advantages.py",
        "_standardize_by_group",
        "groups = groups.unsqueeze(-1)",
        "groups = groups.unsqueeze(-2)",
    ),
    "trifling-advantages": (
        "VTrace.trifling.True.advantage",
        "objectives/value/advantages.py",
        "VTrace.forward",
        "groups, eps=1e-5)",
        "groups, eps=2e-5)",
    ),
    "few-steps-that-count": (
        "MultiAgentGAE.1.False.advantage",
        "objectives/value/advantages.py",
        "MultiAgentGAE._normalize_advantage",
        "keepdim=True).clamp_min(1)",
        "keepdim=True).clamp_min(2)",
    ),
    "modes-of-estimators": (
        "GAE.size.alone",
        "objectives/value/advantages.py",
        "GAE.value_estimate",
        "gamma = gamma ** steps_to_next_obs.view_as(reward)",
        "pass",
    ),
    "refusals-of-estimators": (
        "GAE.differ",
        "objectives/value/advantages.py",
        "ValueEstimatorBase._resolve_num_chunks",
        "num_chunks != num_chunk:",
        "num_chunks == num_chunk:",
    ),
    "corrected-estimates": (
        "tensors.value_target",
        "objectives/value/functional.py",
        "vtrace_advantage_estimate",
        "rho.clamp_max(rho_thresh)",
        "rho.clamp_max(c_thresh)",
    ),
    "transformed-shapes": (
        "rows.wider_rows.draw",
        "modules/distributions/utils.py",
        "FasterTransformedDistribution.__init__",
        ": len(expanded_base_shape) - base_event_dim",
        ": len(expanded_base_shape) + base_event_dim",
    ),
    "actions-at-bounds": (
        "TruncatedNormal.unit.0.0.gradient",
        "modules/distributions/continuous.py",
        "TruncatedNormal.log_prob",
        "a = self.base_dist._non_std_a + self.base_dist._dtype_min_gt_0",
        "a = (self.base_dist._non_std_a)",
    ),
    "updated-distributions": (
        "TanhNormal.elsewhere.draw",
        "modules/distributions/continuous.py",
        "TanhNormal.update",
        "loc = loc + (self.high - self.low) / 2 + self.low",
        "loc = loc + (self.high - self.low) / 2",
    ),
    "draws-without-chance": (
        "near.0.05.relative",
        "modules/distributions/continuous.py",
        "Delta._is_equal",
        "self.atol + self.rtol * abs(param)",
        "self.atol + self.rtol",
    ),
    "composite-distributions": (
        "nested.False.entropy.body.move_entropy",
        "modules/distributions/utils.py",
        "composite_entropy",
        "entropy_name = name[:-1] + (name",
        "entropy_name = name[1:] + (name",
    ),
    "specifications-of-actors": (
        "bounded.random.True.action",
        "modules/tensordict_module/probabilistic.py",
        "SafeProbabilisticModule.__init__",
        "self.register_forward_hook(_forward_hook_safe_action)",
        "pass",
    ),
    "noise-on-every-key": (
        "AdditiveGaussianModule.deterministic.safe_True.0.action",
        "modules/tensordict_module/exploration.py",
        "AdditiveGaussianModule.__init__",
        "self.register_forward_hook(_forward_hook_safe_action)",
        "pass",
    ),
    "default-keys-of-losses": (
        "a2c.False",
        "objectives/a2c.py",
        "A2CLoss._AcceptedKeys.__post_init__",
        "if self.sample_log_prob is None:",
        "if self.sample_log_prob is not None:",
    ),
    "devices-of-losses": (
        "ppo.split",
        "objectives/common.py",
        "LossModule._default_device",
        "if len(devices) == 1:",
        "if len(devices) != 1:",
    ),
    "specifications-of-losses": (
        "td3.deeper.nested.least",
        "objectives/td3.py",
        "TD3Loss.__init__",
        "and len(self.tensor_keys.action) > 1",
        "and len(self.tensor_keys.action) > 2",
    ),
    "distributional-choices": (
        "categorical.plain.loss",
        "objectives/dqn.py",
        "DistributionalDQNLoss._log_ps_a_categorical",
        "new_shape = [-1] * len(action.shape)",
        "new_shape = [-2] * len(action.shape)",
    ),
    "heads-in-every-loss": (
        "ppo.True.row.False.entropy",
        "objectives/ppo.py",
        "PPOLoss._get_entropy",
        "if is_tensor_collection(entropy) and entropy",
        "if is_tensor_collection(entropy) or entropy",
    ),
    "steps-that-count-in-losses": (
        "dqn.column.loss",
        "objectives/common.py",
        "LossModule._expand_loss_mask",
        "mask = mask.squeeze(-1)",
        "break",
    ),
    "vanishing-discounts": (
        "vec_generalized_advantage_estimate.at.one.0",
        "objectives/value/functional.py",
        "vec_generalized_advantage_estimate",
        "first_below_thr = gammalmbdas < 1e-7",
        "first_below_thr = gammalmbdas <= 1e-7",
    ),
    "refusals-of-functions": (
        "td0_return_estimate.next.wide",
        "objectives/value/functional.py",
        "td0_return_estimate",
        "next_state_value.shape",
        "reward.shape",
    ),
    "constructors-of-losses": (
        "kl.edge.loss_objective",
        "objectives/ppo.py",
        "KLPENPPOLoss.__init__",
        "if increment < 1.0:",
        "if increment <= 1.0:",
    ),
    "batches-that-lack": (
        "ppo.gradient.action_log_prob",
        "objectives/ppo.py",
        "PPOLoss._log_weight",
        "if prev_log_prob.requires_grad:",
        "if False:",
    ),
    "scheduled-coefficients": (
        "clip.one.clip_epsilon_low",
        "objectives/ppo.py",
        "ClipPPOLoss.__setattr__",
        "and name not in self._buffers",
        "and name in self._buffers",
    ),
    "updaters-of-targets": (
        "loaded.state",
        "objectives/utils.py",
        "TargetNetUpdater.load_state_dict",
        'self.counter = state_dict["counter"]',
        "pass",
    ),
    "registered-estimators": (
        "mixed.entry",
        "objectives/utils.py",
        "_coerce_value_type",
        "key = value_type.lower()",
        "key = value_type",
    ),
    "randomness-of-critics": (
        "sac.same.modes",
        "objectives/common.py",
        "LossModule.set_vmap_randomness",
        "self._vmap_randomness = value",
        "pass",
    ),
    "own-losses": (
        "copies.shapes",
        "objectives/common.py",
        "LossModule.convert_to_functional",
        "if expand_dim:",
        "if not expand_dim:",
    ),
    "odd-helpers": (
        "rates.rates",
        "objectives/utils.py",
        "KLAdaptiveLR.step",
        "elif 0.0 < kl < 0.5",
        "elif 0.0 < kl <= 0.5",
    ),
    "blocks-of-distributions": (
        "TruncatedNormal.blocks.plain.outside",
        "modules/distributions/continuous.py",
        "TruncatedNormal.log_prob",
        "above_or_below.flatten(-len(self.event_shape), -1)",
        "above_or_below.flatten((len(self.event_shape)), -1)",
    ),
    "squashed-blocks": (
        "TruncatedNormal.wide.1.True.then",
        "modules/distributions/continuous.py",
        "TruncatedNormal.update",
        "loc = (loc / self.upscale).tanh() * self.upscale",
        "loc = (loc / self.upscale).tanh() / self.upscale",
    ),
    "distributions-aside": (
        "TanhNormal.scale.updated",
        "modules/distributions/continuous.py",
        "TanhNormal.update",
        "elif scale.device != loc.device:",
        "elif scale.device == loc.device:",
    ),
    "starts-of-many-environments": (
        "row.last.1.action",
        "modules/tensordict_module/exploration.py",
        "_OrnsteinUhlenbeckProcess._make_noise_pair",
        "noise = torch.masked_fill(noise, expand_right(is_init, noise.shape), 0)",
        "pass",
    ),
    "noise-in-rows": (
        "row.categorical.always",
        "modules/tensordict_module/exploration.py",
        "EGreedyModule.forward",
        "not len(spec.shape)",
        "len(spec.shape)",
    ),
    "parameters-of-one-side": (
        "VTrace.params.False.advantage",
        "objectives/value/advantages.py",
        "VTrace.forward",
        "target_params = params.clone(False)",
        "pass",
    ),
    "discounts-aside": (
        "TDLambdaEstimator.batch.value_estimate",
        "objectives/value/advantages.py",
        "TDLambdaEstimator.value_estimate",
        "if self.gamma.device != device:",
        "if self.gamma.device == device:",
    ),
    "odd-batches-of-estimators": (
        "GAE.started.True.advantage",
        "objectives/value/advantages.py",
        "ValueEstimatorBase._call_value_net_shifted",
        'next_part["is_init"] = next_part["is_init"] | root_part["is_init"]',
        "pass",
    ),
    "corrections-of-actors": (
        "normal.DETERMINISTIC.advantage",
        "objectives/value/advantages.py",
        "_call_actor_net",
        "if current_interaction is InteractionType.RANDOM:",
        "if current_interaction is not InteractionType.RANDOM:",
    ),
    "thin-numbers": (
        "td0_return_estimate.one_step.named",
        "objectives/value/functional.py",
        "td0_return_estimate",
        "terminated = done.clone()",
        "terminated = ~done",
    ),
    "discounts-of-losses": (
        "ppo.default.gamma",
        "objectives/common.py",
        "LossModule._prepare_value_estimator_kwargs",
        'hp["gamma"] = self.gamma',
        "pass",
    ),
    "heads-told-otherwise": (
        "ppo.True.plain.loss_objective",
        "objectives/ppo.py",
        "PPOLoss._log_weight",
        "log_prob = _sum_td_features(log_prob)",
        "log_prob = -_sum_td_features(log_prob)",
    ),
    "losses-by-themselves": (
        "widened.tokens",
        "objectives/ppo.py",
        "_broadcast_advantage_to_log_weight",
        "or log_weight.ndim <= advantage.ndim",
        "or log_weight.ndim > advantage.ndim",
    ),
    "corners-of-critics": (
        "discrete.categorical.False.False.True.loss_qvalue",
        "objectives/sac.py",
        "DiscreteSACLoss.qvalue_loss",
        "if action.shape != action_value.shape:",
        "if action.shape == action_value.shape:",
    ),
    "utilities-of-losses": (
        "reduced.mean.mask",
        "objectives/utils.py",
        "_reduce",
        "result = (tensor * mask).sum() / mask.sum()",
        "result = (tensor * mask).sum() * mask.sum()",
    ),
    "keys-set-back": (
        "sac.value",
        "objectives/common.py",
        "LossModule.set_keys",
        "setattr(self.tensor_keys, key, getattr(self.default_keys(), key))",
        "setattr(self.tensor_keys, getattr(self.default_keys(), key), key)",
    ),
    "held-by-losses": (
        "sac.least.max_log_alpha",
        "objectives/sac.py",
        "SACLoss.__init__",
        "max_alpha = max_alpha if max_alpha else 1e9",
        "max_alpha = max_alpha if max_alpha else 2e9",
    ),
    "named-by-policies": (
        "SACLoss.renamed.True.keys",
        "objectives/sac.py",
        "SACLoss.__init__",
        "self.set_keys(log_prob=log_prob_keys[0], action=action_keys[0])",
        "pass",
    ),
    "inputs-that-lack": (
        "a2c.none.loss_objective",
        "objectives/a2c.py",
        "A2CLoss._log_probs",
        "*self.actor_network.in_keys, strict=False",
        "*self.actor_network.in_keys, strict=True",
    ),
    "frozen-networks": (
        "a2c.shared.True.needed.loss_critic",
        "objectives/a2c.py",
        "A2CLoss.loss_critic",
        "self.critic_network, preserve_module_state=False",
        "self.critic_network, preserve_module_state=True",
    ),
    "skipped-blocks": (
        "sac.2_1_3.loss_qvalue",
        "objectives/sac.py",
        "SACLoss._compute_target_v2",
        "                        mask = ~done.squeeze(-1)\n"
        "                        if mask.ndim < next_sample_log_prob.ndim:",
        "                        mask = ~done.squeeze((1))\n"
        "                        if mask.ndim < next_sample_log_prob.ndim:",
    ),
    "losses-in-blocks": (
        "ddpg.1_4.none.loss_actor",
        "objectives/ddpg.py",
        "DDPGLoss.loss_actor",
        "-td_copy.get(self.tensor_keys.state_action_value).squeeze(-1)",
        "-td_copy.get(self.tensor_keys.state_action_value).squeeze((1))",
    ),
    "coefficients-of-zero": (
        "clip.1.0",
        "objectives/utils.py",
        "_validate_clip_epsilon",
        "if eps_low >= 1.0:",
        "if eps_low > 1.0:",
    ),
    "hints-of-estimators": (
        "GAE.none.True.own.advantage",
        "objectives/value/advantages.py",
        "ValueEstimatorBase._call_value_net_shifted",
        "root_part = data.select(*in_keys, value_key, strict=False)",
        "root_part = data.select(*in_keys, value_key, strict=True)",
    ),
    "derived-losses": (
        "actor_loss",
        "objectives/common.py",
        "_LossMeta.__init__",
        "setattr(cls, name, _forward_wrapper(value))",
        "pass",
    ),
    "held-by-others": (
        "EGreedyModule.given.eps_end",
        "modules/tensordict_module/exploration.py",
        "EGreedyModule.__init__",
        'self.register_buffer("eps_end"',
        'self.register_buffer("eps_last"',
    ),
    "odd-distributions": (
        "composite.False.sample_and_log_prob.score.head_log_prob",
        "modules/distributions/utils.py",
        "sample_and_log_prob",
        'log_prob_name = name + "_log_prob"',
        'log_prob_name = "_log_prob"',
    ),
    "specified-afterwards": (
        "drawn",
        "modules/tensordict_module/exploration.py",
        "RandomPolicy.set_action_spec_from_env",
        "if self.action_spec is None:",
        "if self.action_spec is not None:",
    ),
}
#: the same of faults that stand beside those: of a part that sees several.
ALSO = [
    ("keys-set-back", (
        "a2c.out_keys", "objectives/a2c.py", "A2CLoss.out_keys", "self._out_keys = value", "pass",
    )),
    ("keys-set-back", (
        "td3.reward", "objectives/td3.py", "TD3Loss._forward_value_estimator_keys",
        "        self._set_in_keys()", "        pass",
    )),
    ("keys-set-back", (
        "ddpg.reward", "objectives/ddpg.py", "DDPGLoss._forward_value_estimator_keys",
        "        self._set_in_keys()", "        pass",
    )),
    ("held-by-losses", (
        "sac.most.min_log_alpha", "objectives/sac.py", "SACLoss.__init__",
        "min_alpha if min_alpha else 0.0", "min_alpha if min_alpha else 1.0",
    )),
    ("held-by-losses", (
        "sac.plain.fixed_alpha", "objectives/sac.py", "SACLoss.__init__",
        "self.fixed_alpha = fixed_alpha", "pass",
    )),
    ("frozen-networks", (
        "sac_1.own.True.needed.loss_qvalue", "objectives/sac.py", "SACLoss.__init__",
        "q_value_policy_params = policy_params + value_params",
        "q_value_policy_params = (policy_params)",
    )),
    ("named-by-policies", (
        "SACLoss.heads.False.keys", "objectives/sac.py", "SACLoss.__init__",
        "self.set_keys(log_prob=log_prob_keys, action=action_keys)", "pass",
    )),
    ("inputs-that-lack", (
        "a2c.keys", "objectives/a2c.py", "A2CLoss.in_keys",
        "keys.extend(self.critic_network.in_keys)", "pass",
    )),
    ("frozen-networks", (
        "a2c.kept.unscored.loss_objective", "objectives/a2c.py", "A2CLoss.__init__",
        "self.target_critic_network_params = None", "pass",
    )),
    ("losses-in-blocks", (
        "sac.told.non_tensor.keys", "objectives/sac.py", "SACLoss.forward",
        'td_out.set_non_tensor("alpha", self._alpha)', "pass",
    )),
    ("coefficients-of-zero", (
        "PPOLoss.critic.1.True.told", "objectives/ppo.py", "PPOLoss.__init__",
        "elif critic_coeff in (None, 0) and critic", "elif critic_coeff in (None, 1) and critic",
    )),
    ("coefficients-of-zero", (
        "PPOLoss.none.None.False.told", "objectives/ppo.py", "PPOLoss.__init__",
        "self.critic_network_params = None\n", "pass\n",
    )),
    ("derived-losses", (
        "ppo.put.ours", "objectives/common.py", "LossModule.from_stateful_net",
        "getattr(self, network_name).load_state_dict(stateful_net.state_dict())", "pass",
    )),
    ("losses-in-blocks", (
        "discrete_sac.1_2_4.mean.loss_qvalue", "objectives/sac.py",
        "DiscreteSACLoss._compute_target", ".sum(-1).unsqueeze(-1)", ".sum(-1).unsqueeze((1))",
    )),
    ("losses-in-blocks", (
        "ppo.standardised.2_4.1e-05.3.loss_objective", "objectives/ppo.py",
        "PPOLoss._standardize_advantage", ".clamp_min(1e-4)", ".clamp_min(2e-4)",
    )),
    ("losses-in-blocks", (
        "ppo.standardised.2.1.0.-1.loss_objective", "objectives/ppo.py",
        "PPOLoss._maybe_normalize_advantage", "advantage.numel() > 1", "advantage.numel() > 2",
    )),
    ("held-by-losses", (
        "ppo.by_head.entropy_coeff", "objectives/ppo.py", "PPOLoss.__init__",
        'self.register_coeff_buffer("entropy_coeff", 0.0, device=device)', "pass",
    )),
    ("coefficients-of-zero", (
        "ppo.taken_away", "objectives/common.py", "LossModule.value_estimator",
        "self._value_estimator = value\n", "pass\n",
    )),
    ("specifications-of-losses", (
        "td3.uneven.least", "objectives/td3.py", "TD3Loss.__init__",
        "(0,) * len(action_container_shape)", "(1,) * len(action_container_shape)",
    )),
    ("specifications-of-losses", (
        "td3.lowest.named.least", "objectives/td3.py", "TD3Loss.__init__",
        "self.tensor_keys.action[:-1]", "self.tensor_keys.action[:(1)]",
    )),
]  # fmt: skip


def outputs(name: str) -> dict[str, object]:
    """What a part returns, as a trace notes it."""
    state = torch.get_rng_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = parts.use(name, None, 0)
    torch.set_rng_state(state)
    return {
        label: (events.part(item), events.types_of({"": item})) for label, item in found.items()
    }


@functools.cache
def first(name: str) -> dict[str, object]:
    """What a part returns the first time that it is asked."""
    return outputs(name)


def put(fault: tuple[str, ...], faulty: bool) -> None:
    """Put a fault into the function of the installed code, or take it out again."""
    _, file, function, stands, instead = fault
    text = (ROOT / file).read_text(encoding="utf-8")
    assert stands in text
    text = text.replace(stands, instead) if faulty else text
    change = {"file": f"torchrl/{file}", "functions": [function], "text": text}
    assert not swap.swap([change], [str(ROOT)])


@pytest.mark.parametrize("name", NAMES)
def test_a_part_answers_the_same_twice(name):
    """On the installed version, and whatever has been asked in between."""
    assert first(name)
    assert outputs(name) == first(name)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *(pytest.param(name, FAULTS[name], id=name) for name in sorted(FAULTS)),
        *(
            pytest.param(*each, id=f"{each[0]}-{each[1][0]}", marks=pytest.mark.nightly)
            for each in ALSO
        ),
    ],
)
def test_a_part_shows_a_fault_in_what_it_is_about(name, fault):
    """The item that it is about is another one."""
    item, sound = f"{name}.{fault[0]}", first(name)
    put(fault, True)
    try:
        found = outputs(name)
    finally:
        put(fault, False)
    # one that is refused now has no item of this name, and the other way round
    assert found.get(item) != sound.get(item)
    assert item in sound or item in found


@pytest.mark.parametrize("name", ["ppo-losses", "off-policy-losses", "sac-near-bounds"])
def test_losses_reach_the_parameters(name):
    """There are gradients."""
    assert any(".gradient." in label for label in first(name))
