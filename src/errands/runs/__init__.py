"""Running agents: protocols, the runner, the store of what was played, and its replay."""
