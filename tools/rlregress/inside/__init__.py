"""What runs in the environments of frameworks, foreign and old ones: recorders, workers, probes.

Python 3.10 syntax; standard library, NumPy, torch, gymnasium and what is tested only.
"""
