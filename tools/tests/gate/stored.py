"""Stored runs with critics and diagnostics, for tests: the suite's own, these numbers made up."""

from __future__ import annotations

import tomllib

import numpy as np
import tomli_w

from rlregress.gate import baseline_runs

#: mean and standard deviation, over runs, of the logarithm of a made-up critic's error
MEAN, DEVIATION = 0.1, 0.1


def critic(rng, worse=0.0):
    """What a record says of a critic whose error is exp(0.1 +- 0.1), times exp(worse)."""
    bias = float(np.exp(rng.normal(MEAN, DEVIATION) + worse))
    fields = {"states": 100, "bootstrapped": 0.0, "mean": 50.0, "spread": 20.0}
    return {**fields, "explained_variance": 1.0, "bias": bias}


def entropy(rng, mean=1.4):
    """What a record says of an entropy of 1.4 +- 0.02 nats."""
    return {"entropy": float(rng.normal(mean, 0.02)), "kl": None}


def training_return(rng, lost=0.0):
    """What a record says of a training that returns 100 +- 5, less a share."""
    return float(rng.normal(100.0 * (1.0 - lost), 5.0))


def with_returns_alone(cells, folder, monkeypatch):
    """Use copies in ``folder`` of the first ten stored runs of ``cells`` that tell nothing else."""
    folder.mkdir()
    texts = {cell: baseline_runs.baseline_path(cell).read_text() for cell in cells}
    monkeypatch.setattr(baseline_runs, "returns_folder", lambda: folder)
    for cell, text in texts.items():
        content = tomllib.loads(text)
        content["run"], content["seeds"] = content["run"][:10], 10
        for run in content["run"]:
            for name in ("training_return", "critic", "diagnostics"):
                run.pop(name, None)
        baseline_runs.baseline_path(cell).write_text(tomli_w.dumps(content))


def with_training(cells):
    """Give the stored runs of ``cells``, which are copies, returns of their training episodes."""
    for number, cell in enumerate(cells):
        content = tomllib.loads(baseline_runs.baseline_path(cell).read_text())
        rng = np.random.default_rng(number)
        for run in content["run"]:
            run["training_return"] = training_return(rng)
        baseline_runs.baseline_path(cell).write_text(tomli_w.dumps(content))


def with_critics(cells, folder, monkeypatch, entropies=False):
    """Give the stored runs of ``cells`` critics, in a copy of them in ``folder``, and use it.

    Args:
        entropies: give them entropies as well, and no divergence.
    """
    folder.mkdir()
    texts = {cell: baseline_runs.baseline_path(cell).read_text() for cell in cells}
    monkeypatch.setattr(baseline_runs, "returns_folder", lambda: folder)
    for number, (cell, text) in enumerate(texts.items()):
        content = tomllib.loads(text)
        rng = np.random.default_rng(number)
        for run in content["run"]:
            run["critic"] = critic(rng)
            if entropies:
                run["diagnostics"] = {"entropy": entropy(rng)["entropy"]}
        baseline_runs.baseline_path(cell).write_text(tomli_w.dumps(content))
