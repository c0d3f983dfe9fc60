"""Estimators of advantages and of value targets."""

from __future__ import annotations

from typing import Any, Dict, Sequence

import torch
from torch import nn

from rlregress.frameworks.torchrl.compat import library, made
from rlregress.frameworks.torchrl.network_factories import (
    answers,
    at,
    dictionary,
    entries,
    scored,
    steps,
    stochastic,
    value,
)

#: that most parts ask
NAMES = ("GAE", "TD0Estimator", "TD1Estimator", "TDLambdaEstimator")
_WRITTEN = ("advantage", "value_target", "state_value", "shifted_valid", "reward")


def estimator_of(name: str, critic: Any, **options: Any) -> Any:
    """An estimator of the version, by keywords that it has."""
    kind = library("torchrl.objectives.value", name)
    given = {"gamma": 0.9, "value_network": critic, **options}
    if name in ("GAE", "TDLambdaEstimator", "MultiAgentGAE"):
        given["lmbda"] = 0.8
    return made(kind, **given)


def written(batch: Any) -> Dict[str, Any]:
    """What an estimator wrote into a batch, and the rewards that it read."""
    tensors = entries(batch)
    keys = [key for key in sorted(tensors) if key.rpartition(".")[2] in _WRITTEN]
    return {key: tensors[key].detach() for key in [*keys, "next.reward"]}


def _estimate(name: str, batch: Any, critic: Any = None, **options: Any) -> Dict[str, Any]:
    """What an estimator writes into a batch, twice: the second reads what the first left."""
    estimator = estimator_of(name, critic or value(), **options)
    first = written(estimator(batch))
    again = written(estimator(batch))
    return {**first, **{f"again.{key}": item for key, item in again.items()}}


def averaging(name: str) -> Dict[str, bool]:
    """The option of an estimator that standardises: advantages, or rewards."""
    return {"average_gae" if name == "GAE" else "average_rewards": True}


def ends(shape: Sequence[int], truncated: Sequence[int], terminated: Sequence[int]) -> Any:
    """Steps of which some are the last of an episode that is cut, some of one that ends."""
    done = at(shape, *truncated, *terminated)
    following = {"truncated": at(shape, *truncated)}
    return steps(*shape, done=done, terminated=at(shape, *terminated), following=following)


def _ends_within(make_env: Any, seed: int) -> Dict[str, Any]:
    """Episodes that are cut and that end within the batch, for every estimator, with a loop too."""
    calls: Dict[str, Any] = {}
    for name in ("GAE", "TDLambdaEstimator", "TD1Estimator", "TD0Estimator"):
        options = {"vectorized": False} if name in ("GAE", "TDLambdaEstimator") else {}

        def estimate(name: str = name, **options: Any) -> Any:
            return _estimate(name, ends((2, 8), [2], [5]), **options)

        calls[name] = estimate
        if options:
            calls[f"{name}_loop"] = lambda estimate=estimate: estimate(vectorized=False)
    return answers(seed, **calls)


def _standardised_rewards(make_env: Any, seed: int) -> Dict[str, Any]:
    """Rewards that are standardised: all alike but for a trifle, and of a large scale."""

    def trifling() -> Any:
        batch = steps(1, 8)
        batch["next", "reward"] = 1.0 + 1e-5 * batch["next", "reward"]
        return batch

    def large() -> Any:
        batch = steps(1, 8)
        batch["next", "reward"] = 50.0 + 10.0 * batch["next", "reward"]
        return batch

    def estimate(name: str, batch: Any) -> Any:
        return written(estimator_of(name, value(), average_rewards=True)(batch))

    return answers(
        seed,
        TD0=lambda: estimate("TD0Estimator", trifling()),
        TD1=lambda: estimate("TD1Estimator", trifling()),
        TDLambda=lambda: estimate("TDLambdaEstimator", large()),
    )


def _v_trace(make_env: Any, seed: int) -> Dict[str, Any]:
    """Episodes that are cut and that end within the batch, with ratios on both sides of one."""
    normal = library("torchrl.modules", "IndependentNormal")

    def estimate() -> Any:
        shape = (2, 8)
        done = at(shape, 2, 5)
        batch = scored(*shape, done=done, terminated=at(shape, 5)).exclude("state_value")
        return written(estimator_of("VTrace", value(), actor_network=stochastic(normal))(batch))

    return answers(seed, ends=estimate)


def _auto_reset(make_env: Any, seed: int) -> Dict[str, Any]:
    """Environments that reset themselves after an episode is cut; estimated twice."""
    return answers(
        seed,
        GAE=lambda: _estimate("GAE", ends((2, 8), [2], [5]), auto_reset_env=True),
    )


def _missing_next_observations(make_env: Any, seed: int) -> Dict[str, Any]:
    """Next observations that are NaN where an episode ends or is cut."""

    def estimate(name: str) -> Any:
        batch = ends((2, 8), [2], [5])
        batch["next", "observation"][:, [2, 5]] = float("nan")
        return written(estimator_of(name, value())(batch))

    return answers(
        seed,
        GAE=lambda: estimate("GAE"),
        TDLambda=lambda: estimate("TDLambdaEstimator"),
        TD0=lambda: estimate("TD0Estimator"),
    )


def _shifted(make_env: Any, seed: int) -> Dict[str, Any]:
    """One call for the values of a step and of the next, of episodes cut twice within the batch."""

    def estimate(name: str) -> Any:
        batch = ends((2, 8), [1, 4], [6])
        return written(estimator_of(name, value(), shifted=True)(batch))

    def single() -> Any:
        return written(estimator_of("GAE", value(), shifted=True)(ends((1, 6), [2], [])))

    return answers(
        seed,
        GAE=lambda: estimate("GAE"),
        TDLambda=lambda: estimate("TDLambdaEstimator"),
        TD0=lambda: estimate("TD0Estimator"),
        once=single,
    )


class _AtStart(nn.Module):
    """A value that is another one where an episode starts, as a recurrent network's is."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, observation: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        values: torch.Tensor = self.layer(observation)
        return torch.where(start, values - 2.0, values)


def _critic_that_reads_starts(make_env: Any, seed: int) -> Dict[str, Any]:
    """A critic that reads where episodes start: the batch starts with one, and one is within it."""
    from tensordict.nn import TensorDictModule

    def estimate() -> Any:
        shape = (2, 8)
        batch = ends(shape, [], [3])
        batch["is_init"] = at(shape, 0, 4)
        batch["next", "is_init"] = at(shape)
        critic = TensorDictModule(_AtStart(), ["observation", "is_init"], ["state_value"])
        return written(estimator_of("GAE", critic)(batch))

    return answers(seed, GAE=estimate)


def _dropout_in_the_critic(make_env: Any, seed: int) -> Dict[str, Any]:
    """A critic with dropout: the values of a step and of the next are computed together."""
    return answers(
        seed,
        GAE=lambda: written(estimator_of("GAE", value(nn.Dropout(0.5)))(steps(2, 6))),
        TD0=lambda: written(estimator_of("TD0Estimator", value(nn.Dropout(0.5)))(steps(2, 6))),
    )


def _time_dimension(make_env: Any, seed: int) -> Dict[str, Any]:
    """Time is the first dimension of the batch, and is named so."""

    def estimate(name: str) -> Any:
        shape = (6, 3)
        done = torch.zeros(*shape, 1, dtype=torch.bool)
        done[2, 1] = True
        batch = steps(*shape, done=done, terminated=done)
        batch.names = ["time", None]
        return written(estimator_of(name, value())(batch))

    return answers(
        seed,
        GAE=lambda: estimate("GAE"),
        TDLambda=lambda: estimate("TDLambdaEstimator"),
        TD1=lambda: estimate("TD1Estimator"),
    )


def _reward_to_go(make_env: Any, seed: int) -> Dict[str, Any]:
    """Several environments side by side, whose episodes end at different steps."""
    call = library("torchrl.objectives.value.functional", "reward2go")
    done = torch.zeros(3, 6, 1, dtype=torch.bool)
    done[0, 2] = done[1, 4] = True
    done[:, -1] = True
    reward = torch.arange(18.0).reshape(3, 6, 1)
    return answers(
        seed,
        several=lambda: call(reward, done, 0.9),
        alone=lambda: call(reward[0], done[0], 0.9),
        columns=lambda: call(reward.squeeze(-1).T, done.squeeze(-1).T, 0.9),
        wide=lambda: call(torch.cat([reward, 2 * reward], -1), done.expand(3, 6, 2), 0.9),
    )


def _keys_of_constructors(make_env: Any, seed: int) -> Dict[str, Any]:
    """Keys that are given where an estimator is made."""
    gae = library("torchrl.objectives.value", "GAE")
    td0 = library("torchrl.objectives.value", "TD0Estimator")

    def estimate(kind: Any, **options: Any) -> Any:
        estimator = kind(gamma=0.9, value_network=value(), advantage_key="gain", **options)
        tensors = entries(estimator(steps(2, 4)))
        return {key: item.detach() for key, item in tensors.items() if key in ("gain", "advantage")}

    return answers(seed, GAE=lambda: estimate(gae, lmbda=0.8), TD0=lambda: estimate(td0))


# -- options --------------------------------------------------------------------------------------


def _thresholds(make_env: Any, seed: int) -> Dict[str, Any]:
    """V-trace whose two thresholds differ and are both exceeded, and averaged advantages."""
    normal = library("torchrl.modules", "IndependentNormal")

    def estimate(**options: Any) -> Any:
        shape = (2, 8)
        batch = scored(*shape, done=at(shape, 2, 5), terminated=at(shape, 5))
        actor = stochastic(normal)
        return written(
            estimator_of("VTrace", value(), actor_network=actor, **options)(
                batch.exclude("state_value")
            )
        )

    return answers(
        seed,
        short=lambda: estimate(rho_thresh=0.9, c_thresh=0.3),
        wide=lambda: estimate(rho_thresh=0.3, c_thresh=0.9),
        averaged=lambda: estimate(average_adv=True),
    )


def _options(make_env: Any, seed: int) -> Dict[str, Any]:
    """Averages, discounts of several steps, values that are there, critics in turn."""

    def estimate(name: str, batch: Any = None, **options: Any) -> Any:
        batch = ends((2, 8), [2], [5]) if batch is None else batch
        return written(estimator_of(name, value(), **options)(batch))

    def averaged(name: str, **more: Any) -> Any:
        batch = ends((2, 8), [2], [5]).update(dictionary(more, (2, 8)))
        batch["next", "reward"] = 50.0 + 10.0 * batch["next", "reward"]
        return estimate(name, batch, **averaging(name))

    def several(name: str) -> Any:
        batch = ends((2, 8), [2], [5])
        batch["steps_to_next_obs"] = 1 + torch.arange(16).reshape(2, 8, 1) % 3
        return estimate(name, batch)

    def present(name: str) -> Any:
        batch = ends((2, 8), [2], [5])
        batch["state_value"] = batch["next", "state_value"] = torch.ones(2, 8, 1)
        return estimate(name, batch, skip_existing=True)

    valid = ~at((2, 8), 4).squeeze(-1)
    calls: Dict[str, Any] = {}
    for name in NAMES:
        calls[f"{name}_averaged"] = lambda name=name: averaged(name)
        calls[f"{name}_marked"] = lambda name=name: averaged(name, shifted_valid=valid)
        calls[f"{name}_several"] = lambda name=name: several(name)
        calls[f"{name}_present"] = lambda name=name: present(name)
        calls[f"{name}_in_turn"] = lambda name=name: estimate(name, deactivate_vmap=True)
    return answers(seed, **calls)


API_CASES = {
    "ends-within": _ends_within,
    "standardised-rewards": _standardised_rewards,
    "v-trace-ends": _v_trace,
    "auto-reset": _auto_reset,
    "missing-next-observations": _missing_next_observations,
    "shifted-values": _shifted,
    "critic-that-reads-starts": _critic_that_reads_starts,
    "dropout-in-the-critic": _dropout_in_the_critic,
    "time-dimension": _time_dimension,
    "reward-to-go": _reward_to_go,
    "keys-of-estimators": _keys_of_constructors,
    "thresholds-of-v-trace": _thresholds,
    "options-of-estimators": _options,
}
