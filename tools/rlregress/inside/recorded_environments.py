"""Environments under a recorder: every reset and step, and seeds where the script gave none.

Runs inside foreign and old environments: NumPy only, Python 3.10 syntax; gymnasium and gym are met
when the traced code imports them.

The methods of all classes of environments are replaced: what is made, copied, pickled or looked at
is the environment itself, without a wrapper around it. A call within another is no event: of an
environment in its wrappers the outermost that is called, and of environments in one that steps them
itself, that one.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rlregress.inside.events import part
from rlregress.inside.recorded_methods import Depth, Importing, classes_of, hook_method
from rlregress.inside.seeds import SEED
from rlregress.probing.framework_errors import through

#: attribute of an environment that was seeded, and has no generator of gymnasium's to tell.
_SEEDED = "_rlregress_seeded"


class Watch:
    """An environment, with all wrappers around it, or many that are stepped as one.

    Attributes:
        number: by the order of their first use.
        seeded: it has been reset, or was given a seed.
    """

    def __init__(self, number: int, seeded: bool) -> None:
        self.number = number
        self.seeded = seeded


class Environments:
    """The events of environments."""

    def __init__(self, recorder: Any, depth: Depth) -> None:
        self._recorder = recorder
        self._depth = depth
        self._count = itertools.count()
        #: by identity, and not in the environment, where a script would find it.
        self._watches: dict[int, tuple[Any, Watch]] = {}

    def install(self, importing: Importing) -> None:
        """Record all environments, and seed what nobody seeded."""
        importing.when("gymnasium.core", self._hook_environments)
        importing.when("gym.core", self._hook_environments)
        importing.when("gymnasium.spaces", self._seed_spaces)
        importing.when("gym.spaces", self._seed_spaces)
        importing.when("gymnasium.utils.seeding", self._seed_generators)
        importing.when("gym.utils.seeding", self._seed_generators)

    def _hook_environments(self, core: Any) -> None:
        def hook(kind: Any) -> None:
            # vector environments hand out what others do; the base class is no environment
            if kind is not core.Env and not _is_vector(kind):
                self.hook(kind)

        classes_of(self._recorder, core.Env, hook)

    def hook(self, kind: Any) -> None:
        """Record a class of environments."""
        # what is only seeded is looked at as it steps only where its steps are counted
        counts = self._recorder.steps_left or not self._recorder.quiet
        for name in ("reset", "step", "seed") if counts else ("reset", "seed"):
            hook_method(self._recorder, kind, name, f"environment_{name}", name)

    def watch(self, environment: Any) -> Watch | None:
        """The watch of an environment; None if none can be put there."""
        try:
            # a vector environment of a library's own may have nothing to unwrap
            wraps = hasattr(type(environment), "unwrapped")
            inner = environment.unwrapped if wraps else environment
            names, reference = vars(inner), weakref.ref(inner)
        except Exception:
            # half made, or of a class with slots
            return None
        known, held = self._watches.get(id(inner), (None, None))
        if held is None or known is None or known() is not inner:
            # of a copy: its generator was seeded with the original's
            held = Watch(next(self._count), bool(names.get(_SEEDED)) or _generator(names))
            self._watches[id(inner)] = reference, held
        return held

    # -- calls -------------------------------------------------------------------------------

    def reset(self, _: str, original: Any, environment: Any, *given: Any, **options: Any) -> Any:
        """Reset; the first one with a seed of the tracer's if it comes without."""
        outermost = not self._depth.environments
        if outermost:
            self._recorder.check()
        if self._recorder.over:
            return through(original, environment, *given, **options)
        watch = self.watch(environment)
        if watch is not None:
            self._seed(watch, environment, given, options)
        if not outermost or watch is None or self._recorder.quiet:
            returned = through(original, environment, *given, **options)
            self._mark(watch, environment)
            return returned
        returned = self._within(original, environment, *given, **options)
        self._mark(watch, environment)
        with_more = (
            isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict)
        )
        self._add("reset", watch, {"observation": part(returned[0] if with_more else returned)})
        return returned

    def step(self, _: str, original: Any, environment: Any, *given: Any, **options: Any) -> Any:
        if self._depth.environments:
            return through(original, environment, *given, **options)
        self._recorder.check()
        if self._recorder.over:
            return through(original, environment, *given, **options)
        self._recorder.new_parameters()
        watch = self.watch(environment)
        # as it is before the environment can change it
        action = part(given[0] if given else next(iter(options.values()), None))
        returned = self._within(original, environment, *given, **options)
        if watch is not None:
            self.stepped(watch, action, returned)
        return returned

    def seed(self, _: str, original: Any, environment: Any, *given: Any, **options: Any) -> Any:
        """Seed, as environments of gym are."""
        watch = self.watch(environment)
        returned = through(original, environment, *given, **options)
        if watch is not None and [*given, *options.values()] not in ([], [None]):
            watch.seeded = True
            self._mark(watch, environment)
        return returned

    def _mark(self, watch: Watch | None, environment: Any) -> None:
        """Let copies know that they are seeded, where nothing else tells them."""
        with contextlib.suppress(Exception):
            names = vars(environment.unwrapped)
            if watch is not None and watch.seeded and not _generator(names):
                names[_SEEDED] = True

    def seed_together(self, owner: Any, given: Any, options: dict[str, Any]) -> None:
        """Put a seed among the options of a first reset of many environments that are elsewhere."""
        inner = getattr(owner, "unwrapped", None)
        # those that are here have their turn each
        if inner is None or hasattr(inner, "envs") or not _takes_seed(inner):
            return
        watch = self.watch(owner)
        if watch is None or watch.seeded:
            return
        watch.seeded = True
        if not given and options.get("seed") is None:
            self._recorder.unseeded("resets of environments")
            options["seed"] = SEED + watch.number

    def apart(self, name: str, owner: Any, action: Any, returned: Any) -> None:
        """Many environments that do not step in this process: they are stepped as one."""
        watch = self.watch(owner)
        if watch is None:
            return
        if name.endswith("reset"):
            self._add("reset", watch, {"observation": part(_observation(returned))})
        else:
            self.stepped(watch, action, returned)

    def _within(self, original: Any, *given: Any, **options: Any) -> Any:
        self._depth.environments += 1
        try:
            return through(original, *given, **options)
        finally:
            self._depth.environments -= 1

    def _seed(self, watch: Watch, environment: Any, given: Any, options: dict[str, Any]) -> None:
        """Put a seed among the options of the first reset, where there is room for one."""
        if watch.seeded:
            return
        if given or options.get("seed") is not None:
            watch.seeded = True
            return
        try:
            own = environment.unwrapped is environment
        except Exception:
            return
        if not own:
            # the environment in the wrappers will have its turn
            return
        watch.seeded = True
        if _takes_seed(environment):
            options["seed"] = SEED + watch.number
        elif _seeds_by_method(environment):
            through(environment.seed, SEED + watch.number)
        else:
            return
        self._recorder.unseeded("resets of environments")

    def stepped(self, watch: Watch, action: Any, returned: tuple[Any, ...]) -> None:
        """The event of a step."""
        parts: dict[str, Any] = {
            **({} if action is None else {"action": action}),
            "observation": part(returned[0]),
            "reward": part(np.asarray(returned[1], dtype=np.float64), returned[1]),
            "flags": part(np.asarray(_flags(returned), dtype=bool), returned[2:-1]),
        }
        self._add("step", watch, parts)
        self._recorder.step_taken()

    def _add(self, kind: str, watch: Watch, parts: dict[str, Any]) -> None:
        self._recorder.environment_events += 1
        place = self._recorder.places.nearest(3)
        self._recorder.add(kind, f"environment {watch.number}", parts, place)

    # -- generators and spaces ---------------------------------------------------------------

    def _seed_generators(self, seeding: Any) -> None:
        """An environment that uses its generator before it is reset, or seeds it with nothing."""
        recorder, make, seeds = self._recorder, seeding.np_random, itertools.count(SEED)

        def np_random(seed: Any = None) -> Any:
            if seed is None:
                recorder.unseeded("generators made by gymnasium")
                seed = next(seeds)
            return through(make, seed)

        recorder.replace(seeding, "np_random", np_random)

    def _seed_spaces(self, spaces: Any) -> None:
        recorder, space = self._recorder, spaces.Space
        original = vars(space).get("np_random")
        if not isinstance(original, property):
            return

        def np_random(self: Any) -> Any:
            if self._np_random is None:
                recorder.unseeded("sampling of action spaces")
                through(self.seed, SEED)
            return through(original.__get__, self)

        recorder.replace(space, "np_random", property(np_random))
        for kind in ("Box", "Discrete", "MultiDiscrete", "MultiBinary"):
            _record_samples(recorder, getattr(spaces, kind), kind)


def _generator(names: Mapping[str, Any]) -> bool:
    """Whether an environment has a generator of gymnasium's, by its attributes."""
    return names.get("_np_random") is not None


def _is_vector(kind: Any) -> bool:
    # which are environments before gymnasium 1.0
    return any(base.__name__ == "VectorEnv" for base in kind.__mro__)


def _observation(returned: Any) -> Any:
    with_more = isinstance(returned, tuple) and len(returned) == 2
    return returned[0] if with_more else returned


def _flags(returned: tuple[Any, ...]) -> Any:
    """Whether an episode has terminated, and whether it was truncated."""
    if len(returned) > 4:
        return [returned[2], returned[3]]
    # of gym: one flag, and a note of a time limit, of one environment or of each
    done, notes = np.asarray(returned[2], dtype=bool), returned[3]
    rows = notes if isinstance(notes, (list, tuple)) else [notes]
    cut = [isinstance(row, dict) and bool(row.get("TimeLimit.truncated")) for row in rows]
    truncated = np.asarray(cut, dtype=bool).reshape(done.shape if len(cut) == done.size else -1)
    return [done & ~truncated, done & truncated]


def _takes_seed(environment: Any) -> bool:
    known = inspect.signature(environment.reset).parameters.values()
    return any(p.name == "seed" or p.kind is p.VAR_KEYWORD for p in known)


def _seeds_by_method(environment: Any) -> bool:
    # gymnasium's have none
    return callable(getattr(type(environment), "seed", None))


def _record_samples(recorder: Any, owner: Any, kind: str) -> None:
    sample: Callable[..., Any] = owner.sample

    def sampled(self: Any, *arguments: Any, **options: Any) -> Any:
        value = through(sample, self, *arguments, **options)
        at = recorder.places.nearest(2)
        if at is not None:
            recorder.add("draw", f"{kind}.sample", {"value": part(value)}, at)
        return value

    recorder.replace(owner, "sample", sampled)
