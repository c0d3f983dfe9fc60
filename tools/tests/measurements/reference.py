"""Agents in NumPy that can be the variants that no two frameworks show at every commit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlregress.formulas import critics, quantiles, trpo
from rlregress.measurements.driven_agents import LoopRecord, do_nothing


def compute_target(settings, mask, following):
    """Return the target of a step whose next value is ``following``."""
    ends = {
        "terminated": settings.terminated,
        "done": max(settings.terminated, settings.truncated),
        "everything": 1.0,
    }
    return settings.reward + settings.discount * (1.0 - ends[mask]) * following


@dataclass
class DiscreteAgent:
    """A deep Q-network whose parameters are its values in every state.

    The options are the ways to do it; those of the defaults are Mnih et al. 2015.
    """

    settings: object
    next_value: str = "max_target"
    mask: str = "terminated"
    share: float = 1.0
    deterministic: str = "greedy"

    def set_values(self, online, target):
        self.online, self.target = np.array(online, dtype=float), np.array(target, dtype=float)

    def fill_parameters(self, online, target):
        self.set_values([online], [target])

    def read_target_parameter(self):
        return self.target[0]

    def compute_loss(self, online, target):
        self.set_values(online, target)
        following = {
            "max_target": self.target.max(),
            "double": self.target[self.online.argmax()],
            "max_online": self.online.max(),
        }[self.next_value]
        return (self.online[0] - compute_target(self.settings, self.mask, following)) ** 2

    def run_loop(self, on_start=do_nothing, on_step=do_nothing):
        s = self.settings
        on_start(0)
        for step in range(s.steps):
            on_step(step)
            if (step + 1) % s.target_every == 0:
                self.target = (1.0 - self.share) * self.target + self.share * self.online
        on_step(s.steps)
        return LoopRecord([[0.0] * s.steps])

    def choose_action(self, q_values, deterministic):
        if deterministic and self.deterministic == "none":
            return None
        # every draw is below epsilon: a random action, which is not the best
        return int(np.argmax(q_values)) if deterministic and self.deterministic == "greedy" else 0


@dataclass
class ContinuousAgent:
    """Q networks and a policy of one parameter each; the defaults are Lillicrap et al. 2016."""

    settings: object
    critics: int = 1
    target_critics: int = 1
    mask: str = "terminated"
    distance: str = "squared"
    factor: float = 1.0
    sum_batch: bool = False
    climbs: str = "online"
    sign: float = -1.0
    policy_every: int = 1
    targets_every: int = 1
    noise_default: float = 0.0
    random_until: str = "starts"
    random_draws: str = "each"
    clip: float = np.inf
    values: tuple = (0.0, 0.0)
    policy: float = 0.0

    def set_values(self, online, target):
        self.values = (online, target)

    def set_policy(self, online, target):
        self.policy = online

    def fill_parameters(self, online, target):
        self.values, self.policy = (online, target), online

    def read_target_parameters(self):
        return self.values[1], None

    def count_networks(self):
        return self.critics, self.target_critics

    def _error(self):
        return self.values[0] - compute_target(self.settings, self.mask, self.values[1])

    def compute_losses(self, online, target):
        self.set_values(online, target)
        times = self.factor * (self.settings.batch_size if self.sum_batch else 1.0)
        climbed = {"online": online, "target": target}[self.climbs]
        loss = times * critics.DISTANCES[self.distance](self._error())
        return float(loss), self.sign * climbed

    def _action(self, t, rng):
        s = self.settings
        if self.random_until == "starts" and t < s.starts:
            draws = np.random.default_rng(0) if self.random_draws == "one" else rng
            return draws.uniform(-1.0, 1.0)
        noise = self.noise_default * rng.normal() if s.noise is None else s.noise
        return float(np.tanh(self.policy) + noise)

    def run_loop(self, on_start=do_nothing, on_step=do_nothing):
        s, rng = self.settings, np.random.default_rng(0)
        actions, noted, roles, updates = [], [], [], 0
        on_start(0)
        for step in range(s.steps):
            on_step(step)
            actions.append(self._action(step, rng))
            if step + 1 < s.starts:
                continue
            updates += 1
            noted.append((step + 1, min(abs(2.0 * self._error()) * 10.0, self.clip)))
            roles.append("values")
            if updates % self.policy_every == 0:
                noted.append((step + 1, 1.0))
                roles.append("policy")
            if updates % self.targets_every == 0:
                online, target = self.values
                self.values = (online, 0.5 * (online + target))
        on_step(s.steps)
        return LoopRecord([actions], noted, roles)


@dataclass
class QuantileAgent:
    """Values as quantiles, of networks that all say the same; the defaults are Dabney et al. 2018.

    The options are the ways to do it.
    """

    settings: object
    threshold: float = 1.0
    place: float = 0.5
    weighs: str = "fraction"
    reduction: str = "sum"
    sum_batch: bool = False
    sum_networks: bool = False
    chooses_by: str = "mean"

    def _loss(self, values, targets):
        n = len(values)
        errors = targets[None, :] - values[:, None]
        tau = quantiles.compute_quantile_fractions(n, self.place)[:, None]
        weight = {
            "fraction": quantiles.compute_quantile_weight(tau, errors),
            "half": 0.5,
            "one": 1.0,
        }[self.weighs]
        distances = (
            quantiles.compute_huber(errors, self.threshold) if self.threshold else np.abs(errors)
        )
        factor = {"sum": n, "mean": 1}[self.reduction]
        factor *= self.settings.batch_size if self.sum_batch else 1
        factor *= self.settings.networks if self.sum_networks else 1
        return float(factor * (weight * distances).mean())

    def compute_quantile_loss(self, values):
        return self._loss(np.array(values), np.full(len(values), self.settings.reward))

    def _chosen(self, values):
        statistic = np.median if self.chooses_by == "median" else np.mean
        return quantiles.choose_greedy_action(values, statistic)

    def compute_loss(self, online, target):
        s = self.settings
        online, target = (np.broadcast_to(v, (s.quantiles, s.actions)) for v in (online, target))
        following = target[:, self._chosen(online if self.chooses_by == "double" else target)]
        if self.chooses_by == "each_quantile":
            following = target.max(axis=1)
        return self._loss(online[:, 0], s.reward + s.discount * following)

    def choose_action(self, q_values, deterministic):
        return self._chosen(q_values)


@dataclass
class GaussianAgent:
    """A Gaussian that is updated by its trust region; the defaults are Schulman et al. 2015.

    The options are the ways to do it. Of a mean m and a log deviation d, from 0 both.
    """

    bound: float = 0.01
    damping: float = 0.1
    natural: bool = True
    factor: float = 0.8
    divergence: str = "new_old"
    improvement: str = "any"

    def _divergence(self, m, d):
        return {
            "new_old": 0.5 * (np.exp(2.0 * d) + m**2 - 1.0) - d,
            "old_new": 0.5 * ((1.0 + m**2) * np.exp(-2.0 * d) - 1.0) + d,
            "ignored": 0.0,
        }[self.divergence]

    def __call__(self, actions, advantages, bound=None, damping=None):
        x, advantages = np.array(actions), np.array(advantages)
        bound = self.bound if bound is None else bound
        damping = self.damping if damping is None else damping
        gradient = np.mean(advantages * [x, x**2 - 1.0], axis=1)
        fisher = trpo.compute_fisher_information() + damping * np.eye(2)
        direction = np.linalg.solve(fisher, gradient) if self.natural else gradient
        longest = direction * np.sqrt(2.0 * bound / (direction @ fisher @ direction))
        share, promises = 1.0, {"half_proportional": 1.0, "half_compounded": 1.0, "any": 1e-9}
        for _ in range(30):
            m, d = share * longest
            ratios = np.exp(0.5 * (x**2 - ((x - m) / np.exp(d)) ** 2) - d)
            gain = np.mean(advantages * (ratios - 1.0)) / (gradient @ longest)
            enough = gain > 0.5 * promises.get(self.improvement, -np.inf)
            if enough and self._divergence(m, d) <= bound * (1.0 + 1e-9):
                return m, d
            share *= self.factor
            promises["half_proportional"] = share
            promises["half_compounded"] *= share
        return 0.0, 0.0
