"""Pages for one person on this machine: mined attributes, scores by hand."""
