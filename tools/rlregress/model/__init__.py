"""Results as plain data: of checks, trainings, studies, faults, clusters and claims.

The classes are frozen and keyword-only, and do no input or output. Other packages compute them, and
``report`` writes them.
"""
