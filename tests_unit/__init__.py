"""What the frameworks' code computes, detail by detail."""
