"""A real Slurm on this host for the time of a test: its daemons as plain processes of one user.

Nothing outside of its folder is read or written. Nodes are daemons on ports of their own, each of
which claims more cores than the host has. Arrays are small, so that few runs are split. A task that
is requeued waits for as long as a credential holds: 5 s here, the least that Slurm takes.
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NODES, CORES, MAX_ARRAY_SIZE = 2, 8, 3
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
KillWait=30
ReturnToService=2
MaxArraySize={size}
MinJobAge=600
AccountingStorageType=accounting_storage/none
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs={cores} \
RealMemory=64000
PartitionName=main Nodes=ALL Default=YES DefaultTime=60 MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """What of Slurm is not installed; empty: nothing."""
    absent = [name for name in _DAEMONS if shutil.which(name, path=_PATH) is None]
    install = "apt-get install --no-install-recommends slurm-wlm munge"
    return f"no {', '.join(absent)}; to install: {install}" if absent else ""


def until(true: Callable[[], object], seconds: float, what: str) -> None:
    """Wait until something is true; an AssertionError that says what was not, if it never is."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"after {seconds:.0f} s: {what}"
        time.sleep(0.02)


def _ports(count: int) -> int:
    """The first of so many free ports in a row, below those that the system gives away."""
    for first in range(17000 + os.getpid() % 1000 * 10, 30000, count):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for number, each in enumerate(sockets):
                each.bind(("127.0.0.1", first + number))
            return first
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
    raise AssertionError("no free ports")


def _ask(environment: dict[str, str], *command: str) -> str:
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    return ended.stdout if ended.returncode == 0 else ""


@contextmanager
def running(folder: Path) -> Iterator[dict[str, str]]:
    """A Slurm that runs; the environment in which its commands find it."""
    folder.chmod(0o755)
    (folder / "state").mkdir()
    port = _ports(NODES + 1)
    configuration = folder / "slurm.conf"
    configuration.write_text(
        _CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0], port=port, first=port + 1,
            last=port + NODES, user=getpass.getuser(), folder=folder, size=MAX_ARRAY_SIZE,
            nodes=NODES, cores=CORES,
        )
    )  # fmt: skip
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(secrets.token_bytes(128))
    environment = {**os.environ, "PATH": _PATH, "SLURM_CONF": str(configuration)}
    names = [f"n{number + 1}" for number in range(NODES)]
    munged = ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket"]
    munged += [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "seed", "log")]
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str) -> None:
        log = open(folder / f"{len(started)}.log", "wb")  # noqa: SIM115
        with log:
            started.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    try:
        start(*munged)
        until((folder / "munge.socket").exists, 30, "munged has no socket")
        start("slurmctld", "-D")
        for name in names:
            start("slurmd", "-D", "-N", name)
        until(
            lambda: _ask(environment, "sinfo", "-h", "-N", "-o", "%t").split() == ["idle"] * NODES,
            60,
            f"the nodes are not idle; see {folder}",
        )
        yield environment
    finally:
        _ask(environment, "scancel", f"--user={getpass.getuser()}")
        # what a task has started outlives the daemon of its node
        end = time.monotonic() + 20
        while _ask(environment, "squeue", "-h").strip() and time.monotonic() < end:
            time.sleep(0.1)
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
