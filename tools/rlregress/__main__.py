"""``python -m rlregress``."""

from __future__ import annotations

from rlregress.cli import main

if __name__ == "__main__":
    main()
