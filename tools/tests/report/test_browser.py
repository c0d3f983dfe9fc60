"""Each kind of page in a browser: light and dark, on a phone and on a wide screen.

Needs Chromium (on Debian: ``apt-get install --no-install-recommends chromium``).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rlregress.report.html import upgrade_page

from ..check import night_files
from ..upgrade import test_result as upgrades
from . import browser
from .browser import Browser
from .test_check_page import CRITIC_DETAIL, HOPPER, failed
from .test_other_pages import FACTS, parted  # noqa: F401 (a fixture)

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(
        not browser.installed(),
        reason="no browser: install Chromium (apt-get install --no-install-recommends chromium)",
    ),
]

#: elements whose text or drawing goes beyond what they stand in, where that is no box that scrolls
CUT_OFF = """
[...document.querySelectorAll('body *')].filter(of => {
  if (of.closest('.scroll, svg, details:not([open])')) return false;
  const box = of.getBoundingClientRect();
  return box.right > innerWidth + 1 || of.scrollWidth > of.clientWidth + 1 && of.clientWidth > 0
    && getComputedStyle(of).display !== 'inline';
}).map(of => of.tagName + '.' + of.className).slice(0, 5)
"""
#: contrast of the text against what it stands on, at worst, of elements with text of their own
CONTRAST = """
(() => {
  const channel = x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const behind = of => {
    for (; of; of = of.parentElement) {
      const c = numbers(getComputedStyle(of).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  let worst = 21;
  for (const of of document.querySelectorAll('body *:not(svg *)')) {
    const own = [...of.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !of.getClientRects().length) continue;
    const [a, b] = [light(numbers(getComputedStyle(of).color)), light(behind(of))];
    worst = Math.min(worst, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return worst;
})()
"""


#: what is to be touched and is less than 24 pixels high; links in text are not (WCAG 2.5.8)
SMALL = """
[...document.querySelectorAll('summary, nav a')]
  .filter(of => of.getClientRects().length && of.getBoundingClientRect().height < 24)
  .map(of => of.outerHTML).slice(0, 5)
"""


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    """Yield the browser."""
    with Browser() as chromium:
        yield chromium


@pytest.fixture(params=["regressed", "upgrade", "compare", "trend"])
def page(request, night, tmp_path, command) -> Path:
    """Return the file of a page of each kind."""
    path = tmp_path / "page.html"
    if request.param == "regressed":
        text = f"{CRITIC_DETAIL}: none (documented: half)"
        entry = failed(text, detail=CRITIC_DETAIL, scope="library", found="none")
        long = failed("a_long_word_" * 40)
        return night({HOPPER: 0.5}, further_entries=[entry, long], figures=True)[2] / "report.html"
    if request.param == "trend":
        folder = night_files.write_nights(
            tmp_path / "nights", night_files.nights(40, 4, drop=0.3, begin=25)
        )
        assert command("trend", str(folder), "--report", str(tmp_path))[0] == 1
        return tmp_path / "trend.html"
    if request.param == "compare":
        code, _, error = command("compare", "sb3", "torchrl", "--html", str(path))
        assert code == 0, error
        return path
    framework_result = request.getfixturevalue("parted")
    path.write_text(
        upgrade_page.make_page_of_upgrade(upgrades.upgrade(framework_result), FACTS).render_html()
    )
    return path


def test_a_page_is_whole_on_every_screen(opened, page):
    """Nothing goes wrong, nothing is asked of a network, nothing is cut off, all can be read."""
    for width in (360, 1600):
        for dark in (False, True):
            opened.open(page, width, dark)
            where = f"{width} pixels, {'dark' if dark else 'light'}"
            assert opened.messages == [], where
            assert opened.requests == [page.resolve().as_uri()], where
            assert opened.value("innerWidth") == width
            opened.value("document.querySelectorAll('details').forEach(of => of.open = true)")
            assert opened.value("document.scrollingElement.scrollWidth") <= width, where
            assert opened.value(CUT_OFF) == [], where
            assert opened.value(CONTRAST) >= 4.5, where
            assert opened.value(SMALL) == [], where
            brightness = "getComputedStyle(document.body).backgroundColor"
            assert (opened.value(brightness) == "rgb(18, 21, 24)") == dark
