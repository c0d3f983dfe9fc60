"""What probes of RSL-RL share."""
