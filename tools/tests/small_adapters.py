"""Adapters of a few functions, for tests of what uses adapters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from rlregress.catalogue import registry
from rlregress.frameworks.base import Adapter, Framework
from rlregress.frameworks.framework_code import Code


class SmallAdapter(Adapter):
    """An adapter whose functions are given, whichever kind they are of.

    Args:
        version: of its first package, which need not be installed; "": the installed one.
        framework: fields of ``Framework``.
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        name: str = "some",
        version: str = "",
        label: str = "",
        **framework: Any,
    ) -> None:
        fields = {"title": name.title(), "packages": (name,), **framework}
        super().__init__(name, f"tests.{name}", Framework(**fields))
        self.functions = dict(functions or {})
        self.label, self._version = label, version

    @property
    def code(self) -> Code:
        """Its code, of the given version."""
        code = super().code
        if self._version:
            code.map_package_versions = lambda: {self.framework.packages[0]: self._version}  # type: ignore[method-assign]
        return code

    def _make_kind(self, kind: Any, **arguments: Any) -> Any:
        module = SimpleNamespace(**self.functions) if self.functions else None
        return kind(module, str(self), arguments)


def make_probe_of_variant(detail_id: str, variant: str) -> Callable[..., Any]:
    """Return a probe that observes what the formula of a variant gives."""
    return lambda inputs: registry.get_detail(detail_id).variants[variant].formula(inputs)


def format_entry(detail_id: str, variant: str, **changes: str) -> str:
    """Return the entry of a variant in a file of expectations, with some changes."""
    keys = {"id": detail_id, "scope": "library", "variant": variant, "since": "1.0", "source": "s"}
    return "\n".join(["[[detail]]", *(f'{k} = "{v}"' for k, v in (keys | changes).items()), ""])
