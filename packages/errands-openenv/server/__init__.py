"""The server of an OpenEnv environment, where OpenEnv looks for it."""
