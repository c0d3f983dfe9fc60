"""What the sources say of frameworks, and whether the installed code does it."""
