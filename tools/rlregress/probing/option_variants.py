"""Calls that are generated from signatures: each object with its defaults and each option varied.

A ``Subject`` has the facts that no signature shows: how the required arguments are made, which
inputs suit them, and which calls are made of the object. Everything else is generated: a flag is
flipped, a number changed, a word replaced by every other that the docstring lists. Direct calls of
changed functions take the values of words and None from here, too.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import rlregress
from rlregress.probing.framework_errors import ExpectedError
from rlregress.probing.interface import Unsupported
from rlregress.probing.signatures import list_parameters_with_inherited

Call = Callable[[Any, Any], Any]
_SUITE = str(Path(rlregress.__file__).parent)


@dataclass(frozen=True)
class NameLookup:
    """Functions that find a subject's class or keyword in the installed version.

    Attributes:
        library: module and name -> class or function; Unsupported where there is none.
        keyword: class and keyword -> what the version calls it; Unsupported where there is none.
    """

    library: Callable[[str, str], Any]
    keyword: Callable[[Any, str], str]


class Lacking(str):
    """Marks a name or option that a version lacks. Nothing that contains it is recorded."""


class Items(dict[str, Any]):
    """Items of a result, each compared if both versions have it."""


@dataclass(frozen=True)
class Kit:
    """Required arguments of a class or function, and the inputs that suit them.

    Attributes:
        arguments: makes the required arguments by name.
        inputs: makes an input by its label.
        within: context manager in which an object is made and used.
        prepare: applied to each object, after ``prepare`` of the subject.
    """

    arguments: Callable[[], dict[str, Any]]
    inputs: Callable[[str], Any]
    within: Callable[[], Any] | None = None
    prepare: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Subject:
    """A class or function, and how it is used.

    Attributes:
        name: ``module:Name``.
        kits: label -> arguments and inputs; options are varied with the first one.
        inputs: labels of the inputs that the defaults are used on, with the first kit.
        brief: the inputs that every option and kit is used on; without it the first of ``inputs``.
        options: parameter -> values to use beside the generated ones; a callable makes one.
        together: options that are set at once.
        calls: label -> call of an object with an input; the first one is made with every option.
        prepare: applied to each object before it is used.
        skip: parameters that are not varied; "*" is all of them, "holds" that defaults are
            not read from an object.
        thorough: kits that all calls are made with beside the first one, or kit and call.
    """

    name: str
    kits: Mapping[str, Kit]
    inputs: Sequence[str]
    brief: Sequence[str] = ()
    options: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    together: Sequence[Mapping[str, Any]] = ()
    calls: Mapping[str, Call] = field(default_factory=dict)
    prepare: Callable[[Any], Any] | None = None
    skip: Sequence[str] = ()
    thorough: Sequence[str] = ()


def make_function_subject(
    name: str, inputs: Callable[[str], Any], labels: Sequence[str], call: Call, **fields: Any
) -> Subject:
    """Return a subject without required arguments: each call of it takes an input."""
    return Subject(name, {"": Kit(dict, inputs)}, labels, calls={"": call}, **fields)


# -- variants of arguments ---------------------------------------------------------------------


def list_other_values(called: Any, parameter: inspect.Parameter) -> list[Any]:
    """Return other values than the default of a parameter, from annotation and documentation."""
    default, kind = parameter.default, str(parameter.annotation)
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, (int, float)) and default == default:
        changed = 0.5 * default + 0.05 if isinstance(default, float) else default + 1
        return [value for value in (changed, type(default)(0)) if value != default]
    words = re.findall(r"[\"'](\w+)[\"']", kind) if "Literal[" in kind else []
    if "str" in kind:
        words = words or _list_quoted_words(inspect.getdoc(called) or "", parameter.name)
    if words:
        return [word for word in words if word != default]
    if default is None:
        for name, values in (("bool", [True, False]), ("float", [0.5]), ("int", [2])):
            if re.search(rf"\b{name}\b(?!\[)", kind) and "tuple" not in kind:
                return list(values)
    return []


def _list_quoted_words(doc: str, name: str) -> list[str]:
    """Return the words in quotes in a parameter's paragraph of a docstring."""
    match = re.search(rf"^ *{name} \(.*?(?=^ *\w+ \(|^ *\w+:$|\Z)", doc, re.MULTILINE | re.DOTALL)
    paragraph = match.group() if match else ""
    words = re.findall(r"[`\"']+\"?([a-z][a-z0-9_]*)\"?[`\"']+", paragraph)
    quoted = re.findall(r"[\"']([a-z][a-z0-9_]*)[\"']", paragraph)
    return sorted(set(words) & set(quoted))


def list_variants(
    called: Any, subject: Subject, required_arguments: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield label and keywords of each variant: each option, and options that go together.

    Args:
        required_arguments: arguments that every call has.
    """
    for name, parameter in list_parameters_with_inherited(called).items():
        varied = parameter.default is not parameter.empty and name not in subject.skip
        if (
            varied
            and "*" not in subject.skip
            and not {name} & {*required_arguments, *subject.options}
        ):
            for value in list_other_values(called, parameter):
                yield f"{name}={value}", {name: value}
    for name, values in subject.options.items():
        for value in values:
            yield f"{name}={label_value(value)}", {name: value}
    for options in subject.together:
        yield ", ".join(f"{k}={label_value(v)}" for k, v in options.items()), dict(options)


def label_value(value: Any) -> str:
    """Return a value as text for the name of a case; of what makes it, name and arguments."""
    if isinstance(value, partial):
        return "-".join(map(str, (value.func.__name__, *value.args, *value.keywords.values())))
    return str(value.__name__) if callable(value) else _mask_address(value)


# -- cases --------------------------------------------------------------------------------------


def make_calls_of_subject(
    subject: Subject, seed: int, names: NameLookup
) -> dict[str, Callable[[], Any]]:
    """Return name -> call, of all calls of a subject; empty if the version lacks it."""
    module, _, name = subject.name.partition(":")
    try:
        called = names.library(module, name)
    except Unsupported:
        return {}
    by_name: dict[str, Callable[[], Any]] = {}

    def add_call(kit: str, label: str, options: dict[str, Any], input_: str, call: str) -> None:
        labels = (kit if kit != first else "", input_, call if call != main else "")
        use = partial(
            _make_and_call_subject, subject, called, names, subject.kits[kit], options, input_, call
        )
        by_name[" ".join(filter(None, (f"{name}({label})", *labels)))] = partial(
            _call_seeded, use, seed
        )

    first, main = next(iter(subject.kits)), next(iter(subject.calls))
    required = subject.kits[first].arguments()
    brief = subject.brief or subject.inputs[:1]
    for kit in subject.kits:
        for input_ in subject.inputs if kit == first else brief:
            add_call(kit, "", {}, input_, main)
        for call in list(subject.calls)[1:]:
            if kit == first or {kit, f"{kit} {call}"} & set(subject.thorough):
                add_call(kit, "", {}, brief[0], call)
    for label, options in list_variants(called, subject, required):
        for input_ in brief:
            add_call(first, label, options, input_, main)
    varied = not {"*", "holds"} & set(subject.skip)
    if varied and inspect.isclass(called) and required:
        read = partial(_read_attributes_of_options, called, names, subject.kits[first].arguments)
        by_name[f"{name}() holds"] = partial(_call_seeded, read, seed)
    return by_name


@dataclass(frozen=True)
class Tables:
    """The subjects of a framework, and the calls that are generated of them.

    Attributes:
        names: functions that find their names.
        modules: ``list_subjects()`` of each returns them by part.
    """

    names: NameLookup
    modules: Sequence[Any]

    def list_subjects(self) -> dict[str, list[Subject]]:
        """Return part -> its classes and functions."""
        return {
            part: group for table in self.modules for part, group in table.list_subjects().items()
        }

    def make_calls_of_part(self, part: str, seed: int) -> dict[str, Callable[[], Any]]:
        """Return name -> call, for all subjects of a part."""
        calls: dict[str, Callable[[], Any]] = {}
        for subject in self.list_subjects()[part]:
            calls |= make_calls_of_subject(subject, seed, self.names)
        return calls

    def run_calls_of_part(self, part: str, seed: int) -> dict[str, Any]:
        """Run the calls of a part, sorted by name as in every version; return name -> result.

        Raises:
            Unsupported: the version has none of them.
        """
        outputs: dict[str, Any] = {}
        with warnings.catch_warnings():
            # about what is done on purpose
            warnings.simplefilter("ignore")
            for name, call in sorted(self.make_calls_of_part(part, seed).items()):
                outputs.update(make_events_of_call(name, call()))
        if not outputs:
            raise Unsupported(f"this version has no class or function of {part}")
        return outputs


def _read_attributes_of_options(
    called: Any, names: NameLookup, arguments: Callable[[], dict[str, Any]]
) -> Any:
    """Build an object, and return its attributes that are named like its options."""
    instance = called(**{names.keyword(called, n): value for n, value in arguments().items()})

    def read_attribute(name: str) -> Any:
        # an option without an attribute is a result, too
        item = getattr(instance, name, "none")
        return str(type(item)) if isinstance(item, nn.Module) else item

    names_of_options = list(list_parameters_with_inherited(called))[1:]
    return call_each({name: partial(read_attribute, name) for name in names_of_options})


def seed_torch_generator(seed: int) -> None:
    """Seed torch's own generator; see ``random_generators.seed_generators``."""
    torch.default_generator.manual_seed(seed)


def _call_seeded(call: Callable[[], Any], seed: int) -> Any:
    seed_torch_generator(seed)
    np.random.seed(seed)
    return call_or_return_error(call)


def _make_and_call_subject(
    subject: Subject,
    called: Any,
    names: NameLookup,
    kit: Kit,
    options: dict[str, Any],
    input_: str,
    call: str,
) -> Any:
    with kit.within() if kit.within else contextlib.nullcontext():
        named: Callable[[str], str] = (
            partial(names.keyword, called) if inspect.isclass(called) else str
        )
        # an option that a version lacks is found out before anything is made
        optional = {
            named(k): value() if _is_value_factory(value) else value for k, value in options.items()
        }
        own = kit.arguments()
        arguments = {**{named(name): value for name, value in own.items()}, **optional}
        batch = kit.inputs(input_)
        # a function, or a class without arguments of its own, is called with the input
        late = not own or not inspect.isclass(called)
        instance = partial(called, **arguments) if late else called(**arguments)
        for prepare in filter(None, (subject.prepare, kit.prepare)):
            instance = prepare(instance)
        return subject.calls[call](instance, batch)


def _is_value_factory(value: Any) -> bool:
    return callable(value) and not inspect.isclass(value)


def call_or_return_error(call: Callable[[], Any]) -> Any:
    """Return the result of a call, an ``ExpectedError`` of the library, or ``Lacking``.

    ``Lacking`` marks a name or keyword that the suite uses and the version lacks: the list of
    changed names reports it. An error from inside of the library is its result.
    """
    try:
        return convert_to_recordable(call())
    except Exception as error:
        return Lacking(error) if _says_version_lacks_name(error) else ExpectedError(error)


def call_each(calls: Mapping[str, Callable[[], Any]]) -> Items:
    """Return label -> result of each call, as ``call_or_return_error`` returns it."""
    return Items((label, call_or_return_error(call)) for label, call in calls.items())


def _says_version_lacks_name(error: Exception) -> bool:
    if isinstance(error, Unsupported):
        return True
    words = "argument" if isinstance(error, TypeError) else ""
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    return (
        isinstance(error, (AttributeError, ImportError, TypeError))
        and words in str(error)
        # a value that has become none is no name that a version lacks
        and "'NoneType'" not in str(error)
        and [c for c in codes if c.co_name != "__getattr__"][-1].co_filename.startswith(_SUITE)
    )


def split_answer_into_items(result: Any) -> Mapping[str, Any]:
    """Return the items of a result by name; a result of another type is one item named ""."""
    return result if isinstance(result, Items) else {"": result}


def make_events_of_call(name: str, value: Any) -> dict[str, Any]:
    """Return name -> event of a trace, for a call and each of the items in its result."""
    if not isinstance(value, Items):
        return {} if _contains_lacking_name(value) else {name: value}
    items = {
        f"{name}: {label}": item
        for label, item in value.items()
        if not _contains_lacking_name(item)
    }
    # the call by itself, so that items in one version and an error in the other are a difference
    return {name: "items", **items}


def _contains_lacking_name(value: Any) -> bool:
    if isinstance(value, (Mapping, list)):
        return any(
            map(_contains_lacking_name, value.values() if isinstance(value, Mapping) else value)
        )
    return isinstance(value, Lacking)


# -- what is recorded ------------------------------------------------------------------------------


def convert_to_recordable(value: Any) -> Any:
    """Return a result in a form that traces record: numbers, tensors, words and trees of them."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, nn.Module):
        return {name: convert_to_recordable(item) for name, item in value.state_dict().items()}
    if hasattr(value, "batch_size") and hasattr(value, "items"):
        items = {
            _format_key_as_name(key): convert_to_recordable(item)
            for key, item in value.items(True, True)
        }
        # words and numbers are no leaves of a tensordict
        words = {key: value[key] for key in value.keys() if key not in items}  # noqa: SIM118
        return items | {
            k: convert_to_recordable(v) for k, v in words.items() if not hasattr(v, "batch_size")
        }
    if isinstance(value, Mapping):
        kind = Items if isinstance(value, Items) else dict
        return kind(
            {_format_key_as_name(key): convert_to_recordable(item) for key, item in value.items()}
        )
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return [convert_to_recordable(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return value.copy()
    # the name of a function is no result
    return "function" if inspect.isroutine(value) else _mask_address(value)


def _mask_address(value: Any) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


def _format_key_as_name(key: Any) -> str:
    return ".".join(map(str, key)) if isinstance(key, tuple) else str(key)


def call_with_gradients(module: Any, batch: Any, call: Callable[[Any], Any] | None = None) -> Any:
    """Call a module, differentiate its result, and return result, changes and gradients.

    The changes are the entries of the input and of the module's state that the call changed.
    """
    before = convert_to_recordable(batch)
    state = convert_to_recordable(module) if isinstance(module, nn.Module) else {}
    returned = (call or module)(batch)
    outputs = {
        "returned": convert_to_recordable(returned),
        "written": select_changed_entries(before, convert_to_recordable(batch)),
    }
    tree: Any = returned if not isinstance(returned, torch.Tensor) else {"loss": returned}
    dictionary = hasattr(tree, "batch_size")
    # only the losses are differentiated, and not other results of a loss module
    is_loss = dictionary and hasattr(module, "tensor_keys") and hasattr(module, "reduction")
    start = "loss" if is_loss else ""
    leaves = {
        str(key): item
        for key, item in (tree.items(True, True) if dictionary else _list_items_of_tree(tree))
        if isinstance(item, torch.Tensor) and item.requires_grad and str(key).startswith(start)
    }
    outputs["learnt"] = sorted(leaves)
    if leaves:
        sum(item.sum() for item in leaves.values()).backward()  # type: ignore[union-attr]
    if isinstance(module, nn.Module):
        outputs["gradient"] = {
            name: item.grad.clone()
            for name, item in module.named_parameters()
            if item.grad is not None
        }
        outputs["state"] = select_changed_entries(state, convert_to_recordable(module))
    return outputs


def _list_items_of_tree(tree: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(tree, Mapping):
        yield from tree.items()
    elif isinstance(tree, (list, tuple)):
        yield from enumerate(tree)


def select_changed_entries(before: Any, after: Any) -> Any:
    """Return the entries of ``after`` that differ from those of ``before`` in any bit."""
    if not isinstance(after, Mapping) or not isinstance(before, Mapping):
        return {} if is_bitwise_same(before, after) else after
    return {key: item for key, item in after.items() if not is_bitwise_same(before.get(key), item)}


def is_bitwise_same(first: Any, second: Any) -> bool:
    """Return whether two values are the same in every bit, type and shape."""
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        same_type = first.shape == second.shape and first.dtype == second.dtype
        # as bytes: NaN equals itself, and neither 0 nor -0.0 anything else
        as_bytes = [x.detach().reshape(-1).contiguous().view(torch.uint8) for x in (first, second)]
        return same_type and torch.equal(*as_bytes)
    return type(first) is type(second) and repr(first) == repr(second)
