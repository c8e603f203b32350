"""What models read and learn from: pages, words, demonstrations, pictures, as numbers."""
