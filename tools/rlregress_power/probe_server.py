"""Probe hundreds of faults: ``python -m rlregress_power.probe_server``.

One process measures which probe executes which line. A second process imports everything that is
not under test and forks a child for each fault. The child imports the changed copy of the framework
and probes the details that the fault can change. A job is a line of JSON on the standard input, its
result a line on the standard output.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rlregress.errors import UserError
from rlregress.faults.injection import find_fault_line, inject_fault
from rlregress.inside import process_tree
from rlregress.model.detail_answers import describe_variant
from rlregress.model.fault_results import Fault, FaultResult
from rlregress.training import worker_launch

_MODULE = "rlregress_power.probe_server"
#: limits of a process with a fault, in seconds of CPU and of time: some faults cause endless loops,
#: and some waits. All probes of a framework take a minute of a core.
PATIENCE = {signal.SIGXCPU: 300, signal.SIGALRM: 1800}


def probe_each_fault(
    framework: str, faults: Sequence[Fault], workers: int
) -> Iterator[FaultResult]:
    """Yield the probes' result for each fault, in the order of completion."""
    measured = subprocess.run(
        process_tree.make_supervised_command(
            [sys.executable, "-W", "ignore", "-m", _MODULE, "measure", framework]
        ),
        input=json.dumps([fault.__dict__ for fault in faults]),
        env=worker_launch.make_worker_environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    plan = json.loads(measured.stdout.splitlines()[-1])
    command = [sys.executable, "-W", "ignore", "-m", _MODULE, "serve", framework, str(workers)]
    serving = subprocess.Popen(
        process_tree.make_supervised_command(command),
        env=worker_launch.make_worker_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert serving.stdin is not None
    assert serving.stdout is not None
    serving.stdin.write(json.dumps(plan) + "\n")
    serving.stdin.close()
    by_name = {fault.name: fault for fault in faults}
    for line in serving.stdout:
        answer = json.loads(line)
        yield make_result_of_probes(
            by_name[answer["name"]], answer["changed"], len(answer["asked"])
        )
    serving.wait()


def make_result_of_probes(
    fault: Fault, changed: Mapping[str, Mapping[str, str]], executed: int = 0
) -> FaultResult:
    """Return the result of probes for a fault.

    The fault is detected if exactly its details changed, the main ones to the named variant.

    Args:
        changed: changed detail -> scope -> found variant (or why there is none); the detail ""
            stands for an error that ended the process.
        executed: number of probes that ran: all that the fault can change.
    """
    detected = set(changed) == {*fault.turns, *fault.also}
    if detected and fault.finds:
        detected = all(
            set(fault.scopes) & set(changed[detail])
            and all(
                changed[detail].get(scope, fault.finds) == fault.finds for scope in fault.scopes
            )
            for detail in fault.turns
        )
    return FaultResult(
        fault=fault,
        detected=detected,
        by={
            id: ", ".join(
                f"{describe_variant(variant)} [{scope}]" for scope, variant in scopes.items()
            )
            for id, scopes in sorted(changed.items())
            if id
        },
        executed=executed,
        trouble=changed.get("", {}).get("", "").strip(),
    )


def _parse_fault(fields: Mapping[str, Any]) -> Fault:
    """Rebuild a fault from JSON."""
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
    return Fault(**values)


def _print_plan_of_probes(framework: str) -> None:
    """Print the plan: the modules to import first, and the probes to run for each fault."""
    from rlregress import frameworks
    from rlregress_power import probe_coverage

    adapter = frameworks.get_adapter(framework)
    executed = probe_coverage.measure_lines_of_probes(adapter)
    jobs = []
    for fields in json.load(sys.stdin):
        fault = _parse_fault(fields)
        place = find_fault_line(fault)
        probes = None
        if place is not None:
            probes = probe_coverage.find_probes_of_line(
                executed, *place, script=not adapter.framework.modules
            )
        if probes is not None:
            named = {*fault.turns, *fault.also}
            probes |= {probe for probe in adapter.observe.list_probes() if probe[0] in named}
        jobs.append({"fault": fields, "probes": None if probes is None else sorted(probes)})
    plan = {"modules": probe_coverage.list_foreign_modules(adapter), "jobs": jobs}
    print(json.dumps(plan), flush=True)


def _probe_faults_in_children(framework: str, workers: int) -> None:
    """Read the plan, fork a child for each fault, print the answers."""
    plan = json.loads(sys.stdin.readline())
    for name in plan["modules"]:
        try:
            importlib.import_module(name)
        except Exception:  # a module that cannot be imported alone is imported when it is needed
            sys.modules.pop(name, None)
    import torch

    from rlregress.catalogue import implementation  # noqa: F401

    torch.set_num_threads(1)
    running: dict[int, tuple[int, str]] = {}
    for job in plan["jobs"]:
        if len(running) >= workers:
            _print_next_answer(running)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _probe_in_child(framework, job, writing)
        os.close(writing)
        running[child] = reading, job["fault"]["name"]
    while running:
        _print_next_answer(running)


def _print_next_answer(running: dict[int, tuple[int, str]]) -> None:
    # an answer may be longer than a pipe holds: read before waiting
    import select

    ready, _, _ = select.select([reading for reading, _ in running.values()], [], [])
    child = next(pid for pid, (reading, _) in running.items() if reading == ready[0])
    reading, name = running.pop(child)
    with os.fdopen(reading, encoding="utf-8") as answer:
        output = answer.read().strip()
    _, status = os.waitpid(child, 0)
    if not output:
        finished = f"status {status}"
        if os.WIFSIGNALED(status):
            ending = signal.Signals(os.WTERMSIG(status))
            finished = ending.name + (f" after {PATIENCE[ending]} s" if ending in PATIENCE else "")
        why = f"the process ended by {finished}"
        output = json.dumps({"name": name, "changed": {"": {"": why}}, "asked": []})
    print(output, flush=True)


def _limit_time() -> None:
    """End this process when it has had its time."""
    signal.alarm(PATIENCE[signal.SIGALRM])
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE[signal.SIGXCPU], resource.RLIM_INFINITY))


def _probe_in_child(framework: str, job: Mapping[str, Any], writing: int) -> None:
    """Probe with the fault in place; never return."""
    _limit_time()
    fields = job["fault"]
    fault = _parse_fault(fields)
    probes = None if job["probes"] is None else {tuple(probe) for probe in job["probes"]}
    changed: dict[str, dict[str, str]] = {}
    probed: list[str] = []
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        warnings.simplefilter("ignore")
        with inject_fault(fault) as environment:
            os.environ.update(environment)
            sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)[:1]
            importlib.invalidate_caches()
            changed, probed = probe_changed_details(framework, probes)
    except UserError as error:
        changed = {"": {"": str(error)}}
    except BaseException:
        changed = {"": {"": traceback.format_exc(limit=-2)}}
    with os.fdopen(writing, "w", encoding="utf-8") as answer:
        answer.write(json.dumps({"name": fault.name, "changed": changed, "asked": probed}))
    os._exit(0)


def probe_changed_details(
    framework: str, probes: set[tuple[str, str]] | None
) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the details that are not as documented, and the names of the probes that ran."""
    from rlregress import frameworks
    from rlregress.catalogue import registry
    from rlregress.catalogue.fingerprint import run_and_judge_probe
    from rlregress.catalogue.implementation import load_expectations_of_installed_version

    adapter = frameworks.get_adapter(framework)
    expectations = load_expectations_of_installed_version(adapter)
    changed: dict[str, dict[str, str]] = {}
    names = []
    for (id, scope), probe in adapter.observe.list_probes().items():
        if probes is not None and (id, scope) not in probes:
            continue
        names.append(f"{id} {scope}")
        probed = run_and_judge_probe(registry.get_detail(id), probe)
        entry = expectations.get((id, scope))
        if entry is None or probed.variant != entry.variant:
            changed.setdefault(id, {})[scope] = probed.variant_or_reason
    return changed, names


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        _print_plan_of_probes(sys.argv[2])
    else:
        _probe_faults_in_children(sys.argv[2], int(sys.argv[3]))
