"""The search engine: Lucene's analysis and BM25 ranking, exactly, over mapped arrays."""
