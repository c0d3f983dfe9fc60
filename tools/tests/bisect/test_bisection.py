"""The searches, on histories that are made up, and the explanation of a step."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rlregress import frameworks
from rlregress.bisect import bisection, explanation, search, symptoms, versions
from rlregress.bisect.bisection import NEW, OLD, SKIPPED, Step
from rlregress.errors import UserError
from rlregress.model.bisect_result import SymptomChange
from rlregress.model.code import CODE_CHANGED, ChangedPiece
from rlregress.report import bisect_text
from rlregress.upgrade.versions import interpreters, requested
from tools.tests.upgrade import test_prepared_versions


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
    old_ends = []

    def measure_ends(old, new):
        old_ends.append(old)
        return values[old] != values[new]

    def compare_with_old_end(n):
        return NEW if values[n] != values[old_ends[-1]] else OLD

    made_up = SimpleNamespace(measure_ends=measure_ends, compare_with_old_end=compare_with_old_end)
    numbers = range(len(values))
    differ = measure_ends(numbers[0], numbers[-1])
    steps = list(search._find_changing_steps(made_up, numbers, finds_all=True)) if differ else []
    if differ:
        first = search._find_changing_steps(made_up, numbers, finds_all=False)
        assert measure_ends(numbers[0], numbers[-1])
        assert list(first) == steps[:1]
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


def piece(file, name):
    """A function that has changed."""
    return ChangedPiece(
        file=file, name=name, how=CODE_CHANGED, old=None, new=None, paths=(None, None)
    )


def test_the_frameworks_functions_come_before_what_it_stands_on():
    """Known changes of a release come first."""
    adapter = frameworks.get_adapter("torchrl")
    symptom = symptoms.make_symptom_of_detail(adapter, "sac.temperature.target_entropy")
    step = SymptomChange(package="torchrl", old="0.1", new="0.2", values=("", ""))
    pieces = [
        piece("tensordict/_td.py", "TensorDict._clone"),
        piece("torchrl/objectives/common.py", "LossModule.__init__"),
        piece("torchrl/objectives/common.py", "LossModule.reset"),
        piece("torchrl/objectives/sac.py", "SACLoss.__init__"),
        piece("torchrl/objectives/sac.py", "SACLoss.target_entropy"),
    ]
    sorted_functions = explanation._sort_nearest_first(pieces, step, symptom, [adapter])
    assert [p.name for p in sorted_functions] == [
        "SACLoss.target_entropy", "SACLoss.__init__", "LossModule.reset", "LossModule.__init__",
        "TensorDict._clone",
    ]  # fmt: skip
    adapter = frameworks.get_adapter("sb3")
    symptom = symptoms.make_symptom_of_detail(adapter, "gae.truncation")
    step = SymptomChange(package="stable-baselines3", old="1.3.0", new="1.4.0", values=("", ""))
    known_piece = piece("stable_baselines3/common/on_policy_algorithm.py",
                  "OnPolicyAlgorithm.collect_rollouts")  # fmt: skip
    other_piece = piece("stable_baselines3/common/base_class.py", "BaseAlgorithm.learn")
    pieces = [other_piece, known_piece]
    assert explanation._sort_nearest_first(pieces, step, symptom, [adapter]) == pieces[::-1]
    first = explanation._list_changelog_entries(step, symptom, pieces, [adapter])[0]
    assert "time limit" in first


FIVE = [f"{number}.0" for number in range(1, 6)]


@pytest.fixture
def make_wheels(tmp_path, monkeypatch):
    """Make five versions of packages whose ``value()`` is the number of the version, or given."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(folder))
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")
    # a folder of wheels does not say when they came
    monkeypatch.setattr(versions, "map_releases_to_dates", lambda package: {})

    def make(name, values=range(1, 6), requires=lambda version: ()):
        for version, value in zip(FIVE, values, strict=True):
            text = f"def value():\n    return {value}\n"
            test_prepared_versions.wheel(folder, name, version, *requires(version), text=text)

    return make


@pytest.fixture
def check(tmp_path, bisect):
    """Search what changes the exit code of a Python script."""

    def search_change(old, new, text, *words):
        (tmp_path / "check.py").write_text(text)
        return bisect(old, new, "--command", f"python {tmp_path / 'check.py'}", *words)

    return search_change


@pytest.mark.nightly
def test_what_changes_with_two_packages_together_changes_with_those_that_are_named(
    check, make_wheels
):
    """The second one is searched beside the release that was found of the first."""
    names = ("zzp", "zzq", "zzr")
    for name in names:
        make_wheels(name)
    ends = [" ".join(f"{name}=={n}.0" for name in names) for n in (1, 5)]
    code, last, data = check(
        *ends, "import sys, zzp, zzq\nsys.exit(zzp.value() + zzq.value() >= 8)\n"
    )
    assert code == 0
    named = {step["package"]: float(step["new"]) for step in data["steps"]}
    assert named.keys() == {"zzp", "zzq"}
    assert sum(named.values()) == 8, last


@pytest.mark.nightly
def test_a_release_that_stands_on_another_dependency_is_not_named_alone(check, make_wheels):
    """The difference may come from the dependency."""
    make_wheels("zzt")
    make_wheels("zzs", [0, 0, 0, 1, 1], lambda v: ["zzt>=3"] if v == "3.0" else ["zzt<=2"])
    text = "import sys, zzs, zzt\nsys.exit(zzs.value() or zzt.value() >= 3)\n"
    code, _, data = check("zzs==1.0", "zzs==5.0", text)
    assert code == 3, data
    assert "that may be the cause of the difference" in data["steps"][0]["apart"]


@pytest.mark.nightly
def test_all_versions_run_on_the_interpreter_that_is_named(check, make_wheels):
    """Each in an environment of its own: what is installed for this one is not found there."""
    base = str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}")
    make_wheels("zzp")
    text = (
        "import importlib.util, os, sys, zzp\n"
        f"assert os.path.realpath(sys.executable) == {str(Path(base).resolve())!r}\n"
        "assert importlib.util.find_spec('torch') is None\n"
        "sys.exit(3 if zzp.value() >= 3 else 0)\n"
    )
    code, last, data = check("zzp==1.0", "zzp==3.0", text, "--python", base)
    assert (code, last) == (0, "first changed in: zzp 3.0"), data
    assert data["values"] == ["exit code 0", "exit code 3"]
    assert [f["place"] for f in data["steps"][0]["functions"]] == ["zzp/__init__.py:1 value"]


def test_what_is_no_interpreter_is_refused(cache, tmp_path):
    """One is missing, one too old, one no Python, and 'installed' has its own."""
    fake, old = tmp_path / "python", tmp_path / "old"
    fake.write_text("#!/bin/sh\necho nonsense >&2\n")
    old.write_text('#!/bin/sh\necho \'[[3, 8], "3.8.18", "cpython-38", []]\'\n')
    for path in (fake, old):
        path.chmod(0o755)
    for python, sentence in (
        (str(tmp_path / "none"), "cannot be run: .*No such file"),
        (str(fake), "cannot be used as Python: nonsense"),
        (str(old), "that is Python 3.8.18; expected the version or the path of a Python that is"),
        ("1.4", "is '1.4', which is not found here"),
    ):
        with pytest.raises(UserError, match=sentence):
            interpreters.find_interpreter(python)
    base = interpreters.find_interpreter(f"{sys.base_prefix}/bin/python3")
    with pytest.raises(UserError, match="'installed' has an interpreter of its own"):
        requested.parse_requested_version("installed", base)


def test_a_search_that_goes_back_says_which_release_brought_it():
    """A pin of one end alone is not searched, and that is said."""
    step = SymptomChange(package="zzp", old="3.0", new="2.0", values=("", ""))
    back = search._add_date_and_direction(step, {"3.0": "2024-03-31"})
    lines = bisect_text._describe_step_between_versions(back)
    assert lines[1] == "  going back, as OLD is the newer version: zzp 3.0 brought it"
    assert (back.date, search._add_date_and_direction(step, {}).back) == ("2024-03-31", True)
    ahead = search._add_date_and_direction(
        SymptomChange(package="", old="2.0", new="10.0", values=("", "")), {}
    )
    assert not ahead.back
    ends = map(requested.parse_requested_version, ("zzd==1.0", "zzd==2.0 zzh==5.0"))
    assert versions.list_pins_of_ends(*ends) == (
        {"zzd": "1.0"}, {"zzd": "2.0"}, ["zzh==5.0, which NEW alone has"],
    )  # fmt: skip


def test_a_build_is_kept_and_is_no_other_release(cache, monkeypatch):
    """Such as +cpu: of the ends, and of what lies between them."""
    monkeypatch.setattr(versions.installed, "find_installed_version", lambda name: "2.13.0+cpu")
    ends = map(requested.parse_requested_version, ("torch==2.13.0+cpu", "zzp==1.0"))
    old, new, _ = versions.list_pins_of_ends(*ends)
    assert old["torch"] == new["torch"] == "2.13.0+cpu"
    listed = ["2.3.0", "2.3.0+cpu", "2.4.0", "2.4.0+cpu", "2.4.0+cu1", "2.5.0+cpu", "2.5.0"]
    monkeypatch.setattr(versions.installer, "list_published_versions", lambda *_: listed)
    between = versions.list_releases_between("torch", "2.5.0+cpu", "2.3.0+cpu", [])
    assert between == ["2.5.0+cpu", "2.4.0+cpu", "2.3.0+cpu"]
    # what has no build for this Python may be the first one: it is not left out
    between = versions.list_releases_between("torch", "2.3.0", "2.5.0", ["2.4.1"])
    assert between == ["2.3.0", "2.4.0", "2.4.1", "2.5.0"]
