"""What trainings reach, and how fast they are."""
