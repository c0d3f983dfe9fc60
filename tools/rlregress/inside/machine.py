"""Describes properties of a machine that may affect the last bits of a training, or its speed."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from typing import Any

#: fields of a description, in the order of a report
FIELDS = ("cpu", "instructions", "machine", "system", "libc", "blas", "python", "torch_threads")
_NAMED = {"python": "Python {}", "torch_threads": "threads: {}"}


def read_cpu_name() -> str:
    """Return the name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def describe_machine() -> dict[str, Any]:
    """Describe this machine; loads torch.

    ``instructions`` is the widest set that torch chose to use ("AVX2"), ``blas`` its library for
    matrices; each is empty if torch does not report it.
    """
    import torch

    built = torch.__config__.show()
    capability = re.search(r"CPU capability usage: (\S+)", built)
    blas = re.search(r"BLAS_INFO=(\w+)", built)
    mkl = re.search(r"Math Kernel Library Version (\S+?)(?:-|\s)", built)
    return {
        "cpu": read_cpu_name(),
        "instructions": capability[1] if capability else "",
        "machine": platform.machine(),
        "system": platform.system(),
        "libc": " ".join(platform.libc_ver()).strip(),
        "blas": f"mkl {mkl[1]}" if mkl else blas[1] if blas else "",
        "python": platform.python_version(),
        "torch_threads": torch.get_num_threads(),
    }


def join_machine_descriptions(machines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join the descriptions of all machines of a run; different values are joined by " and "."""
    joined: dict[str, Any] = {}
    for name in FIELDS:
        values = list(dict.fromkeys(machine[name] for machine in machines if name in machine))
        if values:
            joined[name] = values[0] if len(values) == 1 else " and ".join(map(str, values))
    return joined


def format_machine_in_words(machine: Mapping[str, Any], fields: Sequence[str] = FIELDS) -> str:
    """Return the description of a machine in words."""
    words = [_NAMED.get(name, "{}").format(machine[name]) for name in fields if machine.get(name)]
    return ", ".join(words) or "unknown"
