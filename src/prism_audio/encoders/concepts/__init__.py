"""``concepts``, the embedded encoder: an audio tagger and a sentence encoder."""
