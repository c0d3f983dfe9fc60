"""Drivers of skrl, one file per family."""
