"""What is looked for in every version: each is one measurement that an upgrade makes of a side."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlregress.details import catalogue
from rlregress.errors import UserError, nearest
from rlregress.frameworks.base import Adapter
from rlregress.inside.run_record import write_atomically
from rlregress.model import explain
from rlregress.model.recorded_traces import NotTraced
from rlregress.upgrade import (
    compared_trainings,
    inventory,
    public_names,
    scenario_files,
    side_fingerprints,
    sides,
)
from rlregress.upgrade.compared_trainings import Training
from rlregress.upgrade.side_environments import Prepared
from rlregress.upgrade.side_fingerprints import Fingerprint

#: exit code of a command that says that a version cannot be checked, as for ``git bisect run``.
_SKIP = 125
_EQUAL = "equal"


class Unchecked(UserError):
    """A version cannot be checked; it is left out and named with this reason."""


@dataclass(frozen=True)
class Checked:
    """A version that was made, and where its answers are kept.

    Attributes:
        folder: named by the content of the version.
    """

    prepared: Prepared
    folder: Path


@dataclass(frozen=True)
class Symptom:
    """Something that has a value in every version.

    Attributes:
        title: what is looked for, in words.
        value: of a version, in words; it is also given the old end, whose value is the first one.
        details, algorithm, scenario, script: what an upgrade probes and traces to explain it.
        name: the public name or parameter that is looked for.
        key: what decides the value beside the version.
    """

    title: str
    value: Callable[[Checked, Checked], str]
    details: tuple[str, ...] = ()
    algorithm: str = ""
    scenario: str = ""
    script: Mapping[str, Any] | None = None
    name: str = ""
    key: str = ""

    @property
    def traced(self) -> bool:
        """Whether it is the trace of a training."""
        return bool(self.algorithm) or self.script is not None


def detail(adapter: Adapter, id: str) -> Symptom:
    """The variant of a detail, in every scope.

    Raises:
        UserError: there is no such detail.
    """
    known = catalogue.get(id)

    def value(here: Checked, _: Checked) -> str:
        found = _fingerprint(here, adapter, f"detail-{id}", [known]).found
        answers = {scope: answer for (_, scope), answer in found.items()}
        if all(answer.observed is None for answer in answers.values()):
            raise Unchecked(next((a.text for a in answers.values()), "there is no such probe"))
        words = {
            scope: answer.variant or f"unknown variant, {answer.text}"
            for scope, answer in sorted(answers.items())
            if answer.observed is not None
        }
        single = len(words) == 1
        return ", ".join(text if single else f"{s}: {text}" for s, text in words.items())

    return Symptom(f"detail {id}", value, details=(id,), name=id)


def _fingerprint(here: Checked, adapter: Adapter, name: str, of: Sequence[Any]) -> Fingerprint:
    kept = here.folder / f"{adapter.full_name}-{name}.json"
    return side_fingerprints.fingerprint(here.prepared.side, kept, adapter, of)


def default(adapter: Adapter, name: str) -> Symptom:
    """The default of a hyperparameter, "td3 minibatch_size", or of a parameter.

    A parameter is named by its function: "stable_baselines3.td3.td3.TD3 batch_size".
    """
    owner, _, parameter = name.strip().rpartition(" ")
    if not owner:
        raise UserError(
            f"--default is '{name}', expected an algorithm or a function, and a parameter of it, "
            "such as 'td3 minibatch_size'"
        )

    def value(here: Checked, _: Checked) -> str:
        found = _fingerprint(here, adapter, "no-details", [])
        defaults = {**found.defaults, **found.signatures}
        values = {
            key: of.get(parameter, "not there")
            for key, of in sorted(defaults.items())
            if key == owner or key.partition(" ")[0] == owner
        }
        if owner in {key.partition(" ")[0] for key in found.unread}:
            raise Unchecked(next(iter(found.unread.values())))
        single = len(set(values.values())) == 1
        if single:
            return next(iter(values.values()))
        return ", ".join(f"{key}: {text}" for key, text in values.items()) or "not there"

    return Symptom(f"default of {name}", value, name=name)


def public_name(name: str) -> Symptom:
    """A public name: whether it is there, what it is, and its signature."""
    package = name.partition(".")[0]

    def value(here: Checked, old: Checked) -> str:
        kept = here.folder / f"name-{name}-{old.folder.name}.txt"
        if not kept.is_file():
            folders = [inventory.place(side.prepared, package) for side in (old, here)]
            if folders[0] is None or folders[1] is None:
                raise Unchecked(f"it has no package {package}")
            changes = [
                change.summary
                for change in public_names.changes(folders[0], folders[1])
                if change.name == name or change.name.startswith(f"{name}.")
            ]
            write_atomically(kept, "; ".join(changes) or "as in the old version")
        return kept.read_text(encoding="utf-8")

    return Symptom(f"public name {name}", value, name=name)


def trace(adapter: Adapter, algorithm: str, scenario: str = "") -> Symptom:
    """The trace of a built-in training, equal to that of the old end or not.

    Raises:
        UserError: there is no such training.
    """
    known = scenario_files.jobs(adapter)
    title = f"{algorithm} {scenario}".strip()
    if title not in known:
        raise UserError(f"there is no built-in training '{title}'; {nearest(title, known)}")
    (training,) = [t for t in compared_trainings.every(adapter) if t.name == title]
    return Symptom(f"trace of {title}", _of_trace(training), algorithm=algorithm, scenario=scenario)


def script(job: Mapping[str, Any], imports: Mapping[str, Sequence[str]]) -> Symptom:
    """The trace of a user's script, equal to that of the old end or not."""
    training = compared_trainings.script_training(job, imports)
    title = f"trace of {training.name}"
    return Symptom(title, _of_trace(training), script=job, key=training.key)


def _of_trace(training: Training) -> Callable[[Checked, Checked], str]:
    def value(here: Checked, old: Checked) -> str:
        a, b = (
            sides.recorded([training], checked.prepared.side, checked.folder)[training.name]
            for checked in (old, here)
        )
        compared = compared_trainings.compared_once(training.name, a, b)
        if isinstance(compared, NotTraced):
            raise Unchecked("; ".join(dict.fromkeys(compared.sides.values())))
        if compared.first is None:
            return compared.verdict
        first = explain.divergence(compared.first)[0].removeprefix("first difference ")
        return f"{compared.verdict}: {first}"

    return value


def command(text: str) -> Symptom:
    """The exit code of a command, which finds the version's Python first; 125: not checked."""
    words = shlex.split(text)
    files = [Path(word) for word in words if Path(word).is_file()]
    content = [path.read_text("utf-8", "replace") for path in files]

    def value(here: Checked, _: Checked) -> str:
        kept = here.folder / "command.txt"
        if not kept.is_file():
            side = here.prepared.side
            variables = side.environment()
            variables["PATH"] = f"{Path(side.python).parent}:{variables.get('PATH', '')}"
            ended = subprocess.run(words, env=variables, capture_output=True, check=False)
            if ended.returncode < 0:
                raise Unchecked(f"the command was ended by signal {-ended.returncode}")
            write_atomically(kept, str(ended.returncode))
        code = kept.read_text(encoding="utf-8")
        if int(code) == _SKIP:
            raise Unchecked(f"the command ended with exit code {_SKIP}")
        return f"exit code {code}"

    return Symptom(f"exit code of {text}", value, key="\n".join([text, str(Path.cwd()), *content]))
