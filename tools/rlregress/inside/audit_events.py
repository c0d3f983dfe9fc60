"""Listeners to audit events of the interpreter, which can be removed; audit hooks cannot."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

#: called with the name of an event and its arguments.
Listener = Callable[[str, tuple[Any, ...]], None]

_listeners: dict[str, tuple[Listener, ...]] = {}
_is_installed = False


def listen_to_events(listener: Listener, *events: str) -> Callable[[], None]:
    """Call a listener at each of some Python audit events; return a function that removes it."""
    global _is_installed
    for event in events:
        _listeners[event] = (*_listeners.get(event, ()), listener)
    if not _is_installed:
        _is_installed = True
        sys.addaudithook(_call_listeners)

    def stop_listening() -> None:
        for event in events:
            _listeners[event] = tuple(x for x in _listeners[event] if x != listener)

    return stop_listening


def _call_listeners(event: str, arguments: tuple[Any, ...]) -> None:
    for listener in _listeners.get(event, ()):
        listener(event, arguments)
