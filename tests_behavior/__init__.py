"""What the frameworks do on toy environments whose answer is known."""
