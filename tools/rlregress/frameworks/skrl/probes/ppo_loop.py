"""Probes of PPO's loop: its trainer, on environments that count their steps, and its schedules."""

from __future__ import annotations

from typing import Any, List, Mapping

import numpy as np
from skrl.resources.schedulers.torch import KLAdaptiveLR
from torch.optim.lr_scheduler import LinearLR

from rlregress.frameworks.base import Inputs, Probe, Unsupported
from rlregress.frameworks.driven import fill
from rlregress.frameworks.recorded_training import diverging, growth, parallel_gradient
from rlregress.frameworks.scripted import Scripted, counting, end_after
from rlregress.frameworks.skrl.agents import Training
from rlregress.frameworks.skrl.probes.helpers.ppo_trainings import AgentTraining, feed, train


def _one_rollout(steps: int, **settings: Any) -> AgentTraining:
    return train(steps, counting(steps), rollouts=steps, **settings)


def _minibatches(inputs: Inputs) -> np.ndarray:
    steps = int(inputs["rollout_steps"])
    return _one_rollout(steps, mini_batches=int(inputs["minibatches"])).minibatches(steps)


def _minibatches_parameter(inputs: Inputs) -> np.ndarray:
    parts = int(inputs["minibatches"])
    return growth([_one_rollout(int(n), mini_batches=parts) for n in inputs["rollout_steps"]])


def _epochs_shuffle(inputs: Inputs) -> np.ndarray:
    steps, epochs = int(inputs["rollout_steps"]), int(inputs["epochs"])
    parts = int(inputs["minibatches"])
    return _one_rollout(steps, mini_batches=parts, learning_epochs=epochs).order(steps)


def _counts(ratio: float, inputs: Inputs, **settings: Any) -> List[int]:
    """Steps of the optimiser, and minibatches evaluated, where every ratio is this one."""
    training = _one_rollout(
        4,
        change=feed(ratios=ratio),
        mini_batches=int(inputs["minibatches"]),
        learning_epochs=int(inputs["epochs"]),
        learning_rate=0.0,
        **settings,
    )
    return [len(training.rates), len(training.evaluated)]


def _early_stop(inputs: Inputs) -> np.ndarray:
    threshold = float(inputs["target"])
    return np.ravel([_counts(float(r), inputs, kl_threshold=threshold) for r in inputs["ratios"]])


def _adaptive(divergences: List[float]) -> Any:
    """skrl's schedule by divergence, which keeps those that it is told."""
    try:
        KLAdaptiveLR(Training("ppo").optimizers["policy"])
    except TypeError as error:
        raise Unsupported(f"its schedule does not run on this PyTorch: {error}") from error

    class Recorded(KLAdaptiveLR):
        def step(self, kl: Any = None, **epoch: Any) -> None:
            """That of skrl."""
            # the first step is one of the constructor
            if kl is not None:
                divergences.append(float(kl))
            super().step(kl, **epoch)

    return Recorded


def _kl_estimator(inputs: Inputs) -> np.ndarray:
    divergences: List[float] = []
    _one_rollout(
        len(inputs["ratios"]),
        change=feed(ratios=inputs["ratios"]),
        learning_rate_scheduler=_adaptive(divergences),
        learning_rate=1e-12,
    )
    return np.array(divergences)


def _learning_rate_adaptive(inputs: Inputs) -> np.ndarray:
    start, left = float(inputs["learning_rate"]), list(inputs["divergences"])

    def change(tensors: Any) -> None:
        # one update more shows what the last divergence did; its own does not matter
        feed(ratios=diverging(left.pop(0)) if left else 1.0)(tensors)

    training = train(
        2 * (len(left) + 1),
        rollouts=2,
        change=change,
        # steps of the policy change no divergence: all its gradients are 0
        learning_rate=start,
        learning_rate_scheduler=_adaptive([]),
        learning_rate_scheduler_kwargs={"kl_threshold": float(inputs["target"])},
    )
    return np.array(training.rates[1:]) / start


def _advantages_recomputed(inputs: Inputs) -> np.ndarray:
    rewards = np.array(inputs["rewards"])
    training = train(
        len(rewards),
        counting(len(rewards), rewards=rewards),
        rollouts=len(rewards),
        mini_batches=2,
        learning_epochs=3,
        learning_rate=0.1,
    )
    return training.recomputed(len(rewards))


def _granularity(inputs: Inputs) -> np.ndarray:
    rewards = np.array(inputs["rewards"])
    n = len(rewards)
    training = train(
        n,
        counting(n, rewards=rewards, terminated=end_after(n)),
        rollouts=n,
        mini_batches=2,
        learning_rate=0.1,
        discount_factor=1.0,
        gae_lambda=1.0,
        prepare=lambda made: fill(made.models["value"].parameters(), 0.0),
    )
    return training.granularity(n, training.log_ratios)


def _iterations(inputs: Inputs) -> np.ndarray:
    environment = counting(64)
    steps, rollouts = int(inputs["total_steps"]), int(inputs["rollout_steps"])
    training = train(steps, environment, rollouts=rollouts)
    return np.array([len(environment.received), len(training.rates)])


def _vectorisation(inputs: Inputs) -> np.ndarray:
    environments = [Scripted() for _ in range(int(inputs["environments"]))]
    train(int(inputs["total_steps"]), *environments, rollouts=int(inputs["rollout_steps"]))
    steps = [len(environment.received) for environment in environments]
    return np.array([sum(steps), steps[0]])


def _parallel_gradient(inputs: Inputs) -> np.ndarray:
    environments = [Scripted() for _ in range(int(inputs["environments"]))]
    return parallel_gradient(lambda: train(4, *environments, rollouts=4, mini_batches=2))


def _segments(inputs: Inputs) -> np.ndarray:
    limit = int(inputs["time_limit"])
    environment = counting(limit, truncated=end_after(limit), restarts=True)
    training = train(15, environment, rollouts=5)
    tensors = training.training.memory.tensors.values()
    terminal = any(bool((tensor == limit).any()) for tensor in tensors)
    return np.array([*np.concatenate(training.stored), terminal])


def _scheduled(inputs: Inputs, change: Any = None, **settings: Any) -> AgentTraining:
    n = int(inputs["rollout_steps"])
    return train(
        n * int(inputs["rollouts"]),
        rollouts=n,
        mini_batches=int(inputs["minibatches"]),
        change=change,
        **settings,
    )


def _falling(rollouts: int) -> Mapping[str, Any]:
    """Settings of a learning rate that falls to 0: the schedule is stepped after each epoch."""
    ends = {"start_factor": 1.0, "end_factor": 0.0, "total_iters": rollouts}
    return {"learning_rate_scheduler": LinearLR, "learning_rate_scheduler_kwargs": ends}


def _rates(inputs: Inputs, **settings: Any) -> np.ndarray:
    start = float(inputs["learning_rate"])
    return np.array(_scheduled(inputs, learning_rate=start, **settings).rates) / start


def _negative(inputs: Inputs) -> np.ndarray:
    start, n = float(inputs["learning_rate"]), int(inputs["rollout_steps"])
    steps = int(inputs["total_steps"])
    training = train(steps, rollouts=n, learning_rate=start, **_falling(steps // n))
    return np.array([min(training.rates) / start])


def _clip_range(inputs: Inputs) -> np.ndarray:
    clip = float(inputs["clip_range"])
    settings = {"ratio_clip": clip, "value_loss_scale": 0.0, "learning_rate": 0.0}
    training = _scheduled(inputs, feed(advantages=1.0, ratios=2.0), **settings)
    return (-np.array(training.losses) - 1.0) / clip


PROBES: Mapping[str, Probe] = {
    "ppo.minibatches": _minibatches,
    "ppo.minibatches.parameter": _minibatches_parameter,
    "ppo.epochs.shuffle": _epochs_shuffle,
    "ppo.early_stop.default": lambda i: np.array(_counts(float(i["ratio"]), i)[:1]),
    "ppo.early_stop": _early_stop,
    "ppo.kl_estimator": _kl_estimator,
    "ppo.advantages.recomputed": _advantages_recomputed,
    "ppo.advantage.granularity": _granularity,
    "ppo.iterations": _iterations,
    "ppo.vectorisation": _vectorisation,
    "ppo.parallel_gradient": _parallel_gradient,
    "ppo.segments": _segments,
    "ppo.learning_rate.schedule": _rates,
    "ppo.learning_rate.schedule.asked": lambda i: _rates(i, **_falling(int(i["rollouts"]))),
    "ppo.learning_rate.negative": _negative,
    "ppo.learning_rate.adaptive": _learning_rate_adaptive,
    "ppo.clip_range.schedule": _clip_range,
}
_NO_SCHEDULE = "has schedules of the learning rate alone"
ABSENT: Mapping[str, str] = {
    "ppo.minibatches.remainder": "has no remainder: minibatches are equal parts (ppo.minibatches)",
    "ppo.clip_range.schedule.asked": _NO_SCHEDULE,
    "ppo.entropy.schedule": _NO_SCHEDULE,
}
