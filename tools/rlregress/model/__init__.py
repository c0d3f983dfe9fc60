"""Results, as plain data: of gates, trainings, studies, faults, clusters and claims.

Frozen, keyword-only, without input or output. What computes them makes them, ``reporting`` puts
them into words; neither needs the other.
"""
