"""Both versions: how they are compared, and the results."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rlregress.model.code import Changed
from rlregress.model.differences import Entry
from rlregress.model.recorded_traces import NotTraced, Trace, Traced
from rlregress.model.upgrade_result import (
    Cost,
    Culprits,
    EnvironmentComparison,
    PieceExecution,
)
from rlregress.upgrade import recordings
from rlregress.upgrade.differences import outside_training
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.evidence import costs, coverage, direct_calls
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.runtimes import Runtimes
from rlregress.upgrade.recordings import Traces
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.verdict import entries


@dataclass(frozen=True, kw_only=True)
class ExecutedCode:
    """The code that trainings executed, and the result of each training.

    Attributes:
        traces: of the old and of the new version, by name.
        checks: see ``entries.collect_evidence``.
    """

    traces: Traces = field(default_factory=lambda: ({}, {}))
    checks: Mapping[str, tuple[str, Culprits | None]] = field(default_factory=dict)

    def collect_header_values(self, key: str) -> dict[str, set[str]]:
        """Return training -> the entries of its new trace's header under a key."""
        return {name: set(trace.header.get(key, ())) for name, trace in self.traces[1].items()}


def join_executed(executed_codes: Sequence[ExecutedCode]) -> ExecutedCode:
    """Join the executed code of several groups of trainings."""
    old, new = (
        {
            name: trace
            for executed in executed_codes
            for name, trace in executed.traces[number].items()
        }
        for number in range(2)
    )
    checks = {name: check for executed in executed_codes for name, check in executed.checks.items()}
    return ExecutedCode(traces=(old, new), checks=checks)


@dataclass(frozen=True)
class BothVersions:
    """Both versions, the differences between them, and how they are compared."""

    runtimes: Runtimes
    inventory: Inventory
    options: Options

    @property
    def folders(self) -> list[str]:
        """Folders of the new version's packages."""
        return self.inventory.folders("new")

    def find_culprits(
        self,
        compared: Sequence[Traced],
        trainings: Sequence[Training],
        differing: Sequence[Changed],
    ) -> dict[str, Culprits]:
        """Return of each training that differs the changes that make it differ."""
        return recordings.find_culprits(
            self.runtimes, compared, trainings, differing, self.inventory.pieces, self.options
        )

    def find_executions(
        self,
        pieces: Sequence[Changed],
        traces: Traces,
        details_by_function: Mapping[tuple[str, str], Sequence[str]],
    ) -> list[PieceExecution]:
        """Return how trainings and probes executed pieces of code."""
        return coverage.measure_executions(pieces, traces, details_by_function, self.folders)

    def repeat_calls(
        self,
        executions: Sequence[PieceExecution],
        trainings: Iterable[Training],
        new: Mapping[str, Trace],
        all_culprits: Iterable[Culprits],
    ) -> list[PieceExecution]:
        """Return the pieces of code, each with the results of its captured calls."""
        until = self.options.until("calls")
        return direct_calls.repeat_calls(
            self.runtimes, executions, trainings, new, all_culprits, self.folders, until
        )

    def measure_costs(
        self,
        trainings: Sequence[Training],
        compared: Sequence[Traced],
        not_compared: Sequence[NotTraced],
        executions: Iterable[PieceExecution],
    ) -> tuple[Cost, ...]:
        """Return time and memory of trainings that execute changed code."""
        executing = {name for execution in executions for name in execution.trainings}
        spent = time.time() - self.options.started
        return costs.measure_costs(
            self.runtimes, trainings, compared, not_compared, executing, spent
        )

    def list_pieces(
        self, executions: Sequence[PieceExecution], executed: ExecutedCode, framework: str = ""
    ) -> list[Entry]:
        """Return the entries of pieces of code."""
        inventory = self.inventory
        unnamed = entries.find_unnamed(
            (execution.function for execution in executions), self.folders
        )
        outside = outside_training.load()
        pieces = entries.list_pieces(executions, executed.checks, unnamed, outside, framework)
        return entries.name_distributions(
            entries.merge_public_names(pieces, inventory.public), inventory.parts
        )

    def list_others(
        self,
        pieces: Sequence[Changed],
        executed: ExecutedCode,
        environments: Sequence[EnvironmentComparison],
        unused: Collection[str],
    ) -> list[Entry]:
        """Return entries that belong to no framework: metadata, packages, files, environments."""
        inventory = self.inventory
        used = {
            name: imported | executed.collect_header_values("opened").get(name, set())
            for name, imported in executed.collect_header_values("imported").items()
        }
        packages = executed.collect_header_values("distributions_imported")
        return [
            *self.list_pieces(self.find_executions(pieces, executed.traces, {}), executed),
            *entries.name_distributions(
                entries.list_other_files(inventory, executed.checks, used), inventory.parts
            ),
            *entries.list_metadata(inventory, unused),
            *entries.list_packages(inventory, executed.checks, packages),
            *entries.list_environments(environments),
        ]
