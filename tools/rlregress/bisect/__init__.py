"""Find the release or the commit that changed something, and the function."""
