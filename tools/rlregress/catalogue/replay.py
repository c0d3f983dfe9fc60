"""Replay buffers and n-step returns."""

from __future__ import annotations

from rlregress.catalogue import replay_nstep
from rlregress.catalogue.registry import Detail, Inputs, make_detail


def _count_steps_of_whole_batches(inputs: Inputs) -> int:
    """Return the warm-up steps, rounded up to whole batches."""
    return int(-(-inputs["warmup"] // inputs["batch"]) * inputs["batch"])


DETAILS: tuple[Detail, ...] = (
    *replay_nstep.DETAILS,
    make_detail(
        "replay.sampling",
        "Does a minibatch hold a stored transition more than once?",
        """The replay buffer that the algorithm makes by default holds ``count`` different
        transitions, and one minibatch of ``count`` is drawn from it. Observed, [1]: how many
        different ones it holds, over ``count``.""",
        ("thesis, section 3.2",),
        {"count": 4096, "seed": 0},
        {
            "with_replacement": (
                "drawn uniformly with replacement",
                lambda i: 1.0 - (1.0 - 1.0 / i["count"]) ** i["count"],
            ),
            "without_replacement": ("every transition at most once", lambda i: 1.0),
            "one_repeated": ("the minibatch repeats one transition", lambda i: 1.0 / i["count"]),
        },
        # the share has a standard deviation of 0.31 / sqrt(count) = 0.005
        tolerance=0.017,
        consequence="""Without replacement a small buffer gives less varied gradients, and a batch
        that is larger than the buffer cannot be drawn; with large buffers nothing differs.""",
    ),
    make_detail(
        "replay.warmup",
        "Are the transitions of the random warm-up kept in the replay buffer?",
        """One environment, ``steps`` steps; updates begin, and random actions end, after
        ``warmup`` steps (the framework's own parameter for the start of learning). Where steps are
        collected in batches, a batch has ``batch`` steps. Minibatches hold ``minibatch``
        transitions. Observed, [2]: transitions in the replay buffer after such a training with
        SAC, and with TD3.""",
        ("thesis, section 5.3, Cold start", "Fujimoto et al. 2018, section 6.1"),
        {"steps": 20, "warmup": 10, "batch": 4, "minibatch": 3},
        {
            "stored": ("all of them", lambda i: [i["steps"]] * 2),
            "thrown_away": (
                "no: what was collected before updates begin is never stored",
                lambda i: [i["steps"] - _count_steps_of_whole_batches(i) + i["batch"]] * 2,
            ),
            "thrown_away_all": (
                "no, and the batch in which updates begin is not stored either",
                lambda i: [i["steps"] - _count_steps_of_whole_batches(i)] * 2,
            ),
        },
        consequence="""Without the warm-up the first updates see one small batch of the untrained
        policy's own actions instead of thousands of random ones.""",
    ),
    make_detail(
        "replay.overwriting",
        "Which transition gives way when the replay buffer is full?",
        """A replay buffer with room for ``capacity`` transitions receives one after the other, with
        the given rewards. Observed, [4]: the rewards that it holds afterwards, in ascending
        order.""",
        ("thesis, section 3.2", "Mnih et al. 2015, algorithm 1"),
        {"capacity": 4, "rewards": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]},
        {
            "oldest": ("the oldest", lambda i: i["rewards"][2:]),
            "none": ("the new one is dropped", lambda i: i["rewards"][:4]),
            "newest": ("the newest of those stored", lambda i: i["rewards"][[0, 1, 2, 5]]),
        },
        consequence="""A buffer that does not drop its oldest steps first trains on another
        distribution of policies than the one intended.""",
    ),
    make_detail(
        "replay.shared_observations",
        "What becomes of the true last observation of a truncated episode if each observation is "
        "stored once?",
        """The memory-saving storage, in which the next observation of a step is the observation of
        the step after it, is asked for, with everything else as it is by default. Observed, [2]:
        1 if this is refused with an error, else 0; 1 if the next observation of a truncated step
        is marked as missing (not a number), else 0.""",
        ("docstring of ReplayBuffer", "docstring of NextStateReconstructor"),
        {"capacity": 4},
        {
            "refused": ("refused: time limits could not be handled", lambda i: [1.0, 0.0]),
            "marked": ("accepted: it is marked as missing", lambda i: [0.0, 1.0]),
            "replaced": (
                "accepted: the first one of the next episode stands in its place",
                lambda i: [0.0, 0.0],
            ),
        },
        consequence="""Where another observation stands in its place, truncated steps bootstrap from
        the first observation of the next episode.""",
    ),
    make_detail(
        "replay.both_flags",
        "Does a step that terminates at the very moment of the time limit bootstrap?",
        """One environment in which every step earns ``reward`` and both terminates and is
        truncated; the observations have value ``value``. Collected and stored as the framework
        does. Observed, [1]: the regression target of such a step with ``discount`` (entropy term,
        if there is one, switched off).""",
        ("Gymnasium, API of step: terminated and truncated are independent", "Pardo et al. 2018"),
        {"reward": 1.0, "value": 10.0, "discount": 0.9},
        {
            "terminal": ("no: the termination counts", lambda i: i["reward"]),
            "bootstrap": (
                "yes: the truncation counts",
                lambda i: i["reward"] + i["discount"] * i["value"],
            ),
        },
        consequence="""If the truncation won, a failure in the last step before the time limit would
        count as if the episode went on.""",
    ),
)
