"""Bad input is answered with one clear sentence and exit code 2, never with a traceback."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rlregress import __version__, cli, frameworks, suite
from rlregress.cli import commands
from rlregress.cli import trace as traces
from rlregress.cli.parsing import Lazy
from rlregress.details import catalogue, requested_names
from rlregress.gate import baseline_runs, cell_selection, gate_run, recording
from rlregress.inside.events import SCHEMA
from rlregress.training.store import Store
from rlregress.upgrade import resolved
from tools.tests.gate.stored import with_returns_alone
from tools.tests.training.test_records import content

ADAPTER = """
from rlregress.frameworks.base import Adapter

class Absent(Adapter):
    name = "absent"
    title = "Absent"
    packages = ("a-package-nobody-installs",)
    algorithms = ("ppo",)
"""


HOPPER = "--algorithm ppo --environment Hopper-v4"


def assert_one_sentence(code: int, error: str, *expected: str) -> None:
    """Exit code 2 and a short message that holds every expected part."""
    __tracebackhide__ = True
    assert code == 2, f"exit code {code}: {error}"
    assert "Traceback" not in error
    assert error.startswith("rlregress: ")
    assert len(error.strip().splitlines()) == 1, f"more than one line: {error}"
    for part in expected:
        assert part in error, f"'{part}' is not in: {error}"


@pytest.fixture
def copied_suite(tmp_path, monkeypatch):
    """The baselines, with a copy of the stored runs that a test may damage."""
    for name in ("tests_unit", "tests_behavior", "tests_performance"):
        (tmp_path / name).mkdir()
    (tmp_path / "baselines").mkdir()
    for path in suite.baselines().iterdir():
        if path.name == "returns":
            shutil.copytree(path, tmp_path / "baselines" / path.name)
        else:
            (tmp_path / "baselines" / path.name).symlink_to(path)
    monkeypatch.setattr(suite, "root", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def stored():
    """Some stored cell of the short budget, which can be trained here."""
    cell = cell_selection.choose(cell_selection.Selection("short", cells="all"))[0]
    return next(found for found in baseline_runs.every() if found.cell == cell)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("check --framework sb33", ["unknown framework 'sb33'", *frameworks.names()]),
        ("plan --framework sb33", ["unknown framework 'sb33'"]),
        ("details --installed --framework sb33", ["unknown framework 'sb33'"]),
        ("check --budget shrt", ["unknown budget 'shrt'", "did you mean 'short'?", "full"]),
        ("plan --budget shrt", ["unknown budget 'shrt'", "did you mean 'short'?", "full"]),
        ("check --budget smoke --environment Hoper-v4", ["unknown environment 'Hoper-v4'"]),
        ("plan --budget smoke --environment Hoper-v4", ["unknown environment 'Hoper-v4'"]),
        ("plan --algorithm trpo", ["'trpo'", "ppo"]),
        ("plan --algorithm zzz", ["unknown algorithm 'zzz' of ", "; known: ppo, sac, td3"]),
        (
            "check --hyperparameters orignal",
            ["unknown hyperparameter set 'orignal'", "did you mean 'original'?"],
        ),
        ("plan --hyperparameters orignal", ["unknown hyperparameter set 'orignal'"]),
        (
            "plan --cells all --hyperparameters original",
            ["no stored cell of budget 'short' is left after --framework"],
        ),
        ("plan --cells *-Humanoid-v4-*", ["no stored cell matches '*-Humanoid-v4-*'"]),
        # what is suggested is of the framework that was named
        (
            "plan --framework sb3 --cells cleanrl-ppo-Reacher-v5",
            ["no stored cell matches 'cleanrl-ppo-Reacher-v5'; did you mean 'sb3-"],
        ),
        (
            ["check", "--cells", "sb3-ppo-Hopper-v4-short, none"],
            ["no stored cell matches 'none'"],
        ),
        ("check --inconclusive maybe", ["'maybe'", "pass or fail"]),
        ("plan --algorithm ,", ["--algorithm names nothing; expected names, comma-separated"]),
        (["plan", "--algorithm", " , "], ["--algorithm names nothing; expected names"]),
        (["plan", "--store", os.fsdecode(b"\xff")], ["is not UTF-8"]),
        (
            f"baseline record --framework sb3@2.8.0 {HOPPER}",
            ["--framework is 'sb3@2.8.0'", "expected 'sb3'"],
        ),
        # runs that cannot be trained, or are not stored
        (
            "plan --framework sb3 --algorithm sac --environment CartPole-v1",
            ["CartPole-v1 takes actions of Discrete(2)", "continuous"],
        ),
        (
            "plan --framework torchrl --algorithm ppo --environment CartPole-v1",
            ["CartPole-v1 takes actions of Discrete(2)", "continuous"],
        ),
        (
            "plan --framework sb3 --algorithm ppo --environment Pusher-v4",
            ["no stored runs of", "rlregress baseline record --framework"],
        ),
        (
            "plan --framework sb3 --algorithm dqn",
            ["is traced, and not trained for its returns",
             "rlregress trace --framework sb3 --algorithm dqn", "ppo, sac, td3"],
        ),
        # of several frameworks that none trains, whatever chooses the cells
        (
            "plan --algorithm dqn --budget smoke",
            ["Stable-Baselines3", "is traced, and not trained for its"],
        ),
        (
            "plan --algorithm dqn --budget short",
            ["Stable-Baselines3", "is traced, and not trained for its"],
        ),
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_used_is_named(command, words, expected):
    """A wrong name is named beside the nearest or the known ones, or beside what can be done."""
    code, _, error = command(*(words.split() if isinstance(words, str) else words))
    assert_one_sentence(code, error, *expected)


@pytest.mark.parametrize("name", ["check", "plan", "baseline record"])
def test_hyperparameters_that_a_framework_cannot_take(command, name):
    """What a framework cannot be set to is named before anything is trained."""
    code, _, error = command(
        *name.split(), "--framework", "sb3", "--algorithm", "sac", "--environment",
        "InvertedPendulum-v4",
        "--hyperparameters", "cleanrl", "--budget", "smoke",
    )  # fmt: skip
    assert_one_sentence(code, error, "SAC cannot be set to", "policy_delay is 1")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("plan --must-detect much", "--must-detect is 'much', expected a share up to 100%"),
        ("plan --must-detect 0", "--must-detect is '0', expected a share up to 100%"),
        ("plan --must-detect 120%", "--must-detect is '120%', expected a share up to 100%"),
        ("plan --must-detect nan", "--must-detect is 'nan', expected a share up to 100%"),
        ("plan --must-detect 5%", "--must-detect is 5%, expected more than 5%: no gate calls a"),
        ("check --seeds 100000", "--seeds is 100000, expected 1 to 1000 new runs of each cell"),
        ("plan --seeds 100000", "--seeds is 100000, expected 1 to 1000 new runs of each cell"),
        ("check --first-seed 5", "--first-seed is 5, expected 1000 to 2000000000"),
        ("check --first-seed 202611252300", "is 202611252300, expected 1000 to 2000000000"),
        ("check --alpha 0", "--alpha is 0.0, expected a probability between 0 and 1"),
        ("check --alpha nan", "--alpha is nan, expected a probability between 0 and 1"),
        (
            f"baseline record --framework sb3 {HOPPER} --seeds 1",
            "--seeds is 1, expected 2 to 1000 stored runs",
        ),
        (
            f"baseline record --framework sb3 {HOPPER} --seeds 100000",
            "--seeds is 100000, expected 2 to 1000 stored runs",
        ),
        ("trend . --since 0000-00-00", "--since is '0000-00-00', expected a date as in 2026-01-31"),
        ("trend . --since 2026-02-30", "--since is '2026-02-30', expected a date as in 2026-01-31"),
        ("trend . --since yesterday", "--since is 'yesterday', expected a date as in 2026-01-31"),
        ("trend . --since 2026-1-1", "--since is '2026-1-1', expected a date as in 2026-01-31"),
    ],
)
def test_a_number_or_day_that_makes_no_sense(command, words, expected):
    """The option whose value is wrong is named with what was expected."""
    code, _, error = command(*words.split())
    assert_one_sentence(code, error, expected)


def test_a_framework_that_is_not_trained(command):
    """Nothing is advised that cannot be done."""
    pytest.importorskip("sb3_contrib")
    code, _, error = command("plan", "--framework", "contrib")
    assert_one_sentence(code, error, "cannot be trained for returns", "--framework contrib")
    code, _, error = command("plan", "--framework", "contrib", "--algorithm", "sac")
    assert_one_sentence(code, error, "'sac' of SB3-Contrib is tested for its behaviour, and not")
    code, _, error = command("plan", "--framework", "contrib", "--algorithm", "td3")
    assert_one_sentence(code, error, "unknown algorithm 'td3' of SB3-Contrib; known: dqn, ppo, sac")


def test_baseline_of_another_budget(command, copied_suite, stored):
    """Stored runs of another length than the budget's are refused, with both lengths."""
    path = copied_suite / "baselines" / "returns" / f"{stored.cell.id}.toml"
    steps = stored.protocol.total_steps
    text = path.read_text()
    path.write_text(text.replace(f"total_steps = {steps}", f"total_steps = {steps + 7}"))
    code, _, error = command("plan", "--cells", stored.cell.id)
    assert_one_sentence(code, error, path.name, str(steps), str(steps + 7), "record it again")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda text: text.replace("seed = ", "sed = ", 1),
            "unknown key 'sed'; did you mean 'seed'?",
        ),
        (lambda text: text.replace('algorithm = "', 'algorithm = "x', 1), "expected the cell"),
        (lambda text: text[: text.rindex("[[run]]")], "distinct"),
        (lambda text: text.replace("seed = 1\n", "seed = 0\n", 1), "distinct"),
    ],
    ids=["key", "cell", "run", "twice"],
)
def test_damaged_stored_runs(command, copied_suite, stored, damage, message):
    """A damaged file of stored runs is named with what is wrong in it."""
    path = copied_suite / "baselines" / "returns" / f"{stored.cell.id}.toml"
    path.write_text(damage(path.read_text()))
    code, _, error = command("plan", "--cells", "all")
    assert_one_sentence(code, error, path.name, message)


def test_stored_runs_are_not_overwritten_by_fewer(command, copied_suite, stored, tmp_path):
    """Recording two seeds over more stored ones is refused before anything is trained."""
    cell = stored.cell
    code, _, error = command(
        "baseline", "record", "--framework", cell.framework, "--algorithm", cell.algorithm,
        "--environment", cell.environment, "--seeds", "2", "--store", str(tmp_path / "runs"),
    )  # fmt: skip
    assert_one_sentence(code, error, f"{cell.id}.toml", "--replace")


def test_a_recording_of_which_every_run_failed_stores_nothing(
    command, copied_suite, tmp_path, monkeypatch
):
    """Why they failed is said, good runs are not replaced by them, and the exit code is 2."""

    failed = {"status": "failed", "failure": "Traceback\nRuntimeError: no such space",
              "final_return": None, "curve": [], "episode_returns": []}  # fmt: skip

    def failing(queue, store, workers, on_done):
        for job in queue:
            store.put(job, {**content(job), **failed}, "attempt")

    monkeypatch.setattr(recording.worker_launch, "run_all", failing)
    path = copied_suite / "baselines" / "returns" / "sb3-ppo-Hopper-v4-short.toml"
    before = path.read_text()
    code, out, error = command(
        "baseline", "record", "--framework", "sb3", "--algorithm", "ppo", "--environment",
        "Hopper-v4",
        "--seeds", "2", "--replace", "--store", str(tmp_path / "runs"),
    )  # fmt: skip
    assert_one_sentence(code, error, "no run of sb3-ppo-Hopper-v4-short ended well")
    assert "seed 1 of sb3-ppo-Hopper-v4-short failed: RuntimeError: no such space" in out
    assert path.read_text() == before


def test_a_store_that_cannot_be_written(command, tmp_path):
    """A store that is a file is named before anything is trained."""
    (tmp_path / "file").write_text("")
    code, _, error = command("plan", "--store", str(tmp_path / "file"))
    assert_one_sentence(code, error, "is no folder", "--store")


def test_a_default_cell_without_stored_runs(command, copied_suite, stored):
    """A cell that gate.toml names and that is not stored is named, not dropped."""
    named = "nobody-ppo-Hopper-v4-short"
    (copied_suite / "baselines" / "gate.toml").unlink()
    (copied_suite / "baselines" / "gate.toml").write_text(f'[default]\ncells = ["{named}"]\n')
    code, _, error = command("plan")
    assert_one_sentence(code, error, "gate.toml", named, "no stored runs")


def test_missing_package(command, tmp_path, monkeypatch):
    """A framework whose package is not installed says which one, and how to install it."""
    (tmp_path / "absent_adapter.py").write_text(ADAPTER)
    info = tmp_path / "absent_adapter-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: absent-adapter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[rlregress.frameworks]\nabsent = absent_adapter:Absent\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    code, _, error = command("check", "--framework", "absent")
    assert_one_sentence(code, error, "a-package-nobody-installs", "pip install")


def test_an_algorithm_that_is_only_asked_how_it_behaves(command):
    """An algorithm without returns and without a trace says which tests ask it."""
    code, _, error = command("plan", "--framework", "cleanrl", "--algorithm", "dqn")
    scripts = frameworks.get("cleanrl")
    text = "test tests_behavior --algorithm dqn" if scripts.behavior_only else "known: ppo, sac"
    assert_one_sentence(code, error, "'dqn' of CleanRL", text)


_COMMANDS = {row.name: Lazy(row).real() for row in commands.ROWS if not row.raw}
_VALUES = [
    pytest.param(name, option, id=f"{name} {option}")
    for name, of in _COMMANDS.items()
    for parameter in of.params
    if not getattr(parameter, "is_flag", False)
    for option in parameter.opts
]


@pytest.mark.parametrize(("name", "option"), _VALUES)
def test_an_empty_value_is_an_error(command, name, option):
    """No option and no argument takes one: it would mean everything, or the working folder."""
    for value in ("", " ", "\t"):
        if option.startswith("-"):
            named, given = option, [(option, value), (f"{option}={value}",)]
        else:
            named, given = "an argument", [(value,)]
        for words in given:
            code, out, error = command(*name.split(), *words)
            assert_one_sentence(code, error, f"{named} is empty; expected a value")
            assert out == ""


@pytest.mark.parametrize("options", [(), ("--traced",), ("--optional",)])
def test_an_unknown_fault(command, options):
    """An unknown fault is answered with near names, not with a folder."""
    code, _, error = command("selftest", "faults", *options, "--only", "nope")
    assert_one_sentence(code, error, "unknown fault 'nope'; ", " are known, such as '")
    assert "baselines" not in error


def test_a_family_of_details_is_listed(command):
    """The name of a family, or of a part of one, lists its details."""
    code, output, error = command("details", "sac.critic_loss")
    assert (code, error) == (0, "")
    assert "sac.critic_loss.scale" in output
    assert "ppo." not in output


def test_a_detail_that_others_stand_below_is_shown_in_full(command):
    """``ppo.value_clip`` is a detail and the beginning of others: its question is printed."""
    code, output, _ = command("details", "ppo.value_clip")
    assert code == 0
    assert catalogue.get("ppo.value_clip").question[:30] in output
    assert "ppo.value_clip.range" not in output


@pytest.mark.parametrize("words", ["halved", "HALVED", "box 6"])
def test_details_are_found_by_words(command, words):
    """Words that are no id are looked for in questions, sources and variants, in any case."""
    code, output, error = command("details", words)
    assert (code, error) == (0, "")
    assert "sac.critic_loss.scale" in output
    assert "atari." not in output


def test_probed_details_are_chosen(command):
    """``--detail`` takes ids and beginnings of ids, as pytest's does."""
    code, output, error = command(
        "details", "--installed", "--framework", "sb3", "--detail", "sac.critic_loss"
    )
    assert (code, error) == (0, "")
    assert "sac.critic_loss.scale" in output
    assert "sac.actor" not in output


def test_a_detail_that_no_framework_is_asked(command):
    """A detail of what a framework does not have is no empty table."""
    code, output, error = command(
        "details", "--installed", "--framework", "sb3", "--detail", "gae.kernel"
    )
    assert_one_sentence(code, error, "no framework here has one of these details: ")
    assert not output


def test_an_unknown_detail(command):
    """An unknown detail is answered with near names, and not with all details."""
    code, _, error = command("details", "zzz")
    assert_one_sentence(code, error, "unknown detail 'zzz'; ", " are known, such as '")
    assert error.endswith("(rlregress details lists the families)\n")
    assert len(error) < 250


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("check --no-returns", "rlregress check takes no --no-returns; 'rlregress upgrade' does"),
        ("check --trace-all --mutants 3", "takes no --trace-all; 'rlregress upgrade' does"),
        (
            "check --script train.py",
            "rlregress check takes no --script; rlregress upgrade, rlregress bisect and rlregress "
            "diff do",
        ),
        ("upgrade installed --cells all", "rlregress upgrade takes no --cells; "),
        ("upgrade installed --budget short", "rlregress upgrade takes no --budget; "),
        ("upgrade installed --framework", "Option '--framework' requires an argument"),
        ("upgrade installed -- --seed 1", "'--seed 1' would be arguments of a script"),
        ("check --no-such", "No such option: --no-such; see rlregress check --help"),
        ("check --cells", "Option '--cells' requires an argument"),
        (
            "check train.py",
            "unexpected extra argument(s) (train.py); see rlregress check --help",
        ),
        ("check --budget smoke --cells all", "--cells chooses among stored runs"),
        ("check --cells all --environment Hopper-v4", "give one of them"),
        ("check --cells thesis --algorithm ppo,foo", "unknown algorithm 'foo'"),
        ("trace --framework sb3", "--algorithm is missing; expected one of sb3: a2c, ddpg"),
        ("compare sb3 torchrl --json --markdown", "--markdown and --json are two formats"),
        ("compare sb3 torchrl --algorithm trpo", "unknown algorithm 'trpo'; known: "),
        (
            "selftest histories --show --only 2.0.0",
            "--only and --scenario say what to judge, and --show judges nothing",
        ),
        (
            "selftest histories --show --scenario gsde",
            "--only and --scenario say what to judge, and --show judges nothing",
        ),
        (
            "selftest histories --scenario gsde",
            "--scenario adds to the results of pairs that were judged",
        ),
        ("selftest faults --returns --framework sb3 --algorithm zzz",
         "no fault of algorithm 'zzz'"),
        ("selftest faults --returns --framework sb3 --only zzz", "unknown fault 'zzz'"),
        ("selftest faults --returns --framework sb3 --algorithm ppo --only td3_discount_0.9",
         "no fault is left of sb3, ppo, td3_discount_0.9"),
        ("selftest faults --tiers --show --draw 7",
         "--show prints all kept draws; leave out --count and --draw"),
        ("baseline record --throughput 0 --framework sb3,zzz", "no throughput is stored of 'zzz'"),
        ("baseline record --throughput 0 --algorithm ppo", "--throughput measures every algorithm"),
        ("baseline record --throughput 0 --saved installed", "store two things; give one of them"),
        ("runs status --set-aside", "only --verify takes --set-aside"),
        ("runs status --verify --watch", "two ways to read a store; give one of them"),
        ("study rank --budget tiny", "unknown budget 'tiny'"),
        ("study rank --store runs --framework zzz", "unknown framework 'zzz'"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(command, words, message):
    """An option that would have no effect is refused, and nothing is trained or printed."""
    code, out, error = command(*words.split())
    assert_one_sentence(code, error, message)
    assert out == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no trace", "it is not compressed with gzip, as traces are"),
        (gzip.compress(b"{}\n" * 9)[:-9], "it is cut off or damaged"),
        (b"", "it is cut off or damaged"),
        (gzip.compress(b"{}\n"), "'schema' is missing"),
        (gzip.compress(b"[]\n"), "expected a table"),
    ],
    ids=["text", "cut", "nothing", "empty", "list"],
)
def test_a_damaged_trace(command, tmp_path, content, message):
    """A file that is no trace says why in words, not as Python shows its error."""
    path = tmp_path / "damaged.trace"
    path.write_bytes(content)
    code, _, error = command("diff", str(path), str(path))
    assert_one_sentence(code, error, str(path), message, "; record it again")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("diff", "{folder}", "x"), "{folder} cannot be read: it is a folder, not a file"),
        (("trace", "{folder}"), "{folder} is a folder; expected a Python file"),
    ],
    ids=["diff", "trace"],
)
def test_a_folder_is_no_file(command, tmp_path, arguments, message):
    """It is said to be one."""
    code, _, error = command(*(argument.format(folder=tmp_path) for argument in arguments))
    assert_one_sentence(code, error, message.format(folder=tmp_path))


def test_traces_without_events(command, tmp_path):
    """Nothing was recorded, and two of nothing are not equal."""
    path = tmp_path / "empty.trace"
    header = {"schema": SCHEMA, "failure": "", "seeded": [], "lines": {}}
    path.write_bytes(gzip.compress(json.dumps(header).encode()))
    code, _, error = command("diff", str(path), str(path))
    assert_one_sentence(code, error, f"{path} holds no events, and nothing is compared")


def test_a_gate_without_a_default(command, copied_suite):
    """A file with another table says which one was expected, not a KeyError."""
    (copied_suite / "baselines" / "gate.toml").unlink()
    (copied_suite / "baselines" / "gate.toml").write_text("[other]\n")
    code, _, error = command("plan")
    assert_one_sentence(code, error, "gate.toml: unknown key 'other'; known: default")
    assert "KeyError" not in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("trace", "--framework", "sb3", "--algorithm", "ppo", "-o", "{file}/x"), "no folder"),
        (("trace", "--framework", "sb3", "--algorithm", "ppo", "-o", "{folder}"), "is a folder"),
        (("trace", "--framework", "sb3", "--algorithm", "ppo", "-o", "/proc/x.trace"), "/proc"),
        (("check", "--report", "{file}"), "the report cannot be written to"),
        (("upgrade", "installed", "--report", "{file}"), "the report cannot be written to"),
        (("check", "--store", "{file}"), "cannot be a folder of run records: "),
    ],
    ids=lambda value: "" if isinstance(value, str) else value[0],
)
def test_a_target_that_cannot_be_written(command, tmp_path, monkeypatch, arguments, message):
    """Where nothing can be written is said before anything is run."""
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(traces, "record_twice", _not_to_be_called)
    monkeypatch.setattr(gate_run.subprocess, "Popen", _not_to_be_called)
    places = {"file": tmp_path / "file", "folder": tmp_path}
    code, _, error = command(*(part.format(**places) for part in arguments))
    assert_one_sentence(code, error, message)


def _not_to_be_called(*_arguments, **_named):
    raise AssertionError("something was run")


def test_a_baseline_that_cannot_be_written(command, copied_suite, tmp_path, monkeypatch):
    """A recording looks at the folder of stored runs before it trains."""
    shutil.rmtree(copied_suite / "baselines" / "returns")
    (copied_suite / "baselines" / "returns").write_text("")
    monkeypatch.setattr(recording.worker_launch, "run_all", _not_to_be_called)
    code, _, error = command(
        "baseline", "record", "--framework", "sb3", "--algorithm", "ppo", "--environment",
        "Hopper-v4",
        "--store", str(tmp_path / "runs"),
    )  # fmt: skip
    assert_one_sentence(code, error, "stored runs cannot be written to")


@pytest.mark.usefixtures("uncollected_tests")
def test_a_plan_changes_no_file(command, stored, tmp_path, monkeypatch):
    """A plan names a damaged record, counts its run as not done, and leaves it where it is."""
    cell = stored.cell
    monkeypatch.setattr(Store, "path", lambda self, job: self.folder / f"{job.seed}.json")
    (tmp_path / "1000.json").write_text("{")
    code, output, error = command("plan", "--cells", cell.id, "--store", str(tmp_path))
    assert (code, error) == (0, "")
    assert f"the run record {tmp_path / '1000.json'} is damaged: expected one JSON" in output
    assert f"{cell.id}: 3 of 3 runs to do" in output
    assert [path.name for path in tmp_path.iterdir()] == ["1000.json"]


def test_the_version(command):
    """``--version`` prints the version of the suite, and those of the frameworks."""
    code, out, error = command("--version")
    assert (code, error) == (0, "")
    assert out.startswith(f"rlregress {__version__}\n")
    assert "sb3: stable-baselines3 " in out


@pytest.mark.parametrize("row", commands.ROWS, ids=lambda row: row.name)
def test_the_help_of_a_command_fits_a_screen_and_begins_with_an_example(command, row, monkeypatch):
    """Of 80 x 40 characters; it says what the exit code means."""
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = command(*row.name.split(), "--help")
    lines = out.splitlines()
    assert code == 0
    assert "xit code" in out
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert lines[2:5] == ["  Example:", "", lines[4]]
    assert lines[4].startswith(f"  rlregress {row.name}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("check", "finished trainings and traces are kept, and the same command continues from"),
        ("baseline record", "finished runs are kept, and the same command continues from there"),
        ("details --installed", "nothing is kept; start it again"),
    ],
)
def test_an_interrupt_says_what_is_kept(words, message):
    """By the command, or by the one of a group of commands."""
    assert cli._interrupted(words.split()).startswith(f"interrupted; {message}")


def test_an_interrupt_is_one_sentence(command, monkeypatch):
    """Ctrl-C ends a command with exit code 130, without a traceback."""
    monkeypatch.setattr(requested_names, "adapters", lambda *_: signal.raise_signal(signal.SIGINT))
    # a process of a parallel test run has another handler
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code, _, error = command("details", "--installed")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (code, error) == (130, "\nrlregress: interrupted; nothing is kept; start it again\n")


def pytest_with(*words):
    """What pytest ended with, beginning in the suite's folder."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
        cwd=suite.root(),
        env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures("warm_python")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "short", "--cells", "nope"], "no stored cell matches 'nope'; "),
        pytest.param(
            ["--evidence", "/proc/nowhere/x.json"],
            "the evidence cannot be written to /proc/nowhere",
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["cells", "evidence"],
)
def test_a_wrong_option_of_pytest(options, message):
    """A wrong option of the suite is one sentence of pytest, before anything is collected."""
    ended = pytest_with("tests_performance", *options)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert ended.stderr.strip().startswith(f"ERROR: {message}")
    assert len(ended.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], marks=pytest.mark.nightly),
        pytest.param(["-n", "1"], marks=pytest.mark.nightly),
        ["-n", "1", "-m", "not nightly"],
    ],
)
def test_a_file_that_is_not_there_is_named(options):
    """With workers and options that select tests as without them."""
    ended = pytest_with("tests_unit/nothing.py::test_a", "tests_unit/test_gae.py", *options)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: file or directory not found: tests_unit/nothing.py" in ended.stderr
    assert "no test is left" not in ended.stdout


@pytest.mark.usefixtures("warm_python")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["tests_unit/test_gae.py", "--detail", "gae", "--framework", "sb3", "-k", "nope"],
            "no test is left after --framework sb3, --detail gae, -k nope: none of the files named "
            "is about all of it; leave one of these options out",
        ),
        (
            ["docs"],
            "no test was collected from docs: what is named there holds none; name other files or "
            "folders, such as tests_unit",
        ),
    ],
    ids=["options", "folder"],
)
def test_a_selection_that_leaves_no_test(options, message):
    """What left nothing is named, with what to do."""
    ended = pytest_with(*options)
    assert ended.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert message in ended.stdout


@pytest.mark.parametrize(
    ("option", "given", "message"),
    [
        ("--fail-on", "nope", "--fail-on is 'nope', expected a verdict: "),
        ("--accepted", "nope.toml", "there is no file of accepted entries"),
    ],
)
def test_a_wrong_threshold_of_an_upgrade(command, tmp_path, monkeypatch, option, given, message):
    """A wrong threshold or file is named before a side is made."""
    monkeypatch.setattr(resolved, "with_versions", _not_to_be_called)
    package = frameworks.get("sb3").packages[0]
    code, _, error = command(
        "upgrade", f"{package}==0.0.1", "installed", option, given, "--report", str(tmp_path)
    )
    assert_one_sentence(code, error, message)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--algorithm", "there is no built-in training and no detail of 'nope'; known: a2c"),
        ("--scenario", "unknown scenario 'nope'; "),
    ],
)
def test_a_wrong_name_of_an_upgrade(command, tmp_path, monkeypatch, option, message):
    """A wrong algorithm or scenario is named before a side is made."""
    monkeypatch.setattr(resolved, "with_versions", _not_to_be_called)
    package = frameworks.get("sb3").packages[0]
    code, _, error = command(
        "upgrade", f"{package}==0.0.1", "installed", option, "nope", "--report", str(tmp_path)
    )
    assert_one_sentence(code, error, message)


def test_returns_too_large_to_be_compared(command, tmp_path):
    """A return whose square overflows is refused, and its run is named."""
    lines = [f"{name},X,{seed},1e200" for name in "AB" for seed in range(5)]
    (tmp_path / "runs.csv").write_text(
        "\n".join(["implementation,environment,seed,return", *lines])
    )
    code, _, error = command("study", "rank", str(tmp_path / "runs.csv"))
    assert_one_sentence(code, error, "the return 1e+200 of A on X with seed 0 is too large")


@pytest.mark.usefixtures("uncollected_tests")
def test_a_group_of_cells_that_cannot_be_tested_is_none(command, tmp_path, monkeypatch):
    """One new run beside ten rejects no cell: no gate of one run is said to see a common drop."""
    cells = [item.cell for item in baseline_runs.every() if len(item.runs) >= 10]
    with_returns_alone(cells, tmp_path / "stored", monkeypatch)
    code, out, _ = command("plan", "--framework", "sb3", "--algorithm", "ppo", "--seeds", "1")
    assert code == 0
    (line,) = [line for line in out.splitlines() if "its cells together" in line]
    assert line.split()[-1] == "none"


def test_an_algorithm_that_one_framework_does_not_have_is_not_compared(command):
    """No training is spoken of."""
    pytest.importorskip("sb3_contrib")
    code, _, error = command("compare", "contrib", "sb3", "--algorithm", "td3")
    assert_one_sentence(code, error, "of SB3-Contrib no details of 'td3' are checked; compare")


def test_draws_that_are_kept_are_shown_by_framework(command):
    """Draws of other frameworks are not listed."""
    _, shown, _ = command("selftest", "faults", "--tiers", "--show", "--framework", "torchrl")
    assert "| torchrl " in shown
    assert "| sb3 " not in shown
