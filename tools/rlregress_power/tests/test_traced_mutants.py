"""Faults in trainings: which of them a trace shows, or a direct call."""

from __future__ import annotations

from dataclasses import replace

from rlregress.faults import mutation
from rlregress.model.upgrade_result import RepeatedCalls
from rlregress.trace.trace_reader import make_failed_trace
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress_power import traced_mutants
from tools.tests.upgrade import small_traces
from tools.tests.upgrade.small_traces import FILE, loss

#: two faults in the first function, in lines of their own; one in the other.
TEXT = """def train(x):
    if x:
        return -x
    return not x


def step(x):
    return x < 1
"""


def trace(*lines, value=1.0, count=1):
    """Return a trace of ``count`` losses that has executed some lines."""
    ran = {FILE: [list(lines), [2, 3, 4, 8]]}
    return small_traces.trace(*[loss(value=value)] * count, lines=ran)


class Recorded:
    """Records trainings with faults: returns traces by training and line of the fault."""

    def __init__(self, outcomes, traces):
        self._outcomes, self._traces = outcomes, traces
        self.turns = []

    def __call__(self, trainings):
        """Return the traces by name; the names are all different."""
        traces, turn = {}, []
        for training in trainings:
            (swap,) = training.job["swap"]
            rows = zip(TEXT.split("\n"), swap["text"].split("\n"), strict=True)
            (line,) = [n for n, (old, new) in enumerate(rows, start=1) if old != new]
            name = training.name.partition(" fault ")[0]
            assert (swap["file"], training.job["seed"]) == (FILE, 3)
            assert swap["functions"] == ["train" if line < 5 else "step"]
            assert training.name not in traces
            traces[training.name] = self._outcomes.get((name, line), self._traces[name])
            turn.append((name, line))
        self.turns += [sorted(turn)] if turn else []
        return traces


FAULTS = [
    mutant
    for function, edit in mutation.list_edits_of_file(TEXT)
    if (mutant := mutation.build_mutant(FILE, function, edit, TEXT)) is not None
]


def inject(traces, outcomes):
    """Return the results of the faults, and the recordings of each turn."""
    trainings = {name: Training("sb3", name, {"seed": 3}) for name in traces}
    record = Recorded(outcomes, traces)
    return traced_mutants.trace_until_each_fault_differs(
        FAULTS, trainings, traces, record
    ), record.turns


def lines(results):
    """Return the lines of faults, each once."""
    return sorted({result.fault.line for result in results})


def detected(results):
    """Return the lines of the detected faults, and of those that ran and were not."""
    ran = [result for result in results if result.trainings and not result.misfit]
    return (lines(r for r in ran if r.detected_by), lines(r for r in ran if not r.detected_by))


PARTED = trace(value=2.0)


def test_what_becomes_of_a_fault():
    """An error has detected it; one that cannot be injected is neither detected nor missed."""
    results, _ = inject({"sac": trace(3, 4)}, {("sac", 3): PARTED})
    assert detected(results) == ([3], [4])
    (parted,) = [result for result in results if result.detected_by]
    assert (parted.detected_by, parted.comparison.verdict) == ("sac", "diverged")
    assert lines(result for result in results if not result.trainings) == [8]
    before = trace(3)
    late = replace(before, header={**before.header, "failure": "Traceback\nE: no"})
    for after in (make_failed_trace("the process was ended by SIGALRM after 300 s"), late):
        assert detected(inject({"sac": before}, {("sac", 3): after})[0]) == ([3], [])
    rounded = inject({"sac": before}, {("sac", 3): trace(value=1.0 + 1e-12)})
    assert detected(rounded[0]) == ([], [3])
    why = "rlregress.inside.swap.Misfit: train uses variables that differ by version"
    results, turns = inject(
        {"sac": trace(3), "td3": trace(3, count=2)},
        {("sac", 3): make_failed_trace(f"Traceback\n{why}\n")},
    )
    assert detected(results) == ([], [])
    assert [result.misfit for result in results if result.misfit] == [why]
    # nor is it tried again
    assert turns == [[("sac", 3)]]


def test_one_training_of_each_way_through_the_function_is_tried_first():
    """Later ones are tried only with what earlier ones did not detect."""
    traces = {
        "long": trace(3, 4, 8, count=9), "short": trace(3, 4), "middle": trace(4, 8, count=2),
    }  # fmt: skip
    results, turns = inject(traces, {("short", 3): PARTED, ("middle", 4): PARTED})
    assert turns[0] == [("middle", 8), ("middle", 8), ("short", 3), ("short", 4)]
    assert turns[1] == [("long", 4), ("long", 8), ("long", 8), ("middle", 4)]
    assert len(turns) == 2
    assert detected(results) == ([3, 4], [8])
    traces = {
        "short": trace(2, 3), "alike": trace(2, 3, count=2), "alike, too": trace(2, 3, count=3),
        "other": trace(2, 3, 4, count=4),
    }  # fmt: skip
    _, turns = inject(traces, {})
    tried = [{name for name, line in turn if line == 3} for turn in turns]
    assert tried == [{"short"}, {"alike", "other"}, {"alike, too"}]


def test_direct_calls_are_made_in_two_trainings_that_run_the_fault():
    """Only calls with different results are kept, described in words."""
    traces = {f"sac {n}": trace(3, count=n + 1) for n in range(3)}
    trainings = {name: Training("sb3", name, {"seed": 3}) for name in traces}
    called = []

    def call(jobs):
        called.extend((job.name, job.job["mutant"]["functions"]) for job in jobs)
        differs = RepeatedCalls(captured=1, arguments="x all 0", path="returned")
        return {jobs[0].name: differs, jobs[1].name: RepeatedCalls(captured=1, same=3)}

    results = traced_mutants.call_functions_of_faults(FAULTS, trainings, traces, call)
    number = next(n for n, fault in enumerate(FAULTS) if fault.line == 3)
    assert called == [(f"sac {n} fault {number}", ["train"]) for n in (0, 1)]
    assert [result.fault.line for result in results if result.called] == [3]
