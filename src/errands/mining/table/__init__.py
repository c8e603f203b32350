"""Tables of products as they come: rows of any file, what its columns hold, what its cells say."""
