"""What the commands do: ask the rooms, have it put into words, print and write it."""
