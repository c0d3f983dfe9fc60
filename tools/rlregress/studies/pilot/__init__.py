"""What runs should be judged by."""
