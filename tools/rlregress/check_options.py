"""The options of ``rlregress check``, most of which pytest takes, too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rlregress.model.option import list_options, make_option_field
from rlregress.training.budgets import MAX_SEEDS


@dataclass(frozen=True)
class CheckOptions:
    """The options of ``rlregress check``; pytest and other commands that judge take some of them.

    Attributes:
        one_look: judge once, after the budget's number of runs.
    """

    report: Path = make_option_field(
        Path("report"), "--report", "Folder of the report; default: report/.", metavar="FOLDER"
    )
    budget: str = make_option_field(
        "short", "--budget", "Training length: smoke, short, full; default: short.", metavar="NAME",
        pytest=True,
    )  # fmt: skip
    frameworks: str | None = make_option_field(
        None, "--framework", "Frameworks to use; default: all installed ones.", metavar="NAMES",
        completed_by="complete_frameworks", pytest=True,
    )  # fmt: skip
    algorithms: str | None = make_option_field(
        None, "--algorithm", "Algorithms, as ppo,sac; default: all.", metavar="NAMES", pytest=True
    )
    environments: str | None = make_option_field(
        None, "--environment", "Gymnasium ids; default: as --cells.", metavar="IDS", pytest=True
    )
    cells: str = make_option_field(
        "default", "--cells", "Cells: default, all, a study, or ids as '*-ppo-*'.",
        metavar="CELLS", completed_by="complete_cells", pytest=True,
    )  # fmt: skip
    hyperparameters: str = make_option_field(
        "", "--hyperparameters", "Set of hyperparameters; default: the framework's.",
        metavar="SET", pytest=True,
    )  # fmt: skip
    seeds: int = make_option_field(
        0, "--seeds", "New runs of a cell, judged once; default: as needed.", metavar="N", least=0,
        pytest=True,
    )  # fmt: skip
    one_look: bool = make_option_field(
        False, "--single-look", "Judge once, after the budget's runs.", pytest=True
    )
    alpha: float = make_option_field(
        0.05, "--alpha", "Probability of a false alarm; default: 0.05.", metavar="P", pytest=True
    )
    first_seed: int = make_option_field(
        MAX_SEEDS, "--first-seed", "First seed of new runs; others confirm alarms.", metavar="SEED",
        pytest=True,
    )  # fmt: skip
    fresh_seeds: bool = make_option_field(
        False, "--fresh-seeds", "Train new seeds, and replay no stored run.", pytest=True
    )
    replay_seed: int = make_option_field(
        -1, "--replay-seed", "Seed of the stored runs to replay; default: another each day.",
        metavar="SEED", least=-1, pytest=True,
    )  # fmt: skip
    store: str = make_option_field(
        "", "--store", "Folder of run records; default: runs/.", metavar="FOLDER", pytest=True
    )
    workers: int = make_option_field(
        0, "--workers", "Processes; default: 0, one per core.", short="-n", metavar="N", least=0
    )
    throughput: bool = make_option_field(False, "--throughput", "Judge speed and memory, too.")

    @property
    def replays_first(self) -> bool:
        """Return whether stored runs are replayed first; not if other runs were requested."""
        has_other_runs = self.seeds or self.one_look or self.first_seed != MAX_SEEDS
        return not (self.fresh_seeds or has_other_runs)

    @property
    def evidence(self) -> Path:
        """Path of the evidence of the session."""
        return self.report / "evidence.json"

    @property
    def junit(self) -> Path:
        """Path of pytest's results as JUnit XML."""
        return self.report / "junit.xml"

    @property
    def throughput_evidence(self) -> Path:
        return self.report / "throughput.json"


#: fields of the options that pytest takes too
PYTEST = frozenset(name for name, (entry, _) in list_options(CheckOptions).items() if entry.pytest)
