"""Injects known faults into copies of the frameworks: which does the suite detect?"""
