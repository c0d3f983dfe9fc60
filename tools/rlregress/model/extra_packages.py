"""Packages that not every installation has, and the extra of this project that brings each.

The extras stand in ``pyproject.toml``; each framework has one of its adapter's name. What needs one
of these packages and lacks it is not checked, and says so with ``not_installed``.
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
#: module -> its package as a reader knows it, where that is another word
NAMES: Mapping[str, str] = {"mujoco": "MuJoCo", "ale_py": "ale-py", "cv2": "OpenCV"}
#: extras whose packages are on both sides of an upgrade wherever they are installed here. What else
#: is missing on a side, a framework may miss: an earlier version required it.
ON_SIDES = ("mujoco", "atari")


def not_installed(module: str, extra: str = "") -> str:
    """Return a sentence that a package is not installed, with the command that installs it.

    Args:
        module: as it is imported, or a distribution of no extra.
        extra: that brings it, where ``EXTRAS`` does not say so.
    """
    extra_name = extra or EXTRAS.get(module, "")
    source = f"'rlregress[{extra_name}]'" if extra_name else module
    name = NAMES.get(module, module)
    return f"the package '{name}' is not installed; install it with: pip install {source}"
