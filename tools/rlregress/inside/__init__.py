"""Recorders, workers and probes that run in the environments of frameworks, foreign and old ones.

Python 3.10 syntax; they import only the standard library, NumPy, torch, gymnasium and tested code.
"""
