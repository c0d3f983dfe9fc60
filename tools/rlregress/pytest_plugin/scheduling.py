"""Distribution of tests over processes: those that share a training go to one process."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any

from xdist.scheduler import LoadScheduling

from rlregress import evidence


class SharingScheduling(LoadScheduling):
    """Sends each process, in the order of the tests, what no other process has begun.

    What others have begun comes last.
    """

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        self._owners: dict[str, Any] = {}

    def _send_tests(self, node: Any, num: int) -> None:
        free = (index for index in self.pending if not self._is_begun_elsewhere(index, node))
        first = list(islice(free, num))
        self.pending[:] = [*first, *(index for index in self.pending if index not in first)]
        for index in self.pending[:num]:
            self._owners.setdefault(self._shared(index), node)
        super()._send_tests(node, num)

    def _is_begun_elsewhere(self, index: int, node: Any) -> bool:
        owner = self._owners.get(self._shared(index), node)
        # a process may have died
        return owner is not node and owner in self.node2pending

    def _shared(self, index: int) -> str:
        assert self.collection is not None
        return shared_by(self.collection[index])


@cache
def shared_by(nodeid: str) -> str:
    """Return what a test has in common with all that need the same answer or the same training.

    That is a probe, or framework and algorithm.
    """
    tier, parameters = evidence.tier_of(nodeid), nodeid.partition("[")[2]
    if parameters and tier == "unit":
        return parameters
    if parameters and tier == "behavior":
        return "-".join(parameters.split("-")[:2]).rstrip("]")
    return nodeid
