"""An agent in NumPy that can be every variant of every detail: what measurements are tested on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rlregress.formulas import critics, quantiles, trpo
from rlregress.measurements.driven_agents import LoopRecord, do_nothing


@dataclass
class DiscreteAgent:
    """A deep Q-network of one layer: Q(s, a) = weight * x + bias[a], with x = 1000 in every state.

    The options are the ways to do it; those of the defaults are Mnih et al. 2015.
    """

    settings: object
    next_value: str = "max_target"
    ties: str = "one"
    mask: str = "terminated"
    distance: str = "squared"
    factor: float = 1.0
    sum_batch: bool = False
    clip: float = np.inf
    interval_counts: str = "environment_steps"
    share: float = 1.0
    every_counts: str = "transitions"
    late: int = 0
    epsilon_is: str = "linear"
    deterministic: str = "greedy"
    random_until: str = "starts"
    first_update_later: int = 0
    one_environment: bool = False
    online: dict = field(default_factory=lambda: {"weight": 0.0, "bias": 0.0})
    target: dict = field(default_factory=lambda: {"weight": 0.0, "bias": 0.0})

    def set_values(self, online, target):
        self.online = {"weight": 0.0, "bias": np.array(online, dtype=float)}
        self.target = {"weight": 0.0, "bias": np.array(target, dtype=float)}

    def fill_parameters(self, online, target):
        count = self.settings.actions
        self.online = {"weight": online, "bias": np.full(count, online)}
        self.target = {"weight": target, "bias": np.full(count, target)}

    def read_target_parameter(self):
        return self.target["weight"]

    def _values(self, network):
        return 1000.0 * network["weight"] + network["bias"] * np.ones(self.settings.actions)

    def _next(self):
        online, target = self._values(self.online), self._values(self.target)
        if self.ties == "sum":
            return float(np.sum(target[target == target.max()]))
        return {
            "max_target": target.max(),
            "double": target[online.argmax()],
            "max_online": online.max(),
        }[self.next_value]

    def _error(self):
        s = self.settings
        ends = {
            "terminated": s.terminated,
            "done": max(s.terminated, s.truncated),
            "everything": 1.0,
        }
        y = s.reward + s.discount * (1.0 - ends[self.mask]) * self._next()
        return self._values(self.online)[0] - y

    def _times(self):
        return self.factor * (self.settings.batch_size if self.sum_batch else 1.0)

    def compute_loss(self, online, target):
        self.set_values(online, target)
        return float(self._times() * critics.DISTANCES[self.distance](self._error()))

    def _norm(self):
        """Of the gradients of weight and bias, which are the slope times 1000 and 1."""
        slope = min(abs(self._error()), 1.0) if self.distance == "smooth_l1" else self._error()
        return min(abs(self._times() * slope) * np.hypot(1000.0, 1.0), self.clip)

    def _epsilon(self, t):
        first, last, falls = self.settings.epsilon
        if self.epsilon_is == "exponential":
            return last + (first - last) * np.exp(-t / falls)
        if self.epsilon_is == "first_greedy" and t == 0:
            return 0.0
        return float(np.clip(first + (last - first) * (t - self.late) / falls, last, first))

    def _action(self, t, rng):
        s = self.settings
        draw = rng.random() if s.draw is None else s.draw
        warm = self.random_until == "starts" and t < s.starts
        if warm or draw < self._epsilon(t):
            return int(rng.integers(s.actions - 1))
        return int(np.argmax(self._values(self.online)))

    def _target_moves(self, vector_steps, steps, updates, updated):
        interval = self.settings.target_every
        if interval is None or self.interval_counts == "never":
            return False
        return {
            "environment_steps": steps % interval == 0,
            "vector_steps": vector_steps % interval == 0,
            "updates": updated and updates % interval == 0,
            "every_update": updated,
            "every_step": True,
            "steps_and_one": steps % (interval + 1) == 0,
        }[self.interval_counts]

    def run_loop(self, on_start=do_nothing, on_step=do_nothing):
        s, rng = self.settings, np.random.default_rng(0)
        count = 1 if self.one_environment else s.environments
        actions = [[] for _ in range(count)]
        noted, updates = [], 0
        on_start(0)
        steps = vector_steps = 0
        while steps < s.steps:
            on_step(steps)
            for own in actions:
                own.append(self._action(steps, rng))
            vector_steps, steps = vector_steps + 1, steps + count
            counted = {"transitions": steps, "vector_steps": vector_steps, "step": 0}
            ready = steps >= self.find_first_update(s.starts)
            updated = ready and counted[self.every_counts] % s.every == 0
            if updated:
                updates += 1
                noted.append((steps, self._norm()))
            if self._target_moves(vector_steps, steps, updates, updated):
                for name in self.target:
                    old, new = self.target[name], self.online[name]
                    self.target[name] = (1.0 - self.share) * old + self.share * new
        on_step(steps)
        return LoopRecord(actions, noted)

    def find_first_update(self, starts):
        """Environment steps before which there is no update."""
        return 1 if self.first_update_later < 0 else max(starts, 1) + self.first_update_later

    def choose_action(self, q_values, deterministic):
        self.set_values(q_values, q_values)
        if deterministic and self.deterministic == "none":
            return None
        greedy = deterministic and self.deterministic == "greedy"
        rng = np.random.default_rng(0)
        return int(np.argmax(q_values)) if greedy else self._action(10**6, rng)


@dataclass
class ContinuousAgent:
    """Q networks and a policy of one parameter each; the defaults are Lillicrap et al. 2016."""

    settings: object
    critics: int = 1
    target_critics: int = 1
    next_action: str = "target"
    smoothing: float = 0.0
    mask: str = "terminated"
    distance: str = "squared"
    factor: float = 1.0
    sum_batch: bool = False
    climbs: str = "online"
    sign: float = -1.0
    policy_every: int = 1
    targets_every: int = 1
    share: float = 0.005
    policy_share: float | None = 0.005
    noise_units: str = "scaled"
    noise_clipped: bool = True
    noise_default: float = 0.0
    random_until: str = "starts"
    random_draws: str = "each"
    first_update_later: int = 0
    clip: float = np.inf
    values: tuple = (0.0, 0.0)
    policy: tuple = (0.0, 0.0)

    def set_values(self, online, target):
        self.values = (online, target)

    def set_policy(self, online, target):
        self.policy = (online, target)

    def fill_parameters(self, online, target):
        self.values = self.policy = (online, target)

    def read_target_parameters(self):
        return self.values[1], None if self.policy_share is None else self.policy[1]

    def count_networks(self):
        return self.critics, self.target_critics

    def _error(self):
        s = self.settings
        ends = {
            "terminated": s.terminated,
            "done": max(s.terminated, s.truncated),
            "everything": 1.0,
        }
        y = s.reward + s.discount * (1.0 - ends[self.mask]) * self.values[1]
        return self.values[0] - y

    def compute_losses(self, online, target):
        self.set_values(online, target)
        times = self.factor * (self.settings.batch_size if self.sum_batch else 1.0)
        climbed = {"online": online, "target": target}[self.climbs]
        loss = times * critics.DISTANCES[self.distance](self._error())
        return float(loss), self.sign * climbed

    def read_target_actions(self):
        online, target = np.tanh(self.policy)
        base = {"online": online, "target": target}[self.next_action]
        draws = np.random.default_rng(0).normal(size=self.settings.batch_size)
        return base + np.clip(self.smoothing * draws, -0.5, 0.5)

    def _action(self, t, rng):
        s = self.settings
        centre, half = (s.low + s.high) / 2.0, (s.high - s.low) / 2.0
        if self.random_until == "starts" and t < s.starts:
            draws = np.random.default_rng(0) if self.random_draws == "one" else rng
            return centre + half * draws.uniform(-1.0, 1.0)
        squashed = np.tanh(self.policy[0])
        noise = self.noise_default * rng.normal() if s.noise is None else s.noise
        added = {
            "scaled": centre + half * (squashed + noise),
            "environment": centre + half * squashed + noise,
            "none": centre + half * squashed,
        }[self.noise_units]
        return float(np.clip(added, s.low, s.high) if self.noise_clipped else added)

    def run_loop(self, on_start=do_nothing, on_step=do_nothing):
        s, rng = self.settings, np.random.default_rng(0)
        actions, noted, roles, updates = [], [], [], 0
        on_start(0)
        for step in range(s.steps):
            on_step(step)
            actions.append(self._action(step, rng))
            later = self.first_update_later
            if step + 1 < (1 if later < 0 else max(s.starts, 1) + later):
                continue
            updates += 1
            noted.append((step + 1, min(abs(2.0 * self._error()) * 10.0, self.clip)))
            roles.append("values")
            if updates % self.policy_every == 0:
                noted.append((step + 1, 1.0))
                roles.append("policy")
            if updates % self.targets_every == 0:
                self.values = _followed(self.values, self.share)
                self.policy = _followed(self.policy, self.policy_share or 0.0)
        on_step(s.steps)
        return LoopRecord([actions], noted, roles)


def _followed(pair, share):
    online, target = pair
    return online, (1.0 - share) * target + share * online


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
