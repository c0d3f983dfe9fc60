"""Differences are printed as soon as they are known: before a training, with old and new."""

from __future__ import annotations

from dataclasses import replace

from rlregress.upgrade.differences import early_answers, public_names
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.differences.public_names import PublicChange

from .test_result import BATCH, SCALE

GONE = PublicChange(kind="gone", name="frame.f", file="f.py", line=1, summary="frame.f is gone")


def test_names_and_packages_that_are_gone_are_printed():
    """A package with its old version, those that were required first; each name once."""
    new = replace(GONE, kind="deprecated", name="frame.g", summary="frame.g warns now")
    inventory = Inventory(
        public=(GONE, GONE, new),
        versions={"a": ("1", "2"), "b": ("1", ""), "c": ("", "2"), "z": ("3", "")},
        lost=("z",),
    )
    assert early_answers.describe_broken_names_and_lost_packages(inventory) == [
        "  gone or incompatible: frame.f is gone",
        "  no longer installed: z 3, b 1",
    ]


def test_a_package_whose_names_were_not_compared_has_lost_none():
    """Neither is a file that could not be read printed as gone or incompatible."""
    late = public_names.make_entry_not_compared("frame", "--minutes 3 were over")
    assert early_answers.describe_broken_names_and_lost_packages(Inventory(public=(late,))) == []


def test_what_probes_find_is_printed_with_old_and_new():
    """Details and defaults."""
    assert early_answers.describe_changed_details_and_defaults([SCALE], [BATCH]) == [
        f"  differs: sac.critic_loss.scale [library]: {SCALE.words}",
        "  another default: td3 [library] `batch`: 100 -> 256",
    ]


def test_more_than_a_few_are_counted():
    """A release may remove hundreds of names; where nothing differs not even a heading comes."""
    public = tuple(replace(GONE, summary=f"name {number} is gone") for number in range(30))
    *names, total = early_answers.describe_broken_names_and_lost_packages(Inventory(public=public))
    assert len(names) < 10
    assert total == f"  gone or incompatible: and {30 - len(names)} more"
    assert early_answers.describe_broken_names_and_lost_packages(Inventory()) == []
    assert early_answers.describe_changed_details_and_defaults([], []) == []
