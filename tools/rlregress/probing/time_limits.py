"""A limit of time for a block that runs foreign code."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

#: timer of the process -> the signal that it sends.
_SIGNALS = {
    signal.ITIMER_REAL: signal.SIGALRM,
    signal.ITIMER_VIRTUAL: signal.SIGVTALRM,
    signal.ITIMER_PROF: signal.SIGPROF,
}


@contextmanager
def raise_error_after(
    error: type[BaseException], seconds_by_timer: Mapping[int, float]
) -> Iterator[None]:
    """Raise an error in the block when a timer has run for its number of seconds.

    Args:
        seconds_by_timer: ``signal.ITIMER_REAL`` is the clock, ``ITIMER_PROF`` CPU time,
            ``ITIMER_VIRTUAL`` CPU time outside of the kernel. A running timer goes on afterwards.
    """
    if any(limit <= 0 for limit in seconds_by_timer.values()):
        raise error

    def raise_error(*_: object) -> None:
        raise error

    before = [
        (
            timer,
            limit,
            signal.signal(_SIGNALS[timer], raise_error),
            signal.setitimer(timer, limit)[0],
        )
        for timer, limit in seconds_by_timer.items()
    ]
    try:
        yield
    finally:
        for timer, limit, handler, outer in before:
            spent = limit - signal.setitimer(timer, 0)[0]
            # first: the timer of before may have run out meanwhile
            signal.signal(_SIGNALS[timer], handler)
            if outer:
                # 0 would mean never
                signal.setitimer(timer, max(outer - spent, 1e-6))
