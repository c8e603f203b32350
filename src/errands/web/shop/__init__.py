"""The shop as a website: pages at their addresses, visitors and the log of their steps."""
