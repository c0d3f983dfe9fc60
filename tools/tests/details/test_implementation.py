"""A framework is asked once, and again where another copy or version of it is meant."""

from __future__ import annotations

import pytest

from rlregress import suite
from rlregress.commands import frameworks as frameworks_command
from rlregress.details import catalogue
from rlregress.details.implementation import documented, implementations
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter

DETAIL = "sac.critic_loss.scale"
ENTRY = """
[[detail]]
id = "sac.critic_loss.scale"
scope = "library"
variant = "{}"
since = "{}"
source = "s"
"""


class Some(Adapter):
    """A framework of a given version, whose probe counts its calls."""

    name, title, packages, checkout = "some", "Some", ("some",), "SOME_HOME"

    def __init__(self, path, version="1.0", label="", calls=None):
        self.path, self.label, self._version = path, label, version
        self.calls = [] if calls is None else calls

    def versions(self):
        return {"some": self._version}

    def expectations(self):
        return self.path

    def probes(self):
        return {(DETAIL, "library"): self._probe}

    def _probe(self, inputs):
        self.calls.append(self._version)
        return catalogue.get(DETAIL).expected()["half"]


@pytest.fixture
def path(tmp_path):
    """What is documented: halved until 2.0, not any more from then on."""
    path = tmp_path / "some.toml"
    path.write_text(ENTRY.format("half", "1.0") + 'until = "2.0"\n' + ENTRY.format("none", "2.0"))
    return path


def test_a_detail_is_judged_once_for_one_copy(path, monkeypatch):
    """Another version, another label, another checkout: each is asked for itself."""
    monkeypatch.delenv("SOME_HOME", raising=False)
    calls = []

    def ask(**copy):
        (found,) = implementations(Some(path, calls=calls, **copy), DETAIL)
        return found.judgement.found, len(calls)

    assert [ask(), ask()] == [("half", 1)] * 2
    assert [ask(version="2.0"), ask(version="2.0")] == [("half", 2)] * 2
    assert ask(label="HEAD") == ("half", 3)
    monkeypatch.setenv("SOME_HOME", str(path))
    assert [ask(), ask()] == [("half", 4)] * 2


def test_what_is_documented_is_that_of_the_version_that_is_asked(path):
    """A file is read once, and holds the entries of every version."""
    for version, variant in (("1.0", "half"), ("2.0", "none"), ("1.0", "half")):
        known = documented(Some(path, version))
        assert known[DETAIL, "library"].variant == variant


def test_a_detail_is_printed_whole_or_not_at_all(path, tmp_path, capsys):
    """Where what is documented cannot be read there is the sentence, and no half of an answer."""
    frameworks_command.details(DETAIL, [Some(path)])
    assert "some [library]" in capsys.readouterr().out
    broken = tmp_path / "broken.toml"
    broken.write_text("[[detail]\n")
    with pytest.raises(UserError, match="broken.toml is not valid TOML"):
        frameworks_command.details(DETAIL, [Some(path), Some(broken)])
    assert capsys.readouterr().out == ""


def test_the_documents_of_this_suite_are_found_by_the_name_of_the_framework(monkeypatch, path):
    """Another folder of baselines is another document, though the name is the same."""
    folder = path.parent / "details"
    folder.mkdir()
    path.rename(folder / "some")

    class Here(Some):
        def expectations(self):
            return None

    monkeypatch.setattr(suite, "baselines", lambda: path.parent)
    assert documented(Here(None))[DETAIL, "library"].variant == "half"
