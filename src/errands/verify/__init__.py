"""Is the reward right? Purchases of stored runs scored again: by other rules, and by people."""
