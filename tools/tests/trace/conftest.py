"""What the tests of recordings share."""

from __future__ import annotations

import gc
import itertools
import sys
from types import SimpleNamespace

import pytest


@pytest.fixture(autouse=True)
def _no_garbage():
    """Keep garbage of earlier tests out of a recording, which collects at fixed events."""
    # with the first optimiser torch imports half of itself
    import torch._dynamo  # noqa: F401

    gc.freeze()


@pytest.fixture
def recorder(request):
    """A recorder of the test's own file."""
    from rlregress.inside.events import Places
    from rlregress.inside.recorder import Recorder

    with Recorder(Places([str(request.path)])) as recorder:
        yield recorder


@pytest.fixture
def repetitions_of_100_ms(monkeypatch):
    """Give a call repetitions at 100 ms each, however long they take."""

    from rlregress.inside import calls, repeat

    readings = itertools.count()
    clock = SimpleNamespace(process_time=lambda: 0.1 * next(readings), monotonic=lambda: 0.0)
    monkeypatch.setattr(repeat, "time", clock)
    monkeypatch.setattr(calls, "_measure_seconds_of_children", lambda: 0.0)


#: text and name of a script -> the file of its trace, if it was recorded without options.
_TRACES = {}


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Record a script with a text as the process of a recording does, but in this one.

    A script that an earlier test has recorded under the same name is not recorded again.
    """

    import torch

    from rlregress.inside import trace_worker
    from rlregress.trace import trace_reader

    def recorded(text, name="train", **job):
        script = tmp_path / f"{name}.py"
        script.write_text(text, encoding="utf-8")
        output = tmp_path / f"{name}.trace"
        if not job and (text, name) in _TRACES:
            output.write_bytes(_TRACES[text, name])
            return trace_reader.load_trace(output)
        monkeypatch.setattr(sys, "argv", [])
        monkeypatch.setattr(sys, "path", list(sys.path))
        monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
        threads = torch.get_num_threads()
        request = {"script": str(script), "arguments": [], "packages": [], "steps": 0, **job}
        try:
            trace_worker.record_job_to_trace({**request, "output": str(output)})
        finally:
            torch.set_num_threads(threads)
        if not job:
            _TRACES[text, name] = output.read_bytes()
        return trace_reader.load_trace(output)

    return recorded
