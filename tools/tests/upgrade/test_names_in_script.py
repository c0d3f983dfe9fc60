"""What a script names of what is gone: read from its source and from the files beside it."""

from __future__ import annotations

import pytest

from rlregress.inside import importable_names
from rlregress.model.upgrade_result import OfScript
from rlregress.reporting.html import upgrade_page
from rlregress.upgrade import names_in_script

from .test_result import FACTS, GONE, of, traced, upgrade

READ, INIT, MODULE = "frame.logger.read_csv", "frame.PPO.__init__", "frame.old"
#: a name that both versions have, and another one of the same last part.
KEPT, OTHER = "frame.files.read_csv", "frame.files.PPO"


def confirmed(script, names=(READ, INIT, MODULE), old=()):
    """What of the names in a script is gone or incompatible.

    Args:
        old: names that the old version does not have either.
    """
    found = names_in_script.search(script, names)

    def imported(missing):
        paths = {
            path for of in found.lines for path in (of.dotted, of.name.removesuffix(".__init__"))
        }
        return {
            path: {"error": f"ImportError: no {path}"}
            if any(f"{path}.".startswith(f"{name}.") for name in missing) else {"is": path}
            for path in paths
        }  # fmt: skip

    return names_in_script.confirmed(found, imported(old), imported([READ, MODULE]))


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
        (f"from {KEPT.rpartition('.')[0]} import read_csv\nread_csv()", {}),
        (f"import frame\n{OTHER}()", {}),
    ],
)
def test_a_line_that_names_what_is_gone_is_found(tmp_path, text, lines):
    """By an import or an attribute, under whatever name, unless the name can be imported."""
    script = tmp_path / "train.py"
    script.write_text(text)
    found = confirmed(script)
    assert {of.line: of.name for of in found.lines} == lines
    assert all(of.text == text.splitlines()[of.line - 1].strip() for of in found.lines)
    assert all(of.why for of in found.lines)


def test_a_name_that_no_list_has_is_gone_if_the_new_version_cannot_import_it(tmp_path):
    """And what neither version can import is not gone: the script does without it."""
    script = tmp_path / "train.py"
    script.write_text("from frame.old import thing\nfrom frame.logger import read_csv")
    names = ("frame.PPO.learn",)
    assert [(of.line, of.why) for of in confirmed(script, names).lines] == [
        (1, "ImportError: no frame.old"), (2, f"ImportError: no {READ}")
    ]  # fmt: skip
    assert [of.line for of in confirmed(script, names, old=[READ]).lines] == [1]


def test_names_are_imported_as_a_script_does(tmp_path, monkeypatch):
    """Modules, what they hold, and a module of a package; an error in one is why it is gone."""
    for file, text in {
        "__init__.py": "from frame_.a import f as g, N", "a.py": "def f(): ...\nN = 1",
        "broken.py": "import nothing_of_this_name", "ends.py": "raise SystemExit(3)",
    }.items():  # fmt: skip
        (tmp_path / "frame_").mkdir(exist_ok=True)
        (tmp_path / "frame_" / file).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert importable_names.described("frame_.a.f") == importable_names.described("frame_.g")
    assert importable_names.described("frame_.a") == {"is": "frame_.a"}
    assert importable_names.described("frame_.N") == {"is": "frame_.N"}
    assert {name: importable_names.described(f"frame_.{name}")["error"]
            for name in ("broken", "broken.x", "ends", "h", "a.h")} == {
        "broken": "ModuleNotFoundError: No module named 'nothing_of_this_name'",
        "broken.x": "ModuleNotFoundError: No module named 'nothing_of_this_name'",
        "ends": "SystemExit: 3",
        "h": "AttributeError: module 'frame_' has no attribute 'h'",
        "a.h": "AttributeError: module 'frame_.a' has no attribute 'h'",
    }  # fmt: skip


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
    found = confirmed(tmp_path / "train.py", {READ})
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
    [step] = _steps(confirmed(script, {READ}))
    assert step == (
        "Change 1 line that names what is gone or incompatible: "
        "train.py:1 from frame.logger import read_csv (ImportError: no frame.logger.read_csv)."
    )
    script.write_text("import frame\n")
    [step] = _steps(confirmed(script, {READ}))
    assert step == (
        "Search your other code: train.py names nothing of what is gone or incompatible "
        "(logger.read_csv)."
    )
    [step] = _steps(None)
    assert step == "Search your code for what is gone or incompatible: logger.read_csv."
