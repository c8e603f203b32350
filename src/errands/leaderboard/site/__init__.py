"""The leaderboard as a static site: one folder that needs no server and loads nothing."""
