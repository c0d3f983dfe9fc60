"""Parts of a framework that no check covers: its adapter lacks them, or the command leaves them
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rlregress.frameworks.base import Adapter
from rlregress.probing.trace_trainings import is_title_of_generated_calls
from rlregress.upgrade.upgrade_options import Options


def list_unchecked_subjects(
    adapter: Adapter, options: Options, left_out: Sequence[str], trainings: Iterable[str]
) -> Iterator[str]:
    """Yield a sentence for each kind of check that does not cover this framework.

    Args:
        left_out: families of details that were not probed.
        trainings: titles of the built-in trainings.
    """
    if options.script is not None:
        if left_out:
            yield f"details of {', '.join(left_out)}, of which the script executes nothing"
        return
    if options.only_scenarios:
        return
    titles = list(trainings)
    lacks = {
        "files of older versions": options.files and not adapter.load,
        "scenarios": not any(" " in title for title in titles),
        "generated calls": not any(map(is_title_of_generated_calls, titles)),
        "defaults of public classes": not adapter.framework.public
        and not adapter.framework.checkout,
        "returns": options.returns and not adapter.framework.algorithms,
    }
    if names := [name for name, is_lacking in lacks.items() if is_lacking]:
        yield f"{', '.join(names)}: its adapter has none"
    all_titles, selected = (
        {word for title in title_group for word in title.partition(" ")[0].split("_")}
        for title_group in (titles, filter(options.includes_scenario, titles))
    )
    for name in options.algorithms or (
        *adapter.framework.algorithms,
        *adapter.framework.behavior_only,
    ):
        if not adapter.framework.do_words_name_algorithm(name, selected):
            why = "none is built in"
            if adapter.framework.do_words_name_algorithm(name, all_titles):
                why = "only scenarios are built in, and none of them was chosen"
            yield f"trainings of {name}: {why}; its details and defaults are compared"
