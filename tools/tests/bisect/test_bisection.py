"""The searches, on histories that are made up."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from rlregress.bisect import bisection
from rlregress.bisect.bisection import NEW, OLD, SKIPPED, Step


@given(fault=st.integers(1, 199), broken=st.sets(st.integers(1, 198)))
@example(fault=77, broken=set())
def test_the_first_new_of_a_list_is_found_and_what_is_skipped_makes_a_range(fault, broken):
    """The answer is the smallest range that what could be checked allows; none is asked twice."""
    asked = []

    def check(n):
        asked.append(n)
        return SKIPPED if n in broken else NEW if n >= fault else OLD

    step = bisection.find_first_new_version(bisection.link_versions_in_line(200), check)
    first = next(n for n in range(fault, 200) if n not in broken)
    last = next(n for n in range(fault - 1, -1, -1) if n not in broken)
    assert step == Step(last, first, tuple(range(last + 1, first)))
    assert len(asked) == len(set(asked))
    assert len(asked) <= 8 or broken


@st.composite
def histories(draw):
    """Parents of versions, with merges; all of them descend from the first."""
    count = draw(st.integers(2, 25))
    parents = [()]
    for number in range(1, count):
        older = st.integers(max(0, number - 4), number - 1)
        parents.append(tuple(draw(st.lists(older, min_size=1, max_size=2, unique=True))))
    return parents


@given(parents=histories(), data=st.data())
def test_a_fault_in_a_history_with_merges_is_found(parents, data):
    """The first version that has the fault is named, on whichever branch it came."""
    fault = data.draw(st.integers(1, len(parents) - 1))
    descends = {fault}
    for number in range(fault + 1, len(parents)):
        if descends & set(parents[number]):
            descends.add(number)
    ends = [n for n in range(len(parents)) if n in descends]
    new = ends[-1]
    history = parents[: new + 1]
    step = bisection.find_first_new_version(history, lambda n: NEW if n in descends else OLD)
    assert (step.new, step.old in parents[fault], step.between) == (fault, True, ())


@given(values=st.lists(st.sampled_from("abc"), min_size=1, max_size=40))
def test_every_change_joins_the_two_ends(values):
    """Each step begins with the value that the last one ended with, and changes it."""
    count = len(values)

    def after(low):
        if values[low] == values[-1]:
            return None
        further = values[low:]
        return bisection.find_first_new_version(
            bisection.link_versions_in_line(len(further)),
            lambda n: NEW if further[n] != further[0] else OLD,
        ).shift_step_by(low)

    steps = list(bisection.find_every_step_that_changes(count, after))
    assert all(values[step.old] != values[step.new] for step in steps)
    assert all(step.old + 1 == step.new for step in steps)
    between = [values[n] for step in steps for n in (step.old, step.new)]
    ends = [values[0], *between, values[-1]]
    assert ends[::2] == ends[1::2]


@given(needed=st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=3))
def test_the_packages_that_are_needed_together_are_found(needed):
    """One package, a pair or three of eight, and no other with them."""

    def check(moved):
        return NEW if needed <= moved else OLD

    assert set(bisection.find_smallest_differing_set("abcdefgh", check)) == needed


def test_packages_that_cannot_move_alone_stay_together():
    """Packages that cannot be checked apart are named together."""

    def check(moved):
        return SKIPPED if len(moved & set("ab")) == 1 else NEW if "a" in moved else OLD

    assert bisection.find_smallest_differing_set("abcd", check) == ("a", "b")
