"""Faults seeded into copies of the frameworks: which of them do the probes and the traces see?"""
