"""Faults in the bodies of scripts: their trainings are traced and detect them."""

from __future__ import annotations

import re
import shutil

import pytest

from rlregress.errors import UserError
from rlregress.frameworks.cleanrl import CleanRL
from rlregress.frameworks.cleanrl.script_sources import HEAD, VARIABLE, find_source
from rlregress.frameworks.cleanrl.train.builtin_trainings import SCENARIOS, SETTINGS
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.differences import changed_functions, training_selection
from rlregress.upgrade.evidence import compared_trainings, runtimes

pytestmark = pytest.mark.usefixtures("warm_python")

#: script -> a training that runs it.
TRAININGS = {
    "ppo_continuous_action": "ppo",
    "sac_continuous_action": "sac",
    "td3_continuous_action": "td3",
    "ppo": "ppo choices",
    "ddpg_continuous_action": "ddpg one-environment",
    "dqn": "dqn one-environment",
    "c51": "dqn distributional",
}
#: of each script a statement of its main block that occurs once or more; the first one is dropped.
FAULT = re.compile(r"^ +\w*optimizer\.zero_grad\(\)\n", re.MULTILINE)


@pytest.fixture
def checkout():
    """The checkout of CleanRL that the suite is run with."""
    try:
        return find_source(HEAD).root
    except UserError:
        pytest.skip(f"CleanRL HEAD is not here: set {VARIABLE}")


def test_every_script_that_is_trained_is_in_the_list():
    """A script that the suite begins to train has its fault here."""
    plain = {f"{algorithm}_continuous_action" for algorithm in SETTINGS}
    assert set(TRAININGS) == plain | {script for script, *_ in SCENARIOS.values()}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name.startswith("sac") else pytest.mark.nightly)
        for name in TRAININGS
    ],
)
def test_a_fault_in_the_body_of_a_script_is_detected(name, checkout, tmp_path):
    """Its training is selected and diverges; one of another script is not traced."""
    copy = tmp_path / "copy"
    for part in ("cleanrl", "cleanrl_utils"):
        shutil.copytree(checkout / part, copy / part)
    shutil.copy(checkout / "pyproject.toml", copy)
    script = copy / "cleanrl" / f"{name}.py"
    text = script.read_text(encoding="utf-8")
    assert text.index('if __name__ == "__main__":') < FAULT.search(text).start()
    script.write_text(FAULT.sub("", text, count=1), encoding="utf-8")

    old, new = (Runtime(label, variables={VARIABLE: str(root)}) for label, root in
                (("old", checkout), ("new", copy)))  # fmt: skip
    folders = [[str(root / part) for part in ("cleanrl", "cleanrl_utils")]
               for root in (checkout, copy)]  # fmt: skip
    difference = training_selection.sort_differences_by_effect(
        changed_functions.find_changed_functions(*folders), {}
    )
    assert difference.files == {f"cleanrl/{name}.py"}
    by_name = {training.name: training for training in compared_trainings.list_trainings(CleanRL())}
    unrelated = "td3" if name != "td3_continuous_action" else "sac"
    own = by_name[TRAININGS[name]]
    traces = []
    for runtime, trained in ((old, [own]), (new, [own, by_name[unrelated]])):
        (tmp_path / runtime.label).mkdir()
        lines = [[f"cleanrl/{name}.py", "<module>"]]
        traces += runtimes.load_or_record_traces(
            trained, runtime, tmp_path / runtime.label, lines=lines
        ).values()
    *traces, unchanged = traces
    assert f"cleanrl/{unrelated}_continuous_action.py" in unchanged.header["imported"]
    assert difference.select_executed_differences(unchanged) == []
    assert difference.select_executed_differences(traces[1]) == [(f"cleanrl/{name}.py", "")]
    header = traces[1].header
    assert "<module>" in header["functions"][f"cleanrl/{name}.py"]
    assert len(header["lines"][f"cleanrl/{name}.py"][0]) > 10
    assert header["branches"][f"cleanrl/{name}.py"]
    assert compared_trainings.compare_traces_and_their_ends(*traces).verdict == "diverged"
