"""Reports as single HTML files that load nothing and run no script."""
