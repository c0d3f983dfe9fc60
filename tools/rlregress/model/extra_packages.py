"""Packages that not every installation has, and the extra of this project that brings each.

``pyproject.toml`` declares the extras; each framework has one with the name of its adapter. A check
that lacks such a package is reported as not checked, with the sentence of ``explain_installation``.
"""

from __future__ import annotations

from collections.abc import Mapping

#: importable module -> the extra that brings it, as in ``rlregress[atari]``
EXTRAS: Mapping[str, str] = {
    "mujoco": "mujoco",
    "ale_py": "atari",
    "cv2": "atari",
    "matplotlib": "plots",
    "coverage": "dev",
}
#: module -> usual name of its package, if it differs
NAMES: Mapping[str, str] = {"mujoco": "MuJoCo", "ale_py": "ale-py", "cv2": "OpenCV"}
#: extras whose packages both versions of an upgrade get if they are installed here; without any
#: other package a framework may fail, because an earlier version required it
IN_BOTH_VERSIONS = ("mujoco", "atari")


def explain_installation(module: str, extra: str = "") -> str:
    """Return a sentence that a package is not installed, with the command that installs it.

    Args:
        module: an importable module, or a distribution that no extra has.
        extra: the extra that has it, unless ``EXTRAS`` lists it.
    """
    extra_name = extra or EXTRAS.get(module, "")
    source = f"'rlregress[{extra_name}]'" if extra_name else module
    name = NAMES.get(module, module)
    return f"the package '{name}' is not installed; install it with: pip install {source}"
