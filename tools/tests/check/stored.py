"""Stored runs with critics and diagnostics, for tests: the suite's own, these numbers made up."""

from __future__ import annotations

import shutil
import tomllib
from contextlib import contextmanager

import numpy as np
import tomli_w

from rlregress.check import baseline_runs

#: mean and standard deviation, over runs, of the logarithm of a made-up critic's error
MEAN, DEVIATION = 0.1, 0.1


def critic(rng, worse=0.0):
    """Return the record of a critic whose error is exp(0.1 +- 0.1), times exp(worse)."""
    bias = float(np.exp(rng.normal(MEAN, DEVIATION) + worse))
    fields = {"states": 100, "bootstrapped": 0.0, "mean": 50.0, "spread": 20.0}
    return {**fields, "explained_variance": 1.0, "bias": bias}


def entropy(rng, mean=1.4):
    """Return the record of an entropy of 1.4 +- 0.02 nats."""
    return {"entropy": float(rng.normal(mean, 0.02)), "kl": None}


@contextmanager
def edited_baseline(cell):
    """Yield the stored content of a cell for edits, and write it back."""
    path = baseline_runs.locate_baseline(cell)
    content = tomllib.loads(path.read_text())
    yield content
    path.write_text(tomli_w.dumps(content))


def copy_baselines(cells, folder, monkeypatch):
    """Use copies in ``folder`` of the stored runs of ``cells``, and no others."""
    folder.mkdir()
    for cell in cells:
        shutil.copy(baseline_runs.locate_baseline(cell), folder)
    monkeypatch.setattr(baseline_runs, "locate_returns_folder", lambda: folder)


def with_returns_alone(cells, folder, monkeypatch):
    """Use copies in ``folder`` of ten stored runs of each cell, with only their returns."""
    copy_baselines(cells, folder, monkeypatch)
    for cell in cells:
        with edited_baseline(cell) as content:
            content["run"], content["seeds"] = content["run"][:10], 10
            for run in content["run"]:
                for name in ("training_return", "critic", "diagnostics"):
                    run.pop(name, None)


def with_critics(cells, folder, monkeypatch, entropies=False):
    """Give the stored runs of ``cells`` critics, in a copy of them in ``folder``, and use it.

    Args:
        entropies: give them entropies as well, and no divergence.
    """
    copy_baselines(cells, folder, monkeypatch)
    for number, cell in enumerate(cells):
        rng = np.random.default_rng(number)
        with edited_baseline(cell) as content:
            for run in content["run"]:
                run["critic"] = critic(rng)
                if entropies:
                    run["diagnostics"] = {"entropy": entropy(rng)["entropy"]}
