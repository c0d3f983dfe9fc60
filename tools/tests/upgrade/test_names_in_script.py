"""Names of removed code in a script, read from its source and from the files beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlregress.inside import importable_names
from rlregress.model import differences as model
from rlregress.model.upgrade_result import ScriptResult
from rlregress.report.html import upgrade_page
from rlregress.upgrade import cascade
from rlregress.upgrade.differences.inventory import Inventory, Package
from rlregress.upgrade.differences.public_names import PublicChange
from rlregress.upgrade.evidence import names_in_script
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.verdict import entries

from .test_result import FACTS, GONE, of, traced, upgrade

READ, INIT, MODULE = "frame.logger.read_csv", "frame.PPO.__init__", "frame.old"
#: a name that both versions have, and another one of the same last part.
STILL_THERE, SAME_LAST_PART = "frame.files.read_csv", "frame.files.PPO"


def confirmed(script, names=(READ, INIT, MODULE), old=()):
    """Return the names in a script that are gone or incompatible.

    Args:
        old: names that the old version does not have either.
    """
    names_found = names_in_script.find_lines_naming(script, names)

    def imported(missing):
        paths = {
            path
            for line in names_found.lines
            for path in (line.dotted, line.name.removesuffix(".__init__"))
        }
        return {
            path: {"error": f"ImportError: no {path}"}
            if any(f"{path}.".startswith(f"{name}.") for name in missing) else {"is": path}
            for path in paths
        }  # fmt: skip

    return names_in_script.keep_lines_of_changed_names(
        names_found, imported(old), imported([READ, MODULE])
    )


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
    for file, text in {
        "__init__.py": "from frame_.a import f as g, N", "a.py": "def f(): ...\nN = 1",
        "broken.py": "import nothing_of_this_name", "ends.py": "raise SystemExit(3)",
    }.items():  # fmt: skip
        (tmp_path / "frame_").mkdir(exist_ok=True)
        (tmp_path / "frame_" / file).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert importable_names.describe_importable_object(
        "frame_.a.f"
    ) == importable_names.describe_importable_object("frame_.g")
    assert importable_names.describe_importable_object("frame_.a") == {"is": "frame_.a"}
    assert importable_names.describe_importable_object("frame_.N") == {"is": "frame_.N"}
    assert {name: importable_names.describe_importable_object(f"frame_.{name}")["error"]
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
    names_found = confirmed(tmp_path / "train.py", {READ})
    assert names_found.files[0] == "train.py"
    assert {*names_found.files} == {
        "train.py", "one.py", "other.py", "pack/__init__.py", "pack/two.py", "pack/three.py",
        "above.py",
    }  # fmt: skip
    assert names_found.unread == ("broken.py",)
    assert [(line.file, line.line) for line in names_found.lines] == [
        ("other.py", 2),
        ("pack/three.py", 1),
    ]


@pytest.fixture
def written(tmp_path):
    """Return a function: whether a name may be used by the script and its imports, file -> text.

    Files below ``site-packages`` are those of installed packages.
    """

    def used(name, script="", settings="", **texts):
        frame = tmp_path / "site-packages" / "frame"
        frame.mkdir(parents=True, exist_ok=True)
        (frame / "__init__.py").write_text(
            "class Base: ...\nclass PPO(Base): ...\nMine = PPO\nclass Idle: ..."
        )
        (tmp_path / "train.py").write_text(script)
        (tmp_path / "config.yaml").write_text(settings)
        places = [frame]
        for module, text in texts.items():
            places.append(tmp_path / module.replace("installed", "site-packages/installed"))
            places[-1].mkdir(exist_ok=True)
            (places[-1] / "__init__.py").write_text(text)
        names_found = names_in_script.find_lines_naming(tmp_path / "train.py", {name})
        own = names_in_script.list_user_files(tmp_path / "train.py", names_found)
        unused = names_in_script.find_unused_names([name], own, map(str, places), [str(frame)])
        return name not in unused

    return used


USED = {
    "an import": {"script": "from frame.logger import read_csv"},
    "an attribute of whatever": {"script": "def f(x):\n    x.read_csv()"},
    "a text": {"script": "getattr(x, 'read_csv')"},
    "a name that is put together": {"script": "getattr(x, 'read_' + kind)"},
    "a module that is named as the script runs": {"script": "importlib.import_module(name)()"},
    "settings beside the script": {"settings": "_target_: frame.logger.read_csv"},
    "a folder of the user": {"mine": "x.read_csv()"},
    "an installed package that names the framework": {
        "installed_zoo": "import frame\nframe.logger.read_csv()"},
    "a file that cannot be read": {"script": "import broken", "broken": "def"},
}  # fmt: skip


UNUSED = {
    "other names": {"script": "import frame\nframe.PPO()\ngetattr(x, 'learn')"},
    "a package that has nothing of the framework": {"installed_pandas": "def read_csv(): ..."},
}


@pytest.mark.parametrize("case", [*USED, *UNUSED])
def test_a_name_counts_where_it_may_be_used(written, case):
    """Wherever it is written, by the user or by a package that uses the framework."""
    assert written(READ, **{**USED, **UNUSED}[case]) == (case in USED)


def test_a_class_is_used_by_its_heirs_and_an_operator_without_a_word(written):
    """Its parameters are those of what derives from it, under any other name of that."""
    names = ("PPO.__init__", "Base.__init__", "Idle.__init__", "Idle.__call__")
    script = "import frame\nframe.Mine()"
    used = {name for name in names if written(f"frame.{name}", script=script)}
    assert used == {"PPO.__init__", "Base.__init__", "Idle.__call__"}


def test_what_cannot_be_read_may_use_every_name(tmp_path):
    """A file that is gone since the script imported it leaves all names in the verdict."""
    (tmp_path / "train.py").write_text("")
    files = [tmp_path / "train.py", tmp_path / "other.py"]
    assert not names_in_script.find_unused_names([READ], files, [], [])
    files[1].write_text("def")
    assert not names_in_script.find_unused_names([READ], files, [], [])
    files[1].write_text("")
    assert names_in_script.find_unused_names([READ], files, [], []) == {READ}


@pytest.mark.parametrize(
    ("files", "used"),
    [
        ({"repo/train.py": "import frame\nframe.PPO()"}, False),
        ({"repo/train.py": "import frame\nframe.PPO()", "other/a.py": "x.read_csv"}, False),
        ({"repo/train.py": "import frame", "repo/.venv/lib/site-packages/a.py": "read_csv"}, False),
        ({"repo/train.py": "import frame", "repo/deep/er/a.py": "def f(x):\n x.read_csv()"}, True),
        ({"repo/train.py": "import frame", "repo/deep/conf/a.yaml": "call: read_csv"}, True),
        ({"repo/train.py": "import frame", "repo/look.ipynb": '{"source": ["read_csv(x)"]}'}, True),
        ({"repo/train.py": "import frame\ngetattr(x, 'read_' + kind)"}, True),
        ({"repo/train.py": "import frame", "repo/broken.py": "def"}, True),
        ({"repo/train.py": "import numpy"}, True),
        ({"repo/train.py": "import frame", "repo/report/upgrade.json": "read_csv"}, False),
        ({"repo/train.py": "import frame", "site-packages/zoo/a.py": "frame.read_csv()"}, True),
    ],
)
def test_names_are_searched_below_the_file_of_accepted_entries(tmp_path, files, used):
    """Those that nothing below its folder can use do not count, if that folder is the user's."""
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    (tmp_path / "repo" / "accepted.toml").touch()
    repo = tmp_path / "repo"
    options = Options(accepted=repo / "accepted.toml", report=repo / "report")
    frame = tmp_path / "old" / "frame"
    frame.mkdir(parents=True)
    change = PublicChange(kind="gone", name=READ, file="f.py", line=1, summary="s")
    inventory = Inventory(
        public=(change,), packages=(Package(name="frame", old=frame, new=None),),
        users=(str(tmp_path / "site-packages" / "zoo"),),
    )  # fmt: skip
    assert (cascade._find_unused_broken_names(inventory, None, options) == set()) == used
    assert not cascade._find_unused_broken_names(inventory, None, replace(options, accepted=None))


def test_a_name_that_the_script_does_not_use_is_listed_and_has_no_effect():
    """The release notes are long; exit code 3 is for names that a user has to change."""
    change = PublicChange(kind="gone", name=READ, file="f.py", line=1, summary="s")
    inventory = Inventory(public=(change, replace(change, name=MODULE)))
    states = {e.name: e.state for e in entries.make_metadata_entries(inventory, frozenset([READ]))}
    assert states == {READ: model.NO_EFFECT, MODULE: model.DIFFERS}


def _steps(names):
    script = ScriptResult(training=traced("train.py"), names=names)
    card, *_ = upgrade_page.make_cards_of_upgrade(
        upgrade(of(), script=script, other_packages=(GONE,)), FACTS
    )
    return [step.text for step in card.steps]


def test_the_next_step_names_the_lines_or_says_that_there_are_none(tmp_path):
    """The reader need not search a script that was read."""
    script = tmp_path / "train.py"
    for text, expected in (
        ("from frame.logger import read_csv\n",
         "Change 1 line that names what is gone or incompatible: train.py:1 from frame.logger "
         "import read_csv (ImportError: no frame.logger.read_csv)."),
        ("import frame\n", "Search your other code: train.py names nothing of what is gone or "
         "incompatible (logger.read_csv)."),
    ):  # fmt: skip
        script.write_text(text)
        assert _steps(confirmed(script, {READ})) == [expected]
    expected = "Search your code for what is gone or incompatible: logger.read_csv."
    assert _steps(None) == [expected]
