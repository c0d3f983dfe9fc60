"""How fast do the frameworks train, beside the work that no implementation can leave out?"""

from __future__ import annotations

import resource

import pytest

from rlregress.gate.stored_throughput import how_to_record
from rlregress.model.verdict import REGRESSED
from rlregress.training.throughput_measurement import processes

pytestmark = pytest.mark.nightly


def seconds_of_processes() -> float:
    """CPU seconds of the processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.benchmark(group="CPU time of a process", timer=seconds_of_processes)
def test_floor(framework, algorithm, throughput, benchmark, evidence):
    """No training is faster than the floor beside it, which does its unavoidable work alone."""
    name = framework.full_name
    benchmark.pedantic(throughput.measure, (name, algorithm), rounds=processes())
    found = throughput.processes(name, algorithm)
    benchmark.extra_info["ratio"] = [process.ratio for process in found]
    evidence(throughput={"algorithm": algorithm, "processes": found})
    ratios = [process.ratio for process in found]
    assert max(ratios) < 1, f"{name} {algorithm} has the ratios {ratios} to the floor"


def test_throughput(framework, algorithm, throughput, evidence):
    """Against its stored processes the training is no slower and needs no more memory."""
    name = framework.full_name
    verdicts = throughput.verdicts(name, algorithm)
    if not verdicts:
        pytest.skip(f"no stored throughput of {name} {algorithm}: {how_to_record(name)}")
    evidence(throughput={"algorithm": algorithm, "verdicts": verdicts})
    worse = [f"{of}: {v.reason}" for of, v in verdicts.items() if v.verdict == REGRESSED]
    assert not worse, f"{name} {algorithm} regressed: {'; '.join(worse)}"
