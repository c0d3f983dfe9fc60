"""Portable arithmetic: with these settings a training has the same bits on every processor.

The promise: the same wheels, any x86-64 processor with AVX2 and FMA; ``docs/evidence.md`` says what
was measured. The variables must be set before NumPy and torch are loaded. They have worked if the
libraries report the expected values afterwards.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from typing import Any

#: variables for portable arithmetic; each is read once, when its library is loaded.
_VARIABLES = {
    "ATEN_CPU_CAPABILITY": "avx2",
    # MKL's matrix products: the only branch that Intel supports on processors of other vendors
    "MKL_CBWR": "COMPATIBLE",
    # MKL's vector functions, which torch calls for sqrt, exp, tanh...: code that divides and takes
    # roots. What MKL chooses starts from the processor's own approximation (rsqrtps), which differs
    "MKL_VML_DEBUG_CPU_TYPE": "1",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}
#: NumPy's loops for AVX-512, by their names from 2.4 on and before; it warns of any other name
_NUMPY_AVX512 = "X86_V4 AVX512_ICL AVX512_SPR"
_NUMPY_AVX512_BEFORE = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"
#: what each library reports if it honours the variables.
_PORTABLE = {
    "aten": "AVX2",
    "mkl products": "COMPATIBLE",
    "mkl functions": "1",
    "numpy": "X86_V3",
    "openblas": "Haswell",
    "threads": "1",
}
_TORCH = "libtorch_cpu.so"
#: of ``mkl_cbwr_get``
_BRANCHES = {1: "AUTO", 2: "AUTO", 3: "COMPATIBLE"}
_CORE_NAMES = (
    "scipy_openblas_get_corename64_", "scipy_openblas_get_corename", "openblas_get_corename64_",
    "openblas_get_corename",
)  # fmt: skip


def make_portable_variables() -> dict[str, str]:
    """Return environment variables for portable arithmetic; none on a processor without AVX2.

    They are for the NumPy of this interpreter. The libraries do not check them: an unsupported
    instruction would end the process.
    """
    flags = _read_processor_flags()
    if not flags >= {"avx2", "fma"}:
        return {}
    variables = dict(_VARIABLES)
    if any(flag.startswith("avx512") for flag in flags):
        release = [int(number) for number in re.findall(r"\d+", metadata.version("numpy"))[:2]]
        names = _NUMPY_AVX512 if release >= [2, 4] else _NUMPY_AVX512_BEFORE
        variables["NPY_DISABLE_CPU_FEATURES"] = (
            f"{names} AVX512_SPR" if release == [2, 3] else names
        )
    return variables


def _read_processor_flags() -> set[str]:
    """Return the flags of the processor as Linux lists them; elsewhere, those of AVX2 and FMA."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            return set(next(line for line in stream if line.startswith("flags")).split())
    except (OSError, StopIteration):
        return {"avx2", "fma"}


def read_arithmetic_of_libraries() -> dict[str, str]:
    """Return library -> the instruction sets (arithmetic) that it uses. Loads NumPy and torch.

    A library that reports nothing, or that torch was built without, has no entry.
    """
    import numpy as np
    import torch

    dispatched: Any = getattr(np, "_core", None) or np.core
    numpy_features = dispatched._multiarray_umath
    reported = {
        "aten": torch.backends.cpu.get_cpu_capability(),
        "numpy": _name_widest_loops(
            numpy_features.__cpu_dispatch__, numpy_features.__cpu_features__
        ),
        "openblas": " and ".join(sorted(set(_list_openblas_kernels()))),
        "threads": str(torch.get_num_threads()),
    }
    built_in = ctypes.CDLL(None)
    with contextlib.suppress(OSError):
        built_in = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", _TORCH))
    with contextlib.suppress(AttributeError):
        branch = built_in.mkl_serv_cbwr_get(-1)
        reported["mkl products"] = _BRANCHES.get(branch, str(branch))
    with contextlib.suppress(AttributeError):
        reported["mkl functions"] = str(built_in.mkl_vml_serv_cpu_detect())
    return dict(sorted(reported.items()))


def explain_not_portable(reported: Mapping[str, str]) -> str:
    """Return why the arithmetic that libraries report is not portable; empty: it is portable."""
    differences = [
        f"{name} {reported.get(name) or 'unknown'}, expected {expected}"
        for name, expected in _PORTABLE.items()
        if reported.get(name) != expected
    ]
    return "; ".join(differences)


def _name_widest_loops(dispatched: Sequence[str], features: Mapping[str, bool]) -> str:
    """Return the name of the widest instruction set that NumPy chooses, as NumPy 2.4 names it.

    Earlier releases list each instruction set separately.

    Args:
        dispatched: instruction sets that NumPy was built for.
        features: instruction set -> whether the processor has it, and it is not disabled.
    """
    beyond = [
        name for name in dispatched if name.startswith(("X86_V4", "AVX512")) and features[name]
    ]
    has_avx2 = features.get("AVX2") and features.get("FMA3")
    return " ".join(beyond) or ("X86_V3" if has_avx2 else "")


def _list_openblas_kernels() -> Iterator[str]:
    """Yield the kernels that each loaded OpenBLAS has chosen (NumPy and SciPy bring one each)."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as stream:
        paths = {line.split()[-1] for line in stream if "openblas" in line}
    for path in sorted(paths):
        library = ctypes.CDLL(path)
        for name in _CORE_NAMES:
            if hasattr(library, name):
                function = getattr(library, name)
                function.restype = ctypes.c_char_p
                yield function().decode()
                break
