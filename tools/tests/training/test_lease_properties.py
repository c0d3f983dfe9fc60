"""Any order of claims, heartbeats, pauses, deaths and results, on files: a run has one holder.

A model of what the files have to say stands beside a real store. Hosts are names that leases give
as their machine; time passes as leases become older.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from rlregress.errors import UserError
from rlregress.inside import run_record
from rlregress.training import lease
from rlregress.training.lease import STALE_SECONDS
from rlregress.training.store import Attempt, Store

from .test_records import content, job

SEEDS, HOSTS = st.sampled_from((0, 1)), st.sampled_from(("one", "two"))
#: seconds of which no sum is the age at which a lease is over.
PAUSES = st.sampled_from((11, 311))
RETURNS = st.sampled_from((1.0, 2.0))


@dataclass
class Trying:
    """An attempt, and whether it is alive and believes that it holds its run.

    Attributes:
        silent: seconds since its heart has last beaten.
    """

    seed: int
    host: str
    attempt: Attempt
    silent: int = 0
    holds: bool = True


@dataclass
class LeaseState:
    """The expected content of the file of a lease."""

    by: Trying
    age: int = 0
    is_over: bool = False
    killed: bool = False


class Leases(RuleBasedStateMachine):
    """Two hosts and two runs."""

    attempts = Bundle("attempts")

    @initialize()
    def begin(self) -> None:
        """An empty store; no heart beats by itself."""
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(lease, "BEAT_SECONDS", 3600.0)
        self.store = Store(Path(tempfile.mkdtemp()))
        self.all: list[Trying] = []
        self.lease_states: dict[int, LeaseState] = {}
        #: seed -> age of what a replacement that died has left
        self.rights: dict[int, int] = {}
        #: seed -> returns, in the order in which they were put
        self.results: dict[int, list[float]] = {0: [], 1: []}

    def _lease(self, seed: int) -> Path:
        return self.store.locate_record(job(seed)).with_suffix(".lease")

    def _right(self, seed: int) -> Path:
        return self._lease(seed).with_name(f"{self._lease(seed).name}.over")

    @rule(target=attempts, seed=SEEDS, host=HOSTS)
    def claim(self, seed: int, host: str) -> Any:
        """Whoever asks gets a run that nobody has, or whose holder is over, and no other."""
        return self._claimed(seed, host)

    def _claimed(self, seed: int, host: str) -> Any:
        self.patch.setattr(lease, "_identify_machine", lambda: host)
        state = self.lease_states.get(seed)
        over = state is None or state.is_over
        over = over or (state.killed if state.by.host == host else state.age > STALE_SECONDS)
        in_the_way = state is not None and over and seed in self.rights
        attempt_found = self.store.claim_run(job(seed))
        assert (attempt_found is not None) == (over and not in_the_way)
        if in_the_way and self.rights[seed] > STALE_SECONDS:
            del self.rights[seed]
        if attempt_found is None:
            return multiple()
        restarts = state.by.attempt.lease.holder.restarts + 1 if state else 0
        assert attempt_found.convert_to_plain_data()["restarts"] == restarts
        trying = Trying(seed, host, attempt_found)
        self.all.append(trying)
        self.lease_states[seed] = LeaseState(trying)
        return trying

    @rule(trying=attempts)
    def beat(self, trying: Trying) -> None:
        """A heart keeps its lease, or sees that another attempt has it."""
        if not trying.holds:
            return
        state = self.lease_states.get(trying.seed)
        mine = state is None or state.by is trying
        assert trying.attempt.lease._renew_lease() == mine
        assert trying.attempt.lease.is_lost != mine
        trying.holds, trying.silent = mine, 0
        if mine:
            self.lease_states[trying.seed] = LeaseState(trying)

    @rule(seconds=PAUSES)
    def pause(self, seconds: int) -> None:
        """Time passes, and no heart beats in it."""
        for seed in (0, 1):
            for path in (self._lease(seed), self._right(seed)):
                if path.exists():
                    os.utime(path, (path.stat().st_mtime - seconds,) * 2)
        for state in self.lease_states.values():
            state.age += seconds
        for trying in self.all:
            trying.silent += seconds
        self.rights = {seed: age + seconds for seed, age in self.rights.items()}

    @rule(trying=consumes(attempts))
    def kill(self, trying: Trying) -> None:
        """A process ends without a word: its host can see that, others cannot."""
        trying.holds = False
        trying.attempt.lease._ended.set()
        state = self.lease_states.get(trying.seed)
        if state and state.by is trying and not state.is_over:
            path = self._lease(trying.seed)
            written = path.stat().st_mtime
            last_holder = lease.read_holder(path)
            assert last_holder is not None
            trying.attempt.lease._write_lease_file(
                replace(last_holder, begun=last_holder.begun - 1)
            )
            os.utime(path, (written,) * 2)
            state.killed = True

    @rule(target=attempts, trying=attempts)
    def overtake(self, trying: Trying) -> Any:
        """Another host asks for a run whose holder has been silent for long, and lives on."""
        self.pause(311)
        return self._claimed(trying.seed, "two" if trying.host == "one" else "one")

    @rule(seed=SEEDS)
    def die_amid_a_replacement(self, seed: int) -> None:
        """The remains of a dead replacement block the lease for a while."""
        if seed in self.lease_states and seed not in self.rights:
            self._right(seed).touch()
            self.rights[seed] = 0

    @rule(trying=consumes(attempts), final_return=RETURNS)
    def finish(self, trying: Trying, final_return: float) -> None:
        """An attempt that ends, in time or late, never overwrites a result."""
        results, run = self.results[trying.seed], job(trying.seed)
        fields = {"final_return": final_return, "time": {"wall_seconds": float(len(results))}}
        with trying.attempt:
            is_first = self.store.put_record_of_attempt(
                run, content(run) | fields, trying.attempt.id
            )
            assert is_first == (not results)
        results.append(final_return)
        self._gives_back(trying, is_over=False)

    @rule(trying=consumes(attempts))
    def stop(self, trying: Trying) -> None:
        """An attempt that ends in an error says so, if the lease is still its own."""
        with pytest.raises(UserError), trying.attempt:
            raise UserError("no room")
        self._gives_back(trying, is_over=True)

    def _gives_back(self, trying: Trying, is_over: bool) -> None:
        trying.holds = False
        state = self.lease_states.get(trying.seed)
        if state and state.by is trying:
            if is_over:
                assert self.store.read_lease_holder(job(trying.seed).name)[0].ended == "no room"
                self.lease_states[trying.seed] = LeaseState(trying, is_over=True)
            else:
                del self.lease_states[trying.seed]

    @invariant()
    def a_run_has_one_holder(self) -> None:
        """Among live attempts at most one holds a run, and the lease names it."""
        for seed in (0, 1):
            holders = [trying for trying in self.all if trying.seed == seed and trying.holds]
            alive = [trying for trying in holders if trying.silent <= STALE_SECONDS]
            assert len(alive) <= 1
            holder, state = lease.read_holder(self._lease(seed)), self.lease_states.get(seed)
            assert (holder and holder.attempt) == (state and state.by.attempt.id)
            assert all(state is not None and state.by is trying for trying in alive)

    @invariant()
    def no_result_is_lost(self) -> None:
        """The first is the record, and another one is beside it."""
        for seed, results in self.results.items():
            path = self.store.locate_record(job(seed))
            record = self.store.find_record(job(seed))
            assert (record and record["final_return"]) == (results[0] if results else None)
            assert record is None or record["time"] == {"wall_seconds": 0.0}
            records = [record] if record else []
            records += map(
                run_record.read_record_content, path.parent.glob(f"{path.stem}.*.duplicate")
            )
            returns = [record["final_return"] for record in records]
            assert sorted(returns) == sorted(set(results))

    def teardown(self) -> None:
        """End the threads of those that are left."""
        for trying in self.all:
            trying.attempt.lease._ended.set()
        self.patch.undo()
        shutil.rmtree(self.store.folder)


TestLeases = Leases.TestCase
#: a shorter example of a failure would be looked for among files for minutes
TestLeases.settings = settings(
    max_examples=15, stateful_step_count=30, phases=(Phase.reuse, Phase.generate)
)
