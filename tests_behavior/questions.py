"""The questions to each algorithm, and the documented answers.

``baselines/behavior/questions.yaml`` says of each question for which algorithms it is handled,
which deviate knowingly, and to which it does not apply. ``python -m tests_behavior.questions``
prints the table of it, which is a page of the site.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import Field

from rlregress import datafiles, suite
from rlregress.datafiles import Text
from rlregress.errors import UserError, suggest_names


@dataclass(frozen=True)
class Deviation:
    """A documented deviation of algorithms.

    Attributes:
        of: "framework-algorithm".
        does: what, and where in the code.
        says: a part of what the failing assertion says; empty if the test states it in its own way.
        link: to an issue, a discussion or a source that knows of it.
        cases: of a test, in which they do so; empty: in all.
    """

    of: Annotated[tuple[Text, ...], Field(min_length=1)]
    does: Text
    says: str = ""
    link: str = ""
    cases: tuple[Text, ...] = ()


@dataclass(frozen=True)
class NotApplicable:
    """Algorithms of which a question cannot be asked, and why."""

    of: Annotated[tuple[Text, ...], Field(min_length=1)]
    why: Text


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        asks: in words.
        tests: that ask it, "file::function", below ``tests_behavior``; or details of the catalogue.
        handled: "framework-algorithm" of each that does what is asked.
    """

    asks: Text
    tests: Annotated[tuple[Text, ...], Field(min_length=1)]
    handled: tuple[Text, ...] = ()
    deviations: tuple[Deviation, ...] = ()
    not_applicable: tuple[NotApplicable, ...] = ()

    def list_answers(self) -> Iterator[tuple[str, Deviation | NotApplicable | None]]:
        """Yield ("framework-algorithm", why it is not handled or None), as the file orders them."""
        yield from ((name, None) for name in self.handled)
        reasons: tuple[Deviation | NotApplicable, ...] = (*self.deviations, *self.not_applicable)
        for reason in reasons:
            yield from ((name, reason) for name in reason.of)


def load_questions() -> Mapping[str, Question]:
    """Return the questions by id; UserError names file and key of a mistake."""
    path = suite.locate_baselines() / "behavior" / "questions.yaml"
    questions: Mapping[str, Question] = datafiles.read_data_file_cached(
        path, Mapping[str, Question]
    )
    return questions


@contextmanager
def expect_answer(
    question: str, framework: str, algorithm: str, case: str = ""
) -> Iterator[Deviation | None]:
    """Run the block as a test of a question: it passes, deviates as documented, or is skipped.

    The block gets the documented deviation, if there is one. It must fail with the documented
    words; otherwise the test fails.
    """
    __tracebackhide__ = True
    questions = load_questions()
    if question not in questions:
        raise UserError(f"there is no question '{question}'; {suggest_names(question, questions)}")
    answers = dict(questions[question].list_answers())
    name = f"{framework}-{algorithm}"
    if name not in answers:
        raise UserError(
            f"questions.yaml: {question} says nothing of {name}; expected it in handled, in "
            "deviations or in not_applicable"
        )
    answer = answers[name]
    if isinstance(answer, NotApplicable):
        pytest.skip(f"{question}: {answer.why}")
    if answer is not None and answer.cases and case not in answer.cases:
        answer = None
    try:
        yield answer
    except AssertionError as error:
        if answer is None or not answer.says or answer.says not in str(error):
            raise
        return
    if answer is not None and answer.says:
        raise AssertionError(
            f"{name}: {question} is documented to deviate ({answer.does}), found as asked; move it "
            "to handled"
        )


_MARKS = {type(None): "handled", Deviation: "deviates", NotApplicable: "—"}


def _format_table_head(names: list[str]) -> list[str]:
    return [
        f"| question | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
    ]


def format_page() -> str:
    """Return the page of all questions and answers, as Markdown."""
    questions = load_questions()
    names = sorted({name for question in questions.values() for name, _ in question.list_answers()})
    lines = [
        "# Behaviour, question by question",
        "",
        "Each question is put to every algorithm by tests on toy environments. The table has the",
        "answers, the sections below the tests and the reasons.",
        "",
        "- *handled*: the tests and details named below pass on the versions under test.",
        "- *deviates*: the framework is known to do otherwise. A test fails if it no longer does.",
        "- —: the question does not apply.",
        "",
        "`python -m tests_behavior.questions` prints this page from",
        "`baselines/behavior/questions.yaml`.",
        "",
        *_format_table_head(names),
    ]
    for id, question in questions.items():
        answers = dict(question.list_answers())
        marks = [f"{_MARKS[type(answers.get(name))]}" if name in answers else "" for name in names]
        lines.append(f"| [{id}](#{id.replace('.', '')}) | {' | '.join(marks)} |")
    for id, question in questions.items():
        lines += ["", f"## {id}", "", question.asks, ""]
        lines += [f"- checked by `{test}`" for test in question.tests]
        for deviation in question.deviations:
            link = f" ([known]({deviation.link}))" if deviation.link else ""
            lines.append(f"- **deviates**: {', '.join(deviation.of)}: {deviation.does}{link}")
        lines += [
            f"- —: {', '.join(reason.of)}: {reason.why}" for reason in question.not_applicable
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(format_page(), end="")
