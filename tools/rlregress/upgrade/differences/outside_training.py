"""Code outside of training: ``baselines/outside_training.toml``, which users read and change.

It never hides much: at most ``MOST`` of what a release changed may be outside, and nothing that
ran.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rlregress import datafiles, suite
from rlregress.datafiles import Text

#: at most this share of the changed pieces may be taken as outside of training; else none is.
MOST = 0.05


@dataclass(frozen=True)
class OutsideTrainingPattern:
    """A pattern for the names of code that no training and no evaluation uses.

    Attributes:
        pattern: a shell pattern for "<file> <qualified name>".
        reason: what the code is for.
    """

    pattern: Text
    reason: Text


@dataclass(frozen=True)
class _File:
    outside: tuple[OutsideTrainingPattern, ...]


def load_outside_training_patterns() -> tuple[OutsideTrainingPattern, ...]:
    """Return the patterns in ``baselines/outside_training.toml``.

    Raises:
        UserError: an entry is wrong.
    """
    path = suite.locate_baselines() / "outside_training.toml"
    content: _File = datafiles.read_data_file(path, _File)
    return content.outside


def explain_outside_training(
    names: Collection[str], executed: Collection[str], patterns: Sequence[OutsideTrainingPattern]
) -> dict[str, str]:
    """Return name -> why it is outside of training, for pieces that nothing executed.

    Args:
        names: "<file> <qualified name>" of all changed pieces that can have an effect.
        executed: the pieces among these that ran.
    """
    by_name = {
        name: row.reason
        for row in reversed(patterns)
        for name in names
        if name not in executed and fnmatchcase(name, row.pattern)
    }
    return by_name if len(by_name) <= MOST * len(names) else {}
