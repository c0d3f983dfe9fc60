"""Probes find and leave nothing global, end in time, and read metadata once."""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import signal
import sys
import time

import numpy as np
import pytest
import torch
from gymnasium import spaces

from rlregress.catalogue import registry
from rlregress.catalogue.fingerprint import run_and_judge_probe
from rlregress.errors import UserError
from rlregress.frameworks.base import Framework
from rlregress.frameworks.framework_code import Code
from rlregress.inside import probe_worker
from rlregress.probing import installed_metadata
from rlregress.probing.isolation import run_probe_isolated
from rlregress.probing.time_limits import raise_error_after
from tools.tests.small_adapters import SmallAdapter

#: a detail whose probes draw at random, in every framework that has TD3.
STOCHASTIC = "td3.target_noise.law"


def draw_numbers(inputs=None):
    """Return one number of each global generator, [3]."""
    del inputs
    return np.array([random.random(), np.random.rand(), torch.rand(1).item()])


def draw_and_fail(inputs):
    """A probe that draws, makes everything float64, and then cannot go on."""
    draw_numbers()
    torch.set_default_dtype(torch.float64)
    raise ValueError("it cannot be asked")


def observe_here():
    """Return the observation of the tests and the fingerprint of this process."""
    return run_and_judge_probe(
        registry.get_detail(STOCHASTIC), lambda inputs: draw_numbers()[:2]
    ).observed.tolist()


def ask_elsewhere(monkeypatch, probe):
    """Return the answer to an upgrade in one of its environments."""
    adapter = SmallAdapter({"list_probes": lambda: {(STOCHASTIC, "library"): probe}}, version="1")
    monkeypatch.setattr(probe_worker.frameworks, "get_adapter", lambda name: adapter)
    answers = probe_worker.probe_adapter("any", {STOCHASTIC: {}})
    return answers["observed"][f"{STOCHASTIC} library"]


def test_a_probe_that_ends_the_process_is_a_finding():
    """The command goes on: it would end as if all were well."""
    judged = run_and_judge_probe(registry.get_detail(STOCHASTIC), lambda inputs: sys.exit(0))
    assert judged.reason == "could not be probed: RuntimeError: it ended with SystemExit(0)"


def test_what_a_probe_prints_is_in_no_result(capsys):
    """It goes to standard error: a result in JSON stays one."""
    run_probe_isolated(lambda inputs: print("printed"), {})
    assert capsys.readouterr() == ("", "printed\n")


def test_what_is_no_number_is_none_in_an_upgrade_either(monkeypatch):
    """As where the installed version is asked, see ``test_judge``."""
    for probe in (lambda inputs: "4.25", lambda inputs: None, lambda inputs: sys.exit(0)):
        answer = ask_elsewhere(monkeypatch, probe)
        assert "observed" not in answer
        assert re.search("not a float vector|it ended with SystemExit", answer["error"])


def test_both_ways_of_probing_draw_the_same_and_keep_the_generators(monkeypatch):
    """Both ways seed the generators, and later draws are not changed."""
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    undisturbed = [draw_numbers(), draw_numbers()]
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    judged = observe_here()
    assert np.array_equal(draw_numbers(), undisturbed[0])
    requested = ask_elsewhere(monkeypatch, draw_numbers)["observed"]
    assert np.array_equal(draw_numbers(), undisturbed[1])
    assert judged == observe_here() == requested[:2]
    assert requested == ask_elsewhere(monkeypatch, draw_numbers)["observed"]


def test_a_probe_that_fails_leaves_the_process_alone():
    """It has one thread."""
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    undisturbed = draw_numbers()
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    with pytest.raises(ValueError, match="it cannot be asked"):
        run_probe_isolated(draw_and_fail, {})
    assert torch.get_default_dtype() == torch.float32
    assert np.array_equal(draw_numbers(), undisturbed)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert run_probe_isolated(lambda inputs: np.array([torch.get_num_threads()]), {}) == [1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_space_that_nobody_seeds_draws_the_same_in_each_probe():
    """Frameworks take random actions from spaces that they have not seeded."""

    def draw_from_spaces(inputs):
        return np.array([spaces.Discrete(10**9).sample() for _ in range(2)])

    first, second = run_probe_isolated(draw_from_spaces, {})
    assert first != second
    assert run_probe_isolated(draw_from_spaces, {}).tolist() == [first, second]
    assert draw_from_spaces({}).tolist() != [first, second]


GROUP = "rlregress.nothing"
TICKS = itertools.count(1)


PACKAGES = ("some-package-of-nobody", "other-package-of-nobody")


def _install(folder, name, version):
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {version}\n")
    # the clock of a file system may be coarser than this test is fast
    os.utime(folder, ns=(0, next(TICKS)))
    return info


def test_a_package_is_found_as_soon_as_it_is_installed(tmp_path, monkeypatch):
    """The first that is missing is named; then both versions are there."""
    code = Code(Framework("Some", PACKAGES), "")
    monkeypatch.syspath_prepend(tmp_path)
    _install(tmp_path, "some-package-of-nobody", "1.0")
    with pytest.raises(UserError, match="Some cannot .* 'other-package-of-nobody' is not inst"):
        code.map_package_versions()
    _install(tmp_path, "other-package-of-nobody", "2.0")
    assert list(code.map_package_versions().values()) == ["1.0", "2.0"]
    assert code.version() == "1.0"


def test_another_version_takes_the_place_of_the_one_before(tmp_path, monkeypatch):
    """Installed in the same folder, or in one that stands before it on the path."""
    name = PACKAGES[0]
    monkeypatch.syspath_prepend(tmp_path / "first")
    info = _install(tmp_path / "first", name, "1.0")
    assert installed_metadata.map_installed_versions((name,)) == {name: "1.0"}
    shutil.rmtree(info)
    _install(tmp_path / "first", name, "1.1")
    assert installed_metadata.map_installed_versions((name,)) == {name: "1.1"}
    with monkeypatch.context() as before:
        _install(tmp_path / "second", name, "2.0")
        before.syspath_prepend(tmp_path / "second")
        assert installed_metadata.map_installed_versions((name,)) == {name: "2.0"}
        assert installed_metadata.map_entry_points(GROUP)[name].value == "2.0"
    assert installed_metadata.map_installed_versions((name,)) == {name: "1.1"}


class Late(BaseException):
    """No handler of foreign code catches it."""


def compute():
    """Never wait, and never end."""
    while True:
        pass


@pytest.mark.parametrize(
    ("timer", "work"),
    [
        (signal.ITIMER_REAL, lambda: time.sleep(60)),
        (signal.ITIMER_PROF, compute),
        (signal.ITIMER_VIRTUAL, compute),
    ],
)
def test_an_error_ends_the_block(timer, work):
    """By the clock code that waits, by CPU time code that computes."""
    with pytest.raises(Late), raise_error_after(Late, {timer: 0.05}):
        work()


def test_no_block_begins_after_its_time():
    """A limit that is over raises the error at once."""
    begun = []
    with pytest.raises(Late), raise_error_after(Late, {signal.ITIMER_REAL: -1.0}):
        begun.append(True)
    assert not begun


def test_a_limit_around_the_block_goes_on():
    """One that ran out in it rings with its own handler."""
    rang = []
    before = signal.signal(signal.SIGALRM, lambda *_: rang.append(time.monotonic()))
    begun = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    try:
        with raise_error_after(Late, {signal.ITIMER_VIRTUAL: 5.0, signal.ITIMER_REAL: 20.0}):
            time.sleep(0.1)
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 0.3
        while not rang and time.monotonic() - begun < 10:
            time.sleep(0.05)
        assert rang
        assert rang[0] - begun > 0.39
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    rang = []
    before = signal.signal(signal.SIGALRM, lambda *_: rang.append(True))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        with raise_error_after(Late, {signal.ITIMER_REAL: 20.0}):
            time.sleep(0.05)
        time.sleep(0.05)
        assert rang
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
