"""Packages that not every installation has, and the extra of this project that brings each.

The extras stand in ``pyproject.toml``. What needs one of these packages and lacks it is not
checked, and says so with ``not_installed``.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Tuple


class ExtraPackage(NamedTuple):
    """A package of an extra.

    Attributes:
        name: as a reader knows it.
        extra: as in ``rlregress[atari]``.
        words: by one of which an error of other code names it, in lower case.
    """

    name: str
    extra: str
    words: Tuple[str, ...]


#: extras whose packages are on both sides of an upgrade wherever they are installed here. What else
#: is missing on a side, a framework may miss: it has asked for it before.
ON_SIDES = ("mujoco", "atari")

#: importable module -> its package
EXTRA_PACKAGES: Mapping[str, ExtraPackage] = {
    "stable_baselines3": ExtraPackage("stable-baselines3", "sb3", ("stable-baselines3",)),
    "torchrl": ExtraPackage("torchrl", "torchrl", ("torchrl",)),
    "tensordict": ExtraPackage("tensordict", "torchrl", ("tensordict",)),
    "mujoco": ExtraPackage("MuJoCo", "mujoco", ("mujoco",)),
    "ale_py": ExtraPackage("ale-py", "atari", ("ale-py", "ale_py", "namespace ale not found")),
    "cv2": ExtraPackage("OpenCV", "atari", ("opencv", "cv2")),
    "matplotlib": ExtraPackage("matplotlib", "plots", ("matplotlib",)),
    "tensorboard": ExtraPackage("tensorboard", "tensorboard", ("tensorboard",)),
    "coverage": ExtraPackage("coverage", "dev", ("coverage",)),
}


def not_installed(module: str) -> str:
    """That a package is not installed, and the line that installs it, in one sentence.

    Args:
        module: as it is imported, or as its distribution is called; one of no extra is named alone.
    """
    package = EXTRA_PACKAGES.get(module.replace("-", "_"))
    name, source = (package.name, f"'rlregress[{package.extra}]'") if package else (module, module)
    return f"the package '{name}' is not installed; install it with: pip install {source}"
