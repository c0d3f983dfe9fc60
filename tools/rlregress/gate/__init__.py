"""The gate: which cells are judged, against which stored runs, and what follows."""
