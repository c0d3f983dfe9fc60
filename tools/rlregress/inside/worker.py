"""Runs one training in one process on one core.

``python -m rlregress.inside.worker JOB CHECKPOINT RECORD`` continues from the checkpoint if there
is one, and writes the record of the training.

The process that starts it sets the thread limits of the numerical libraries, which read them once,
when they are loaded.
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
#: arithmetic of a run: chosen by the libraries on each machine, or the same bits on all
NATIVE, PORTABLE = "native", "portable"
#: exit status: the run is not done, and the framework is not why; the last line says the reason
NOT_DONE = 4
#: ending of a file beside the record: the training runs, and the framework may be what ends it
BEGUN = ".begun"
#: errors of the operating system that are accidents of the machine
_MACHINE_ERRNOS = {
    getattr(errno, name, 0)
    for name in (
        "EAGAIN", "EDQUOT", "EFBIG", "EIO", "EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "ENOTCONN",
        "EREMOTEIO", "EROFS", "ESTALE", "ETIMEDOUT",
    )
}  # fmt: skip
#: messages of the same in other errors, such as those of torch and of threads
_MACHINE_MESSAGES = (
    "allocate memory", "out of memory", "No space left on device", "can't start new thread",
)  # fmt: skip


def measure_peak_mib() -> float:
    """Return the largest resident memory of this process, in MiB."""
    # ru_maxrss of a process begins with that of its parent
    try:
        rows = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM:")) / 1024
    except (OSError, StopIteration):
        unit = 1024**2 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def digest_parameters(parameters: Mapping[str, Any]) -> str:
    """Return the SHA-256 over names, types, shapes and bytes of all parameters, sorted by name."""
    digest = hashlib.sha256()
    for name in sorted(parameters):
        array = parameters[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


class MachineFailure(Exception):
    """A failure of the machine has ended a training; the message says which."""


def raise_if_machine_failed(error: BaseException) -> None:
    """Raise MachineFailure if an error, or one of its causes, is a failure of the machine."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        is_machine_error = isinstance(cause, RuntimeError) and any(
            text in str(cause) for text in _MACHINE_MESSAGES
        )
        machine = isinstance(cause, OSError) and cause.errno in _MACHINE_ERRNOS
        if machine or is_machine_error or isinstance(cause, MemoryError):
            raise MachineFailure(f"{type(cause).__name__}: {cause}")
        cause = cause.__cause__ or cause.__context__


class _TrainingMonitor:
    """Evaluates a training at the protocol's steps and reports progress; the adapter calls it."""

    def __init__(
        self, evaluator: Any, protocol: dict[str, int], progress: Path, keeper: Any
    ) -> None:
        self._evaluator, self._keeper = evaluator, keeper
        self._progress = progress
        self._total = protocol["total_steps"]
        interval = protocol["evaluate_every"]
        # the last evaluation comes after the training
        self._evaluations = list(range(interval, self._total, interval))
        self._started = time.perf_counter()
        self._cpu_started = time.process_time()
        self.curve: list[list[Any]] = []
        #: CPU seconds of the training up to each evaluation, and of the evaluation itself
        self.curve_cpu_seconds: list[list[float]] = []
        self._critic_cpu_seconds = 0.0
        #: of the earlier processes of this training, in MiB
        self.peak_mib = 0.0

    @property
    def seconds(self) -> tuple[float, float]:
        """Return wall and CPU seconds so far, including earlier processes of this training."""
        return time.perf_counter() - self._started, time.process_time() - self._cpu_started

    def make_resume_state(self) -> dict[str, Any]:
        """Return the state for a process that continues the training."""
        wall, cpu = self.seconds
        return {
            "wall_seconds": wall,
            "cpu_seconds": cpu,
            "keeping_cpu_seconds": self._keeper.cpu_seconds,
            "peak_mib": max(self.peak_mib, measure_peak_mib()),
            "curve": self.curve,
            "curve_cpu_seconds": self.curve_cpu_seconds,
        }

    def resume_from_state(self, steps: int, state: Mapping[str, Any]) -> None:
        """Continue from the state of an earlier process, made after ``steps`` environment steps."""
        self._started -= state["wall_seconds"]
        self._cpu_started -= state["cpu_seconds"]
        self._keeper.cpu_seconds = state["keeping_cpu_seconds"]
        self.peak_mib = state["peak_mib"]
        self.curve, self.curve_cpu_seconds = state["curve"], state["curve_cpu_seconds"]
        self._evaluations = [evaluation for evaluation in self._evaluations if evaluation > steps]
        self._report_progress(steps)

    @property
    def evaluation_cpu_seconds(self) -> float:
        """Return CPU seconds of all evaluations so far, and of assessing the critic."""
        return self._critic_cpu_seconds + sum(spent for _, spent in self.curve_cpu_seconds)

    def list_checkpoints(self) -> list[int]:
        """Return the environment steps after which the adapter calls this object."""
        step = max(1, self._total // PROGRESS_REPORTS)
        return sorted(set(self._evaluations) | set(range(step, self._total, step)))

    def evaluate(self, steps: int, policy: Any) -> list[Any]:
        """Evaluate a policy after ``steps`` environment steps; return the episodes."""
        started = time.process_time()
        other_seconds = self.evaluation_cpu_seconds + self._keeper.cpu_seconds
        training = started - self._cpu_started - other_seconds
        episodes = self._evaluator.play_episodes(policy)
        evaluation = time.process_time() - started
        self.curve_cpu_seconds.append([round(training, 2), round(evaluation, 2)])
        self.curve.append([steps, [episode.total for episode in episodes]])
        return episodes

    def assess_critic(self, episodes: list[Any], value: Any, discount: float) -> dict[str, Any]:
        """Return the accuracy of a critic; see ``critic.compare_critic_with_returns``."""
        from rlregress.inside.critic import compare_critic_with_returns

        started = time.process_time()
        critic = asdict(compare_critic_with_returns(episodes, value, discount))
        self._critic_cpu_seconds = time.process_time() - started
        return critic

    def __call__(self, steps: int, policy: Any) -> None:
        if self._evaluations and steps >= self._evaluations[0]:
            while self._evaluations and steps >= self._evaluations[0]:
                self._evaluations.pop(0)
            self.evaluate(steps, policy)
        self._report_progress(steps)

    def _report_progress(self, steps: int) -> None:
        wall, _ = self.seconds
        report = {"steps": steps, "total_steps": self._total, "wall_seconds": round(wall, 1)}
        temporary = self._progress.with_suffix(".tmp")
        # a full disk must not end the training
        with suppress(OSError):
            temporary.write_text(json.dumps(report), encoding="utf-8")
            os.replace(temporary, self._progress)


class _Run:
    """One training of a cell, new or continued from a checkpoint, with its evaluation and record.

    Args:
        progress: file with the progress; drafts of checkpoints are written beside it.
        checkpoint: file that the training continues from, if it exists, and is saved to.
    """

    def __init__(self, job: dict[str, Any], progress: Path, checkpoint: Path) -> None:
        from rlregress import frameworks
        from rlregress.inside import machine
        from rlregress.inside.checkpoint import CheckpointWriter, make_checkpoint_identity
        from rlregress.inside.episodes import Episodes
        from rlregress.inside.evaluation import Evaluator
        from rlregress.inside.identity import digest_module_sources
        from rlregress.inside.trail import Trail

        self._job, self._progress = job, progress
        self._cell, self._protocol = job["cell"], job["protocol"]
        self._adapter = frameworks.get_adapter(self._cell["framework"])
        self._trail = None
        # digests along the way are for runs that are repeated on other machines
        if job["arithmetic"] == PORTABLE:
            self._trail = Trail(self._cell["algorithm"], self._adapter.code.list_code_folders())
        # a trail covers the whole training or is useless
        self._no_resume = self._adapter.train.explain_why_not_resumable() or (
            "a replay is done at once" if self._trail else ""
        )
        suite = digest_module_sources("rlregress.inside")
        self._keeper = CheckpointWriter(
            checkpoint, progress.with_suffix(".draft"), make_checkpoint_identity(job["key"], suite)
        )
        self._episodes = Episodes()
        self._evaluator = Evaluator(
            self._make_training_environment, self._protocol["evaluation_episodes"]
        )
        self._monitor = _TrainingMonitor(self._evaluator, self._protocol, progress, self._keeper)
        self._restart_reason = ""
        #: entries of the record; ``failure``: the end of its traceback, if an error ended it
        self._results: dict[str, Any] = {
            "failure": "",
            "steps": 0,
            "parameters_sha256": None,
            "critic": None,
            "diagnostics": None,
            "episode_returns": [],
        }
        #: of all processes that have done a part of the training
        self._story: dict[str, Any] = {
            "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machines": [machine.describe_machine()],
            "continued": [],
        }

    def _make_training_environment(self) -> Any:
        import gymnasium

        return gymnasium.make(self._cell["environment"])

    def _resume_from_checkpoint(self) -> Any:
        """Continue from the checkpoint; return the adapter's part of it, None if there is none."""
        from rlregress.inside import machine
        from rlregress.probing.random_generators import restore_generator_states

        head: Mapping[str, Any] = {}
        state = None
        if not self._no_resume:
            head, state, self._restart_reason = self._keeper.read_or_set_aside_checkpoint()
        self._keeper.more = self._make_head_and_worker_part_of_checkpoint
        if state is None:
            return None
        self._episodes, self._story = state["episodes"], state["story"]
        self._story["continued"].append({name: head[name] for name in ("steps", "attempt", "host")})
        self._story["machines"].append(machine.describe_machine())
        self._monitor.resume_from_state(head["steps"], state["watch"])
        restore_generator_states(state["random"])
        return state["training"]

    def _make_head_and_worker_part_of_checkpoint(
        self, steps: int
    ) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the head of a checkpoint, and the content besides the adapter's part."""
        head = {
            "attempt": self._progress.parent.name,
            "host": platform.node(),
            "total_steps": self._protocol["total_steps"],
            "wall_seconds": round(self._monitor.seconds[0], 1),
        }
        content = {
            "episodes": self._episodes,
            "watch": self._monitor.make_resume_state(),
            "story": self._story,
        }
        return head, content

    def train_and_evaluate(self) -> None:
        """Train and evaluate; an error of the framework is a result.

        Raises:
            MachineFailure: the machine has failed the training.
        """
        from rlregress.probing.interface import TrainingRequest

        request = TrainingRequest(
            algorithm=self._cell["algorithm"],
            make_env=self._make_recording_environment,
            hyperparameters=self._job["hyperparameters"],
            total_steps=self._protocol["total_steps"],
            seed=self._job["seed"],
            checkpoints=self._monitor.list_checkpoints(),
            on_checkpoint=self._monitor,
            keep=self._keeper,
            kept=self._resume_from_checkpoint(),
        )
        self._progress.with_suffix(BEGUN).touch()
        try:
            if self._trail is not None:
                # some frameworks do not seed Python's generator
                random.seed(self._job["seed"])
            # a training without checkpoints must end at once when it is stopped
            with nullcontext() if self._no_resume else self._keeper, self._trail or nullcontext():
                trained = self._adapter.train.train(request)
            self._evaluate_trained_policy(trained)
        except Exception as error:
            raise_if_machine_failed(error)
            # a training that ends in an error is a result, a failed run
            self._results["failure"] = traceback.format_exc(limit=-6)

    def _make_recording_environment(self) -> Any:
        environment = self._make_training_environment()
        return self._episodes.wrap_environment(
            self._trail.wrap_environment(environment) if self._trail else environment
        )

    def _evaluate_trained_policy(self, trained: Any) -> None:
        import numpy as np

        from rlregress.inside.diagnostics import average_diagnostics_at_end
        from rlregress.inside.run_record import convert_non_finite_to_none

        results = self._results
        results["steps"] = trained.steps
        results["parameters_sha256"] = digest_parameters(trained.parameters)
        results["diagnostics"] = average_diagnostics_at_end(
            self._cell["algorithm"], trained.diagnostics
        )
        returns = [e.total for e in self._monitor.evaluate(trained.steps, trained.policy)]
        results["episode_returns"] = [convert_non_finite_to_none(r) for r in returns]
        if not np.all(np.isfinite(returns)):
            results["failure"] = "diverged: the evaluation after the training is not finite"
        elif latest := self._episodes.list_latest_episodes():
            discount = self._job["hyperparameters"]["discount"]
            results["critic"] = self._monitor.assess_critic(latest, trained.value, discount)

    def make_run_record(self) -> dict[str, Any]:
        import numpy as np

        from rlregress.inside.episodes import compute_learning_curve, compute_return_of_last_third
        from rlregress.inside.run_record import SCHEMA, convert_non_finite_to_none

        results, monitor = self._results, self._monitor
        failure, steps = results["failure"], results["steps"]
        wall, cpu = monitor.seconds
        self._evaluator.close_environments()
        finished = self._episodes.finished
        episodes = [[at, convert_non_finite_to_none(r), length] for at, r, length in finished]
        return {
            **results,
            "schema": SCHEMA,
            "job": self._job,
            "key": self._job["key"],
            "status": "failed" if failure else "finished",
            "curve": [
                [at, [convert_non_finite_to_none(r) for r in returns]]
                for at, returns in monitor.curve
            ],
            "curve_cpu_seconds": monitor.curve_cpu_seconds,
            "episodes": episodes,
            "learning_curve": compute_learning_curve(episodes, self._protocol["total_steps"]),
            "final_return": None if failure else float(np.mean(results["episode_returns"])),
            "training_return": None if failure else compute_return_of_last_third(finished, steps),
            "trail": self._trail and self._trail.describe_trail(),
            "platform": self._describe_platform(),
            "memory": {"peak_mib": round(max(monitor.peak_mib, measure_peak_mib()), 1)},
            "attempt": {"continued": self._story["continued"], "begun_anew": self._restart_reason},
            "time": self._describe_time(wall, cpu, steps),
        }

    def _describe_platform(self) -> dict[str, Any]:
        import torch

        from rlregress.inside import arithmetic, machine

        # a framework may have set another number of threads
        described = {
            **machine.join_machine_descriptions(self._story["machines"]),
            "torch_threads": torch.get_num_threads(),
        }
        if self._trail:
            # as the libraries report it, and not as the variables ask for it
            reported = arithmetic.read_arithmetic_of_libraries()
            described["arithmetic"] = arithmetic.explain_not_portable(reported) or PORTABLE
        return described

    def _describe_time(self, wall: float, cpu: float, steps: int) -> dict[str, Any]:
        evaluation, keeping = self._monitor.evaluation_cpu_seconds, self._keeper.cpu_seconds
        training_cpu = cpu - evaluation - keeping
        return {
            "started_at": self._story["started_at"],
            "wall_seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "evaluation_cpu_seconds": round(evaluation, 2),
            "checkpoint_cpu_seconds": round(keeping, 2),
            "steps_per_cpu_second": round(steps / training_cpu, 1) if training_cpu > 0 else None,
        }


def train_job(job: dict[str, Any], progress: Path, checkpoint: Path) -> dict[str, Any]:
    """Train and evaluate as ``job`` says; return the content of a run record.

    Args:
        progress, checkpoint: as of ``_Run``.
    """
    # before the clock of the training starts
    import gymnasium  # noqa: F401
    import torch

    from rlregress.inside import diagnostics  # noqa: F401

    if os.environ.get("OMP_NUM_THREADS") == "1":
        torch.set_num_threads(1)
    training = _Run(job, progress, checkpoint)
    training.train_and_evaluate()
    return training.make_run_record()


def main(arguments: list[str]) -> int:
    """Do the run of a job; return 0 if its record was written, even if the training failed."""
    job_path, checkpoint_path, record_path = map(Path, arguments)
    job = json.loads(job_path.read_text(encoding="utf-8"))
    from rlregress import frameworks
    from rlregress.inside.identity import digest_tested_sources

    digests = digest_tested_sources(frameworks.get_adapter(job["cell"]["framework"]))
    for module, expected in job["sources"].items():
        observed = digests.get(module)
        if observed != expected:
            print(
                f"the worker of {job['cell']['framework']} would train other code than planned: "
                f"'{module}' has the digest {observed}, expected {expected}; was it changed "
                "meanwhile?"
            )
            return NOT_DONE
    from rlregress import files
    from rlregress.inside.checkpoint import UntrustedCheckpoint
    from rlregress.inside.run_record import write_record_with_checksum

    name = f"{job['cell']['framework']}-{job['cell']['algorithm']} seed {job['seed']}"
    try:
        content = train_job(job, record_path.with_suffix(".progress"), checkpoint_path)
        write_record_with_checksum(record_path, content)
    except UntrustedCheckpoint as error:
        print(error)
        return NOT_DONE
    except MachineFailure as error:
        print(f"the machine ended the training of {name} ({error}); start the run again")
        return NOT_DONE
    except OSError as error:
        print(
            f"the record of {name} could not be written to {record_path}: {error.strerror}; "
            f"{files.suggest_remedy_of_os_error(error, record_path.parent)}, and start the run "
            "again"
        )
        return NOT_DONE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
