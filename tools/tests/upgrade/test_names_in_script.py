"""Names of removed code in a script, read from its source and from the files beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress.inside import importable_names
from rlregress.model import differences as model
from rlregress.upgrade import cascade
from rlregress.upgrade.differences.inventory import ComparedPackage, Inventory
from rlregress.upgrade.differences.public_names import PublicChange
from rlregress.upgrade.evidence import names_in_script
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.verdict import entries
from tools.tests.small_files import write_files

READ, INIT, MODULE = "frame.logger.read_csv", "frame.PPO.__init__", "frame.old"
CHANGE = PublicChange(kind="gone", name=READ, file="f.py", line=1, summary="s")
#: a name that both versions have, and another one of the same last part.
STILL_THERE, SAME_LAST_PART = "frame.files.read_csv", "frame.files.PPO"


def confirmed(script, names=(READ, INIT, MODULE), old=()):
    """Return the names in a script that are gone or incompatible.

    Args:
        old: names that the old version does not have either.
    """
    found = names_in_script.find_lines_naming(script, names)
    dotted = {line.dotted for line in found.lines}
    dotted |= {line.name.removesuffix(".__init__") for line in found.lines}

    def describe(path, missing):
        is_missing = any(f"{path}.".startswith(f"{name}.") for name in missing)
        return {"error": f"ImportError: no {path}"} if is_missing else {"is": path}

    return names_in_script.keep_lines_of_changed_names(
        found, *({p: describe(p, missing) for p in dotted} for missing in (old, [READ, MODULE]))
    )


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("from frame.logger import read_csv as read\nread()", {1: READ, 2: READ}),
        ("from frame import logger\nlogger.read_csv()", {2: READ}),
        ("import frame.logger as log\nlog.read_csv()", {2: READ}),
        ("import frame\nframe.logger.read_csv()", {2: READ}),
        ("def f(log):\n    return (\n        log\n        .read_csv()\n    )", {4: READ}),
        ("from pandas import read_csv\nread_csv('a')", {}),
        ("import frame\nframe.PPO()", {2: INIT}),
        ("from frame.old import thing", {1: MODULE}),
        (f"from {STILL_THERE.rpartition('.')[0]} import read_csv\nread_csv()", {}),
        (f"import frame\n{SAME_LAST_PART}()", {}),
    ],
)
def test_a_line_that_names_what_is_gone_is_found(tmp_path, text, lines):
    """By an import or an attribute, under whatever name, unless the name can be imported."""
    script = tmp_path / "train.py"
    script.write_text(text)
    names_found = confirmed(script)
    assert {line.line: line.name for line in names_found.lines} == lines
    assert all(line.text == text.splitlines()[line.line - 1].strip() for line in names_found.lines)
    assert all(line.why for line in names_found.lines)


def test_a_name_that_no_list_has_is_gone_if_the_new_version_cannot_import_it(tmp_path):
    """A name that neither version can import is not gone: the script does without it."""
    script = tmp_path / "train.py"
    script.write_text("from frame.old import thing\nfrom frame.logger import read_csv")
    names = ("frame.PPO.learn",)
    reasons = {line.line: line.why for line in confirmed(script, names).lines}
    assert reasons == {1: "ImportError: no frame.old", 2: f"ImportError: no {READ}"}
    assert [line.line for line in confirmed(script, names, old=[READ]).lines] == [1]


def test_names_are_imported_as_a_script_does(tmp_path, monkeypatch):
    """Modules, their names, and modules of a package; an error in one is the reason."""
    files = {
        "__init__.py": "from frame_.a import f as g, N", "a.py": "def f(): ...\nN = 1",
        "broken.py": "import nothing_of_this_name", "ends.py": "raise SystemExit(3)",
    }  # fmt: skip
    write_files(tmp_path / "frame_", files)
    monkeypatch.syspath_prepend(tmp_path)
    describe = importable_names.identify_importable_object
    assert describe("frame_.a.f") == describe("frame_.g")
    assert describe("frame_.a") == {"is": "frame_.a"}
    assert describe("frame_.N") == {"is": "frame_.N"}
    missing = "ModuleNotFoundError: No module named 'nothing_of_this_name'"
    assert {name: describe(f"frame_.{name}")["error"] for name in ("broken.x", "ends", "a.h")} == {
        "broken.x": missing,
        "ends": "SystemExit: 3",
        "a.h": "AttributeError: module 'frame_.a' has no attribute 'h'",
    }


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
        "settings.yaml": "",
    }
    names_found = confirmed(write_files(tmp_path, texts) / "train.py", {READ})
    assert names_found.files[0] == "train.py"
    unread = {"broken.py", "idle.py", "frame/__init__.py", "settings.yaml"}
    assert {*names_found.files} == texts.keys() - unread
    assert names_found.unread == ("broken.py",)
    lines = [(line.file, line.line) for line in names_found.lines]
    assert lines == [("other.py", 2), ("pack/three.py", 1)]
    own = names_in_script.list_user_files(tmp_path / "train.py", names_found)
    assert {*own} == {tmp_path / f for f in (*names_found.files, "broken.py", "settings.yaml")}


def test_a_class_is_used_by_its_heirs_and_a_lost_file_may_use_all(tmp_path):
    """Parameters are those of derived classes; an operator is used without a word."""
    frame, script = tmp_path / "frame.py", tmp_path / "train.py"
    frame.write_text("class Base: ...\nclass PPO(Base): ...\nMine = PPO\nclass Idle: ...")
    script.write_text("import frame\nframe.Mine()")
    names = {f"frame.{n}" for n in ("PPO.__init__", "Base.__init__", "Idle.__init__", "A.__call__")}
    unused = names_in_script.find_unused_names(names, [script], [], [str(frame)])
    assert unused == {"frame.Idle.__init__"}
    script = tmp_path / "train.py"
    script.touch()
    assert names_in_script.find_unused_names([READ], [script], [], []) == {READ}
    assert not names_in_script.find_unused_names([READ], [script, tmp_path / "other.py"], [], [])


@pytest.mark.parametrize(
    ("files", "used"),
    [
        ({"repo/train.py": "import frame\nframe.PPO()\ngetattr(x, 'learn')"}, False),
        ({"repo/train.py": "import frame\ngetattr(x, 'read_csv')"}, True),
        ({"repo/train.py": "import frame\ngetattr(x, 'read_' + kind)"}, True),
        ({"repo/train.py": "import frame\nimportlib.import_module(name)()"}, True),
        ({"repo/train.py": "import numpy"}, True),
        ({"repo/train.py": "import frame", "repo/broken.py": "def"}, True),
        ({"repo/train.py": "import frame", "repo/deep/er/a.py": "def f(x):\n x.read_csv()"}, True),
        ({"repo/train.py": "import frame", "repo/deep/conf/a.yaml": "call: read_csv"}, True),
        ({"repo/train.py": "import frame", "repo/.venv/lib/site-packages/a.py": "read_csv"}, False),
        ({"repo/train.py": "import frame", "repo/report/upgrade.json": "read_csv"}, False),
        ({"repo/train.py": "import frame", "other/a.py": "x.read_csv"}, False),
        ({"repo/train.py": "import frame", "mine/a.py": "x.read_csv()"}, True),
        ({"repo/train.py": "import frame", "site-packages/zoo/a.py": "frame.read_csv()"}, True),
        ({"repo/train.py": "import frame", "site-packages/zoo/a.py": "def read_csv(): ..."}, False),
    ],
)
def test_names_are_searched_below_the_file_of_accepted_entries(tmp_path, files, used):
    """Those that nothing below its folder can use do not count, if that folder is the user's."""
    repo = write_files(tmp_path, {**files, "repo/accepted.toml": ""}) / "repo"
    options = Options(accepted=repo / "accepted.toml", report=repo / "report")
    # what the compared package itself names is no use of it
    frame = write_files(tmp_path / "old" / "frame", {"__init__.py": "def read_csv(): ..."})
    inventory = Inventory(
        public=(CHANGE,), packages=(ComparedPackage(name="frame", old=frame, new=None),),
        users=(str(frame), str(tmp_path / "site-packages" / "zoo"), str(tmp_path / "mine")),
    )  # fmt: skip
    assert (cascade._find_broken_names_unused_by_user(inventory, None, options) == set()) == used
    assert not cascade._find_broken_names_unused_by_user(
        inventory, None, replace(options, accepted=None)
    )


def test_a_name_that_the_script_does_not_use_is_listed_and_has_no_effect():
    """The release notes are long; exit code 3 is for names that a user has to change."""
    inventory = Inventory(public=(CHANGE, replace(CHANGE, name=MODULE)))
    states = {e.name: e.state for e in entries.make_metadata_entries(inventory, frozenset([READ]))}
    assert states == {READ: model.NO_EFFECT, MODULE: model.DIFFERS}
