"""`errands report`, `errands replay` and `errands export`: looking at runs that were kept."""
