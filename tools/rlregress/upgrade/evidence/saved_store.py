"""Files of past releases in ``baselines/saved/<framework>``, loaded by the installed version.

``releases/<release>.toml`` names the kinds of files that a release wrote, with provenance and
digests, its own among them. ``files/<digest>.gz`` holds the files themselves, and what the release
loads from them, as ``evidence.saved_files_comparison`` compares it. ``expected.toml`` lists
differences that are known, with the old and the new value and the source: they have to appear, and
any other difference is a failure.

The files are the suite's own, so they load without ``--trust-pickle``. A file that does not match
its digest is not loaded. Nothing is loaded if a table was edited.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.metadata
import importlib.util
import io
import json
import platform
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import tomli_w
from packaging.version import Version
from pydantic import Field

from rlregress import datafiles, files, frameworks, suite
from rlregress.datafiles import TIME, Component, Line, Range, Release, Text, Time, expect_value
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.inside import identity
from rlregress.inside.run_record import check_folder_is_writable, write_text_atomically
from rlregress.model.loaded_files import StoredFile
from rlregress.trace.recording_processes import Runtime, make_current_runtime
from rlregress.upgrade.evidence import runtime_process, saved_files_comparison
from rlregress.upgrade.versions import affected, prepared_versions, requested, resolved
from rlregress.upgrade.versions.installed import explain_altered_package

#: bytes of a file in the store, and of all of them, at most.
LARGEST, LARGEST_STORE = 50_000, 3_000_000
#: bytes of a file before it is compressed, at most.
_LARGEST_INSIDE = 2_000_000
#: how many characters of a digest a file's name has.
_NAMED = 16
#: the least share of a file's items that must be the same when the release records it again.
_REPEATED = 0.5
#: significant digits of the stored numbers by which rounding is told from another value.
_DIGITS = 9
#: finds a pickled function, also in base64: only the same version of Python can load it.
_BYTECODE = re.compile(rb"CodeType|Q29kZVR5cG|NvZGVUeXBl|Db2RlVHlwZ")
#: finds a pickle in base64 within an agent's archive; finds the folders before a module's path.
_BASE64 = re.compile(rb"(?:[A-Za-z0-9+/]{4}){40,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_FOLDERS = re.compile(rb"/[\x21-\x7e]*?/(?=(?:rlregress|stable_baselines3)/[\w/]+\.py)")
_LINE = re.compile(r":\d+ ")
#: the words for an item that is missing.
_MISSING = saved_files_comparison.MISSING[0]
#: an item: its path, description, the function that it comes from, and numbers to see rounding.
Row = tuple[str, str, str, tuple[float, ...]]
_Name = Annotated[
    str, expect_value("words of letters and digits", lambda name: name.replace(" ", "").isalnum())
]


@dataclass(frozen=True, kw_only=True)
class StoredKind:
    """A kind of file that a release wrote.

    Attributes:
        bytecode: whether it holds functions, so that only the same version of Python loads it.
        answers: digest of the file's items, as the release that wrote it loads them.
        files: name -> digest.
    """

    name: _Name
    algorithm: Component
    way: Line
    trusted: bool
    bytecode: bool
    answers: Component
    files: Mapping[Line, Component]


@dataclass(frozen=True, kw_only=True)
class ReleaseRecord:
    """The files that one release wrote.

    Attributes:
        command: that recorded it.
        digest: SHA-256 of all the rest.
        versions: versions of Python, of the framework and of its dependencies.
    """

    release: Release
    recorded: Time
    command: Line
    digest: Component
    versions: Mapping[Line, Release]
    kind: Annotated[tuple[StoredKind, ...], Field(min_length=1)]

    def __post_init__(self) -> None:
        if missing := {"python", "numpy", "torch"} - set(self.versions):
            raise ValueError(f"'versions' has no {', '.join(sorted(missing))}")
        if self.release not in self.versions.values():
            raise ValueError(f"no package in 'versions' has the 'release' {self.release}")
        names = [kind.name for kind in self.kind]
        if len(set(names)) < len(names):
            raise ValueError("two kinds have the same 'name'")

    @property
    def python(self) -> str:
        """Major and minor version of the Python that wrote it."""
        return ".".join(self.versions["python"].split(".")[:2])

    @cached_property
    def content_digest(self) -> str:
        """Return the SHA-256 of everything but ``digest``."""
        rest = {name: value for name, value in asdict(self).items() if name != "digest"}
        return _digest_bytes(json.dumps(rest, sort_keys=True).encode())


@dataclass(frozen=True, kw_only=True)
class KnownItem:
    """Items that are known to differ, and how.

    Attributes:
        paths: the beginnings of the items' paths.
        written: the beginning of the text that describes the item in the old release.
        read: the beginning of the text that describes the loaded item; "missing": there is none.
    """

    paths: Annotated[tuple[Text, ...], Field(min_length=1)]
    written: Text
    read: Text

    def covers_difference(self, row: Row, loaded: tuple[str, Sequence[float]]) -> bool:
        """Return whether this known difference explains how an item differs.

        Args:
            row: of the old release.
            loaded: words and numbers of the installed version.
        """
        path, words, _, numbers = row
        text, new_numbers = loaded
        begins = path.startswith(self.paths) and words.startswith(self.written)
        if not begins or words == text or not text.startswith(self.read):
            return False
        old_rest, new_rest = words.removeprefix(self.written), text.removeprefix(self.read)
        if text == _MISSING or not numbers:
            return text == _MISSING or old_rest == new_rest
        # numbers that are now of another type are rounded: they may differ within its precision
        shapes = old_rest.partition(":")[0], new_rest.partition(":")[0]
        return (
            shapes[0] == shapes[1]
            and saved_files_comparison.measure_relative_distance(numbers, new_numbers)
            <= saved_files_comparison.UNIT
        )


@dataclass(frozen=True, kw_only=True)
class ExpectedDifference(Range):
    """A known difference of files that the releases in a range wrote.

    Attributes:
        kinds: of files that have it.
        loaded_since: the first release that loads the files with this difference;
            ``loaded_until``: the first later one that loads them without it.
        item: the items that differ; empty if the file does not load.
        error: type and whole message of the error, if the file does not load.
        unless: a package that, if installed, makes the difference another one that is not recorded.
        why: in words.
        source: where the reason is documented.
    """

    kinds: Annotated[tuple[Text, ...], Field(min_length=1)]
    loaded_since: Release
    why: Text
    source: Text
    item: tuple[KnownItem, ...] = ()
    error: str = ""
    unless: str = ""
    loaded_until: Release | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.item) == bool(self.error):
            raise ValueError("it needs either each 'item' that differs or the 'error' of loading")

    def is_expected_for_file(self, file_kind: str, written_release: str, installed: str) -> bool:
        """Return whether this difference is expected of a kind of file between two releases."""
        reader = Version(installed)
        return (
            file_kind in self.kinds
            and self.includes_version(written_release)
            and Version(self.loaded_since) <= reader
            and (self.loaded_until is None or reader < Version(self.loaded_until))
        )

    @property
    def reason_unknown(self) -> str:
        """Return why it is unknown whether the difference occurs here; empty: it is known."""
        if not self.unless or importlib.util.find_spec(self.unless) is None:
            return ""
        return f"what happens where {self.unless} is installed is not recorded"


@dataclass(frozen=True, kw_only=True)
class _Answers:
    """The items of a file, as its own release loads it."""

    items: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class KnownDifferences:
    """Known differences of the files of a framework.

    Attributes:
        compared_since: the first release with which differences are recorded.
    """

    compared_since: Release = "0"
    expected: tuple[ExpectedDifference, ...] = ()


def locate_stored_files(framework: str) -> Path:
    """Return the folder of the saved files that past releases of a framework wrote."""
    return suite.locate_baselines() / "saved" / framework


def list_release_records(framework: str) -> list[ReleaseRecord]:
    """Return the records of the releases of a framework, oldest first.

    Raises:
        UserError: a file of ``releases/`` is damaged, or was edited.
    """
    paths = datafiles.list_files_by_name(locate_stored_files(framework) / "releases", "*.toml")
    stored: list[ReleaseRecord] = [
        datafiles.read_data_file_cached(path, ReleaseRecord) for path in paths
    ]
    for path, record in zip(paths, stored, strict=True):
        if path.stem != record.release:
            raise UserError(
                f"{path} says that release {record.release} wrote its files, expected {path.stem}; "
                "restore it from the repository"
            )
        if (digest := record.content_digest) != record.digest:
            raise UserError(
                f"{path} is not as it was recorded: the SHA-256 of its content is "
                f"{digest[:_NAMED]}..., expected {record.digest[:_NAMED]}...; restore it from the "
                "repository, or record the release again"
            )
    return sorted(stored, key=lambda record: Version(record.release))


def list_stored_kinds(framework: str) -> list[tuple[str, str]]:
    """Return algorithm and name of each kind of file that the store has.

    Raises:
        UserError: as ``list_release_records``; or the store has no files, and should have some.
    """
    named = {(k.algorithm, k.name) for r in list_release_records(framework) for k in r.kind}
    if not named and frameworks.get_adapter(framework).framework.stores_files:
        raise UserError(
            f"{locate_stored_files(framework)} holds no files of past releases; "
            "restore it from the repository"
        )
    return sorted(named)


def read_expected_differences_of_stored_files(framework: str) -> KnownDifferences:
    """Return the known differences of files that a framework's past releases wrote.

    Raises:
        UserError: ``expected.toml`` is damaged, or names files that are not stored.
    """
    path = locate_stored_files(framework) / "expected.toml"
    if not path.is_file():
        return KnownDifferences()
    content: KnownDifferences = datafiles.read_data_file_cached(path, KnownDifferences)
    places = datafiles.describe_places_of_tables(path, "expected", len(content.expected))
    stored = [(k.name, r.release) for r in list_release_records(framework) for k in r.kind]
    for place, entry in zip(places, content.expected, strict=True):
        concerned = {
            n for n, release in stored if entry.is_expected_for_file(n, release, entry.loaded_since)
        }
        if missing := [name for name in entry.kinds if name not in concerned]:
            raise UserError(
                f"{place}: no release in its range has stored '{missing[0]}'; expected one of "
                f"{', '.join(sorted({name for name, _ in stored}))}"
            )
    return content


# -- check -----------------------------------------------------------------------------------------


def compare_stored_files(
    adapter: Adapter,
    file_kind: str,
    load_and_answer: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> Iterator[StoredFile]:
    """Compare the stored files of one kind with what the installed version loads, oldest first.

    Args:
        load_and_answer: ``inside.saved_files_worker.save_and_load``: it imports the framework.
    """
    known_differences = read_expected_differences_of_stored_files(adapter.name)
    for record in list_release_records(adapter.name):
        for kind in record.kind:
            if kind.name == file_kind:
                yield _compare_stored_file(
                    adapter, known_differences, record, kind, load_and_answer
                )


def _compare_stored_file(
    adapter: Adapter,
    known_differences: KnownDifferences,
    record: ReleaseRecord,
    kind: StoredKind,
    answers: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> StoredFile:
    file_row = StoredFile(name=kind.name, release=record.release)
    installed, since = adapter.code.version(), known_differences.compared_since
    differing = [
        entry
        for entry in known_differences.expected
        if entry.is_expected_for_file(kind.name, record.release, installed)
    ]
    reason = _explain_not_loaded(record, kind, installed, differing)
    if Version(installed) < Version(since):
        reason = f"how {installed} loads it is not recorded; records begin with {since}"
    if reason:
        return replace(file_row, skipped=reason)
    with TemporaryDirectory(prefix="rlregress-saved-") as temporary:
        try:
            text = _read_stored_file(adapter.name, kind.answers).decode(errors="replace")
            own = datafiles.read_json_line(
                text, _Answers, locate_stored_files(adapter.name) / "files"
            )
            for file, digest in kind.files.items():
                path = files.join_inside(Path(temporary) / kind.name, *file.split("/"))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_read_stored_file(adapter.name, digest))
        except UserError as error:
            return replace(file_row, refused=str(error))
        loaded = answers({
            "framework": adapter.full_name, "algorithms": [kind.algorithm], "files": temporary,
            "kinds": [kind.name], "write": False, "times": 1, "again": False,
            "trusted": [kind.name] if kind.trusted else [],
        })  # fmt: skip
    return _judge_stored_file(file_row, own, loaded, kind, differing)


def _explain_not_loaded(
    record: ReleaseRecord, kind: StoredKind, installed: str, differing: Sequence[ExpectedDifference]
) -> str:
    """Return why a file is not loaded in this environment; empty: it is loaded."""
    if Version(installed) < Version(record.release):
        return f"{installed} is installed, and a newer release wrote it"
    python = ".".join(platform.python_version_tuple()[:2])
    if kind.bytecode and record.python != python:
        return f"it holds functions of Python {record.python}, and this is {python}"
    numpy = importlib.metadata.version("numpy")
    if Version(record.versions["numpy"]).major > Version(numpy).major:
        # it names modules that only the newer one has
        return f"NumPy {record.versions['numpy']} wrote it, and {numpy} is installed"
    return next(filter(None, (entry.reason_unknown for entry in differing)), "")


def _judge_stored_file(
    file_row: StoredFile,
    writer: _Answers,
    loaded: Mapping[str, Any],
    kind: StoredKind,
    expected: Sequence[ExpectedDifference],
) -> StoredFile:
    """Compare a stored file's items as written and as loaded; known differences must occur."""
    read = loaded["kinds"].get(kind.name, {})
    rows: list[list[Any]] = (read.get("items") or [[]])[0]
    places = {path: loaded["functions"][number] for path, _, number, _ in rows}
    texts = {path: (words, numbers) for path, words, _, numbers in rows}
    known_items = [(entry, item) for entry in expected for item in entry.item]
    functions, compared, covering = [], [], []
    for row in writer.items:
        path, words, function, numbers = row
        found_words = texts.get(path, (_MISSING, ()))
        if covers := [pair for pair in known_items if pair[1].covers_difference(row, found_words)]:
            covering += covers
        else:
            # the function of the installed version, which a reader can open
            functions.append(places.get(path, function))
            compared.append([path, words, len(functions) - 1, numbers])
    own_entry = {"way": kind.way, "trusted": kind.trusted, "items": [compared]}
    written = {"functions": functions, "kinds": {kind.name: own_entry}}
    (file,) = saved_files_comparison.compare_loaded_file_kinds(written, loaded)
    error = file.error.error if file.error else ""
    lost = {entry.why for entry in expected if entry.error and entry.error == error}
    # nothing else can be known of a file that does not load
    differs = lost or {entry.why for entry, _ in covering}
    gone = {entry.why for entry in expected if entry.error}
    if not error:
        gone |= {entry.why for entry, item in known_items if (entry, item) not in covering}
    return replace(
        file_row,
        file=file,
        expected=tuple(sorted(differs)),
        gone=() if lost else tuple(entry.why for entry in expected if entry.why in gone),
        error_expected=bool(lost),
    )


def _read_stored_file(framework: str, digest: str) -> bytes:
    """Return a file of the store, checked.

    Raises:
        UserError: the file is missing, or does not match its digest.
    """
    path = locate_stored_files(framework) / "files" / f"{digest[:_NAMED]}.gz"
    try:
        with gzip.open(path) as file:
            content = file.read(_LARGEST_INSIDE + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(
            f"{path.name} of baselines/saved cannot be read: {error}; restore it from the "
            "repository"
        ) from None
    got = hashlib.sha256(content).hexdigest()
    if got != digest or len(content) > _LARGEST_INSIDE:
        raise UserError(
            f"{path.name} of baselines/saved is not the file that was recorded, and was not "
            f"loaded: its SHA-256 is {got[:_NAMED]}..., expected {digest[:_NAMED]}...; restore it "
            "from the repository, or record the release again"
        )
    return content


# -- record ----------------------------------------------------------------------------------------


def record_files_of_release(
    release: str, command: str, log: Callable[[str], None]
) -> Iterator[str]:
    """Run a release so that it writes its files, and store these in ``baselines/saved``.

    Yields lines to print.

    Args:
        release: requirements as ``upgrade`` takes them, or "installed".

    Raises:
        UserError: it is no release of a framework, or its files are too large.
    """
    suite.require_checkout("recording old files")
    check_folder_is_writable(suite.locate_baselines() / "saved", "old files")
    runtime, adapters = _prepare_release(release, log)
    stored = 0
    for adapter in adapters:
        with TemporaryDirectory(prefix="rlregress-saved-") as temporary:
            work = Path(temporary)
            job = {"framework": adapter.full_name, "algorithms": [], "files": str(work / "files"),
                   "write": True, "times": 2, "again": False, "trusted": [],
                   "stored": True}  # fmt: skip
            answered = runtime_process.run_module_on_version(
                runtime, work / "answers.json", saved_files_comparison.WORKER, job
            )
            if answered["kinds"]:
                stored += 1
                yield from _store_files_of_release(adapter, answered, work / "files", command)
    if not stored:
        raise UserError(f"'{release}' writes no kind of file that baselines/saved stores")


def _prepare_release(release: str, log: Callable[[str], None]) -> tuple[Runtime, Sequence[Adapter]]:
    request, base = map(requested.parse_requested_version, (release, requested.INSTALLED))
    if request == base:
        saving = [adapter for adapter in frameworks.list_installed_adapters() if adapter.load]
        for adapter in saving:
            _check_imported_release(adapter)
        return make_current_runtime("old"), saving
    concerned = [
        adapter
        for adapter in affected.list_affected_adapters(base, request)
        if adapter.framework.packages[0] in request.pins
    ]
    beneath = {module for adapter in concerned for module in adapter.framework.beneath}
    # a framework that another one builds on is pinned for its sake: only that one is recorded
    concerned = [adapter for adapter in concerned if not beneath & set(adapter.framework.modules)]
    if not concerned:
        raise UserError(
            f"'{release}' names no release of a framework; expected one, pinned with =="
        )
    _, version = resolved.resolve_versions(base, request, concerned, log)
    prepared = prepared_versions.prepare_version(version, concerned, log)
    if prepared.how == "installed":
        for adapter in concerned:
            _check_imported_release(adapter)
    return prepared.runtime, concerned


def _check_imported_release(adapter: Adapter) -> None:
    """Raise UserError unless the imported package is the installed one, and a release."""
    package = adapter.framework.packages[0]
    if why := explain_altered_package(package):
        raise UserError(
            f"the installed {package} is no release: {why}; expected one, such as {package}==1.2.3"
        )
    for module, place in identity.find_modules_outside_distribution(adapter).items():
        raise UserError(
            f"{module} is imported from {place}, and not from the installed {package}; remove that "
            f"from the path, or name a release, such as {package}==1.2.3"
        )


def _store_files_of_release(
    adapter: Adapter, version_answers: Mapping[str, Any], folder: Path, command: str
) -> Iterator[str]:
    package = adapter.framework.packages[0]
    version = version_answers["versions"][package]
    contents: dict[str, bytes] = {}
    kinds_ = []
    for name, entry in version_answers["kinds"].items():
        if not entry.get("items") or entry.get("error"):
            reason = entry.get("error") or entry.get("unsupported")
            yield f"not stored: {name} of {package} {version}: {reason}"
            continue
        contents_of = {
            path.relative_to(folder / name).as_posix(): mask_folders(path.read_bytes())
            for path in sorted((folder / name).rglob("*"))
            if path.is_file()
        }
        answers, repeated = _dump_repeatable_and_share(entry["items"], version_answers["functions"])
        if repeated < _REPEATED:
            yield (
                f"not stored: {name} of {package} {version}: it repeats only {repeated:.0%} of "
                "what it does"
            )
            continue
        digests = {file: _digest_bytes(content) for file, content in contents_of.items()}
        contents |= {_digest_bytes(content): content for content in contents_of.values()}
        contents[_digest_bytes(answers)] = answers
        kinds_.append(StoredKind(
            name=name, algorithm=entry["algorithm"], way=entry["way"], trusted=entry["trusted"],
            bytecode=any(map(_BYTECODE.search, contents_of.values())),
            answers=_digest_bytes(answers), files=digests,
        ))  # fmt: skip
    if not kinds_:
        return
    written = ReleaseRecord(
        release=version, recorded=datetime.now(UTC).strftime(TIME), command=command, digest="",
        versions=version_answers["versions"], kind=tuple(kinds_),
    )  # fmt: skip
    written = replace(written, digest=written.content_digest)
    packed = {digest: gzip.compress(content, 9, mtime=0) for digest, content in contents.items()}
    _check_stored_sizes(adapter.name, version, packed)
    place = locate_stored_files(adapter.name)
    records = list_release_records(adapter.name)
    before = {k.name for earlier in records if earlier.release == version for k in earlier.kind}
    if lost := before - {kind.name for kind in kinds_}:
        raise UserError(
            f"{package} {version} no longer writes {', '.join(sorted(lost))}, which the store "
            "holds; nothing was written"
        )
    (place / "files").mkdir(parents=True, exist_ok=True)
    for digest, content in packed.items():
        (place / "files" / f"{digest[:_NAMED]}.gz").write_bytes(content)
    path = place / "releases" / f"{version}.toml"
    path.parent.mkdir(exist_ok=True)
    write_text_atomically(path, tomli_w.dumps(asdict(written)))
    _remove_unused_files(adapter.name)
    size = sum(map(len, packed.values()))
    yield f"wrote {path}: {len(kinds_)} kinds, {size / 1000:.0f} KB"


def mask_folders(content: bytes) -> bytes:
    """Return a saved agent's archive, with the folders of this machine in its functions masked.

    They are replaced by as many other characters, so that offsets in the archive stay valid.
    """
    if not zipfile.is_zipfile(io.BytesIO(content)) or not _BYTECODE.search(content):
        return content
    copy = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(copy, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename == "data":
                data = _BASE64.sub(lambda match: _mask_pickled_folders(match[0]), data)
            new.writestr(info, data)
    return copy.getvalue()


def _mask_pickled_folders(text: bytes) -> bytes:
    pickled = base64.b64decode(text)
    return base64.b64encode(
        _FOLDERS.sub(lambda match: b"/" + b"-" * (len(match[0]) - 2) + b"/", pickled)
    )


def _digest_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _dump_repeatable_and_share(
    items: Sequence[Sequence[Any]], functions: Sequence[str]
) -> tuple[bytes, float]:
    """Return as JSON the items that two loads read alike, and their share of all items.

    Numbers are kept of computed items alone, as they show rounding. Lines of old files are removed.
    """
    repeated = {path: words for path, words, *_ in items[-1]}
    rows = [
        [path, words, _LINE.sub(" ", functions[number], count=1),
         [float(f"{float(value):.{_DIGITS}g}") for value in numbers]
         if saved_files_comparison.is_computed_from_loaded(path) else []]
        for path, words, number, numbers in items[0] if repeated.get(path) == words
    ]  # fmt: skip
    share = len(rows) / max(len(items[0]), 1)
    return json.dumps({"items": rows}, separators=(",", ":")).encode(), share


def _check_stored_sizes(framework: str, version: str, packed: Mapping[str, bytes]) -> None:
    largest = max(map(len, packed.values()))
    if largest > LARGEST:
        raise UserError(
            f"a file of {framework} {version} has {largest} bytes, expected at most {LARGEST}; "
            "save smaller agents"
        )
    names = {f"{digest[:_NAMED]}.gz" for digest in packed}
    stored = (path for path in (suite.locate_baselines() / "saved").rglob("*") if path.is_file())
    total = sum(path.stat().st_size for path in stored if path.name not in names)
    total += sum(map(len, packed.values()))
    if total > LARGEST_STORE:
        raise UserError(
            f"with {framework} {version} baselines/saved would have {total} bytes, expected at "
            f"most {LARGEST_STORE}; remove a release"
        )


def _remove_unused_files(framework: str) -> None:
    """Remove files that no release names any more, after one was recorded again."""
    used = {
        digest[:_NAMED]
        for record in list_release_records(framework)
        for kind in record.kind
        for digest in (kind.answers, *kind.files.values())
    }
    for path in datafiles.list_files_by_name(locate_stored_files(framework) / "files", "*.gz"):
        if path.stem not in used:
            path.unlink()
