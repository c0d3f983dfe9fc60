"""Selection: which trainings can tell two sides apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlregress.upgrade import training_selection

_BASE = {
    "__init__.py": "from pack.agent import Agent\n",
    "constants.py": "RATE = 0.1\nRATE = 0.1 * 2\nNAMES = {'rate': RATE}\n",
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
        "import math\nfrom pack.one import layer\n\n\n"
        "def make(size):\n    return math.sqrt(size)\n\n\n"
        "def idle():\n    return 0\n\n\n"
        "def lazily():\n    class Net:\n        bias = True\n    return Net, layer\n"
    ),
    "one.py": (
        "def layer():\n    return 1\n\n\n"
        "class Count(list):\n    def __len__(self):\n        return 0\n"
    ),
    "two.py": "def layer():\n    return 2\n",
    "script.py": (
        "from pack.one import layer as made\n\nSIZE = 1\n\n\n"
        "def train(size):\n    return size\n\n\n"
        "if __name__ == '__main__':\n    train(SIZE)\n    print(made())\n"
    ),
    "acting.py": "import os\nos.environ['X'] = '1'\n",
    "users.py": (
        "import pack.nets as nets\n"
        "try:\n    from pack.fast import Tree as Wood\nexcept ImportError:\n    Wood = None\n\n\n"
        "def shown():\n    from pack.constants import RATE as R\n    return R\n\n\n"
        "def wide():\n    return nets.layer()\n\n\n"
        "def counted():\n    from pack.one import Count\n    return len(Count()), Wood\n"
    ),
}


def _sides(
    folder: Path,
    changes: dict[str, tuple[str, str]],
    others: dict[str, tuple[bytes, bytes]] | None = None,
) -> training_selection.Triggers:
    roots = []
    for n, label in enumerate("ab"):
        root = folder / label / "pack"
        root.mkdir(parents=True)
        for name, text in _BASE.items():
            old, new = changes.get(name, ("", ""))
            if label == "b" and name in changes:
                assert old in text
                text = text.replace(old, new) if old else text + new
            (root / name).write_text(text, encoding="utf-8")
        for name, contents in (others or {}).items():
            (root / name).write_bytes(contents[n])
        roots.append(str(root))
    user = folder / "user.py"
    user.write_text("from pack import Agent\nfound = Agent()\n", encoding="utf-8")
    # only where it is asked about: an adapter names the classes that it makes
    users = [user] if "__init__.py" in changes else []
    return training_selection.triggers([roots[0]], [roots[1]], users)


def _names(found: training_selection.Triggers) -> set[str]:
    assert not found.because
    return {name for _, name in found.functions}


def test_the_same_code_tells_nothing(tmp_path: Path) -> None:
    """Nothing differs, nothing can part."""
    assert _sides(tmp_path, {}) == training_selection.Triggers()


@pytest.mark.parametrize(
    ("file", "old", "new", "names"),
    [
        ("agent.py", "return 1", "return 3", {"Agent.save"}),
        # a docstring, an annotation and an import for annotations compute nothing
        ("agent.py", "def save(self):", "def save(self) -> int:", set()),
        ("agent.py", "from typing import Dict\n", "from typing import Dict, List\n", set()),
        ("agent.py", "clip = 0.2", "clip = 0.2\n    name: str", set()),
        # a constant, through what is bound to it, wherever it is used
        ("constants.py", "RATE = 0.1", "RATE = 0.2", {"<module>", "Agent.__init__", "shown"}),
        ("constants.py", "", "RATE.update({1: 2})\n", {"<module>", "Agent.__init__", "shown"}),
        # what only tells somebody something
        ("constants.py", "", "print(1)\nRATE.setLevel(2)\n", set()),
        # the body of a script
        ("constants.py", "", "if __name__ == '__main__':\n    run(RATE)\n", {"<module>"}),
        ("script.py", "train(SIZE)", "train(SIZE + 1)", {"<module>"}),
        ("script.py", "SIZE = 1", "SIZE = 2", {"<module>"}),
        ("script.py", "return size", "return 2 * size", {"<module>"}),
        ("script.py", "SIZE = 1", "SIZE = 1\ntrain(3)", {"<module>"}),
        # another meaning of a name that is imported, however it is imported from there
        ("nets.py", "import math", "import cmath as math", {"<module>", "make"}),
        ("nets.py", "from pack.one import layer", "from pack.two import layer",
         {"<module>", "wide", "lazily", "layer"}),
        # a class inside a function is what the function does
        ("nets.py", "bias = True", "bias = False", {"lazily"}),
        # a method that takes the place of another: all of its class and of those made of it
        ("agent.py", "    def load(self):\n        return 2\n",
         "    def load(self):\n        return 2\n\n    def save(self):\n        return 3\n",
         {"Agent.__init__", "Agent.train", "Agent.save", "Deep.load", "Deep.save"}),
        # an attribute: all of its class, and whoever names it
        ("agent.py", "clip = 0.2", "clip = 0.3", {
            "<module>", "Agent.__init__", "Agent.train", "Agent.save", "Deep.load"}),
        # another base
        ("agent.py", "class Deep(Agent):", "class Deep(object):",
         {"<module>", "Agent.__init__", "Agent.train", "Agent.save", "Deep.load"}),
        # a method that a base of others calls, of a class that shows itself by its name alone
        ("one.py", "    def __len__(self):\n        return 0\n", "    pass\n", {"counted"}),
    ],
)  # fmt: skip
def test_what_tells(tmp_path: Path, file: str, old: str, new: str, names: set[str]) -> None:
    """What differs, and what is reached through a name that means something else."""
    assert _names(_sides(tmp_path, {file: (old, new)})) == names


def test_the_main_block_of_a_script_uses_what_differs(tmp_path: Path) -> None:
    """A script that did not change itself is traced, too, if its body names what did."""
    found = _sides(
        tmp_path,
        {
            "one.py": (
                "def layer():",
                "def layer(more=1):\n    return 2\n\n\nlayer = max\n\n\ndef other():",
            )
        },
    )
    assert ("pack/script.py", "<module>") in found.functions


OTHER = "runs other code when it is imported"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("nets.py", "", "\nprint(make(2))\nmake(3)\n", OTHER),
        ("nets.py", "", "\nprint(layer(2))\n", OTHER),
        ("nets.py", "", "\nfrom math import *\n", "imports other names at once"),
        ("nets.py", "", "\nTABLE.update(make(2))\n", OTHER),
        ("nets.py", "", "\nmath.update({2: 3})\n", OTHER),
        ("nets.py", "", "\nmath.pi = 3\n", OTHER),
        ("nets.py", "", "\nfound = make(3)\n", OTHER),
        ("nets.py", "", "\nif math:\n    [math.clear() for _ in '1']\n", OTHER),
        ("nets.py", "import math\n", "import math\nimport pack.acting\n", "does more than bind"),
        ("nets.py", "def idle", "@make\ndef idle", "is decorated otherwise"),
        ("nets.py", "def idle():", "def __getattr__(name):", "runs when nobody calls it"),
        ("constants.py", "RATE = 0.1\nRATE = 0.1 * 2\n", "RATE = 0.1 * 2\nRATE = 0.1\n",
         "in another order"),
        ("agent.py", "def load(self)", "def __init_subclass__(cls)", "runs when nobody calls it"),
        ("acting.py", "'1'", "'2'", OTHER),
        # what an adapter uses
        ("__init__.py", "import Agent", "import Deep as Agent", "user.py uses Agent"),
    ],
)  # fmt: skip
def test_what_cannot_be_told(tmp_path: Path, file: str, old: str, new: str, message: str) -> None:
    """Every training is traced, and the reason is said."""
    found = _sides(tmp_path, {file: (old, new)})
    assert message in found.because
    assert not found.functions


@pytest.mark.parametrize("file", ["fast.txt", "fast.md", "fast.rst", "fast.json", "fast.pyc"])
def test_a_file_of_data_is_known_by_its_name(tmp_path: Path, file: str) -> None:
    """Whatever it is called, code may read it, and what names it may."""
    assert _names(_sides(tmp_path, {}, {file: (b"1.0", b"0.1")})) == {"counted"}


def test_files_that_no_code_reads_tell_nothing(tmp_path: Path) -> None:
    """Those of type checkers, and those that say a version and nothing else."""
    others = {"fast.pyi": (b"a", b"b"), "py.typed": (b"", b"a"), "VERSION": (b"1.0\n", b"1.1\n")}
    assert _sides(tmp_path / "x", {}, others) == training_selection.Triggers()
    text = _sides(tmp_path / "y", {}, {"VERSION": (b"1.0", b"fast")})
    assert not text.because
    assert (
        "sizes-2.yaml differs" in _sides(tmp_path / "z", {}, {"sizes-2.yaml": (b"1", b"2")}).because
    )


def test_linked_folders_are_looked_into(tmp_path: Path) -> None:
    """A folder of a package may lie elsewhere."""
    for label, rate in (("a", 1), ("b", 2)):
        (tmp_path / label / "pack").mkdir(parents=True)
        (tmp_path / label / "shared").mkdir()
        (tmp_path / label / "shared" / "agent.py").write_text(f"def train():\n    return {rate}\n")
        (tmp_path / label / "pack" / "ppo").symlink_to("../shared")
    found = training_selection.triggers([str(tmp_path / "a/pack")], [str(tmp_path / "b/pack")])
    assert found.functions == {("pack/ppo/agent.py", "train")}


def test_a_file_that_nests_too_deeply_cannot_be_told(tmp_path: Path) -> None:
    """One sum of thousands of terms is no traceback."""
    terms = "+".join(["1"] * 3000)
    assert "cannot be read" in _sides(tmp_path, {"nets.py": ("", f"X = {terms}\n")}).because


def test_a_compiled_file_is_known_by_its_name(tmp_path: Path) -> None:
    """Who imports another one from it is another."""
    found = _sides(tmp_path, {}, {"fast.so": (b"1", b"2")})
    assert _names(found) == {"counted"}
