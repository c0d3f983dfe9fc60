"""The documentation as a site: it builds without a warning and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
from html import unescape
from pathlib import Path

import pytest

from rlregress import suite
from rlregress.catalogue import registry
from rlregress.faults import fault_tables
from rlregress.model.fault_results import DETAILS
from rlregress.upgrade.differences import known_changes

from ..house.command_lines import why_not_understood
from ..house.page_contents import Command
from ..processes import run_python
from ..report.markup import Page

pytest.importorskip("material", reason="the site needs Material for MkDocs: pip install '.[site]'")
#: building takes 8 CPU seconds
pytestmark = pytest.mark.nightly

WEBSITE = suite.find_suite_root() / "tools" / "website"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built as ``make site`` does."""
    folder = tmp_path_factory.mktemp("site")
    library = str(suite.find_suite_root() / "tools")
    path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH", "")]))
    process = run_python(
        "-m", "mkdocs", "build", "--strict", "--config-file", WEBSITE / "mkdocs.yml",
        "--site-dir", folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": path},
    )  # fmt: skip
    assert "WARNING" not in process.stderr
    return folder


def list_loaded_addresses(path: Path) -> list[str]:
    """Return the addresses that a page of the site loads."""
    return [
        attributes.get("src") or attributes.get("href", "")
        for tag, attributes in Page(path.read_text("utf-8")).tags
        if tag != "a"
        and (tag != "link" or attributes.get("rel") in ("stylesheet", "icon", "preload"))
    ]


def test_nothing_is_loaded_from_elsewhere(site):
    """No page and no style loads a script, a style, a font or a picture over the network."""
    built = sorted(site.rglob("*.html"))
    assert len(built) > 50
    foreign = {
        f"{path.relative_to(site)}: {address}"
        for path in built
        for address in list_loaded_addresses(path)
        if re.match(r"(https?:)?//", address)
    }
    for path in site.rglob("*.css"):
        foreign |= set(
            re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*", path.read_text())
        )
    assert foreign == set()


def test_pages_of_data_hold_all_data(site):
    """Every detail, every change of a release and every injected fault stands on a page."""
    details = "".join(path.read_text("utf-8") for path in (site / "details").glob("*.html"))
    assert [id for id in registry.list_detail_ids() if f">{id}</code>" not in details] == []
    faults = (site / "faults" / "sb3.html").read_text("utf-8")
    names = [fault.name for fault in fault_tables.load_faults(DETAILS, ["sb3"])]
    assert [name for name in names if name not in faults] == []
    for name in known_changes.list_frameworks_with_history():
        rows = (site / "histories" / f"{name}.html").read_text("utf-8").partition('id="changes"')[2]
        assert rows.count("<tr>") == len(known_changes.load_changes(name)) + 1


def test_commands_on_pages_of_data_are_understood(site, pytestconfig):
    """Every command that a page made of data names is one that the program takes."""
    command_texts = {
        unescape(text)
        for path in site.rglob("*.html")
        for text in re.findall(r"<code>(rlregress \S.*?)</code>", path.read_text("utf-8"))
    }
    assert "rlregress selftest histories --show --framework sb3" in command_texts
    lines = [Command("", 0, " ".join(text.split()), True) for text in sorted(command_texts)]
    assert {
        line.text: why for line in lines if (why := why_not_understood(line, pytestconfig))
    } == {}
