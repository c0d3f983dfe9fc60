"""``rlregress gate --from A --to B``: one verdict, one report."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rlregress.errors import UserError
from rlregress.reporting.upgrade_data import as_json
from rlregress.reporting.upgrade_text import headline, lines, not_reached
from rlregress.training.record import check_writable, write_atomically
from rlregress.upgrade import gate
from rlregress.upgrade.found import Upgrade
from rlregress.upgrade.gate import Options

#: where GitHub Actions shows a summary.
_PLATFORM_SUMMARY = "GITHUB_STEP_SUMMARY"


def write(found: Upgrade, folder: Path) -> None:
    """Write ``upgrade.md`` and ``upgrade.json``, and the summary where the platform shows it."""
    text = "\n".join([*lines(found), *not_reached(found)]) + "\n"
    data = json.dumps(as_json(found), indent=1, default=str) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "upgrade.json", data)
        write_atomically(folder / "upgrade.md", text)
        if os.environ.get(_PLATFORM_SUMMARY):
            with Path(os.environ[_PLATFORM_SUMMARY]).open("a", encoding="utf-8") as summary:
                summary.write(text)
    except OSError as error:
        raise UserError(f"the report cannot be written to {folder}: {error}") from None


def judge(options: Options) -> int:
    """Run the gate, print and write its report; the exit code."""
    # the last report stays until there is another
    check_writable(options.report, "the report")
    found = gate.run(options)
    write(found, options.report)
    options.say("")
    for line in lines(found):
        options.say(line)
    unreached = ", which also lists what the traces did not reach," if found.traced else ""
    options.say(f"report: {options.report} (upgrade.md{unreached} and upgrade.json)")
    options.say(f"verdict {found.a.wanted.text} -> {found.b.wanted.text}: {headline(found)}")
    return found.exit_code
