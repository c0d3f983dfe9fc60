"""What people and programs read: terminal, Markdown, JSON."""
