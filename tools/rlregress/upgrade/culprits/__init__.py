"""The search for the differences that make trainings diverge."""
