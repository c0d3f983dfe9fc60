"""A training of eight steps, written with torch and gymnasium alone, and changes of it."""

from __future__ import annotations

import gc

TRAINING = """
import copy
import random

import gymnasium
import numpy as np
import torch
from torch import nn

random.seed(1)
np.random.seed(1)
torch.manual_seed(1)


def networks():
    online = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    return online, copy.deepcopy(online)


def explore(values, rate):
    if np.random.rand() < rate:
        return random.randrange(2)
    return int(values.argmax())


def loss_of(online, target, batch):
    observations, actions, rewards, following = batch
    with torch.no_grad():
        wanted = rewards + 0.9 * target(following).max(dim=1).values
    given = online(observations).gather(1, actions[:, None])[:, 0]
    return ((given - wanted) ** 2).mean()


def follow(online, target):
    with torch.no_grad():
        for new, old in zip(online.parameters(), target.parameters()):
            old.copy_(0.1 * new + 0.9 * old)


def minibatch(memory):
    chosen = np.random.randint(0, len(memory), size=8)
    rows = [memory[n] for n in chosen]
    observations = torch.as_tensor(np.array([row[0] for row in rows]))
    actions = torch.tensor([row[1] for row in rows])
    rewards = torch.tensor([row[2] for row in rows])
    following = torch.as_tensor(np.array([row[3] for row in rows]))
    return observations, actions, rewards, following


def main():
    environment = gymnasium.make("CartPole-v1")
    online, target = networks()
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-2)
    memory = []
    observation, _ = environment.reset(seed=3)
    for step in range(8):
        action = explore(online(torch.as_tensor(observation)), 0.5)
        following, reward, terminated, truncated, _ = environment.step(action)
        memory.append((observation, action, reward, following))
        observation = following
        if terminated or truncated:
            observation, _ = environment.reset()
        optimizer.param_groups[0]["lr"] = 1e-2 * (1 - step / 40)
        loss = loss_of(online, target, minibatch(memory))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(online.parameters(), 0.5)
        optimizer.step()
        follow(online, target)
    return online


trained = main()
"""


def changed(*pairs):
    """The training with fragments replaced; each must be there."""
    text = TRAINING
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def edit_function(text, *edits, namespace, file="function.py"):
    """Return the function that a text defines, with fragments replaced; ``text`` holds them."""
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    names = {}
    exec(compile(text, file, "exec"), namespace, names)
    (function,) = names.values()
    function.text = text
    return function


def examine_call(old, new, arguments, seconds=5.0, joint=lambda _: False, names=None, **options):
    """Return the result of one call with both versions; ``options`` are those of ``Call``."""
    from rlregress.inside.repeat import Call, FunctionVersion

    names = set(old.__code__.co_names) if names is None else names
    versions = FunctionVersion(old), FunctionVersion(new)
    call = Call(*versions, arguments, names, set(), old.__globals__, joint, **options)
    return call.compare_with_perturbations(seconds)


def recorded_here(text, folder, named=(), nudged=None):
    """The recorder and the names of a script that ran in this process."""
    from rlregress.inside.events import Places
    from rlregress.inside.recorder import Recorder

    script = folder / "here.py"
    script.write_text(text, encoding="utf-8")
    names = {"__name__": "traced"}
    # a recording looks for garbage at fixed events: not among what was there before it
    gc.freeze()
    with Recorder(Places([str(script)]), named=named, nudged=nudged) as recorder:
        exec(compile(text, str(script), "exec"), names)
    return recorder, names


def told(recorder, *kinds):
    """Kind and name of events, of environments if no kinds are named."""
    kinds = kinds or ("reset", "step")
    return [(e["kind"], e["name"]) for e in recorder.events if e["kind"] in kinds]
