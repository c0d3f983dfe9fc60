"""One training in one process on one core: a call of ``main`` as a program.

``python -m rlregress.inside.worker JOB CHECKPOINT RECORD``: what to train, what it is continued
from if there is one, and where its record is written.

Runs inside foreign and old environments: standard library, NumPy, torch, gymnasium and the
framework only, Python 3.10 syntax. The process that starts it sets the thread limits of the
numerical libraries, which read them once, when they are loaded.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import random
import resource
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

PROGRESS_REPORTS = 20
#: arithmetic of a run: as the libraries choose it on the machine, or the same bits on all
NATIVE, PORTABLE = "native", "portable"
#: exit status: the run is not done, and no fault of the framework is why; the last line says it
NOT_DONE = 4
#: beside the record: the training has begun, and what ends it from here on may be the framework
BEGUN = ".begun"
#: errors of the operating system that are accidents of the machine
_OF_MACHINE = {
    getattr(errno, name, 0)
    for name in (
        "EAGAIN", "EDQUOT", "EFBIG", "EIO", "EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "ENOTCONN",
        "EREMOTEIO", "EROFS", "ESTALE", "ETIMEDOUT",
    )
}  # fmt: skip
#: the same in errors of other kinds, such as those of torch and of threads
_MACHINE_ERRORS = (
    "allocate memory", "out of memory", "No space left on device", "can't start new thread",
)  # fmt: skip


def peak_mib() -> float:
    """The most memory that this process has had resident, in MiB."""
    # ru_maxrss of a process begins with what the one that started it had
    try:
        rows = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM:")) / 1024
    except (OSError, StopIteration):
        unit = 1024**2 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def digest(parameters: Mapping[str, Any]) -> str:
    """SHA-256 over names, types, shapes and bytes of all parameters, sorted by name."""
    digest = hashlib.sha256()
    for name in sorted(parameters):
        array = parameters[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


class Accident(Exception):
    """The machine has failed a training; says how."""


def check_machine(error: BaseException) -> None:
    """Accident if an error says that the machine has failed, and not the framework."""
    chain: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in chain:
        chain.append(each)
        is_machine_error = isinstance(each, RuntimeError) and any(
            text in str(each) for text in _MACHINE_ERRORS
        )
        machine = isinstance(each, OSError) and each.errno in _OF_MACHINE
        if machine or is_machine_error or isinstance(each, MemoryError):
            raise Accident(f"{type(each).__name__}: {each}")
        each = each.__cause__ or each.__context__


class _Watch:
    """Evaluates at the protocol's steps and reports progress, at the adapter's checkpoints."""

    def __init__(
        self, evaluator: Any, protocol: dict[str, int], progress: Path, keeper: Any
    ) -> None:
        self._evaluator, self._keeper = evaluator, keeper
        self._progress = progress
        self._total = protocol["total_steps"]
        every = protocol["evaluate_every"]
        # the evaluation after the training is made when it has ended, not here
        self._evaluations = list(range(every, self._total, every))
        self._started = time.perf_counter()
        self._cpu_started = time.process_time()
        self.curve: list[list[Any]] = []
        #: CPU seconds of the training up to each evaluation, and of the evaluation itself
        self.curve_cpu_seconds: list[list[float]] = []
        self._critic_cpu_seconds = 0.0
        #: of the processes before this one, in MiB
        self.peak_mib = 0.0

    @property
    def seconds(self) -> tuple[float, float]:
        """Wall and CPU seconds of all that has been done, also by the processes before this one."""
        return time.perf_counter() - self._started, time.process_time() - self._cpu_started

    def kept(self) -> dict[str, Any]:
        """What another process that goes on with the training has to know."""
        wall, cpu = self.seconds
        return {
            "wall_seconds": wall,
            "cpu_seconds": cpu,
            "keeping_cpu_seconds": self._keeper.cpu_seconds,
            "peak_mib": max(self.peak_mib, peak_mib()),
            "curve": self.curve,
            "curve_cpu_seconds": self.curve_cpu_seconds,
        }

    def goes_on(self, steps: int, kept: Mapping[str, Any]) -> None:
        """Go on from what another process has kept after so many steps."""
        self._started -= kept["wall_seconds"]
        self._cpu_started -= kept["cpu_seconds"]
        self._keeper.cpu_seconds = kept["keeping_cpu_seconds"]
        self.peak_mib = kept["peak_mib"]
        self.curve, self.curve_cpu_seconds = kept["curve"], kept["curve_cpu_seconds"]
        self._evaluations = [evaluation for evaluation in self._evaluations if evaluation > steps]
        self._report(steps)

    @property
    def evaluation_cpu_seconds(self) -> float:
        """Of all evaluations so far, and of asking the critic."""
        return self._critic_cpu_seconds + sum(spent for _, spent in self.curve_cpu_seconds)

    def checkpoints(self) -> list[int]:
        step = max(1, self._total // PROGRESS_REPORTS)
        return sorted(set(self._evaluations) | set(range(step, self._total, step)))

    def evaluate(self, steps: int, policy: Any) -> list[Any]:
        started = time.process_time()
        besides = self.evaluation_cpu_seconds + self._keeper.cpu_seconds
        training = started - self._cpu_started - besides
        episodes = self._evaluator.episodes(policy)
        evaluation = time.process_time() - started
        self.curve_cpu_seconds.append([round(training, 2), round(evaluation, 2)])
        self.curve.append([steps, [episode.total for episode in episodes]])
        return episodes

    def assess(self, episodes: list[Any], value: Any, discount: float) -> dict[str, Any]:
        from rlregress.inside.critic import assess

        started = time.process_time()
        critic = asdict(assess(episodes, value, discount))
        self._critic_cpu_seconds = time.process_time() - started
        return critic

    def __call__(self, steps: int, policy: Any) -> None:
        if self._evaluations and steps >= self._evaluations[0]:
            while self._evaluations and steps >= self._evaluations[0]:
                self._evaluations.pop(0)
            self.evaluate(steps, policy)
        self._report(steps)

    def _report(self, steps: int) -> None:
        wall, _ = self.seconds
        report = {"steps": steps, "total_steps": self._total, "wall_seconds": round(wall, 1)}
        temporary = self._progress.with_suffix(".tmp")
        # a full disk is no error of the training
        with suppress(OSError):
            temporary.write_text(json.dumps(report), encoding="utf-8")
            os.replace(temporary, self._progress)


def run(job: dict[str, Any], progress: Path, checkpoint: Path) -> dict[str, Any]:
    """Train and evaluate as ``job`` says; returns the content of a run record.

    Args:
        progress: file that says how far it is; drafts of checkpoints are written beside it.
        checkpoint: what the training is continued from, if it is there, and kept in.
    """
    import gymnasium
    import numpy as np
    import torch

    if os.environ.get("OMP_NUM_THREADS") == "1":
        torch.set_num_threads(1)

    from rlregress import frameworks
    from rlregress.inside import arithmetic, machine, pickled
    from rlregress.inside.checkpoint import Keeper, identity
    from rlregress.inside.diagnostics import at_the_end
    from rlregress.inside.episodes import Episodes, late_return, learning_curve
    from rlregress.inside.evaluation import Evaluator
    from rlregress.inside.identity import source_digest
    from rlregress.inside.run_record import SCHEMA, finite_or_none
    from rlregress.inside.trail import Trail
    from rlregress.probing.interface import TrainingRequest

    cell, protocol = job["cell"], job["protocol"]
    adapter = frameworks.get(cell["framework"])

    def make_env() -> Any:
        return gymnasium.make(cell["environment"])

    # digests along the way serve runs that are repeated on other machines
    trail = (
        Trail(cell["algorithm"], adapter.code.folders()) if job["arithmetic"] == PORTABLE else None
    )
    # a part of a trail is none
    no_resume = adapter.train.no_resume_reason() or ("a replay is done at once" if trail else "")
    suite = source_digest("rlregress.inside")
    keeper = Keeper(checkpoint, progress.with_suffix(".draft"), identity(job["key"], suite))
    training_episodes = Episodes()
    evaluator = Evaluator(make_env, protocol["evaluation_episodes"])
    watch = _Watch(evaluator, protocol, progress, keeper)
    #: of all processes that have done a part of it
    story: dict[str, Any] = {
        "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machines": [machine.described()],
        "continued": [],
    }
    head, kept, begun_anew = ({}, None, "") if no_resume else keeper.take()
    if kept is not None:
        training_episodes, story = kept["episodes"], kept["story"]
        story["continued"].append({name: head[name] for name in ("steps", "attempt", "host")})
        story["machines"].append(machine.described())
        watch.goes_on(head["steps"], kept["watch"])
        pickled.set_random_state(kept["random"])

    def beside(steps: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Of a checkpoint, what its head says, and what it holds beside the training."""
        values = {
            "attempt": progress.parent.name,
            "host": platform.node(),
            "total_steps": protocol["total_steps"],
            "wall_seconds": round(watch.seconds[0], 1),
        }
        return values, {"episodes": training_episodes, "watch": watch.kept(), "story": story}

    keeper.more = beside
    failure = ""
    final: list[float] = []
    steps, parameters, critic, diagnostics = 0, None, None, None
    request = TrainingRequest(
        algorithm=cell["algorithm"],
        make_env=lambda: training_episodes.counted(
            trail.observed(make_env()) if trail else make_env()
        ),
        hyperparameters=job["hyperparameters"],
        total_steps=protocol["total_steps"],
        seed=job["seed"],
        checkpoints=watch.checkpoints(),
        on_checkpoint=watch,
        keep=keeper,
        kept=kept and kept["training"],
    )
    # the objects of the training are the adapter's alone
    kept = None
    progress.with_suffix(BEGUN).touch()
    try:
        # whoever tells one that cannot be kept to stop is not to wait
        if trail is not None:
            # Python's generator, which some frameworks leave as a process begins
            random.seed(job["seed"])
        with nullcontext() if no_resume else keeper, trail or nullcontext():
            trained = adapter.train.train(request)
        steps = trained.steps
        parameters = digest(trained.parameters)
        diagnostics = at_the_end(cell["algorithm"], trained.diagnostics)
        episodes = watch.evaluate(steps, trained.policy)
        final = [episode.total for episode in episodes]
        if not np.all(np.isfinite(final)):
            failure = "diverged: the evaluation after the training is not finite"
        else:
            discount = job["hyperparameters"]["discount"]
            latest = training_episodes.latest()
            critic = watch.assess(latest, trained.value, discount) if latest else None
    except Exception as error:
        check_machine(error)
        # a training that ends in an error is a result; it is judged as a failed run
        failure = traceback.format_exc(limit=-6)
    wall, cpu = watch.seconds
    evaluator.close()
    # what the libraries compute with, and not what they were asked for
    reported = arithmetic.report_arithmetic() if trail else {}
    ended = [[at, finite_or_none(r), length] for at, r, length in training_episodes.ended]
    training_cpu = cpu - watch.evaluation_cpu_seconds - keeper.cpu_seconds
    return {
        "schema": SCHEMA,
        "job": job,
        "key": job["key"],
        "status": "failed" if failure else "finished",
        "failure": failure,
        "curve": [[at, [finite_or_none(r) for r in returns]] for at, returns in watch.curve],
        "curve_cpu_seconds": watch.curve_cpu_seconds,
        "episodes": ended,
        "learning_curve": learning_curve(ended, protocol["total_steps"]),
        "final_return": None if failure else float(np.mean(final)),
        "episode_returns": [finite_or_none(r) for r in final],
        "training_return": None if failure else late_return(training_episodes.ended, steps),
        "critic": critic,
        "diagnostics": diagnostics,
        "trail": trail and trail.described(),
        "steps": steps,
        "parameters_sha256": parameters,
        # a framework may have set another number of threads
        "platform": {
            **machine.together(story["machines"]),
            "torch_threads": torch.get_num_threads(),
            **({"arithmetic": arithmetic.explain_native(reported) or PORTABLE} if trail else {}),
        },
        "memory": {"peak_mib": round(max(watch.peak_mib, peak_mib()), 1)},
        "attempt": {"continued": story["continued"], "begun_anew": begun_anew},
        "time": {
            "started_at": story["started_at"],
            "wall_seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "evaluation_cpu_seconds": round(watch.evaluation_cpu_seconds, 2),
            "checkpoint_cpu_seconds": round(keeper.cpu_seconds, 2),
            "steps_per_cpu_second": round(steps / training_cpu, 1) if training_cpu > 0 else None,
        },
    }


def main(arguments: list[str]) -> int:
    """Entry point; the exit status is 0 when a record was written, whatever it says."""
    job_path, checkpoint_path, record_path = map(Path, arguments)
    job = json.loads(job_path.read_text(encoding="utf-8"))
    from rlregress import frameworks
    from rlregress.inside.identity import sources

    here = sources(frameworks.get(job["cell"]["framework"]))
    for module, digest in job["sources"].items():
        found = here.get(module)
        if found != digest:
            print(
                f"the worker of {job['cell']['framework']} would train other code than planned: "
                f"'{module}' has the digest {found}, expected {digest}; was it changed meanwhile?"
            )
            return NOT_DONE
    from rlregress import files
    from rlregress.inside.checkpoint import Distrusted
    from rlregress.inside.run_record import write

    name = f"{job['cell']['framework']}-{job['cell']['algorithm']} seed {job['seed']}"
    try:
        content = run(job, record_path.with_suffix(".progress"), checkpoint_path)
        write(record_path, content)
    except Distrusted as error:
        print(error)
        return NOT_DONE
    except Accident as error:
        print(f"the machine has failed the training of {name} ({error}); start the run again")
        return NOT_DONE
    except OSError as error:
        print(
            f"the record of {name} could not be written to {record_path}: {error.strerror}; "
            f"{files.remedy(error, record_path.parent)}, and start the run again"
        )
        return NOT_DONE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
