"""Symptoms: measurements that a bisection repeats for every version."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress.catalogue import registry
from rlregress.catalogue.registry import Detail
from rlregress.errors import UserError, suggest_names
from rlregress.frameworks.base import Adapter
from rlregress.inside.run_record import write_text_atomically
from rlregress.model import explain
from rlregress.model.recorded_traces import Trace, UncomparedTraining
from rlregress.model.upgrade_result import ABSENT
from rlregress.trace import child_processes, trace_reader
from rlregress.trace.trace_comparison import mark_unsteady_parts
from rlregress.upgrade.differences import inventory, public_names
from rlregress.upgrade.evidence import compared_trainings, runtimes, version_fingerprints
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.version_fingerprints import Fingerprint
from rlregress.upgrade.versions import cached_folders, prepared_versions, working_tree
from rlregress.upgrade.versions.prepared_versions import PreparedVersion
from rlregress.upgrade.versions.resolved import ResolvedVersion

#: words of a command line that only a shell understands.
_SHELL = {"&&", "||", ";", "|", "&", ">", ">>", "<", "2>&1"}
#: exit codes of a shell that found nothing to run, or could not.
_NOT_RUN = (126, 127)
#: exit code of a command that says that a version cannot be checked, as for ``git bisect run``.
_SKIP = 125
#: the value of a symptom that a version does not have.
NOT_THERE = "not there"
#: scope -> what a version answers there, in words; a scope without an answer is left out.
Value = Mapping[str, str]


class Unchecked(UserError):
    """A version cannot be checked; it is left out and named with this reason."""


@dataclass(frozen=True)
class TestedVersion:
    """A version that a bisection measures; it is installed at the first measurement.

    Attributes:
        own: folder for the environment.
        folder: folder for results, named by the content of the version.
    """

    resolved: ResolvedVersion
    adapters: Sequence[Adapter]
    own: Path
    folder: Path

    @cached_property
    def prepared(self) -> PreparedVersion:
        """The installed version; it is made at the first use."""
        return prepared_versions.prepare_version(
            self.resolved, self.adapters, cached_folders.ignore_message, self.own
        )

    def measure_or_read(self, measurement: str, measure: Callable[[PreparedVersion], Any]) -> Any:
        """Return a stored measurement, or measure now and store it as plain data."""
        digest = hashlib.sha256(measurement.encode()).hexdigest()[:16]
        path = self.folder / f"{digest}.json"
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            measured_value = measure(self.prepared)
            write_text_atomically(path, json.dumps(measured_value))
            return measured_value

    def fingerprint_details(self, adapter: Adapter, details: Sequence[Detail] = ()) -> Fingerprint:
        """Return the version's variants of some details, and its defaults."""

        def probe_version(prepared: PreparedVersion) -> Mapping[str, Any]:
            with TemporaryDirectory(prefix="rlregress-bisect-") as folder:
                path = Path(folder) / "answers.json"
                return version_fingerprints.probe_details_on_version(
                    prepared.runtime, path, adapter, details
                )

        ids = " ".join(detail.id for detail in details)
        return version_fingerprints.judge_raw_answers(
            self.measure_or_read(f"{adapter.full_name} answers {ids}", probe_version)
        )

    def record_or_read_trace(self, training: Training) -> Trace:
        """Return the stored trace of a training, or record one."""
        try:
            return trace_reader.load_trace(runtimes.locate_trace(training, self.folder))
        except UserError:
            return runtimes.load_or_record_traces([training], self.prepared.runtime, self.folder)[
                training.name
            ]

    def record_again_and_mark_unsteady(self, training: Training) -> Trace:
        """Record a training again; return its first trace with the parts marked that differ."""
        with TemporaryDirectory(prefix="rlregress-again-") as folder:
            second = runtimes.load_or_record_traces(
                [training], self.prepared.runtime, Path(folder)
            )[training.name]
        return mark_unsteady_parts(self.record_or_read_trace(training), second)


@dataclass(frozen=True)
class Symptom:
    """A measurement of a version; a bisection finds where its value changed.

    Attributes:
        title: description of the symptom.
        value: returns the value of a version, from that version and the old end.
        candidate_names: returns names in a version that could have been requested instead.
        details, algorithm, scenario, script: what an upgrade probes and traces to explain a step.
        name: the searched public name or parameter.
        key: all inputs of the value besides the version.
        foreign: whether it runs user code, which may read files that change: values are not kept
            after the search, and decisive versions are measured twice.
        why: returns the error message of a version that failed.
    """

    title: str
    value: Callable[[TestedVersion, TestedVersion], Value]
    candidate_names: Callable[[TestedVersion], Iterable[str]] = lambda _: ()
    details: tuple[str, ...] = ()
    algorithm: str = ""
    scenario: str = ""
    script: Mapping[str, Any] | None = None
    name: str = ""
    key: str = ""
    foreign: bool = False
    why: Callable[[TestedVersion], str] = lambda _: ""

    @property
    def traced(self) -> bool:
        """Return whether the symptom is the trace of a training."""
        return bool(self.algorithm) or self.script is not None


def make_symptom_of_detail(adapter: Adapter, id: str) -> Symptom:
    """Return the symptom of a detail: its variant in every scope.

    Raises:
        UserError: there is no such detail.
    """
    detail_entry = registry.get_detail(id)

    def find_variants(checked: TestedVersion, _: TestedVersion) -> Value:
        answers = checked.fingerprint_details(adapter, [detail_entry]).found
        if not answers:
            raise Unchecked(f"no probe measures {id} in this version")
        words = {}
        for (_id, scope), answer in answers.items():
            if answer.observed is not None:
                unknown = ", ".join(map(repr, answer.observed))
                words[scope] = answer.variant or f"unknown variant: {unknown}"
            elif answer.why == ABSENT:
                words[scope] = NOT_THERE
        if not words:
            raise Unchecked("; ".join(dict.fromkeys(answer.text for answer in answers.values())))
        return words

    return Symptom(f"detail {id}", find_variants, details=(id,), name=id)


def _check_algorithm_exists(adapter: Adapter, owner: str, default_name: str) -> None:
    """Raise UserError for an algorithm that no version can have, before any version is made."""
    algorithms = [*adapter.framework.algorithms, *adapter.framework.behavior_only]
    try:
        algorithms += [name for name, _ in adapter.read.read_defaults_of_all_arguments()]
    except Exception:  # foreign code of a framework that need not be installed here
        return
    if "." not in owner and owner not in algorithms:
        raise UserError(
            f"--default is '{default_name}', and '{owner}' is no algorithm that is compared here; "
            f"{suggest_names(owner, algorithms)}; for a parameter of a function or class, give its "
            "full name, such as 'package.Class parameter'"
        )


def make_symptom_of_default(adapter: Adapter, option: str) -> Symptom:
    """Return the symptom of a default, of a hyperparameter ("td3 minibatch_size") or a parameter.

    The name of a parameter is "<owner> <parameter>". The owner is a function or a class by its full
    name ("stable_baselines3.td3.td3.TD3"), its import path ("stable_baselines3.TD3") or, for a
    class, its algorithm ("td3").
    """
    owner, _, parameter = option.strip().rpartition(" ")
    if not owner:
        raise UserError(
            f"--default is '{option}', expected an algorithm or a function, and a parameter of it, "
            "such as 'td3 minibatch_size'"
        )
    _check_algorithm_exists(adapter, owner, option)

    def find_default(checked: TestedVersion, _: TestedVersion) -> Value:
        answered = checked.fingerprint_details(adapter)
        defaults, unread = {**answered.defaults, **answered.signatures}, answered.unread
        values = {
            key.partition(" ")[2]: parameters.get(parameter, NOT_THERE)
            for key, parameters in sorted(defaults.items())
            if owner in (key, key.partition(" ")[0])
        }
        closed = [why for key, why in unread.items() if owner in (key, key.partition(" ")[0])]
        if closed and not values:
            raise Unchecked(closed[0])
        if set(values.values()) <= {NOT_THERE}:
            # the framework's own name of it, or an import path that is not where it is defined
            values = {
                key: parameters[parameter]
                for key, parameters in sorted(answered.signatures.items())
                if parameter in parameters and _does_owner_name_class(key, owner)
            } or values
        return values or {"": NOT_THERE}

    def list_candidate_names(checked: TestedVersion) -> set[str]:
        answered = checked.fingerprint_details(adapter)
        rows = {**answered.defaults, **answered.signatures}
        return {f"{key.partition(' ')[0]} {name}" for key, own in rows.items() for name in own}

    return Symptom(f"default of {option}", find_default, list_candidate_names, name=option)


def _does_owner_name_class(path: str, owner: str) -> bool:
    """Return whether ``owner``, an algorithm or an import path, means the class at a path."""
    class_name = path.rpartition(".")[2]
    package, _, imported = owner.rpartition(".")
    if not package:
        return class_name.lower() == owner.lower()
    return class_name == imported and path.startswith(f"{package}.")


def make_symptom_of_public_name(name: str) -> Symptom:
    """Return the symptom of a public name: its existence, kind and signature."""
    package = name.partition(".")[0]

    def read_package(checked: TestedVersion) -> public_names.Package:
        folder = inventory.find_module(checked.prepared, package)
        if folder is None:
            raise Unchecked(f"it has no package {package}")
        return _tree(folder)

    def find_signature(checked: TestedVersion, base: TestedVersion) -> Value:
        def describe_signature(_: PreparedVersion) -> str:
            old, new = read_package(base), read_package(checked)
            rows = [tree.list_signatures(name) for tree in (old, new)]
            for tree, signatures in zip((old, new), rows, strict=True):
                unread = sorted(what for what in tree.unread if what == name or not signatures)
                if unread:
                    # the name may be defined in the file that was not read
                    raise Unchecked(f"{unread[0]} was not read: {tree.unread[unread[0]][1]}")
            if not rows[0] or not rows[1]:
                return "there" if rows[1] else NOT_THERE
            gone = [f"no longer {name}{own}" for own in rows[0].keys() - rows[1].keys()]
            changed = {f"{name}{own}{text}" for own, text in rows[1].items()
                       if rows[0].get(own) != text}  # fmt: skip
            return "; ".join(sorted([*gone, *changed])) or "there"

        return {"": checked.measure_or_read(f"name {name} {base.folder.name}", describe_signature)}

    return Symptom(
        f"public name {name}",
        find_signature,
        lambda checked: read_package(checked).names,
        name=name,
    )


#: reads a package; the cache holds two, as the old end is compared with one version after another.
_tree = lru_cache(maxsize=2)(public_names.read_package)


def make_symptom_of_trace(adapter: Adapter, algorithm: str, scenario: str = "") -> Symptom:
    """Return the symptom of a built-in training: whether its trace equals that of the old end.

    Raises:
        UserError: there is no such training.
    """
    trainings = {training.name: training for training in compared_trainings.list_trainings(adapter)}
    title = f"{algorithm} {scenario}".strip()
    if title not in trainings:
        raise UserError(
            f"there is no built-in training '{title}'; {suggest_names(title, trainings)}"
        )
    measured = _make_value_of_training(trainings[title])
    return Symptom(f"trace of {title}", measured, algorithm=algorithm, scenario=scenario)


def make_symptom_of_script(job: Mapping[str, Any], imports: Mapping[str, Sequence[str]]) -> Symptom:
    """Return the symptom of a user's script: whether its trace equals that of the old end."""
    training = compared_trainings.make_script_training(job, imports)
    title = f"trace of {training.name}"
    return Symptom(
        title, _make_value_of_training(training), script=job, key=training.key, foreign=True
    )


def _make_value_of_training(training: Training) -> Callable[[TestedVersion, TestedVersion], Value]:
    def compare_with_old_end(checked: TestedVersion, base: TestedVersion) -> Value:
        old, new = base.record_or_read_trace(training), checked.record_or_read_trace(training)
        compared = compared_trainings.compare_recorded_training(training.name, old, new)
        if isinstance(compared, UncomparedTraining):
            raise Unchecked("; ".join(dict.fromkeys(compared.reasons.values())))
        if compared.trains_the_same:
            compared = compared_trainings.compare_traces_and_their_ends(
                base.record_again_and_mark_unsteady(training),
                checked.record_again_and_mark_unsteady(training),
            )
        if compared.first is None:
            return {"": compared.verdict}
        first = explain.describe_divergence(compared.first)[0].removeprefix("first difference ")
        return {"": f"{compared.verdict}: {first}"}

    return compare_with_old_end


def make_symptom_of_command(command: str) -> Symptom:
    """Return the symptom of a command, run with the version's Python: its exit code.

    Exit code 125 means that the version cannot be checked.

    Raises:
        UserError: its quotes do not close, or it needs a shell.
    """
    words = _split_command_into_words(command)

    def run_command(prepared: PreparedVersion) -> list[Any]:
        _check_version_is_not_hidden(words, prepared)
        runtime = prepared.runtime
        ours = runtime.make_environment_variables()
        # the user's own variables, except for those that select the version
        variables = {**os.environ, **runtime.variables, "PYTHONPATH": ours["PYTHONPATH"]}
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
        variables["PATH"] = f"{Path(runtime.python).parent}:{variables.get('PATH', '')}"
        if shutil.which(words[0], path=variables["PATH"]) is None:
            raise UserError(
                f"--command cannot be run: {words[0]}: No such file, or it is no program"
            )
        completed = child_processes.run_command(words, variables, None)
        if not completed.returncode:
            return [0, ""]
        message = child_processes.extract_last_message(completed.stderr or completed.stdout)
        return [completed.returncode, message]

    def find_exit_code(checked: TestedVersion, _: TestedVersion) -> Value:
        code, complaint = checked.measure_or_read("command", run_command)
        if code < 0:
            raise Unchecked(f"the command was ended by signal {-code}")
        if code == _SKIP:
            raise Unchecked(f"the command ended with exit code {_SKIP}")
        if code in _NOT_RUN:
            raise Unchecked(f"the command could not be run: exit code {code}, {complaint}")
        return {"": f"exit code {code}"}

    def explain_exit_code(checked: TestedVersion) -> str:
        return str(checked.measure_or_read("command", run_command)[1])

    key = f"{command}\n{Path.cwd()}"
    return Symptom(
        f"exit code of {command}", find_exit_code, key=key, foreign=True, why=explain_exit_code
    )


def _split_command_into_words(command: str) -> list[str]:
    """Return the words of a command; raise UserError if it cannot be run as it is."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"--command is {command!r}, which cannot be read: {error}") from None
    shell = [word for word in words if word in _SHELL]
    if shell:
        raise UserError(
            f"--command has '{shell[0]}', and no shell runs it; give a shell: sh -c '...'"
        )
    blind = [word for word in words[1:2] if re.fullmatch(r"-[a-zA-Z]*[EI][a-zA-Z]*", word)]
    if blind:
        raise UserError(
            f"--command has '{blind[0]}', which makes Python ignore PYTHONPATH, and the version "
            "under test is found through PYTHONPATH; leave the option out"
        )
    return words


def _check_version_is_not_hidden(words: Sequence[str], prepared: PreparedVersion) -> None:
    """Raise UserError if Python would import something else before the version."""
    tree = prepared.requested.tree
    if tree is None:
        modules = {name.replace("-", "_") for name in prepared.requested.pins}
    else:
        modules = {
            name
            for root in working_tree.list_package_roots(tree)
            for name in working_tree.list_modules_in_folder(root)
        }
    places = {Path.cwd()}
    for word in words:
        with suppress(OSError):
            if Path(word).is_file():
                places.add(Path(word).absolute().parent)
    for place in sorted(places):
        for module in sorted(modules - {"conftest", "docs", "test", "tests"}):
            if (place / module / "__init__.py").is_file() or (place / f"{module}.py").is_file():
                raise UserError(
                    f"{place} holds '{module}', which Python may import in place of the version; "
                    "run rlregress from another folder, with the command's files elsewhere"
                )
