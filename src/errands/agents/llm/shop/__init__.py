"""The language-model agent of the shop: what it reads, what it may answer, its tools."""
