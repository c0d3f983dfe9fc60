"""Measurements of details on agents that can be controlled, whatever their framework."""
