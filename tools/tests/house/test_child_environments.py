"""A child process that imports a framework gets its environment from one function."""

from __future__ import annotations

import ast
from pathlib import Path

import rlregress

_PACKAGE = Path(rlregress.__file__).parent
#: calls that start a process, with the position of the environment among the arguments.
_STARTS = {
    "child_processes.Worker": 1, "child_processes.run_command": 1,
    "os.execv": None, "os.execve": 2, "os.execvp": None, "os.execvpe": 2, "os.posix_spawn": 2,
    "os.popen": None, "os.system": None,
    "process_tree.run_supervised": None, "subprocess.Popen": None, "subprocess.call": None,
    "subprocess.check_call": None, "subprocess.check_output": None, "subprocess.run": None,
}  # fmt: skip
#: functions that start a process otherwise, and why.
_OTHERWISE = {
    "bisect/symptoms.py:run_command": "the user's own command, as the user runs it",
    "cli/with_versions.py:restart_with_versions": "this command again, in place of this process",
    "cluster/run_one.py:_requeue_stopped_run": "scontrol",
    "cluster/slurm_arrays.py:_run_slurm_command": "programs of Slurm",
    "inside/child_environment.py:make_environment_variables": "the function",
    "inside/repeat.py:": "starts nothing: the variables are read, and those of before come back",
    "inside/repeat.py:_set_environment_variables": "starts nothing: those of before come back",
    "inside/process_tree.py:_replace_by_command": "a supervisor has the environment of its command",
    "inside/process_tree.py:run_supervised": "its callers give the environment",
    "training/lease.py:explain_ended_attempt": "starts nothing: Slurm's variables are read",
    "upgrade/versions/installer.py:_translate_pip_configuration_to_uv": "pip",
    "upgrade/versions/installer.py:_call_uv": "uv",
    "upgrade/versions/installer.py:_make_uv_variables": "variables of uv",
    "upgrade/versions/installer.py:list_published_versions": "uv",
    "upgrade/versions/interpreters.py:_query_interpreter": "an interpreter that tells its version",
    "upgrade/versions/revisions.py:_run_git": "git",
    "upgrade/versions/prepared_versions.py:install_environment": "venv",
}
_READS = ("get", "pop", "setdefault", "update")


def _departures(text: str) -> list[tuple[str, str]]:
    """Return (function, code) of what starts a process otherwise, or copies all variables."""
    departures = []
    if not any(name in text for name in (*_STARTS, "os.environ")):
        return departures
    tree = ast.parse(text)
    for parent in ast.walk(tree):
        for child in ast.iter_child_nodes(parent):
            child.parent = parent  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _STARTS:
            keywords = {keyword.arg: keyword.value for keyword in node.keywords}
            position = _STARTS[ast.unparse(node.func)]
            variables = keywords.get("env") if position is None else node.args[position]
            departs = variables is None or "environment" not in ast.unparse(variables)
        else:
            departs = _copies_variables(node)
        if departs:
            departures.append((_function(node), ast.unparse(node)))
    return departures


def _copies_variables(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or ast.unparse(node) != "os.environ":
        return False
    parent = node.parent  # type: ignore[attr-defined]
    reads_one = isinstance(parent, (ast.Subscript, ast.Compare))
    reads_one |= isinstance(parent, ast.Attribute) and parent.attr in _READS
    patched = isinstance(parent, ast.Call) and ast.unparse(parent.func) == "mock.patch.dict"
    return not reads_one and not patched


def _function(node: ast.AST) -> str:
    while not isinstance(node, (ast.FunctionDef, ast.Module)):
        node = node.parent  # type: ignore[attr-defined]
    return getattr(node, "name", "")


def test_child_processes_have_the_environment_that_one_function_makes():
    """Every process gets it, but for those that are listed with a reason, and no reason is old."""
    departures = {
        f"{file.relative_to(_PACKAGE).as_posix()}:{function}": code
        for file in sorted(_PACKAGE.rglob("*.py"))
        for function, code in _departures(file.read_text("utf-8"))
    }
    assert _departures("subprocess.run(command, env={'A': 'b'})")
    assert _departures("os.execve(path, command, {**os.environ, 'A': 'b'})")
    unlisted = {name: code for name, code in departures.items() if name not in _OTHERWISE}
    assert not unlisted, "use inside.child_environment, or state why not in _OTHERWISE"
    assert sorted(_OTHERWISE) == sorted(departures)
