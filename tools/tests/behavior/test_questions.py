"""Which tests of behaviour answer a question, and which of them run at every commit."""

from __future__ import annotations

import subprocess

import pytest

from rlregress import frameworks, suite
from rlregress.catalogue import registry
from rlregress.errors import UserError
from tests_behavior import conftest, every_commit, questions
from tests_behavior.questions import expect_answer

#: what frameworks train, DQN and DDPG without cells, and all of one that extends another
ALL_ALGORITHMS = {
    f"{name}-{kind}"
    for name in ("sb3", "torchrl", "cleanrl", "skrl")
    for kind in ("ppo", "sac", "td3", "dqn", "ddpg")
} | {"rsl_rl-ppo", "contrib-ppo", "contrib-sac", "contrib-dqn"}

GOOD = """
a.b:
  asks: Is it so?
  tests: [test_x.py::test_y]
  handled: [one-ppo]
  deviations: [{of: [two-ppo], does: otherwise, says: found two, link: "https://example.org/1"}]
  not_applicable: [{of: [three-ppo], why: it has none}]
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a file of questions that is read in the place of the suite's own."""
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)
    (tmp_path / "behavior").mkdir()

    def write(text: str) -> None:
        (tmp_path / "behavior" / "questions.yaml").write_text(text)

    return write


def test_every_algorithm_is_answered_once():
    """Every question names tests that there are."""
    for id, question in questions.load_questions().items():
        assert sorted(name for name, _ in question.list_answers()) == sorted(ALL_ALGORITHMS), id
    details = {detail.id for detail in registry.list_details()}
    for id, question in questions.load_questions().items():
        for name in question.tests:
            file, _, function = name.partition("::")
            if not function:
                assert name in details, id
                continue
            text = (suite.find_suite_root() / "tests_behavior" / file).read_text("utf-8")
            assert f"\ndef {function}(" in text, id


def test_a_deviation_in_one_case_has_to_hold_in_others(written):
    """A question with a deviation in one case has to hold in every other case."""
    written(GOOD.replace("says: found two,", "says: found two, cases: [late],"))
    with expect_answer("a.b", "two", "ppo", "early"):
        pass
    for case, failure in (("late", "another"), ("early", "found two")):
        asked = expect_answer("a.b", "two", "ppo", case)
        with pytest.raises(AssertionError, match=failure), asked:
            raise AssertionError(failure)
    with expect_answer("a.b", "two", "ppo", "late"):
        raise AssertionError("found two")


def test_a_handled_question_has_to_hold(written):
    """One that does not apply is skipped."""
    written(GOOD)
    with expect_answer("a.b", "one", "ppo"):
        pass
    with pytest.raises(AssertionError, match="found two"), expect_answer("a.b", "one", "ppo"):
        raise AssertionError("found two")
    written(GOOD)
    skipped = pytest.raises(pytest.skip.Exception, match="a.b: it has none")
    with skipped, expect_answer("a.b", "three", "ppo"):
        pass


def test_a_deviation_has_to_be_the_documented_one(written):
    """A deviation passes with its documented words; other words, or none, fail."""
    written(GOOD)
    with expect_answer("a.b", "two", "ppo"):
        raise AssertionError("expected one, found two")
    with pytest.raises(AssertionError, match="found 3"), expect_answer("a.b", "two", "ppo"):
        raise AssertionError("expected one, found 3")
    gone = pytest.raises(AssertionError, match="documented to deviate .* move it to handled")
    with gone, expect_answer("a.b", "two", "ppo"):
        pass


@pytest.mark.parametrize(
    ("question", "name", "message"),
    [
        ("a.c", "one", "there is no question 'a.c'; did you mean 'a.b'"),
        ("a.b", "four", "a.b says nothing of four-ppo; expected it in handled, in deviations or"),
    ],
)
def test_an_unknown_question_or_algorithm_is_named(written, question, name, message):
    """A question or an algorithm that the file lacks is an error with the nearest name."""
    written(GOOD)
    with pytest.raises(UserError) as error, expect_answer(question, name, "ppo"):
        pass
    assert message in str(error.value)


ALL_FRAMEWORKS = frozenset(frameworks.list_framework_names())


@pytest.fixture
def git(tmp_path):
    """Run git in a folder."""

    def run(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    return run


@pytest.fixture
def touched(tmp_path):
    """Return a function that returns the touched frameworks of a folder, as they are now."""

    def touched():
        every_commit.find_touched_frameworks.cache_clear()
        return every_commit.find_touched_frameworks(tmp_path)

    return touched


def test_paths_of_a_framework_touch_it(tmp_path, git, touched):
    """An edit, a new file and the last commit touch the frameworks that their paths name."""
    stored, base, details = (tmp_path / name for name in (
        "returns/skrl-ppo-Reacher-v4-short.toml", "frameworks/base.py", "details/rsl_rl/ppo.toml"
    ))  # fmt: skip
    for path in (stored, base, details):
        path.parent.mkdir(parents=True)
    stored.touch()
    git("init")
    git("add", ".")
    for message in ("before all", "the last"):
        git("commit", "--allow-empty", "-m", message)
    assert touched() == set()
    stored.write_text("edited")
    base.touch()
    assert touched() == {"skrl"}
    details.touch()
    assert touched() == {"skrl", "rsl_rl"}
    git("add", ".")
    git("commit", "-m", "all of them")
    assert touched() == {"skrl", "rsl_rl"}
    git("commit", "--allow-empty", "-m", "nothing")
    assert touched() == set()


def test_every_commit_that_upstream_lacks_is_compared(tmp_path, git, touched):
    """Frameworks of unpushed commits count as touched; after a push only the last commit counts."""
    git("init", "-b", "work")
    git("commit", "--allow-empty", "-m", "before all")
    git("branch", "upstream")
    git("branch", "--set-upstream-to", "upstream")
    for framework in ("skrl", "rsl_rl"):
        (tmp_path / framework).touch()
        git("add", ".")
        git("commit", "-m", framework)
    assert touched() == {"skrl", "rsl_rl"}
    git("branch", "--force", "upstream", "work")
    assert touched() == {"rsl_rl"}


def test_without_git_history_every_framework_counts_as_touched(git, touched):
    """Outside of a checkout, and at the first commit, every framework counts as touched."""
    assert touched() == ALL_FRAMEWORKS
    git("init")
    assert touched() == ALL_FRAMEWORKS


@pytest.mark.parametrize(
    ("touched", "at_commit"),
    [
        (set(), {"sb3-ppo", "sb3-td3", "torchrl-ppo"}),
        ({"skrl"}, {"sb3-ppo", "sb3-td3", "torchrl-ppo", "skrl-ppo", "skrl-td3"}),
        ({"torchrl"}, {"sb3-ppo", "sb3-td3", "torchrl-ppo", "torchrl-td3"}),
    ],
)
def test_a_commit_tests_two_frameworks_and_touched_ones(monkeypatch, touched, at_commit):
    """A framework that a commit touches is shown with all algorithms, others for the night."""
    monkeypatch.setattr(every_commit, "find_touched_frameworks", lambda _: touched)
    shown = {
        f"{framework}-{algorithm}"
        for framework in ALL_FRAMEWORKS
        for algorithm in ("ppo", "td3")
        if not conftest._is_nightly("test_segments.py", framework, algorithm, "")
    }
    assert shown == at_commit


def test_no_test_of_a_check_waits_for_the_night():
    """A user's check runs all tests; each has run at every commit before, if not in all cases."""
    files = [*suite.find_suite_root().glob("tests_[ub]*/test_*.py")]
    assert len(files) > 20
    decorators = "@pytest.mark.nightly\n", "pytestmark = pytest.mark.nightly\n"
    assert [file.name for file in files if any(d in file.read_text() for d in decorators)] == []
