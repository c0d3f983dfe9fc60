"""What changed over many nights, and when."""
