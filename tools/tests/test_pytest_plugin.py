"""Which tests run, and in which order: what the options leave out, and what comes first."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from rlregress import evidence, frameworks, pytest_plugin
from rlregress.catalogue import registry, requested_names
from rlregress.catalogue.implementation import Implementation
from rlregress.errors import UserError
from rlregress.faults import fault_tables, injection
from rlregress.model.fault_results import DETAILS
from rlregress.pytest_plugin import subjects
from rlregress.report import terminal
from rlregress.training.cell import Cell
from tools.tests.processes import run_pytest
from tools.tests.small_adapters import SmallAdapter

#: a framework with a probe for every detail, in two scopes
PROBES = {
    (id, scope): (lambda inputs: None)
    for id in registry.list_detail_ids()
    for scope in ("library", "script")
}
ADAPTER = SmallAdapter(
    {"list_probes": lambda: PROBES}, version="1.0", algorithms=("ppo", "sac", "td3"),
    behavior_only=("dqn",), expectations=Path(__file__).parent / "nothing-is-documented",
)  # fmt: skip


def _config(**options):
    left_out = []
    return SimpleNamespace(
        getoption=lambda name: options.get(name.removeprefix("--")),
        hook=SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items)),
        stash={pytest_plugin._ADAPTERS: [ADAPTER]},
        left_out=left_out,
    )


class Item:
    """A collected test, as far as selection and order look at one."""

    def __init__(self, name, folder="tests_unit", marked=False, **params):
        self.name, self.path, self.marked = name, Path(folder) / "test_some.py", marked
        self.callspec = SimpleNamespace(params=params)
        self.user_properties = []

    def get_closest_marker(self, name):
        return name if self.marked else None


def _make_detail_item(id, marked=False):
    implementation = Implementation(ADAPTER, registry.get_detail(id), "library", None)
    return Item(f"{'specification' if marked else 'detail'} {id}", marked=marked,
                implementation=implementation)  # fmt: skip


def _make_claim_item(subject):
    claim = SimpleNamespace(subject=subject)
    return Item(f"claim {subject}", claim=claim, framework_of_claim=ADAPTER)


#: options -> what is collected, what stays in its order, and what is left out: the names of tests
SELECTIONS = {
    # the numbers, then the other details, the rest, and claims last; folder by folder
    (): (["claim sac.actor_loss", "complete", "detail sac.actor_loss",
          "specification sac.actor_loss", "behaves"],
         ["specification sac.actor_loss", "detail sac.actor_loss", "complete",
          "claim sac.actor_loss", "behaves"], []),
    # what asks another detail, a default, or no detail at all is not run
    (("detail", "sac.actor_loss"),): (
        ["specification sac.actor_loss", "detail sac.actor_loss", "detail td3.actor_loss",
         "complete", "behaves", "claim sac.actor_loss", "claim sac.discount"],
        ["specification sac.actor_loss", "detail sac.actor_loss", "claim sac.actor_loss"],
        ["detail td3.actor_loss", "complete", "behaves", "claim sac.discount"]),
    # a family that is no algorithm stays
    (("algorithm", "ppo"),): (
        ["detail ppo.value_clip", "detail gae.truncation", "detail sac.actor_loss",
         "claim ppo.learning_rate", "claim td3.policy_delay", "complete"],
        ["detail ppo.value_clip", "detail gae.truncation", "complete", "claim ppo.learning_rate"],
        ["detail sac.actor_loss", "claim td3.policy_delay"]),
}  # fmt: skip


def _item(name):
    kind, _, subject = name.partition(" ")
    if not subject:
        return Item(name, folder="tests_behavior" if name == "behaves" else "tests_unit")
    if kind == "claim":
        return _make_claim_item(subject)
    return _make_detail_item(subject, marked=kind == "specification")


@pytest.mark.parametrize("options", SELECTIONS, ids=str)
def test_options_select_tests_and_details_come_first(options):
    """A detail leaves out tests of other details, an algorithm the families of others."""
    collected, selected, left_out = SELECTIONS[options]
    items, config = list(map(_item, collected)), _config(**dict(options))
    pytest_plugin.pytest_collection_modifyitems(config, items)
    assert [item.name for item in items] == selected
    assert [item.name for item in config.left_out] == left_out


@pytest.mark.parametrize(
    ("marked", "requested", "ids"),
    [
        (False, None, ["some-ppo", "some-sac", "some-td3"]),
        (True, None, ["some-ppo", "some-sac", "some-td3", "some-dqn"]),
        (True, "dqn,sac", ["some-sac", "some-dqn"]),
        (False, "dqn", []),
    ],
)
def test_algorithms_without_cells_need_a_marker(marked, requested, ids):
    """A test of every algorithm is not one of those without cells, unless it is marked so."""
    parametrized = []
    needs = SimpleNamespace(
        config=_config(algorithm=requested),
        fixturenames=["framework", "algorithm"],
        definition=SimpleNamespace(
            get_closest_marker=lambda name: SimpleNamespace(args=()) if marked else None
        ),
        parametrize=lambda names, values, ids: parametrized.extend(ids),
    )
    pytest_plugin._parametrize_frameworks(needs)
    assert parametrized == ids


def test_a_test_is_marked_with_its_subjects():
    """Markers are its framework, its algorithm or family, and slow if it trains."""

    def marks(item):
        return subjects.list_marks_of_test(item, subjects.list_selectable_names())

    sb3 = frameworks.get_adapter("sb3")
    assert marks(_make_detail_item("gae.truncation")) == {"gae"}
    assert marks(_make_claim_item("sac.discount")) == {"sac"}
    behaves = {"framework": sb3, "algorithm": "td3"}
    assert marks(Item("behaves", **behaves)) == {"sb3", "td3"}
    assert marks(Item("behaves", **behaves, marked=True)) == {"sb3", "td3", "slow"}
    assert marks(Item("complete")) == set()
    cell = Cell("sb3", "ppo", "Hopper-v4", "sb3", "short")
    training = SimpleNamespace(job=SimpleNamespace(cell=cell))
    assert marks(Item("trains", training=training)) == {"sb3", "ppo", "slow"}


def _implementations(*markers):
    definition = SimpleNamespace(nodeid="test_some", iter_markers=lambda name: iter(markers))
    metafunc = SimpleNamespace(definition=definition, config=_config())
    return [implementation.name for implementation in pytest_plugin._list_implementations(metafunc)]


def _undocumented(adapter, *ids):
    probes = adapter.observe.list_probes()
    return [Implementation(adapter, registry.get_detail(id), scope, None) for id, scope in probes]


def test_a_test_without_a_detail_asks_every_detail(monkeypatch):
    """Its id is detail, framework and scope; a test with a marker asks the detail that it names."""
    monkeypatch.setattr(pytest_plugin, "list_implementations", _undocumented)
    assert _implementations() == [f"{id}-some-{scope}" for id, scope in PROBES]
    names = _implementations(SimpleNamespace(args=("sac.actor_loss",)))
    assert names == ["sac.actor_loss-some-library", "sac.actor_loss-some-script"]


@pytest.mark.parametrize("arguments", [[()], [("sac.a", "sac.b")], [("sac.a",), ("sac.b",)]])
def test_a_test_of_several_details_is_refused(arguments):
    """One detail, or all of them."""
    with pytest.raises(
        pytest.UsageError, match="^test_some has several marks 'detail', or one without an id; mark"
    ):
        _implementations(*(SimpleNamespace(args=argument) for argument in arguments))


def test_details_are_selected_by_id_or_its_beginning():
    """A family, a part of it, an id; a name that only begins the same way is another one."""
    ids = requested_names.find_detail_ids(["sac.critic_loss", "gae.value_target"])
    losses = {f"sac.critic_loss.{name}" for name in ("distance", "reduction", "scale")}
    assert ids == {"gae.value_target", *losses}
    sac = {detail.id for detail in registry.list_details() if detail.family == "sac"}
    assert requested_names.find_detail_ids(["sac"]) == sac
    # ppo.value_clip has details below it, and is one itself
    assert "ppo.value_clip" in requested_names.find_detail_ids(["ppo.value_clip"])
    assert "ppo.value_loss.scale" not in requested_names.find_detail_ids(["ppo.value_clip"])
    assert requested_names.find_detail_ids([]) == frozenset()


def test_a_test_that_asserts_nothing_is_an_error():
    """Asking alone proves nothing; once something was asserted, the test stands."""
    implementation = Implementation(ADAPTER, registry.get_detail("sac.actor_loss"), "library", None)
    item = Item("asks", implementation=implementation)

    def call():
        running = pytest_plugin.pytest_pyfunc_call(item)
        next(running)
        running.send(True)

    with pytest.raises(UserError, match="sac.actor_loss-some-library: the test asserts nothing"):
        call()
    implementation.judgements.append("found")
    with pytest.raises(StopIteration):
        call()


@pytest.mark.nightly
@pytest.mark.usefixtures("warm_python")
def test_the_folder_of_formulas_asks_every_detail():
    """Every detail is a test of ``tests_unit``, in every scope: a file that goes is missed here."""
    process = run_pytest("tests_unit", "--collect-only", "-q", "--framework", "sb3")
    collected = set(re.findall(r"test_detail\[(.*)\]$", process.stdout, re.MULTILINE))
    probes = requested_names.list_details_to_probe(frameworks.get_adapter("sb3"))
    assert {f"{id}-sb3-{scope}" for id, scope in probes} - collected == set()


@pytest.mark.parametrize(
    "nodeid",
    ["tests_unit/test_sac.py::test_scale[a/b::c]",
     "../env/lib/rlregress/suite/tests_unit/test_sac.py::test_scale[a/b::c]"],
)  # fmt: skip
def test_a_test_has_one_name_wherever_it_lies(nodeid):
    """The tests of an installed wheel are named, and counted, as those of a checkout."""
    report = SimpleNamespace(nodeid=nodeid, longrepr="")
    entry = evidence.build_uncollected_entry(report)
    assert (entry["test"], entry["tier"]) == ("tests_unit/test_sac.py::test_scale[a/b::c]", "unit")


def _list_lines(answers, **options):
    config = _config(**options)
    config.stash[pytest_plugin._ADAPTERS] = [frameworks.get_adapter("sb3")]
    common = {"framework": "sb3", "scope": "library", "found": "half"}
    return list(
        pytest_plugin._describe_checked_details(
            config, [{**common, "detail": id} for id in answers]
        )
    )


def test_a_session_reports_how_many_details_it_checked():
    """With the options that left out the others, or that leave no test at all."""
    family = [id for id in registry.list_detail_ids() if id.startswith("sac.critic_loss.")]
    total = len(frameworks.get_adapter("sb3").observe.list_probes())
    for name, value in (("detail", "sac.critic_loss"), ("keyword", "critic"), ("markexpr", "sac")):
        [line] = _list_lines(family, **{name: value})
        option = {"detail": "--detail", "keyword": "-k", "markexpr": "-m"}[name]
        checked = f"sb3: {len(family)} of {total} details checked"
        assert line == f"{checked}, the others not selected ({option} {value})"
    scale = "sac.critic_loss.scale"
    [line] = _list_lines([scale], algorithm="ppo")
    assert "were not checked: atari." in line
    assert _list_lines([]) == []
    config = _config(framework="sb3", detail="gae", keyword="nope")
    selection = pytest_plugin._list_selecting_options(config)
    assert terminal.suggest_when_all_tests_are_excluded(selection).startswith(
        "no test is left after --framework sb3, --detail gae, -k nope: no test of the named files "
        "fits all of them; leave one of these options out"
    )


@pytest.mark.usefixtures("warm_python")
def test_a_bare_pytest_folds_failures_and_writes_the_report_of_a_check(tmp_path):
    """Failures are told once for each detail, with the file of the faulty copy that decides it."""
    [fault] = fault_tables.select_faults(DETAILS, ["sb3"], ["sac_critic_loss_not_halved"])
    report = tmp_path / "report"
    only = ["--framework", "sb3", "--detail", "sac.critic_loss", "-m", "sac and sb3 and not slow",
            "-p", "no:cacheprovider", "--rlregress-report", str(report)]  # fmt: skip
    process = injection.run_python_with_fault(fault, ["-m", "pytest", "tests_unit", *only])
    header, _, output = process.stdout.partition("rootdir")
    folder = re.search(r"^sb3: stable-baselines3 [\d.]+, .*\((.*)\)$", header, re.MULTILINE)[1]
    _, _, folded = output.partition("failed tests are about 1 detail:\n")
    line = folded.splitlines()[0]
    assert re.match(r"  sac\.critic_loss\.scale: \d+ tests; ", line)
    assert f"{Path(folder).parent}/{fault.file}" in line
    assert "- deciding code -" in output
    verdict = json.loads((report / "verdict.json").read_text())
    assert (verdict["exit_code"], verdict["unjudged"]) == (1, ["tests of sb3 behavior"])
    assert verdict["frameworks"]["sb3"]["tests"].keys() == {"unit"}
    details = {test["detail"] for test in evidence.read_evidence_file(report / "evidence.json")}
    assert details == requested_names.find_detail_ids(["sac.critic_loss"])
    assert (report / "summary.md").read_text().startswith("<!-- rlregress gate -->")
