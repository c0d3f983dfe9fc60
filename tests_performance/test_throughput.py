"""How fast do the frameworks train, beside the work that no implementation can leave out?"""

from __future__ import annotations

import pytest

from rlregress.check.stored_throughput import (
    collect_current_conditions,
    find_comparable_throughput,
    judge_measured_throughput,
    make_record_command,
)
from rlregress.model.verdict import REGRESSED
from rlregress.pytest_plugin import is_xdist_worker
from rlregress.training.throughput_measurement import Measurement, measure_throughput

pytestmark = pytest.mark.nightly

#: (framework, algorithm) -> what this session measured
MEASURED: dict[tuple[str, str], list[Measurement]] = {}


@pytest.fixture
def throughput(framework, algorithm, pytestconfig):
    """Return the session's measurements of a training; skip under pytest-xdist."""
    if is_xdist_worker(pytestconfig):
        pytest.skip("throughput is measured by one process at a time: run it without -n")
    return MEASURED.setdefault((framework.full_name, algorithm), [])


def floor_seconds() -> float:
    """Return the measured time so far, in seconds of the floor, for pytest-benchmark."""
    return sum(1 / process.ratio for processes in MEASURED.values() for process in processes)


@pytest.mark.benchmark(group="CPU seconds for one of the floor", timer=floor_seconds)
def test_floor(framework, algorithm, throughput, benchmark, evidence, pytestconfig):
    """No training is faster than the floor beside it, which does its unavoidable work alone."""
    name, option = framework.full_name, pytestconfig.getoption

    def measure_next():
        seed = option("--first-seed") + len(throughput)
        throughput.append(measure_throughput(name, algorithm, seed))

    benchmark.pedantic(measure_next, rounds=option("benchmark_min_rounds"))
    measured = [vars(process) for process in throughput]
    benchmark.extra_info |= {**collect_current_conditions(name, algorithm), "process": measured}
    evidence(throughput={"algorithm": algorithm, "processes": throughput})
    ratios = [process.ratio for process in throughput]
    assert max(ratios) < 1, f"{name} {algorithm} has the ratios {ratios} to the floor"


def test_throughput(framework, algorithm, throughput, evidence, pytestconfig):
    """Against its stored processes the training is no slower and needs no more memory."""
    name = framework.full_name
    if find_comparable_throughput(name, algorithm) is None:
        pytest.skip(f"no stored throughput of {name} {algorithm}: {make_record_command(name)}")
    if not throughput:
        pytest.skip(f"test_floor, which measures {name} {algorithm}, did not run")
    verdicts = judge_measured_throughput(MEASURED, pytestconfig.getoption("--alpha"))[
        name, algorithm
    ]
    evidence(throughput={"algorithm": algorithm, "verdicts": verdicts})
    worse = [
        f"{quantity}: {v.reason}" for quantity, v in verdicts.items() if v.verdict == REGRESSED
    ]
    assert not worse, f"{name} {algorithm} regressed: {'; '.join(worse)}"
