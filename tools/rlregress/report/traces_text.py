"""Traces and golden files in words: recordings and differences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rlregress.model import explain
from rlregress.model.explain import RepeatedTrace
from rlregress.model.golden_result import Block, GoldenResult
from rlregress.model.recorded_traces import Event, Trace

#: most checkpoints and files that are listed
_LISTED = 5


def describe_recording(repeated: RepeatedTrace, output: Path, size: int) -> list[str]:
    """Describe the content and size of a trace, and whether it repeats itself."""
    trace = repeated.trace
    counts = explain.describe_counts_of_trace(trace)
    return [
        f"{output}: {len(trace.events)} events ({counts}), {size / 1024:.0f} KiB",
        *repeated.describe_seeds_and_repeatability(),
        "it repeats itself to the bit" if repeated.repeats else "it proves nothing",
    ]


def describe_golden_file(trace: Trace, single: int, blocks: int, output: Path) -> list[str]:
    """Describe the content of a golden file.

    Args:
        single: events that have a digest each.
        blocks: digests of the events that are joined in blocks.
    """
    joined = f", the steps and updates after the first {single} joined in {blocks} blocks"
    return [
        f"{output}: {explain.describe_counts_of_trace(trace)}{joined if blocks else ''}, "
        f"{output.stat().st_size / 1024:.0f} KiB",
        "it repeats itself to the bit; what it prints or writes to files is not compared",
    ]


def describe_golden_difference(result: GoldenResult, trace: Trace) -> list[str]:
    """Describe whether a script matches its golden file, or its first difference."""
    comparison = result.comparison
    if result.is_same:
        lines = [f"same to the bit: {explain.describe_counts_of_trace(trace)}"]
    elif result.block is not None:
        lines = _describe_differing_block(result.block, comparison.equal)
    else:
        first = comparison.first
        at = result.length if first is None or first.old is None else first.old.index + 1
        lines = [f"differs at event {at} of {result.length}"]
        lines += explain.describe_divergence(first) if first is not None else []
    for label, title in (("old", "golden file"), ("new", "new recording")):
        extra = [event for extra_label, event in comparison.extra if extra_label == label]
        if extra:
            begin = explain.describe_event(extra[0])
            lines.append(f"only the {title} has {len(extra)} events, the first: {begin}")
    if result.failure:
        lines.append(f"the new recording ended in {result.failure}")
    lines += [
        line
        for pair in result.checkpoints[:_LISTED]
        for line in _describe_differing_checkpoint(*pair)
    ]
    changed = [_describe_version_change(name, *pair) for name, pair in result.versions.items()]
    lines.append(f"changed packages: {', '.join(changed) or 'none'}")
    sources = [
        f"  {name}{_format_suffix_of_functions(functions)}"
        for name, functions in result.sources.items()
    ]
    lines.append(f"changed files of script and library: {len(sources) or 'none'}")
    lines += _list_first_entries(sources, "  and {} more")
    if result.seeds:
        seeds = [_describe_version_change(name, *pair) for name, pair in result.seeds.items()]
        lines.append(f"changed seeds of the script: {', '.join(seeds)}")
    return lines


def _format_suffix_of_functions(functions: Sequence[str]) -> str:
    return f": {'; '.join(_list_first_entries(functions, 'and {} more'))}" if functions else ""


def _list_first_entries(entries: Sequence[str], template: str) -> list[str]:
    hidden = len(entries) - _LISTED
    return [*entries[:_LISTED], *([template.format(hidden)] if hidden > 0 else [])]


def _describe_differing_block(block: Block, equal: int) -> list[str]:
    lines = [
        f"differs in steps and updates {block.start + 1} to {block.stop}, which have one digest; "
        f"all before are the same, {equal} events one by one"
    ]
    for name, event in (("first", block.first), ("last", block.last)):
        lines.append(
            f"  the {name}, new: "
            + (explain.describe_event(event) if event else "the trace has ended")
        )
    return lines


def _describe_differing_checkpoint(old: Event, new: Event) -> list[str]:
    digests = [{name: part.digest for name, part in event.parts.items()} for event in (old, new)]
    values = [
        f"{name} {explain.format_value_of_event(old, name) or 'none'} -> "
        f"{explain.format_value_of_event(new, name) or 'none'}"
        for name in {**old.parts, **new.parts}
        if digests[0].get(name) != digests[1].get(name)
    ]
    return [f"later, {explain.describe_event(old)}: {'; '.join(values)}"]


def _describe_version_change(distribution: str, old: str, new: str) -> str:
    return f"{distribution} {old or 'not imported'} -> {new or 'not imported'}"
