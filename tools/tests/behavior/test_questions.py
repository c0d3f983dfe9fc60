"""The questions of ``tests_behavior``: complete, asked by tests that exist, printed as a page."""

from __future__ import annotations

import pytest

from rlregress import suite
from rlregress.catalogue import registry
from rlregress.errors import UserError
from tests_behavior import questions
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
    """Each framework's algorithms stand once under every question."""
    for id, question in questions.load_questions().items():
        assert sorted(name for name, _ in question.list_answers()) == sorted(ALL_ALGORITHMS), id


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


def test_every_question_names_existing_tests():
    """Tests named are functions of ``tests_behavior``, or details of the catalogue."""
    details = {detail.id for detail in registry.list_details()}
    for id, question in questions.load_questions().items():
        for name in question.tests:
            file, _, function = name.partition("::")
            if not function:
                assert name in details, id
                continue
            text = (suite.find_suite_root() / "tests_behavior" / file).read_text("utf-8")
            assert f"\ndef {function}(" in text, id


def test_a_handled_question_has_to_hold(written):
    """An assertion that fails is raised as it is, and one that holds is let through."""
    written(GOOD)
    with expect_answer("a.b", "one", "ppo"):
        pass
    with pytest.raises(AssertionError, match="found two"), expect_answer("a.b", "one", "ppo"):
        raise AssertionError("found two")


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


def test_a_question_that_does_not_apply_is_skipped(written):
    """The reason stands in the report of the test."""
    written(GOOD)
    skipped = pytest.raises(pytest.skip.Exception, match="a.b: it has none")
    with skipped, expect_answer("a.b", "three", "ppo"):
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
