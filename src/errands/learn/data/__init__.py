"""What models learn from: demonstrations, datasets, views of pages, numbered words, batches."""
