"""Helpers of skrl's probes."""
