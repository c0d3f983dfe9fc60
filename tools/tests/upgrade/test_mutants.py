"""The power of an acquittal: which seeded faults the trainings would have seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress.faults import mutation
from rlregress.model.code import ADDED, CHANGED, REMOVED, Changed, Function
from rlregress.model.upgrade_result import MutationTest, PieceExecution
from rlregress.trace.trace_reader import failed
from rlregress.upgrade import mutation_test
from rlregress.upgrade.compared_trainings import Training
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
TRAIN, STEP = (
    Function(name="train", first=1, last=4, code=""),
    Function(name="step", first=7, last=8, code=""),
)


def trace(*lines, value=1.0, count=1):
    """A trace of so many losses that has reached some lines."""
    ran = {FILE: [list(lines), [2, 3, 4, 8]]}
    return small_traces.trace(*[loss(value=value)] * count, lines=ran)


class Recorded:
    """Records trainings with faults: what comes of each, by training and line of the fault."""

    def __init__(self, outcomes, traces):
        self._outcomes, self._traces = outcomes, traces
        self.turns = []

    def __call__(self, trainings):
        """Traces by name; the names are all different."""
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


@pytest.fixture
def proved(tmp_path):
    """Return a function that injects faults; it returns the proof and each turn's recordings."""
    path = tmp_path / "agent.py"
    path.write_text(TEXT)

    def inject(
        traces, outcomes, hows=(CHANGED, CHANGED), limit=99, own=(TRAIN, STEP), recorded=Recorded
    ):
        executions = [
            PieceExecution(
                function=Changed(
                    file=FILE,
                    name=function.name,
                    how=how,
                    old=function,
                    new=function,
                    paths=(None, path),
                )
            )
            for function, how in zip(own, hows, strict=True)
        ]
        trainings = {name: Training("sb3", name, {"seed": 3}) for name in traces}
        record = recorded(outcomes, traces)
        return mutation_test.mutation_test(
            executions, trainings, traces, record, limit
        ), record.turns

    return inject


def lines(faults):
    """Return the lines of faults, each once."""
    return sorted({fault.line for fault in faults})


PARTED = trace(value=2.0)


def test_what_becomes_of_a_fault(proved):
    """One parts the trace, one is run and moves nothing, and one is on a line that is not run."""
    traces = {"sac": trace(3, 4)}
    proof, _ = proved(traces, {("sac", 3): PARTED})
    assert [lines(faults) for faults in (proof.diverged, proof.unseen, proof.not_run)] == [
        [3],
        [4],
        [8],
    ]
    per_line = {
        n: len({f for f in mutation.faults(FILE, "step", 7, 8, TEXT) if f.line == n}) for n in (8,)
    }
    assert len(proof.not_run) == per_line[8] == 2
    assert (proof.functions, proof.faults, proof.misfits) == (2, 4, ())
    assert proof.share == 1 / 4


def test_a_training_that_ends_in_an_error_has_seen_the_fault(proved):
    """So has one that was ended or fails after all that was recorded; not one that rounds."""
    before = trace(3)
    late = replace(before, header={**before.header, "failure": "Traceback\nE: no"})
    for after in (failed("the process was ended by SIGALRM after 300 s"), late):
        proof, _ = proved({"sac": before}, {("sac", 3): after})
        assert lines(proof.diverged) == [3]
    proof, _ = proved({"sac": before}, {("sac", 3): trace(value=1.0 + 1e-12)})
    assert lines(proof.unseen) == [3]


def test_a_fault_that_cannot_be_seeded_does_not_count(proved):
    """It is neither seen nor unseen; why it does not fit is kept."""
    why = "rlregress.inside.swap.Misfit: train refers to other variables around it"
    proof, turns = proved(
        {"sac": trace(3), "td3": trace(3, count=2)}, {("sac", 3): failed(f"Traceback\n{why}\n")}
    )
    assert (lines(proof.diverged), lines(proof.unseen), lines(proof.not_run)) == ([], [], [4, 8])
    assert proof.misfits == (f"{FILE}:3 train (sign): return -x -> return (x): {why}",)
    assert proof.faults == 3
    # nor is it tried again
    assert turns == [[("sac", 3)]]


def test_later_trainings_are_tried_only_with_what_earlier_ones_did_not_see(proved):
    """The shortest first, each only with the lines that it runs."""
    traces = {
        "long": trace(3, 4, 8, count=9), "short": trace(3, 4), "middle": trace(4, 8, count=2),
    }  # fmt: skip
    proof, turns = proved(traces, {("short", 3): PARTED, ("middle", 4): PARTED})
    assert turns[0] == [("middle", 8), ("middle", 8), ("short", 3), ("short", 4)]
    assert turns[1] == [("long", 4), ("long", 8), ("long", 8), ("middle", 4)]
    assert len(turns) == 2
    assert (lines(proof.diverged), lines(proof.unseen)) == ([3, 4], [8])


def test_one_training_of_each_way_through_the_function_is_tried_first(proved):
    """Trainings that go the way of a shorter one come after the longest that goes its own."""
    traces = {
        "short": trace(2, 3), "alike": trace(2, 3, count=2), "alike, too": trace(2, 3, count=3),
        "other": trace(2, 3, 4, count=4),
    }  # fmt: skip
    _, turns = proved(traces, {}, hows=(CHANGED, REMOVED))
    tried = [{name for name, line in turn if line == 3} for turn in turns]
    assert tried == [{"short"}, {"alike", "other"}, {"alike, too"}]


def test_a_fault_that_time_did_not_allow_is_neither_detected_nor_missed(proved):
    """Its recording was ended by --minutes: nothing is known of it."""
    late = type("Late", (Recorded,), {"__call__": lambda self, trainings: {}})
    proof, _ = proved({"sac": trace(3, 4)}, {}, limit=1, recorded=late)
    assert len(proof.misfits) == 1
    assert not proof.diverged + proof.unseen + proof.called


def test_faults_are_seeded_only_where_the_new_version_has_code(proved):
    """Not into removed functions, nor into code that runs at import; into new ones."""
    proof, _ = proved({"sac": trace(3, 4, 8)}, {}, hows=(REMOVED, ADDED))
    assert (lines(proof.unseen), proof.functions) == ([8], 1)
    module = Function(name="<module>", first=1, last=4, code="")
    proof, _ = proved({"sac": trace(3, 4, 8)}, {}, own=(module, STEP))
    assert (lines(proof.unseen), proof.functions) == ([8], 1)


def test_no_more_faults_are_seeded_than_asked(proved):
    """Spread over the functions; with none the share is 0."""
    proof, _ = proved({"sac": trace(3, 4, 8)}, {}, limit=2)
    assert (proof.faults, proof.functions) == (2, 2)
    proof, turns = proved({"sac": trace(3)}, {}, hows=(REMOVED, REMOVED))
    assert proof == MutationTest(functions=0, diverged=(), not_run=(), unseen=())
    assert (proof.share, turns) == (0.0, [])


def test_a_drawn_fault_is_asked_of_every_training():
    """One that only the last of forty sees is not seen by a proof, which asks 31 of them."""
    traces = {f"sac {n}": trace(3, count=n + 1) for n in range(40)}
    trainings = {name: Training("sb3", name, {"seed": 3}) for name in traces}
    fault = next(
        missed for missed in mutation.faults(FILE, "train", 1, 4, TEXT) if missed.line == 3
    )
    outcomes = {("sac 39", 3): trace(value=2.0, count=40)}
    for most, detected_by in ((mutation_test.MOST, ""), (len(traces), "sac 39")):
        record = Recorded(outcomes, traces)
        (seeded,) = mutation_test.seed([fault], trainings, traces, record, most=most)
        assert (seeded.detected_by, sum(map(len, record.turns))) == (detected_by, min(most, 40))
