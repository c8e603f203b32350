"""A catalogue on disk, opened by memory map: products, prices, search index, goals."""
