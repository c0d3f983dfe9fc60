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
from contextlib import nullcontext
from pathlib import Path

import pytest

from rlregress import frameworks
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
#: of each format, so many in ``make test``, drawn anew from this seed.
SAMPLED, SEED = 2, 20261126
#: commands that say what of a store they cannot read, and end well.
LENIENT = ("runs status",)
#: formats of which a damaged file is no error.
LENIENT_KINDS = ("lease", "why a run failed")
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

    def prepare(self, kind: hostile.Format) -> Path:
        """Make the folder of a format without its file; the path of that."""
        shutil.rmtree(self.inputs, ignore_errors=True)
        self.inputs.mkdir()
        kind.add_context(self.inputs)
        path = self.inputs / kind.path
        path.parent.mkdir(parents=True, exist_ok=True)
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
    """Yield a folder that everybody may enter."""
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
    yield new_sandbox
    os.chdir("/")
    shutil.rmtree(folder.parent)


def _assert_no_problem(sandbox: Sandbox) -> None:
    assert not sandbox.wrong, f"{len(sandbox.wrong)}:\n" + "\n".join(sandbox.wrong[:20])


def _is_sampled(request) -> bool:
    return request.config.getoption("-m") == "not nightly"


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_hostile_files_are_answered(kind, sandbox, request):
    """Hostile contents and file types in place of a file are answered."""
    cases = list(itertools.product(kind.commands, (*CONTENTS, *PLACES)))
    if _is_sampled(request):
        cases = random.Random(f"{SEED} {kind.name}").sample(cases, SAMPLED)
    for line, about in cases:
        path, is_strict = sandbox.prepare(kind), False
        if about in CONTENTS:
            path.write_bytes(CONTENTS[about])
            is_strict = not line.startswith(LENIENT) and kind.name not in LENIENT_KINDS
        else:
            PLACES[about](path)
        sandbox.run(kind.name, line, about, raised=is_strict, user=about == "a closed file")
    _assert_no_problem(sandbox)


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
def test_a_name_that_leads_nowhere_is_answered(sandbox, about, request):
    """Every option and argument of a path answers a hostile one."""
    names = {"csv": str(sandbox.folder / "sound.csv"), "nights": str(sandbox.folder / "nights"),
             "manifest": str(hostile.write_manifest(sandbox.folder / "sound"))}  # fmt: skip
    rows = [f"{name},Env,{seed},{seed}\n" for name in "AB" for seed in range(5)]
    Path(names["csv"]).write_text("implementation,environment,seed,return\n" + "".join(rows))
    night_files.write_nights(Path(names["nights"]), night_files.nights(2, 2))
    bad = sandbox.inputs / ("n" * 300 if about == "300 letters" else "bad")
    sandbox.names = lambda title: {**names, "bad": str(bad)}
    sampled = random.Random(f"{SEED} {about}").sample(LINES, 4)
    for line in sampled if _is_sampled(request) else LINES:
        if about in PLACES and not os.path.lexists(bad):
            PLACES[about](bad)
        sandbox.run("a name", line, about, user=about == "a closed file")
    _assert_no_problem(sandbox)


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
