"""Fresh goals for any catalogue: as many as its products allow, and others with every seed."""
