"""What a shell completes, asked as a shell asks, and how the help is ordered."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rlregress import frameworks

#: the program under its own name, and what it has imported of what takes long
PROGRAM = """
import sys
from rlregress.cli import main
sys.argv = ["rlregress"]
try:
    main()
finally:
    print(*({"numpy", "torch"} & set(sys.modules)), file=sys.stderr)
"""


def completed(words):
    """What bash is given for a line that ends where the cursor is; and what was imported."""
    asked = {
        "_RLREGRESS_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **asked}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ended.stdout.split(), ended.stderr.strip()


@pytest.mark.parametrize(
    ("words", "some", "imported"),
    [
        ("rlregress ga", {"gate"}, ""),
        ("rlregress gate --framework ", set(frameworks.names()), ""),
        ("rlregress gate --cells sb3-ppo-Ho", {"sb3-ppo-Hopper-v4-short"}, ""),
        ("rlregress gate --cells all,sb3-ppo-Ho", {"all,sb3-ppo-Hopper-v4-short"}, ""),
        ("rlregress details sac.critic_loss.s", {"sac.critic_loss.scale"}, "numpy"),
    ],
)
def test_a_shell_completes_without_importing_torch(words, some, imported):
    """Commands, frameworks, cells and details, each from what there is."""
    assert completed(words) == (sorted(some), imported)


def test_the_help_groups_commands_by_what_one_wants_to_do():
    """Every command stands under a heading of its own kind."""
    ended = subprocess.run(
        [sys.executable, "-m", "rlregress.cli", "--help"],
        capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
    judge, ask = ended.stdout.index("─ Judge "), ended.stdout.index("─ Ask ")
    assert judge < ended.stdout.index("│ gate ") < ask < ended.stdout.index("│ probe ")
    assert "─ Commands " not in ended.stdout
    assert "--install-completion" in ended.stdout
