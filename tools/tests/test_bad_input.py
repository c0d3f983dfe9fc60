"""Bad input is answered with one clear sentence and exit code 2, never with a traceback."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
from types import SimpleNamespace

import pytest

from rlregress import __version__, frameworks, pytest_plugin, suite
from rlregress.catalogue import registry, requested_names
from rlregress.check import baseline_runs, recording
from rlregress.cli import commands
from rlregress.cli.parsing import LazyCommand
from rlregress.errors import UserError, refuse_empty_or_repeated_values
from rlregress.pytest_plugin import suite_options
from rlregress.training.cell import Cell
from rlregress.training.store import Store
from tools.tests.check.stored import copy_baselines, edited_baseline
from tools.tests.nightly import every
from tools.tests.processes import run_pytest
from tools.tests.small_files import write_files, write_metadata
from tools.tests.training.test_records import content

ADAPTER = """
from rlregress.frameworks.base import Adapter, Framework

ADAPTER = Adapter(
    "absent", __name__, Framework("Absent", ("a-package-nobody-installs",), algorithms=("ppo",))
)
"""


HOPPER = "--algorithm ppo --environment Hopper-v4"
CELL = Cell("sb3", "ppo", "Hopper-v4", "sb3", "short")


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
def stored(tmp_path, monkeypatch):
    """Return the file of the stored runs of a cell, of which there is a copy and no other file."""
    copy_baselines([CELL], tmp_path / "returns", monkeypatch)
    return baseline_runs.locate_baseline(CELL)


#: a command line -> what its one sentence says.
WRONG: list[tuple[str | list[str], *tuple[str, ...]]] = [
    # names: beside the nearest or the known ones
    ("check --framework sb33", "unknown framework 'sb33'", *frameworks.list_framework_names()),
    ("check --budget shrt", "unknown budget 'shrt'", "did you mean 'short'?", "full"),
    ("check --budget smoke --environment Hoper-v4", "unknown environment 'Hoper-v4'"),
    ("plan --algorithm zzz", "unknown algorithm 'zzz' of ", "; known: ppo, sac, td3"),
    ("check --hyperparameters orignal", "unknown hyperparameter set 'orignal'", "mean 'original'?"),
    ("plan --cells *-Humanoid-v4-*", "no stored cell matches '*-Humanoid-v4-*'"),
    (["check", "--cells", "sb3-ppo-Hopper-v4-short, none"], "no stored cell matches 'none'"),
    # what is suggested is of the framework that was named
    ("plan --framework sb3 --cells cleanrl-ppo-Reacher-v5",
     "no stored cell matches 'cleanrl-ppo-Reacher-v5'; did you mean 'sb3-"),
    ("check --inconclusive maybe", "'maybe'", "pass or fail"),
    (["plan", "--algorithm", " , "], "--algorithm names nothing; expected names"),
    (["plan", "--store", os.fsdecode(b"\xff")], "is not UTF-8"),
    ("details zzz", "unknown detail 'zzz'; ", " are known, such as '",
     "(rlregress details lists the families)"),
    ("details --installed --framework sb3 --detail gae.kernel",
     "no installed framework has any of these details: "),
    ("check --cells thesis --algorithm ppo,foo", "unknown algorithm 'foo'"),
    ("compare sb3 torchrl --algorithm trpo", "unknown algorithm 'trpo'; known: "),
    ("compare sb3 torchrl --algorithm ppo --detail sac", "have no probe of a detail", "others"),
    ("study rank --store runs --framework zzz", "unknown framework 'zzz'"),
    *((f"selftest faults {option} --only nope", "unknown fault 'nope'; ", " are known, such as '")
      for option in ("", "--traced", "--optional")),
    ("selftest faults --returns --framework sb3 --only zzz", "unknown fault 'zzz'"),
    ("baseline record --throughput 0 --framework sb3,zzz", "no throughput of 'zzz' is stored"),
    # runs that cannot be trained, or are not stored
    ("plan --cells all --hyperparameters original",
     "no stored cell of budget 'short' remains after --framework"),
    (f"baseline record --framework sb3@2.8.0 {HOPPER}",
     "--framework is 'sb3@2.8.0'", "expected 'sb3'"),
    ("plan --framework sb3 --algorithm sac --environment CartPole-v1",
     "CartPole-v1 takes actions of Discrete(2)", "continuous"),
    ("plan --framework sb3 --algorithm ppo --environment Pusher-v4",
     "no stored runs of", "rlregress baseline record --framework"),
    ("plan --framework sb3 --algorithm dqn", "is traced, and not trained for its returns",
     "rlregress trace --framework sb3 --algorithm dqn", "ppo, sac, td3"),
    # of several frameworks that none trains, whatever chooses the cells
    ("plan --algorithm dqn --budget smoke", "Stable-Baselines3", "is traced, and not trained"),
    # numbers and days
    *((f"plan --must-detect {share}", f"--must-detect is '{share}', expected a share up to 100%")
      for share in ("much", "0", "120%", "nan")),
    ("plan --must-detect 5%", "--must-detect is 5%, expected more than 5%: no gate calls a"),
    ("check --seeds 100000", "--seeds is 100000, expected 1 to 1000 new runs of each cell"),
    *((f"check --first-seed {seed}", f"--first-seed is {seed}, expected 1000 to 2000000000")
      for seed in (5, 202611252300)),
    *((f"check --alpha {value}", f"--alpha is {value}, expected a probability between 0 and 1")
      for value in ("0.0", "nan")),
    *((f"baseline record --framework sb3 {HOPPER} --seeds {number}",
       f"--seeds is {number}, expected 2 to 1000 stored runs") for number in (1, 100000)),
    *((f"trend . --since {day}", f"--since is '{day}', expected a date as in 2026-01-31")
      for day in ("0000-00-00", "2026-02-30", "yesterday", "2026-1-1")),
    # options that would have no effect
    ("check --no-returns", "rlregress check takes no --no-returns; 'rlregress upgrade' does"),
    ("check --trace-all", "takes no --trace-all; 'rlregress upgrade' does"),
    ("check --script train.py", "rlregress check takes no --script; rlregress upgrade, rlregress "
     "bisect and rlregress diff do"),
    ("upgrade installed --cells all", "rlregress upgrade takes no --cells; "),
    ("upgrade stable-baselines3==0.0.1 installed --fail-on nope",
     "--fail-on is 'nope', expected a verdict: "),
    ("upgrade stable-baselines3==0.0.1 installed --accepted nope",
     "there is no file of accepted entries"),
    ("upgrade stable-baselines3==0.0.1 installed --algorithm nope",
     "there is no built-in training and no detail of 'nope'; known: a2c"),
    ("upgrade stable-baselines3==0.0.1 installed --scenario nope", "unknown scenario 'nope'; "),
    ("upgrade installed --framework", "Option '--framework' requires an argument"),
    ("check --cells=", "--cells is empty; expected a value"),
    ("upgrade installed -- --seed 1", "'--seed 1' would be arguments of a script"),
    ("check --no-such", "No such option: --no-such; see rlregress check --help"),
    ("check train.py", "unexpected extra argument(s) (train.py); see rlregress check --help"),
    ("check --budget smoke --cells all", "--cells chooses among stored runs"),
    ("check --cells all --environment Hopper-v4", "give one of them"),
    ("trace --framework sb3", "--algorithm is missing; expected one of sb3: a2c, ddpg"),
    ("compare sb3 torchrl --json --markdown", "--markdown and --json are two formats"),
    ("selftest histories --show --only 2.0.0",
     "--only and --scenario select pairs to judge, and --show judges nothing"),
    ("selftest histories --scenario gsde",
     "--scenario adds to the results of judged pairs"),
    ("selftest faults --returns --framework sb3 --algorithm zzz", "no fault of algorithm 'zzz'"),
    ("selftest faults --returns --framework sb3 --algorithm ppo --only td3_discount_0.9",
     "no fault fits all of sb3, ppo, td3_discount_0.9"),
    ("selftest faults --tiers --show --draw 7",
     "--show prints all stored draws; leave out --count and --draw"),
    ("baseline record --throughput 0 --algorithm ppo", "--throughput measures every algorithm"),
    ("baseline record --throughput 0 --saved installed", "store different data; give one of them"),
    ("baseline record --saved installed --framework sb3", "leave out --framework"),
    ("baseline record --saved nothing==1.0", "concerns no framework"),
    ("baseline record --framework sb3 --algorithm ppo", "--environment is missing"),
    *((f"bisect sb3==2.7.0 sb3==2.8.0 {words}", part) for words, part in (
        ("", "expected one of"), ("--detail a --name b", "found 2"),
        ("--name b --scenario c", "--scenario needs an algorithm"),
        ("--name b --first-parent", "--first-parent applies to commits"),
        ("--name b --repo . --all", "leave one out"),
        ("--name b --repo nowhere", "which is no folder"),
        ("--name b --steps 3", "--package and --steps apply to a script"))),
    ("upgrade sb3==2.7.0 --steps 3", "--package and --steps apply to a script"),
    ("runs status --set-aside", "only --verify takes --set-aside"),
    ("runs status --verify --watch", "two ways to read a store; give one of them"),
    ("runs launch --with installed --budget smoke",
     "--with is 'installed', and that is installed; leave it out"),
    ("runs launch --with requests==2.0.0 --budget smoke", "concerns no framework known here"),
    ("runs launch --local --slurm", "--local and --slurm both do the runs"),
    ("runs launch --dry-run", "only --slurm takes --dry-run"),
    ("runs launch --local --max 3", "only --slurm takes --max"),
    ("runs launch --slurm -j 3", "only --local takes -j"),
    ("runs launch --local --wait", "only --waves takes --wait"),
    ("runs launch --waves",
     "--waves starts training runs; choose where they run with --local or --slurm"),
    ("runs launch --waves --local --manifest x", "does not take --manifest"),
    ("runs launch --waves --local --inconclusive x", "expected code, pass or fail"),
    ("runs launch --waves --local --first-seed 3", "--first-seed is 3, expected 1000"),
    ("runs launch --manifest x --cells all", "does not take --cells"),
    ("runs launch --seeds 2000", "--seeds is 2000, expected up to 1000"),
    *((f"runs launch --first-seed {seed}", "expected 0 to 2000000000")
      for seed in (-1, 202611252300)),
    # files that cannot be read
    ("runs launch --slurm --before /none", "--before is '/none', which cannot be read"),
    ("runs run --manifest /none --index 0", "the manifest /none cannot be read"),
    ("runs status --manifest /dev/zero --store /", "it is a device, not a file"),
    *((f"runs {words}", "there is no folder /none") for words in (
        "status --store /none", "status --verify --store /none", "status --watch --store /none",
        "merge /none -o /tmp/x")),
]  # fmt: skip


#: of a framework that is not trained nothing is advised that cannot be done
CONTRIB_WRONG: list[tuple[str, *tuple[str, ...]]] = [
    ("plan --framework contrib", "no training for returns is defined", "--framework contrib"),
    ("plan --framework contrib --algorithm sac",
     "'sac' of SB3-Contrib is tested for its behaviour, and not"),
    ("plan --framework contrib --algorithm td3",
     "unknown algorithm 'td3' of SB3-Contrib; known: dqn, ppo, sac"),
    ("compare contrib sb3 --algorithm td3",
     "no details of 'td3' are checked in SB3-Contrib; compare"),
]  # fmt: skip
if importlib.util.find_spec("sb3_contrib"):
    WRONG += CONTRIB_WRONG


def _first_word(words):
    return words.split()[0] if isinstance(words, str) else words[0]


@pytest.mark.parametrize("name", sorted({_first_word(words) for words, *_ in WRONG}))
def test_a_wrong_command_line_is_one_sentence(command, name):
    """The sentence names the wrong word and the known ones; nothing is printed or started."""
    for words, *parts in WRONG:
        if _first_word(words) == name:
            code, out, error = command(*(words.split() if isinstance(words, str) else words))
            assert_one_sentence(code, error, *parts)
            assert out == "", words


def test_baseline_of_another_budget(command, stored):
    """Stored runs of another length than the budget's are refused, with both lengths."""
    steps = baseline_runs.load_baseline(stored).protocol.total_steps
    with edited_baseline(CELL) as content:
        content["protocol"]["total_steps"] += 7
    code, _, error = command("plan", "--cells", CELL.id)
    assert_one_sentence(code, error, stored.name, str(steps), str(steps + 7), "record it again")


@pytest.mark.parametrize(
    ("damage", "message"),
    [(lambda text: text.replace('algorithm = "', 'algorithm = "x', 1), "expected the cell"),
     (lambda text: text[: text.rindex("[[run]]")], "distinct"),
     (lambda text: text.replace("seed = 1\n", "seed = 0\n", 1), "distinct")],
    ids=["cell", "run", "twice"],
)  # fmt: skip
def test_damaged_stored_runs(stored, damage, message):
    """A damaged file of stored runs is named with its error."""
    stored.write_text(damage(stored.read_text()))
    with pytest.raises(UserError, match=f"{stored.name}.*{re.escape(message)}"):
        baseline_runs.load_baseline(stored)


def test_a_recording_of_which_every_run_failed_stores_nothing(
    command, stored, tmp_path, monkeypatch
):
    """Why they failed is said, good runs are not replaced by them, and the exit code is 2."""

    failed = {"status": "failed", "failure": "Traceback\nRuntimeError: no such space",
              "final_return": None, "curve": [], "episode_returns": []}  # fmt: skip

    def failing(queue, store, workers, on_done):
        for job in queue:
            store.put_record_of_attempt(job, {**content(job), **failed}, "attempt")

    monkeypatch.setattr(recording.worker_launch, "do_runs_in_order", failing)
    before = stored.read_text()
    words = f"baseline record --framework sb3 {HOPPER} --seeds 2 --replace --store".split()
    code, out, error = command(*words, str(tmp_path / "runs"))
    assert_one_sentence(code, error, "all runs of sb3-ppo-Hopper-v4-short failed")
    assert "seed 1 of sb3-ppo-Hopper-v4-short failed: RuntimeError: no such space" in out
    assert stored.read_text() == before


@pytest.mark.parametrize(
    ("text", "parts"),
    [('[default]\ncells = ["nobody-ppo-Hopper-v4-short"]\n',
      ("gate.toml", "nobody-ppo-Hopper-v4-short", "no stored runs")),
     ("[other]\n", ("gate.toml: unknown key 'other'; known: default",))],
    ids=["cell", "table"],
)  # fmt: skip
def test_a_default_cell_without_stored_runs(command, tmp_path, monkeypatch, text, parts):
    """A cell that gate.toml names and that is not stored is named, not dropped; no default, too."""
    for path in suite.locate_baselines().iterdir():
        if path.name != "gate.toml":
            (tmp_path / path.name).symlink_to(path)
    write_files(tmp_path, {"gate.toml": text})
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)
    code, _, error = command("plan")
    assert_one_sentence(code, error, *parts)


def test_missing_package(command, tmp_path, monkeypatch):
    """A framework whose package is not installed says which one, and how to install it."""
    write_files(tmp_path, {"absent_adapter.py": ADAPTER})
    points = "[rlregress.frameworks]\nabsent = absent_adapter:ADAPTER\n"
    write_files(write_metadata(tmp_path, "absent-adapter", "1.0"), {"entry_points.txt": points})
    monkeypatch.syspath_prepend(tmp_path)
    code, _, error = command("check", "--framework", "absent")
    assert_one_sentence(code, error, "a-package-nobody-installs", "pip install")


def test_an_empty_value_is_an_error():
    """No option and no argument takes one: it would mean everything, or the working folder."""
    for empty in ("", " ", "\t"):
        for words in (["--cells", empty], [f"--cells={empty}"], ["x", "--cells", empty, "x"]):
            with pytest.raises(UserError, match="^--cells is empty; expected a value"):
                refuse_empty_or_repeated_values(words)
        for row in commands.ROWS:
            with pytest.raises(UserError, match="^an argument is empty; expected a value"):
                LazyCommand(row).load_command().make_context(row.name, ["x", empty])
    refuse_empty_or_repeated_values(["train.py", "--", "--name", ""])


def test_an_option_that_is_given_twice_is_an_error():
    """No option of a command, and none of pytest that names something, forgets a value."""
    for row in commands.ROWS:
        loaded = LazyCommand(row).load_command()
        for parameter in [] if row.raw else loaded.params:
            option, is_flag = parameter.opts[-1], getattr(parameter, "is_flag", False)
            if option.startswith("-") and not parameter.multiple and option != "--help":
                words = [option] if is_flag else [option, "x"]
                with pytest.raises(UserError, match=f"^{option} is given twice"):
                    loaded.make_context(row.name, [*words, *words])
    for option in suite_options.NAMING:
        for words in ([option, "a", option, "b"], [f"{option}=a", f"{option}=b"]):
            with pytest.raises(UserError, match=f"^{option} is given twice"):
                refuse_empty_or_repeated_values(words, suite_options.NAMING)


@pytest.mark.parametrize(
    ("words", "shown", "hidden"),
    [
        ("sac.critic_loss", "sac.critic_loss.scale", "ppo."),
        # a detail, and the beginning of others: it is shown in full
        (
            "ppo.value_clip",
            registry.get_detail("ppo.value_clip").question[:30],
            "ppo.value_clip.range",
        ),
        # words that are no id are looked for in questions, sources and variants, in any case
        ("HALVED", "sac.critic_loss.scale", "atari."),
        ("box 6", "sac.critic_loss.scale", "atari."),
        ("--installed --framework sb3 --detail sac.critic_loss", "sac.critic_loss.scale",
         "sac.actor"),
    ],
)  # fmt: skip
def test_details_are_found(command, words, shown, hidden):
    """A family, a detail, or words of a text select details."""
    arguments = [words] if words == "box 6" else words.split()
    code, output, error = command("details", *arguments)
    assert (code, error) == (0, "")
    assert shown in output
    assert hidden not in output


def _not_to_be_called(*_arguments, **_named):
    raise AssertionError("something was run")


def test_a_baseline_that_cannot_be_written(command, tmp_path, monkeypatch):
    """A recording looks at the folder of stored runs before it trains."""
    (tmp_path / "returns").write_text("")
    monkeypatch.setattr(baseline_runs, "locate_returns_folder", lambda: tmp_path / "returns")
    monkeypatch.setattr(recording.worker_launch, "do_runs_in_order", _not_to_be_called)
    words = f"baseline record --framework sb3 {HOPPER} --store".split()
    code, _, error = command(*words, str(tmp_path / "runs"))
    assert_one_sentence(code, error, "stored runs cannot be written to")


@pytest.mark.usefixtures("uncollected_tests")
def test_a_plan_changes_no_file(command, tmp_path, monkeypatch):
    """A plan names a damaged record, counts its run as not done, and leaves it where it is."""
    monkeypatch.setattr(Store, "locate_record", lambda self, job: self.folder / f"{job.seed}.json")
    (tmp_path / "1000.json").write_text("{")
    code, output, error = command("plan", "--cells", CELL.id, "--store", str(tmp_path))
    assert (code, error) == (0, "")
    assert f"the run record {tmp_path / '1000.json'} is damaged: expected one JSON" in output
    assert f"{CELL.id}: 3 of 3 runs to do" in output
    assert [path.name for path in tmp_path.iterdir()] == ["1000.json"]


def test_the_version(command):
    """``--version`` prints the version of the suite, and those of the frameworks."""
    code, out, error = command("--version")
    assert (code, error) == (0, "")
    assert out.startswith(f"rlregress {__version__}\n")
    assert "sb3: stable-baselines3 " in out


def test_the_help_of_a_command_fits_a_screen_and_begins_with_an_example(command, monkeypatch):
    """The help fits into 80 x 40 characters and explains the exit code."""
    monkeypatch.setenv("COLUMNS", "80")
    for row in commands.ROWS:
        code, out, _ = command(*row.name.split(), "--help")
        lines = out.splitlines()
        assert (code, "xit code" in out) == (0, True), row.name
        assert (len(lines) <= 40, max(map(len, lines)) <= 80) == (True, True), row.name
        assert lines[2:5] == ["  Example:", "", lines[4]]
        assert lines[4].startswith(f"  rlregress {row.name}")


def test_an_interrupt_is_one_sentence(command, monkeypatch):
    """Ctrl-C ends a command with exit code 130, without a traceback."""
    interrupt = lambda *_: signal.raise_signal(signal.SIGINT)  # noqa: E731
    monkeypatch.setattr(requested_names, "select_adapters", interrupt)
    # a process of a parallel test run has another handler
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code, _, error = command("details", "--installed")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (code, error) == (130, "\nrlregress: interrupted; nothing is stored; start it again\n")


@pytest.mark.usefixtures("warm_python")
@pytest.mark.parametrize(
    ("options", "message"),
    every(2, [(["--budget", "short", "--cells", "nope"], "no stored cell matches 'nope'; "),
              (["--evidence", "/proc/nowhere/x.json"],
               "the evidence cannot be written to /proc/nowhere")]),
)  # fmt: skip
def test_a_wrong_option_of_pytest(options, message):
    """A wrong option of the suite is one sentence of pytest, before anything is collected."""
    process = run_pytest("tests_performance", *options, code=pytest.ExitCode.USAGE_ERROR)
    assert process.stderr.strip().startswith(f"ERROR: {message}")
    assert len(process.stderr.strip().splitlines()) == 1


def test_a_file_that_is_not_there_is_named():
    """A missing file is named, beside one that is there."""
    config = SimpleNamespace(
        args=["tests_unit/test_gae.py", "tests_unit/nothing.py::test_a"],
        getoption=lambda name: False,
        invocation_params=SimpleNamespace(dir=suite.find_suite_root()),
    )
    with pytest.raises(UserError, match="^file or directory not found: tests_unit/nothing.py$"):
        pytest_plugin._check_paths_exist(config)
