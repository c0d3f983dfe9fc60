"""Verdicts on returns: permutation tests, family-wise control, power, published bands.

This package imports NumPy and SciPy only and knows no framework. Every verdict states two errors:
the probability of a false alarm in the whole session (alpha), and the smallest drop that is
detected with 80 % power.
"""
