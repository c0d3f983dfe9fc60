"""Probes of behaviour that no source states: losses, modules, trainers."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.torchrl.api import (
    Categorical,
    EGreedyModule,
    HardUpdate,
    IndependentNormal,
    LazyTensorStorage,
    SACLoss,
    TanhDelta,
    TanhNormal,
    TD3Loss,
    TensorDict,
    TensorDictModule,
    TensorDictReplayBuffer,
)
from rlregress.frameworks.torchrl.compat import (
    LOG_PROBS,
    call_with_newest_keywords,
    find_action_spec,
    make_sac_loss,
    read_renamed,
)
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    FixedLocScale,
    LinearQNetwork,
    make_action_box,
    make_q_network,
    make_stochastic_policy,
)
from rlregress.frameworks.torchrl.observe.helpers import tiny_trainers
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.probing.interface import Inputs
from rlregress.probing.isolation import shift_seed
from rlregress.probing.scripted import Scripted


def _measure_mode_of_tanh_delta(inputs: Inputs) -> float:
    zero, (low, high) = (
        torch.zeros(1),
        (torch.tensor([inputs["low"]]), torch.tensor([inputs["high"]])),
    )
    return float(call_with_newest_keywords(TanhDelta, zero, low=low, high=high).mode)


def _measure_mode_of_tanh_normal(inputs: Inputs) -> float:
    low, high = torch.tensor([inputs["low"]]), torch.tensor([inputs["high"]])
    distribution = call_with_newest_keywords(
        TanhNormal, torch.zeros(1), torch.ones(1), low=low, high=high, tanh_loc=True
    )
    return float(read_renamed(distribution, "deterministic_sample"))


def _measure_executed_action_beyond_bounds(inputs: Inputs) -> float:
    environment = Scripted(inputs["low"], inputs["high"])
    spec = find_action_spec(wrap_environment(environment))
    actor = make_stochastic_policy(
        FixedLocScale([inputs["mean"]], [1e-6], tiny_trainers.SINGLE), spec, IndependentNormal
    )
    list(tiny_trainers.make_collector(environment, actor, 1))
    return float(environment.received[0].item())


def _measure_share_of_wrong_log_probs(inputs: Inputs) -> float:
    environment = Scripted()
    actor = tiny_trainers.make_squashed_policy(environment, [inputs["mean"]], 1.0)
    torch.manual_seed(shift_seed(int(inputs["seed"])))
    (batch,) = list(tiny_trainers.make_collector(environment, actor, int(inputs["count"])))
    with torch.no_grad():
        now = actor.get_dist(batch).log_prob(batch["action"])
    (stored,) = [batch[name] for name in LOG_PROBS if name in batch.keys()]  # noqa: SIM118
    return float((torch.abs(now - stored) > 0.01).double().mean())


def _flag_critics_with_equal_weights(inputs: Inputs) -> list[float]:
    weights = torch.as_tensor(inputs["weights"]).reshape(1, -1)
    network = LinearQNetwork(bias=False, dtype=torch.float64)
    with torch.no_grad():
        network.layer.weight.copy_(weights)
    actor = make_stochastic_policy(
        FixedLocScale([0.0], [1.0]), make_action_box(-1.0, 1.0), TanhNormal
    )
    loss = SACLoss(actor, make_q_network(network), num_qvalue_nets=2)
    (copies,) = [p.data for p in loss.qvalue_network_params.values(True, True)]
    return [float(torch.equal(copy, weights)) for copy in copies]


def _measure_critic_count(inputs: Inputs) -> list[float]:
    del inputs
    actor = make_stochastic_policy(
        FixedLocScale([0.0], [1.0]), make_action_box(-1.0, 1.0), TanhNormal
    )
    sac = SACLoss(actor, make_q_network(Constant(0.0)))
    deterministic = TensorDictModule(Constant(0.0), in_keys=["observation"], out_keys=["action"])
    td3 = TD3Loss(
        deterministic, make_q_network(Constant(0.0)), action_spec=make_action_box(-1.0, 1.0)
    )
    copies = [next(iter(m.qvalue_network_params.values(True, True))) for m in (sac, td3)]
    return [float(len(parameter)) for parameter in copies]


def _measure_share_of_mixed_exploration(inputs: Inputs) -> float:
    environments = int(inputs["environments"])
    explore = EGreedyModule(Categorical(int(inputs["actions"])), eps_init=inputs["epsilon"])
    torch.manual_seed(shift_seed(int(inputs["seed"])))
    mixed = []
    for _ in range(int(inputs["calls"])):
        greedy = torch.zeros(environments, dtype=torch.long)
        same = explore(TensorDict({"action": greedy.clone()}, [environments]))["action"] == greedy
        mixed.append(bool(same.any()) and not bool(same.all()))
    return float(np.mean(mixed))


def _measure_gaps_between_hard_updates(inputs: Inputs) -> Any:
    actor = make_stochastic_policy(
        FixedLocScale([0.0], [1.0]), make_action_box(-1.0, 1.0), TanhNormal
    )
    loss = make_sac_loss(actor, [make_q_network(Constant(0.0)) for _ in range(2)])
    updater = HardUpdate(loss, value_network_update_interval=int(inputs["interval"]))
    copies = []
    for step in range(1, int(inputs["steps"]) + 1):
        # the trained networks move at every step, so that a copy shows
        for parameter in loss.qvalue_network_params.values(True, True):
            parameter.data.fill_(float(step))
        updater.step()
        targets = loss.target_qvalue_network_params.values(True, True)
        if all(bool((p == step).all()) for p in targets):
            copies.append(step)
    return np.diff(copies[:3])


def _measure_share_of_reset_steps(inputs: Inputs) -> list[float]:
    ends = [0.0] * (int(inputs["episode"]) - 1) + [1.0]
    steps = int(inputs["steps"])
    vectorised: Any = gymnasium.vector.SyncVectorEnv(
        [lambda: Scripted(rewards=[1.0], terminated=ends)]
    )
    try:
        environment = wrap_environment(vectorised)
    except RuntimeError:
        return [1.0, 0.0]
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(steps))
    buffer.extend(tiny_trainers.collect_random_batch(environment, steps).reshape(-1))
    return [0.0, float((buffer[:]["next", "reward"] == 0.0).double().mean())]


PROBES: dict[tuple[str, str], Raw] = {
    ("policy.centre.deterministic", "library"): _measure_mode_of_tanh_delta,
    ("policy.centre.gaussian", "library"): _measure_mode_of_tanh_normal,
    ("policy.out_of_bounds", "library"): _measure_executed_action_beyond_bounds,
    ("policy.stored_log_prob", "library"): _measure_share_of_wrong_log_probs,
    ("networks.single_critic", "library"): _flag_critics_with_equal_weights,
    ("networks.critic_count", "library"): _measure_critic_count,
    ("dqn.exploration.draw", "library"): _measure_share_of_mixed_exploration,
    ("target.hard_update_period", "library"): _measure_gaps_between_hard_updates,
    ("collection.autoreset", "library"): _measure_share_of_reset_steps,
}
