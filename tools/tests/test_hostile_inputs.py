"""Whatever a file holds, and whatever is in its place: one sentence, soon, nothing touched."""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import signal
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from rlregress import frameworks, suite
from rlregress.cli import commands
from rlregress.cli import trace as traces
from rlregress.errors import UserError
from rlregress.faults import fault_tables
from rlregress.gate import gate_run, recording
from rlregress.training import worker_launch
from rlregress.upgrade import resolved

from . import hostile
from .gate import night_files
from .hostile import CONTENTS, FORMATS, PLACES, as_nobody

#: CPU seconds of one command, and seconds of one that does not end by itself on a busy machine.
SOON, HANGS = 5.0, 120
#: of each kind of input and format, so many in ``make test``, drawn anew from this seed.
SAMPLED, SEED = 2, 20261126
#: of each of the suite's own files, so many in the nightly run.
OF_SUITE = 150
#: commands that say what of a store they cannot read, and end well.
LENIENT = ("runs status",)
_RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|^\s*::|##\w*\[", re.MULTILINE)
PACKAGE = frameworks.get("sb3").framework.packages[0]


def _started(*_arguments, **_named):
    raise UserError("something would be started")


@pytest.fixture(autouse=True)
def nothing_is_started(monkeypatch):
    """No training, no process and no environment of an upgrade."""
    monkeypatch.setattr(worker_launch, "_train_with_retry", _started)
    monkeypatch.setattr(recording.worker_launch, "do_runs", _started)
    monkeypatch.setattr(traces, "record_twice", _started)
    monkeypatch.setattr(gate_run.subprocess, "Popen", _started)
    monkeypatch.setattr(resolved, "with_versions", _started)
    monkeypatch.setattr(fault_tables, "load", lambda *_: [])


@pytest.fixture(autouse=True, scope="module")
def commands_imported():
    """An import that an alarm interrupts would spoil all that comes after it."""
    for row in commands.ROWS:
        row.load()


def _hangs(*_):
    raise AssertionError("it hangs")


def _seen(folder: Path):
    """Names, times and contents of all that lies beside what a command is given."""
    return {
        str(path): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted((folder / "guard").rglob("*"))
    } | {str(path): () for top in (folder, folder.parent) for path in top.iterdir()}


class House:
    """Where one command is given hostile files, and what it may not touch."""

    def __init__(self, folder: Path, command) -> None:
        self.folder, self._command = folder, command
        self.given, self.out = folder / "given", folder / "out"
        self.counted: Counter[tuple[str, str]] = Counter()
        self.wrong: list[str] = []
        self.code: int | None = None
        guard = folder / "guard" / "events.out.tfevents.1"
        guard.parent.mkdir()
        guard.write_text("not yours")
        (folder / "out").mkdir()

    def run(
        self, what: str, line: str, about: str, raised: bool = False, user: bool = False
    ) -> str:
        """Call a command; what is wrong with how it ends is added to ``wrong``.

        Args:
            raised: whether it may not end well.
            user: as a user without the rights of root.
        """
        shutil.rmtree(self.out)
        self.out.mkdir(mode=0o777)
        self.out.chmod(0o777)
        before = _seen(self.folder)
        words = [word.format(folder=self.given, out=self.out, package=PACKAGE, **self.names(what))
                 for word in line.split()]  # fmt: skip
        handler = signal.signal(signal.SIGALRM, _hangs)
        signal.alarm(HANGS)
        started = time.process_time()
        try:
            if user:
                with as_nobody():
                    code, out, error = self._command(*words)
            else:
                code, out, error = self._command(*words)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, handler)
        seconds, error = time.process_time() - started, _without_banner(error)
        self.code = code
        self.counted[words[0], what] += 1
        after = _seen(self.folder)
        touched = sorted(path for path in after | before if after.get(path) != before.get(path))
        text = "".join(path.read_text() for path in self.out.rglob("*.md"))
        lines = [
            f"exit code {code}" if code not in (0, 1, 2, 3, 75) or (raised and code == 0) else "",
            "no sentence" if code == 2 and not re.fullmatch("rlregress: .*\n", error) else "",
            "a traceback" if "Traceback" in out + error else "",
            "of the working directory alone" if "working directory" in error else "",
            "no words" if code != 2 and not _spoken(error) else "",
            f"{seconds:.1f} s" if seconds > SOON else "",
            "something raw" if _RAW.search(out + error) or _RAW.search(text) else "",
            f"touched {touched}" if touched else "",
        ]
        if any(lines):
            problems = ", ".join(filter(None, lines))
            self.wrong.append(f"{line} [{what}: {about}]: {problems}\n  {error[-1500:]}")
        return out + error + text

    def names(self, what: str) -> dict[str, str]:
        """The names of a format's file."""
        return {"file": next((str(self.given / f.path) for f in FORMATS if f.name == what), "")}

    def put(self, kind: hostile.Format, content: bytes) -> Path:
        """Make the folder of a format, with this in its file."""
        path = self.prepared(kind)
        path.write_bytes(content)
        return path

    def prepared(self, kind: hostile.Format) -> Path:
        """Make the folder of a format without its file; the path of that."""
        if not kind.path.startswith("baselines"):
            shutil.rmtree(self.given, ignore_errors=True)
            self.given.mkdir()
            kind.beside(self.given)
        path = self.given / kind.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        path.unlink(missing_ok=True)
        return path


def _without_banner(error: str) -> str:
    """What is not by the library of games, which says its name when it is first used."""
    return re.sub(r"A\.L\.E: .*\n\[Powered by Stella\]\n", "", error)


def _spoken(error: str) -> bool:
    """Whether all of it is sentences of this program."""
    return all(row.startswith(("rlregress: ", "page: ", "probing ")) for row in error.splitlines())


@pytest.fixture
def house(command, monkeypatch):
    """A folder that everybody may enter, with a suite of its own that may be damaged."""
    folder = Path(tempfile.mkdtemp()) / "inner"
    folder.mkdir()
    for top_folder in (folder.parent, folder):
        top_folder.chmod(0o777)
    new_house = House(folder, command)
    new_house.given.mkdir()
    # which stays, while what is given comes and goes
    (folder / "here").mkdir(mode=0o777)
    (folder / "here").chmod(0o777)
    monkeypatch.chdir(folder / "here")
    for name in ("tests_unit", "tests_behavior", "tests_performance"):
        (new_house.given / name).mkdir()
    yield new_house
    os.chdir("/")
    shutil.rmtree(folder.parent)


@pytest.fixture
def copied(house, monkeypatch):
    """The same, with a copy of the baselines."""
    shutil.copytree(suite.baselines(), house.given / "baselines")
    monkeypatch.setattr(suite, "root", lambda: house.given)
    return house


def _filled(kind: hostile.Format) -> hostile.Format:
    """A format with its sample, of the suite's own files where it has none."""
    if kind.sample is not None:
        return kind
    sample = tomllib.loads((suite.root() / kind.path).read_text())
    if "run" in sample:
        sample = {**sample, "run": sample["run"][:2], "seeds": 2}
    else:
        sample = {"smoke": sample["smoke"], "short": sample["short"]}
    return replace(kind, sample=sample)


def _house_of(kind, request) -> House:
    return request.getfixturevalue("copied" if kind.path.startswith("baselines") else "house")


def _values(house: House, kind: hostile.Format, chosen) -> None:
    for about, content in chosen:
        try:
            dumped = kind.dump(content)
        except (TypeError, ValueError, AttributeError):
            # there is no such file
            continue
        for line in kind.commands:
            house.put(kind, dumped)
            house.run(kind.name, line, about)


def _whole(house: House, kind: hostile.Format, chosen) -> None:
    for line, about in chosen:
        house.put(kind, CONTENTS[about])
        strict = not line.startswith(LENIENT) and kind.name not in ("lease", "why a run failed")
        house.run(kind.name, line, about, raised=strict)


def _place(house: House, kind: hostile.Format, chosen) -> None:
    for line, about in chosen:
        PLACES[about](house.prepared(kind))
        house.run(kind.name, line, about, user=about == "a closed file")


def _ended_well(house: House, capfd, show: bool = False) -> None:
    if show:
        with capfd.disabled():
            for (name, what), count in sorted(house.counted.items()):
                print(f"\n{name:<10} {what:<24} {count:>6}", end="")
    assert not house.wrong, f"{len(house.wrong)} of {house.counted.total()}:\n" + "\n".join(
        house.wrong[:20]
    )


#: the formats that have a sound sample of their own, which no environment has to be made for
_OF_USERS = [kind for kind in FORMATS if kind.sample is not None
             and kind.name not in ("accepted entries", "lock file", "hyperparameters")]  # fmt: skip
#: command -> how it ends where it is given a sound file, if not with 0: its code, and what it says
SOUND = {"trend": (0, "# Trend of 1 nights, "), "study rank record": (2, "nothing to rank: 1 run,"),
         "runs run": (2, "something would be started"),
         "runs launch": (0, "1 runs, 1 of them")}  # fmt: skip
_FORMATS = pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)


def _few(request) -> bool:
    return request.config.getoption("-m") == "not nightly"


def _drawn(request, kind: hostile.Format, cases) -> list:
    """A few cases, the same ones each time; at night all of them."""
    every = list(cases)
    # what reads a file of the suite reads all the others as well, which takes its time
    few, most = (1, OF_SUITE) if kind.path.startswith("baselines") else (SAMPLED, len(every))
    number = min(len(every), few if _few(request) else most)
    return random.Random(f"{SEED} {kind.name}").sample(every, number)


@_FORMATS
def test_hostile_files_are_answered(kind, request, capfd):
    """Each value of a sound file replaced by each hostile one, taken out, or renamed.

    Each content that is none, and each thing that is no file, in each place of one.
    """
    house, kind = _house_of(kind, request), _filled(kind)
    _values(house, kind, _drawn(request, kind, hostile.variants(kind.sample)))
    _whole(house, kind, _drawn(request, kind, itertools.product(kind.commands, CONTENTS)))
    _place(house, kind, _drawn(request, kind, itertools.product(kind.commands, PLACES)))
    _ended_well(house, capfd, show=not _few(request))


#: command lines with one name that leads to something hostile.
LINES = (
    "check --report {bad}", "check --store {bad}", "upgrade {bad} installed", "upgrade {bad}/x",
    "upgrade installed --script {bad}", "upgrade {package}==0.0.1 installed --accepted {bad}",
    "plan --store {bad}", "trend {bad}", "trend {nights} --report {bad}",
    "trace {bad}",
    "trace --framework sb3 --algorithm ppo -o {bad}", "diff {bad} {bad}", "study rank {bad}",
    "study rank {bad}.csv", "study rank --store {bad}", "study rank {csv} --report {bad}",
    "study thesis --report {bad}",
    "baseline record --throughput 0 --html {bad}",
    "study determinism --report {bad} --framework sb3",
    "baseline record --framework sb3 --algorithm ppo --environment Hopper-v4 --store {bad}",
    "runs launch --manifest {bad}", "runs launch --manifest {manifest} --store {bad}",
    "runs launch --slurm --manifest {manifest} --before {bad}",
    "runs run --manifest {bad} --index 0",
    "runs run --manifest {manifest} --index 0 --store {bad}", "runs status --store {bad}",
    "runs status --manifest {bad}", "runs status --watch --store {bad}",
    "runs status --verify --store {bad}",
    "runs status --verify --manifest {bad}", "runs merge {bad} -o {out}",
    "runs merge {out} -o {bad}",
    "compare sb3 torchrl --html {bad}",
    "details {bad}", "study claims --html {bad}",
    "details --installed --framework sb3 --html {bad}",
    "selftest histories --show --html {bad}",
)  # fmt: skip


#: what is neither a file nor a folder, for whoever calls
NEITHER = ("a pipe", "an endless device", "a full device", "a loop of links", "a closed file",
           "300 letters")  # fmt: skip


@pytest.mark.parametrize("about", NEITHER)
def test_a_name_that_leads_nowhere_is_answered(house, monkeypatch, capfd, about, request):
    """In each option and argument of a command that is a file or a folder."""
    by_name = {kind.name: kind for kind in FORMATS}
    names = {}
    for name, title in (("csv", "CSV"), ("manifest", "manifest")):
        kind = by_name[title]
        path = house.folder / f"sound-{kind.path}"
        path.write_bytes(kind.dump(kind.sample))
        names[name] = str(path)
    night_files.written(house.folder / "sound-nights", hostile.NIGHTS)
    names["nights"] = str(house.folder / "sound-nights")
    bad = house.given / ("n" * 300 if about == "300 letters" else "bad")
    house.names = lambda what: {**names, "bad": str(bad)}
    sampled = random.Random(f"{SEED} {about}").sample(LINES, 4)
    for line in sampled if _few(request) else LINES:
        if about in PLACES and not os.path.lexists(bad):
            PLACES[about](bad)
        house.run("a name", line, about, user=about == "a closed file")
    _ended_well(house, capfd)


def test_a_working_folder_that_is_gone(command, tmp_path):
    """No command begins in it."""
    gone, before = tmp_path / "gone", os.getcwd()
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        ended = {row.name: command(*row.name.split()) for row in commands.ROWS}
    finally:
        os.chdir(before)
    for code, out, error in ended.values():
        assert (code, out) == (2, "")
        assert re.fullmatch("rlregress: the working directory is gone .*\n", error)


#: text that is an order for whatever shows it: a terminal, GitHub, Azure, Markdown, a browser.
ORDERS = "::error::x\n##[error]x\n```\n<script>x</script>\n@everyone ![x](http://x)\n\x1b]0;x\x07"
#: the same in one line of what can be printed.
NAMES = ("::error::x", "##[error]x", "<script>x</script>", "```", "@everyone", "![x](http://x)")


def _told(kind: hostile.Format):
    """Samples of a format, one with orders in each of its texts."""
    for place in hostile.places(kind.sample):
        inner = kind.sample
        for key in place:
            inner = inner[key]
        if isinstance(inner, str) and place:
            yield hostile.replaced(kind.sample, place, ORDERS)
            for name in NAMES:
                yield hostile.replaced(kind.sample, place, name)
                yield hostile.renamed(kind.sample, place, name)


#: formats of whose texts a few are tried at every commit.
_TOLD = ("why a run failed", "lease", "night", "trace", "CSV", "record")


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, id=kind.name, marks=() if kind.name in _TOLD else pytest.mark.nightly)
        for kind in FORMATS
    ],
)
def test_text_from_files_gives_no_orders(kind, request, capfd):
    """Nothing of it is raw in what is printed, or in a page of Markdown."""
    house, kind = _house_of(kind, request), _filled(kind)
    _orders(house, kind, _drawn(request, kind, list(_told(kind)) or [ORDERS]))
    _ended_well(house, capfd, show=not _few(request))


def _orders(house: House, kind: hostile.Format, samples) -> None:
    for sample in samples:
        dumped = kind.dump(sample)
        for line in kind.commands:
            house.put(kind, dumped)
            house.run(kind.name, line, "orders")
            page = "".join(path.read_text() for path in house.out.rglob("*.md"))
            if "<script" in page or re.search(r"(?<!\w)@everyone|\]\(http://x", page):
                house.wrong.append(f"{line} [{kind.name}]: raw Markdown")


@pytest.mark.parametrize("kind", _OF_USERS, ids=lambda kind: kind.name)
def test_a_sound_file_of_each_format_is_read(kind, house, capfd):
    """Otherwise all that is hostile would be refused for another reason."""
    for line in kind.commands:
        house.put(kind, kind.dump(kind.sample))
        text = house.run(kind.name, line, "sound")
        name = re.match(r"[a-z]+( [a-z]+)*", line)[0]
        code, sentence = SOUND.get(f"{name} {kind.name}", SOUND.get(name, (0, "")))
        assert (house.code, sentence in text) == (code, True), (line, text)
        assert "expected a" not in text, (line, text)
    _ended_well(house, capfd)
