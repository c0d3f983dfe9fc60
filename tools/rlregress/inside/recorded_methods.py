"""Methods whose return values are events: vector environments, normalisers, batches of collectors.

What a training logs is an event too, of its own kind: the arguments of methods that log.

Adapters name the methods, ``module:Class.method``; all subclasses of the class are included. No
module is imported for this: a method is replaced once its module has been imported. Only the return
value of the outermost call is an event; a generator's items are single events.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from rlregress.inside.events import Part, has_readable_numbers, make_event_part, make_part_of_text
from rlregress.inside.leaves import list_leaves
from rlregress.inside.written_contents import is_time
from rlregress.probing.framework_errors import call_original

#: recorded methods of vector environments; wrappers around them inherit these.
GYMNASIUM = (
    "gymnasium.vector.vector_env:VectorEnv.reset",
    "gymnasium.vector.vector_env:VectorEnv.step",
    "gym.vector.vector_env:VectorEnv.reset",
    "gym.vector.vector_env:VectorEnv.step",
    # a class of its own, listed here as no adapter is for this package
    "tianshou.env.venvs:BaseVectorEnv.reset",
    "tianshou.env.venvs:BaseVectorEnv.step",
)
#: keys that are read of a step's info; other keys may hold times.
_LAST = ("terminal_observation", "final_observation", "final_obs", "TimeLimit.truncated")

#: recorded methods of torch by which scripts log to TensorBoard.
LOGGED = ("torch.utils.tensorboard.writer:SummaryWriter.add_scalar",)

#: the attribute that marks a replaced method.
MARK = "_rlregress_hook"


class Depth(threading.local):
    """The depth of the current thread's nested recorded calls."""

    environments = 0
    recorded = 0
    iterating = 0


class ImportListener:
    """An import finder that calls functions as soon as their modules have been imported."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Callable[[Any], None]]] = {}

    def call_when_imported(self, module: str, then: Callable[[Any], None]) -> None:
        """Call ``then`` with the module once it has been imported."""
        if module in sys.modules:
            then(sys.modules[module])
        else:
            self._waiting.setdefault(module, []).append(then)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return a spec from the other finders; its loader then calls the waiting functions."""
        if name not in self._waiting:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                self._patch_after_import(name, spec.loader)
                return spec
        return None

    def _patch_after_import(self, name: str, loader: Any) -> None:
        run = getattr(loader, "exec_module", None)
        if run is None:
            return

        def exec_module(module: Any) -> None:
            del loader.exec_module
            call_original(run, module)
            for then in self._waiting.pop(name, []):
                then(module)

        # the loader is this module's own
        loader.exec_module = exec_module


def call_for_all_subclasses(recorder: Any, owner: Any, then: Callable[[Any], None]) -> None:
    """Call ``then`` with a class and all its subclasses, also with later ones."""
    done = set()

    def visit_class(kind: Any) -> None:
        if kind not in done:
            done.add(kind)
            then(kind)
            for below in type.__subclasses__(kind):
                visit_class(below)

    visit_class(owner)
    own = vars(owner).get("__init_subclass__")

    def init_subclass(kind: Any, **options: Any) -> None:
        if own is None:
            call_original(super(owner, kind).__init_subclass__, **options)
        else:
            call_original(own.__func__, kind, **options)
        visit_class(kind)

    recorder.patch_until_exit(owner, "__init_subclass__", classmethod(init_subclass))


def replace_method_by_handler(
    recorder: Any, owner: Any, name: str, handler: str, label: str
) -> None:
    """Replace a method that a class itself defines by a handler of the recorder."""
    original = vars(owner).get(name)
    if inspect.isfunction(original) and not hasattr(original, MARK):
        recorder.patch_until_exit(
            owner, name, _make_method_calling_handler(original, handler, label)
        )


def _make_method_calling_handler(original: Any, handler: str, label: str) -> Any:
    # finds the recorder by name: a class that is pickled with its methods must not contain it
    @functools.wraps(original)
    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        recording = getattr(sys.modules.get("rlregress.inside.recorder"), "CURRENT", None)
        if recording is None:
            return original(self, *arguments, **options)
        handle = getattr(recording, handler)
        return handle(label, original, self, *arguments, **options)

    setattr(method, MARK, True)
    return method


class RecordedMethods:
    """Records what methods return, or log: those that adapters name, and a few others."""

    def __init__(self, recorder: Any, depth: Depth, environments: Any) -> None:
        self._recorder = recorder
        self._depth = depth
        self._environments = environments

    def install(
        self, importing: ImportListener, names: Sequence[str], handler: str = "recorded_call"
    ) -> None:
        """Record methods ``module:Class.method`` once their modules are imported.

        Args:
            handler: the recorder's method that is called in their place.
        """
        for name in names:
            module, _, below = name.partition(":")
            kind, _, method = below.rpartition(".")
            importing.call_when_imported(
                module, functools.partial(self._hook_methods_of_class, kind, method, handler)
            )

    def _hook_methods_of_class(self, kind: str, method: str, handler: str, module: Any) -> None:
        owner = getattr(module, kind, None)
        # what is imported from elsewhere is recorded there
        if not inspect.isclass(owner):
            return

        def hook_class(value: Any) -> None:
            replace_method_by_handler(self._recorder, value, method, handler, f"{kind}.{method}")

        call_for_all_subclasses(self._recorder, owner, hook_class)

    def record_method_call(
        self, label: str, original: Any, owner: Any, *arguments: Any, **options: Any
    ) -> Any:
        """Call a recorded method. The result of the outermost call is an event."""
        recorder, depth = self._recorder, self._depth
        # calls within an environment are no events
        if depth.recorded or depth.environments:
            return call_original(original, owner, *arguments, **options)
        recorder.raise_if_stopped()
        if recorder.over:
            return call_original(original, owner, *arguments, **options)
        recorder.record_new_parameters()
        if label == "VectorEnv.reset":
            self._environments.add_seed_for_other_processes(owner, arguments, options)
        if recorder.quiet:
            return call_original(original, owner, *arguments, **options)
        action = make_event_part(arguments[0]) if arguments and label.endswith(".step") else None
        before = recorder.environment_events
        depth.recorded += 1
        try:
            returned = call_original(original, owner, *arguments, **options)
        finally:
            depth.recorded -= 1
        if inspect.isgenerator(returned):
            return self._record_and_yield_items(label, returned)
        if recorder.environment_events > before or not self._looks_like_result_of_environments(
            label, returned
        ):
            self._add_result_event(label, returned)
        else:
            self._environments.record_other_processes(label, owner, action, returned)
        return returned

    def record_logged_values(
        self, label: str, original: Any, owner: Any, *arguments: Any, **options: Any
    ) -> Any:
        """Call a method that logs; each value among its arguments is an event."""
        recorder = self._recorder
        if not (recorder.over or recorder.quiet):
            place = recorder.places.find_nearest_traced_place()
            for name, value in _list_logged_values(original, (owner, *arguments), options):
                if not is_time(name, value):
                    recorder.add_event(
                        "log", f"{label} {name}", {"value": _make_logged_part(value)}, place
                    )
        return call_original(original, owner, *arguments, **options)

    @staticmethod
    def _looks_like_result_of_environments(label: str, output: Any) -> bool:
        """Return whether a result looks like that of environments stepped in other processes."""
        if label.endswith(".reset"):
            return not hasattr(output, "batch_size")
        return isinstance(output, tuple) and len(output) in (4, 5)

    def _add_result_event(self, label: str, output: Any) -> None:
        if has_readable_numbers(output):
            place = self._recorder.places.find_nearest_traced_place()
            parts = make_parts_of_result(output)
            self._recorder.add_event(
                "output", label, parts, place, lambda: name_leaves_of_result(output)
            )

    def _record_and_yield_items(self, label: str, items: Any) -> Iterator[Any]:
        """Record and yield the items of a generator.

        Code that runs between two items does not count as nested in the generator."""
        try:
            while True:
                self._depth.iterating += 1
                try:
                    item = call_original(next, items)
                except StopIteration as ended:
                    return ended.value
                finally:
                    self._depth.iterating -= 1
                if not self._depth.iterating:
                    self._add_result_event(label, item)
                yield item
        finally:
            items.close()


def _list_logged_values(
    original: Any, arguments: Any, options: dict[str, Any]
) -> list[tuple[str, Any]]:
    """Return names and values of a call that logs."""
    try:
        bound = inspect.signature(original).bind(*arguments, **options)
    except TypeError:
        # it refuses the call itself
        return []
    _, *values = bound.arguments.values()
    if values and isinstance(values[0], str) and len(values) > 1:
        return [(values[0], values[1])]
    tables = [value for value in values if isinstance(value, dict)]
    return [(str(name), value) for table in tables for name, value in table.items()]


def _make_logged_part(value: Any) -> Part:
    if isinstance(value, (bool, int, float)) or (
        hasattr(value, "dtype") and has_readable_numbers(value)
    ):
        return make_event_part(value)
    return make_part_of_text(type(value).__name__)


def make_parts_of_result(output: Any) -> dict[str, Part]:
    """Return the parts of a result: of a step, of a reset, or of any other method."""
    return {
        name: make_event_part(value) for name, value in _split_result_into_values(output).items()
    }


def name_leaves_of_result(output: Any) -> dict[str, Any]:
    """Return the leaves of a result by name, such as "value ['next']['reward']"."""
    return {
        path: value
        for name, tree in _split_result_into_values(output).items()
        for path, (_, value) in list_leaves(tree, f"{name} ").items()
    }


def _split_result_into_values(output: Any) -> dict[str, Any]:
    if isinstance(output, tuple) and len(output) in (4, 5):
        flags = list(output[2:-1])
        parts = {"observation": output[0], "reward": output[1], "flags": flags}
        last = (
            _list_final_observations_and_flags(output[-1])
            if any(np.any(np.asarray(flag)) for flag in flags)
            else []
        )
        if last:
            parts["last"] = last
    elif isinstance(output, tuple) and len(output) == 2 and isinstance(output[1], (dict, list)):
        parts = {"observation": output[0]}
    else:
        parts = {"value": _flatten_mappings(output)}
    return parts


def _list_final_observations_and_flags(informations: Any) -> list[Any]:
    """Return the final observations and flags in the ``info`` of a step that ends episodes."""
    rows = informations if isinstance(informations, (list, tuple)) else [informations]
    rows = [row for row in rows if isinstance(row, dict)]
    return [row[name] for row in rows for name in _LAST if row.get(name) is not None]


def _flatten_mappings(output: Any) -> Any:
    """Return name -> array, for the arrays in nested mappings."""
    if isinstance(output, (list, tuple)):
        items = [_flatten_mappings(value) for value in output]
        return items if isinstance(output, list) else tuple(items)
    if not hasattr(output, "keys"):
        return output
    try:
        pairs = list(output.items())
    except Exception:
        # a recorder's failure must not end a training
        return f"unreadable {type(output).__module__}.{type(output).__qualname__}"
    return {str(key): _flatten_mappings(value) for key, value in pairs if _is_recordable(value)}


def _is_recordable(value: Any) -> bool:
    return hasattr(value, "keys") or (hasattr(value, "dtype") and hasattr(value, "shape"))
