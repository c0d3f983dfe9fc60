"""Verdicts on returns: permutation tests, family-wise control, power, published bands.

Imports NumPy and SciPy only and knows no framework. Two errors are stated with every verdict:
the probability of a false alarm in the whole session (alpha), and the smallest drop that is seen
with 80 % power.
"""
