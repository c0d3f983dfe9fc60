"""Look-up of the adapters: one package of this folder each, or an entry point of a third party."""

from __future__ import annotations

import importlib.util
import json
import os
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path

from rlregress import files
from rlregress.errors import UserError, suggest_names
from rlregress.frameworks.adapter_errors import convert_errors_to_sentences
from rlregress.frameworks.base import Adapter
from rlregress.probing import installed_metadata

ENTRY_POINT_GROUP = "rlregress.frameworks"
#: the variable with name -> object of the adapters of third parties, for an environment in which
#: they are on the module path and not installed.
ADAPTERS_VARIABLE = "RLREGRESS_ADAPTERS"


def list_framework_names() -> list[str]:
    """Return names of all known frameworks, installed or not, sorted."""
    return sorted(_list_own_names() | set(_map_third_party_adapters()))


def _map_third_party_adapters() -> Mapping[str, EntryPoint]:
    text = os.environ.get(ADAPTERS_VARIABLE) or "{}"
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
        raise UserError(
            f"{ADAPTERS_VARIABLE} is '{text}', expected names and objects of adapters as JSON, "
            'such as {"mine": "rlregress_mine:ADAPTER"}; correct the variable, or unset it'
        )
    points = {name: EntryPoint(name, value, ENTRY_POINT_GROUP) for name, value in values.items()}
    return {**points, **installed_metadata.map_entry_points(ENTRY_POINT_GROUP)}


def locate_third_party_adapters() -> tuple[dict[str, str], list[Path]]:
    """Return name -> object of the adapters of third parties, and the packages they lie in."""
    values = {name: point.value for name, point in _map_third_party_adapters().items()}
    packages = []
    for package in sorted({value.partition(":")[0].partition(".")[0] for value in values.values()}):
        spec = importlib.util.find_spec(package)
        if spec is not None:
            packages += list(map(Path, spec.submodule_search_locations or [spec.origin or ""]))[:1]
    return values, packages


@cache
def _list_own_names() -> frozenset[str]:
    # a folder is an adapter; a file serves them all
    return frozenset(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)


def get_adapter(name: str) -> Adapter:
    """Return the adapter called ``name``, or one copy of the framework, ``name@label``.

    Raises:
        UserError: no framework has that name, it has no copy with that label, or the entry point of
            a third party does not give an adapter.
    """
    name, at, label = name.partition("@")
    if at:
        if not label:
            raise UserError(f"'{name}@' names no copy; expected {name}@<version>, or {name}")
        return get_adapter(name).get_adapter_of_copy(label)
    if name not in list_framework_names():
        raise UserError(f"unknown framework '{name}'; {_suggest_framework_name(name)}")
    third_party = _map_third_party_adapters()
    if name in third_party:
        return _load_third_party_adapter(third_party[name])
    return importlib.import_module(f"{__name__}.{name}").ADAPTER


def list_adapters() -> list[Adapter]:
    """Return the adapters of all known frameworks, sorted by their names."""
    return [get_adapter(name) for name in list_framework_names()]


def _load_third_party_adapter(point: EntryPoint) -> Adapter:
    """Return the adapter that a third party registers by an entry point."""
    module = point.value.partition(":")[0]
    expected = f"'{point.value}' to be the adapter of the framework '{point.name}'"
    with convert_errors_to_sentences(module, expected):
        adapter = point.load()
        if not isinstance(adapter, Adapter):
            raise TypeError(f"it is {adapter!r}")
        if adapter.name != point.name:
            raise ValueError(f"the adapter's name is '{adapter.name}'")
    return adapter


def _suggest_framework_name(name: str) -> str:
    """Return a hint for an unknown name: the framework with this package name, or similar names."""
    for adapter in map(get_adapter, list_framework_names()):
        own = adapter.framework
        words = (own.title, adapter.name, *own.packages[:1], *own.modules[:1])
        spelt = {word.lower().replace("-", "_") for word in words}
        if name.lower().replace("-", "_") in spelt:
            return f"'{name}' is named '{adapter.name}' here"
    return suggest_names(name, list_framework_names())


def use_checkout_from_now_on(adapter: Adapter, folder: str) -> None:
    """Use the checkout in ``folder`` from now on, in this process and those that it starts."""
    path = files.resolve_real_path(os.path.expanduser(folder))
    if not folder or not path.is_dir():
        raise UserError(
            f"'{folder}' is no folder; expected a checkout of {adapter}, as --{adapter.name} "
            f"or in the environment variable {adapter.framework.checkout}"
        )
    os.environ[adapter.framework.checkout] = str(path)
    # whoever names a checkout wants to know that it is none
    adapter.list_copy_labels()


def list_installed_adapters() -> list[Adapter]:
    """Return the adapters whose packages are all installed, one for each copy of a framework.

    The copy that is trained has the plain name, as in the names of its trainings.
    """
    adapters = []
    for adapter in list_adapters():
        try:
            adapter.code.map_package_versions()
        except UserError:
            if adapter.framework.checkout and os.environ.get(adapter.framework.checkout):
                raise
            continue
        adapters += [adapter, *map(adapter.get_adapter_of_copy, adapter.list_copy_labels()[1:])]
    return adapters
