"""Reports as one HTML file each: nothing is loaded from anywhere, and nothing has to run."""
