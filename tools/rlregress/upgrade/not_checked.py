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
        left_out: families of details that were not probed.
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
    words = {word for name in trainings for word in name.split("_")}
    of_scenarios = {name for scenario in scenarios for name in scenario.algorithms}
    words |= {name for scenario in scenarios for name in scenario.algorithms
              if options.scenarios is None or scenario.name in options.scenarios}  # fmt: skip
    for name in options.algorithms or (*adapter.algorithms, *adapter.behavior_only):
        if not adapter.is_about(name, words):
            why = "only scenarios are built in, and none of them was chosen"
            why = why if name in of_scenarios else "none is built in"
            yield f"trainings of {name}: {why}; its details and defaults are compared"
