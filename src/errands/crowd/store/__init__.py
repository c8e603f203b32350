"""The database of the website: one SQLite file, or PostgreSQL."""
