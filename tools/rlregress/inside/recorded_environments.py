"""Records every reset and step of environments, and seeds environments that the script does not.

Gymnasium and gym are hooked when the traced code imports them.

The methods of all environment classes are replaced, so that a script creates, copies, pickles and
inspects its environments without a wrapper of the recorder. A call within another call is no event:
of a wrapped environment only the outermost call is one, and of environments that another one steps,
only the call of the stepping one.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlregress.inside.events import describe_types, make_event_part
from rlregress.inside.recorded_methods import (
    Depth,
    ImportListener,
    call_for_all_subclasses,
    replace_method_by_handler,
)
from rlregress.inside.seeds import SEED
from rlregress.probing.framework_errors import call_original

#: attribute that marks a seeded environment, where no generator of gymnasium shows that it is.
_SEEDED = "_rlregress_seeded"


@dataclass
class EnvironmentEntry:
    """An environment with all its wrappers, or several that are stepped together.

    Attributes:
        number: index in the order of first use.
        seeded: whether it was reset, or got a seed.
    """

    number: int
    seeded: bool


class Environments:
    """Records the events of environments."""

    def __init__(self, recorder: Any, depth: Depth) -> None:
        self._recorder = recorder
        self._depth = depth
        self._count = itertools.count()
        #: by identity, and not in the environment, where a script would find it.
        self._entries: dict[int, tuple[Any, EnvironmentEntry]] = {}

    def install(self, importing: ImportListener) -> None:
        """Record all environments, and seed them where the script does not."""
        for package in ("gymnasium", "gym"):
            importing.call_when_imported(f"{package}.core", self._hook_environment_classes)
            importing.call_when_imported(f"{package}.spaces", self._seed_spaces)
            importing.call_when_imported(f"{package}.utils.seeding", self._seed_generators)

    def _hook_environment_classes(self, core: Any) -> None:
        def hook_class(kind: Any) -> None:
            # not vector environments: those within them are recorded; and not the base class
            if kind is not core.Env and not _is_vector_environment(kind):
                self.hook_environment_class(kind)

        call_for_all_subclasses(self._recorder, core.Env, hook_class)

    def hook_environment_class(self, kind: Any) -> None:
        """Hook a class of environments, so that its resets and steps are recorded."""
        # a quiet recorder only seeds environments, unless it has to count their steps
        counts = self._recorder.steps_left or not self._recorder.quiet
        for name in ("reset", "step", "seed") if counts else ("reset", "seed"):
            replace_method_by_handler(self._recorder, kind, name, f"environment_{name}", name)

    def get_entry_of_environment(self, environment: Any) -> EnvironmentEntry | None:
        """Return the ``EnvironmentEntry`` of an environment; None: it cannot have one."""
        try:
            # a vector environment of another library may have nothing to unwrap
            wraps = hasattr(type(environment), "unwrapped")
            inner = environment.unwrapped if wraps else environment
            names, reference = vars(inner), weakref.ref(inner)
        except Exception:
            # its constructor has not ended, or its class has slots
            return None
        known, entry = self._entries.get(id(inner), (None, None))
        if entry is None or known is None or known() is not inner:
            # a copy was seeded with the original
            entry = EnvironmentEntry(
                next(self._count), bool(names.get(_SEEDED)) or _has_gymnasium_generator(names)
            )
            self._entries[id(inner)] = reference, entry
        return entry

    # -- calls -------------------------------------------------------------------------------

    def reset_and_record(
        self, _: str, original: Any, environment: Any, *args: Any, **options: Any
    ) -> Any:
        """Reset an environment and record it; seed it if the script never has."""
        is_outermost = not self._depth.environments
        if is_outermost:
            self._recorder.raise_if_stopped()
        if self._recorder.over:
            return call_original(original, environment, *args, **options)
        entry = self.get_entry_of_environment(environment)
        if entry is not None:
            self._seed_first_reset(entry, environment, args, options)
        is_recorded = is_outermost and entry is not None and not self._recorder.quiet
        call = self._call_as_outermost_environment if is_recorded else call_original
        returned = call(original, environment, *args, **options)
        self._mark_seeded(entry, environment)
        if entry is not None and is_recorded:
            has_information = (
                isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict)
            )
            self._record_reset(entry, returned[0] if has_information else returned)
        return returned

    def step_and_record(
        self, _: str, original: Any, environment: Any, *args: Any, **options: Any
    ) -> Any:
        """Step an environment; the outermost call is recorded as an event."""
        if self._depth.environments:
            return call_original(original, environment, *args, **options)
        self._recorder.raise_if_stopped()
        if self._recorder.over:
            return call_original(original, environment, *args, **options)
        self._recorder.record_new_parameters()
        entry = self.get_entry_of_environment(environment)
        # before the environment can change it
        action = make_event_part(args[0] if args else next(iter(options.values()), None))
        returned = self._call_as_outermost_environment(original, environment, *args, **options)
        if entry is not None:
            self.record_step(entry, action, returned)
        return returned

    def seed_and_mark_environment(
        self, _: str, original: Any, environment: Any, *args: Any, **options: Any
    ) -> Any:
        """Call the ``seed`` method of an environment of gym, and mark the environment as seeded."""
        entry = self.get_entry_of_environment(environment)
        returned = call_original(original, environment, *args, **options)
        if entry is not None and [*args, *options.values()] not in ([], [None]):
            entry.seeded = True
            self._mark_seeded(entry, environment)
        return returned

    def _mark_seeded(self, entry: EnvironmentEntry | None, environment: Any) -> None:
        """Mark a seeded environment, so that copies are known to be seeded."""
        with contextlib.suppress(Exception):
            names = vars(environment.unwrapped)
            if entry is not None and entry.seeded and not _has_gymnasium_generator(names):
                names[_SEEDED] = True

    def add_seed_for_other_processes(self, owner: Any, args: Any, options: dict[str, Any]) -> None:
        """Add a seed to the options of the first reset of environments in other processes."""
        inner = getattr(owner, "unwrapped", None)
        # environments of this process are seeded one by one
        if inner is None or hasattr(inner, "envs") or not _reset_takes_seed(inner):
            return
        entry = self.get_entry_of_environment(owner)
        if entry is None or entry.seeded:
            return
        entry.seeded = True
        if not args and options.get("seed") is None:
            self._recorder.note_seeded_generator("resets of environments")
            options["seed"] = SEED + entry.number

    def record_other_processes(self, name: str, owner: Any, action: Any, returned: Any) -> None:
        """Record a step or reset of environments in other processes as one event."""
        entry = self.get_entry_of_environment(owner)
        if entry is None:
            return
        if name.endswith("reset"):
            has_information = isinstance(returned, tuple) and len(returned) == 2
            self._record_reset(entry, returned[0] if has_information else returned)
        else:
            self.record_step(entry, action, returned)

    def _call_as_outermost_environment(self, original: Any, *args: Any, **options: Any) -> Any:
        self._depth.environments += 1
        try:
            return call_original(original, *args, **options)
        finally:
            self._depth.environments -= 1

    def _seed_first_reset(
        self, entry: EnvironmentEntry, environment: Any, args: Any, options: dict[str, Any]
    ) -> None:
        """Add a seed to the options of the first reset, if it takes one."""
        if entry.seeded:
            return
        if args or options.get("seed") is not None:
            entry.seeded = True
            return
        try:
            is_wrapper = environment.unwrapped is not environment
        except Exception:
            return
        if is_wrapper:
            # its reset passes the seed on to the environment in it, which is marked as seeded
            return
        entry.seeded = True
        if _reset_takes_seed(environment):
            options["seed"] = SEED + entry.number
        elif callable(getattr(type(environment), "seed", None)):
            # of gym: environments of gymnasium have no such method
            call_original(environment.seed, SEED + entry.number)
        else:
            return
        self._recorder.note_seeded_generator("resets of environments")

    def _record_reset(self, entry: EnvironmentEntry, observation: Any) -> None:
        self._add_event("reset", entry, {"observation": make_event_part(observation)})

    def record_step(self, entry: EnvironmentEntry, action: Any, returned: tuple[Any, ...]) -> None:
        parts: dict[str, Any] = {
            **({} if action is None else {"action": action}),
            "observation": make_event_part(returned[0]),
            "reward": make_event_part(
                np.asarray(returned[1], dtype=np.float64), describe_types(returned[1])
            ),
            "flags": make_event_part(
                np.asarray(_read_end_flags(returned), dtype=bool), describe_types(returned[2:-1])
            ),
        }
        self._add_event("step", entry, parts)
        self._recorder.count_environment_step()

    def _add_event(self, kind: str, entry: EnvironmentEntry, parts: dict[str, Any]) -> None:
        self._recorder.environment_events += 1
        place = self._recorder.places.find_nearest_traced_place()
        self._recorder.add_event(kind, f"environment {entry.number}", parts, place)

    # -- generators and spaces ---------------------------------------------------------------

    def _seed_generators(self, seeding: Any) -> None:
        """Seed generators of environments that are used before a reset, or seeded with None."""
        recorder, make, seeds = self._recorder, seeding.np_random, itertools.count(SEED)

        def np_random(seed: Any = None) -> Any:
            if seed is None:
                recorder.note_seeded_generator("generators made by gymnasium")
                seed = next(seeds)
            return call_original(make, seed)

        recorder.patch_until_exit(seeding, "np_random", np_random)

    def _seed_spaces(self, spaces: Any) -> None:
        recorder, space = self._recorder, spaces.Space
        original = vars(space).get("np_random")
        if not isinstance(original, property):
            return

        def np_random(self: Any) -> Any:
            if self._np_random is None:
                recorder.note_seeded_generator("sampling of action spaces")
                call_original(self.seed, SEED)
            return call_original(original.__get__, self)

        recorder.patch_until_exit(space, "np_random", property(np_random))
        for kind in ("Box", "Discrete", "MultiDiscrete", "MultiBinary"):
            note = functools.partial(recorder.record_draw, f"{kind}.sample", False)
            recorder.hook_function(getattr(spaces, kind), "sample", after=note)


def _has_gymnasium_generator(names: Mapping[str, Any]) -> bool:
    """Return whether an environment has a generator of gymnasium, by its attributes."""
    return names.get("_np_random") is not None


def _is_vector_environment(kind: Any) -> bool:
    # vector environments are subclasses of Env, too, before gymnasium 1.0
    return any(base.__name__ == "VectorEnv" for base in kind.__mro__)


def _read_end_flags(returned: tuple[Any, ...]) -> Any:
    """Return whether the episode was terminated, and whether it was truncated."""
    if len(returned) > 4:
        return [returned[2], returned[3]]
    # gym has one flag; the info, or one for each of many environments, tells a time limit
    done, information = np.asarray(returned[2], dtype=bool), returned[3]
    rows = information if isinstance(information, (list, tuple)) else [information]
    flags = [isinstance(row, dict) and bool(row.get("TimeLimit.truncated")) for row in rows]
    truncated = np.asarray(flags, dtype=bool).reshape(done.shape if len(flags) == done.size else -1)
    return [done & ~truncated, done & truncated]


def _reset_takes_seed(environment: Any) -> bool:
    parameters = inspect.signature(environment.reset).parameters.values()
    return any(p.name == "seed" or p.kind is p.VAR_KEYWORD for p in parameters)
