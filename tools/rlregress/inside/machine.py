"""What of a machine may decide the last bits of a training, or its speed."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from typing import Any

#: fields of a description, in the order in which they are told
FIELDS = ("cpu", "instructions", "machine", "system", "libc", "blas", "python", "torch_threads")
_NAMED = {"python": "Python {}", "torch_threads": "threads: {}"}


def cpu_name() -> str:
    """What the processor calls itself."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def described() -> dict[str, Any]:
    """This machine, as a process that has loaded torch sees it.

    ``instructions`` is the widest set that torch chose to use ("AVX2"), ``blas`` its library for
    matrices; each is empty where torch does not tell.
    """
    import torch

    built = torch.__config__.show()
    capability = re.search(r"CPU capability usage: (\S+)", built)
    blas = re.search(r"BLAS_INFO=(\w+)", built)
    mkl = re.search(r"Math Kernel Library Version (\S+?)(?:-|\s)", built)
    return {
        "cpu": cpu_name(),
        "instructions": capability[1] if capability else "",
        "machine": platform.machine(),
        "system": platform.system(),
        "libc": " ".join(platform.libc_ver()).strip(),
        "blas": f"mkl {mkl[1]}" if mkl else blas[1] if blas else "",
        "python": platform.python_version(),
        "torch_threads": torch.get_num_threads(),
    }


def together(machines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One description of all machines that had a part in a run: what differs is joined by "and"."""
    joined: dict[str, Any] = {}
    for name in FIELDS:
        values = list(dict.fromkeys(machine[name] for machine in machines if name in machine))
        if values:
            joined[name] = values[0] if len(values) == 1 else " and ".join(map(str, values))
    return joined


def text(of: Mapping[str, Any], fields: Sequence[str] = FIELDS) -> str:
    """In words, what is known of a machine."""
    known = (name for name in fields if of.get(name))
    return ", ".join(_NAMED.get(name, "{}").format(of[name]) for name in known) or "unknown"
