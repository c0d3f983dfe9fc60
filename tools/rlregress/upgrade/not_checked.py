"""What of a framework no check is about: its adapter lacks it, or the command leaves it out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rlregress.frameworks.base import Adapter
from rlregress.upgrade import scenario_files
from rlregress.upgrade.upgrade_options import Options


def sentences(
    adapter: Adapter, options: Options, left_out: Sequence[str], trainings: Iterable[str]
) -> Iterator[str]:
    """What is not checked, in words, one kind a sentence.

    Args:
        left_out: algorithms whose details were not probed.
        trainings: names of the plain ones that are built in.
    """
    if options.script is not None:
        if left_out:
            yield f"details of {', '.join(left_out)}, of which the script executes nothing"
        return
    if options.only_scenarios:
        return
    scenarios = scenario_files.of(adapter)
    lacks = {
        "files of older versions": options.files and not adapter.saves_files,
        "scenarios": not scenarios,
        "generated calls": not any("calls" in scenario.features for scenario in scenarios),
        "defaults of public classes": not adapter.public and not adapter.checkout,
        "returns": options.returns and not adapter.algorithms,
    }
    if names := [name for name, is_lacking in lacks.items() if is_lacking]:
        yield f"{', '.join(names)}: its adapter has none"
    traced = {word for name in trainings for word in name.split("_")}
    traced |= {name for scenario in scenarios for name in scenario.algorithms}
    for name in options.algorithms or (*adapter.algorithms, *adapter.behavior_only):
        if not adapter.is_about(name, traced):
            yield f"trainings of {name}: none is built in; its details and defaults are compared"
