"""From a dump of products to a benchmark: reading any table, mining attributes, giving them out."""
