"""Drivers: agents of Stable-Baselines3's classes that measurements tell what to do."""
