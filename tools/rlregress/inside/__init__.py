"""Recorders, workers and probes that run in the environments of frameworks, foreign and old ones.

Python 3.10 syntax; standard library, NumPy, torch, gymnasium and what is tested only.
"""
