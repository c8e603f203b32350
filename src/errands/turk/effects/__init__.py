"""What scripts do in reply to an action: explored, inferred, proven equal."""
