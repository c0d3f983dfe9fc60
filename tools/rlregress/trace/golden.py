"""Golden files: a recorded training as a small text file that can be committed and compared.

A golden file is a projection of a trace. Each part of an event has a digest of 32 bits. The first
events and some later ones, the checkpoints, also have their values. If a training has more events
than fit, the steps and updates after the first events are joined in blocks, with a digest each.

Written files and printed lines are left out: they contain folders, times and machines.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice, starmap, zip_longest
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from rlregress import datafiles, files
from rlregress.datafiles import Count, Line, Natural, expect_value
from rlregress.errors import UserError
from rlregress.inside.run_record import compute_checksum, write_text_atomically
from rlregress.model.explain import EVENTS
from rlregress.model.golden_result import Block, GoldenResult
from rlregress.model.recorded_traces import Divergence, Event, Part, Trace
from rlregress.source import Function, list_files_below, parse_source_file
from rlregress.trace import trace_reader
from rlregress.trace.trace_comparison import WRITTEN, compare_traces, number_events_of_name

SCHEMA = 1
#: bytes of a golden file, at most.
LARGEST = 200_000
#: how many of the first events keep their values, and how many checkpoints there are.
_FIRST, _CHECKPOINTS = 20, 10
#: kinds of events that blocks compare: what a training does, however many draws lead to it.
_DECISIVE = ("reset", "step", "backward", "optimizer", "final")
#: if not all events fit, this share of the room is for events that are stored one by one.
_SINGLE = 0.75
#: lengths of digests, in characters: of a part or a file, of a block, and of a function.
_DIGEST, _BLOCK, _FUNCTION = 8, 16, 4
#: room for the checksum and the keys of the lists, in bytes.
_FRAME = 200
_REMEDY = "record it again with: rlregress trace SCRIPT --golden FILE"


@dataclass(frozen=True, kw_only=True)
class _Schema:
    __pydantic_config__ = ConfigDict(strict=True, extra="ignore")

    schema: Annotated[int, expect_value(str(SCHEMA), lambda function: function == SCHEMA)]


@dataclass(frozen=True, kw_only=True)
class Site:
    """What many events have in common: kind, name, place in the code, and names of their parts."""

    kind: Annotated[str, datafiles.expect_one_of(EVENTS)]
    name: Line
    at: trace_reader.StoredCallSite | None
    parts: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True)
class Values:
    """An event with its values.

    Attributes:
        event: the event's number.
        before: how many events with its kind and name come before it.
    """

    event: Natural
    before: Natural
    site: Natural
    parts: tuple[trace_reader.PartRow, ...]


@dataclass(frozen=True, kw_only=True)
class Golden:
    """The content of a golden file.

    Attributes:
        script: the file name of the script.
        steps: environment steps that are recorded; 0: all.
        arithmetic: the arithmetic that libraries reported; see ``inside.arithmetic``.
        seeds: generator that the script seeds -> its seed.
        seeded: generators that the tracer seeded because the script had not.
        sources: file of the script or the library -> its digest, and those of its functions.
        length: number of events of the whole training.
        events: for each of the first events, number of its site and a digest for each part.
        block: how many steps and updates a block joins.
        blocked: how many steps and updates there are after ``events``.
        blocks: a digest for each block.
        values: the first events and the checkpoints, with their values.
    """

    schema: int
    script: Line
    arguments: tuple[str, ...]
    packages: tuple[Line, ...]
    steps: Natural
    arithmetic: Mapping[Line, Line]
    seeds: Mapping[Line, Line]
    seeded: tuple[Line, ...]
    versions: Mapping[Line, Line]
    sources: Mapping[Line, str]
    length: Count
    sites: tuple[Site, ...]
    events: tuple[Annotated[str, Field(pattern=r"^\d{1,6}( [0-9a-f]{8})*$")], ...]
    block: Count
    blocked: Natural
    blocks: tuple[Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")], ...]
    values: tuple[Values, ...]
    checksum: Line

    def __post_init__(self) -> None:
        numbers = [int(row.partition(" ")[0]) for row in self.events]
        if any(n >= len(self.sites) for n in (*numbers, *(v.site for v in self.values))):
            raise ValueError(f"an event names a site that is not among the {len(self.sites)}")

    def make_trace_of_events(self) -> Trace:
        """Return the events that have a digest each, as a trace without numbers."""
        events = []
        for index, row in enumerate(self.events):
            number, *digests = row.split()
            events.append(self._make_event(index, int(number), map(_make_part_of_digest, digests)))
        return Trace(header={"failure": ""}, events=tuple(events))

    def list_events_with_values(self) -> list[tuple[int, Event]]:
        """Return (n, event) of events with stored values; n earlier ones have its kind and name."""
        return [
            (
                row.before,
                self._make_event(
                    row.event, row.site, starmap(trace_reader.make_part_of_values, row.parts)
                ),
            )
            for row in self.values
        ]

    def _make_event(self, index: int, site: int, parts: Iterable[Part]) -> Event:
        event_site = self.sites[site]
        # a file that was edited may have fewer parts
        named = dict(zip(event_site.parts, parts, strict=False))
        return trace_reader.build_event(
            index, event_site.kind, event_site.name, event_site.at, named
        )


def _make_part_of_digest(digest: str) -> Part:
    return Part(digest=digest, norm=None, values=(), text=f"digest {digest}")


def _drop_all_but_digests(event: Event) -> Event:
    parts = {
        name: _make_part_of_digest(part.digest[:_DIGEST]) for name, part in event.parts.items()
    }
    return replace(event, parts=parts, named={})


def _drop_written_output_and_renumber(trace: Trace) -> list[Event]:
    """Return the events that golden files can hold, renumbered."""
    events = [event for event in trace.events if event.kind not in WRITTEN]
    return [replace(event, index=index) for index, event in enumerate(events)]


# -- writing -------------------------------------------------------------------------------------


def write_golden_file(path: Path, trace: Trace) -> None:
    """Write the golden file of a trace; the caller has checked that its script repeats itself.

    Raises:
        UserError: the file would be too large even with the fewest events.
    """
    content = _make_golden_content(trace)
    text = _format_json({**content, "checksum": compute_checksum(content)})
    if len(text.encode()) > LARGEST:
        raise UserError(
            f"the golden file would have {len(text.encode())} bytes, more than {LARGEST}: name "
            "fewer packages with --package"
        )
    write_text_atomically(path, text)


def _make_golden_content(trace: Trace) -> dict[str, Any]:
    events, job = _drop_written_output_and_renumber(trace), trace.header["job"]
    numbered, sites = [key for key, _ in number_events_of_name(events)], dict[str, int]()
    values = [
        {
            "event": number,
            "before": numbered[number][2] - 1,
            "site": _number_call_site(events[number], sites),
            "parts": [_make_row_of_part(part) for part in events[number].parts.values()],
        }
        for number in _choose_events_with_values(events)
    ]
    content = {
        "schema": SCHEMA,
        "script": Path(job["script"]).name,
        "arguments": job["arguments"],
        "packages": job["packages"],
        "steps": job["steps"],
        "arithmetic": trace.header["arithmetic"],
        "seeds": trace.header["seeds"],
        "seeded": trace.header["seeded"],
        "versions": _map_imported_versions(trace),
        "sources": {name: _digest_source(path) for name, path in _list_source_files(trace).items()},
        "length": len(events),
        "values": values,
    }
    room = LARGEST - len(_format_json(content).encode()) - _FRAME
    return {**content, **_select_single_events_and_blocks(events, sites, max(room, 1))}


def _select_single_events_and_blocks(
    events: Sequence[Event], sites: dict[str, int], max_bytes: int
) -> dict[str, Any]:
    """Return as many single events as fit, and blocks of the other events.

    Args:
        sites: the sites listed so far; those of the single events are added.
        max_bytes: size of the file, in bytes.
    """
    rows: list[str] = []
    # each row with its quotes, indent and line end, as ``_format_json`` writes it
    size = sum(len(site) + 4 for site in sites)
    single, single_sites = 0, len(sites)
    for event in events:
        site_count = len(sites)
        digests = (part.digest[:_DIGEST] for part in event.parts.values())
        rows.append(" ".join([str(_number_call_site(event, sites)), *digests]))
        size += len(rows[-1]) + 6 + sum(len(site) + 4 for site in islice(sites, site_count, None))
        # blocks begin after a step or an update, where two recordings can be cut
        if size <= max_bytes * _SINGLE and event.kind in _DECISIVE:
            single, single_sites = len(rows), len(sites)
    if size <= max_bytes:
        single, single_sites = len(rows), len(sites)
    remaining = [event for event in events[single:] if event.kind in _DECISIVE]
    block = max(math.ceil(len(remaining) * (_BLOCK + 6) / (max_bytes * (1 - _SINGLE))), 1)
    return {
        "sites": [json.loads(site) for site in islice(sites, single_sites)],
        "events": rows[:single],
        "block": block,
        "blocked": len(remaining),
        "blocks": [_digest_block(piece) for piece in _split_events_in_blocks(remaining, block)],
    }


def _number_call_site(event: Event, sites: dict[str, int]) -> int:
    at = None
    if event.file:
        callers = [[place.file, place.line, place.function] for place in event.callers]
        at = [event.file, event.line, event.function, callers]
    site = {"kind": event.kind, "name": event.name, "at": at, "parts": list(event.parts)}
    return sites.setdefault(json.dumps(site), len(sites))


def _make_row_of_part(part: Part) -> list[Any]:
    """Return a part as a trace writes it."""
    numbers = [[_convert_number_for_json(x) for x in row] for row in (part.values, part.shadow)]
    norm = None if part.norm is None else _convert_number_for_json(part.norm)
    return [part.digest, norm, numbers[0], numbers[1] or None, part.text, part.types]


def _convert_number_for_json(x: float) -> Any:
    return x if math.isfinite(x) else str(x)


def _choose_events_with_values(events: Sequence[Event]) -> list[int]:
    """Return the first events, losses (or steps) at even distances, and the last event."""
    losses = [e for e in events if e.kind == "backward"] or [e for e in events if e.kind == "step"]
    stops = (math.ceil(len(losses) * n / _CHECKPOINTS) for n in range(1, _CHECKPOINTS + 1))
    checkpoints = {losses[stop - 1].index for stop in stops} if losses else set()
    return sorted({*range(min(_FIRST, len(events))), *checkpoints, len(events) - 1})


def _split_events_in_blocks(events: Sequence[Event], size: int) -> list[Sequence[Event]]:
    return [events[start : start + size] for start in range(0, len(events), size)]


def _digest_block(events: Sequence[Event]) -> str:
    rows = [[*event.key, list(event.parts), event.digests] for event in events]
    return hashlib.blake2b(json.dumps(rows).encode(), digest_size=_BLOCK // 2).hexdigest()


def _format_json(content: Mapping[str, Any]) -> str:
    """Return JSON with a line for each entry of a list or table: git shows which of them moved."""

    def list_json_lines(value: Any) -> str:
        if isinstance(value, dict):
            entries = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in value.items()]
            opening, closing = "{}"
        elif isinstance(value, list):
            entries = [json.dumps(entry) for entry in value]
            opening, closing = "[]"
        else:
            return json.dumps(value)
        return opening + ",".join(f"\n  {entry}" for entry in entries) + f"\n {closing}"

    rows = [f"{json.dumps(name)}: {list_json_lines(value)}" for name, value in content.items()]
    return "{\n " + ",\n ".join(rows) + "\n}\n"


@functools.cache
def _map_modules_to_distributions() -> Mapping[str, Sequence[str]]:
    # reads the lists of files of all that is installed
    return importlib.metadata.packages_distributions()


_version = functools.cache(importlib.metadata.version)


def _map_imported_versions(trace: Trace) -> dict[str, str]:
    """Return the versions of Python and of all distributions that the training imported."""
    owners = _map_modules_to_distributions()
    names = {name for top in trace.header["distributions_imported"] for name in owners.get(top, ())}
    versions = {name: _version(name) for name in sorted(names)}
    return {"python": trace.header["versions"]["python"], **versions}


def _list_source_files(trace: Trace) -> dict[str, Path]:
    """Return the files of the script and the library that the training imported."""
    script = Path(trace.header["job"]["script"])
    roots = {root.name: root for root in [*map(Path, trace.header["folders"]), script]}
    files_by_name = {
        name: roots[root].parent / name
        for name in trace.header["imported"]
        if (root := name.partition("/")[0]) in roots
    }
    # modules beside the script that belong to no package
    for place in map(Path, {*trace.header["folders_imported"]} - {*trace.header["folders"]}):
        if script.parent in place.parents and "site-packages" not in place.parts:
            files_by_name |= {str(m.relative_to(script.parent)): m for m in list_files_below(place)}
    return {name: path for name, path in sorted(files_by_name.items()) if path.suffix == ".py"}


def _digest_content(content: bytes, length: int) -> str:
    return hashlib.sha256(content).hexdigest()[:length]


def _digest_source(path: Path) -> str:
    """Return digests of a file and of its functions."""
    functions = "".join(digest for _, digest in _digest_functions(path))
    return f"{_digest_content(path.read_bytes(), _DIGEST)} {functions}"


def _digest_functions(path: Path) -> list[tuple[Function, str]]:
    """Return the functions of a source file, each with a digest of its lines."""
    source, lines = parse_source_file(str(path)), path.read_bytes().splitlines()
    return [
        (
            function,
            _digest_content(b"\n".join(lines[function.first - 1 : function.last]), _FUNCTION),
        )
        for function in (source.functions if source is not None else ())
    ]


def _list_changed_functions(old: str, path: Path) -> list[str]:
    """Return the innermost changed or new functions of a file, by its old digests."""
    new = _digest_functions(path)
    pieces = [old[at : at + _FUNCTION] for at in range(0, len(old), _FUNCTION)]
    matcher = SequenceMatcher(None, pieces, [digest for _, digest in new], autojunk=False)
    changed = [
        function
        for kind, _, _, first, last in matcher.get_opcodes()
        for function, _ in new[first:last]
        if kind != "equal"
    ]
    return [
        f"{function.name}, lines {function.first} to {function.last}"
        for function in changed
        if not any(inner.name.startswith(f"{function.name}.") for inner in changed)
    ]


def _list_changed_sources(golden: Golden, trace: Trace) -> dict[str, list[str]]:
    """Return each source file that differs -> its functions that differ."""
    new, changed = _list_source_files(trace), dict[str, list[str]]()
    for name in dict.fromkeys([*golden.sources, *new]):
        digest, _, functions = golden.sources.get(name, "").partition(" ")
        if name not in new:
            changed[name] = []
        elif _digest_content(new[name].read_bytes(), _DIGEST) != digest:
            changed[name] = _list_changed_functions(functions, new[name])
    return changed


# -- reading and comparing -----------------------------------------------------------------------


def load_golden_file(path: Path) -> Golden:
    """Load a golden file.

    Raises:
        UserError: the file is missing, damaged, edited, or of another schema.
    """
    try:
        text = files.read_regular_file(path, LARGEST).decode()
    except FileNotFoundError:
        raise UserError(
            f"there is no golden file {path}; record one with: rlregress trace SCRIPT --golden "
            f"{path}"
        ) from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}; {_REMEDY}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not text, as golden files are; {_REMEDY}") from None
    datafiles.read_json_line(text, _Schema, path, _REMEDY)
    golden: Golden = datafiles.read_json_line(text, Golden, path, _REMEDY)
    content = json.loads(text)
    if content.pop("checksum") != compute_checksum(content):
        raise UserError(
            f"{path} was changed after it was recorded: its checksum differs; {_REMEDY}"
        )
    return golden


def compare_with_golden(golden: Golden, trace: Trace) -> GoldenResult:
    """Compare a golden file with the same script recorded again."""
    events, old = _drop_written_output_and_renumber(trace), golden.make_trace_of_events()
    # cut where as many steps and updates have passed, whatever other events lead to them
    stops = [0, *(event.index + 1 for event in events if event.kind in _DECISIVE)]
    count = min(sum(event.kind in _DECISIVE for event in old.events), len(stops) - 1)
    cut = stops[count] if golden.blocked else len(events)
    new = replace(trace, events=tuple(map(_drop_all_but_digests, events[:cut])))
    comparison, block = compare_traces(old, new), None
    first = comparison.first
    if comparison.verdict == "equal":
        block = _find_first_block(golden, count, [e for e in events[cut:] if e.kind in _DECISIVE])
    elif first is not None:
        comparison = replace(comparison, first=_add_known_values(first, golden, events), growth=())
    after = first.old.index if first is not None and first.old is not None else len(old.events)
    return GoldenResult(
        length=golden.length,
        comparison=comparison,
        block=block,
        failure=trace.error_text if trace.failure else "",
        checkpoints=_list_differing_checkpoints(golden, events, after),
        versions=_list_differences_of_tables(golden.versions, _map_imported_versions(trace)),
        sources=_list_changed_sources(golden, trace),
        seeds=_list_differences_of_tables(golden.seeds, trace.header["seeds"]),
    )


def _add_known_values(
    divergence: Divergence, golden: Golden, events: Sequence[Event]
) -> Divergence:
    """Return the first difference, with the old event's stored values if there are any."""
    events_by_index = {event.index: event for _, event in golden.list_events_with_values()}
    old = divergence.old and events_by_index.get(divergence.old.index, divergence.old)
    new = divergence.new and events[divergence.new.index]
    if new is not None and old is divergence.old:
        # the types of the old event are known no more than its values
        new = replace(new, parts={name: replace(p, types="") for name, p in new.parts.items()})
    return replace(divergence, old=old, new=new)


def _find_first_block(golden: Golden, count: int, events: Sequence[Event]) -> Block | None:
    pairs = zip_longest(golden.blocks, _split_events_in_blocks(events, golden.block))
    for number, (recorded, block) in enumerate(pairs):
        if block is None or _digest_block(block) != recorded:
            start = number * golden.block
            stop = min(start + golden.block, max(golden.blocked, len(events)))
            ends = (block[0], block[-1]) if block else (None, None)
            return Block(start=count + start, stop=count + stop, first=ends[0], last=ends[1])
    return None


def _list_differing_checkpoints(
    golden: Golden, events: Sequence[Event], event_index: int
) -> list[tuple[Event, Event]]:
    """Return the (old, new) pairs of checkpoints after an event that differ in their digests."""
    new = dict(number_events_of_name(events))
    pairs = [
        (old, new.get((*old.key, before + 1))) for before, old in golden.list_events_with_values()
    ]
    return [
        (old, event)
        for old, event in pairs
        if event is not None and old.index > event_index and event.digests != old.digests
    ]


def _list_differences_of_tables(
    old: Mapping[str, str], new: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Return key -> (old, new) for the entries that differ; "": a table lacks the entry."""
    names = dict.fromkeys([*old, *new])
    pairs = {name: (old.get(name, ""), new.get(name, "")) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
