"""The documentation as a site: it builds without a warning and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html import unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from rlregress import suite
from rlregress.catalogue import registry
from rlregress.faults import fault_tables
from rlregress.model.fault_results import DETAILS
from rlregress.upgrade.differences import known_changes

from ..house import page_contents
from ..house.command_lines import why_not_understood
from ..house.page_contents import Command
from ..report import browser
from ..report.browser import Browser

pytest.importorskip("material", reason="the site needs Material for MkDocs: pip install '.[site]'")
#: building takes 8 CPU seconds
pytestmark = pytest.mark.nightly

WEBSITE = suite.find_suite_root() / "tools" / "website"


def build(folder: Path, docs: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Build the site as ``make site`` does, of other pages if they are named."""
    config = WEBSITE / "mkdocs.yml"
    if docs is not None:
        # beside a copy of the hooks, whose place says where docs is
        copy = shutil.copytree(WEBSITE, docs.parent / "tools" / "website")
        config = copy / "mkdocs.yml"
    library = str(suite.find_suite_root() / "tools")
    path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [
            sys.executable, "-m", "mkdocs", "build", "--strict",
            "--config-file", str(config), "--site-dir", str(folder),
        ],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a built site."""
    folder = tmp_path_factory.mktemp("site")
    process = build(folder)
    assert process.returncode == 0, process.stderr
    assert "WARNING" not in process.stderr
    return folder


class _Loaded(HTMLParser):
    """Addresses that a page loads, and those that it leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the element loads or leads to."""
        attributes = dict(attrs)
        self.ids.add(attributes.get("id") or attributes.get("name") or "")
        if tag == "a":
            self.leads.append(attributes.get("href") or "")
        elif tag == "link" and attributes.get("rel") not in ("stylesheet", "icon", "preload"):
            return
        elif address := attributes.get("src") or attributes.get("href"):
            self.loads.append(address)


def read(path: Path) -> _Loaded:
    """Return the addresses that a page of the site loads and links."""
    page = _Loaded()
    page.feed(path.read_text("utf-8"))
    return page


def test_nothing_is_loaded_from_elsewhere(site):
    """No page and no style loads a script, a style, a font or a picture over the network."""
    built = sorted(site.rglob("*.html"))
    assert len(built) > 50
    foreign = {
        f"{path.relative_to(site)}: {address}"
        for path in built
        for address in read(path).loads
        if re.match(r"(https?:)?//", address)
    }
    for path in site.rglob("*.css"):
        foreign |= set(
            re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*", path.read_text())
        )
    assert foreign == set()


def test_every_link_of_the_site_leads_somewhere(site):
    """Every file and every heading that a built page leads to is there, pages of data included."""
    built = {path.resolve(): read(path) for path in site.rglob("*.html")}
    dead = []
    for path, page in built.items():
        if path.name == "404.html":
            continue
        for address in page.leads:
            name, _, anchor = address.partition("#")
            if not address or re.match(r"[a-z]+:", name):
                continue
            place = (path.parent / name).resolve() if name else path
            exists = place.exists() and (
                not anchor or place not in built or anchor in built[place].ids
            )
            if not exists:
                dead.append(f"{path.relative_to(site)}: {address}")
    assert dead == []


def test_pages_of_data_hold_all_data(site):
    """Every detail, every change of a release and every injected fault stands on a page."""
    details = "".join(path.read_text("utf-8") for path in (site / "details").glob("*.html"))
    assert [id for id in registry.list_detail_ids() if f">{id}</code>" not in details] == []
    faults = (site / "faults" / "sb3.html").read_text("utf-8")
    names = [fault.name for fault in fault_tables.load_faults(DETAILS, ["sb3"])]
    assert [name for name in names if name not in faults] == []
    for name in known_changes.list_frameworks():
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


#: what a page is made of, as elements
_ELEMENTS = ("li", "pre", "table", "h2", "h3", "code", "strong", "em", "p")


def test_a_page_is_the_same_on_github(site):
    """A page has as many items, blocks, tables and paragraphs in the site as on GitHub."""
    differing = {}
    for page in page_contents.PAGES:
        docs = suite.find_suite_root() / "docs"
        inner = page.relative_to(docs).parent if page.is_relative_to(docs) else Path()
        own = {"README": "index", "CONTRIBUTING": "contributing"}.get(page.stem, page.stem)
        name = str(inner / own)
        text = MarkdownIt("commonmark").enable("table").render(page.read_text("utf-8"))
        site_text = (site / f"{name}.html").read_text("utf-8")
        site_text = site_text.partition("<article")[2].partition("</article")[0]
        site_text = re.sub(r"<aside.*?</aside>", "", site_text, flags=re.DOTALL)
        for element in _ELEMENTS:
            counts = [len(re.findall(rf"<{element}[ >]", content)) for content in (text, site_text)]
            if counts[0] != counts[1]:
                differing[f"{name} <{element}>"] = counts
    assert differing == {}


def test_a_divided_page_keeps_every_heading(site, monkeypatch):
    """Every heading of the comparison of all frameworks stands on one page of the site."""
    monkeypatch.syspath_prepend(WEBSITE)
    import data_pages

    text = data_pages.build_comparison()
    headings = [h.strip("`") for h in re.findall(r"^##+ (.+)$", text, re.M)]
    folder = [site / "comparison.html", *(site / "comparison").glob("*.html")]
    page_text = "".join(path.read_text("utf-8") for path in folder)
    plain = re.sub(r"<a class=\"headerlink.*?</a>|</?code>", "", page_text)
    site_headings = re.findall(r"<h[123] id=[^>]*>(.*?)</h[123]>", plain)
    assert len(headings) > 50
    assert [heading for heading in headings if heading not in site_headings] == []


def test_no_page_is_a_giant(site):
    """No page has more than 200 KB; larger ones are divided."""
    large = {path.name: path.stat().st_size for path in site.rglob("*.html")}
    assert {name: size for name, size in large.items() if size > 200_000} == {}


def test_a_dead_link_ends_the_build(tmp_path):
    """A page, a heading and a picture that are not there end the build, and are named."""
    docs = tmp_path / "copy" / "docs"
    shutil.copytree(suite.find_suite_root() / "docs", docs)
    for name in ("README.md", "CONTRIBUTING.md"):
        shutil.copy(suite.find_suite_root() / name, docs.parent)
    page = docs / "how-it-works.md"
    dead = "[a](missing.md) [b](glossary.md#no-such-word) ![c](missing.svg)"
    page.write_text(f"{page.read_text('utf-8')}\n{dead}\n", "utf-8")
    process = build(tmp_path / "site", docs)
    assert process.returncode != 0
    warned = [line for line in process.stderr.splitlines() if line.startswith("WARNING")]
    names = ("missing.md", "missing.svg", "no-such-word")
    named = sorted(name for line in warned for name in names if name in line)
    assert named == sorted(names), process.stderr


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """Yield the address at which the site is read on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.skipif(
    not browser.installed(),
    reason="no browser: install Chromium (apt-get install --no-install-recommends chromium)",
)
@pytest.mark.parametrize("width", [360, 1600])
def test_the_site_in_a_browser(served, width):
    """Search and filter work on a phone and on a wide screen."""
    with Browser() as chromium:
        chromium.open_address(f"{served}/index.html", width, dark=False)
        assert chromium.value("document.documentElement.scrollWidth") <= width
        chromium.value("document.querySelector('[for=__search]').click()")
        chromium.value(
            "(q => { q.focus(); q.value = 'saturation';"
            " q.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true})) })"
            "(document.querySelector('.md-search__input'))"
        )
        results = "document.querySelectorAll('.md-search-result__item a').length"
        assert chromium.wait(f"{results} > 0"), chromium.value("document.body.innerText")[:500]
        light = chromium.value("getComputedStyle(document.body).backgroundColor")
        text, requested = chromium.messages, chromium.requests
        assert text == []
        assert [a for a in requested if not a.startswith((served, "data:", "blob:"))] == []

        chromium.open_address(f"{served}/details/sac.html", width, dark=True)
        assert chromium.value("getComputedStyle(document.body).backgroundColor") != light
        rows = "[...document.querySelector('.md-content table').tBodies[0].rows]"
        before = chromium.value(f"{rows}.length")
        chromium.value(
            "(f => { f.value = 'critic_loss SCALE'; f.dispatchEvent(new Event('input')) })"
            "(document.querySelector('input.filter'))"
        )
        visible = chromium.value(
            f"{rows}.filter(row => !row.hidden).map(row => row.cells[0].innerText)"
        )
        assert visible == ["sac.critic_loss.scale"]
        assert before == len(registry.list_details_of_family("sac"))
        assert chromium.value("document.querySelector('span.filter').innerText") == f"1 of {before}"
        assert chromium.value("document.documentElement.scrollWidth") <= width
        assert chromium.messages == []
