"""Both versions: how they are compared, and the results."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rlregress.model.code import ChangedPiece
from rlregress.model.differences import Entry
from rlregress.model.recorded_traces import Trace
from rlregress.model.upgrade_result import Culprits, PhysicsComparison, PieceExecution
from rlregress.upgrade import recordings
from rlregress.upgrade.differences import outside_training
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.evidence import costs, coverage, direct_calls
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.runtimes import Runtimes
from rlregress.upgrade.recordings import Recorded
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.verdict import entries


@dataclass(frozen=True)
class ExecutedCode:
    """The code that trainings executed, and the result of each training.

    Attributes:
        old, new: traces of each version, by the training's name.
        checks: see ``entries.map_checks_to_states``.
    """

    old: Mapping[str, Trace] = field(default_factory=dict)
    new: Mapping[str, Trace] = field(default_factory=dict)
    checks: Mapping[str, tuple[str, Culprits | None]] = field(default_factory=dict)

    def __or__(self, further: ExecutedCode) -> ExecutedCode:
        """Return the code that either group of trainings executed."""
        return ExecutedCode(
            {**self.old, **further.old}, {**self.new, **further.new},
            {**self.checks, **further.checks},
        )  # fmt: skip

    def map_trainings_to_header_values(self, *keys: str) -> dict[str, set[str]]:
        """Return training -> the values under ``keys`` in the header of the new version's trace."""
        return {
            name: {value for key in keys for value in trace.header.get(key, ())}
            for name, trace in self.new.items()
        }


@dataclass(frozen=True)
class BothVersions:
    """Both versions, the differences between them, and how they are compared."""

    runtimes: Runtimes
    inventory: Inventory
    options: Options

    @property
    def new_package_folders(self) -> list[str]:
        return self.inventory.list_package_folders("new")

    def explain_differing_trainings(
        self,
        recorded: Recorded,
        trainings: Sequence[Training],
        differing: Sequence[ChangedPiece],
        pieces: Sequence[ChangedPiece],
        details_by_function: Mapping[tuple[str, str], Sequence[str]],
    ) -> Recorded:
        """Add the culprits of differing trainings, and what executed each changed piece of code.

        Args:
            differing: the functions that may be reverted.
            details_by_function: function -> details whose probes executed it.
        """
        runtimes, options = self.runtimes, self.options
        culprits = recordings.find_culprits_of_diverging(
            runtimes, recorded, trainings, differing, self.inventory.pieces, options
        )
        executions = coverage.measure_execution_of_pieces(
            pieces, recorded.traces, details_by_function, self.new_package_folders
        )
        old, new = recorded.traces
        # culprits of trainings that are close, or differ in logs only, still need direct calls
        explained = [
            culprits[t.name]
            for t in recorded.traced
            if t.name in culprits
            and t.comparison.verdict == "diverged"
            and not t.comparison.trains_the_same
        ]
        with options.limit_stage("calls"):
            executions = direct_calls.compare_captured_calls(
                runtimes,
                executions,
                [training for training in trainings if training.name in old],
                new,
                explained,
                self.new_package_folders,
            )
        traced = direct_calls.mark_trainings_that_differ_by_rounding(
            recorded.traced, culprits, executions
        )
        executing = {name for execution in executions for name in execution.trainings}
        measured = costs.measure_costs_of_shortest_trainings(
            runtimes,
            trainings,
            traced,
            recorded.not_traced,
            executing,
            time.time() - options.started,
        )
        return replace(
            recorded, traced=traced, culprits=culprits, executions=executions, costs=measured
        )

    def list_entries_of_code(
        self, executions: Sequence[PieceExecution], executed: ExecutedCode, framework: str = ""
    ) -> list[Entry]:
        """Return the report's entries for pieces of code that differ."""
        inventory = self.inventory
        unnamed = entries.find_pieces_never_named(
            (execution.function for execution in executions), self.new_package_folders
        )
        outside = outside_training.load_outside_training_patterns()
        pieces = entries.make_code_entries(executions, executed.checks, unnamed, outside, framework)
        return entries.add_distribution_names(
            entries.mark_pieces_listed_as_public_names(pieces, inventory.public), inventory.parts
        )

    def list_entries_without_framework(
        self,
        pieces: Sequence[ChangedPiece],
        executed: ExecutedCode,
        environments: Sequence[PhysicsComparison],
        unused: Collection[str],
    ) -> list[Entry]:
        """Return entries that belong to no framework: metadata, packages, files, environments."""
        inventory = self.inventory
        used = executed.map_trainings_to_header_values("imported", "opened")
        packages = executed.map_trainings_to_header_values("distributions_imported")
        return [
            *self.list_entries_of_code(
                coverage.measure_execution_of_pieces(
                    pieces, (executed.old, executed.new), {}, self.new_package_folders
                ),
                executed,
            ),
            *entries.add_distribution_names(
                entries.make_other_file_entries(inventory, executed.checks, used), inventory.parts
            ),
            *entries.make_metadata_entries(inventory, unused),
            *entries.make_package_entries(inventory, executed.checks, packages),
            *entries.make_environment_entries(environments),
        ]
