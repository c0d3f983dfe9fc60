"""Golden files: a script's trace in a small text file, and differences that it detects later."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium
import pytest
import torch

from rlregress.inside import arithmetic
from rlregress.inside.run_record import compute_checksum
from rlregress.report import next_steps, traces_text
from rlregress.source import parse_source_file
from rlregress.trace import golden, recording_processes

from .scripts import TRAINING, changed

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
def golden_and_trace(recorded, tmp_path):
    """The golden file of a training of eight steps, and its trace."""
    trace = recorded(TRAINING)
    path = tmp_path / "train.golden"
    golden.write_golden_file(path, trace)
    return path, trace


def edited(path, **values):
    """Write other values into a golden file, and the checksum that fits them."""
    content = {**json.loads(path.read_text()), **values}
    content.pop("checksum")
    path.write_text(json.dumps({**content, "checksum": compute_checksum(content)}))


def compare(path, trace):
    """Return the comparison of a golden file with a trace, and its lines in words."""
    result = golden.compare_with_golden(golden.load_golden_file(path), trace)
    return result, traces_text.describe_golden_difference(result, trace)


def test_a_script_is_the_same_as_in_its_own_golden_file(golden_and_trace):
    """No difference is reported; of the first twenty events all is known."""
    path, trace = golden_and_trace
    result, text = compare(path, trace)
    assert result.is_same
    assert (result.versions, result.sources, result.seeds) == ({}, {}, {})
    assert text[0].startswith("same to the bit: 8 env")
    assert path.stat().st_size < 40_000
    # a line for each event: a site and a digest for each part
    content = json.loads(path.read_text())
    lines = [line.strip(' ",') for line in path.read_text().splitlines()]
    assert len(content["events"]) == content["length"] == len(trace.events)
    assert all(row in lines for row in content["events"])
    assert [row["event"] for row in content["values"]][:20] == list(range(20))
    assert content["seeds"]["torch's generator"] == "1"
    assert content["values"][-1]["event"] == content["length"] - 1


def test_a_changed_line_is_found(golden_and_trace, recorded):
    """With its line, and never called rounding; so is an earlier or later end, or an error."""
    path, original = golden_and_trace
    # as little as an addition in another order: a digest tells no size
    result, text = compare(path, recorded(changed((".mean()\n", ".mean() * (1 + 1e-7)\n"))))
    first = result.comparison.first
    assert (result.is_same, list(result.sources)) == (False, ["train.py"])
    assert (first.kind, first.old.function) == ("loss", "main")
    text = "\n".join(text)
    assert f"differs at event {first.old.index + 1} of {len(original.events)}" in text
    assert first.old.place in text
    assert not re.search("rounding|close", text)
    path, _ = golden_and_trace
    for count in (6, 10):
        result, _ = compare(path, recorded(changed(("range(8)", f"range({count})"))))
        assert not result.is_same
    failing = recorded(changed(("trained = main()", "trained = main()\nraise OSError('full')")))
    result, text = compare(path, failing)
    assert not result.is_same
    assert "ended in OSError: full" in "\n".join(text)


def test_values_are_shown_where_they_are_known(golden_and_trace, recorded):
    """Both of an early event, else those of checkpoints; an array more is no difference."""
    path, _ = golden_and_trace
    result, text = compare(path, recorded(changed(("reset(seed=3)", "reset(seed=4)"))))
    assert result.comparison.first.old.index < 20
    assert "digest" not in "\n".join(text)
    late = recorded(changed(("* (1 - step / 40)", "* (1 - step / 40 + (step > 5))")))
    result, text = compare(path, late)
    assert result.comparison.first.kind == "schedule"
    assert any("old: " in line and "learning_rate digest " in line for line in text)
    assert any(line.startswith("later, event ") and " -> " in line for line in text)
    extra_lines = "    torch.as_tensor(np.zeros(3))\n    optimizer = torch.optim.Adam"
    trace = recorded(changed(("    optimizer = torch.optim.Adam", extra_lines)))
    result, text = compare(golden_and_trace[0], trace)
    assert result.is_same
    assert any(line.startswith("only the new recording has 1 events") for line in text)


def test_a_late_difference_is_found_in_its_block(recorded, tmp_path, monkeypatch):
    """After the events with a digest each, the first block that differs is named."""
    monkeypatch.setattr(golden, "LARGEST", 12_000)
    trace = recorded(changed(("range(8)", "range(40)")))
    path = tmp_path / "long.golden"
    golden.write_golden_file(path, trace)
    assert path.stat().st_size <= golden.LARGEST
    late = recorded(
        changed(("range(8)", "range(40)"), ("(1 - step / 40)", "(1 - step / 40 + (step > 36))"))
    )
    result, text = compare(path, late)
    decisive = [e for e in late.events if e.kind in golden._DECISIVE]
    changes = [n for n, e in enumerate(decisive) if e.kind == "optimizer"][37]
    assert result.comparison.verdict == "equal"
    assert result.block.start <= changes < result.block.stop
    size = result.block.stop - result.block.start
    assert size == golden.load_golden_file(path).block > 1
    assert text[0].startswith(f"differs in steps and updates {result.block.start + 1} to ")
    # one step more or less at the end is in the last block, or after it
    for events in (trace.events[:-9], (*trace.events, *trace.events[-9:])):
        assert not compare(path, replace(trace, events=events))[0].is_same


def test_changed_functions_of_the_library_are_named(recorded, tmp_path, monkeypatch):
    """The function with a changed line is named where the first difference is elsewhere."""
    package = tmp_path / "learner" / "__init__.py"
    package.parent.mkdir()
    package.write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "train.golden"
    golden.write_golden_file(path, recorded(SCRIPT, packages=["learner"]))
    # as on another machine: the old text is not there any more
    package.write_text(LIBRARY.replace("def double", "# moved\ndef double").replace("2).", "4)."))
    monkeypatch.delitem(sys.modules, "learner")
    parse_source_file.cache_clear()
    trace = recorded(SCRIPT, packages=["learner"])
    result, _ = compare(path, trace)
    assert result.sources == {"learner/__init__.py": ["loss, lines 7 to 8"]}
    assert (result.comparison.first.kind, result.comparison.first.old.function) == ("loss", "main")


def test_packages_and_seeds_that_moved_are_named(golden_and_trace):
    """Other versions, packages that only one recording imports, and other seeds are listed."""
    path, trace = golden_and_trace
    versions = json.loads(path.read_text())["versions"]
    del versions["gymnasium"]
    edited(path, versions={**versions, "torch": "1.13.1", "gone": "2.0"},
           seeds={"torch's generator": "5"})  # fmt: skip
    _, text = compare(path, trace)
    (packages,) = (line for line in text if line.startswith("changed packages: "))
    for moved in (f"torch 1.13.1 -> {torch.__version__}", "gone 2.0 -> not imported",
                  f"gymnasium not imported -> {gymnasium.__version__}"):  # fmt: skip
        assert moved in packages
    assert "torch's generator 5 -> 1" in text[-1]


def test_what_moved_without_another_result_has_a_next_step(golden_and_trace):
    """Nothing is left to do only where no package and no file has moved."""
    path, trace = golden_and_trace

    def step(**values):
        edited(path, **values)
        result, _ = compare(path, trace)
        assert result.is_same
        return next_steps.suggest_after_golden_comparison(result, path, Path("train.py"), [])

    content = json.loads(path.read_text())
    sources = dict.fromkeys(content["sources"], "0" * 16)
    assert step() == "Nothing: the script has the same results."
    assert step(sources=sources).startswith(
        "Record again, to compare later runs with the present code"
    )
    moved = step(versions={**content["versions"], "torch": "1.13.1"})
    assert moved == (
        "See which changed code this script does not execute: "
        "rlregress upgrade torch==1.13.1 installed"
    )


#: what happens to a file, and what is said of it
DAMAGE = [
    (lambda text: text[: len(text) // 2], "is not valid JSON"),
    (lambda text: text.replace('"length": ', '"length": 1', 1),
     "was changed after it was recorded: its checksum differs"),
    (lambda text: json.dumps({**json.loads(text), "schema": 9, "more": 1}),
     "key 'schema' is 9, expected 1"),
    (lambda text: text.replace('"steps"', '"step"'), "unknown key 'step'"),
    (lambda text: text.replace('"events": [', '"events": ["999 00000000",'), "among the"),
    (lambda text: text + " " * 200_000, "more than 200000"),
    (lambda _: "\udcff", "is not text, as golden files are"),
]  # fmt: skip


#: a command, and what its one sentence says
WRONG = [
    (("diff", "{file}", "--script", "{folder}/none.py"), "there is no script"),
    (("diff", "{file}", "--script", "{folder}"), "is a folder; expected a Python file"),
    (("trace", "{script}", "--golden", "{folder}"), "is a folder"),
    (("diff", "{folder}/none", "--script", "{script}"), "there is no golden file"),
    (("diff", "{file}"), "expected either NEW, a second trace, or --script"),
    (("diff", "{file}", "{file}", "--script", "{script}"), "golden file; found both"),
    (("diff", "{file}", "{file}"), "it is not compressed with gzip, as traces are"),
    (("trace", "--framework", "sb3", "--algorithm", "ppo", "--golden", "{folder}/new"),
     "--golden records a script to its own file; name a script in place of --framework"),
    (("trace", "{script}", "--golden", "{folder}/new", "-o", "x"), "leave --output out"),
]  # fmt: skip


def test_a_damaged_golden_file_and_names_that_lead_nowhere(golden_and_trace, command):
    """One sentence names the file, the script, or options that exclude each other."""
    path, _ = golden_and_trace
    sound = path.read_text()
    for damage, message in DAMAGE:
        path.write_bytes(damage(sound).encode(errors="surrogateescape"))
        code, _, error = command("diff", str(path), "--script", str(path.with_suffix(".py")))
        assert (code, error.count("\n")) == (2, 1)
        for words in (str(path), message, "record it again with: rlregress trace"):
            assert words in error
    path.write_text(sound)
    places = {"file": path, "folder": path.parent, "script": path.with_suffix(".py")}
    for arguments, message in WRONG:
        code, _, error = command(*(argument.format(**places) for argument in arguments))
        assert (code, error.count("\n")) == (2, 1)
        assert message in error


def test_a_script_that_does_not_repeat_itself_is_refused(command, recorded, tmp_path, monkeypatch):
    """No golden file is written of it, and the exit code is 3."""
    script, path = tmp_path / "train.py", tmp_path / "train.golden"
    text = changed(("torch.manual_seed(1)", "torch.seed()"))

    def record(job, output, runtime):
        assert runtime.portable
        trace = recorded(text, arguments=[])
        return replace(trace, header={**trace.header, "arithmetic": arithmetic._PORTABLE})

    monkeypatch.setattr(recording_processes, "record_trace", record)
    script.write_text(text)
    code, out, error = command("trace", str(script), "--golden", str(path))
    assert (code, error) == (3, "")
    assert "does not repeat itself, because of the initialisation of the networks" in out
    assert f"no golden file is written to {path}" in out
    assert not path.exists()


@pytest.mark.nightly
@pytest.mark.usefixtures("warm_python")
def test_a_golden_file_on_the_command_line(command, tmp_path, monkeypatch):
    """The exit code says whether a script is the same, differs, or could not be compared."""
    monkeypatch.chdir(tmp_path)
    script = Path("train.py")
    script.write_text(TRAINING)
    assert command("trace", "train.py", "--golden", "train.golden", "--steps", "6")[0] == 0
    compare = ("diff", "train.golden", "--script", "train.py")
    code, out, error = command(*compare)
    assert (code, error) == (0, "")
    assert out.startswith("same to the bit: 6 environment steps")
    script.write_text(changed((".mean()\n", ".mean() * 2\n")))
    code, out, _ = command(*compare)
    assert (code, "train.py: loss_of, lines" in out) == (1, True)
    script.write_text("import nowhere\n")
    code, _, error = command(*compare)
    assert (code, "No module named 'nowhere'" in error) == (2, True)
    script.write_text(changed((".mean()\n", ".mean() * 2\n")))
    portable = json.loads(Path("train.golden").read_text())["arithmetic"]
    edited(Path("train.golden"), arithmetic={**portable, "aten": "AVX512"})
    code, out, error = command(*compare)
    assert (code, out, "differs" in error) == (2, "", False)
    assert (
        "not comparable: train.golden computed with arithmetic that depends on the machine" in error
    )
    assert "(aten AVX512, expected AVX2)" in error
