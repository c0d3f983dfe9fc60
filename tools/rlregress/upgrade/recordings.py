"""Trainings on both versions: recorded, compared, searched for culprits, and put into a result."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from rlregress import progress
from rlregress.model import differences as model
from rlregress.model.code import ChangedPiece
from rlregress.model.explain import RepeatedTrace
from rlregress.model.recorded_traces import (
    ComparedTraining,
    Comparison,
    Trace,
    UncomparedTraining,
    merge_executed_lines,
)
from rlregress.model.upgrade_result import (
    Cost,
    Culprits,
    FrameworkResult,
    PieceExecution,
    TrainingResult,
)
from rlregress.trace import rounding
from rlregress.trace.child_processes import is_time_over, note_skipped_task
from rlregress.upgrade.both_versions import BothVersions, ExecutedCode
from rlregress.upgrade.culprits import attribution, culprit_search, diverging_groups
from rlregress.upgrade.differences.training_selection import ExecutableDifferences
from rlregress.upgrade.evidence import compared_trainings, costs, coverage, direct_calls
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.runtimes import NotedFunctions
from rlregress.upgrade.verdict import entries

_Result = TypeVar("_Result", bound=TrainingResult)


@dataclass(kw_only=True)
class RecordedTrainings:
    """Trainings of a framework, or a script, on both versions; each step adds its findings.

    Attributes:
        differing: the functions that may be reverted.
        old, new: traces of each version, by the training's name.
        traced: trainings that were compared; not_traced: trainings that could not be.
        same: names of trainings that execute nothing that differs: not recorded in the old version.
        sole_differences: training -> the only changed piece of code that it executes.
        stand_ins: training -> its representative; see ``diverging_groups``.
        culprits: training that differs -> its culprits.
        executions: of the pieces of code, with the results of direct calls.
        costs: time and memory of trainings that execute changed code.
    """

    versions: BothVersions
    trainings: Sequence[Training]
    differing: Sequence[ChangedPiece]
    old: dict[str, Trace] = field(default_factory=dict)
    new: dict[str, Trace] = field(default_factory=dict)
    traced: list[ComparedTraining] = field(default_factory=list)
    not_traced: list[UncomparedTraining] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    sole_differences: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    stand_ins: dict[str, str] = field(default_factory=dict)
    culprits: dict[str, Culprits] = field(default_factory=dict)
    executions: Sequence[PieceExecution] = ()
    costs: tuple[Cost, ...] = ()
    _comparisons: dict[str, Comparison | UncomparedTraining] = field(init=False)

    def record_and_compare(
        self, lines: Mapping[str, NotedFunctions], difference: ExecutableDifferences | None
    ) -> None:
        """Record trainings on the new version, on the old one where needed; compare the traces.

        Args:
            lines: label of a version -> functions whose executed code is noted.
            difference: the old version records only trainings that execute some of this. None: it
                records all.
        """
        if not self.trainings:
            return
        runtimes, options = self.versions.runtimes, self.versions.options
        trainings = sorted(self.trainings, key=lambda training: " " in training.name)
        progress.begin_stage("recording trainings on both versions", 2 * len(trainings))
        with options.limit_stage("traces"):
            self.old, self.new = (
                runtimes.record_on_both_versions(trainings, lines)
                if difference is None
                else runtimes.record_new_then_chosen_old(
                    trainings, lines, partial(_select_trainings_to_compare, difference)
                )
            )
        idle: set[str] = set()
        if difference is not None:
            new = self.new.items()
            idle = {n for n, trace in new if not difference.select_executed_differences(trace)}
            options.say(
                f"{trainings[0].owner}: {len(trainings) - len(idle)} of {len(trainings)} trainings "
                "execute code that differs, bodies of modules included"
                f"{f'; {difference.because}' if difference.because else ''}"
            )
            self.sole_differences = {
                name: key for name, trace in new if (key := difference.find_sole_difference(trace))
            }
        for name in (name for name in self.new if name in idle):
            if why := str(self.new[name].header.get("not_offered", "")):
                self.not_traced.append(
                    compared_trainings.report_training_of_neither_version(name, why)
                )
            else:
                self.same.append(name)
        self.compare([training for training in trainings if training.name not in idle])

    def compare(self, trainings: Sequence[Training]) -> None:
        """Compare trainings that were recorded on both versions."""
        options, old, new = self.versions.options, self.old, self.new
        self._comparisons = {
            t.name: compared_trainings.compare_recorded_training(t.name, old[t.name], new[t.name])
            for t in trainings
            if t.name in old and t.name in new and not is_time_over()
        }
        late = [t for t in trainings if t.name not in self._comparisons]
        trainings = [t for t in trainings if t.name in self._comparisons]
        self.not_traced += [
            compared_trainings.report_training_not_in_time(training, options.minutes)
            for training in late
        ]
        diverging = {
            name: comparison
            for name, comparison in self._comparisons.items()
            if isinstance(comparison, Comparison) and comparison.verdict != "equal"
        }
        stand_for = diverging_groups.choose_representatives(
            diverging, (old, new), {piece.key for piece in self.differing}, self.sole_differences
        )
        repetitions = self._record_diverging_again(trainings, stand_for)
        # later readers of these traces must skip the values that do not repeat, too
        self.old |= {name: both[0].trace for name, both in repetitions.items()}
        self.new |= {name: both[1].trace for name, both in repetitions.items()}
        self._compare_with_rounding_measured(trainings, stand_for)
        self._describe_trainings(trainings, repetitions)
        if late:
            options.say(f"{len(late)} trainings were not compared: --minutes are over")
            note_skipped_task(
                f"{len(late)} of {len(late) + len(trainings)} trainings of {late[0].owner}"
            )
        # what rounding explains in a representative is not explained in what it represents
        verdicts = {training.name: training.comparison.verdict for training in self.traced}
        self.stand_ins = {
            name: recorded
            for name, recorded in stand_for.items()
            if recorded != name and verdicts.get(name) == verdicts.get(recorded)
        }
        self.traced = diverging_groups.name_representatives(self.traced, self.stand_ins)

    def _describe_trainings(
        self,
        trainings: Sequence[Training],
        repetitions: Mapping[str, tuple[RepeatedTrace, RepeatedTrace]],
    ) -> None:
        """Describe each training by its comparison, or by why there is none; say what came out."""
        say = self.versions.options.say
        for training in trainings:
            name, comparison = training.name, self._comparisons[training.name]
            if isinstance(comparison, UncomparedTraining):
                self.not_traced.append(comparison)
                if comparison.is_supported_by_both_versions:
                    say(f"{training.owner} {comparison}")
                continue
            both = compared_trainings.describe_compared_training(
                name, comparison, self.old[name], self.new[name], repetitions.get(name)
            )
            self.traced.append(both)
            if both.has_no_scenario:
                say(f"{training.owner} {name}: {both.verdict_in_words}")
        words = Counter(t.verdict_in_words for t in self.traced if not t.has_no_scenario)
        if words:
            counts = ", ".join(f"{count} {word}" for word, count in words.most_common())
            say(f"{trainings[0].owner} scenarios: {counts}")

    def _record_diverging_again(
        self, trainings: Sequence[Training], stand_ins: dict[str, str]
    ) -> dict[str, tuple[RepeatedTrace, RepeatedTrace]]:
        """Record diverging trainings once more, on both versions.

        Args:
            stand_ins: training -> its representative. If that does not repeat itself, each of its
                trainings represents itself afterwards.
        """
        options = self.versions.options
        repetitions: dict[str, tuple[RepeatedTrace, RepeatedTrace]] = {}
        to_repeat = [t for t in trainings if stand_ins.get(t.name) == t.name]
        while to_repeat:
            options.say(
                f"recording {len(to_repeat)} trainings again, to see whether they repeat themselves"
            )
            progress.begin_stage("recording trainings again", 2 * len(to_repeat))
            named = [
                compared_trainings.request_names_of_differing_values(t, self._comparisons[t.name])
                for t in to_repeat
            ]
            with options.limit_stage("causes"):
                old, new = self.versions.runtimes.record_on_both_versions(named, repeats=True)
            names = [t.name for t in to_repeat if t.name in old and t.name in new]
            if len(names) < len(to_repeat):
                note_skipped_task("repetitions of trainings that differ: they count as different")
            repetitions |= {
                n: compared_trainings.compare_versions_with_their_repetitions(
                    (self.old[n], self.new[n]), (old[n], new[n])
                )
                for n in names
            }
            # a training that stands for others must give the same trace when it is repeated
            loose = {n for n in names if not all(version.repeats for version in repetitions[n])}
            to_repeat = [
                t for t in trainings if stand_ins.get(t.name) in loose and t.name not in repetitions
            ]
            stand_ins.update({training.name: training.name for training in to_repeat})
        if repetitions:
            noisy = sum(not all(version.repeats for version in x) for x in repetitions.values())
            options.say(
                f"{noisy} of {len(repetitions)} differ from their repetition"
                if noisy
                else "all equal their repetition: no difference is noise"
            )
        return repetitions

    def _compare_with_rounding_measured(
        self, trainings: Sequence[Training], stand_ins: Mapping[str, str]
    ) -> None:
        """Compare again with rounding measured, where rounding may explain a divergence.

        Of close trainings that diverge at the same place, only one is compared again. If rounding
        is no reason for a representative, it is none for trainings with the same sole difference.
        """
        options = self.versions.options
        measured = {
            name: comparison
            for name, comparison in self._comparisons.items()
            if isinstance(comparison, Comparison)
        }
        starts = {name: rounding.find_rounding_start(measured[name]) for name in measured}
        copies: dict[str, list[Training]] = {}
        for training in trainings:
            name, begin = training.name, starts.get(training.name)
            representative = stand_ins.get(name, name) if name in self.sole_differences else name
            if begin is None or starts[representative] is None:
                continue
            if measured[name].verdict == "diverged" or stand_ins.get(name) == name:
                copies[name] = compared_trainings.make_perturbed_copies(training, begin)
        if not copies:
            return
        options.say(f"measuring rounding: {rounding.COPIES} copies of {len(copies)} trainings")
        progress.begin_stage("measuring rounding", sum(map(len, copies.values())))
        with options.limit_stage("causes"):
            recorded = self.versions.runtimes.record_without_storing(
                "old", [copy for copies_of_one in copies.values() for copy in copies_of_one]
            )
        for name, perturbed in copies.items():
            copied = [recorded[t.name] for t in perturbed if t.name in recorded]
            if len(copied) < len(perturbed):
                note_skipped_task(
                    "rounding of trainings that differ by little: they count as different"
                )
                continue
            self._comparisons[name] = rounding.measure_rounding_of_comparison(
                measured[name], self.old[name], self.new[name], copied
            )

    def explain(
        self,
        pieces: Sequence[ChangedPiece],
        details_by_function: Mapping[tuple[str, str], Sequence[str]],
    ) -> None:
        """Find the culprits of differing trainings, and what executed each changed piece of code.

        Args:
            details_by_function: function -> details whose probes executed it.
        """
        runtimes, options = self.versions.runtimes, self.versions.options
        folders = self.versions.new_package_folders
        self._find_culprits()
        self.executions = coverage.measure_execution_of_pieces(
            pieces, (self.old, self.new), details_by_function, folders
        )
        # in turns on both versions: other load, such as calls, slows down both
        timed = runtimes.submit(
            costs.measure_costs_of_shortest_trainings,
            runtimes,
            self.trainings,
            self.traced,
            self.not_traced,
            {name for execution in self.executions for name in execution.trainings},
            time.time() - options.started,
        )
        # culprits of trainings that are close, or differ in logs only, still need direct calls
        explained = [
            self.culprits[t.name]
            for t in self.traced
            if t.name in self.culprits
            and t.comparison.verdict == "diverged"
            and not t.comparison.trains_the_same
        ]
        with options.limit_stage("calls"):
            self.executions = direct_calls.compare_captured_calls(
                runtimes,
                self.executions,
                [training for training in self.trainings if training.name in self.old],
                self.new,
                explained,
                folders,
            )
        self.traced = direct_calls.mark_trainings_that_differ_by_rounding(
            self.traced, self.culprits, self.executions
        )
        progress.begin_stage("timing trainings on both versions")
        self.costs = timed.result()

    def _find_culprits(self) -> None:
        """Find the culprits of each diverging training, by reverting changed functions."""
        options = self.versions.options
        diverging = [
            t
            for t in self.traced
            if t.comparison.verdict != "equal" and t.repeats and t.name not in self.stand_ins
        ]
        if diverging and self.differing:
            options.say(f"searching for culprits; diverging trainings: {len(diverging)}")
        if diverging:
            progress.begin_stage("looking for culprits")
        with options.limit_stage("causes"):
            culprits = culprit_search.search_culprits(
                diverging,
                {training.name: training for training in self.trainings},
                self.differing,
                partial(self.versions.runtimes.record_without_storing, "new"),
            )
            if diverging and self.differing and is_time_over():
                note_skipped_task("the rest of the search for culprits")
        # functions among all code that differs, which culprits call, are named with them
        pieces = self.versions.inventory.pieces
        culprits = {
            name: culprit_search.add_one_sided_callees(own, pieces)
            for name, own in culprits.items()
        }
        stand_ins = self.stand_ins.items()
        self.culprits = culprits | {
            n: culprits[searched] for n, searched in stand_ins if searched in culprits
        }

    def add_to_result(self, result: _Result) -> tuple[_Result, ExecutedCode]:
        """Return a result with the trainings and the code that they executed; and this code.

        Args:
            result: its entries are of other checks than trainings, such as details.
        """
        framework = result if isinstance(result, FrameworkResult) else None
        kind = model.SCRIPT if framework is None else model.TRAINING
        checks = entries.make_training_entries(self.traced, self.not_traced, self.same, kind)
        # for represented trainings no search has shown which changed functions matter
        evident = [check for check in checks if check.name not in self.stand_ins]
        executed = ExecutedCode(
            self.old,
            self.new,
            entries.map_checks_to_states([*evident, *result.entries], self.culprits),
        )
        functions = attribution.select_functions_that_explain(
            self.culprits.values(),
            framework.details.changed if framework is not None else (),
            self.differing,
            self.executions,
        )
        if framework is not None:
            functions += attribution.choose_functions_to_show(self.executions)
        noted = merge_executed_lines(self.new.values())
        code = self.versions.list_entries_of_code(self.executions, executed)
        completed = replace(
            result,
            entries=(*checks, *result.entries, *code),
            executions=tuple(self.executions),
            culprits=self.culprits,
            hunks=attribution.collect_differing_lines(
                functions, {file: lines for file, (lines, _) in noted.items()}
            ),
            costs=self.costs,
        )
        return completed, executed


def _select_trainings_to_compare(
    difference: ExecutableDifferences, new: Mapping[str, Trace]
) -> list[str]:
    """Return the trainings that execute something that differs, spread over changed functions."""
    executed = {name: difference.select_executed_differences(trace) for name, trace in new.items()}
    return diverging_groups.order_trainings_to_spread_functions(
        {name: keys[0] for name, keys in executed.items() if keys}
    )
