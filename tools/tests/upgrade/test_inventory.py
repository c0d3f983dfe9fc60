"""Nothing that differs between two versions is missing from the list of differences."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rlregress.model import differences as model
from rlregress.model.recorded_traces import VERSIONS
from rlregress.source import list_files_below
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.differences import early_answers, public_names
from rlregress.upgrade.differences.inventory import Inventory, list_differences
from rlregress.upgrade.differences.public_names import PublicChange
from rlregress.upgrade.verdict import entries
from rlregress.upgrade.versions import requested
from rlregress.upgrade.versions.prepared_versions import PreparedVersion
from rlregress.upgrade.versions.resolved import ResolvedPair, ResolvedVersion

from ..small_files import write_files, write_metadata
from .test_result import BATCH, SCALE

INSTALLED = requested.parse_requested_version("installed")
#: files of a distribution, in whose texts {n} is its version.
DISTRIBUTIONS = {
    "a-package": {"a_package/__init__.py": "x = {n}\n"},
    "in-a-namespace": {"space/inner/__init__.py": "", "space/inner/a.py": "def f(): return {n}\n"},
    "beside-a-namespace": {"space/_fast.abi3.so": "{n}", "space/other.py": "y = {n}\n"},
    "one-module": {"one_module.py": "z = {n}\n"},
    "one-compiled-module": {"_one.cpython-311.so": "{n}"},
    "libraries-alone": {"some.libs/libblas.so": "{n}"},
    "nothing-but-a-version": {"the_same/__init__.py": "x = 1\n"},
    "no-code": {},
}


@pytest.fixture
def compare_distributions(tmp_path):
    """Return the inventory of two folders of pinned distributions of versions 1 and 2."""

    def compared(distributions=None, recorded=VERSIONS):
        pinned, prepared = set(), []
        for number, label in enumerate(VERSIONS, start=1):
            root = tmp_path / label
            for name, files in (distributions or DISTRIBUTIONS).items():
                pinned.add(name)
                record = files if label in recorded else None
                write_metadata(root, name, number, record=record)
                write_files(root, {file: text.format(n=number) for file, text in files.items()})
            runtime = Runtime(label, sys.executable, (str(root),))
            prepared.append(PreparedVersion(INSTALLED, runtime, "overlay"))
        resolved = [ResolvedVersion(label, INSTALLED) for label in VERSIONS]
        return list_differences(ResolvedPair(*resolved, frozenset(pinned), ()), *prepared)

    return compared


@pytest.mark.parametrize("recorded", [VERSIONS, ("old",), ()])
def test_whatever_differs_in_version_is_listed(compare_distributions, recorded):
    """By its code that differs, or by its versions where none is found to differ."""
    inventory_ = compare_distributions(recorded=recorded)
    places = {piece.file for piece in (*inventory_.pieces, *inventory_.files)}
    own = {
        "a-package": {"a_package/__init__.py"},
        "in-a-namespace": {"inner/a.py"},
        "beside-a-namespace": {"_fast.abi3.so", "other.py"},
        "one-module": {"one_module.py"},
        "one-compiled-module": {"_one.cpython-311.so"},
    }
    for name in DISTRIBUTIONS:
        is_listed = own.get(name, {""}) <= places
        assert name in inventory_.versions or is_listed, name
    assert inventory_.versions["no-code"] == ("1", "2")
    if recorded == VERSIONS:
        assert not own.keys() & inventory_.versions.keys()
        assert {"space.inner", "space._fast", "space.other"} <= {
            p.name for p in inventory_.packages
        }


def test_distributions_that_require_what_differs_are_its_users(compare_distributions, tmp_path):
    """At any depth; a name that is gone is searched in them."""
    for name, required in (("zoo", "below"), ("below", "a-package"), ("apart", "numpy")):
        write_metadata(tmp_path / "old", name, "1", required, record=[f"{name}.py"])
        write_files(tmp_path / "old", {f"{name}.py": ""})
    users = compare_distributions({"a-package": DISTRIBUTIONS["a-package"]}).users
    assert {Path(file).stem for file in users} == {"below", "zoo"}


def test_packages_whose_files_have_one_name_are_listed_by_version(compare_distributions):
    """Files of two folders of one name below different namespaces cannot be told apart."""
    inventory_found = compare_distributions(
        {f"{x}-core": {f"{x}/core/__init__.py": "v = {n}\n"} for x in ("one", "two")}
    )
    assert inventory_found.versions.keys() >= {"one-core", "two-core"}


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("scale.txt", "1.0", "0.1", ""),
        ("alone.pyc", "a", "b", ""),
        ("VERSION", "1.0\n", "1.1\n", "a version string"),
        ("version.txt", "1.0", "1.1", "a version string"),
        ("version.txt", "1.0", "fast", ""),
        ("a.pyi", "x: int", "x: str", "read by type checkers only"),
        ("py.typed", "a", "", "read by type checkers only"),
    ],
)
def test_few_files_can_have_no_effect(compare_distributions, tmp_path, file, old, new, message):
    """Those of type checkers, and files of versions; of any other it counts who opens it."""
    for label, text in (("old", old), ("new", new)):
        write_files(tmp_path / label / "a_package", {file: text})
    inventory_found = compare_distributions({"a-package": DISTRIBUTIONS["a-package"]})
    (changed_file,) = inventory_found.files
    assert (changed_file.file, changed_file.without_effect) == (f"a_package/{file}", message)
    states = {"sac": (model.DIFFERS, None)}
    for opened, state in (({}, model.NEVER), ({"sac": {changed_file.file}}, model.DIFFERS)):
        (entry,) = entries.make_other_file_entries(inventory_found, states, opened)
        assert entry.state == (model.NO_EFFECT if message else state)


def test_a_linked_folder_belongs_to_its_package(compare_distributions, tmp_path):
    """A difference behind the link is one of the package."""
    for label, rate in (("old", 1), ("new", 2)):
        files = {"shared/ppo.py": f"def train():\n    return {rate}\n", "a_package/x.py": ""}
        folder = write_files(tmp_path / label, files)
        (folder / "a_package" / "ppo").symlink_to("../shared")
    inventory_found = compare_distributions({"a-package": DISTRIBUTIONS["a-package"]})
    assert "a_package/ppo/ppo.py train" in {f"{p.file} {p.name}" for p in inventory_found.pieces}


def test_files_below_a_folder(tmp_path):
    """Links are followed, folders within themselves and caches are not; a file is itself."""
    pack, shared = tmp_path / "pack", tmp_path / "shared"
    for folder in (pack / "__pycache__", pack / "b", shared):
        write_files(folder, {"x.py": ""})
    (pack / "a").symlink_to(shared)
    (pack / "c").symlink_to(shared)
    (shared / "up").symlink_to(pack)
    (pack / "gone").symlink_to("nowhere")
    inventory_found = [str(path.relative_to(pack)) for path in list_files_below(pack)]
    assert inventory_found == ["a/x.py", "b/x.py", "c/x.py"]
    assert list(list_files_below(pack / "b" / "x.py")) == [pack / "b" / "x.py"]
    assert list(list_files_below(pack, without=("a", "c"))) == [
        pack / "__pycache__" / "x.py", pack / "b" / "x.py"
    ]  # fmt: skip


GONE = PublicChange(kind="gone", name="frame.f", file="f.py", line=1, summary="frame.f is gone")


def test_early_answers_are_printed():
    """Packages that are gone with their old version, required ones first; each name once, and few.

    What was not compared is not gone; details and defaults have the old and the new value.
    """
    other = (
        replace(GONE, kind="deprecated", summary="frame.g warns now"),
        public_names.make_entry_not_compared("frame", "--minutes 3 were over"),
    )
    versions = {"a": ("1", "2"), "b": ("1", ""), "c": ("", "2"), "z": ("3", "")}
    inventory = Inventory(public=(GONE, GONE, *other), versions=versions, lost=("z",))
    assert early_answers.describe_broken_names_and_lost_packages(inventory) == [
        "  gone or incompatible: frame.f is gone",
        "  no longer installed: z 3, b 1",
    ]
    public = tuple(replace(GONE, summary=f"name {number} is gone") for number in range(30))
    *names, total = early_answers.describe_broken_names_and_lost_packages(Inventory(public=public))
    assert total == f"  gone or incompatible: and {30 - len(names)} more"
    assert early_answers.describe_changed_details_and_defaults([SCALE], [BATCH]) == [
        f"  differs: sac.critic_loss.scale [library]: {SCALE.variant_change_in_words}",
        "  another default: td3 [library] `batch`: 100 -> 256",
    ]
