"""The line at fault of a detail that is not as documented, as the code is now."""

from __future__ import annotations

import pytest

from rlregress import frameworks
from rlregress.catalogue.implementation import list_implementations
from rlregress.faults import places
from rlregress.frameworks.framework_code import Code

FILE, LINE = "stable_baselines3/sac/sac.py", "critic_loss = 0.5 * sum(F.mse_loss("


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """The critic loss of Stable-Baselines3's SAC, decided by an edited file; and its line."""
    adapter = frameworks.get_adapter("sb3")
    [implementation] = list_implementations(adapter, "sac.critic_loss.scale")
    text = adapter.code.find_installed_path(FILE).read_text("utf-8")
    assert text.count(LINE) == 1

    def edit(new):
        (tmp_path / "sac.py").write_text(text.replace(LINE, new), "utf-8")
        monkeypatch.setattr(Code, "find_installed_path", lambda self, file: tmp_path / "sac.py")
        return implementation, text.partition(LINE)[0].count("\n") + 1

    return edit


@pytest.mark.parametrize(
    ("new", "variant", "words"),
    [
        ("critic_loss = sum(F.mse_loss(", "none", "decided by"),
        ("critic_loss = 0.25 * sum(F.mse_loss(", "quarter", "decided by"),
        ("critic_loss = 1.0 * sum(F.mse_loss(", "none", "decided by"),
        ("critic_loss = 0.7 * sum(F.mse_loss(", None, "probably decided by"),
        ("critic_loss = 0.5*sum(F.mse_loss(", "half", "probably decided by"),
    ],
)
def test_the_changed_line_is_named_with_the_recorded_code(edited, new, variant, words):
    """The line of a known fault, or the most similar line, is named."""
    implementation, number = edited(new)
    first, second = places.describe_lines_at_fault(implementation, variant)
    assert first.startswith(f"{words} {FILE}:{number}: {new}")
    assert second == "recorded for this line: 0.5 * sum("
    assert places.locate_line_at_fault(implementation, variant).endswith(first.partition(FILE)[2])


def test_a_line_that_did_not_change_is_named_as_recorded(edited):
    """The fault is elsewhere, and this is where to begin."""
    implementation, number = edited(LINE)
    [line] = places.describe_lines_at_fault(implementation, "none")
    assert line.startswith(f"decided by {FILE}:{number}, as recorded: {LINE}")


@pytest.mark.parametrize(
    "new",
    ["critic_loss = halved(", "a = 1.0 * sum(\n        b = 1.0 * sum(F.mse_loss("],
    ids=["nothing like it", "two lines like it"],
)
def test_no_line_is_named_where_none_is_most_like_it(edited, new):
    """Without one most similar line, only the file and the recorded code are named."""
    implementation, _ = edited(new)
    assert places.describe_lines_at_fault(implementation, None) == []
    text = places.locate_line_at_fault(implementation, None)
    assert text.endswith(" no longer has the line that decided it: 0.5 * sum(")
