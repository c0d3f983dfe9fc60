"""Checks that options leave out, or that do not exist here, are listed and never equal."""

from __future__ import annotations

import pytest

from rlregress import frameworks
from rlregress.catalogue import requested_names
from rlregress.errors import UserError
from rlregress.model.recorded_traces import VERSIONS, Trace
from rlregress.model.upgrade_result import FrameworkResult, ProbeAnswer, Upgrade, VersionInfo
from rlregress.report import markdown_page, upgrade_data
from rlregress.report.html import upgrade_page
from rlregress.report.html.page import PageInfo
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade import cascade, framework_comparison
from rlregress.upgrade.both_versions import ExecutedCode
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.evidence import version_fingerprints
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.version_fingerprints import Fingerprint
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.verdict import not_checked
from rlregress.upgrade.versions.prepared_versions import PreparedVersion
from rlregress.upgrade.versions.requested import RequestedVersion
from rlregress.upgrade.versions.resolved import ResolvedPair, ResolvedVersion
from tools.tests.small_adapters import SmallAdapter

SCRIPT = {"script": "train.py"}


#: an adapter that has probes and nothing else
BARE = SmallAdapter(behavior_only=("ddpg",))


def _sentences(adapter, trainings=(), **options):
    return list(not_checked.list_unchecked_subjects(adapter, Options(**options), [], trainings))  # type: ignore[arg-type]


def test_what_an_adapter_lacks_is_derived_from_it():
    """Every capability that it has not, and algorithms of which no training is there."""
    assert _sentences(BARE) == [
        "files of older versions, scenarios, generated calls, defaults of public classes, returns: "
        "its adapter has none",
        "trainings of ddpg: none is built in; its details and defaults are compared",
    ]
    assert _sentences(BARE, ("ddpg",), files=False, returns=False) == [
        "scenarios, generated calls, defaults of public classes: its adapter has none"
    ]
    sb3 = frameworks.get_adapter("sb3")
    assert _sentences(sb3, tuple(sb3.list_trace_trainings())) == []
    for name, trainings, algorithm, is_built_in in (
        ("contrib", ("qrdqn",), "dqn", True),
        ("contrib", ("maskableppo",), "sac", False),
        ("rsl_rl", ("curiosity",), "ppo", True),
    ):
        lines = "".join(_sentences(frameworks.get_adapter(name), trainings, algorithms=[algorithm]))
        assert (f"trainings of {algorithm}: none" in lines) != is_built_in
    # nor one that only scenarios train, unless one was chosen
    cleanrl, trainings = frameworks.get_adapter("cleanrl"), ("ppo", "ddpg one-environment")
    lines = _sentences(cleanrl, trainings, algorithms=["ddpg"], scenarios=[])
    assert "ddpg: only scenarios are built in, and none of them was chosen" in lines[-1]
    assert not any("ddpg" in x for x in _sentences(cleanrl, trainings, algorithms=["ddpg"]))


def test_an_algorithm_may_have_details_alone():
    """Details are enough to choose an algorithm, early and late; one without either is an error."""
    answer = ProbeAnswer(variant=None, observed=(1.0,), text="")
    prints = Fingerprint({}, ("td3",), {("ddpg.target", "script"): answer})
    adapter = frameworks.get_adapter("sb3")

    def choose(algorithm):
        options = Options(algorithms=[algorithm], scenarios=[])
        cascade._require_known_algorithms_and_scenarios([frameworks.get_adapter("skrl")], options)
        cascade._require_probed_algorithms_and_scenarios([prints], options)
        trainings, _ = framework_comparison.list_common_and_one_sided_trainings(
            adapter, (prints, prints), options
        )
        return [training.name for training in trainings]

    assert (choose("ddpg"), choose("td3")) == ([], ["td3"])
    with pytest.raises(UserError, match="no built-in training and no detail of 'trpo'"):
        choose("trpo")


def _executed(*files):
    trace = Trace(header={"functions": {file: ["f"] for file in files}}, events=())
    return ExecutedCode(new={"train.py": trace})


@pytest.mark.parametrize(
    ("name", "files", "probed"),
    [
        ("torchrl", ["torchrl/objectives/sac.py", "torchrl/data/support.py"], ["sac"]),
        ("contrib", ["sb3_contrib/tqc/tqc.py", "stable_baselines3/dqn/dqn.py"], ["sac"]),
        ("rsl_rl", ["rsl_rl/runners/on_policy_runner.py"], ["ppo"]),
        ("torchrl", ["torchrl/envs/common.py"], []),
        # of another framework alone: nothing is known
        ("skrl", ["torchrl/objectives/sac.py"], ["ddpg", "dqn", "ppo", "sac", "td3"]),
    ],
)  # fmt: skip
def test_details_are_probed_of_what_a_script_executes(name, files, probed):
    """Those of other algorithms are left out, and listed; without knowledge none is."""
    adapter, options = frameworks.get_adapter(name), Options(script=SCRIPT)
    left_out = cascade._list_unused_detail_families(adapter, _executed(*files), options)
    assert sorted({"ddpg", "dqn", "ppo", "sac", "td3"} - set(left_out)) == probed
    families = {detail.family for detail in framework_comparison.select_details(left_out, options)}
    assert not families & set(left_out)
    assert {"gae", "replay"} <= families
    lines = list(not_checked.list_unchecked_subjects(adapter, options, left_out, ()))
    expected = f"details of {', '.join(left_out)}, of which the script executes nothing"
    assert lines == ([expected] if left_out else [])


def test_a_script_is_answered_before_details_are_probed(tmp_path, monkeypatch):
    """Nothing that the script was not asked about runs before its answer."""
    order = []

    def script(*_):
        order.append("script")
        return None, _executed("stable_baselines3/sac/sac.py")

    def fingerprint(runtime, path, *_):
        order.append(path.stem)
        raise UserError("enough")

    monkeypatch.setattr(cascade, "compare_script", script)
    monkeypatch.setattr(version_fingerprints, "fingerprint_version", fingerprint)
    versions = [ResolvedVersion(label, RequestedVersion("x")) for label in VERSIONS]
    pair = ResolvedPair(*versions, frozenset(), (frameworks.get_adapter("sb3"),))
    prepared = tuple(
        PreparedVersion(version.requested, Runtime(version.label), "tree") for version in versions
    )
    options = Options(script=SCRIPT, workers=1)
    training = Training("script", "train.py", SCRIPT)
    folders = tmp_path, tmp_path
    with pytest.raises(UserError, match="enough"):
        cascade._compare_versions(pair, prepared, Inventory(), folders, options, training)
    assert order == ["script", *["sb3-details-ddpg-dqn-ppo-td3"] * (len(order) - 1)]
    assert len(order) > 1


def test_what_is_not_checked_is_in_the_report_and_no_part_of_the_verdict():
    """It stands before all entries, and in the data; the verdict is that of the entries."""
    versions = [VersionInfo(label=label, text="x", how="tree") for label in VERSIONS]
    versions[1] = VersionInfo(label="new", text="t", how="tree", not_checked=("its requirements",))
    framework = FrameworkResult(
        name="x", title="X", module="x", versions=({}, {}), not_checked=("returns",)
    )
    result = Upgrade(old=versions[0], new=versions[1], frameworks=(framework,))
    assert result.verdict == "unchanged"
    data = upgrade_data.convert_upgrade_to_plain_data(result)
    assert data["not_checked"] == ["new: its requirements", "X: returns"]
    facts = PageInfo("a title", "today", 1.0, "a machine", "a command")
    text = markdown_page.format_page_as_markdown(upgrade_page.make_page_of_upgrade(result, facts))
    assert "- new: its requirements\n- X: returns\n" in text
    # versions that no probe could read in time are not called the same
    assert "X: versions not read" in text


@pytest.mark.parametrize(
    ("name", "algorithm", "left_out", "probed"),
    [
        ("sb3", "sac", {"atari", "gae", "ppo"}, {"sac", "crossq", "replay"}),
        ("sb3", "dqn", {"gae", "tqc"}, {"dqn", "atari", "qrdqn"}),
        # of an algorithm without details of its own, or beside one that has
        ("sb3", "a2c", set(), {"gae"}),
        ("cleanrl", "sac_atari", set(), {"atari", "sac"}),
        ("contrib", "tqc", set(), {"sac", "tqc"}),
    ],
)
def test_details_that_no_named_algorithm_uses_are_left_out(name, algorithm, left_out, probed):
    """Also those of a family that is not named after an algorithm; what it may use is probed."""
    adapter = frameworks.get_adapter(name)
    alone, beside = (
        cascade._list_unused_detail_families(adapter, ExecutedCode(), Options(algorithms=names))
        for names in ([algorithm], [algorithm, "td3"])
    )
    assert left_out <= {*alone}
    assert not probed & {*alone, *beside}
    assert left_out <= requested_names.list_families_excluded_by_algorithms([algorithm])
