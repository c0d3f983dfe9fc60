"""The page of a gate, read as a browser reads it."""

from __future__ import annotations

from .markup import Page


def test_an_unchanged_night(night):
    """x."""
    code, text, _ = night()
    open("/tmp/w/unchanged.html", "w").write(text)
    page = Page(text)
    assert page.wrong == []
    print(code, len(text), page.texts("span", "badge")[:9])


def test_regress(night):
    """x."""
    code, text, _ = night(
        lost={n: 0.5 for n in ("sb3-ppo-Hopper-v4-short", "sb3-ppo-InvertedPendulum-v4-short")}
    )
    open("/tmp/w/regressed.html", "w").write(text)
    page = Page(text)
    assert page.wrong == []
    print(code, len(text), page.texts("span", "badge")[:9])
