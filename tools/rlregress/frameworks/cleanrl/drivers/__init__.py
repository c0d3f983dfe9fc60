"""Drivers: whole scripts of CleanRL that measurements tell what to do."""
