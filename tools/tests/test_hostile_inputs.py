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
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from rlregress import frameworks, suite
from rlregress.check import check_run, recording
from rlregress.cli import commands
from rlregress.cli import trace as traces
from rlregress.errors import UserError
from rlregress.faults import fault_tables
from rlregress.training import worker_launch
from rlregress.upgrade.versions import resolved

from . import hostile
from .check import night_files
from .hostile import CONTENTS, FORMATS, PLACES, as_nobody

#: CPU seconds of one command, and seconds of one that does not end by itself on a busy machine.
SOON, HANGS = 5.0, 120
#: of each kind of input and format, so many in ``make test``, drawn anew from this seed.
SAMPLED, SEED = 2, 20261126
#: of each of the suite's own files, so many in the nightly run.
SUITE_CASES = 150
#: commands that say what of a store they cannot read, and end well.
LENIENT = ("runs status",)
_RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|^\s*::|##\w*\[", re.MULTILINE)
PACKAGE = frameworks.get_adapter("sb3").framework.packages[0]


def _started(*_arguments, **_named):
    raise UserError("something would be started")


@pytest.fixture(autouse=True)
def nothing_is_started(monkeypatch):
    """No training, no process and no environment of an upgrade."""
    monkeypatch.setattr(worker_launch, "_train_until_recorded", _started)
    monkeypatch.setattr(recording.worker_launch, "do_runs_in_order", _started)
    monkeypatch.setattr(traces, "record_trace_twice", _started)
    monkeypatch.setattr(check_run.subprocess, "Popen", _started)
    monkeypatch.setattr(resolved, "resolve_versions", _started)
    monkeypatch.setattr(fault_tables, "load_faults", lambda *_: [])


@pytest.fixture(autouse=True, scope="module")
def commands_imported():
    """An import that an alarm interrupts would spoil all that comes after it."""
    for row in commands.ROWS:
        row.import_function()


def _hangs(*_):
    raise AssertionError("it hangs")


def _list_files(folder: Path):
    """Return names, times and contents of all files that a command may not touch."""
    return {
        str(path): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted((folder / "guard").rglob("*"))
    } | {str(path): () for top in (folder, folder.parent) for path in top.iterdir()}


class Sandbox:
    """The place where one command reads hostile files, and the files that it may not touch."""

    def __init__(self, folder: Path, command) -> None:
        self.folder, self._command = folder, command
        self.inputs, self.out = folder / "given", folder / "out"
        self.calls: Counter[tuple[str, str]] = Counter()
        self.wrong: list[str] = []
        self.code: int | None = None
        guard = folder / "guard" / "events.out.tfevents.1"
        guard.parent.mkdir()
        guard.write_text("not yours")
        (folder / "out").mkdir()

    def run(
        self, title: str, line: str, about: str, raised: bool = False, user: bool = False
    ) -> str:
        """Call a command; problems of its end are added to ``wrong``.

        Args:
            raised: whether it may not end well.
            user: as a user without the rights of root.
        """
        shutil.rmtree(self.out)
        self.out.mkdir(mode=0o777)
        self.out.chmod(0o777)
        before = _list_files(self.folder)
        words = [word.format(folder=self.inputs, out=self.out, package=PACKAGE, **self.names(title))
                 for word in line.split()]  # fmt: skip
        handler = signal.signal(signal.SIGALRM, _hangs)
        signal.alarm(HANGS)
        started = time.process_time()
        try:
            with as_nobody() if user else nullcontext():
                code, out, error = self._command(*words)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, handler)
        seconds, error = time.process_time() - started, _without_banner(error)
        self.code = code
        self.calls[words[0], title] += 1
        after = _list_files(self.folder)
        touched = sorted(path for path in after | before if after.get(path) != before.get(path))
        text = "".join(path.read_text() for path in self.out.rglob("*.md"))
        problems = {
            f"exit code {code}": code not in (0, 1, 2, 3, 75) or (raised and code == 0),
            "no sentence": code == 2 and not re.fullmatch("rlregress: .*\n", error),
            "a traceback": "Traceback" in out + error,
            "of the working directory alone": "working directory" in error,
            "no words": code != 2 and not _has_only_sentences(error),
            f"{seconds:.1f} s": seconds > SOON,
            "something raw": _RAW.search(out + error) or _RAW.search(text),
            f"touched {touched}": touched,
        }
        if any(problems.values()):
            names = ", ".join(name for name, is_wrong in problems.items() if is_wrong)
            self.wrong.append(f"{line} [{title}: {about}]: {names}\n  {error[-1500:]}")
        return out + error + text

    def names(self, title: str) -> dict[str, str]:
        """Return the names of a format's file."""
        return {"file": next((str(self.inputs / f.path) for f in FORMATS if f.name == title), "")}

    def put(self, kind: hostile.Format, content: bytes) -> Path:
        """Make the folder of a format, with this in its file."""
        path = self.prepare(kind)
        path.write_bytes(content)
        return path

    def prepare(self, kind: hostile.Format) -> Path:
        """Make the folder of a format without its file; the path of that."""
        if not kind.path.startswith("baselines"):
            shutil.rmtree(self.inputs, ignore_errors=True)
            self.inputs.mkdir()
            kind.add_context(self.inputs)
        path = self.inputs / kind.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        path.unlink(missing_ok=True)
        return path


def _without_banner(error: str) -> str:
    """Return the error output without the banner of the library of games."""
    return re.sub(r"A\.L\.E: .*\n\[Powered by Stella\]\n", "", error)


def _has_only_sentences(error: str) -> bool:
    """Return whether every line is a sentence of this program."""
    return all(row.startswith(("rlregress: ", "page: ", "probing ")) for row in error.splitlines())


@pytest.fixture
def sandbox(command, monkeypatch):
    """Yield a folder that everybody may enter, with a suite of its own that may be damaged."""
    folder = Path(tempfile.mkdtemp()) / "inner"
    folder.mkdir()
    for top_folder in (folder.parent, folder):
        top_folder.chmod(0o777)
    new_sandbox = Sandbox(folder, command)
    new_sandbox.inputs.mkdir()
    # which stays, while what is given comes and goes
    (folder / "here").mkdir(mode=0o777)
    (folder / "here").chmod(0o777)
    monkeypatch.chdir(folder / "here")
    for name in ("tests_unit", "tests_behavior", "tests_performance"):
        (new_sandbox.inputs / name).mkdir()
    yield new_sandbox
    os.chdir("/")
    shutil.rmtree(folder.parent)


@pytest.fixture
def copied_sandbox(sandbox, monkeypatch):
    """Return the same, with a copy of the baselines."""
    shutil.copytree(suite.locate_baselines(), sandbox.inputs / "baselines")
    monkeypatch.setattr(suite, "find_suite_root", lambda: sandbox.inputs)
    return sandbox


def _add_sample(kind: hostile.Format) -> hostile.Format:
    """Return a format with its sample, of the suite's own files where it has none."""
    if kind.sample is not None:
        return kind
    sample = tomllib.loads((suite.find_suite_root() / kind.path).read_text())
    if "run" in sample:
        sample = {**sample, "run": sample["run"][:2], "seeds": 2}
    else:
        sample = {"smoke": sample["smoke"], "short": sample["short"]}
    return replace(kind, sample=sample)


def _get_sandbox(kind, request) -> Sandbox:
    is_copied = kind.path.startswith("baselines")
    return request.getfixturevalue("copied_sandbox" if is_copied else "sandbox")


def _try_values(sandbox: Sandbox, kind: hostile.Format, cases) -> None:
    for about, content in cases:
        try:
            dumped = kind.dump(content)
        except (TypeError, ValueError, AttributeError):
            # there is no such file
            continue
        for line in kind.commands:
            sandbox.put(kind, dumped)
            sandbox.run(kind.name, line, about)


def _try_contents(sandbox: Sandbox, kind: hostile.Format, cases) -> None:
    for line, about in cases:
        sandbox.put(kind, CONTENTS[about])
        strict = not line.startswith(LENIENT) and kind.name not in ("lease", "why a run failed")
        sandbox.run(kind.name, line, about, raised=strict)


def _try_places(sandbox: Sandbox, kind: hostile.Format, cases) -> None:
    for line, about in cases:
        PLACES[about](sandbox.prepare(kind))
        sandbox.run(kind.name, line, about, user=about == "a closed file")


def _assert_no_problem(sandbox: Sandbox, capfd, show: bool = False) -> None:
    if show:
        with capfd.disabled():
            for (name, title), count in sorted(sandbox.calls.items()):
                print(f"\n{name:<10} {title:<24} {count:>6}", end="")
    assert not sandbox.wrong, f"{len(sandbox.wrong)} of {sandbox.calls.total()}:\n" + "\n".join(
        sandbox.wrong[:20]
    )


#: the formats that have a sound sample of their own, which no environment has to be made for
_USER_FORMATS = [kind for kind in FORMATS if kind.sample is not None
             and kind.name not in ("accepted entries", "lock file", "hyperparameters")]  # fmt: skip
#: command -> how it ends where it is given a sound file, if not with 0: its code, and what it says
SOUND = {"trend": (0, "# Trend of 1 nights, "), "study rank record": (2, "nothing to rank: 1 run,"),
         "runs run": (2, "something would be started"),
         "runs launch": (0, "1 runs, 1 of them")}  # fmt: skip
_FORMATS = pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)


def _is_sampled(request) -> bool:
    return request.config.getoption("-m") == "not nightly"


def _draw(request, kind: hostile.Format, cases) -> list:
    """Return a few cases, the same ones each time; at night all of them."""
    cases = list(cases)
    # what reads a file of the suite reads all the others as well, which takes its time
    few, most = (1, SUITE_CASES) if kind.path.startswith("baselines") else (SAMPLED, len(cases))
    number = min(len(cases), few if _is_sampled(request) else most)
    return random.Random(f"{SEED} {kind.name}").sample(cases, number)


@_FORMATS
def test_hostile_files_are_answered(kind, request, capfd):
    """Hostile values, contents and file types in place of a file are answered."""
    sandbox, kind = _get_sandbox(kind, request), _add_sample(kind)
    _try_values(sandbox, kind, _draw(request, kind, hostile.variants(kind.sample)))
    _try_contents(sandbox, kind, _draw(request, kind, itertools.product(kind.commands, CONTENTS)))
    _try_places(sandbox, kind, _draw(request, kind, itertools.product(kind.commands, PLACES)))
    _assert_no_problem(sandbox, capfd, show=not _is_sampled(request))


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
def test_a_name_that_leads_nowhere_is_answered(sandbox, monkeypatch, capfd, about, request):
    """Every option and argument of a path answers a hostile one."""
    by_name = {kind.name: kind for kind in FORMATS}
    names = {}
    for name, title in (("csv", "CSV"), ("manifest", "manifest")):
        kind = by_name[title]
        path = sandbox.folder / f"sound-{kind.path}"
        path.write_bytes(kind.dump(kind.sample))
        names[name] = str(path)
    night_files.write_nights(sandbox.folder / "sound-nights", hostile.NIGHTS)
    names["nights"] = str(sandbox.folder / "sound-nights")
    bad = sandbox.inputs / ("n" * 300 if about == "300 letters" else "bad")
    sandbox.names = lambda title: {**names, "bad": str(bad)}
    sampled = random.Random(f"{SEED} {about}").sample(LINES, 4)
    for line in sampled if _is_sampled(request) else LINES:
        if about in PLACES and not os.path.lexists(bad):
            PLACES[about](bad)
        sandbox.run("a name", line, about, user=about == "a closed file")
    _assert_no_problem(sandbox, capfd)


def test_a_working_folder_that_is_gone(command, tmp_path):
    """No command begins in it."""
    gone, before = tmp_path / "gone", os.getcwd()
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        endings = {row.name: command(*row.name.split()) for row in commands.ROWS}
    finally:
        os.chdir(before)
    for code, out, error in endings.values():
        assert (code, out) == (2, "")
        assert re.fullmatch("rlregress: the working directory is gone .*\n", error)


#: text that is an order for whatever shows it: a terminal, GitHub, Azure, Markdown, a browser.
ORDERS = "::error::x\n##[error]x\n```\n<script>x</script>\n@everyone ![x](http://x)\n\x1b]0;x\x07"
#: the same in one line of what can be printed.
NAMES = ("::error::x", "##[error]x", "<script>x</script>", "```", "@everyone", "![x](http://x)")


def _order(kind: hostile.Format):
    """Yield samples of a format, one with orders in each of its texts."""
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
_ORDER_FORMATS = ("why a run failed", "lease", "night", "trace", "CSV", "record")


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            kind, id=kind.name, marks=() if kind.name in _ORDER_FORMATS else pytest.mark.nightly
        )
        for kind in FORMATS
    ],
)
def test_text_from_files_gives_no_orders(kind, request, capfd):
    """Printed text and Markdown pages have no raw orders."""
    sandbox, kind = _get_sandbox(kind, request), _add_sample(kind)
    _try_orders(sandbox, kind, _draw(request, kind, list(_order(kind)) or [ORDERS]))
    _assert_no_problem(sandbox, capfd, show=not _is_sampled(request))


def _try_orders(sandbox: Sandbox, kind: hostile.Format, samples) -> None:
    for sample in samples:
        dumped = kind.dump(sample)
        for line in kind.commands:
            sandbox.put(kind, dumped)
            sandbox.run(kind.name, line, "orders")
            page = "".join(path.read_text() for path in sandbox.out.rglob("*.md"))
            if "<script" in page or re.search(r"(?<!\w)@everyone|\]\(http://x", page):
                sandbox.wrong.append(f"{line} [{kind.name}]: raw Markdown")


@pytest.mark.parametrize("kind", _USER_FORMATS, ids=lambda kind: kind.name)
def test_a_sound_file_of_each_format_is_read(kind, sandbox, capfd):
    """A sound file is accepted, so hostile ones are refused for their own reason."""
    for line in kind.commands:
        sandbox.put(kind, kind.dump(kind.sample))
        text = sandbox.run(kind.name, line, "sound")
        name = re.match(r"[a-z]+( [a-z]+)*", line)[0]
        code, sentence = SOUND.get(f"{name} {kind.name}", SOUND.get(name, (0, "")))
        assert (sandbox.code, sentence in text) == (code, True), (line, text)
        assert "expected a" not in text, (line, text)
    _assert_no_problem(sandbox, capfd)
