"""An agent of SAC or TD3 in NumPy that can be the variants that no two frameworks show."""

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
    squash: object = staticmethod(action_transforms.squash_and_unscale)
    # an update
    share: float = 0.005
    reward_stored: object = staticmethod(lambda reward: reward)
    reward_used: object = staticmethod(lambda reward: reward)
    first_temperature: float = 1.0
    temperature_set: object = staticmethod(lambda asked: asked)
    # noise
    takes_sigma: bool = True
    takes_bound: bool = True
    draws_once: bool = False
    clips_to: str = "own"
    noise_shared: bool = False
    noise_off: bool = False
    # the loop
    ratios: tuple = (1.0, 0.5, 2.0)
    policy_every: int = 1
    policy_burst: int = 1
    temperature_every: int = 1
    temperature_trained: bool = True
    targets_every: int = 1
    takes_interval: bool = False
    never_moves: bool = False
    clip_critic: float = np.inf
    clip_policy: float = np.inf
    layer: object = None

    # -- losses and targets --------------------------------------------------------------------

    def compute_critic_loss(self, q_values):
        s = self.settings
        tiled = np.repeat(np.array(q_values)[: self.named, None], s.batch_size, axis=1)
        return critics.compute_critic_loss(
            tiled,
            np.full(s.batch_size, s.reward),
            factor=self.factor,
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

    def update_and_read_targets(self, source, target):
        return critics.update_target_softly(source, target, self.share)

    def compute_smoothed_actions(self, squashed, samples, own_draws):
        s = self.settings
        low, high = np.atleast_1d(s.low), np.atleast_1d(s.high)
        half, centre = (high - low) / 2.0, (high + low) / 2.0
        sigma = s.smoothing if s.smoothing is not None and self.takes_sigma else 0.2
        bound = s.smoothing_bound
        bound = bound if bound is not None and self.takes_bound else 0.5
        rows = 1 if self.draws_once and not own_draws else samples
        noise = sigma * np.random.default_rng(s.seed).normal(size=(rows, len(low)))
        noise = np.clip(noise, -bound, bound) * half
        actions = centre + half * squashed + noise * np.ones((samples, 1))
        if self.clips_to == "nothing":
            return actions
        first = self.clips_to == "first"
        return np.clip(actions, low[0] if first else low, high[0] if first else high)

    # -- the loop ------------------------------------------------------------------------------

    def _part_steps(self, number):
        """Parts that step in the update of this number, and whether the targets move."""
        parts = ["critic"]
        if number % self.policy_every == 0:
            with_it = self.temperature_trained and number % self.temperature_every == 0
            parts += self.policy_burst * (["actor"] + ["temperature"] * with_it)
        interval = self.settings.target_every if self.takes_interval else None
        targets = number % (interval or self.targets_every) == 0
        return parts, targets and not self.never_moves

    def run_loop(self):
        s, rng, journal = self.settings, np.random.default_rng(0), Journal()
        vector_steps = s.steps if s.per_environment else s.steps // s.environments
        journal.actions = [[] for _ in range(s.environments)]
        which = {"fewer": 1, "more": 2}.get(s.updates, 0)
        credit, number = 0.0, 0
        for _ in range(vector_steps):
            shared = rng.normal()
            action = self.squash(s.pre_tanh or 0.0, s.low, s.high)
            for received in journal.actions:
                draw = shared if self.noise_shared else rng.normal()
                noise = 0.0 if self.noise_off else (s.deviation or 0.0) * draw
                received.append(np.array([action + noise]))
            if not s.learns or journal.steps < s.starts:
                continue
            credit += self.ratios[which]
            while credit >= 1.0:
                credit, number = credit - 1.0, number + 1
                self._update(journal, number)
        journal.stored_reward = self.reward_stored(s.reward)
        return journal

    def _update(self, journal, number):
        parts, targets = self._part_steps(number)
        norm = 1.0 if self.settings.weight is None else self.settings.weight
        bounds = {"critic": self.clip_critic, "actor": self.clip_policy}
        for part in parts:
            journal.updates.append((part, journal.steps))
            journal.gradient_norms.setdefault(part, min(norm, bounds.get(part, np.inf)))
        journal.moves.append(("actor" in parts, targets))

    # -- what is made ----------------------------------------------------------------------------

    def measure_initialisation(self):
        return np.array(self.layer)
