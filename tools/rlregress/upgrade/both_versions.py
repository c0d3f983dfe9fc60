"""Both versions: the differences between them, and the entries of these differences."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from rlregress.model.code import ChangedPiece
from rlregress.model.differences import Entry
from rlregress.model.recorded_traces import Trace
from rlregress.model.upgrade_result import PhysicsComparison, PieceExecution
from rlregress.upgrade.differences import outside_training
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.evidence import coverage
from rlregress.upgrade.evidence.runtimes import Runtimes
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
    checks: entries.Checks = field(default_factory=dict)

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

    def list_entries_of_code(
        self, executions: Sequence[PieceExecution], executed: ExecutedCode
    ) -> list[Entry]:
        """Return the report's entries for pieces of code that differ."""
        inventory = self.inventory
        unnamed = entries.find_pieces_never_named(
            (execution.function for execution in executions), self.new_package_folders
        )
        outside = outside_training.load_outside_training_patterns()
        pieces = entries.make_code_entries(executions, executed.checks, unnamed, outside)
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
