"""From product files to a catalogue and back: chunks in processes, writing, export, statistics."""
