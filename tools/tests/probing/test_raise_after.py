"""Foreign code is ended when its time is over, and a limit around it still holds afterwards."""

from __future__ import annotations

import signal
import time

import pytest

from rlregress.probing.time_limits import raise_error_after


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
    """The alarm of the process rings when it was to, with its own handler."""
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


def test_a_limit_around_the_block_that_ran_out_in_it_rings_with_its_own_handler():
    """It is not taken for the limit of the block."""
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
