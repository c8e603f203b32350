"""Pages about runs: the list, one run, its episodes step by step, reports; and the same as JSON."""
