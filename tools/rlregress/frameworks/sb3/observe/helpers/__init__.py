"""What several families of probes drive Stable-Baselines3 with; nothing here is a probe table."""
