"""A figure as SVG that stands within a page: its colours are the page's, light and dark."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from markupsafe import Markup, escape

from rlregress.model.extra_packages import not_installed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
#: what is drawn in it -> the colour that stands for it until the page says which it is
INK, FAINT, STORED, NEW, BAND, LIMIT = (f"#01020{digit}" for digit in range(3, 9))
_OF_PAGE = {
    INK: "var(--ink)", FAINT: "var(--line)", STORED: "var(--stored)", NEW: "var(--new)",
    BAND: "var(--band)", LIMIT: "var(--limit)",
}  # fmt: skip
#: width over height is kept; a point of the figure is a pixel of the page
_POINTS = 72.0
_STYLE = {
    "svg.fonttype": "none", "font.size": 10.0, "text.color": INK, "axes.labelcolor": INK,
    "axes.edgecolor": FAINT, "xtick.color": FAINT, "ytick.color": FAINT, "xtick.labelcolor": INK,
    "ytick.labelcolor": INK, "axes.spines.top": False, "axes.spines.right": False,
    "figure.facecolor": "none", "axes.facecolor": "none", "legend.frameon": False,
    "xtick.labelsize": 9.0, "ytick.labelsize": 9.0, "axes.unicode_minus": True,
    "axes.formatter.useoffset": False, "hatch.linewidth": 0.6,
    # names are no formulas, whatever they hold
    "text.parse_math": False,
}  # fmt: skip


def drawn(
    draw: Callable[[Axes], None],
    name: str,
    label: str,
    width: float,
    height: float,
    margins: tuple[float, float, float, float],
) -> Markup:
    """What ``draw`` draws on axes, as an element of a page.

    Args:
        name: of the figure, one of its own in a page.
        label: what it shows, for who cannot see it.
        width, height: pixels; a narrow page shows it smaller.
        margins: pixels left, right, below and above the axes.
    """
    # takes most of a second, which no command without a figure has to wait
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return escape(f"A figure is not drawn: {not_installed('matplotlib')}.")

    left, right, below, above = margins
    place = (
        left / width, below / height, (width - left - right) / width,
        (height - below - above) / height,
    )  # fmt: skip
    style: Any = {**_STYLE, "svg.hashsalt": name}
    with matplotlib.rc_context(style), warnings.catch_warnings():
        # of a name that the font cannot draw: the page's font is another
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure = Figure(figsize=(width / _POINTS, height / _POINTS))
        draw(figure.add_axes(place))
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return _within_a_page(text.getvalue(), label)


def _within_a_page(text: str, label: str) -> Markup:
    """The drawing without what is the same everywhere, or would touch the rest of the page."""
    # what matplotlib has drawn a moment ago
    root = ElementTree.fromstring(text)  # noqa: S314
    for group in list(root.iter()):
        for path in list(group):
            if path.get("style") in ("fill: none", "fill: none; opacity: 0"):
                group.remove(path)
    for element in list(root):
        # words about the file, and a rule of style that would be one for the page
        if element.tag == f"{{{_SVG}}}metadata" or element.find(f"{{{_SVG}}}style") is not None:
            root.remove(element)
    used = set(re.findall(r'(?:href="#|url\(#)([\w-]+)', text))
    # the inner ones first
    for element in reversed(list(root.iter())):
        _shorten(element, used)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", label)
    plain = ElementTree.tostring(root, encoding="unicode")
    plain = plain.replace(f' xmlns:ns0="{_SVG}"', "").replace("ns0:", "")
    plain = re.sub(r">\s+<", "><", plain).replace(" />", "/>")
    # texts in a figure are escaped by matplotlib
    return Markup(_without_idle_groups(plain))  # noqa: S704


def _shorten(element: ElementTree.Element, used: set[str]) -> None:
    given = element.attrib
    if given.get("id") not in used:
        given.pop("id", None)
    if target := given.pop(f"{{{_XLINK}}}href", None):
        given["href"] = target
    if re.fullmatch(r"rotate\(-0[ .\d]*\)", given.get("transform", "")):
        del given["transform"]
    if "d" in given:
        given["d"] = re.sub(r"-?\d+\.\d+", _rounded, " ".join(given["d"].split()))
    if "style" in given:
        rules = (rule.strip() for rule in given["style"].split(";"))
        kept = ";".join(rule for rule in rules if not rule.startswith("font-family"))
        given["style"] = _of_the_page(kept.replace(": ", ":"), _OF_PAGE)
    for name in ("x", "y"):
        if name in given:
            given[name] = re.sub(r"-?\d+\.\d+", _rounded, given[name])
    element.tail = None
    if element.text is not None and not element.text.strip():
        element.text = None
    _style_once(element)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")


def _style_once(group: ElementTree.Element) -> None:
    """What the points of a group have in common is said once, of the group."""
    points = list(group)
    styles = {point.get("style") for point in points}
    if len(points) > 2 and len(styles) == 1 and all(p.tag == f"{{{_SVG}}}use" for p in points):
        group.set("style", str(styles.pop()))
        for point in points:
            del point.attrib["style"]


def _of_the_page(style: str, colours: Mapping[str, str]) -> str:
    return re.sub(r"#[0-9a-f]{6}", lambda found: colours.get(found[0], found[0]), style)


def _without_idle_groups(text: str) -> str:
    """Groups that say nothing are left out, from the inner ones on."""
    while (shorter := re.sub(r"<g>((?:(?!</?g[ >]).)*)</g>", r"\1", text)) != text:
        text = shorter
    return text.replace("<g/>", "")
