"""`errands submit` and `errands leaderboard`."""
