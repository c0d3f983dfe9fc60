"""Claims of the sources about frameworks, checked on the installed code."""
