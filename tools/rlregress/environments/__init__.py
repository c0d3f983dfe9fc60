"""Toy environments with a known answer, and what is claimed of an agent trained in them."""
