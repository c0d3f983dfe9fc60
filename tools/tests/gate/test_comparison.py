"""Frameworks side by side: what differs comes first, with its line and its consequence."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rlregress.details import catalogue
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.gate.comparison import compare
from rlregress.reporting import compare as report

#: details whose variants the adapters of this file answer by their formulas
SCALE, DISTANCE, MINIMUM = "sac.critic_loss.scale", "sac.critic_loss.distance", "td3.target.minimum"


class Answering(Adapter):
    """Answers details with the expectation of a chosen variant."""

    packages = ("pytest",)

    def __init__(self, name, expectations, **variants):
        self.name = self.title = name
        self._expectations, self._variants = expectations, variants

    def probes(self):
        """One scope, library."""
        return {
            (id, "library"): lambda inputs, id=id, variant=variant: catalogue.get(id).expected()[
                variant
            ]
            for id, variant in self._variants.items()
        }

    def absent(self):
        """What was given no variant of these three."""
        return {id: "has none" for id in (SCALE, DISTANCE, MINIMUM) if id not in self._variants}

    def expectations(self):
        """A file of the test."""
        return self._expectations


@pytest.fixture
def pair(tmp_path):
    """Two frameworks: one detail differs, one is alike, one only the first has."""

    def made(name, **variants):
        (tmp_path / f"{name}.toml").write_text(
            "".join(
                f'[[detail]]\nid = "{id}"\nscope = "library"\nvariant = "{variant}"\n'
                f'since = "1.0"\nsource = "here"\ncode = "x.py: y"\n'
                for id, variant in variants.items()
            )
        )
        return Answering(name, tmp_path / f"{name}.toml", **variants)

    one = made("one", **{SCALE: "half", DISTANCE: "squared", MINIMUM: "min"})
    other = made("other", **{SCALE: "none", DISTANCE: "squared"})
    return one, other


def test_differences_are_told_from_what_is_alike(pair):
    """A detail is different, alike, or about something that only one framework has."""
    found = compare(pair)
    assert [row.detail.id for row in found.different] == [SCALE]
    assert [row.detail.id for row in found.same] == [DISTANCE]
    assert [row.detail.id for row in found.alone] == [MINIMUM]
    assert found.alone[0].absent == {"other": "has none"}


def test_a_probe_without_a_variant_is_not_compared(pair):
    """What matches no known variant is neither alike nor a difference: it stands apart."""
    one, other = pair
    # another name: an answer is asked once per process and framework
    other.name = "unknown"
    unknown = {(DISTANCE, "library"): lambda inputs: np.full(2, -7.0)}
    other.probes = lambda: unknown
    found = compare((one, other))
    (row,) = found.undecided
    assert row.detail.id == DISTANCE
    assert row not in found.different + found.same + found.alone
    assert row.answers["unknown"][0].variant is None


def test_markdown_has_differences_first_with_their_consequences(pair):
    """The page opens with the differences; each says what follows from it."""
    text = report.markdown(compare(pair))
    assert text.index(f"## `{SCALE}`") < text.index("## Done alike") < text.index("## Only one")
    assert catalogue.get(SCALE).consequence in text
    assert "| one | library | `half` |" in text


def test_json_says_the_same(pair):
    """The JSON form carries variants and what is absent, differences first."""
    found = json.loads(report.as_json(compare(pair)))
    first = found["details"][0]
    assert first["id"] == SCALE
    assert first["differs"]
    assert first["answers"]["other"]["library"]["variant"] == "none"


def test_a_framework_is_not_compared_with_itself(pair):
    """Two different names are needed; one sentence says so."""
    with pytest.raises(UserError, match="expected two or more different frameworks"):
        compare((pair[0], pair[0]))


def test_every_detail_says_what_follows_from_it():
    """No entry of the catalogue is without its consequence in one sentence."""
    assert [d.id for d in catalogue.all_details() if not d.consequence.endswith(".")] == []
