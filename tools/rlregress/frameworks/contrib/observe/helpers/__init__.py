"""What probes of SB3-Contrib share."""
