"""Files that past releases wrote, loaded with what is installed.

Whoever upgrades has trained before. Each kind of file of ``baselines/saved`` is loaded. Its
parameters, settings and actions, the next update and a continued training are those that the
release recorded with it, or differ as its documentation says.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.inside import saved_files_worker
from rlregress.model.loaded_files import describe_outcomes_by_release
from rlregress.upgrade.evidence import saved_store


@pytest.mark.without_cells
def test_files_of_past_releases_do_the_same(
    framework: Adapter, algorithm: str, stored_kind: str, evidence: Callable[..., None]
) -> None:
    """No file fails to load, or has become something else, but as documented.

    Raises:
        UserError: a file of the store is damaged, which says nothing of the framework.
    """
    files = list(
        saved_store.compare_stored_files(framework, stored_kind, saved_files_worker.save_and_load)
    )
    evidence(old_files={"kind": stored_kind, "found": describe_outcomes_by_release(files)})
    if failed := [file for file in files if file.failure]:
        kind = UserError if all(file.refused for file in failed) else AssertionError
        raise kind(f"old files `{stored_kind}`: {'; '.join(describe_outcomes_by_release(failed))}")
    if all(file.skipped for file in files):
        pytest.skip("; ".join(describe_outcomes_by_release(files)))
