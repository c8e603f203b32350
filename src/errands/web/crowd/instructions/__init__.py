"""Writing instructions, and reviewing what was written."""
