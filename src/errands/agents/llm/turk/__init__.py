"""The language-model agent of form pages: what it reads, what it may answer, demonstrations."""
