"""rlregress: regression tests for reinforcement-learning frameworks."""

__version__ = "0.1.0"
