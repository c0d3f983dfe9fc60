"""Drivers: agents of Stable-Baselines3's classes that measurements control."""
