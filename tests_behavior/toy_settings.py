"""The hyperparameters that make toy problems short, and documented facts about each framework.

``baselines/behavior/<framework>.yaml`` holds, by topic and algorithm, ``changes`` to
``baselines/hyperparameters/<framework>.yaml``, or to the topic ``without_cells`` for an algorithm
that has no set there, and facts about the framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

import pytest
from pydantic import Field

from rlregress import datafiles, suite
from rlregress.datafiles import expect_one_of
from rlregress.errors import UserError, suggest_names
from rlregress.frameworks.base import Adapter
from rlregress.hyperparameters import read_hyperparameters
from rlregress.probing.interface import Minibatch

_STORED = ("observations", "next_observations", "rewards", "done", "terminated")
#: trained on the ladder by ``adapter.train.train_seeded``
SEEDED = ("dqn", "ddpg")
_WITHOUT_CELLS = "without_cells"
#: why nothing of several environments is asked, where ``most_environments`` is 1
ONE_ENVIRONMENT = (
    "the framework is documented to take one environment for this algorithm, or to store right "
    "rows of one alone"
)
_READ = tuple(spec.name for spec in fields(Minibatch))


@dataclass(frozen=True)
class _Entry:
    """How one algorithm of one framework is trained for one topic.

    Attributes:
        total_steps: environment steps; 0 where the test decides.
        stores: the fields of ``Transitions`` that are documented to be stored.
        reads: the fields of ``Minibatch`` that an update is documented to read.
        value_in_last_reward: the reward of a truncated step is documented to be stored with the
            discounted value of the final observation added.
        first_row_from_before_seeding: the first observation of a training is documented to be of
            an episode that the seeding of the environments has cut off.
        warm_up_is_stored: what is collected before learning starts is documented to be kept.
        value_before_truncation: the value behind a truncated step, whether or not it terminates, is
            documented to be that of the observation before it.
        truncation_is_termination: no value is documented to follow a truncated step either.
        reset_after_termination: the next observation of a terminated step, which no value depends
            on, is documented to be the one of the reset.
        bounding: how actions are documented to be kept within their bounds, "clip" or "tanh".
        scaled: actions are documented to be in [-1, 1] but where they are executed.
        noise_in_half_widths: the unit of exploration noise is documented to be half of the width of
            a dimension's bounds, not the environment's.
        collections_before_updates: so many collections are documented to come before the first
            update, beside those that learning waits for.
        delay_leaves_out: a policy delay is documented to leave updates out, and not to make up for
            them by several at once.
        windows_end_with_batches: n-step windows are documented to end with the batch that a step is
            collected in.
        most_environments: it is documented to take so many at once, or to store right rows of so
            many; 0: as many as one likes.
        standardized_advantages: the advantages of a rollout are documented to be brought to mean 0
            and standard deviation 1 before they are divided into minibatches.
    """

    total_steps: Annotated[int, Field(ge=0)] = 0
    stores: tuple[Annotated[str, expect_one_of(_STORED)], ...] = ()
    reads: tuple[Annotated[str, expect_one_of(_READ)], ...] = ()
    value_in_last_reward: bool = False
    first_row_from_before_seeding: bool = False
    warm_up_is_stored: bool = True
    value_before_truncation: bool = False
    truncation_is_termination: bool = False
    reset_after_termination: bool = False
    bounding: Annotated[str, expect_one_of(("", "clip", "tanh"))] = ""
    scaled: bool = False
    noise_in_half_widths: bool = False
    collections_before_updates: Annotated[int, Field(ge=0)] = 0
    delay_leaves_out: bool = True
    windows_end_with_batches: bool = False
    standardized_advantages: bool = False
    most_environments: Annotated[int, Field(ge=0)] = 0


@dataclass(frozen=True)
class _Table(_Entry):
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Setting(_Entry):
    """An entry with the whole set of hyperparameters, changes applied."""

    hyperparameters: Mapping[str, Any]

    def limit_environments(self, wanted: int) -> int:
        """Return the wanted number of environments, or as many as the framework takes."""
        return min(wanted, self.most_environments or wanted)


def skip_unless_trained(framework: Adapter, algorithm: str) -> None:
    """Skip the test if this framework, or this copy of it, does not train the algorithm."""
    if algorithm not in framework.framework.behavior_only:
        pytest.skip(f"{framework.full_name} does not train {algorithm}")


def _get_entry(table: Mapping[str, Any], key: str, place: str, kind: str) -> Any:
    if key not in table:
        raise UserError(f"{place} has no {kind} '{key}'; {suggest_names(key, table)}")
    return table[key]


def load_setting(framework: str, topic: str, algorithm: str) -> Setting:
    """Return the setting of ``baselines/behavior``; UserError names file and key of a mistake."""
    path = suite.locate_baselines() / "behavior" / f"{framework}.yaml"
    topics = datafiles.read_data_file_cached(path, Mapping[str, Mapping[str, _Table]])
    algorithms = _get_entry(topics, topic, str(path), "topic")
    entry = dict(vars(_get_entry(algorithms, algorithm, f"{path}: {topic}", "algorithm")))
    changes = entry.pop("changes")
    if algorithm in topics.get(_WITHOUT_CELLS, {}):
        sets = f"the topic '{_WITHOUT_CELLS}'"
        base = topics[_WITHOUT_CELLS][algorithm].changes
    else:
        sets = f"the hyperparameter set '{framework}'"
        base = _get_entry(read_hyperparameters(framework), algorithm, sets, "algorithm")
    for name in changes:
        _get_entry(base, name, f"{path}: {topic}.{algorithm}: {sets}", "hyperparameter")
    return Setting(hyperparameters={**base, **changes}, **entry)
