"""What a script names of what is gone: read from its source and from the files beside it."""

from __future__ import annotations

import pytest

from rlregress.model.upgrade_result import OfScript
from rlregress.reporting.html import upgrade_page
from rlregress.upgrade import names_in_script

from .test_result import FACTS, GONE, of, traced, upgrade

READ, INIT, MODULE = "frame.logger.read_csv", "frame.PPO.__init__", "frame.old"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("from frame.logger import read_csv\nread_csv()", {1: READ, 2: READ}),
        ("from frame.logger import read_csv as read\nread()", {1: READ, 2: READ}),
        ("from frame import logger\nlogger.read_csv()", {2: READ}),
        ("import frame.logger as log\nlog.read_csv()", {2: READ}),
        ("import frame\nframe.logger.read_csv()", {2: READ}),
        ("def f(log):\n    return (\n        log\n        .read_csv()\n    )", {4: READ}),
        ("import pandas\npandas.read_csv('a')", {}),
        ("from pandas import read_csv\nread_csv('a')", {}),
        ("def read_csv(): ...\nread_csv()", {}),
        ("import frame\nframe.PPO()", {2: INIT}),
        ("from frame.old import thing", {1: MODULE}),
        ("import frame.old", {1: MODULE}),
    ],
)
def test_a_line_that_names_what_is_gone_is_found(tmp_path, text, lines):
    """By an import or an attribute, under whatever name; another package's is another."""
    script = tmp_path / "train.py"
    script.write_text(text)
    found = names_in_script.search(script, {READ, INIT, MODULE})
    assert {of.line: of.name for of in found.lines} == lines
    assert all(of.text == text.splitlines()[of.line - 1].strip() for of in found.lines)


def test_files_beside_the_script_that_it_imports_are_read(tmp_path):
    """Also what these import, and packages; not the compared package, nor what nobody imports."""
    texts = {
        "train.py": "import one\nfrom pack import two\nfrom frame import x\nimport broken",
        "one.py": "from other import *",
        "other.py": "import one\nfrom frame.logger import read_csv",
        "pack/__init__.py": "",
        "pack/two.py": "from . import three\nfrom .. import above",
        "pack/three.py": "from frame.logger import read_csv",
        "broken.py": "def",
        "above.py": "",
        "idle.py": "from frame.logger import read_csv",
        "frame/__init__.py": "from frame.logger import read_csv",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = names_in_script.search(tmp_path / "train.py", {READ})
    assert found.files[0] == "train.py"
    assert {*found.files} == {
        "train.py", "one.py", "other.py", "pack/__init__.py", "pack/two.py", "pack/three.py",
        "above.py",
    }  # fmt: skip
    assert found.unread == ("broken.py",)
    assert [(of.file, of.line) for of in found.lines] == [("other.py", 2), ("pack/three.py", 1)]


def _steps(names):
    script = OfScript(held=traced("train.py"), names=names)
    card, *_ = upgrade_page.cards(upgrade(of(), script=script, other_packages=(GONE,)), FACTS)
    return [step.text for step in card.steps]


def test_the_next_step_names_the_lines_or_says_that_there_are_none(tmp_path):
    """Where a script was read, the reader is not sent to search it."""
    script = tmp_path / "train.py"
    script.write_text("from frame.logger import read_csv\n")
    [step] = _steps(names_in_script.search(script, {READ}))
    assert step == (
        "Check 1 line that may name what is gone or incompatible: "
        "train.py:1 from frame.logger import read_csv."
    )
    script.write_text("import frame\n")
    [step] = _steps(names_in_script.search(script, {READ}))
    assert step == (
        "Search your other code: train.py names nothing of what is gone or incompatible "
        "(logger.read_csv)."
    )
    [step] = _steps(None)
    assert step == "Search your code for what is gone or incompatible: logger.read_csv."
