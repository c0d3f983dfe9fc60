"""Stored runs with critics, for tests: those of the suite, each with a critic that is made up."""

from __future__ import annotations

import tomllib

import numpy as np
import tomli_w

from rlregress.gate import baseline

#: mean and standard deviation, over runs, of the logarithm of a made-up critic's error
MEAN, DEVIATION = 0.1, 0.1


def critic(rng, worse=0.0):
    """What a record says of a critic whose error is exp(0.1 +- 0.1), times exp(worse)."""
    bias = float(np.exp(rng.normal(MEAN, DEVIATION) + worse))
    return {"states": 100, "bootstrapped": 0.0, "explained_variance": 1.0, "bias": bias}


def with_critics(cells, folder, monkeypatch):
    """Give the stored runs of ``cells`` critics, in a copy of them in ``folder``, and use it."""
    folder.mkdir()
    texts = {cell: baseline.path_of(cell).read_text() for cell in cells}
    monkeypatch.setattr(baseline, "folder", lambda: folder)
    for number, (cell, text) in enumerate(texts.items()):
        content = tomllib.loads(text)
        rng = np.random.default_rng(number)
        for run in content["run"]:
            run["critic"] = critic(rng)
        baseline.path_of(cell).write_text(tomli_w.dumps(content))
