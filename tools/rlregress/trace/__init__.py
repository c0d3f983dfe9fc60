"""Traces: the ordered events of a short training, recorded, compared and explained."""
