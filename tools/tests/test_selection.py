"""Selection: which trainings can tell two sides apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlregress.upgrade import selection

_BASE = {
    "__init__.py": "from pack.agent import Agent\n",
    "constants.py": "RATE = 0.1\nNAMES = {'rate': RATE}\n",
    "agent.py": (
        "from typing import Dict\n"
        "from pack.constants import RATE\n"
        "from pack.nets import make\n\n\n"
        "class Agent:\n"
        "    clip = 0.2\n\n"
        "    def __init__(self):\n"
        "        self.rate = RATE\n\n"
        "    def train(self):\n"
        "        return make(self.clip)\n\n"
        "    def save(self):\n"
        "        return 1\n\n\n"
        "class Deep(Agent):\n"
        "    def load(self):\n"
        "        return 2\n"
    ),
    "nets.py": (
        "import math\n\n\n"
        "def make(size):\n    return math.sqrt(size)\n\n\n"
        "def idle():\n    return 0\n"
    ),
}


def _sides(folder: Path, changes: dict[str, tuple[str, str]]) -> selection.Telling:
    roots = []
    for label in "ab":
        root = folder / label / "pack"
        root.mkdir(parents=True)
        for name, text in _BASE.items():
            old, new = changes.get(name, ("", ""))
            if label == "b" and name in changes:
                assert old in text
                text = text.replace(old, new) if old else text + new
            (root / name).write_text(text, encoding="utf-8")
        roots.append(str(root))
    return selection.telling([roots[0]], [roots[1]])


def _names(found: selection.Telling) -> set[str]:
    assert not found.because
    return {name for _, name in found.functions}


def test_the_same_code_tells_nothing(tmp_path: Path) -> None:
    """Nothing differs, nothing can part."""
    assert _sides(tmp_path, {}) == selection.Telling()


@pytest.mark.parametrize(
    ("file", "old", "new", "names"),
    [
        ("agent.py", "return 1", "return 3", {"Agent.save"}),
        # a docstring, an annotation and an import for annotations compute nothing
        ("agent.py", "def save(self):", "def save(self) -> int:", set()),
        ("agent.py", "from typing import Dict\n", "from typing import Dict, List\n", set()),
        # a constant, through what is bound to it, wherever it is used
        ("constants.py", "RATE = 0.1", "RATE = 0.2", {"Agent.__init__"}),
        ("agent.py", "clip = 0.2", "clip = 0.3", {"Agent.train"}),
        ("constants.py", "", "RATE.update({1: 2})\n", {"Agent.__init__"}),
        # what only tells somebody something, and what runs in no import
        ("constants.py", "", "print(1)\nRATE.setLevel(2)\n", set()),
        ("constants.py", "", "if __name__ == '__main__':\n    run(RATE)\n", set()),
        # another meaning of a name that is imported
        ("nets.py", "import math", "import cmath as math", {"make"}),
        ("agent.py", "from pack.nets import make", "from pack.nets import idle as make",
         {"Agent.train"}),
        # a method that takes the place of another: all of its class and of those made of it
        ("agent.py", "    def load(self):\n        return 2\n",
         "    def load(self):\n        return 2\n\n    def save(self):\n        return 3\n",
         {"Agent.__init__", "Agent.train", "Agent.save", "Deep.load", "Deep.save"}),
        # another base
        ("agent.py", "class Deep(Agent):", "class Deep(object):",
         {"Agent.__init__", "Agent.train", "Agent.save", "Deep.load"}),
    ],
)  # fmt: skip
def test_what_tells(tmp_path: Path, file: str, old: str, new: str, names: set[str]) -> None:
    """What differs, and what is reached through a name that means something else."""
    assert _names(_sides(tmp_path, {file: (old, new)})) == names


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("nets.py", "", "\nprint(make(2))\nmake(3)\n", "runs other code when it is imported"),
        ("nets.py", "", "\nfrom math import *\n", "imports other names at once"),
        ("nets.py", "", "\nTABLE.update(make(2))\n", "runs other code when it is imported"),
        ("agent.py", "def load(self)", "def __init_subclass__(cls)", "when a class is made"),
    ],
)
def test_what_cannot_be_told(tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    """Every training is traced, and the reason is said."""
    found = _sides(tmp_path, {file: (old, new)})
    assert said in found.because
