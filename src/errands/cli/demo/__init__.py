"""`errands demo`: an episode of each domain to watch, and a tour of the baselines."""
