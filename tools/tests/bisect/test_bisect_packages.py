"""``rlregress bisect`` over several packages, on wheels that are made here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rlregress.bisect import versions
from rlregress.cli import commands
from rlregress.errors import UserError
from rlregress.model.bisect_result import ChangedAt
from rlregress.report import bisect_text
from rlregress.upgrade.versions import cached_folders, requested
from tools.tests.upgrade import test_prepared_versions

FIVE = [f"{number}.0" for number in range(1, 6)]


def wheel(folder, name, version, value, requires=(), tag="py3-none-any"):
    """A package whose ``value()`` is as given."""
    folder.mkdir(exist_ok=True)
    text = f"def value():\n    return {value}\n"
    test_prepared_versions.wheel(folder, name, version, *requires, text=text, tag=tag)


@pytest.fixture
def bisect(tmp_path, monkeypatch, capsys):
    """Run the command on wheels of a folder alone; exit code, last line and bisect.json."""
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path / "cache"))
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(tmp_path / "wheels"))
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")
    # a folder of wheels does not say when they came
    monkeypatch.setattr(versions, "map_releases_to_dates", lambda package: {})

    def run(old, new, check, *words):
        (tmp_path / "check.py").write_text(check)
        code = commands.program(
            ["bisect", old, new, "--command", f"python {tmp_path / 'check.py'}", *words,
             "--report", str(tmp_path / "report")],
            prog_name="rlregress", standalone_mode=False,
        )  # fmt: skip
        data = json.loads((tmp_path / "report" / "bisect.json").read_text())
        return code, capsys.readouterr().out.splitlines()[-1], data

    return run


@pytest.mark.nightly
def test_what_changes_with_two_packages_together_changes_with_those_that_are_named(
    bisect, tmp_path
):
    """The second one is searched beside the release that was found of the first."""
    for name in ("zzp", "zzq", "zzr"):
        for version in FIVE:
            wheel(tmp_path / "wheels", name, version, int(version[0]))
    ends = [" ".join(f"{name}=={n}.0" for name in ("zzp", "zzq", "zzr")) for n in (1, 5)]
    check = "import sys, zzp, zzq\nsys.exit(zzp.value() + zzq.value() >= 8)\n"
    code, last, data = bisect(*ends, check)
    assert code == 0
    named = {step["package"]: float(step["new"]) for step in data["steps"]}
    assert named.keys() == {"zzp", "zzq"}
    assert sum(named.values()) == 8, last


@pytest.mark.nightly
def test_a_release_without_a_build_for_this_python_leaves_a_range(bisect, tmp_path, monkeypatch):
    """It may be the first one; nothing names the next as the first."""
    for version in FIVE:
        tag = "cp39-cp39-win32" if version == "3.0" else "py3-none-any"
        wheel(tmp_path / "wheels", "zzc", version, int(version[0]), tag=tag)
    monkeypatch.setattr(versions, "map_releases_to_dates", lambda package: dict.fromkeys(FIVE, ""))
    check = "import sys, zzc\nsys.exit(zzc.value() >= 3)\n"
    code, last, data = bisect("zzc==1.0", "zzc==5.0", check)
    assert code == 3
    assert last == "first changed in: after zzc 2.0 and up to zzc 4.0"
    assert data["steps"][0]["between"] == ["3.0"]


@pytest.mark.nightly
def test_what_one_end_alone_pins_is_said_not_to_be_searched(bisect, tmp_path):
    """The answer covers only the packages that both ends pin."""
    for name in ("zzd", "zzh"):
        for version in FIVE:
            wheel(tmp_path / "wheels", name, version, int(version[0]))
    code, last, data = bisect("zzd==1.0", "zzd==2.0 zzh==5.0", "import zzd\n")
    assert code == 2
    assert data["unsearched"] == ["zzh==5.0, which NEW alone has"]
    assert last.endswith("of what was searched")


@pytest.mark.nightly
def test_a_release_that_stands_on_another_dependency_is_not_named_alone(bisect, tmp_path):
    """The difference may come from the dependency."""
    for version in FIVE:
        wheel(tmp_path / "wheels", "zzt", version, int(version[0]))
        needs = ["zzt>=3"] if version == "3.0" else ["zzt<=2"]
        wheel(tmp_path / "wheels", "zzs", version, int(version >= "4.0"), needs)
    check = "import sys, zzs, zzt\nsys.exit(zzs.value() or zzt.value() >= 3)\n"
    code, last, data = bisect("zzs==1.0", "zzs==5.0", check)
    assert code == 3, data
    assert "what differs may be of that" in data["steps"][0]["apart"]


@pytest.mark.nightly
def test_all_versions_run_on_the_interpreter_that_is_named(bisect, tmp_path):
    """Each in an environment of its own: what is installed for this one is not found there."""
    base = str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}")
    for version in FIVE[:3]:
        wheel(tmp_path / "wheels", "zzp", version, int(version[0]))
    check = (
        "import importlib.util, os, sys, zzp\n"
        f"assert os.path.realpath(sys.executable) == {str(Path(base).resolve())!r}\n"
        "assert importlib.util.find_spec('torch') is None\n"
        "sys.exit(3 if zzp.value() >= 3 else 0)\n"
    )
    code, last, data = bisect("zzp==1.0", "zzp==3.0", check, "--python", base)
    assert (code, last) == (0, "first changed in: zzp 3.0"), data
    assert data["values"] == ["exit code 0", "exit code 3"]
    assert [f["place"] for f in data["steps"][0]["functions"]] == ["zzp/__init__.py:1 value"]


def test_what_is_no_interpreter_is_refused_in_one_sentence(bisect, tmp_path):
    """One is missing, one too old, one no Python, and 'installed' has its own."""
    fake = tmp_path / "python"
    old = tmp_path / "old"
    fake.write_text("#!/bin/sh\necho nonsense >&2\n")
    old.write_text('#!/bin/sh\necho \'[[3, 8], "3.8.18", "cpython-38", []]\'\n')
    for path in (fake, old):
        path.chmod(0o755)
    for python, sentence in (
        (str(tmp_path / "none"), "cannot be run: .*No such file"),
        (str(fake), "cannot be used as Python: nonsense"),
        (str(old), "that is Python 3.8.18; expected the version or the path of a Python that is"),
        ("1.4", "is '1.4', which is not found here"),
    ):
        with pytest.raises(UserError, match=sentence):
            bisect("zzp==1.0", "zzp==5.0", "", "--python", python)
    base = sys.base_prefix + "/bin/python3"
    with pytest.raises(UserError, match="'installed' has an interpreter of its own"):
        bisect("installed", "zzp==5.0", "", "--python", base)


@pytest.mark.nightly
def test_a_search_that_goes_back_says_which_release_brought_it(bisect, tmp_path):
    """The release after the one that is named."""
    for version in FIVE[:3]:
        wheel(tmp_path / "wheels", "zzp", version, int(version[0]))
    check = "import sys, zzp\nsys.exit(zzp.value() >= 3)\n"
    code, last, data = bisect("zzp==3.0", "zzp==1.0", check)
    assert (code, last) == (0, "first changed in: zzp 2.0")
    (step,) = data["steps"]
    assert (step["old"], step["new"], step["back"]) == ("3.0", "2.0", True)
    line = bisect_text._describe_step_between_versions(ChangedAt(**{**step, "functions": ()}))
    assert line[1] == "  going back, as OLD is the newer version: zzp 3.0 brought it"


def test_a_build_is_kept_and_is_no_other_release(tmp_path, monkeypatch):
    """Such as +cpu: of the ends, and of what lies between them."""
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(versions.installed, "find_installed_version", lambda name: "2.13.0+cpu")
    torch_request, other_request = (
        requested.parse_requested_version(text) for text in ("torch==2.13.0+cpu", "zzp==1.0")
    )
    old, new, _ = versions.list_pins_of_ends(torch_request, other_request)
    assert old["torch"] == new["torch"] == "2.13.0+cpu"
    listed = ["2.3.0", "2.3.0+cpu", "2.4.0", "2.4.0+cpu", "2.4.0+cu1", "2.5.0+cpu", "2.5.0"]
    monkeypatch.setattr(versions.installer, "list_published_versions", lambda *_: listed)
    between = versions.list_releases_between("torch", "2.3.0+cpu", "2.5.0+cpu", [])
    assert between == ["2.3.0+cpu", "2.4.0+cpu", "2.5.0+cpu"]
    assert versions.list_releases_between("torch", "2.3.0", "2.5.0", ["2.4.1"])[1:-1] == [
        "2.4.0",
        "2.4.1",
    ]
