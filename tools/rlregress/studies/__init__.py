"""Studies: questions that one command asks, each with all that it computes, says and draws."""
