"""Saved files of both versions: faults in saving and loading are found, rewrites are not."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from rlregress import frameworks
from rlregress.inside import saved_files_worker, saved_items, swap
from rlregress.model import differences as model
from rlregress.upgrade import entries, side_files

TABLE = tomllib.loads(Path(__file__).with_name("faults_of_files.toml").read_text("utf-8"))
ROOTS = {
    name: Path(importlib.import_module(frameworks.get(name).modules[0]).__file__).parent
    for name in ("sb3", "torchrl")
}


def job(framework, kind, folder, **more):
    """What a worker is given: the training of one kind."""
    return {"framework": framework, "algorithms": [kind.split()[0]], "files": str(folder),
            "write": False, "times": 1, "again": "", "trusted": [], **more}  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What a framework has written and loaded itself, by kind; each training once."""
    made = {}

    def of(framework, kind):
        algorithm = kind.split()[0]
        if (framework, algorithm) not in made:
            folder = tmp_path_factory.mktemp("files")
            own = saved_files_worker.answers(job(framework, kind, folder, write=True, times=2))
            made[framework, algorithm] = folder, own
        folder, own = made[framework, algorithm]
        return folder, {**own, "kinds": {kind: own["kinds"][kind]}}

    return of


def loaded(change, folder, output):
    """Load the files of one kind with a function changed, in this process."""
    adapter = frameworks.get(change["framework"])
    kept = {
        algorithm: [
            replace(saving, kinds=tuple(k for k in saving.kinds if k.name == change["kind"]))
            for saving in savings
        ]
        for algorithm, savings in adapter.saved_files().items()
    }
    adapter.saved_files = lambda: kept
    root = ROOTS[change["framework"]]
    text = (root / change["file"]).read_text(encoding="utf-8")
    at = text.index(f"def {change['function'].rpartition('.')[2]}(")
    at = text.index(change["old"], at)
    text = text[:at] + change["new"].strip() + text[at + len(change["old"]) :]
    changed = {"file": f"{root.name}/{change['file']}", "functions": [change["function"]]}
    assert swap.swap([{**changed, "text": text}], [str(root)]) == []
    given = job(change["framework"], change["kind"], folder)
    output.write_text(json.dumps(saved_files_worker.answers(given)))


@pytest.fixture
def entry(written, tmp_path):
    """The entry of a kind that is loaded with a function changed."""

    def made(change):
        folder, own = written(change["framework"], change["kind"])
        output = tmp_path / "answers.json"
        process = multiprocessing.get_context("fork").Process(
            target=loaded, args=(change, folder, output)
        )
        process.start()
        process.join()
        assert process.exitcode == 0
        files = side_files.judged(own, json.loads(output.read_text()), newer=False)
        (found,) = entries.of_saved(files, change["framework"])
        return found

    return made


@pytest.mark.parametrize("change", TABLE["fault"], ids=lambda change: change["name"])
def test_a_fault_is_found(entry, change):
    """The entry differs, and names the first thing that does."""
    found = entry(change)
    assert found.state == model.DIFFERS, found.reason
    assert change["shows"] in found.reason


@pytest.mark.parametrize("change", TABLE["same"], ids=lambda change: change["name"])
def test_a_rewrite_is_none(entry, change):
    """What does the same is the same."""
    found = entry(change)
    assert found.state == model.SAME, found.reason


def words(value):
    """What is compared of a value."""
    return [(path, text) for path, text, _ in saved_items.items("it", value)]


class Falling:
    """A schedule that is an object."""

    def __call__(self, progress):
        """Half of the progress."""
        return 0.5 * progress


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.5, torch.tensor(0.5)),
        (0.5, np.float64(0.5)),
        (0.5, lambda progress: 0.5),
        (1, True),
        (np.zeros(2, "<f4"), np.zeros(2, ">f4")),
        (np.zeros(2, "f4"), np.zeros(2, "f8")),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (torch.tensor([0.0]), torch.tensor([-0.0])),
        ([1, 2], [2, 1]),
        (lambda progress: progress, lambda progress: 1.0),
    ],
)
def test_values_that_are_others(one, other):
    """Another type, dtype, byte order, shape, bit or order is another value."""
    assert words(one) != words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Falling(), lambda progress: progress / 2),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2).reshape(2, 3)),
        (float("nan"), float("nan")),
    ],
)
def test_values_that_are_the_same(one, other):
    """A schedule is its values; the order of a mapping is none."""
    assert words(one) == words(other)
