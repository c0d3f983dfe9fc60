"""What a Gaussian policy makes of its bounds: the actions that reach the environment.

Thesis, appendix C.3, figure 14: two ways to keep an action within its bounds give other
distributions of the same Gaussian, and another deterministic action.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from rlregress.frameworks.base import Adapter, TrainingRequest
from rlregress.frameworks.heads import Heads
from rlregress.frameworks.isolation import isolated
from rlregress.frameworks.scripted import Scripted
from rlregress.hyperparameters import hyperparameter_set

#: bounds of the one action
LOW, HIGH = -1.0, 1.0


@dataclass(frozen=True, kw_only=True)
class Actions:
    """Of a policy that says the same of every observation.

    Attributes:
        framework: its title.
        mean, variance: of the Gaussian before it is bounded.
        executed: float [n], as the environment received them in a rollout.
        deterministic: the action without exploration.
    """

    framework: str
    mean: float
    variance: float
    executed: np.ndarray
    deterministic: float


@contextmanager
def _quietly() -> Iterator[None]:
    """What a framework logs and warns of while it trains is no part of the answer."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with isolated(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def executed(adapter: Adapter, mean: float, variance: float, steps: int, seed: int) -> Actions:
    """Train PPO's own loop for one rollout, with a learning rate of 0, and watch the environment.

    Raises:
        UserError: the framework cannot be set to it.
    """
    received: list[np.ndarray] = []
    one_rollout = {
        "learning_rate": 0.0,
        "rollout_steps": steps,
        "minibatch_size": steps,
        "epochs": 1,
        "anneal_learning_rate": False,
    }
    own = hyperparameter_set(adapter.name)["ppo"]
    given = {**own, **{name: value for name, value in one_rollout.items() if name in own}}

    def fix(heads: Heads) -> None:
        heads.fix_policy([mean], [sqrt(variance)])

    request = TrainingRequest(
        algorithm="ppo",
        make_env=lambda: Scripted(LOW, HIGH, received=received),
        hyperparameters=given,
        total_steps=steps,
        seed=seed,
        prepare=fix,
    )
    with _quietly():
        deterministic = adapter.train(request).policy(np.zeros((1, 1), dtype=np.float32))
    return Actions(
        framework=adapter.title,
        mean=mean,
        variance=variance,
        executed=np.concatenate(received[:steps]),
        deterministic=float(np.ravel(deterministic)[0]),
    )


def every(
    adapters: Sequence[Adapter],
    means: Sequence[float],
    variance: float,
    steps: int,
    seed: int,
    done: Callable[[], None] = lambda: None,
) -> list[Actions]:
    """The actions of every framework that trains PPO, for every mean; ``done()`` after each."""
    found = []
    for adapter in adapters:
        for mean in means if "ppo" in adapter.algorithms else ():
            found.append(executed(adapter, mean, variance, steps, seed))
            done()
    return found


_BINS = 60


def _at_bounds(actions: Actions) -> float:
    return float(np.mean((actions.executed <= LOW) | (actions.executed >= HIGH)))


def lines(found: Sequence[Actions]) -> Iterator[str]:
    """One line for each framework and mean."""
    for actions in found:
        yield (
            f"{actions.framework}, mean {actions.mean:g}, variance {actions.variance:g}: "
            f"{len(actions.executed)} actions of mean {actions.executed.mean():.3f} and deviation "
            f"{actions.executed.std():.3f}, {_at_bounds(actions):.1%} at a bound; deterministic "
            f"{actions.deterministic:.3f}"
        )


def as_plain(found: Sequence[Actions]) -> list[dict[str, Any]]:
    """As plain data: what is drawn, in numbers."""
    return [
        {
            "framework": actions.framework,
            "mean": actions.mean,
            "variance": actions.variance,
            "actions": len(actions.executed),
            "executed_mean": float(actions.executed.mean()),
            "executed_deviation": float(actions.executed.std()),
            "share_at_bounds": _at_bounds(actions),
            "deterministic": actions.deterministic,
            "histogram": np.histogram(actions.executed, _BINS, (LOW, HIGH))[0].tolist(),
        }
        for actions in found
    ]


def figure(found: Sequence[Actions]) -> str:
    """Figure 14 of the thesis as SVG: a row for each framework, a column for each mean."""
    from matplotlib.figure import Figure

    rows = list(dict.fromkeys(actions.framework for actions in found))
    columns = list(dict.fromkeys(actions.mean for actions in found))
    page = Figure(figsize=(4.0 * len(columns), 2.4 * len(rows)), layout="constrained")
    cells = page.subplots(len(rows), len(columns), squeeze=False, sharex=True)
    for row in found:
        cell = cells[rows.index(row.framework)][columns.index(row.mean)]
        cell.hist(row.executed, _BINS, range=(LOW, HIGH), density=True, color="#8fb8de")
        cell.axvline(row.executed.mean(), ymax=0.35, color="#1b3a5c", label="mean")
        cell.axvline(row.deterministic, color="#b03a2e", ls="--", label="deterministic action")
        cell.set_title(
            f"{row.framework}: mean {row.mean:g}, variance {row.variance:g}", fontsize="small"
        )
        cell.set_yticks([])
    for cell in cells[-1]:
        cell.set_xlabel("executed action", fontsize="small")
    cells[0][0].legend(fontsize="x-small")
    drawn = io.StringIO()
    page.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()
