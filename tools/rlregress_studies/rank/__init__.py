"""Which implementations differ, by runs that exist."""
