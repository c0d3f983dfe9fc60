"""Which of the differences make trainings differ."""
