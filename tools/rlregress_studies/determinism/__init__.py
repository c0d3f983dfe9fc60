"""The effect of each source of chance on DQN."""
