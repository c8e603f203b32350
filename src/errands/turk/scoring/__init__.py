"""Scores: a field against what people answered, and summaries over many."""
