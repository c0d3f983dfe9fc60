"""Claims of publications about frameworks, checked on the installed code."""
