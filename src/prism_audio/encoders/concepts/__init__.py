"""``concepts``, the embedded encoder: a tagger for sound and a sentence encoder for text."""
