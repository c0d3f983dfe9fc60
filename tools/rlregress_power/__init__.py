"""Known faults are injected into copies of the frameworks: which of them does the suite detect?"""
