"""A real Slurm on this host for the time of a test: its daemons as plain processes of one user.

Nothing outside of its folder is read or written. Nodes are daemons on ports of their own, each of
which claims more cores than the host has. A task that is requeued waits for as long as a credential
holds: 5 s here, the least that Slurm takes. Partition ``urgent`` takes nodes from ``main``.
"""

from __future__ import annotations

import ctypes
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")

#: prctl(2): the signal that a process gets when the one that started it has ended.
_SIGNAL_OF_PARENT = 1
_DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch")
#: daemons lie where the shell of a user does not look.
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
SchedulerType=sched/builtin
KillWait={kill_wait}
ReturnToService=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
MaxArraySize={size}
MinJobAge=600
AccountingStorageType=accounting_storage/none
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs={cores} \
RealMemory=64000
PartitionName=main Nodes=ALL LLN=YES Default=YES PriorityTier=1 GraceTime=5 DefaultTime=60 \
MaxTime=INFINITE State=UP
PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF DefaultTime=60 MaxTime=INFINITE \
State=UP
"""


@dataclass(frozen=True)
class Site:
    """The shape of a cluster.

    Attributes:
        nodes, cores: how many nodes claim how many cores each.
        max_array_size: as Slurm has it; 1001 is its own.
        kill_wait: seconds from TERM to KILL.
    """

    nodes: int = 4
    cores: int = 24
    max_array_size: int = 1001
    kill_wait: int = 5


@dataclass
class Cluster:
    """A Slurm that runs.

    Attributes:
        environment: in which its commands find it.
        folder: of its daemons, with their output.
    """

    environment: dict[str, str]
    folder: Path
    _commands: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _started: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *command: str) -> None:
        """Start a daemon under a name."""
        self._commands[name] = command
        with open(self.folder / f"{name}.out", "ab") as log:
            self._started[name] = subprocess.Popen(
                command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # also if pytest is killed
                preexec_fn=lambda: ctypes.CDLL(None).prctl(_SIGNAL_OF_PARENT, signal.SIGKILL),
            )

    def crash(self, name: str) -> None:
        """``kill -9`` of a daemon, which is then started again."""
        self._started[name].kill()
        self._started[name].wait()
        self.start(name, *self._commands[name])

    def stop(self) -> None:
        """End all daemons, the last started first."""
        started = list(reversed(self._started.values()))
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def missing() -> str:
    """Return which programs of Slurm are not installed; empty: all are."""
    absent = [name for name in _DAEMONS if shutil.which(name, path=_PATH) is None]
    install = "apt-get install --no-install-recommends slurm-wlm munge"
    return f"no {', '.join(absent)}; to install: {install}" if absent else ""


def until(condition: Callable[[], Value | None], seconds: float, complaint: str) -> Value:
    """Wait for a true value and return it; an AssertionError has the complaint if none comes."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"after {seconds:.0f} s: {complaint}"
        time.sleep(0.02)
    return value


def _ports(count: int) -> int:
    """Return the first of so many free ports in a row, below those that the system gives away."""
    for first in range(17000 + os.getpid() % 1000 * 10, 30000, count):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for number, reserved in enumerate(sockets):
                reserved.bind(("127.0.0.1", first + number))
            return first
        except OSError:
            continue
        finally:
            for reserved in sockets:
                reserved.close()
    raise AssertionError("no free ports")


def _ask(environment: dict[str, str], *command: str) -> str:
    process = subprocess.run(command, env=environment, capture_output=True, text=True)
    return process.stdout if process.returncode == 0 else ""


@contextmanager
def running(folder: Path, site: Site) -> Iterator[Cluster]:
    """Yield a Slurm that runs in a folder."""
    folder.chmod(0o755)
    (folder / "state").mkdir()
    port = _ports(site.nodes + 1)
    configuration = folder / "slurm.conf"
    configuration.write_text(
        _CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0], port=port, first=port + 1,
            last=port + site.nodes, user=getpass.getuser(), folder=folder,
            size=site.max_array_size, nodes=site.nodes, cores=site.cores, kill_wait=site.kill_wait,
        )
    )  # fmt: skip
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(secrets.token_bytes(128))
    environment = {**os.environ, "PATH": _PATH, "SLURM_CONF": str(configuration)}
    munged = ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket"]
    munged += [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "seed", "log")]
    cluster = Cluster(environment, folder)
    try:
        cluster.start("munged", *munged)
        until((folder / "munge.socket").exists, 30, "munged has no socket")
        cluster.start("slurmctld", "slurmctld", "-D")
        for number in range(site.nodes):
            cluster.start(f"n{number + 1}", "slurmd", "-D", "-N", f"n{number + 1}")
        idle = ["idle"] * site.nodes
        requested = ("sinfo", "-h", "-N", "-p", "main", "-o", "%t")
        complaint = f"the nodes are not idle; see {folder}"
        until(lambda: _ask(environment, *requested).split() == idle, 60, complaint)
        yield cluster
    finally:
        _ask(environment, "scancel", f"--user={getpass.getuser()}")
        # what a task has started outlives the daemon of its node
        end = time.monotonic() + 20
        while _ask(environment, "squeue", "-h").strip() and time.monotonic() < end:
            time.sleep(0.1)
        cluster.stop()
