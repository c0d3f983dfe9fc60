"""The options that the suite adds to pytest."""

from __future__ import annotations

from typing import Any

import pytest

from rlregress import frameworks
from rlregress.check_options import PYTEST, CheckOptions
from rlregress.model import option

_SHARED = {
    name: option_field
    for name, option_field in option.list_options(CheckOptions).items()
    if name in PYTEST
}
#: defaults that differ from those of ``rlregress check``
_DEFAULTS = {"budget": "smoke"}
#: options that also select tests of formulas and behaviour
_OF_TESTS = ("frameworks", "algorithms", "budget")

#: options that concern trainings only, with their defaults
OF_TRAININGS = {
    option_field.flag: default
    for name, (option_field, default) in _SHARED.items()
    if name not in _OF_TESTS
}

#: options whose value must not be empty
NAMING = (
    *(
        option_field.flag
        for option_field, default in _SHARED.values()
        if isinstance(default, str | None)
    ),
    "--detail", "--evidence", "--rlregress-report",
    *(f"--{name}" for name in frameworks.list_framework_names()),
)  # fmt: skip


def add_suite_options(parser: pytest.Parser) -> None:
    """Add the options of the suite to pytest."""
    group = parser.getgroup("rlregress", "regression tests of reinforcement-learning frameworks")
    for name, (declared, usual) in _SHARED.items():
        default = _DEFAULTS.get(name, usual)
        how: dict[str, Any] = {
            "default": default,
            "help": _format_help_text(declared.help, default, usual),
        }
        if isinstance(default, bool):
            how["action"] = "store_true"
        else:
            how |= {
                "type": type(default) if default is not None else str,
                "metavar": declared.metavar,
            }
        group.addoption(declared.flag, **how)
    group.addoption(
        "--detail",
        metavar="IDS",
        help="only tests of these details: ids or their beginnings (sac, sac.critic_loss)",
    )
    group.addoption(
        "--unpinned", action="store_true", help="do not limit a training to one thread (slow)"
    )
    group.addoption(
        "--random-seed",
        type=int,
        default=0,
        help="number added to the seeds of probes and of behaviour tests (default: 0)",
    )
    for adapter in frameworks.list_adapters():
        if adapter.framework.checkout:
            group.addoption(
                f"--{adapter.name}",
                default="",
                help=f"folder of a checkout of {adapter} (default: {adapter.framework.checkout})",
            )
    group.addoption(
        "--progress",
        action="store_true",
        help="print the progress of each tier, not a letter for each test",
    )
    group.addoption("--evidence", default="", help="JSON file to write the evidence to")
    group.addoption(
        "--rlregress-report",
        default="",
        metavar="FOLDER",
        help="folder to write the report of rlregress check to",
    )


def _format_help_text(help_text: str, default: Any, usual_default: Any) -> str:
    help_text = f"{help_text[0].lower()}{help_text[1:].rstrip('.')}"
    return help_text.replace(f"default: {usual_default}", f"default: {default}")
