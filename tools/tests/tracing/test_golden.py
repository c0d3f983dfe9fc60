"""Golden files: what of a script is kept in a small text file, and what is found by it later."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rlregress.inside.run_record import checksum
from rlregress.reporting import traces_text
from rlregress.tracing import golden

from .scripts import TRAINING, changed

pytestmark = pytest.mark.usefixtures("warm_python")

LIBRARY = """
def double(x):
    return 2 * x


def loss(given, wanted):
    return ((given - wanted) ** 2).mean()
"""
#: the same training, whose loss is a function of a package.
SCRIPT = "import learner\n" + changed(
    ("    return ((given - wanted) ** 2).mean()", "    return learner.loss(given, wanted)")
)


@pytest.fixture
def kept(recorded, tmp_path):
    """The golden file of a training of twenty steps, and its trace."""
    trace = recorded(TRAINING)
    path = tmp_path / "train.golden"
    golden.write(path, trace)
    return path, trace


def edited(path, **values):
    """Write other values into a golden file, and the checksum that fits them."""
    content = {**json.loads(path.read_text()), **values}
    content.pop("checksum")
    path.write_text(json.dumps({**content, "checksum": checksum(content)}))


def test_a_script_is_the_same_as_in_its_own_golden_file(kept):
    """A golden file reports no difference from the trace that it was made of."""
    path, trace = kept
    result = golden.differences(golden.load(path), trace)
    assert result.is_same
    assert (result.versions, result.sources, result.seeds) == ({}, {}, {})
    assert traces_text.golden_difference(result, trace)[0].startswith("same to the bit: 20 env")
    assert path.stat().st_size < 40_000


def test_a_golden_file_has_one_line_for_each_event(kept):
    """A line is a site and a digest for each part; of the first twenty events all is known."""
    path, trace = kept
    content = json.loads(path.read_text())
    lines = [line.strip(' ",') for line in path.read_text().splitlines()]
    assert len(content["events"]) == content["length"] == len(trace.events)
    assert all(row in lines for row in content["events"])
    assert [row["event"] for row in content["values"]][:20] == list(range(20))
    assert content["seeds"]["torch's generator"] == "1"
    assert content["values"][-1]["event"] == content["length"] - 1


@pytest.mark.parametrize(
    ("old", "new", "kind", "function"),
    [
        ("np.random.seed(1)", "np.random.seed(2)", "exploration", "explore"),
        ("1e-2 * (1 - step", "1.1e-2 * (1 - step", "schedule", "main"),
        (".mean()\n", ".mean() * 2\n", "loss", "main"),
        ("0.1 * new + 0.9 * old", "0.2 * new + 0.8 * old", "target update", "follow"),
        # as little as an addition in another order: a digest tells no size
        (".mean()\n", ".mean() * (1 + 1e-7)\n", "loss", "main"),
        ("gradient_clip = 0.5", "gradient_clip = 0.4", "gradient", "main"),
    ],
    ids=["seed", "schedule", "loss", "target", "rounding", "gradient"],
)
def test_a_changed_line_is_found(kept, recorded, old, new, kind, function):
    """The first event that differs is named with its line, and is never called rounding."""
    path, _ = kept
    if old.startswith("gradient_clip"):
        old, new = "parameters(), 0.5)", "parameters(), 0.4)"
    trace = recorded(changed((old, new)))
    result = golden.differences(golden.load(path), trace)
    first = result.comparison.first
    assert not result.is_same
    assert (first.kind, first.a.function) == (kind, function)
    assert list(result.sources) == ["train.py"]
    text = "\n".join(traces_text.golden_difference(result, trace))
    assert f"differs at event {first.a.index + 1} of {len(trace.events)}" in text
    assert first.a.place in text
    assert "rounding" not in text
    assert "close" not in text


def test_values_are_shown_where_they_are_known(kept, recorded):
    """Of an early event both values are shown; of a later one the new, and old at checkpoints."""
    path, _ = kept
    early = recorded(changed(("reset(seed=3)", "reset(seed=4)")))
    result = golden.differences(golden.load(path), early)
    assert result.comparison.first.a.index < 20
    assert "digest" not in "\n".join(traces_text.golden_difference(result, early))
    late = recorded(changed(("* (1 - step / 40)", "* (1 - step / 40 + (step > 15))")))
    result = golden.differences(golden.load(path), late)
    text = traces_text.golden_difference(result, late)
    assert result.comparison.first.kind == "schedule"
    assert any("old: " in line and "learning_rate digest " in line for line in text)
    assert any(line.startswith("later, event ") and " -> " in line for line in text)


def test_events_that_change_nothing_are_no_difference(kept, recorded):
    """An array more that becomes a tensor is listed where all numbers after it are the same."""
    path, _ = kept
    more = "    torch.as_tensor(np.zeros(3))\n    optimizer = torch.optim.Adam"
    trace = recorded(changed(("    optimizer = torch.optim.Adam", more)))
    result = golden.differences(golden.load(path), trace)
    assert result.is_same
    text = traces_text.golden_difference(result, trace)
    assert any(line.startswith("only the new recording has 1 events") for line in text)


def test_a_training_that_ends_earlier_or_later_differs(kept, recorded):
    """Two steps less or more are a difference, and so is an error at the end."""
    path, _ = kept
    loaded = golden.load(path)
    for count in (18, 22):
        assert not golden.differences(
            loaded, recorded(changed(("range(20)", f"range({count})")))
        ).is_same
    failing = recorded(changed(("trained = main()", "trained = main()\nraise OSError('full')")))
    result = golden.differences(loaded, failing)
    assert not result.is_same
    assert "ended in OSError: full" in "\n".join(traces_text.golden_difference(result, failing))


@pytest.mark.parametrize("room", [200_000, 32_000])
def test_a_long_script_fits(recorded, tmp_path, monkeypatch, room):
    """Whatever a script does, its file has at most the bytes that it may have."""
    monkeypatch.setattr(golden, "LARGEST", room)
    text = changed(("range(20)", "range(400)"))
    trace = recorded(text)
    # as long as a training of half a day
    copies = 100 if room == 200_000 else 1
    events = [event for event in trace.events if event.kind != "final"] * copies
    trace = replace(trace, events=tuple(replace(e, index=n) for n, e in enumerate(events)))
    path = tmp_path / "long.golden"
    golden.write(path, trace)
    assert 0.8 * room < path.stat().st_size <= room
    loaded = golden.load(path)
    assert loaded.block > 1 or copies == 1
    assert golden.differences(loaded, trace).is_same


def test_a_late_difference_is_found_in_its_block(recorded, tmp_path, monkeypatch):
    """After the events with a digest each, the first block that differs is named."""
    monkeypatch.setattr(golden, "LARGEST", 34_000)
    trace = recorded(changed(("range(20)", "range(400)")))
    path = tmp_path / "long.golden"
    golden.write(path, trace)
    loaded = golden.load(path)
    late = recorded(
        changed(("range(20)", "range(400)"), ("(1 - step / 40)", "(1 - step / 40 + (step > 390))"))
    )
    result = golden.differences(loaded, late)
    decisive = [e for e in late.events if e.kind in golden._DECISIVE]
    changes = [n for n, e in enumerate(decisive) if e.kind == "optimizer"][391]
    assert result.comparison.verdict == "equal"
    assert result.block.start <= changes < result.block.stop
    assert result.block.stop - result.block.start == loaded.block
    text = "\n".join(traces_text.golden_difference(result, late))
    assert text.startswith(f"differs in steps and updates {result.block.start + 1} to ")
    # one step more or less at the end is in the last block, or after it
    for other in (replace(trace, events=trace.events[:-9]),
                  replace(trace, events=(*trace.events, *trace.events[-9:]))):  # fmt: skip
        assert not golden.differences(loaded, other).is_same
