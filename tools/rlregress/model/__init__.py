"""Results as plain data: what was found, in which words, and which exit code follows."""
