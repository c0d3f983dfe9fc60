"""What probes of skrl share."""
