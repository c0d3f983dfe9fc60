"""The thesis' three questions."""
