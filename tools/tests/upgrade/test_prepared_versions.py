"""Runtimes are resolved before anything is installed, and stand on common ground.

The resolver and installer are the real ones, on an index of small packages in a folder.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.upgrade.versions import (
    cached_folders,
    closures,
    dependencies,
    distribution_metadata,
    installed,
    installer,
    known_good_pins,
    prepared_versions,
    requested,
    version_resolution,
    wheels,
)
from rlregress.upgrade.versions.resolved import ResolvedPair, resolve_versions
from tools.tests.nightly import every
from tools.tests.processes import run_python
from tools.tests.small_files import describe_distribution, write_files, write_metadata

SB3 = frameworks.get_adapter("sb3")
PACKAGE = SB3.framework.packages[0]


@pytest.fixture(autouse=True)
def _needs_nothing(cache, tmp_path_factory, monkeypatch):
    """An empty cache, no stacks, and a library that needs nothing."""
    # what the installer knows of the interpreter is learnt once
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "uv"))
    monkeypatch.setattr(known_good_pins, "read_stacks", lambda: [])
    monkeypatch.setattr(dependencies, "_read_declared_requirements", lambda: [])


def wheel(folder, name, version, *rows, text="VERSION = {version!r}\n"):
    """A wheel with one module that says its version."""
    stem = name.replace("-", "_")
    info = f"{stem}-{version}.dist-info"
    tag = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    content = {
        f"{stem}/__init__.py": text.format(version=version),
        f"{info}/METADATA": describe_distribution(name, version, *rows),
        f"{info}/WHEEL": tag,
    }
    content[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*content, f"{info}/RECORD"])
    path = folder / f"{stem}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, content_of_file in content.items():
            archive.writestr(file, content_of_file)
    return path


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Publish packages: name, version and what it needs, with spaces between them."""
    folder = tmp_path / "index"
    folder.mkdir()
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("UV_DEFAULT_INDEX", (tmp_path / "empty").as_uri())
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    return lambda *packages: [wheel(folder, *package.split()) for package in packages]


@pytest.fixture
def base(tmp_path, monkeypatch):
    """Install a package below the versions."""
    monkeypatch.syspath_prepend(str(tmp_path / "base"))

    def install(name, version, origin="", *rows):
        for old in (tmp_path / "base").glob(f"{name}-*"):
            (old / "METADATA").unlink()
            old.rename(old.with_suffix(".gone"))
        folder = write_metadata(tmp_path / "base", name, version, *rows)
        if origin:
            (folder / "direct_url.json").write_text(json.dumps({"url": origin}))

    return install


def resolve(old, new, adapters=()):
    """Return both versions, resolved and not yet installed."""
    versions = requested.parse_requested_version(old), requested.parse_requested_version(new)
    return resolve_versions(*versions, list(adapters))


def pair(old, new, adapters=()):
    """Return both versions; what lies in the overlay of each, name -> version."""
    versions = [
        prepared_versions.prepare_version(version, adapters)
        for version in resolve(old, new, adapters)
    ]
    return versions, [content(version) for version in versions]


def resolved(old, new, adapters=()):
    """Return both versions before they are installed; of each, name -> version of what would be."""
    versions = resolve(old, new, adapters)
    rows = [version.versions.missing_rows if version.versions else [] for version in versions]
    return versions, [dict(row.split("==") for row in version) for version in rows]


def content(version):
    """Name -> version of what lies in the overlay of a version."""
    folders = map(Path, version.runtime.paths[:1] if version.how == "overlay" else ())
    found = map(distribution_metadata.map_distributions_in_folder, folders)
    return {name: d.version for distributions in found for name, d in distributions.items()}


def import_versions(version, *names):
    """Return the versions that an interpreter of a version imports."""
    code = "import importlib, sys\n"
    code += "print([importlib.import_module(n).VERSION for n in sys.argv[1:]])"
    return run_on(version, "-c", code, *names)


def run_on(version, *arguments):
    """Return what an interpreter of a version prints."""
    runtime = version.runtime
    environment = runtime.make_environment_variables()
    return run_python(*arguments, python=runtime.python, env=environment).stdout.strip()


# -- what a version is ---------------------------------------------------------------------------


def test_only_what_differs_is_installed(publish, base, monkeypatch):
    """An installed version that fits is no part of the overlay; another goes in front of it.

    The output says so, and a process on the version imports what was installed for it. The version
    is found again without an installer and a network.
    """
    base("below", "2.0")
    base("fits", "1.0")
    publish("below 1.0", "below 2.0", "fits 1.0", "fits 2.0", "nowhere 2")
    publish("a 9 below<2 fits nowhere>1")
    (version, _), (overlay, _) = pair("a==9", "installed")
    assert version.how == "overlay"
    assert overlay == {"a": "9", "below": "1.0", "nowhere": "2"}
    assert "  with below 1.0 instead of 2.0" in version.lines
    assert import_versions(version, "a", "below") == "['9', '1.0']"
    monkeypatch.setattr(installer, "run_uv", None)
    (again, _), _ = pair("a==9", "installed")
    assert (version.cached, again.cached) == (False, True)
    assert again.runtime.paths[0] == version.runtime.paths[0]


def test_a_pin_of_what_is_installed_makes_nothing(publish, base, cache):
    """A version that pins the installed versions is the installed environment."""
    base("below", "1.0")
    publish("below 1.0")
    (version, _), _ = pair("below==1.0", "installed")
    assert version.how == "installed"
    assert not (cache / "overlays").exists()


def test_another_base_is_another_version(publish, base):
    """A version that was made on other versions is not put on these."""
    publish("below 1.0", "below 2.0", "a 9 below")
    for version in ("1.0", "2.0"):
        base("below", version)
        assert pair("a==9", "installed")[1][0] == {"a": "9"}


@pytest.mark.nightly
def test_another_torch_takes_an_environment_of_its_own(publish):
    """An overlay cannot hold another torch, and the output says that this is why."""
    publish("torch 0.0.1", "a 9")
    (version, _), _ = pair("torch==0.0.1 a==9", "installed")
    assert version.how == "environment"
    assert "because an overlay cannot hold another torch" in "\n".join(version.lines)
    assert import_versions(version, "a", "torch") == "['9', '0.0.1']"


def test_what_came_from_a_repository_stays(publish, base):
    """No index has a development version: it is never replaced by a release."""
    base("below", "2.0.dev1", "git+https://example.org/below", "other<9")
    base("other", "1")
    publish("below 1.0", "below 3.0", "other 1", "other 9", "a 9 below other")
    assert resolved("a==9", "installed")[1][0] == {"a": "9"}


def test_a_framework_that_is_not_pinned_stays(publish, base, monkeypatch):
    """Under another gymnasium the installed framework is asked, though it asks for a later one."""
    monkeypatch.setattr(dependencies, "_read_declared_requirements", lambda: ["judge"])
    base("judge", "1")
    publish(f"judge 1 {PACKAGE}", "gymnasium 0.1")
    fixed = frozenset({PACKAGE}), frozenset({"gymnasium"})
    for row in dependencies.list_requirements_of_fixed(*fixed):
        name = distribution_metadata.get_package_name(row)
        publish(f"{name} {installed.find_installed_version(name)}")
    publish(f"{PACKAGE} 99 gymnasium")
    (version, _), (overlay, _) = pair("gymnasium==0.1", "installed", [SB3])
    assert overlay == {"gymnasium": "0.1"}
    assert f"although {PACKAGE}" in "\n".join(version.lines)


def test_what_the_library_needs_moves_with_numpy(publish, base, monkeypatch):
    """A package that measures is taken in a version that fits the NumPy of the upgrade."""
    monkeypatch.setattr(dependencies, "_read_declared_requirements", lambda: ["judge"])
    base("judge", "2")
    base("below", "2")
    publish("judge 1 below<2", "judge 2 below>=2", "below 1", "below 2")
    assert resolved("below==1", "installed")[1][0] == {"below": "1", "judge": "1"}


def test_what_the_library_needs_is_given_up_last(publish, monkeypatch):
    """A version for which the suite's own needs cannot be met is made all the same, and says so."""
    monkeypatch.setattr(dependencies, "_read_declared_requirements", lambda: ["judge>=2"])
    publish("judge 2 below>=2", "below 1")
    (version, _), (overlay, _) = resolved("below==1", "installed")
    assert overlay == {"below": "1"}
    assert "not all that the suite needs fits: " in "\n".join(version.versions.notes)


def test_a_lock_file_is_taken_at_its_word(publish, tmp_path):
    """Pins that contradict each other were chosen by its owner: they are installed, and named."""
    publish("a 9 below<1", "below 2")
    path = tmp_path / "lock.txt"
    path.write_text("a==9\nbelow==2\n")
    (version, _), (overlay, _) = pair(str(path), "installed")
    assert overlay == {"a": "9", "below": "2"}
    assert "although a 9 asks for below<1, not 2" in "\n".join(version.lines)
    publish("c 1 between", "between 1 below<1")
    path.write_text("c==1\nbelow==2\n")
    (version, _), (overlay, _) = resolved(str(path), "installed")
    assert overlay == {"c": "1", "below": "2"}
    assert "the pins of the lock file contradict each other" in "\n".join(version.versions.notes)


# -- both versions -------------------------------------------------------------------------------

#: versions of x and y that a==9 and a==10 admit, and what both versions then have of each.
GROUNDS = {
    "one caps": ("x<2", "x", {"x": "1"}),
    "each caps another one": ("x<2 y", "x y<2", {"x": "1", "y": "1"}),
    "only the other needs it": ("", "x<2", {"x": "1"}),
}


@pytest.fixture
def two_versions(publish, base):
    """Return a function that publishes a==9 and a==10, which need these of x and y."""
    for name in ("x", "y"):
        base(name, "2")
        publish(f"{name} 1", f"{name} 2")
    return lambda nine, ten: publish(f"a 9 {nine}", f"a 10 {ten}")


@pytest.mark.parametrize("case", every(2, [*GROUNDS]))
def test_both_versions_share_the_same_packages(two_versions, case):
    """Only pinned packages differ where their ranges have a version in common."""
    nine, ten, common = GROUNDS[case]
    two_versions(nine, ten)
    versions, overlays = resolved("a==9", "a==10")
    assert overlays == [{"a": "9", **common}, {"a": "10", **common}]
    assert not versions[0].versions.notes


def test_what_cannot_be_the_same_is_said(two_versions):
    """Ranges without a common version part the versions in that package, and in no other."""
    two_versions("x<2 y", "x>=2 y<2")
    versions, overlays = resolved("a==9", "a==10")
    assert overlays == [{"a": "9", "x": "1", "y": "1"}, {"a": "10", "y": "1"}]
    assert all("x (1 and 2)" in version.versions.notes[0] for version in versions)


def test_what_a_user_pins_is_left_apart(two_versions):
    """A pin holds for its own version; the other one keeps what is installed."""
    two_versions("x", "x")
    assert resolved("a==9 x==1", "a==10")[1] == [{"a": "9", "x": "1"}, {"a": "10"}]


# -- pins that do not fit ------------------------------------------------------------------------


def test_a_pin_above_a_declared_range_is_run_all_the_same(publish):
    """Upper bounds were declared before the later version was published: noted, and no error."""
    publish("a 9 x<2 y<2")
    publish("x 1", "x 2", "y 1", "y 2")
    (version, _), (overlay, _) = pair("a==9 x==2", "installed")
    assert overlay == {"a": "9", "x": "2", "y": "1"}
    assert "  although a 9 asks for x<2, not 2" in version.lines


def test_a_pin_below_a_declared_range_is_refused(publish):
    """Two pins of which one needs a later version of the other are named."""
    publish("a 9 x>=2", "x 1")
    with pytest.raises(UserError, match="a==9 needs x>=2, and x==1 is pinned"):
        resolved("a==9 x==1", "installed")


def test_a_stack_brings_what_old_releases_stand_on(publish, monkeypatch):
    """Its versions are there beside the pin, up to the release that ends it."""
    stack = known_good_pins.Stack("a", ("x==1",), since="8", until="10", note="of its day")
    monkeypatch.setattr(known_good_pins, "read_stacks", lambda: [stack])
    publish("x 1", "x 2", "x 3", "a 9 x>=2", "a 10 x>=2")
    assert resolved("a==9", "installed")[1][0] == {"a": "9", "x": "1"}
    assert resolved("a==10", "installed")[1][0] == {"a": "10", "x": "3"}


# -- what is made once ---------------------------------------------------------------------------


@pytest.mark.nightly
def test_a_wheel_with_misspelt_requirements_is_mended(publish, tmp_path):
    """The installer accepts the mended wheel, which keeps all readable requirements."""
    path = wheel(tmp_path / "index", "a", "9", "x>=1.", "y<2", "?? what")
    publish("x 1", "y 1")
    with pytest.raises(UserError):
        resolved("a==9", "installed")
    wheels._rewrite_unreadable_requirements(path)
    environment = installer._make_uv_variables_from_pip_configuration()
    subprocess.run([installer.find_uv(), "cache", "clean", "-q"], check=True, env=environment)
    _, (overlay, _) = resolved("a==9", "installed")
    assert overlay == {"a": "9", "x": "1", "y": "1"}


def test_an_environment_holds_what_the_library_needs(monkeypatch):
    """Everything that is asked and trained here can be asked and trained there; torch is pinned."""
    monkeypatch.undo()
    rows = dependencies.list_suite_requirements(frozenset({PACKAGE}))
    names = {distribution_metadata.get_package_name(row) for row in rows}
    assert {"pytest", "scipy", "ale-py", "gymnasium", "opencv-python-headless"} <= names
    assert not names & {"torch", "torchrl", PACKAGE}
    # what draws the report runs on no version
    assert "matplotlib" in names
    assert "matplotlib" not in dependencies.list_measuring_packages()
    installed_torch = importlib.metadata.version("torch").partition("+")[0]
    other, same = (
        requested.parse_requested_version(f"torch=={number}")
        for number in ("0.0.1", installed_torch)
    )
    problem = version_resolution.make_resolver_input(other, [SB3])
    assert problem.complete
    assert PACKAGE in problem.own
    assert not version_resolution.make_resolver_input(same, [SB3]).complete


# -- what only one version installs ----------------------------------------------------------------

#: prints, as JSON, in which ways a child process finds a module, and the distribution of that name.
FINDS = """
import importlib.metadata, importlib.util, json, subprocess, sys
{first}
ways = [
    __import__, importlib.metadata.version, lambda name: importlib.util.find_spec(name).name,
    lambda name: {{d.metadata["Name"]: d for d in importlib.metadata.distributions()}}[name],
]
def is_found(name, way):
    try:
        return bool(way(name))
    except (ModuleNotFoundError, AttributeError, KeyError):
        return False

if sys.argv[1:]:
    print(json.dumps([[is_found(name, way) for way in ways] for name in ("x", "y")]))
else:
    subprocess.run([sys.executable, __file__, "again"])
"""


def hiding(old, new, adapters=(), lend=()):
    """Return both versions of an upgrade, with packages of only one hidden from the other."""
    both = ResolvedPair(*resolve(old, new, adapters), frozenset(), adapters)
    return prepared_versions.prepare_versions(both, cached_folders.ignore_message, lend)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A cache and an index for all tests of hidden packages, whose versions are made once."""
    index = tmp_path_factory.mktemp("index")
    plot = "x; extra == 'plot'"
    for package in (("y", "1"), ("x", "1", "y"), ("a", "9", "x"), ("a", "10", plot)):
        wheel(index, *package)
    return index


@pytest.fixture
def dropped(shared, publish, monkeypatch):
    """Two versions of a package: the later one no longer requires x and what x requires."""
    monkeypatch.setenv("UV_FIND_LINKS", str(shared))
    monkeypatch.setenv(cached_folders.CACHE_VARIABLE, str(shared / "cache"))


@pytest.mark.parametrize(
    "first", ["", pytest.param("import importlib_metadata", marks=pytest.mark.nightly)]
)
def test_what_a_version_does_not_install_is_not_found(dropped, tmp_path, first):
    """A process that one on its version starts finds neither the module nor the distribution, also
    with the backport of importlib.metadata; on the other version both are there."""
    script = tmp_path / "finds.py"
    script.write_text(FINDS.format(first=first))
    for version, is_found in zip(hiding("a==9", "a==10"), (True, False), strict=True):
        assert json.loads(run_on(version, str(script))) == [[is_found] * 4] * 2


def test_what_one_version_requires_is_hidden_from_the_other(dropped):
    """Lines name hidden requirements, and count the rest; an extra brings what it requires."""
    for versions in (hiding("a==9", "a==10"), hiding("a==10", "a==9")[::-1]):
        nine, ten = versions
        assert (ten.absent.direct, ten.absent.below, ten.absent.users) == (
            ("x",),
            ("y",),
            ("a 10",),
        )
        assert (nine.absent.direct, nine.absent.below) == ((), ())
    assert "  without x (and 1 that only they require): a 10 does not install them" in ten.lines
    assert not any("without" in line for line in nine.lines)
    _, ten = hiding("a==9", "A[Plot]==10")
    assert (ten.absent.direct, content(ten)) == ((), {"a": "10", "x": "1", "y": "1"})


def test_what_is_lent_is_not_hidden(dropped):
    """A distribution that is lent is on both versions, with all that it requires, if one has it."""
    _, ten = hiding("a==9", "a==10", lend=["X"])
    assert (ten.absent.direct, ten.absent.below) == ((), ())
    _, ten = hiding("a==9", "a==10", lend=["y"])
    assert (ten.absent.direct, ten.absent.below) == (("x",), ())
    with pytest.raises(UserError, match="--lend names 'z', and neither version has a distribution"):
        hiding("a==9", "a==10", lend=["x", "z"])


def test_what_the_suite_needs_is_there(dropped, monkeypatch):
    """Packages of the tracer and the probes are never hidden, and the lines report it."""
    monkeypatch.setattr(dependencies, "_read_declared_requirements", lambda: ["y"])
    _, ten = hiding("a==9", "a==10")
    assert (ten.absent.direct, ten.absent.below) == (("x",), ())
    assert "  although y stays: rlregress itself needs it" in ten.lines


@pytest.mark.nightly
def test_the_installed_version_is_a_version(dropped, base):
    """Beside a requirement, the installed version counts with its own requirements."""
    base("a", "10")
    base("x", "1")
    nine, installed_version = hiding("a==9", "installed")
    assert installed_version.how == "installed"
    assert (nine.absent.direct, installed_version.absent.direct) == ((), ("x",))
    base("a", "9", "", "x")
    nine, installed_version = hiding("a==10", "installed")
    assert (nine.absent.direct, installed_version.absent.direct) == (("x",), ())


def test_a_users_own_environment_and_tree_stay_as_they_are(dropped, base, tmp_path):
    """Nothing is hidden where a version is what its user made."""
    base("x", "1")
    versions = hiding("a==9", str(write_files(tmp_path / "tree", {"a/__init__.py": ""})))
    assert [version.absent.direct for version in versions] == [(), ()]


def test_a_package_that_two_distributions_share_stays(tmp_path):
    """Only the hidden distribution's part of a namespace is not found."""
    for name, files in {"x": ["x.py", "space/x.py"], "y": ["y.py", "space/y.py"],
                        "z": ["space/z.py"], "w": ["x_w.py"]}.items():  # fmt: skip
        write_metadata(tmp_path, name, "1", record=files)
    distributions = distribution_metadata.map_distributions_in_folder(tmp_path)
    assert closures._list_modules_only_in_hidden({"x"}, distributions) == {"x", "space.x"}
    alone = closures._list_modules_only_in_hidden({"x", "y", "z"}, distributions)
    assert alone == {"x", "y", "space"}


@pytest.mark.nightly
def test_another_sitecustomize_runs_all_the_same(dropped, tmp_path, monkeypatch):
    """A site's own start-up module runs on a version on which something is hidden."""
    text = "import sys; sys.site_was_here = True\n"
    site = write_files(tmp_path / "site", {"sitecustomize.py": text})
    monkeypatch.setenv("PYTHONPATH", str(site))
    _, ten = hiding("a==9", "a==10")
    code = "import sys, sitecustomize as s; print(sys.site_was_here, s.__file__, sys.path[1])"
    own = site / "sitecustomize.py"
    assert run_on(ten, "-c", code).split() == ["True", str(own), ten.runtime.paths[0]]


# -- an environment of the user's ------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path):
    """An environment of the user's with a=8, below=1.0 and an unrelated package."""
    folder = tmp_path / "mine"
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    for name, version in (("a", "8"), ("below", "1.0"), ("apart", "1.0")):
        with zipfile.ZipFile(wheel(tmp_path, name, version)) as file:
            file.extractall(site)
    return folder


def install_into(environment, text):
    """Return the environment, and what it would be with another version installed into it."""
    versions = requested.share_user_environment(
        requested.parse_requested_version(str(environment)), requested.parse_requested_version(text)
    )
    resolved_versions = resolve_versions(*versions, [])
    return [prepared_versions.prepare_version(version, []) for version in resolved_versions]


def test_beside_an_environment_stands_what_pip_would_install_there(publish, base, mine, tmp_path):
    """Its packages stay unless something forbids them, whatever this library needs.

    What moves besides is named by its version there; a working tree brings its own package alone.
    """
    base("below", "3.0")
    publish("below 1.0", "below 2.0", "below 3.0")
    publish("new 1", "a 9 below", "a 10 below<3,>=2 new")
    old, new = install_into(mine, "a==9")
    assert import_versions(old, "a", "below", "apart") == "['8', '1.0', '1.0']"
    assert import_versions(new, "a", "below", "apart") == "['9', '1.0', '1.0']"
    assert (new.how, new.further) == ("overlay on your environment", ())
    _, new = install_into(mine, "a==10")
    assert import_versions(new, "a", "below", "apart") == "['10', '2.0', '1.0']"
    assert new.lines[1] == "  with below 2.0 instead of 1.0, new 1"
    tree = write_files(tmp_path / "tree", {"a/__init__.py": "VERSION = 'tree'\n"})
    _, new = install_into(mine, str(tree))
    assert import_versions(new, "a", "below") == "['tree', '1.0']"


@pytest.mark.nightly
def test_settings_of_pip_hold_where_it_would_install(publish, mine, tmp_path, monkeypatch):
    """Those of the file in the environment, which no other pip reads."""
    publish("below 1.5", "below 2.0", "a 9 below>1.0")
    for name in ("UV_FIND_LINKS", "UV_DEFAULT_INDEX"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "empty").as_uri())
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    (tmp_path / "limits.txt").write_text("below<2\n")
    (mine / "pip.conf").write_text(f"[global]\nconstraint = {tmp_path / 'limits.txt'}\n")
    installer._translate_pip_configuration_to_uv.cache_clear()
    _, new = install_into(mine, "a==9")
    assert import_versions(new, "a", "below") == "['9', '1.5']"
    installer._translate_pip_configuration_to_uv.cache_clear()
