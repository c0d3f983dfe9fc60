"""Environments are made once, whole or not at all, and pip's complaints become one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from filelock import FileLock

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.upgrade import environments, ground, interpreters, making, needs, state, wanted

SB3 = frameworks.get("sb3")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv(making.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def pip(tmp_path, monkeypatch):
    """A pip that says and does what a test wants: Python statements, with ``target`` if given."""

    def stub(statements):
        script = tmp_path / "pip.py"
        script.write_text(
            "import os, pathlib, sys\n"
            "words = sys.argv\n"
            "target = words[words.index('--target') + 1] if '--target' in words else None\n"
            f"log = open({str(tmp_path / 'pip.log')!r}, 'a'); print(*words[1:], file=log)\n"
            + textwrap.dedent(statements)
        )
        monkeypatch.setattr(making, "PIP", (sys.executable, str(script)))
        return tmp_path / "pip.log"

    return stub


#: a distribution that a stub installs: name, version, what it needs.
INSTALLS = """
    def install(name, version, *needs):
        info = pathlib.Path(target) / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        rows = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {n}" for n in needs)]
        (info / "METADATA").write_text("\\n".join(["Metadata-Version: 2.1", *rows]) + "\\n")
"""


def test_a_folder_is_made_once(cache):
    """The second command that wants the same environment finds it."""
    folder, calls = cache / "overlays" / "x", []
    make = lambda target: calls.append(target) or {"made": 1}  # noqa: E731
    assert not making.made(folder, make)
    assert making.made(folder, make)
    assert len(calls) == 1
    assert making.ready(folder) == {"made": 1}


def test_a_folder_that_could_not_be_made_is_not_there(cache):
    """After an error there is neither a folder nor a part of one, and what was there stays."""
    kept = cache / "overlays" / "kept"
    making.made(kept, lambda target: {})

    def broken(target):
        (target / "half").write_text("")
        raise UserError("no network")

    with pytest.raises(UserError, match="no network"):
        making.made(cache / "overlays" / "x", broken)
    assert {path.name for path in (cache / "overlays").iterdir() if path.is_dir()} == {"kept"}
    assert making.ready(kept) == {}


def test_a_killed_command_leaves_nothing_that_looks_finished(cache):
    """A command killed while it makes an environment leaves no lock, and the next one makes it."""
    script = (
        "import sys, time; from pathlib import Path; from rlregress.upgrade import making\n"
        "def make(target):\n"
        "    (target / 'half').write_text(''); print('making', flush=True); time.sleep(60)\n"
        f"making.made(Path({str(cache / 'overlays' / 'x')!r}), make)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout.readline().strip() == b"making"
        process.send_signal(signal.SIGKILL)
    folder = cache / "overlays" / "x"
    assert making.ready(folder) is None
    assert not making.made(folder, lambda target: {"files": os.listdir(target)})
    assert making.ready(folder) == {"files": []}
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == ["x"]


def test_two_commands_do_not_make_the_same_folder(cache):
    """The second command says that it waits, and finds what the first one has made."""
    folder, said = cache / "overlays" / "x", []
    (cache / "overlays").mkdir(parents=True)
    results = []
    with FileLock(f"{folder}.lock"):
        second = threading.Thread(
            target=lambda: results.append(making.made(folder, lambda target: {}, said.append))
        )
        second.start()
        for _ in range(100):
            if said:
                break
            time.sleep(0.05)
        folder.mkdir()
        (folder / making.READY).write_text("{}")
    second.join(timeout=10)
    assert results == [True]
    assert said
    assert "waiting" in said[0]


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    """The user is told which variable names another folder."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(making.CACHE_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(UserError, match=making.CACHE_VARIABLE):
        making.made(making.cache() / "overlays" / "x", lambda target: {})


PIP_SAYS = {
    "no version": (
        "ERROR: Could not find a version that satisfies the requirement a==9 (from versions: 1.0, "
        "1.1)\nERROR: No matching distribution found for a==9",
        "there is no a==9 for this Python; the package index has, last, 1.0, 1.1",
    ),
    "no package": (
        "ERROR: Could not find a version that satisfies the requirement a==9 (from versions: none)"
        "\nERROR: No matching distribution found for a==9",
        "no package of that name",
    ),
    "no network": (
        "WARNING: Retrying ... NewConnectionError('...: Failed to establish a new connection')\n"
        "ERROR: Could not find a version that satisfies the requirement a==9 (from versions: none)"
        "\nERROR: No matching distribution found for a==9",
        "cannot be reached and nothing of it is in the cache",
    ),
    "conflict": (
        "ERROR: Cannot install a==9 and b==1 because these package versions have conflicting "
        "dependencies.\n\nThe conflict is caused by:\n    a 9 depends on c>2\n    b 1 depends on "
        "c<2\n\nERROR: ResolutionImpossible: for help visit",
        "cannot be installed together: a 9 depends on c>2; b 1 depends on c<2",
    ),
    "anything": ("WARNING: x\nERROR: the disk is full\nnotice", "the disk is full"),
    "nothing": ("", "pip said nothing"),
}


@pytest.mark.parametrize("case", PIP_SAYS)
def test_what_pip_says_becomes_one_sentence(cache, pip, case):
    """A failed installation is a user error of one sentence, and the cache is as before."""
    said, expected = PIP_SAYS[case]
    pip(f"sys.stderr.write({said!r}); sys.exit(1)")
    with pytest.raises(UserError) as raised:
        environments.prepare("A", wanted.parse("a==9"), [SB3])
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not [path for path in (cache / "overlays").iterdir() if path.is_dir()]


def test_only_the_package_changes_in_an_overlay(cache, pip):
    """A package whose needs are met goes into an overlay, installed once and without the rest."""
    log = pip(INSTALLS + "    \n    install('a', '9', 'numpy')\n")
    side = environments.prepare("A", wanted.parse("a==9"), [SB3])
    again = environments.prepare("B", wanted.parse("a==9"), [SB3])
    assert (side.how, side.cached, again.cached) == ("overlay", False, True)
    assert side.side.paths[0] == again.side.paths[0]
    assert len(log.read_text().splitlines()) == 1
    assert "--no-deps" in log.read_text()


def test_an_overlay_brings_what_is_not_installed_at_all(cache, pip):
    """A dependency of which nothing is installed contradicts nothing: it goes in as well."""
    log = pip(
        INSTALLS
        + "    \n    if 'a==9' in words: install('a', '9', 'nowhere-installed>1')\n"
        + "    else: install('nowhere-installed', '2')\n"
    )
    assert environments.prepare("A", wanted.parse("a==9"), [SB3]).how == "overlay"
    assert "nowhere-installed>1" in log.read_text().splitlines()[1]


def test_an_overlay_whose_caps_are_not_met_becomes_an_environment(cache, pip, monkeypatch):
    """A cap that the current environment breaks is named as the reason for a new one."""
    pip(INSTALLS + "    \n    install('a', '9', 'numpy<1')\n")
    asked = []

    def made(wanted_, adapters, capped, say):
        asked.append(capped)
        return cache / "environments" / "x", False

    monkeypatch.setattr(environments, "environment", made)
    side = environments.prepare("A", wanted.parse("a==9"), [SB3])
    assert side.how == "environment"
    assert "because a 9 needs numpy<1" in "\n".join(side.lines)
    assert asked == [frozenset({"numpy"})]


GROUNDS = {
    "it fits": ("0.9", "a==10", ["there", "there"]),
    "it fits one for both": ("1.9", "a==10", ["joint", "joint"]),
    "other packages": ("0.9", "b==10", ["there", "own"]),
    "what is installed": ("0.9", "installed", ["there", "here"]),
}


@pytest.mark.parametrize("case", GROUNDS)
def test_the_same_packages_stand_on_the_same_ground(cache, pip, monkeypatch, case):
    """A side goes on the environment of the other, or both on one, so that nothing else moves."""
    below, asked, pythons = GROUNDS[case]
    pip(
        INSTALLS
        + "    \n    words = ' '.join(words)\n"
        + "    if 'a==9' in words: install('a', '9', 'numpy<1')\n"
        + "    else: install('a' if 'a==' in words else 'b', '10', 'numpy<1')\n"
    )
    found = {"there": below, "joint": "0.9", "own": "0.9"}

    def made(wanted_, adapters, capped, say, also=()):
        name = "joint" if also else "there" if wanted_.text == "a==9" else "own"
        assert also in ((), ["numpy<1"])
        assert capped == {"numpy"}
        return cache / name, False

    monkeypatch.setattr(environments, "environment", made)
    monkeypatch.setattr(
        interpreters,
        "distributions",
        lambda python: {"python": "3", "numpy": found[Path(python).parts[-3]]},
    )
    sides = ground.prepare(wanted.parse("a==9"), wanted.parse(asked), [SB3], making.silent)
    here = sys.executable
    assert [side.side.label for side in sides] == ["A", "B"]
    assert [
        "here" if side.side.python == here else Path(side.side.python).parts[-3] for side in sides
    ] == pythons


def test_an_installed_framework_that_asks_for_another_version_is_named(cache, pip):
    """Another gymnasium runs under a framework that does not ask for it, and the report says so."""
    pip(INSTALLS + "    \n    install('gymnasium', '0.1')\n")
    side = environments.prepare("A", wanted.parse("gymnasium==0.1"), [SB3])
    assert side.how == "overlay"
    assert f"although {SB3.packages[0]}" in "\n".join(side.lines)


def test_pins_are_given_up_one_kind_after_the_other(cache, pip, tmp_path):
    """A new environment keeps the versions of this one as far as they fit together."""
    constraint = tmp_path / "cache" / "x"
    constraint.mkdir(parents=True)
    log = pip(
        "rows = pathlib.Path(words[words.index('-c') + 1]).read_text().split()\n"
        "if len(rows) > 3:\n"
        "    sys.stderr.write('ERROR: ResolutionImpossible'); sys.exit(1)\n"
    )
    said = []
    how = environments._installed(constraint, ["a==9"], ["scipy"], frozenset(), said.append)
    assert how.startswith("gymnasium, mujoco and numpy")
    assert len(log.read_text().splitlines()) == 2


def test_an_environment_holds_what_the_library_needs():
    """Everything that is asked and trained here can be asked and trained there; torch is pinned."""
    rows = needs.own([SB3], frozenset({SB3.packages[0]}))
    names = {row.partition("[")[0].partition(">")[0] for row in rows}
    assert {"pytest", "scipy", "ale-py", "gymnasium", "opencv-python-headless"} <= names
    assert not names & {"torch", "torchrl", SB3.packages[0]}
    (pin,) = needs.current(["torch"])
    assert pin.startswith("torch==")
    assert "+" not in pin


def test_a_lock_file_of_what_is_installed_makes_nothing(cache, pip, tmp_path):
    """What a lock file pins as it is installed needs no overlay."""
    pip("sys.exit(1)")
    path = tmp_path / "lock.txt"
    path.write_text("\n".join(needs.current(["numpy", "gymnasium"])))
    assert environments.prepare("A", wanted.parse(str(path)), [SB3]).how == "installed"


def test_a_tree_without_a_framework_is_refused(tmp_path):
    """The sentence says what a tree was expected to hold."""
    with pytest.raises(UserError, match="holds no framework"):
        environments.prepare("B", wanted.parse(str(tmp_path)), [SB3])


def test_an_environment_without_its_python_is_refused(tmp_path):
    """A user's environment whose interpreter is gone is named."""
    (tmp_path / "pyvenv.cfg").write_text("")
    with pytest.raises(UserError, match="without a Python"):
        environments.prepare("B", wanted.parse(str(tmp_path)), [SB3])


def test_a_users_environment_that_changed_in_place_is_another_side(tmp_path, monkeypatch):
    """Nothing that an interrupted gate has left of it is used again."""
    source = tmp_path / "lib" / "python3" / "site-packages" / "package" / "code.py"
    source.parent.mkdir(parents=True)
    source.write_text("1\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    (tmp_path / "pyvenv.cfg").touch()
    monkeypatch.setattr(interpreters, "distributions", lambda python: {"python": "3"})
    side = environments.prepare("A", wanted.parse(str(tmp_path)), [SB3])
    assert side.lines == [f"side A: {tmp_path} (your environment)"]
    before = state.state(side, [SB3])
    assert state.state(side, [SB3]) == before
    source.write_text("22\n")
    assert state.state(side, [SB3]) != before
