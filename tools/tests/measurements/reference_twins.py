"""An agent of SAC or TD3 in NumPy that can be every variant of every detail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlregress.formulas import action_transforms, critics, sac
from rlregress.measurements.loop_journal import Journal


@dataclass
class ReferenceTwin:
    """Q networks and a policy that output numbers; the options are the ways to do it.

    The defaults are those of ``sac`` and ``td3`` in Stable-Baselines3.
    """

    settings: object
    # losses
    factor: float = 1.0
    networks: str = "sum"
    samples: str = "mean"
    distance: str = "squared"
    named: int | None = None
    over: str = "min"
    mask: str = "terminated"
    entropy: str = "inside"
    climbs: str = "min"
    policy_sign: float = 1.0
    entropy_sign: float = 1.0
    form: str = "log_alpha"
    temperature_sign: float = 1.0
    target_entropy_sign: float = 1.0
    default_entropy: object = staticmethod(lambda dimensions: -dimensions)
    # the policy
    bound_of_scale: object = staticmethod(sac.clamp_log_std)
    correction: object = staticmethod(sac.compute_exact_tanh_correction)
    scale_term: object = staticmethod(lambda low, high: 0.0)
    squash: object = staticmethod(action_transforms.squash_and_unscale)
    # an update
    fresh_values: bool = True
    fresh_in_target: bool = False
    fresh_in_policy: bool = False
    share: float = 0.005
    share_of_coefficient: object = staticmethod(lambda coefficient: coefficient)
    reward_stored: object = staticmethod(lambda reward: reward)
    reward_used: object = staticmethod(lambda reward: reward)
    first_temperature: float = 1.0
    temperature_set: object = staticmethod(lambda asked: asked)
    # noise
    sigma: float | None = 0.2
    bound: float | None = 0.5
    smooths_in: str = "scaled"
    takes_sigma: bool = True
    takes_bound: bool = True
    draws_once: bool = False
    clips_to: str = "own"
    noise_units: str = "scaled"
    noise_clipped: bool = True
    noise_default: float = 0.0
    noise_shared: bool = False
    noise_off: bool = False
    noisy_warmup: bool = False
    stores: str = "scaled"
    executes: str = "unscaled"
    # the loop
    one_environment: bool = False
    update_per: str = "vector_step"
    ratios: tuple = (1.0, 0.5, 2.0)
    random_until: str = "starts"
    updates_from: str = "starts"
    later: int = 0
    policy_every: int = 1
    policy_burst: int = 1
    policy_delayed: bool = False
    temperature_every: int = 1
    temperature_trained: bool = True
    targets_every: int = 1
    targets_delayed: bool = False
    takes_interval: bool = False
    never_moves: bool = False
    temperature_rate: object = "policy"
    annealed: bool = False
    clip_critic: float = np.inf
    clip_policy: float = np.inf
    shape: object = None
    layer: object = None
    epsilons: object = None
    shares_rate = False

    # -- losses and targets --------------------------------------------------------------------

    def compute_critic_loss(self, q_values):
        s = self.settings
        tiled = np.repeat(np.array(q_values)[: self.named, None], s.batch_size, axis=1)
        return critics.compute_critic_loss(
            tiled,
            np.full(s.batch_size, s.reward),
            factor=self.factor,
            distance=self.distance,
            networks=self.networks,
            samples=self.samples,
        )

    def compute_actor_loss(self, q_values):
        s = self.settings
        value = critics.reduce_over_networks(np.array(q_values)[:, None], self.climbs)[0]
        entropy = (s.temperature or 0.0) * (s.log_prob or 0.0)
        return self.policy_sign * (self.entropy_sign * entropy - value)

    def compute_target(self, q_values):
        s = self.settings
        value = critics.reduce_over_networks(np.array(q_values)[:, None], self.over)[0]
        entropy = (s.temperature or 0.0) * (s.log_prob or 0.0)
        inside = {"inside": -entropy, "flipped": entropy}.get(self.entropy, 0.0)
        flags = np.array([s.terminated]), np.array([s.truncated])
        discount = 0.99 if s.discount is None else s.discount
        reward = self.reward_used(self.reward_stored(s.reward))
        arrays = np.array([reward]), np.array([value + inside])
        y = critics.compute_td_target(*arrays, discount, *flags, self.mask)[0]
        outside = {"outside": entropy, "not_masked": discount * entropy}
        return y - outside.get(self.entropy, 0.0)

    def run_first_update(self, target_value):
        s = self.settings
        rate, fresh = s.rates[0], np.exp(s.rates[0])
        in_target, in_policy = (
            fresh if seen else 1.0 for seen in (self.fresh_in_target, self.fresh_in_policy)
        )
        value = rate if self.fresh_values else 0.0
        target = s.reward + s.discount * (target_value - in_target * s.log_prob)
        return target, in_policy * s.log_prob - value

    def compute_temperature_loss(self):
        s = self.settings
        numbers = (
            np.log(s.temperature),
            np.array([s.log_prob]),
            self.target_entropy_sign * s.target_entropy,
            self.form,
        )
        losses = sac.compute_temperature_loss(*numbers), sac.compute_temperature_gradient(*numbers)
        return tuple(self.temperature_sign * np.array(losses))

    def read_temperature(self):
        asked = self.settings.temperature
        return self.first_temperature if asked is None else self.temperature_set(asked)

    def read_target_entropy(self):
        return float(self.default_entropy(np.size(self.settings.low)))

    def compute_log_deviation(self, outputs):
        return self.bound_of_scale(outputs)

    def compute_log_prob(self, draw):
        x = np.array(draw)
        gaussian = -0.5 * x**2 - 0.5 * np.log(2.0 * np.pi)
        scale = self.scale_term(np.atleast_1d(self.settings.low), np.atleast_1d(self.settings.high))
        return float(np.sum(gaussian - self.correction(x)) + scale)

    def update_and_read_targets(self, source, target):
        coefficient = self.settings.coefficient
        share = self.share if coefficient is None else self.share_of_coefficient(coefficient)
        return critics.update_target_softly(source, target, share)

    def compute_smoothed_actions(self, squashed, samples, own_draws):
        s = self.settings
        low, high = np.atleast_1d(s.low), np.atleast_1d(s.high)
        half, centre = (high - low) / 2.0, (high + low) / 2.0
        sigma = s.smoothing if s.smoothing is not None and self.takes_sigma else self.sigma
        bound = s.smoothing_bound
        bound = bound if bound is not None and self.takes_bound else self.bound
        rows = 1 if self.draws_once and not own_draws else samples
        noise = sigma * np.random.default_rng(s.seed).normal(size=(rows, len(low)))
        noise = np.clip(noise, -bound, bound) * (half if self.smooths_in == "scaled" else 1.0)
        actions = centre + half * squashed + noise * np.ones((samples, 1))
        if self.clips_to == "nothing":
            return actions
        first = self.clips_to == "first"
        return np.clip(actions, low[0] if first else low, high[0] if first else high)

    # -- the loop ------------------------------------------------------------------------------

    def _action(self, step, noise):
        s = self.settings
        if step < self._random_steps():
            uniform = 0.5 * np.sin(step + 1.0)
            return np.clip(uniform + s.noise, s.low, s.high) if self.noisy_warmup else uniform
        squashed, half = np.tanh(s.pre_tanh or 0.0), (s.high - s.low) / 2.0
        if self.executes == "squashed":
            return squashed
        if not noise:
            return float(self.squash(s.pre_tanh or 0.0, s.low, s.high))
        explore = {
            "scaled": action_transforms.add_noise_before_unscaling,
            "environment": action_transforms.add_noise_after_unscaling,
            "none": lambda squashed, _, low, high, clip: (high + low) / 2.0 + half * squashed,
        }[self.noise_units]
        return float(explore(squashed, noise, s.low, s.high, self.noise_clipped))

    def _random_steps(self):
        starts = self.settings.starts
        batch = self.settings.collected_at_once
        return {
            "starts": starts,
            "whole_batches": np.ceil(starts / batch) * batch,
            "never": 0,
        }[self.random_until]

    def _first_update(self):
        s = self.settings
        whole = np.ceil(s.starts / s.collected_at_once) * s.collected_at_once
        if self.updates_from == "first_step":
            return 1 + self.later
        return self.later + (whole if self.updates_from == "whole_batches" else max(s.starts, 1))

    def _delayed(self, number, every, delayed):
        return number % (self.settings.delay if delayed and self.settings.delay else every) == 0

    def _part_steps(self, number):
        """Parts that step in the update of this number, and whether the targets move."""
        parts = ["critic"]
        if self._delayed(number, self.policy_every, self.policy_delayed):
            with_it = self.temperature_trained and number % self.temperature_every == 0
            parts += self.policy_burst * (["actor"] + ["temperature"] * with_it)
        interval = self.settings.target_every if self.takes_interval else None
        targets = self._delayed(number, interval or self.targets_every, self.targets_delayed)
        return parts, targets and not self.never_moves

    def run_loop(self):
        s, rng, journal = self.settings, np.random.default_rng(0), Journal()
        count = 1 if self.one_environment else s.environments
        vector_steps = s.steps if s.per_environment else s.steps // count
        journal.actions = [[] for _ in range(count)]
        which = {"fewer": 1, "more": 2}.get(s.updates, 0)
        credit, number = 0.0, 0
        for step in range(vector_steps):
            shared = rng.normal()
            for received in journal.actions:
                draw = shared if self.noise_shared else rng.normal()
                deviation = self.noise_default if s.deviation is None else s.deviation
                noise = deviation * draw if s.noise is None else s.noise
                received.append(np.array([self._action(step, 0.0 if self.noise_off else noise)]))
            if not s.learns or journal.steps < self._first_update():
                continue
            credit += self.ratios[which] * (count if self.update_per == "transition" else 1)
            while credit >= 1.0:
                credit, number = credit - 1.0, number + 1
                self._update(journal, number)
        journal.temperatures.append(self._log_alpha(journal))
        scaled = self.stores == "scaled"
        journal.stored_action = np.tanh(s.pre_tanh or 0.0) if scaled else journal.actions[0][-1][0]
        journal.stored_reward = self.reward_stored(s.reward)
        return journal

    def _update(self, journal, number):
        s = self.settings
        parts, targets = self._part_steps(number)
        norm = 1.0 if s.weight is None else s.weight
        bounds = {"critic": self.clip_critic, "actor": self.clip_policy}
        for part in parts:
            if part == "temperature":
                journal.temperatures.append(self._log_alpha(journal))
            journal.updates.append((part, journal.steps))
            journal.gradient_norms.setdefault(part, min(norm, bounds.get(part, np.inf)))
            journal.rates[part] = None if s.rates is None else s.rates[part != "critic"]
        journal.moves.append(("actor" in parts, targets))

    def _log_alpha(self, journal):
        """The sum of the steps of log alpha so far, each as large as its rate."""
        rates = self.settings.rates or (0.0, 0.0)
        rate = {"critic": rates[0], "policy": rates[1]}.get(
            self.temperature_rate, self.temperature_rate
        )
        taken = np.arange(sum(part == "temperature" for part, _ in journal.updates))
        left = 1.0 - taken / (self.settings.steps - 1.0) if self.annealed else np.ones(len(taken))
        return float(np.sum(rate * left))

    # -- what is made ----------------------------------------------------------------------------

    def describe_architecture(self):
        return np.array(self.shape, dtype=float)

    def measure_initialisation(self):
        return np.array(self.layer)

    def read_log_epsilons(self):
        return self.epsilons
