"""The variants of policies with memory, and an agent that can be each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle

import numpy as np

from rlregress.measurements import recurrent
from rlregress.measurements.recurrent import Record, Rollout

BOTH = (True, True)
NEITHER = (False, False)


@dataclass
class Counting:
    """Its memory, one for the policy and one for the value, is how many steps it has made.

    Args:
        resets: whether an end does, for policy and value.
        resets_at_rollouts: whether a rollout does, for both.
        begins: whether an update begins with what the rollout did, for policy and value.
        ends: whether it begins anew at ends, for policy and value.
        critic: whose memory the value has: "own", "shared" or "none".
        truncation, last: with which memory the values that are added are computed.
        moves: whether the value behind a rollout moves its memory.
        order: of minibatches.
        counted: whether padding is in losses of policy and value, and in statistics.
    """

    resets: tuple[bool, bool] = BOTH
    resets_at_rollouts: bool = False
    begins: tuple[bool, bool] = BOTH
    ends: tuple[bool, bool] = BOTH
    critic: str = "own"
    truncation: str = "carried"
    last: str = "carried"
    moves: bool = False
    order: str = "in_order"
    counted: tuple[bool, bool, bool] = (False, False, False)

    def __call__(self, settings):
        """A training, see ``recurrent.Train``."""
        record = Record(entropies=[2.0])
        scripts = [_Script(script) for script in settings.scripts]
        memories = np.zeros((2, len(scripts)))
        for number in range(settings.rollouts):
            if self.resets_at_rollouts:
                memories[:] = 0.0
            forgotten = 0 < settings.forgets <= number
            record.rollouts.append(self._collected(settings, scripts, memories, record, forgotten))
        record.losses = [self._loss(settings)]
        record.minibatches = list(self._minibatches(settings))
        return record

    def _value(self, memories, forgotten=False):
        if self.critic == "own":
            return 1.0 + memories[1]
        return 1.0 + memories[0] * (self.critic == "shared") * (not forgotten)

    def _collected(self, settings, scripts, memories, record, forgotten):
        kept = np.zeros((4, settings.steps, len(scripts)))
        # it begins anew with what an update begins with
        repeated = memories + ~np.array(self.begins)[:, None]
        record.changes = np.zeros((2, settings.steps, len(scripts)))
        discount = settings.discount or 0.0
        for step in range(settings.steps):
            values = self._value(memories, forgotten)
            record.changes[:, step] = repeated - memories
            stepped = [script.step() for script in scripts]
            rewards, terminated, truncated = (np.array(own) for own in zip(*stepped, strict=True))
            before = memories.copy()
            memories += 1.0
            repeated += 1.0
            added = {"carried": self._value(memories), "zeros": 1.0, "before": self._value(before)}
            rewards = rewards + discount * truncated * added[self.truncation]
            kept[:, step] = [before[0], values, rewards, rewards]
            ended = (terminated + truncated) > 0
            memories *= 1 - np.outer(self.resets, ended)
            repeated *= 1 - np.outer(self.ends, ended)
        value = {"carried": self._value(memories), "zeros": 1.0}[self.last]
        kept[3, -1] += discount * value
        memories += self.moves * np.array([[0.0], [1.0]])
        return Rollout(*kept)

    def _minibatches(self, settings):
        count, steps = len(settings.scripts), settings.steps
        rng = np.random.default_rng(0)
        for _ in range(settings.epochs):
            environments = np.arange(count)
            if self.order.startswith("permutation"):
                rng.shuffle(environments)
            size = count // settings.minibatches
            if self.order.endswith("dropped"):
                environments = environments[: size * settings.minibatches]
            rows = np.repeat(environments, steps)
            if self.order == "rotated_cut":
                rows = np.roll(rows, rng.integers(1, len(rows)))
            cut = len(rows) // settings.minibatches if "cut" in self.order else size * steps
            yield from np.split(rows, range(cut, len(rows), cut))

    def _loss(self, settings):
        rows = {False: settings.steps_of_all_environments, True: 3 * settings.steps}
        policy, value, statistics = (rows[counted] for counted in self.counted)
        if settings.advantage is None:
            advantages = np.zeros(statistics)
            advantages[0] = np.atleast_1d(settings.scripts[0].get("rewards", 0.0))[0]
            advantages = (advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-9)
        else:
            advantages = np.full(1, settings.advantage)
        target = np.atleast_1d(settings.scripts[0].get("rewards", 0.0))[0]
        taken = (
            advantages[: settings.steps_of_all_environments].sum()
            + (settings.ratio - 1.0) * advantages[0]
        )
        errors = (settings.value_coefficient or 0.0) * target**2 / value
        entropy = (settings.entropy_coefficient or 0.0) * 2.0
        return -taken / policy + errors - entropy


class _Script:
    """Rewards and ends of an environment, again and again."""

    def __init__(self, script):
        names = {"rewards": 1.0, "terminated": 0.0, "truncated": 0.0}
        self._scripts = [
            cycle(np.atleast_1d(script.get(name, usual))) for name, usual in names.items()
        ]

    def step(self):
        """Reward and flags."""
        return [next(script) for script in self._scripts]


#: whose details are all measured, but for those in ``PROBED``
FAMILIES = ["recurrent"]
make_agent = Counting
MEASUREMENTS = {
    "recurrent.rollout": recurrent.measure_memory_in_rollout,
    "recurrent.update": recurrent.measure_memory_in_update,
    "recurrent.minibatches": recurrent.measure_recurrent_minibatches,
    "recurrent.padding": recurrent.measure_step_counts_of_means,
    "recurrent.bootstrap": recurrent.measure_bootstrap_values,
    "recurrent.critic": recurrent.measure_memory_of_critic,
}
#: detail -> variant -> the options with which the agent is it
VARIANTS = {
    "recurrent.rollout": {
        "reset_at_ends": {},
        "never_reset": {"resets": NEITHER},
        "reset_at_rollouts": {"resets": NEITHER, "resets_at_rollouts": True},
        "critic_never_reset": {"resets": (True, False)},
    },
    "recurrent.update": {
        "as_collected": {},
        "zeros": {"begins": NEITHER},
        "through_ends": {"ends": NEITHER},
        "policy_zeros": {"begins": (False, True)},
        "critic_zeros": {"begins": (True, False)},
    },
    "recurrent.minibatches": {
        name: {"order": name}
        for name in (
            "in_order_last_dropped",
            "in_order",
            "permutation_last_dropped",
            "permutation",
            "rotated_cut",
            "in_order_cut",
        )
    },
    "recurrent.padding": {
        "left_out": {},
        "counted": {"counted": (True, True, True)},
        "counted_by_policy": {"counted": (True, False, False)},
        "counted_by_critic": {"counted": (False, True, False)},
        "counted_in_statistics": {"counted": (False, False, True)},
    },
    "recurrent.bootstrap": {
        "carried": {},
        "zeros_at_truncations": {"truncation": "zeros"},
        "zeros_at_ends": {"last": "zeros"},
        "value_before": {"truncation": "before"},
        "value_before_moved": {"truncation": "before", "moves": True},
    },
    "recurrent.critic": {name: {"critic": name} for name in ("own", "shared", "none")},
}
#: by probes of each framework
PROBED = {"recurrent.padding.divergence", "recurrent.predict"}
