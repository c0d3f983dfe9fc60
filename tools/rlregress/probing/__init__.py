"""Tools to write adapters with: environments, drivers, recorders, and the types they exchange.

They know no framework. Python 3.10 syntax; standard library, NumPy, torch and gymnasium only.
"""
