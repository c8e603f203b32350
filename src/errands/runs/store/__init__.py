"""Where runs are stored: SQLite files and PostgreSQL databases, written and looked at."""
