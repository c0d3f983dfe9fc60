"""Portable arithmetic: what libraries and machines report, and digests of operations."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib

import numpy as np
import pytest
import torch

from rlregress import suite
from rlregress.inside import arithmetic, canary, machine
from rlregress.training import worker_launch

PORTABLE = dict(arithmetic._PORTABLE)
_PRINTED = """
import json, sys
from rlregress.inside import arithmetic
print(json.dumps(arithmetic.read_arithmetic_of_libraries()))
"""


def run_python(arguments, portable=True, prefix=(), **variables):
    """Return the JSON output of a process in portable arithmetic; each warning is an error."""
    command = [*prefix, sys.executable, "-W", "error", *arguments]
    environment = {**worker_launch.make_worker_environment(portable=portable), **variables}
    return json.loads(subprocess.check_output(command, env=environment, text=True))


def test_portable_settings_are_honoured():
    """Without a warning; the stored digests are of the operations of the canary."""
    reported = run_python(["-c", _PRINTED])
    assert arithmetic.explain_not_portable(reported) == ""
    stored = tomllib.loads((suite.locate_baselines() / "canary.toml").read_text("utf-8"))
    assert set(stored["operations"]) == set(canary._list_operations())


@pytest.mark.parametrize("missing", ["avx2", "fma"])
def test_a_processor_without_instructions_is_not_configured(monkeypatch, missing):
    """Without AVX2 or FMA no variable is set."""
    monkeypatch.setattr(arithmetic, "_read_processor_flags", lambda: {"avx2", "fma"} - {missing})
    assert arithmetic.make_portable_variables() == {}


@pytest.mark.parametrize(
    ("dispatched", "expected"),
    [
        (("X86_V3", "X86_V4", "AVX512_ICL", "AVX512_SPR"), "X86_V4 AVX512_SPR"),  # 2.4
        (("SSSE3", "SSE41", "AVX", "F16C", "FMA3", "AVX2", "AVX512F", "AVX512_SKX"),
         "AVX512F AVX512_SKX"),
    ],
    ids=["NumPy 2.4", "before"],
)  # fmt: skip
def test_loops_of_numpy_have_one_name_in_all_its_releases(dispatched, expected):
    """NumPy's names before and after 2.4 give one name; without wider loops it is portable."""
    features = dict.fromkeys(("X86_V3", *dispatched, "AVX2", "FMA3"), True)
    features["AVX512_ICL"] = False
    assert arithmetic._name_widest_loops(dispatched, features) == expected
    disabled = features | dict.fromkeys(expected.split(), False)
    assert arithmetic._name_widest_loops(dispatched, disabled) == PORTABLE["numpy"]
    assert arithmetic._name_widest_loops(dispatched, disabled | {"FMA3": False}) == ""


def test_only_loops_that_this_numpy_has_are_disabled(monkeypatch):
    """NumPy warns of a name that it does not know, on processors with AVX-512 alone."""
    monkeypatch.setattr(arithmetic, "_read_processor_flags", lambda: {"avx2", "fma", "avx512f"})
    disabled = arithmetic.make_portable_variables()["NPY_DISABLE_CPU_FEATURES"].split()
    wide = {
        n for n in np._core._multiarray_umath.__cpu_dispatch__ if "AVX512" in n or n == "X86_V4"
    }
    # those of Xeon Phi are no matter
    assert set(disabled) == wide - {"AVX512_KNL", "AVX512_KNM"}


@pytest.mark.nightly
def test_settings_that_come_too_late_are_native():
    """Loaded libraries report their choice, whatever the variables are later."""
    late = (
        "import os, torch\ntorch.ones(9).sqrt(), torch.ones(9, 9) @ torch.ones(9, 9)\n"
        "from rlregress.inside import arithmetic\n"
        f"os.environ.update(arithmetic.make_portable_variables())\n{_PRINTED}"
    )
    reported = run_python(["-c", late], portable=False)
    assert "mkl products AUTO, expected COMPATIBLE" in arithmetic.explain_not_portable(reported)


@pytest.mark.parametrize("library", sorted(PORTABLE))
def test_a_setting_that_is_not_honoured_is_named(library):
    """One library that reports something else, or nothing, makes the arithmetic native."""
    without = {name: value for name, value in PORTABLE.items() if name != library}
    for reported, value in ((without, "unknown"), ({**without, library: "other"}, "other")):
        expected = f"{library} {value}, expected {PORTABLE[library]}"
        assert arithmetic.explain_not_portable(reported) == expected


def test_each_operation_has_a_digest_that_one_bit_changes(monkeypatch):
    """If one operation returns another last bit, its digest differs and all others are the same."""
    threads = torch.get_num_threads()
    with np.errstate(all="ignore"):
        results = {name: compute() for name, compute in canary._list_operations().items()}
    returned = dict(results)
    monkeypatch.setattr(
        canary, "_list_operations", lambda: {name: lambda n=name: returned[n] for name in results}
    )
    expected = canary.digest_operations()
    assert torch.get_num_threads() == threads
    for name, result in results.items():
        returned[name] = with_another_bit(result)
        observed = canary.digest_operations()
        assert [n for n in expected if observed[n] != expected[n]] == [name]
        returned[name] = result


def with_another_bit(result):
    """Return a result whose first number has another last bit."""
    first, *further = result if isinstance(result, (list, tuple)) else [result]
    array = first.detach().numpy() if isinstance(first, torch.Tensor) else first
    changed = np.array(array, copy=True, order="C")
    changed.reshape(-1).view(np.uint8)[0] ^= 1
    return [changed, *further]


def test_digests_do_not_depend_on_the_process():
    """Earlier draws do not change the digests, and digests do not change later draws."""
    before = canary.digest_operations()
    torch.manual_seed(3), np.random.seed(3)
    expected = torch.rand(3).tolist(), np.random.rand(3).tolist()
    torch.manual_seed(3), np.random.seed(3)
    assert canary.digest_operations() == before
    assert (torch.rand(3).tolist(), np.random.rand(3).tolist()) == expected


QEMU = shutil.which("qemu-x86_64")


@pytest.mark.nightly
@pytest.mark.skipif(QEMU is None, reason="it takes qemu-user")
def test_an_emulated_processor_has_the_same_digests():
    """An emulated Haswell of Intel computes every operation of the canary to the same bits."""
    native = run_python(["-m", canary.__name__])
    emulated = run_python(["-m", canary.__name__], prefix=[QEMU, "-cpu", "Haswell"])
    assert [name for name in native if native[name] != emulated[name]] == []


MACHINE = {"cpu": "A", "instructions": "AVX2", "python": "3.11.7", "torch_threads": 1}


def test_common_fields_of_two_machines_are_listed_once():
    """Unknown fields are left out; instruction set and library are those that torch tells."""
    assert machine.join_machine_descriptions([MACHINE, MACHINE]) == MACHINE
    both = machine.join_machine_descriptions([MACHINE, MACHINE | {"cpu": "B", "torch_threads": 2}])
    assert both == MACHINE | {"cpu": "A and B", "torch_threads": "1 and 2"}
    assert machine.format_machine_in_words(MACHINE) == "A, AVX2, Python 3.11.7, threads: 1"
    assert machine.format_machine_in_words(MACHINE, ["instructions"]) == "AVX2"
    assert machine.format_machine_in_words({"cpu": "A", "libc": ""}) == "A"
    assert machine.format_machine_in_words({"libc": ""}) == "unknown"
    description = machine.describe_machine()
    assert f"CPU capability usage: {description['instructions']}\n" in torch.__config__.show()
    assert description["blas"]
    assert description["libc"]
