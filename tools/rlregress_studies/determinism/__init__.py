"""What each source of chance does to DQN."""
